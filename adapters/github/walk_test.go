package github_test

import (
	"context"
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
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/query"
)

// many makes n entities of a kind, a minute apart.
func many(n int, kind string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "create as=olga kind=%s title=\"entity %d\"\nadvance by=1m\n", kind, i+1)
	}
	return b.String()
}

// compile makes the plan of one query.
func compile(t testing.TB, ses adapters.Session, kind query.Kind, texts ...string) adapters.Plan {
	t.Helper()
	p, refused := ses.Compile(context.Background(), sources(t, kind, texts...))
	require.Empty(t, refused)
	return p
}

// walk lists a plan's walk.
func walk(ses adapters.Session, p adapters.Plan, name string, since time.Time) listed {
	var l listed
	for page, err := range ses.Pages(context.Background(), p, adapters.Walk{Name: name}, adapters.Position{Since: since}) {
		if err != nil {
			l.err = err
			return l
		}
		l.pages++
		for _, it := range page.Items {
			l.numbers = append(l.numbers, it.Number)
		}
		l.items = append(l.items, page.Items...)
		l.other = append(l.other, page.Other...)
		if page.Short != nil {
			l.short = append(l.short, page.Short)
		}
	}
	return l
}

// SPEC GH-4: a window holds what changed at or after its beginning, in either kind's order.
func TestWindow(t *testing.T) {
	for _, kind := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		t.Run(string(kind), func(t *testing.T) {
			st := newStage(t, many(120, string(kind)))
			st.config.Kind = kind
			ses := st.open()
			since := st.entity(100).Updated.Add(300 * time.Millisecond)
			l := list(ses, "changed", since, nil)
			require.NoError(t, l.err)
			require.Empty(t, l.short)
			got := sorted(l.numbers)
			want := []int64{}
			for n := int64(100); n <= 120; n++ {
				want = append(want, n)
			}
			assert.Subset(t, got, want)
			if kind == query.WorkItem {
				assert.Equal(t, want, got, "whole seconds, and inclusive")
			} else {
				assert.LessOrEqual(t, l.pages, 1, "it stops at the first row from before the window")
			}
			assert.Len(t, list(ses, "changed", time.Time{}, nil).numbers, 120)
		})
	}
}

// SPEC GH-5: whatever happens between two pages, a walk misses nothing that was there before it began and was not touched
// since; what was touched is in it or belongs to the next window.
func TestDrift(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]query.Kind{query.WorkItem, query.ChangeProposal}).Draw(rt, "kind")
		drift(t, rt, kind, rapid.SampledFrom([]string{"changed", "all"}).Draw(rt, "walk"))
	})
}

func drift(t *testing.T, rt *rapid.T, kind query.Kind, walkName string) {
	const n = 40
	st := newStageUnder(t, nil, many(n, string(kind)))
	st.face.Switch(func(q *face.Quirks) { q.TooHeavy = 9 }) // small pages
	st.config.Kind = kind
	ses := st.open()
	start := st.w.Now()
	touched := map[int64]bool{}
	gone := map[int64]bool{}
	seen := map[int64]bool{}
	created := int64(n)
	for page, err := range ses.Pages(context.Background(), nil, adapters.Walk{Name: walkName}, adapters.Position{}) {
		require.NoError(rt, err)
		require.Nil(rt, page.Short)
		for _, it := range page.Items {
			seen[it.Number] = true
		}
		for range rapid.IntRange(0, 4).Draw(rt, "changes") {
			st.w.Advance(time.Duration(rapid.IntRange(0, 2).Draw(rt, "seconds")) * time.Second)
			num := rapid.Int64Range(1, created).Draw(rt, "number")
			ref := fmt.Sprintf("acme/widgets#%d", num)
			switch rapid.IntRange(0, 4).Draw(rt, "change") {
			case 0:
				if gone[num] {
					continue
				}
				_, err := st.w.Comment(ref, "rea", "hm", "")
				require.NoError(rt, err)
				touched[num] = true
			case 1:
				if gone[num] {
					continue
				}
				require.NoError(rt, st.w.Close(ref, "olga"))
				touched[num] = true
			case 2:
				if gone[num] {
					continue
				}
				require.NoError(rt, st.w.Delete(ref))
				gone[num] = true
			case 3:
				created++
				_, err := st.w.Create("stella", forgesim.NewEntity{Repo: "acme/widgets", Kind: forgesim.Kind(kind), Title: "new"})
				require.NoError(rt, err)
				touched[created] = true
			}
		}
	}
	for num := int64(1); num <= created; num++ {
		switch {
		case seen[num] || gone[num]:
		case touched[num] && st.entity(int(num)).Updated.Unix() >= start.Unix():
		default:
			rt.Fatalf("%d was not listed, touched %v", num, touched[num])
		}
	}
}

// SPEC GH-4: a listing that grows as fast as it is read comes to an end.
func TestWindowEnds(t *testing.T) {
	st := newStage(t, many(60, "work_item"))
	st.face.Switch(func(q *face.Quirks) { q.TooHeavy = 9 })
	ses := st.open()
	pages := 0
	for page, err := range ses.Pages(context.Background(), nil, adapters.Walk{Name: "changed"}, adapters.Position{}) {
		require.NoError(t, err)
		require.Nil(t, page.Short)
		for _, it := range page.Items { // everything that is read is touched at once
			st.w.Advance(20 * time.Second)
			_, err := st.w.Comment(it.Ref.Key, "rea", "again", "")
			require.NoError(t, err)
		}
		if pages++; pages > 200 {
			t.Fatal("the walk does not end")
		}
	}
}

// SPEC GH-6: when every source asks for a state, the sweep lists that state alone and is not dense.
func TestSweepFilters(t *testing.T) {
	for _, tc := range []struct {
		kind    query.Kind
		queries []string
		states  string
	}{
		{query.WorkItem, []string{"v1: state = open"}, "[OPEN]"},
		{query.WorkItem, []string{"v1: state = closed and label = \"bug\"", "v1: not state = open"}, "[CLOSED]"},
		{query.WorkItem, []string{"v1: state = open", "v1: label = \"bug\""}, "[OPEN, CLOSED]"},
		{query.WorkItem, []string{"v1: state = open or label = \"bug\""}, "[OPEN, CLOSED]"},
		{query.WorkItem, []string{"v1: state = open", "v1: state = closed"}, "[OPEN, CLOSED]"},
		{query.ChangeProposal, []string{"v1: state = open"}, "[OPEN]"},
		{query.ChangeProposal, []string{"v1: state = closed"}, "[CLOSED, MERGED]"},
		{query.ChangeProposal, []string{"v1: merged"}, "[MERGED]"},
		{query.ChangeProposal, []string{"v1: not merged"}, "[OPEN, CLOSED]"},
		{query.ChangeProposal, []string{"v1: state = closed and not merged"}, "[CLOSED]"},
	} {
		t.Run(string(tc.kind)+" "+strings.Join(tc.queries, "; "), func(t *testing.T) {
			script := "create as=olga kind=%[1]s title=a\ncreate as=olga kind=%[1]s title=b\ncreate as=olga kind=%[1]s title=c\nclose on=2 as=olga\n"
			if tc.kind == query.ChangeProposal {
				script += "merge on=3 as=olga\n"
			}
			script += "create as=olga kind=%[2]s title=other\n"
			other := query.ChangeProposal
			if tc.kind == other {
				other = query.WorkItem
			}
			st := newStage(t, fmt.Sprintf(script, tc.kind, other))
			st.config.Kind = tc.kind
			ses := st.open()
			p := compile(t, ses, tc.kind, tc.queries...)
			sweep := p.Walks()[len(p.Walks())-1]
			assert.Contains(t, p.Render(sweep), "states: "+tc.states)
			all := len(strings.Split(tc.states, ","))
			dense := all == 2 && tc.kind == query.WorkItem || all == 3
			assert.Equal(t, dense, sweep.Dense)
			l := walk(ses, p, "all", time.Time{})
			require.NoError(t, l.err)
			for n := 1; n <= 3; n++ {
				e := st.entity(n)
				state := map[bool]string{true: "CLOSED", false: "OPEN"}[e.Closed]
				if e.Merged {
					state = "MERGED"
				}
				assert.Equal(t, strings.Contains(tc.states, state), slices.Contains(l.numbers, int64(n)), "%d is %s", n, state)
			}
			if dense {
				assert.Equal(t, []int64{4}, l.other, "the numbers of the other kind")
			} else {
				assert.Empty(t, l.other)
			}
		})
	}
}

// SPEC GH-5: a cursor goes on where it stood, and only in the walk, window and search that it came from.
func TestCursors(t *testing.T) {
	st := newStage(t, many(120, "work_item"))
	ses := st.open()
	var mid []byte
	for p, err := range ses.Pages(context.Background(), nil, adapters.Walk{Name: "all"}, adapters.Position{}) {
		require.NoError(t, err)
		mid = p.Next
		break
	}
	rest := list(ses, "all", time.Time{}, mid)
	require.NoError(t, rest.err)
	assert.Len(t, rest.numbers, 70)
	for name, err := range map[string]error{
		"another walk":   list(ses, "changed", time.Time{}, mid).err,
		"another window": list(ses, "changed", st.w.Now(), mid).err,
		"foreign bytes":  list(ses, "all", time.Time{}, []byte("x")).err,
	} {
		assert.ErrorIs(t, err, adapters.ErrCursor, name)
	}
	p := compile(t, ses, query.WorkItem, "v1: state = open")
	for _, err := range ses.Pages(context.Background(), p, adapters.Walk{Name: "all"}, adapters.Position{Cursor: mid}) {
		assert.ErrorIs(t, err, adapters.ErrCursor, "another search")
	}
}

// SPEC GH-7: the feed of comments points at entities of the scope's kind whose comments were edited.
func TestCommentFeed(t *testing.T) {
	st := newStage(t, `
create as=olga title=a
create as=olga title=b
create as=olga kind=change_proposal title=c
comment on=1 as=rea body=one name=c1
comment on=2 as=rea body=two name=c2
comment on=3 as=rea body=three name=c3
advance by=1h
edit-comment comment=c1 as=rea body=uno
edit-comment comment=c3 as=rea body=tres
comment on=2 as=rea body=new
`)
	since := st.w.Now().Add(-time.Minute)
	l := list(st.open(), "comments", since, nil)
	require.NoError(t, l.err)
	assert.Equal(t, []int64{1}, l.numbers)
	assert.Nil(t, l.items[0].Facts)
	assert.Equal(t, st.ref(1).Identity, l.items[0].Ref.Identity)
	assert.Equal(t, []int64{3}, list(st.pulls().open(), "comments", since, nil).numbers)
	assert.Empty(t, list(st.open(), "comments", time.Time{}, nil).numbers, "from the beginning it points at nothing")
}

// SPEC GH-7: comments that are touched while the feed is read shift its offsets; none is passed over.
func TestCommentFeedUnderDrift(t *testing.T) {
	var script strings.Builder
	script.WriteString(many(30, "work_item"))
	for i := range 260 {
		fmt.Fprintf(&script, "comment on=%d as=rea body=x name=c%d\n", i%30+1, i)
	}
	for i := range 260 {
		fmt.Fprintf(&script, "advance by=2s\nedit-comment comment=c%d as=rea body=y\n", i)
	}
	st := newStage(t, script.String())
	since := st.w.Now().Add(-10 * time.Minute)
	require.NoError(t, st.w.After("comments.list", 1, "advance by=1s ; edit-comment comment=c0 as=rea body=z ; edit-comment comment=c1 as=rea body=z"))
	l := list(st.open(), "comments", since, nil)
	require.NoError(t, l.err)
	require.Empty(t, l.short)
	assert.Len(t, slices.Compact(sorted(l.numbers)), 30)
	assert.GreaterOrEqual(t, l.pages, 3)
}

// SPEC GH-7: where one second holds more comments than a page, pages overlap; the walk finds all and ends.
func TestCommentFeedInOneSecond(t *testing.T) {
	var script strings.Builder
	script.WriteString(many(250, "work_item"))
	for i := range 250 {
		fmt.Fprintf(&script, "comment on=%d as=rea body=x name=c%d\n", i+1, i)
	}
	script.WriteString("advance by=1m\n")
	for i := range 250 {
		fmt.Fprintf(&script, "edit-comment comment=c%d as=rea body=y\n", i)
	}
	st := newStage(t, script.String())
	since := st.w.Now().Add(-10 * time.Second)
	l := list(st.open(), "comments", since, nil)
	require.NoError(t, l.err)
	require.Empty(t, l.short)
	assert.Len(t, slices.Compact(sorted(l.numbers)), 250)
	var touch strings.Builder
	for i := range 30 { // rows in front of the reader move to the end, the last one that was read among them
		fmt.Fprintf(&touch, " ; edit-comment comment=c%d as=rea body=z", 70+i)
	}
	require.NoError(t, st.w.After("comments.list", 1, "advance by=1s"+touch.String()))
	l = list(st.open(), "comments", since, nil)
	require.NoError(t, l.err)
	assert.Len(t, slices.Compact(sorted(l.numbers)), 250)
}

// Scenario B081, SPEC GH-8: numbers that the sweep did not meet are deleted, transferred, of the other kind, present or out
// of sight.
func TestProbe(t *testing.T) {
	st := newStage(t, many(6, "work_item")+`
repo repo=acme/gadgets
create as=olga repo=acme/widgets kind=change_proposal title=p
delete on=acme/widgets#2
move on=acme/widgets#3 as=olga to=acme/gadgets
`)
	st.face.Switch(func(q *face.Quirks) { q.Flagged, q.Omitted = []int64{4}, []int64{5} })
	ses := st.open()
	l := list(ses, "all", time.Time{}, nil)
	require.NoError(t, l.err)
	assert.Equal(t, []int64{1, 6}, l.numbers)
	assert.Equal(t, []int64{7}, l.other)
	items, err := ses.(adapters.Prober).Probe(context.Background(), []int64{2, 3, 4, 5, 7, 8})
	require.NoError(t, err)
	var states []adapters.ItemState
	for i, it := range items {
		states = append(states, it.State)
		assert.Equal(t, []int64{2, 3, 4, 5, 7, 8}[i], it.Number)
	}
	assert.Equal(t, []adapters.ItemState{adapters.Gone, adapters.Gone, adapters.Unreadable, adapters.Present, adapters.Gone, adapters.Unreadable}, states)
	assert.Contains(t, items[1].Err.Error(), "transferred to acme/gadgets")
	assert.NotNil(t, items[3].Facts, "what the sweep missed is read")
}

// SPEC GH-5: a listing that repeats its place ends with an error.
func TestUnknownWalk(t *testing.T) {
	st := newStage(t, many(1, "work_item"))
	err := list(st.open(), "nonsense", time.Time{}, nil).err
	var e *adapters.Error
	require.True(t, errors.As(err, &e))
	assert.Equal(t, adapters.ScopeFailure, e.Severity)
}
