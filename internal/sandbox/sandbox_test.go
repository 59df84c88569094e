package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/sandbox"
)

// run starts a shell script in a driver and returns what it printed.
func run(t *testing.T, d sandbox.Driver, script string, change func(*sandbox.Spec)) (sandbox.Result, string) {
	t.Helper()
	var out bytes.Buffer
	s := sandbox.Spec{Command: []string{"/bin/sh", "-c", script}, Env: map[string]string{"PATH": "/usr/bin:/bin"},
		Work: t.TempDir(), Context: []byte(`{"a":1}`), Grace: time.Second, Out: &out, Errs: &out}
	if change != nil {
		change(&s)
	}
	r, err := d.Run(context.Background(), s)
	require.NoError(t, err, out.String())
	return r, out.String()
}

func bwrap(t *testing.T) sandbox.Bubblewrap {
	t.Helper()
	if out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "true").CombinedOutput(); err != nil {
		t.Skipf("no usable bubblewrap here: %v: %s", err, out)
	}
	return sandbox.Bubblewrap{}
}

// SPEC RU-20
func TestEnvironmentIsBuiltFromNothing(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "secret")
	for _, d := range []sandbox.Driver{sandbox.Direct{}, sandbox.Direct{Launcher: []string{"/usr/bin/env"}}, bwrap(t)} {
		t.Run(d.Name(), func(t *testing.T) {
			r, out := run(t, d, `env; cat "$FULLSEND_CONTEXT"; exit 7`, func(s *sandbox.Spec) {
				s.Env["TITLE"] = "a\nGITHUB_TOKEN=forged $(touch pwned) ::error::"
			})
			assert.Equal(t, 7, r.Code)
			assert.NotContains(t, out, "secret")
			assert.Contains(t, out, `{"a":1}`)
			assert.Contains(t, out, "TITLE=a\n")
		})
	}
}

func TestWhatNoProgramCanBeGiven(t *testing.T) {
	for name, change := range map[string]func(*sandbox.Spec){
		"no command":        func(s *sandbox.Spec) { s.Command = nil },
		"NUL in argument":   func(s *sandbox.Spec) { s.Command = []string{"true", "a\x00b"} },
		"NUL in variable":   func(s *sandbox.Spec) { s.Env["A"] = "a\x00--bind" },
		"name with =":       func(s *sandbox.Spec) { s.Env["A=B"] = "" },
		"preloaded library": func(s *sandbox.Spec) { s.Env["LD_PRELOAD"] = "/work/x.so" },
		"shell start file":  func(s *sandbox.Spec) { s.Env["BASH_ENV"] = "/work/x" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range []sandbox.Driver{sandbox.Direct{}, sandbox.Bubblewrap{}} {
				s := sandbox.Spec{Command: []string{"/bin/true"}, Env: map[string]string{}, Work: t.TempDir()}
				change(&s)
				_, err := d.Run(context.Background(), s)
				require.ErrorIs(t, err, sandbox.ErrSpec)
			}
		})
	}
}

// SPEC RU-21
func TestBwrapShutsIn(t *testing.T) {
	d := bwrap(t)
	spool := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(spool, "x.receipt.json"), []byte("kept"), 0o600))
	work := t.TempDir()
	r, out := run(t, d, `
		echo forged > "`+spool+`/y.receipt.json" && echo WROTE-SPOOL
		cat "`+spool+`/x.receipt.json" && echo READ-SPOOL
		touch /usr/pwned /etc/pwned /pwned && echo WROTE-SYSTEM
		cat /etc/shadow && echo READ-SHADOW
		ls /root /home && echo SAW-HOME
		for p in /proc/[0-9]*; do echo proc $p; done
		echo forged > "$FULLSEND_CONTEXT" && echo WROTE-CONTEXT
		cat /proc/net/dev
		echo kept > /work/result; mount -t tmpfs none /usr && echo MOUNTED
		exit 0`, func(s *sandbox.Spec) { s.Work = work })
	assert.Equal(t, 0, r.Code)
	for _, bad := range []string{"WROTE-SPOOL", "READ-SPOOL", "WROTE-SYSTEM", "READ-SHADOW", "SAW-HOME", "WROTE-CONTEXT", "MOUNTED", "eth0"} {
		assert.NotContains(t, out, bad)
	}
	assert.Less(t, strings.Count(out, "proc /proc/"), 5, "only processes of its own: %s", out)
	b, err := os.ReadFile(filepath.Join(work, "result"))
	require.NoError(t, err)
	assert.Equal(t, "kept\n", string(b))
	entries, err := os.ReadDir(spool)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

// A stopped command leaves nothing behind, not even what ignores being asked or went into the background.
func TestStop(t *testing.T) {
	for _, d := range []sandbox.Driver{sandbox.Direct{}, bwrap(t)} {
		t.Run(d.Name(), func(t *testing.T) {
			work := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			started := &signal{seen: cancel}
			s := sandbox.Spec{Command: []string{"/bin/sh", "-c", `trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo up; while :; do sleep 0.05; done`},
				Env: map[string]string{"PATH": "/usr/bin:/bin"}, Work: work, Grace: 50 * time.Millisecond, Out: started, Errs: started}
			r, err := d.Run(ctx, s)
			require.NoError(t, err)
			assert.True(t, r.Stopped)
			assert.NotEqual(t, 0, r.Code)
		})
	}
	_, err := sandbox.Direct{}.Run(canceled(), sandbox.Spec{Command: []string{"/bin/true"}, Work: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled)
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// signal calls seen at the first output.
type signal struct{ seen func() }

func (s *signal) Write(b []byte) (int, error) { s.seen(); return len(b), nil }
