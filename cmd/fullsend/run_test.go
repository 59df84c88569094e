package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
)

func (s *stage) file(name, text string) string {
	p := filepath.Join(s.dir, name)
	require.NoError(s.t, os.WriteFile(p, []byte(text), 0o600))
	return p
}

// goEvent is a comment event by an account of the seeded world.
func goEvent(id int, login, command string) string {
	return fmt.Sprintf(`{"repo":"acme/widgets","source":{"system":"forgejo"},"entity":{"kind":"work_item","key":"acme/widgets#1"},
		"actor":{"id":%d,"login":%q,"role":"admin","role_verified":true},"transition":{"kind":"comment_added","comment":{"id":1,"command":%q}}}`, id, login, command)
}

const onGo = `role: coder
trigger: 'event != null && event.transition.kind == "comment_added" && event.transition.comment.command == "/go"'
`

// SPEC RU-1, RU-9
func TestRunByHand(t *testing.T) {
	s := newStage(t, "true")
	s.rewrite(s.script("exit $(cat " + s.dir + "/code)"))
	s.file("code", "0")
	args := []string{"run", "--harness=h", "--entity=acme/widgets#1"}
	assert.Equal(t, poll.ExitComplete, s.run(args...), s.log())
	assert.Equal(t, 1, s.starts())
	assert.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
	s.file("code", "4")
	assert.Equal(t, poll.ExitIncomplete, s.run(args...))
	s.do("close on=it as=olga")
	assert.Equal(t, poll.ExitComplete, s.run(args...))
	assert.Contains(t, s.log(), "not_member")
	s.do("reopen on=it as=olga")
	n := s.starts()
	for want, more := range map[int][]string{
		poll.ExitUsage:    {"run", "--harness=h"},
		poll.ExitComplete: {"run", "--harness=h", "--entity=acme/other#1"},
		poll.ExitError:    {"run", "--harness=nobody", "--entity=acme/widgets#1"},
	} {
		assert.Equal(t, want, s.run(more...), more)
	}
	assert.Equal(t, poll.ExitError, s.run(append(args, "--sandbox=chroot")...))
	assert.Equal(t, poll.ExitUsage, s.run(append(args, "--key=k")...))
	s.write("config.yaml", strings.Replace(s.read("config.yaml"), "run:", "kill_switch: true\nrun:", 1))
	assert.Equal(t, poll.ExitIncomplete, s.run(args...), "refused")
	assert.Equal(t, n, s.starts())
}

func (s *stage) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.dir, ".fullsend", name))
	require.NoError(s.t, err)
	return string(b)
}

// SPEC RU-36: a version whose specification is a draft starts nothing.
func TestClosedWhileTheSpecificationIsADraft(t *testing.T) {
	r := newRig(t)
	r.spec = dispatch.Draft
	o := r.poll("--output-driver", "exec")
	assert.Equal(t, poll.ExitError, o.code)
	assert.Contains(t, o.err, "draft")
	o = r.run("dispatch", "--fullsend-dir", filepath.Join(r.dir, ".fullsend"), "--state", r.state())
	assert.Equal(t, poll.ExitError, o.code)
	assert.Contains(t, o.err, "draft")
}

// SPEC AU-24 to AU-27, RU-8: one event, every harness that it may start; what cannot be decided is tried again by poll.
func TestDispatch(t *testing.T) {
	s := newStage(t, "true")
	s.rewrite(s.script("true"))
	s.write("harness/on-go.yaml", onGo)
	send := func(ev string) int {
		return s.run("dispatch", "--input-driver=json", "--event="+s.file("event.json", ev))
	}

	assert.Equal(t, poll.ExitComplete, send(goEvent(12, "sam", "/go")), s.log())
	assert.Zero(t, s.starts(), "a stranger starts nothing, not even on a member")
	assert.Equal(t, poll.ExitComplete, send(goEvent(5, "wes", "/go")), s.log())
	assert.Equal(t, 2, s.starts(), "both harnesses: %s", s.log())
	assert.Equal(t, poll.ExitComplete, send(goEvent(5, "wes", "/stop")), s.log())
	assert.Equal(t, 3, s.starts(), "the member's harness only")
	assert.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
	assert.Equal(t, 3, s.starts(), "the event's run worked from the state that poll finds")

	s.do("fault kind=status status=500 route=permission")
	assert.Equal(t, poll.ExitIncomplete, s.run("dispatch", "--harness=on-go", "--event="+s.file("event.json", goEvent(5, "wes", "/go"))), s.log())
	left, err := filepath.Glob(filepath.Join(s.dir, "state.db.retry", "*.retry.json"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	s.do("clear-faults")
	b, err := os.ReadFile(left[0])
	require.NoError(t, err)
	i := strings.Index(string(b), `"due":"`) + len(`"due":"`)
	require.NoError(t, os.WriteFile(left[0], []byte(string(b[:i])+"2020"+string(b[i+4:])), 0o600)) // time passes
	assert.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
	assert.Equal(t, 4, s.starts(), s.log())
	left, err = filepath.Glob(filepath.Join(s.dir, "state.db.retry", "*.retry.json"))
	require.NoError(t, err)
	assert.Empty(t, left)
	for _, bad := range []string{`{`, `{"entity":{}}`, `[]`} {
		assert.NotEqual(t, poll.ExitComplete, send(bad), bad)
	}
	assert.Equal(t, 4, s.starts())
}

// SPEC RU-21: a sandbox that writes receipts: under bwrap it cannot reach the spool, and what it says changes nothing.
func TestASandboxCannotWriteReceipts(t *testing.T) {
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "true").CombinedOutput(); err != nil {
		t.Skipf("no usable bubblewrap here: %v: %s", err, out)
	}
	s := newStage(t, "true")
	forged := `{"key":"x","decision":"y","outcome":"ran","at":"2026-01-01T00:00:00Z"}`
	s.write("config.yaml", strings.Replace(s.read("config.yaml"), "sandbox: none", "sandbox: bwrap", 1))
	s.rewrite(`echo '` + forged + `' > "` + s.dir + `/state.db.spool/0-0.receipt.json" && echo WROTE; echo x >> "` + s.dir + `/state.db" && echo WROTE; ls "` + s.dir + `" && echo SAW;
		test -n "$TOKEN" && echo LEAK; grep -q acme/widgets#1 "$FULLSEND_CONTEXT" && echo "told of $FULLSEND_WORK_ITEM_KEY"; exit 5`)
	assert.Equal(t, poll.ExitIncomplete, s.run("poll"), s.log())
	for _, bad := range []string{"WROTE", "SAW\n", "LEAK"} {
		assert.NotContains(t, s.log(), bad)
	}
	assert.Contains(t, s.log(), "told of acme/widgets#1")
	assert.Contains(t, s.log(), "code 5", "what it did counts, not what it says")
}

// SPEC RU-7
func TestSigterm(t *testing.T) {
	s := newStage(t, "true")
	s.rewrite(s.script(`while :; do sleep 0.02; done`))
	p, _ := s.command("run", "--harness=h", "--entity=acme/widgets#1")
	require.NoError(t, p.Start())
	require.Eventually(t, func() bool { return s.starts() == 1 }, 20*time.Second, 10*time.Millisecond, s.log())
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	_ = p.Wait()
	assert.Equal(t, poll.ExitIncomplete, p.ProcessState.ExitCode(), s.log())
	assert.Contains(t, s.log(), "was stopped")
	out, _ := exec.Command("pgrep", "-f", s.dir+"/runs").Output()
	assert.Empty(t, strings.TrimSpace(string(out)), "the sandbox's processes are gone")
}
