package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// Scenario B089, SPEC CO-12, PO-16: what matches and was answered is not emitted again, however many pollers come by, and
// nothing but the daily sweep reads it again.
func TestDoneForAHundredCycles(t *testing.T) {
	r := newRig(t)
	require.Equal(t, r.bugs(), keys(t, r.poll()))
	reading := 0
	for range 100 {
		r.do("advance by=15m")
		r.world.ResetCounters()
		o := r.poll()
		require.Equal(t, poll.ExitComplete, o.code, o.err)
		require.Empty(t, o.out)
		c := r.world.Counters().ByClass
		require.Positive(t, c[forgesim.ClassSearch])
		if c[forgesim.ClassRead] > 0 {
			reading++
		}
	}
	assert.Equal(t, 1, reading, "cycles that read entities, in 25 hours")
}

// Scenario B090, SPEC CO-4: a second poller on the ledger ends at once and says who holds it; the first does not notice.
func TestSecondPoller(t *testing.T) {
	r := newRig(t)
	r.every("1s")
	w := r.watch()
	w.until("first cycle", func() bool { return w.cycles() >= 1 && len(r.statusNow().Cycles) == 1 })
	for _, second := range [][]string{nil, {"--watch"}} {
		o := r.poll(second...)
		assert.Equal(t, poll.ExitTryLater, o.code, o.err)
		assert.Contains(t, o.err, fmt.Sprint("held by pid ", os.Getpid()))
		assert.Empty(t, o.out)
	}
	n := w.cycles()
	w.until("the first goes on", func() bool { return w.cycles() >= n+2 })
	assert.Equal(t, poll.ExitComplete, w.end())
	assert.Equal(t, r.bugs(), keys(t, outcome{out: w.out.String()}))
}

// Scenarios B099, B111, SPEC CO-4: a poller whose parent was killed still holds the ledger, and is named to whoever comes.
func TestForgottenPollerIsNamed(t *testing.T) {
	s := newStage(t, "true")
	file := filepath.Join(s.dir, "child")
	parent, _ := s.command("poll", "--watch")
	parent.Path, parent.Args = "/bin/sh", append([]string{"sh", "-c", `"$0" "$@" >/dev/null & echo $! > ` + file + `; wait`}, parent.Args...)
	require.NoError(t, parent.Start())
	require.Eventually(t, func() bool { return strings.Contains(s.log(), "msg=watching") }, time.Minute, 20*time.Millisecond)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Equal(t, poll.ExitTryLater, s.run("poll"))
	assert.Contains(t, s.log(), fmt.Sprintf("held by pid %d on %s since ", child, host))
}

// Scenario B171: while no poller runs, one repository joins the configuration and another leaves it. The new one is read
// from its beginning; what still waits of the old one is not handed over.
func TestRepositoriesComeAndGo(t *testing.T) {
	r := newRig(t)
	require.Greater(t, len(r.bugs()), 1)
	require.Len(t, keys(t, r.poll("--emit-budget", "1")), 1)
	r.do(`repo repo=acme/other
set-role repo=acme/other user=agent role=admin
set-role repo=acme/other user=wes role=write
create-label repo=acme/other label=bug
create as=wes title=old labels=bug
advance by=240h`)
	config, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	r.write("config.yaml", strings.ReplaceAll(string(config), "acme/widgets", "acme/other"))
	o := r.poll()
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, []string{"bugs acme/other#1"}, keys(t, o))
}
