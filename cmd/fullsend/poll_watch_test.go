package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// safe is a buffer that is written and read at the same time.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// watching is a `poll --watch` under way.
type watching struct {
	*rig
	out, err safe
	stop     context.CancelFunc
	code     chan int
}

func (r *rig) watch(args ...string) *watching {
	w := &watching{rig: r, code: make(chan int, 1)}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	e := &env{in: strings.NewReader(""), out: &w.out, err: &w.err, getenv: func(k string) (string, bool) { return r.token, k == "TOKEN" }}
	args = append([]string{"poll", "--watch", "--fullsend-dir", filepath.Join(r.dir, ".fullsend"), "--state", r.state()}, args...)
	go func() { w.code <- execute(ctx, args, e) }()
	r.t.Cleanup(stop)
	return w
}

// until waits for something to become true; a test that waits in vain fails after a minute.
func (w *watching) until(what string, ok func() bool) {
	w.t.Helper()
	require.Eventually(w.t, ok, time.Minute, 20*time.Millisecond, "%s\n%s", what, &w.err)
}

func (w *watching) cycles() int { return strings.Count(w.err.String(), "msg=cycle ") }

func (w *watching) end() int {
	w.stop()
	select {
	case c := <-w.code:
		return c
	case <-time.After(time.Minute):
		w.t.Fatal("it does not stop")
		return -1
	}
}

func (r *rig) every(d string) {
	p := filepath.Join(r.dir, ".fullsend", "config.yaml")
	b, err := os.ReadFile(p)
	require.NoError(r.t, err)
	r.write("config.yaml", strings.Replace(string(b), "name: code\n", "name: code\n      every: "+d+"\n", 1))
}

// behind puts another server before the world.
func (r *rig) behind(h http.Handler) {
	srv := httptest.NewServer(h)
	r.t.Cleanup(srv.Close)
	p := filepath.Join(r.dir, ".fullsend", "config.yaml")
	b, err := os.ReadFile(p)
	require.NoError(r.t, err)
	r.write("config.yaml", regexp.MustCompile(`base_url: "[^"]*"`).ReplaceAllString(string(b), `base_url: "`+srv.URL+`"`))
}

func (r *rig) statusNow() statusView {
	o := r.poll("status", "--json")
	var v statusView
	require.Equal(r.t, poll.ExitComplete, o.code, o.err)
	require.NoError(r.t, json.Unmarshal([]byte(o.out), &v))
	return v
}

// Scenario B113, SPEC PO-1, PO-2, PO-8: a watching poller sees what changes, keeps its sessions, takes up a changed configuration, and
// answers while it holds the file.
func TestWatch(t *testing.T) {
	r := newRig(t)
	r.every("1s")
	want := r.bugs()
	w := r.watch()
	w.until("first cycle", func() bool { return w.cycles() >= 1 && len(r.statusNow().Cycles) == 1 })
	assert.Equal(t, want, keys(t, outcome{out: w.out.String()}))

	// It can be asked, and nobody else may poll.
	v := r.statusNow()
	require.NotNil(t, v.Poller)
	assert.Equal(t, "watch", v.Poller.Mode)
	assert.Equal(t, os.Getpid(), v.Poller.PID)
	require.Len(t, v.Poller.Drivers, 1)
	assert.Equal(t, time.Second, v.Poller.Drivers[0].Every)
	require.Len(t, v.Cycles, 1)
	assert.False(t, v.Cycles[0].Complete.IsZero())
	o := r.poll("status")
	assert.Contains(t, o.out, "driver code: last cycle ended")
	assert.Equal(t, poll.ExitTryLater, r.poll().code)
	o = r.poll("plan")
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.out, "acme/widgets work_item (code)")
	o = r.poll("why", strings.TrimPrefix(want[0], "bugs "))
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.out, "bugs: true")
	assert.Equal(t, poll.ExitUsage, r.poll("cancel", "--entity", "#1").code, "json starts no runs")

	// An idle cycle over an open session: one search, at most one request for who it is.
	n := w.cycles()
	r.world.ResetCounters()
	w.until("two idle cycles", func() bool { return w.cycles() >= n+2 })
	c, cycles := r.world.Counters().ByClass, w.cycles()-n
	assert.LessOrEqual(t, c[forgesim.ClassSearch], cycles+1)
	assert.LessOrEqual(t, c[forgesim.ClassIdentity], cycles+1)

	// A new harness is taken up without a restart; a broken configuration hands nothing over.
	r.harness("open", "triage", `state = open`)
	w.until("new harness", func() bool { return strings.Contains(w.out.String(), `"harness":"open"`) })
	good, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	r.write("config.yaml", "version: [\n")
	w.until("said so", func() bool { return strings.Contains(w.err.String(), "nothing is handed over") })
	assert.NotEmpty(t, r.statusNow().Poller.Config)
	sent := w.out.String()
	r.do("advance by=1m\ncreate as=olga title=Fresh labels=bug")
	n = w.cycles()
	w.until("cycles go on", func() bool { return w.cycles() >= n+2 })
	assert.Equal(t, sent, w.out.String())
	r.write("config.yaml", string(good))
	w.until("sent after all", func() bool { return strings.Contains(w.out.String(), "acme/widgets#121") })

	// A folder that was away, as while a checkout is exchanged, is taken up again, also when it comes back as it was.
	dir := filepath.Join(r.dir, ".fullsend")
	require.NoError(t, os.Rename(dir, dir+".away"))
	w.until("said so again", func() bool { return strings.Contains(w.err.String(), "no such file or directory") })
	require.NoError(t, os.Rename(dir+".away", dir))
	r.do("advance by=1m\ncreate as=olga title=Fresher labels=bug")
	w.until("sent as before", func() bool { return strings.Contains(w.out.String(), "acme/widgets#122") })
	assert.Empty(t, r.statusNow().Poller.Config)

	// Nor does it stop looking when nothing asks for anything.
	harnesses := filepath.Join(dir, "harness")
	require.NoError(t, os.Rename(harnesses, harnesses+".away"))
	w.until("empty", func() bool { return strings.Contains(w.err.String(), "nothing to poll") })
	require.NoError(t, os.Rename(harnesses+".away", harnesses))
	r.do("advance by=1m\ncreate as=olga title=Freshest labels=bug")
	w.until("sent by the harnesses that are back", func() bool { return strings.Contains(w.out.String(), "acme/widgets#123") })

	assert.Equal(t, poll.ExitComplete, w.end(), w.err.String())
	_, err = os.Lstat(r.state() + ".sock")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Nil(t, r.statusNow().Poller, "the file itself answers now")
}

// SPEC PO-3, scenario B155: a restart inside the interval waits for the tick.
func TestRestartWaitsForItsTick(t *testing.T) {
	r := newRig(t)
	r.every("1h")
	w := r.watch()
	w.until("first cycle", func() bool { return w.cycles() == 1 && len(r.statusNow().Cycles) == 1 })
	first := r.statusNow().Cycles[0]
	require.Equal(t, poll.ExitComplete, w.end())
	r.world.ResetCounters()
	w = r.watch()
	w.until("started", func() bool { return strings.Contains(w.err.String(), "msg=watching") })
	v := r.statusNow()
	require.NotNil(t, v.Poller)
	wait := v.Poller.Drivers[0].Next.Sub(first.Began)
	assert.GreaterOrEqual(t, wait, time.Hour)
	assert.LessOrEqual(t, wait, time.Hour+30*time.Second)
	assert.Zero(t, w.cycles())
	assert.Zero(t, r.world.Counters().Total)
	assert.Equal(t, poll.ExitComplete, w.end())
}

// SPEC PO-6: a provider that does not answer does not hold up the end; what was committed is kept.
func TestStopInTheMiddleOfAPage(t *testing.T) {
	r := newRig(t)
	asked := make(chan struct{}, 10)
	hang := true
	face := forgejo.New(r.world, forgejo.Options{})
	r.behind(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/issues") && q.URL.Query().Get("page") == "2" && hang {
			asked <- struct{}{}
			<-q.Context().Done()
			return
		}
		face.ServeHTTP(rw, q)
	}))
	w := r.watch()
	<-asked
	assert.Equal(t, poll.ExitComplete, w.end(), w.err.String())
	assert.NotContains(t, w.err.String(), "not everything that was begun ended in time")
	hang = false
	o := r.poll()
	assert.Equal(t, r.bugs(), keys(t, o), o.err)
	assert.Equal(t, poll.ExitComplete, r.poll("state", "check").code)
}

// SPEC PO-4: failures back off, and it is seen for how long.
func TestWatchBacksOff(t *testing.T) {
	r := newRig(t)
	r.every("1s")
	r.do("fault kind=status status=429 retry-after=3600")
	w := r.watch()
	w.until("failed", func() bool { return w.cycles() >= 1 && len(r.statusNow().Cycles) == 1 })
	c := r.statusNow().Cycles[0]
	assert.Equal(t, 1, c.Fails)
	assert.Greater(t, c.NotBefore.Sub(c.Ended), 50*time.Minute, "the provider's word")
	assert.True(t, c.Complete.IsZero())
	assert.Contains(t, r.poll("status").out, "FAILED 1 times in a row")
	assert.Equal(t, poll.ExitComplete, w.end())
}

// SPEC PO-15: a ledger that was taken away is not written to on and on: another poller would begin anew beside this one.
func TestLedgerTakenAway(t *testing.T) {
	r := newRig(t)
	r.every("1s")
	w := r.watch()
	w.until("first cycle", func() bool { return w.cycles() >= 1 && len(r.statusNow().Cycles) == 1 })
	require.NoError(t, os.Remove(r.state()))
	w.until("said so", func() bool { return strings.Contains(w.err.String(), "was taken away or exchanged") })
	assert.Equal(t, poll.ExitError, w.end())
}

func TestWatchUsage(t *testing.T) {
	r := newRig(t)
	for _, args := range [][]string{{"--watch", "--dry-run"}, {"--watch", "--full"}, {"--watch", "--catch-up", "all"}} {
		o := r.poll(args...)
		assert.Equal(t, poll.ExitUsage, o.code, args)
	}
}

// The summary line is one flat line with the ten members of DESIGN's list, in order, in every cycle. SPEC PO-7.
func TestSummaryLine(t *testing.T) {
	r := newRig(t)
	n := len(r.bugs())
	for cycle := range 2 {
		o := r.poll()
		var line string
		for l := range strings.Lines(o.err) {
			if strings.Contains(l, "msg=cycle ") {
				line = l
			}
		}
		fields := strings.Fields(line)
		var names []string
		for _, f := range fields {
			if k, _, ok := strings.Cut(f, "="); ok {
				names = append(names, k)
			}
		}
		assert.Equal(t, []string{"driver", "scope", "scanned", "matched", "unknown", "emitted", "dispatched", "failed", "backoff", "requests"}, names[3:13], line)
		if cycle == 0 {
			assert.Contains(t, line, " dispatched="+itoa(n)+" ")
		}
	}
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}
