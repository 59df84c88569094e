package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/e2e/internal/gitea"
)

// boundRuns follows a candidate all the way: poll, the driver exec, the bound run, the sandbox.
func boundRuns(t *testing.T, r *rig) {
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "true").CombinedOutput(); err != nil {
		t.Skipf("no usable bubblewrap here: %v: %s", err, out)
	}
	s := r.site(r.poller.Token, []harness{{"runner", "coder", []source{{workItem, `v1: state = open and label = "ui" and any comment(command = "/e2e-run")`}}}})
	s.bin = openBinary(t)
	b, err := os.ReadFile(filepath.Join(s.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	s.write("config.yaml", string(b)+`run:
  sandbox: bwrap
  command: [/bin/sh, -c, 'echo "started for $FULLSEND_WORK_ITEM_KEY"; touch /usr/x && echo ESCAPED; echo x > "`+s.dir+`/state.db" && echo ESCAPED; env | grep -c TOKEN && echo LEAKED; grep -q "/e2e-run" "$FULLSEND_CONTEXT" && echo told; true']
`)
	started := func(n int) string { return fmt.Sprintf("started for %s#%d", r.repo, n) }

	n := r.open(r.stranger)
	r.label(n, "ui", r.writer)
	r.comment(n, "/e2e-run please", r.stranger)
	o := s.exec()
	require.Equal(t, exitDone, o.Code, o.Stderr)
	assert.NotContains(t, o.Stderr, "started for", "a stranger's comment starts nothing")

	r.comment(n, "/e2e-run", r.writer)
	o = s.exec()
	require.Equal(t, exitDone, o.Code, o.Stderr)
	assert.Equal(t, 1, strings.Count(o.Stderr, started(n)), o.Stderr)
	assert.Contains(t, o.Stderr, "told")
	for _, bad := range []string{"ESCAPED", "LEAKED"} {
		assert.NotContains(t, o.Stderr, bad)
	}
	o = s.exec()
	require.Equal(t, exitDone, o.Code, o.Stderr)
	assert.NotContains(t, o.Stderr, "started for", "the state has not changed")

	// The label is removed after the poller has sent the candidate and before the run has looked.
	m := r.open(r.writer)
	r.label(m, "ui", r.writer)
	r.comment(m, "/e2e-run", r.writer)
	tr := r.proxy.hold(2, func(q *http.Request) bool { return q.URL.Path == "/api/v1/user" })
	p := s.startExec()
	select {
	case <-tr.hit:
	case <-p.done:
		require.FailNow(t, "the run has asked nothing", s.log())
	}
	r.unlabel(m, "ui")
	close(tr.free)
	o = p.waitNoRecords()
	o.Stderr = s.log()
	// A no on facts younger than the lag is asked again: until then the candidate waits, and the poller says so.
	require.Equal(t, exitIncomplete, o.Code, o.Stderr)
	assert.NotContains(t, o.Stderr, "started for", "label removed in time: no sandbox")
	assert.Contains(t, o.Stderr, "not_member")
	r.proxy.clear()

	r.label(m, "ui", r.writer)
	o = s.exec()
	require.Equal(t, exitDone, o.Code, o.Stderr)
	assert.Equal(t, 1, strings.Count(o.Stderr, started(m)), "back in the match: %s", o.Stderr)
}

// openBinary is the product with the gate of drafts open: the drivers that start something are tested, too.
func openBinary(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "fullsend")
	msg, err := exec.CommandContext(t.Context(), "go", "build", "-C", "..", "-o", out, "./cmd/fullsend").CombinedOutput()
	require.NoError(t, err, "build fullsend: %s", msg)
	return out
}

// startExec starts one poll with the driver exec. Its standard error is a file: runs outlive a poller, and write there.
func (s *site) startExec() *run {
	s.t.Helper()
	r := &run{s: s}
	r.cmd = exec.Command(s.bin, "poll", "--fullsend-dir", filepath.Join(s.dir, ".fullsend"), "--state", filepath.Join(s.dir, "state.db"), "--output-driver", "exec")
	r.cmd.Dir = s.dir
	r.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "NO_COLOR=1", "FULLSEND_FORGE_TOKEN=" + s.token}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	require.NoError(s.t, err)
	defer log.Close()
	r.cmd.Stderr = log
	r.done, err = gitea.StartChild(r.cmd)
	require.NoError(s.t, err)
	return r
}

// exec runs one poll to its end and returns what it and its runs have printed.
func (s *site) exec() outcome {
	s.t.Helper()
	o := s.startExec().waitNoRecords()
	o.Stderr = s.log()
	return o
}

func (s *site) log() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	require.NoError(s.t, err)
	require.False(s.t, bytes.Contains(b, []byte(s.token)), "a token must never be printed")
	return string(b)
}
