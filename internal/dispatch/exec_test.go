package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/internal/dispatch"
)

func newExec(script string, most int, alive bool) *dispatch.Exec {
	return dispatch.NewExec(dispatch.ExecOptions{
		Program: "/bin/sh", Max: most, Now: func() time.Time { return noon },
		Args:  func(r *dispatch.Record) []string { return []string{"-c", script, "run", r.Key} },
		Alive: func(string) (int, bool, error) { return 0, alive, nil },
	})
}

func keyed(t *testing.T, keys ...string) []dispatch.Record {
	rs := make([]dispatch.Record, len(keys))
	for i, k := range keys {
		rs[i] = theRecord(t)
		rs[i].Key = k
	}
	return rs
}

// SPEC RU-35
func TestExecIsBoundedAndTellsOfRunsWithoutAWord(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx := context.Background()
	for code, silent := range map[string]bool{"0": false, "3": false, "1": true, "75": true} {
		gate := filepath.Join(t.TempDir(), "go")
		x := newExec("while [ ! -e "+gate+" ]; do sleep 0.01; done; exit "+code, 2, false)
		require.Equal(t, 2, x.Free(ctx))
		got, err := x.Start(ctx, keyed(t, "a", "b"))
		require.NoError(t, err)
		assert.Equal(t, []string{dispatch.Started, dispatch.Started}, outcomes(got))
		assert.Zero(t, x.Free(ctx))
		asked, err := x.Ask(ctx, keyed(t, "a", "c"))
		require.NoError(t, err)
		require.Len(t, asked, 1, "its own run lives, whether it has said so or not")
		assert.Equal(t, "a", asked[0].Key)
		require.NoError(t, os.WriteFile(gate, nil, 0o600))
		n := 0
		for x.Wait(ctx) {
			n += len(x.Ended())
		}
		assert.False(t, x.Busy())
		assert.Equal(t, 2, x.Free(ctx))
		want := 0
		if silent {
			want = 2
		}
		assert.Equal(t, want, n, "exit code %s", code)
	}
}

// SPEC RU-35: a poller that stops asks its runs to stop, and waits for them.
func TestExecStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, stop := context.WithCancel(context.Background())
	up := filepath.Join(t.TempDir(), "up")
	x := newExec("trap 'exit 3' INT; : > "+up+"; while :; do sleep 0.01; done", 1, false)
	_, err := x.Start(ctx, keyed(t, "a"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err := os.Stat(up); return err == nil }, 10*time.Second, 5*time.Millisecond)
	stop()
	for x.Wait(ctx) {
	}
	assert.Empty(t, x.Ended())
	assert.Zero(t, x.Free(ctx), "nothing is started any more")
}

// SPEC RU-34, RU-30
func TestExecFailures(t *testing.T) {
	x := dispatch.NewExec(dispatch.ExecOptions{Program: "/nowhere/fullsend", Max: 1, Now: func() time.Time { return noon },
		Args: func(*dispatch.Record) []string { return nil }, Alive: func(string) (int, bool, error) { return 0, false, nil }})
	got, err := x.Start(context.Background(), keyed(t, "a", "b"))
	require.Error(t, err)
	assert.Empty(t, got)
	assert.Equal(t, 1, x.Free(context.Background()))
	require.ErrorIs(t, x.Cancel(context.Background(), &keyed(t, "a")[0]), dispatch.ErrNoRun)
	asked, err := newExec("true", 1, true).Ask(context.Background(), keyed(t, "a"))
	require.NoError(t, err)
	assert.Equal(t, []string{dispatch.Started}, outcomes(asked), "a run of a poller that died")
}
