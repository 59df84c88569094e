//go:build unix

package coverage_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/coverage"
)

// Scenario B112, SPEC CO-4: a system call that blocks whatever the time-out, here because a pipe lies in the place of the
// file, holds up opening until its deadline and no longer.
func TestOpeningThatBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := coverage.OpenFile(t.Context(), path, coverage.FileOptions{ReadOnly: true, Deadline: 50 * time.Millisecond})
	require.ErrorIs(t, err, coverage.ErrHeld)
	require.ErrorContains(t, err, "opening "+path+" took longer than 50ms")
	require.ErrorContains(t, err, "network file system")
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, goleak.Find(), "what was left behind ends when nothing blocks any more")
	require.NoError(t, w.Close())
}
