package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// SPEC PO-13
func TestStateOfAHeldLedger(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	s, err := coverage.OpenFile(context.Background(), r.state(), coverage.FileOptions{Version: "other"})
	require.NoError(t, err)
	defer s.Close()
	export := filepath.Join(r.dir, "e")
	require.NoError(t, os.WriteFile(export, nil, 0o600))
	for _, args := range [][]string{{"check"}, {"compact"}, {"export"}, {"import", "--in", export, "--yes"}, {"reset", "--yes"}, {"reset", "--scope", "forgejo", "--yes"}} {
		o := r.poll(append([]string{"state"}, args...)...)
		assert.Equal(t, poll.ExitTryLater, o.code, "%v %s", args, o.err)
		assert.Contains(t, o.err, "held by pid", args)
	}
	for _, args := range [][]string{{"status"}, {"why", "#1", "--offline"}} {
		assert.Equal(t, poll.ExitTryLater, r.poll(args...).code, "it holds the file and answers no questions: %v", args)
	}
}

func TestStateThereAndBack(t *testing.T) {
	r := newRig(t)
	want := r.bugs()
	require.Equal(t, want, keys(t, r.poll()))
	o := r.poll("state", "check")
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.out, "nothing is wrong")
	export := filepath.Join(r.dir, "e.jsonl")
	require.Equal(t, poll.ExitComplete, r.poll("state", "export", "--out", export).code)
	assert.Equal(t, poll.ExitError, r.poll("state", "export", "--out", export).code, "nothing is overwritten")
	assert.Equal(t, poll.ExitComplete, r.poll("state", "compact").code)

	assert.Equal(t, poll.ExitUsage, r.poll("state", "reset").code, "nobody said yes")
	require.Equal(t, poll.ExitComplete, r.poll("state", "reset", "--yes").code)
	_, err := os.Stat(r.state())
	require.ErrorIs(t, err, os.ErrNotExist)
	aside, err := filepath.Glob(r.state() + ".2*Z")
	require.NoError(t, err)
	require.Len(t, aside, 1, "it is moved aside, not deleted")
	require.Equal(t, poll.ExitComplete, r.poll("state", "import", "--in", export).code)
	assert.Empty(t, r.poll().out, "everything is known again")

	// A cut export changes nothing.
	b, err := os.ReadFile(export)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(export, b[:len(b)/2], 0o600))
	o = r.poll("state", "import", "--in", export, "--yes")
	assert.Equal(t, poll.ExitError, o.code)
	assert.Contains(t, o.err, "damaged")
	assert.Empty(t, r.poll().out)

	o = r.poll("state", "reset", "--scope", "nowhere", "--yes")
	assert.Equal(t, poll.ExitUsage, o.code)
	assert.Contains(t, o.err, "give one of: forgejo|")
	require.Equal(t, poll.ExitComplete, r.poll("state", "reset", "--scope", "work_item", "--yes").code)
	assert.Equal(t, want, keys(t, r.poll()), "the scope begins anew")
}

func TestStateOfADamagedLedger(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	b, err := os.ReadFile(r.state())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(r.state(), b[:len(b)/2], 0o600))
	for _, args := range [][]string{{"check"}, {"export"}, {"compact"}} {
		o := r.poll(append([]string{"state"}, args...)...)
		assert.Equal(t, poll.ExitError, o.code, args)
		assert.Contains(t, o.err, "damaged", args)
		assert.Contains(t, o.err, r.state(), "it is named")
	}
	// Flipped bytes inside values; free pages hold old ones, so all of them.
	flipped := bytes.ReplaceAll(b, []byte("acme/widgets#"), []byte("acme/wIdgets#"))
	require.NotEqual(t, b, flipped)
	require.NoError(t, os.WriteFile(r.state(), flipped, 0o600))
	o := r.poll("state", "check")
	assert.Equal(t, poll.ExitError, o.code, o.out)
	assert.Contains(t, o.out, "checksum")
	require.Equal(t, poll.ExitComplete, r.poll("state", "reset", "--yes").code, "a damaged one can be reset")
	assert.Equal(t, r.bugs(), keys(t, r.poll()))
}

func TestStatusPage(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	to := filepath.Join(r.dir, "status.html")
	require.Equal(t, poll.ExitComplete, r.poll("status", "--html", to).code)
	fi, err := os.Stat(to)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
	b, err := os.ReadFile(to)
	require.NoError(t, err)
	assert.Contains(t, string(b), "<svg")
	assert.Equal(t, string(b)[:50], r.poll("status", "--html").out[:50])
	assert.Equal(t, poll.ExitUsage, r.poll("status", to).code)
}

// disk mounts a small file system of its own for the ledger, or skips.
func disk(t *testing.T, size string) string {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system of our own can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	return dir
}

// Scenario B117, SPEC PO-15: a full disk below the ledger is reported before anything is asked or handed over.
func TestFullDiskBelowTheLedger(t *testing.T) {
	for _, left := range []int{0, 200 << 10} {
		r := newRig(t)
		small := disk(t, "8m")
		state := filepath.Join(small, "state.db")
		r.do("fault kind=status status=500 route=permission") // so that the first cycle hands nothing over
		require.Equal(t, poll.ExitIncomplete, r.poll("--state", state).code)
		r.do("clear-faults\nadvance by=24h")
		filler, err := os.Create(filepath.Join(small, "filler"))
		require.NoError(t, err)
		for {
			if _, err := filler.Write(make([]byte, 64<<10)); err != nil {
				break
			}
		}
		fi, err := filler.Stat()
		require.NoError(t, err)
		require.NoError(t, filler.Truncate(max(0, fi.Size()-int64(left))))
		require.NoError(t, filler.Close())
		r.world.ResetCounters()
		o := r.poll("--state", state)
		assert.Equal(t, poll.ExitError, o.code, o.err)
		assert.Contains(t, o.err, "no space left on device")
		assert.Empty(t, o.out)
		assert.Zero(t, r.world.Counters().Total, "not even the provider was asked")
		require.NoError(t, os.Remove(filler.Name()))
		o = r.poll("--state", state)
		assert.Equal(t, poll.ExitComplete, o.code, o.err)
		assert.Equal(t, r.bugs(), keys(t, o))
	}
}

// Scenario B098, SPEC PO-15: so is a disk that can only be read; status and why still answer.
func TestReadOnlyDisk(t *testing.T) {
	r := newRig(t)
	small := disk(t, "16m")
	state := filepath.Join(small, "state.db")
	require.Equal(t, poll.ExitComplete, r.poll("--state", state).code)
	if out, err := exec.Command("mount", "-o", "remount,ro", small).CombinedOutput(); err != nil {
		t.Skipf("it cannot be made read-only here: %v %s", err, out)
	}
	r.do("advance by=1h\ncreate as=olga title=Fresh labels=bug")
	r.world.ResetCounters()
	o := r.poll("--state", state)
	assert.Equal(t, poll.ExitError, o.code, o.err)
	assert.Contains(t, o.err, "read-only file system")
	assert.Empty(t, o.out)
	assert.Zero(t, r.world.Counters().Total)
	assert.Equal(t, poll.ExitError, r.poll("--state", filepath.Join(small, "new.db")).code)
	assert.Equal(t, poll.ExitComplete, r.poll("status", "--state", state).code)
	o = r.poll("why", "#121", "--state", state)
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.True(t, strings.Contains(o.out, "not covered yet"), o.out)
}
