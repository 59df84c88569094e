package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// decisions are what the records of an outcome ask about, by entity.
func decisions(t *testing.T, o outcome) map[string]string {
	t.Helper()
	ds := map[string]string{}
	for line := range strings.Lines(o.out) {
		var r struct {
			Decision string
			Entity   struct{ Key string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		ds[r.Entity.Key] = r.Decision
	}
	return ds
}

// Scenario B110, SPEC CO-6: a ledger that is missing beside what is left of it is made anew, which is said, and what comes
// again has the decision that it had.
func TestLedgerIsMissing(t *testing.T) {
	r := newRig(t)
	first := r.poll()
	require.Equal(t, poll.ExitComplete, first.code, first.err)
	require.NotEmpty(t, decisions(t, first))
	left := r.state() + ".20260101T000000Z"
	require.NoError(t, os.Rename(r.state(), left))
	o := r.poll()
	t.Log(o.err)
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.err, r.state())
	assert.Equal(t, decisions(t, first), decisions(t, o))
	assert.FileExists(t, left)
}

// Scenario B116, SPEC CO-6: whichever page of the ledger is zeros, the poller says that it is damaged or does not need the
// page; it never falls over, and the file stays.
func TestZeroedPageOfTheLedger(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	whole, err := os.ReadFile(r.state())
	require.NoError(t, err)
	damaged := 0
	const page = 4096
	for at := 0; at < len(whole); at += page {
		b := append([]byte{}, whole...)
		clear(b[at : at+page])
		require.NoError(t, os.WriteFile(r.state(), b, 0o600))
		o := r.poll()
		require.Empty(t, o.out, "page %d", at/page)
		require.NotContains(t, o.err, "goroutine ")
		if o.code == poll.ExitComplete {
			continue
		}
		damaged++
		require.Equal(t, poll.ExitError, o.code, "page %d: %s", at/page, o.err)
		require.Contains(t, o.err, "damaged", "page %d", at/page)
		require.Contains(t, o.err, "poll state", "page %d", at/page)
		require.FileExists(t, r.state())
	}
	assert.Greater(t, damaged, 3)
}

var _ = filepath.Join
var _ http.Handler
var _ forgejo.Options
var _ github.Options
var _ forgesim.Kind
