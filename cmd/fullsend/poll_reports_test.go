package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
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

// Scenario B110: a ledger that is missing beside what is left of it is made anew, which is said, and what comes again has
// the decision that it had.
func TestLedgerIsMissing(t *testing.T) {
	r := newRig(t)
	first := r.poll()
	require.Equal(t, poll.ExitComplete, first.code, first.err)
	require.Len(t, decisions(t, first), len(r.bugs()))
	left := r.state() + ".20260101T000000Z"
	require.NoError(t, os.Rename(r.state(), left))
	o := r.poll()
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.err, "no ledger yet")
	assert.Equal(t, decisions(t, first), decisions(t, o))
	assert.FileExists(t, left)
}

// Scenario B116: whichever page of the ledger is zeros, the poller says that it is damaged, or does not need the page; it
// never falls over, and the file stays.
func TestZeroedPageOfTheLedger(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	whole, err := os.ReadFile(r.state())
	require.NoError(t, err)
	damaged := 0
	const page = 4096
	for at := 0; at < len(whole); at += page {
		b := slices.Clone(whole)
		clear(b[at : at+page])
		state := filepath.Join(t.TempDir(), "state.db")
		require.NoError(t, os.WriteFile(state, b, 0o600))
		o := r.poll("--state", state)
		require.Empty(t, o.out, "page %d", at/page)
		require.FileExists(t, state)
		if o.code == poll.ExitComplete {
			continue
		}
		damaged++
		require.Equal(t, poll.ExitError, o.code, "page %d: %s", at/page, o.err)
		require.Contains(t, o.err, "damaged: "+state, "page %d", at/page)
		require.Contains(t, o.err, "see `poll state`", "page %d", at/page)
		require.NotContains(t, o.err, "goroutine ")
	}
	assert.Greater(t, damaged, 3)
}

// Scenario B124: a limit that goes on for ten minutes and does not say for how long ends no cycle with less than everything
// in the end.
func TestTenMinutesOfASilentLimit(t *testing.T) {
	for provider, tr := range trackers() {
		t.Run(provider, func(t *testing.T) {
			r := newTracker(t, provider, tr)
			require.Equal(t, []string{"bugs " + tr.item}, keys(t, r.poll()))
			r.do("create as=wes title=two labels=bug\nfault kind=status status=429")
			for range 4 {
				o := r.poll()
				assert.Equal(t, poll.ExitTryLater, o.code, o.err)
				assert.Empty(t, o.out)
				r.do("advance by=150s")
			}
			r.do("clear-faults")
			o := r.poll()
			assert.Equal(t, poll.ExitComplete, o.code, o.err)
			assert.Equal(t, []string{"bugs " + strings.TrimSuffix(tr.item, "1") + "2"}, keys(t, o))
		})
	}
}

// status remembers what was answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Scenario B119, SPEC PO-19: ten scopes of one credential that need twice what a minute allows, opened anew by each process: the first
// word of the limit stops them all, so that only what was under way is refused, and whoever was not read is first next time.
func TestTenScopesUnderOneLimit(t *testing.T) {
	r := newTracker(t, "gitlab", trackers()["gitlab"])
	want := []string{"bugs acme/widgets#1"}
	config, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	scopes := "scopes: ["
	for i := range 9 {
		name := fmt.Sprint("acme/more", i)
		scopes += "{project: " + name + "}, "
		r.do("repo repo=" + name + "\nset-role user=olga role=admin\nset-role user=wes role=write\ncreate-label label=bug\ncreate as=wes title=x labels=bug")
		want = append(want, "bugs "+name+"#1")
	}
	slices.Sort(want)
	r.write("config.yaml", strings.Replace(string(config), "scopes: [", scopes, 1))
	face := gitlab.New(r.world, gitlab.Options{Quirks: gitlab.Quirks{PerMinute: 40}})
	var refused atomic.Int32
	r.behind(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		s := &status{ResponseWriter: w}
		face.ServeHTTP(s, q)
		if s.code == http.StatusTooManyRequests {
			refused.Add(1)
		}
	}))
	r.do("advance by=1h")
	var got []string
	limited := false
	for cycle := 0; cycle < 12 && len(got) < len(want); cycle++ {
		refused.Store(0)
		o := r.poll()
		got = append(got, keys(t, o)...)
		assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
		limited = limited || refused.Load() > 0
		assert.LessOrEqual(t, refused.Load(), int32(4*4), "four scopes at a time, four reads at a time")
		r.do("advance by=61s")
	}
	assert.True(t, limited)
	slices.Sort(got)
	assert.Equal(t, want, got)
}

// Scenario B132: a listing that is empty because a single sign-on was not passed covers nothing, and nothing leaves.
func TestEmptyListingBeforeASignOn(t *testing.T) {
	r := newTracker(t, "github", trackers()["github"])
	face := github.New(r.world, github.Options{})
	partial := false
	r.behind(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if partial {
			w.Header().Set("X-GitHub-SSO", "partial-results; organizations=21955855")
		}
		face.ServeHTTP(w, q)
	}))
	var all []int64
	for n := range int64(40) {
		all = append(all, n+1)
		r.do("create as=wes title=x labels=bug\nadvance by=1m")
	}
	require.Len(t, keys(t, r.poll()), 41)
	partial = true
	face.Switch(func(q *github.Quirks) { q.Omitted = append(all, 41) })
	r.do("advance by=25h\ncreate as=wes title=new labels=bug\nadvance by=1m")
	o := r.poll()
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.Contains(t, o.err, "single sign-on")
	partial = false
	face.Switch(func(q *github.Quirks) { q.Omitted = nil })
	r.do("advance by=1h")
	again := r.poll()
	assert.Equal(t, poll.ExitComplete, again.code, again.err)
	assert.Equal(t, []string{"bugs acme/widgets#42"}, append(keys(t, o), keys(t, again)...), "the others were members all the time")
}

// Scenario B131: an error inside an answer makes that part unknown: a harness that needs it has to wait, the others go on,
// and a part that nobody needs is no matter.
func TestErrorInAPartOfAnAnswer(t *testing.T) {
	r := newTracker(t, "github", trackers()["github"])
	face := github.New(r.world, github.Options{})
	r.behind(face)
	r.do("assign on=1 as=wes user=wes\nadvance by=1m")
	face.Switch(func(q *github.Quirks) { q.Broken = "assignees" })
	o := r.poll()
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, []string{"bugs acme/widgets#1"}, keys(t, o))
	r.harness("mine", "coder", `assignee = "wes"`)
	o = r.poll()
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.Empty(t, o.out)
	face.Switch(func(q *github.Quirks) { q.Broken = "" })
	r.do("advance by=3h")
	assert.Equal(t, []string{"mine acme/widgets#1"}, keys(t, r.poll()))
}

// Scenario B139: cycles that take longer than their interval end, one after the other, and cover what they read.
func TestCyclesLongerThanTheirInterval(t *testing.T) {
	r := newRig(t)
	r.every("1s")
	face := forgejo.New(r.world, forgejo.Options{})
	r.behind(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/issues") && q.URL.Query().Get("page") == "1" {
			select { // a server that needs longer than the interval
			case <-time.After(1200 * time.Millisecond):
			case <-q.Context().Done():
				return
			}
		}
		face.ServeHTTP(w, q)
	}))
	want := r.bugs()
	w := r.watch()
	w.until("first cycle", func() bool { return w.cycles() >= 1 })
	r.do("advance by=1m\ncreate as=olga title=Fresh labels=bug")
	w.until("what came since", func() bool { return strings.Contains(w.out.String(), "acme/widgets#121") })
	require.Equal(t, poll.ExitComplete, w.end(), w.err.String())
	assert.ElementsMatch(t, append(want, "bugs acme/widgets#121"), keys(t, outcome{out: w.out.String()}))
	c := r.statusNow().Cycles
	require.Len(t, c, 1)
	assert.Greater(t, c[0].Ended.Sub(c[0].Began), time.Second)
	assert.Zero(t, c[0].Fails)
	assert.Equal(t, c[0].Ended, c[0].Complete, fmt.Sprint(c[0]))
}
