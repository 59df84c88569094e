package gitlab_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
)

func servers() map[string]face.Quirks {
	return map[string]face.Quirks{
		"by key":          {},
		"by number":       {NoKeyset: true},
		"key refused":     {KeysetRefused: true},
		"cursors expire":  {CursorExpired: true},
		"whole seconds":   {NoKeyset: true, WholeSeconds: true},
		"small pages":     {MostPerPage: 7},
		"few totals":      {NoKeyset: true, TotalsUpTo: 3, MostPerPage: 7},
		"small, seconds":  {NoKeyset: true, MostPerPage: 5, WholeSeconds: true},
		"offsets bounded": {NoKeyset: true, OffsetCap: 300},
	}
}

func kinds() []query.Kind { return []query.Kind{query.WorkItem, query.ChangeProposal} }

// SPEC GL-4 GL-5: whatever happens between the pages of a walk, every row that was there from its beginning and was not
// deleted is shown, and so is every change of a window until its beginning.
func TestNoRowIsLost(t *testing.T) {
	for name, q := range servers() {
		for _, kind := range kinds() {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) { driftingWalk(t, rt, kind, q) })
			})
		}
	}
}

func driftingWalk(t *testing.T, rt *rapid.T, kind query.Kind, q face.Quirks) {
	s := newStage(t, kind, q, "")
	n := rapid.IntRange(0, 40).Draw(rt, "entities")
	gap := rapid.SampledFrom([]string{"0s", "100us", "3ms", "400ms", "5s"})
	for i := range n {
		s.run(fmt.Sprintf("create as=wes title=t kind=%s name=e%d\nadvance by=%s", kind, i, gap.Draw(rt, "gap")))
	}
	for range rapid.IntRange(0, n).Draw(rt, "touches") {
		s.run(fmt.Sprintf("comment on=e%d as=wes body=x\nadvance by=%s", rapid.IntRange(0, max(n-1, 0)).Draw(rt, "touched"), gap.Draw(rt, "gap")))
	}
	ses := s.open()
	sweep := rapid.Bool().Draw(rt, "sweep")
	since := forgesim.Epoch()
	if !sweep {
		since = since.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "since")) * time.Millisecond)
	}
	owed := map[int64]bool{}
	for i := range n {
		e, err := s.w.Entity(fmt.Sprintf("e%d", i))
		require.NoError(t, err)
		owed[e.Number] = sweep || !e.Updated.Before(since)
	}
	for i := range rapid.IntRange(0, 8).Draw(rt, "interruptions") {
		if n == 0 {
			break
		}
		e := rapid.IntRange(0, n-1).Draw(rt, "victim")
		what := rapid.SampledFrom([]string{"comment on=e%d as=wes body=y", "delete on=e%d", "edit on=e%d as=wes title=new", "create as=wes title=late kind=" + string(kind)}).Draw(rt, "what")
		if strings.Contains(what, "%d") {
			what = fmt.Sprintf(what, e)
		}
		if strings.HasPrefix(what, "delete") {
			ent, err := s.w.Entity(fmt.Sprintf("e%d", e))
			require.NoError(t, err)
			delete(owed, ent.Number)
		}
		s.run(fmt.Sprintf("after route=search n=%d do=%q", i/2+1, "advance by="+gap.Draw(rt, "pause")+" ; "+what))
	}
	l := list(ses, walk(ses, sweep), since, nil)
	require.NoError(t, l.err)
	for number, is := range owed {
		if is && !slices.Contains(l.numbers, number) && len(l.short) == 0 {
			rt.Fatalf("number %d was lost: %v", number, l.numbers)
		}
	}
}

// SPEC GL-5: a row that was touched since it was seen marks no place: rows that were not seen may stand in front of it.
func TestTouchedRowMarksNoPlace(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			var script strings.Builder
			for i := range 7 {
				if i == 5 {
					script.WriteString("advance by=400ms\n")
				}
				fmt.Fprintf(&script, "create as=wes title=t kind=%s name=e%d\n", kind, i+1)
			}
			s := newStage(t, kind, face.Quirks{NoKeyset: true, MostPerPage: 5}, script.String())
			ses := s.open()
			// The first page fills its instant. Three of its rows leave, one of them to the instant of those that come.
			s.run(`after route=search n=1 do="comment on=e1 as=wes body=x ; advance by=5s ; comment on=e3 as=wes body=x ; comment on=e2 as=wes body=x"`)
			l := list(ses, walk(ses, false), forgesim.Epoch(), nil)
			require.NoError(t, l.err)
			require.Empty(t, l.short)
			for n := range int64(7) {
				assert.Contains(t, l.numbers, n+1)
			}
		})
	}
}

// SPEC GL-5: hundreds of rows of one instant are all shown, in a handful of requests, also while some of them move on.
func TestTies(t *testing.T) {
	for name, q := range map[string]face.Quirks{"by key": {}, "by number": {NoKeyset: true}, "whole seconds": {NoKeyset: true, WholeSeconds: true}} {
		for _, kind := range kinds() {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				var script strings.Builder
				for i := range 350 {
					fmt.Fprintf(&script, "create as=wes title=t kind=%s name=e%d\n", kind, i)
					if i == 40 || i == 300 {
						script.WriteString("advance by=1500ms\n") // others before and behind the crowd
					}
				}
				for _, sweep := range []bool{false, true} {
					s := newStage(t, kind, q, script.String())
					ses := s.open()
					// The rows of an instant come by descending id: those of the first pages go.
					s.run(`after route=search n=2 do="comment on=e300 as=wes body=x ; comment on=e299 as=wes body=x ; delete on=e290 ; delete on=e289"
after route=search n=3 do="delete on=e288 ; delete on=e287 ; delete on=e286 ; comment on=e100 as=wes body=x"`)
					s.meter.reset()
					l := list(ses, walk(ses, sweep), time.Time{}, nil)
					require.NoError(t, l.err)
					require.Empty(t, l.short)
					for i := range 350 {
						if e, err := s.w.Entity(fmt.Sprintf("e%d", i)); err == nil {
							assert.Contains(t, l.numbers, e.Number)
						}
					}
					assert.LessOrEqual(t, s.meter.total(), 12)
				}
			})
		}
	}
}

// SPEC GL-5: a page from which rows are missing loses none of them.
func TestMissingRows(t *testing.T) {
	for name, q := range servers() {
		for _, kind := range kinds() {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				s := newStage(t, kind, q, strings.Repeat("create as=wes title=t kind="+string(kind)+"\nadvance by=1s\n", 130))
				ses := s.open()
				s.run("fault kind=drop-rows n=3 route=search count=1")
				l := list(ses, walk(ses, true), time.Time{}, nil)
				require.NoError(t, l.err)
				assert.Len(t, slices.Compact(slices.Sorted(slices.Values(l.numbers))), 130)
			})
		}
	}
}

// SPEC GL-4: a walk that stopped at any page goes on from its cursor; one of another walk or window is refused.
func TestCursors(t *testing.T) {
	for name, q := range servers() {
		for _, kind := range kinds() {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				var script strings.Builder
				for i := range 130 {
					fmt.Fprintf(&script, "create as=wes title=t kind=%s name=e%d\nadvance by=%dms\n", kind, i, i%3*400)
				}
				s := newStage(t, kind, q, script.String())
				ses := s.open()
				w := walk(ses, true)
				seen := map[int64]bool{}
				var cursor []byte
				for range 200 {
					for p, err := range ses.Pages(t.Context(), nil, w, adapters.Position{Cursor: cursor}) {
						require.NoError(t, err)
						for _, it := range p.Items {
							seen[it.Number] = true
						}
						cursor = p.Next
						break
					}
					if cursor == nil {
						break
					}
				}
				assert.Len(t, seen, 130)
			})
		}
	}
	s := newStage(t, query.WorkItem, face.Quirks{MostPerPage: 2}, strings.Repeat("create as=wes title=t\nadvance by=1s\n", 5))
	ses := s.open()
	var cursor []byte
	for p, err := range ses.Pages(t.Context(), nil, walk(ses, false), adapters.Position{Since: forgesim.Epoch()}) {
		require.NoError(t, err)
		cursor = p.Next
		break
	}
	require.NotEmpty(t, cursor)
	for _, l := range []listed{list(ses, walk(ses, true), time.Time{}, cursor), list(ses, walk(ses, false), forgesim.Epoch().Add(time.Second), cursor),
		list(ses, walk(ses, false), forgesim.Epoch(), []byte("junk")), list(ses, walk(ses, false), forgesim.Epoch(), []byte(`{"w":"issues","n":-1}`))} {
		assert.ErrorIs(t, l.err, adapters.ErrCursor)
	}
}

// SPEC GL-3: the window is inclusive to the millisecond, every state is in it, locked merge requests too.
func TestEveryState(t *testing.T) {
	s := newStage(t, query.ChangeProposal, face.Quirks{LockedMerges: []int64{3}}, `
create as=wes title=a kind=change_proposal name=a ; close on=a as=wes
create as=wes title=b kind=change_proposal name=b ; merge on=b as=wes
create as=wes title=c kind=change_proposal name=c
create as=wes title=d kind=change_proposal name=d
create as=wes title="an issue"`)
	l := list(s.open(), walk(s.open(), false), s.w.Now(), nil)
	require.NoError(t, l.err)
	assert.Len(t, l.items, 4)
	var states []string
	for _, it := range l.items {
		states = append(states, it.Facts.Get(query.FState).Values[0].Str)
	}
	slices.Sort(states)
	assert.Equal(t, []string{"closed", "closed", "open", "open"}, states)
}

// SPEC GL-6: a row without an id does not kill the reader; it leaves the page short, and what lies behind is read.
func TestRowsThatAreNone(t *testing.T) {
	for name, q := range map[string]face.Quirks{"by key": {NoID: []int64{3}}, "by number": {NoKeyset: true, NoID: []int64{3}}, "no label ids": {NoLabelDetails: true}} {
		for _, kind := range kinds() {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				s := newStage(t, kind, q, strings.Repeat(fmt.Sprintf("create as=wes title=t labels=bug kind=%s\nadvance by=1s\n", kind), 5))
				l := list(s.open(), walk(s.open(), true), time.Time{}, nil)
				require.NoError(t, l.err)
				if q.NoLabelDetails {
					assert.Equal(t, query.Partial, l.items[0].Facts.Get(query.FLabel).Presence)
					return
				}
				require.NotEmpty(t, l.short)
				assert.ErrorIs(t, l.short[0], adapters.ErrProtocol)
				assert.Equal(t, []int64{1, 2, 4, 5}, slices.Compact(slices.Sorted(slices.Values(l.numbers))))
			})
		}
	}
}

// Scenario B016, SPEC GL-3: without label details the list of merge requests is stale for hours; it is
// asked for with them. (skara 1427)
func TestLabelsAreSeenAtOnce(t *testing.T) {
	s := newStage(t, query.ChangeProposal, face.Quirks{StaleList: 5 * time.Hour}, "create as=wes title=t kind=change_proposal name=a\nadvance by=2h")
	ses := s.open()
	s.run("label on=a as=wes label=bug")
	l := list(ses, walk(ses, false), s.w.Now().Add(-time.Minute), nil)
	require.Len(t, l.items, 1)
	assert.Len(t, l.items[0].Facts.Get(query.FLabel).Items, 1)
}

// SPEC GL-5: the token shows every change that a row shows, and nothing else.
func TestToken(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t labels=bug milestone=1.0 name=a")
	ses := s.open()
	token := func() string {
		l := list(ses, walk(ses, true), time.Time{}, nil)
		require.Len(t, l.items, 1)
		return l.items[0].Token
	}
	before := token()
	require.NotEmpty(t, before)
	require.Equal(t, before, token())
	for _, change := range []string{"rename-label label=bug to=defect", "rename-milestone milestone=1.0 to=2.0", "rename-user login=wes to=wes2",
		"set-updated on=a at=2020-01-01T00:00:00Z", "comment on=a as=olga body=x name=c", "delete-comment comment=c", "assign on=a as=olga user=rea", "close on=a as=olga"} {
		s.run(change)
		after := token()
		assert.NotEqual(t, before, after, change)
		before = after
	}
	require.NoError(t, s.w.BlockUser("rea", true))
	assert.Equal(t, before, token(), "what an account does is not the entity's")
}

// SPEC GL-9: what goes wrong in a walk is of the moment or of the scope, and says when to come back.
func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		fault string
		is    error
		sev   adapters.Severity
		after time.Duration
	}{
		"throttled":      {"status status=429 retry-after=90", adapters.ErrThrottled, adapters.MomentFailure, 90 * time.Second},
		"no word":        {"status status=429", adapters.ErrThrottled, adapters.MomentFailure, 0},
		"maintenance":    {"status status=503 retry-after=600", adapters.ErrUnavailable, adapters.MomentFailure, 10 * time.Minute},
		"bad gateway":    {"status status=502", adapters.ErrUnavailable, adapters.MomentFailure, 0},
		"forbidden":      {"status status=403", adapters.ErrForbidden, adapters.ScopeFailure, 0},
		"not found":      {"status status=404", adapters.ErrNotFound, adapters.ScopeFailure, 0},
		"unauthorized":   {"status status=401", adapters.ErrUnauthorized, adapters.ScopeFailure, 0},
		"login page":     {"html", adapters.ErrProtocol, adapters.MomentFailure, 0},
		"empty":          {"empty", adapters.ErrProtocol, adapters.MomentFailure, 0},
		"null":           {"null-body", adapters.ErrProtocol, adapters.MomentFailure, 0},
		"half":           {"invalid-json", adapters.ErrProtocol, adapters.MomentFailure, 0},
		"cut":            {"cut", adapters.ErrUnavailable, adapters.MomentFailure, 0},
		"reset":          {"reset", adapters.ErrUnavailable, adapters.MomentFailure, 0},
		"another status": {"status status=418", adapters.ErrProtocol, adapters.ScopeFailure, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t")
			ses := s.open()
			s.run("fault route=search kind=" + tt.fault)
			l := list(ses, walk(ses, false), time.Time{}, nil)
			var e *adapters.Error
			require.ErrorAs(t, l.err, &e)
			assert.ErrorIs(t, l.err, tt.is)
			assert.Equal(t, tt.sev, e.Severity)
			assert.Equal(t, tt.after, e.After)
			assert.NotContains(t, e.Error(), s.token)
		})
	}
}

// Scenario B124, SPEC GL-9: a limit is told by RateLimit-Reset where Retry-After is missing, in no header at all, or by plain text alone.
func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		q     face.Quirks
		after time.Duration
		told  bool
	}{
		"Retry-After":     {face.Quirks{PerMinute: 5}, 40 * time.Second, true},
		"RateLimit-Reset": {face.Quirks{PerMinute: 5, NoRetryAfter: true}, 40 * time.Second, true},
		"silent":          {face.Quirks{PerMinute: 5, SilentLimit: true}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.WorkItem, tt.q, "create as=wes title=t\nadvance by=20s")
			ses := s.open()
			var err error
			for range 4 {
				err = errors.Join(err, list(ses, walk(ses, false), time.Time{}, nil).err)
			}
			var e *adapters.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, e, adapters.ErrThrottled)
			assert.Equal(t, tt.after, e.After)
			assert.Equal(t, tt.told, len(s.meter.after) > 0, "what the budget is told")
		})
	}
}

// Scenario B033, SPEC GL-5: the server's own cursor is used where it pages by key, and pages by number
// are never asked for but within an instant. (bugwarrior#807)
func TestNoDeepOffsets(t *testing.T) {
	for name, q := range map[string]face.Quirks{"by key": {OffsetCap: 200}, "by number": {NoKeyset: true, OffsetCap: 200}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.WorkItem, q, strings.Repeat("create as=wes title=t\nadvance by=1s\n", 450))
			ses := s.open()
			for _, sweep := range []bool{false, true} {
				s.w.ResetCounters()
				l := list(ses, walk(ses, sweep), time.Time{}, nil)
				require.NoError(t, l.err)
				assert.Len(t, slices.Compact(slices.Sorted(slices.Values(l.numbers))), 450)
				assert.LessOrEqual(t, s.w.Counters().ByRoute["issues.list"], 6)
				for _, h := range s.w.Hits() {
					assert.Equal(t, name == "by key" && strings.Contains(h.URI, "cursor="), strings.Contains(h.URI, "cursor="), h.URI)
					assert.NotContains(t, h.URI, "&page=")
				}
			}
		})
	}
}

// SPEC GL-13: what moves no clock is not in a window, and is in the sweep.
func TestWhatNoWindowShows(t *testing.T) {
	s := newStage(t, query.ChangeProposal, face.Quirks{}, "create as=wes title=t kind=change_proposal labels=bug milestone=1.0 name=a\ncomment on=a as=wes body=x name=c\nadvance by=1h")
	ses := s.open()
	for _, change := range []string{"rename-label label=bug to=defect", "rename-milestone milestone=1.0 to=2.0", "delete-comment comment=c", "push on=a as=wes"} {
		before := list(ses, walk(ses, true), time.Time{}, nil).items[0].Token
		s.run(change)
		assert.Empty(t, list(ses, walk(ses, false), s.w.Now(), nil).items, change)
		assert.NotEqual(t, before, list(ses, walk(ses, true), time.Time{}, nil).items[0].Token, change)
	}
}
