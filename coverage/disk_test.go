//go:build unix

package coverage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

// Scenario B117, SPEC CO-8: a file that may not grow any further, in a process of its own, stands for a full disk: the write is
// refused by the operating system. What was committed stays readable, and the next process goes on.
func TestFullDiskForReal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 10)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "COVERAGE_TEST_FULL="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "refused: ledger: ")
	require.NotContains(t, string(out), coverage.ErrDamaged.Error())
	commits := strings.Count(string(out), "commit")
	require.Positive(t, commits, string(out))

	s := openFile(t, path)
	r, err := coverage.Check(context.Background(), s)
	require.NoError(t, err)
	require.Empty(t, r.Problems)
	require.Equal(t, 10+100*commits, r.Entities, "every commit that was told, and no other")
	b := &bed{t: t, store: s, now: t0, sc: scopA, plan: plan("p1", src, "review/1")}
	b.reopen()
	b.begin()
	require.Equal(t, 100, b.settle(b.hundred(1_000_000)...).Entered)
}

func (b *bed) hundred(from int) (rs []coverage.Record) {
	for i := range 100 {
		rs = append(rs, b.rec(from+i, 'A', src))
	}
	return rs
}

// SPEC CO-8: a ledger that found no room when it was made is not there, rather than cut.
func TestNoRoomForANewLedger(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, limit := range []int{1, 4096, 8192, 12288} {
		dir := t.TempDir()
		path := filepath.Join(dir, "ledger.db")
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "COVERAGE_TEST_FULL="+path, fmt.Sprintf("COVERAGE_TEST_LIMIT=%d", limit))
		out, err := cmd.CombinedOutput()
		require.Error(t, err, string(out))
		require.Contains(t, string(out), "open ledger: create "+path)
		require.NotContains(t, string(out), coverage.ErrDamaged.Error())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, openFile(t, path).Close(), "and is made once there is room")
	}
}

// runAsFull is the process of the tests above.
func runAsFull() bool {
	path := os.Getenv("COVERAGE_TEST_FULL")
	if path == "" {
		return false
	}
	run := fill
	if limit, err := strconv.ParseUint(os.Getenv("COVERAGE_TEST_LIMIT"), 10, 64); err == nil {
		run = func(path string) error { return openBelow(path, limit) }
	}
	if err := run(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return true
}

func openBelow(path string, limit uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	s, err := coverage.OpenFile(context.Background(), path, coverage.FileOptions{})
	if err != nil {
		return err
	}
	return s.Close()
}

func fill(path string) error {
	ctx := context.Background()
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := max(uint64(fi.Size()), 1<<20)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	s, err := coverage.OpenFile(ctx, path, coverage.FileOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	b := &bed{store: s, now: t0, sc: scopA, plan: plan("p1", src, "review/1")}
	l, err := coverage.Open(ctx, s, coverage.Options{})
	if err != nil {
		return err
	}
	for i := 1; i < 1000; i++ {
		_, err := l.Settle(ctx, scopA, b.hundred(i*1000))
		if err == nil {
			fmt.Println("commit")
			continue
		}
		fmt.Println("refused:", err)
		_, err = l.Snapshot(ctx, t0) // still readable
		if _, again := l.Settle(ctx, scopA, b.hundred(i*1000)); again == nil {
			return errors.Join(err, errors.New("the next write got through"))
		}
		return err
	}
	return errors.New("the disk never was full")
}
