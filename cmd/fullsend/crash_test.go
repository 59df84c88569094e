package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// asProgram makes this test program play the command, so that pollers and runs are processes that can be killed.
const asProgram = "FULLSEND_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// stage is a forge with one issue, and a folder whose harness h asks for the label bug and starts a shell script.
type stage struct {
	t        *testing.T
	world    *forgesim.World
	dir      string
	requests atomic.Int64
	at       atomic.Pointer[func(n int64)] // at each request of a process
}

func newStage(t *testing.T, script string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir()}
	s.world = forgesim.New(forgesim.Options{Profile: forgejo.Gitea124.Profile()})
	require.NoError(t, s.world.Seed(0, 1))
	face := forgejo.New(s.world, forgejo.Options{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.requests.Add(1)
		if f := s.at.Load(); f != nil {
			(*f)(n)
		}
		face.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { s.kill() })
	s.do("create as=olga title=one name=it", "label on=it as=wes label=bug")
	s.write("harness/h.yaml", `role: coder
trigger: "true"
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open and label = "bug"'}]
`)
	s.config(srv.URL, script, "none")
	return s
}

func (s *stage) config(url, script, box string) {
	s.write("config.yaml", fmt.Sprintf(`version: "1"
run:
  command: [/bin/sh, -c, %q]
  sandbox: %s
poll:
  output_driver: exec
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: %q, token_env: TOKEN}
      scopes: [{repo: acme/widgets, kinds: [work_item]}]
`, script, box, url))
}

func (s *stage) write(name, text string) {
	p := filepath.Join(s.dir, ".fullsend", name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(p), 0o700))
	require.NoError(s.t, os.WriteFile(p, []byte(text), 0o600))
}

func (s *stage) do(script ...string) {
	s.t.Helper()
	require.NoError(s.t, s.world.Run(context.Background(), strings.NewReader(strings.Join(script, "\n"))))
}

// command is a process of the program; its arguments name the stage, by which kill finds it and its runs.
func (s *stage) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	args = append(args, "--fullsend-dir="+filepath.Join(s.dir, ".fullsend"), "--state="+filepath.Join(s.dir, "state.db"))
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1", "TOKEN="+forgesim.AdminToken)
	errs, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { errs.Close() })
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, errs
	return c, &out
}

func (s *stage) run(args ...string) int {
	c, _ := s.command(args...)
	_ = c.Run() // the code is what counts
	return c.ProcessState.ExitCode()
}

func (s *stage) log() string {
	b, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(b)
}

// starts is how often the sandbox was started.
func (s *stage) starts() int {
	b, _ := os.ReadFile(filepath.Join(s.dir, "runs"))
	return bytes.Count(b, []byte("\n"))
}

// kill ends every process of the stage at once, as a crash of the machine would.
func (s *stage) kill() {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		b, err := os.ReadFile(p)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		if err == nil && pid != os.Getpid() && bytes.Contains(b, []byte(s.dir)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func (s *stage) script(rest string) string {
	return `echo "$FULLSEND_HARNESS $FULLSEND_WORK_ITEM_KEY" >> ` + filepath.Join(s.dir, "runs") + "; " + rest
}

// SPEC RU-10: one decision, one sandbox; a state that does not change starts nothing.
func TestPollStartsABoundRunOnce(t *testing.T) {
	s := newStage(t, "true")
	s.rewrite(s.script("true"))
	for range 3 {
		require.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
		assert.Equal(t, 1, s.starts())
		s.do("advance by=1h")
	}
	s.do("comment on=it as=agent body=done") // our own comment
	require.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
	assert.Equal(t, 1, s.starts())
	s.do("unlabel on=it as=wes label=bug", "advance by=1m")
	require.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
	s.do("label on=it as=wes label=bug", "advance by=1m")
	require.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
	assert.Equal(t, 2, s.starts(), "it has left and entered again")
}

// rewrite gives the harness another script, keeping the forge's address.
func (s *stage) rewrite(script string) {
	p := filepath.Join(s.dir, ".fullsend", "config.yaml")
	b, err := os.ReadFile(p)
	require.NoError(s.t, err)
	lines := strings.Split(string(b), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  command:") {
			lines[i] = fmt.Sprintf("  command: [/bin/sh, -c, %q]", script)
		}
	}
	require.NoError(s.t, os.WriteFile(p, []byte(strings.Join(lines, "\n")), 0o600))
}

// SPEC RU-11: whatever step of poll, outbox, run and receipt everything dies at, the decision is served, and not for ever.
func TestKilledAtEveryRequest(t *testing.T) {
	s := newStage(t, "true")
	s.rewrite(s.script("true"))
	require.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
	total := s.requests.Load()
	require.Greater(t, total, int64(8))
	step := int64(1)
	if testing.Short() {
		step = 7
	}
	for n := int64(1); n <= total; n += step {
		t.Run(fmt.Sprint("request ", n), func(t *testing.T) {
			s := newStage(t, "true")
			s.rewrite(s.script("true"))
			killAt := func(i int64) {
				if i == n {
					s.kill()
				}
			}
			s.at.Store(&killAt)
			s.run("poll")
			require.GreaterOrEqual(t, s.requests.Load(), n, "it was killed: %s", s.log())
			for range 2 {
				require.Equal(t, poll.ExitComplete, s.run("poll"), s.log())
			}
			assert.Equal(t, 1, s.starts(), "no sandbox had begun: exactly once. %s", s.log())
		})
	}
}

// SPEC RU-11: killed between the start of the sandbox and the taking in of its receipt.
func TestKilledAroundTheSandbox(t *testing.T) {
	cases := []struct {
		name   string
		script func(s *stage) string // in the sandbox, only the first time
		most   int
	}{
		{"run and poller die in the sandbox", func(s *stage) string {
			return s.once(`for p in $(grep -laF "` + s.dir + `" /proc/[0-9]*/cmdline | cut -d/ -f3); do [ $p != $$ ] && kill -9 $p; done; true`)
		}, 2},
		{"the poller dies in the sandbox, the run ends", func(s *stage) string { return s.once(`kill -9 $(cat ` + s.dir + `/poller)`) }, 1},
		{"the poller dies, and another comes while the run lives", func(s *stage) string {
			return s.once(`kill -9 $(cat ` + s.dir + `/poller); while [ ! -e ` + s.dir + `/go ]; do sleep 0.02; done`)
		}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, "true")
			s.rewrite(s.script(c.script(s)))
			p, _ := s.command("poll")
			require.NoError(t, p.Start())
			require.NoError(t, os.WriteFile(filepath.Join(s.dir, "poller"), fmt.Append(nil, p.Process.Pid), 0o600))
			_ = p.Wait()
			require.Equal(t, -1, p.ProcessState.ExitCode(), s.log())
			s.run("poll") // may meet the run still alive
			assert.LessOrEqual(t, s.starts(), c.most)
			require.NoError(t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600))
			require.Eventually(t, func() bool { return s.run("poll") == poll.ExitComplete }, 20*time.Second, 50*time.Millisecond, "it ends: %s", s.log())
			n := s.starts()
			assert.GreaterOrEqual(t, n, 1)
			assert.LessOrEqual(t, n, c.most, s.log())
			s.do("advance by=24h")
			s.run("poll")
			assert.Equal(t, n, s.starts(), "not for ever")
		})
	}
}

// once runs a script in the first sandbox only.
func (s *stage) once(script string) string {
	return `if [ ! -e ` + s.dir + `/once ]; then touch ` + s.dir + `/once; ` + script + `; fi`
}

// SPEC RU-2: the gate stands before every start: label removed in time, no sandbox.
func TestLabelRemovedBetweenPollAndRun(t *testing.T) {
	s := newStage(t, "true")
	s.rewrite(s.script("true"))
	var once atomic.Bool
	act := func(int64) {
		// The run's own requests come after the poller's last one: the ledger is what tells that the poll is over.
		if b, _ := os.ReadFile(filepath.Join(s.dir, "log")); bytes.Contains(b, []byte("msg=dispatched")) && once.CompareAndSwap(false, true) {
			s.do("unlabel on=it as=wes label=bug")
		}
	}
	s.at.Store(&act)
	s.run("poll")
	require.True(t, once.Load(), s.log())
	assert.Zero(t, s.starts(), s.log())
	assert.Contains(t, s.log(), "not_member")
}

// SPEC RU-30: cancel ends the run and frees the entity without calling it done.
func TestPollCancel(t *testing.T) {
	s := newStage(t, "true")
	s.rewrite(s.script(`while [ ! -e ` + s.dir + `/go ]; do sleep 0.02; done`))
	assert.Equal(t, poll.ExitError, s.run("poll", "cancel", "--entity=acme/widgets#1"), "nothing is known yet")
	p, _ := s.command("poll")
	require.NoError(t, p.Start())
	require.Eventually(t, func() bool { return s.starts() == 1 }, 20*time.Second, 20*time.Millisecond, s.log())
	require.Eventually(t, func() bool {
		return s.run("poll", "cancel", "--issue=acme/widgets#1", "--harness=h") == poll.ExitComplete
	}, 20*time.Second, 20*time.Millisecond, s.log())
	_ = p.Wait()
	assert.Equal(t, poll.ExitIncomplete, p.ProcessState.ExitCode(), s.log())
	assert.Contains(t, s.log(), "was stopped")
	assert.Contains(t, s.log(), "not handed over yet", "it is offered again")
	assert.Equal(t, poll.ExitError, s.run("poll", "cancel", "--entity=acme/widgets#1"), "no run is left")
}
