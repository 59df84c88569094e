package forgejo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
)

// fill makes n entities; every fifth is a pull request, and several share a second.
func fill(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		kind := ""
		if i%5 == 0 {
			kind = " kind=change_proposal"
		}
		fmt.Fprintf(&b, "create as=stella title=\"t %d\"%s\n", i, kind)
		if i%7 == 0 {
			b.WriteString("advance by=1s\n")
		}
	}
	return b.String()
}

func numbers(from, to int, keep func(int) bool) []int64 {
	var ns []int64
	for i := from; i <= to; i++ {
		if keep(i) {
			ns = append(ns, int64(i))
		}
	}
	return ns
}

func isIssue(n int) bool { return n%5 != 0 }
func isPull(n int) bool  { return n%5 == 0 }

// SPEC FJ-3: every walk gives every entity once, at every size that meets a page's edge.
func TestWalksGiveEveryEntityOnce(t *testing.T) {
	for _, n := range []int{0, 1, 49, 50, 51, 98, 100, 131} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			st := newStage(t, face.Gitea124, fill(n))
			for _, kind := range []query.Kind{query.WorkItem, query.ChangeProposal} {
				own, other := isIssue, isPull
				if kind == query.ChangeProposal {
					own, other = isPull, isIssue
				}
				st.config.Kind = kind
				ses := st.open()
				all := list(ses, "all", time.Time{}, nil)
				require.NoError(t, all.err)
				assert.Empty(t, all.short)
				assert.Equal(t, numbers(1, n, own), sorted(all.numbers))
				assert.Equal(t, numbers(1, n, other), sorted(all.other))
				changes := list(ses, "issues", time.Time{}, nil)
				require.NoError(t, changes.err)
				assert.Equal(t, numbers(1, n, own), sorted(changes.numbers))
				assert.Empty(t, changes.other)
			}
		})
	}
}

// SPEC FJ-3: an idle window costs one request, however many entities there are.
func TestIdleWindowCostsOneRequest(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(120)+"advance by=1h")
	ses := st.open()
	since := st.w.Now()
	st.run("advance by=1m")
	st.meter.reset()
	l := list(ses, "issues", since, nil)
	require.NoError(t, l.err)
	assert.Empty(t, l.numbers)
	assert.Equal(t, 1, st.meter.count(adapters.Search))
}

// SPEC FJ-2: since is inclusive and of whole seconds.
func TestWindowIsInclusiveAndWholeSeconds(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(3)+"advance by=1h\nclose on=2 as=olga")
	at := st.entity(2).Updated
	for _, since := range []time.Time{at, at.Add(999 * time.Millisecond)} {
		l := list(st.open(), "issues", since, nil)
		require.NoError(t, l.err)
		assert.Equal(t, []int64{2}, l.numbers, since)
	}
	assert.Empty(t, list(st.open(), "issues", at.Add(time.Second), nil).numbers)
}

// SPEC FJ-4: rows that come and go in front of the reader lose nothing that stays.
func TestDriftBetweenPages(t *testing.T) {
	const n = 160
	for _, tt := range []struct {
		name, change string
		gone         []int64
	}{
		{"delete in front", "delete on=159", []int64{159}},
		{"delete the last row seen", "delete on=111", []int64{111}},
		{"delete many in front", deleteRange(112, 159), span(112, 159)},
		{"delete the whole first page", deleteRange(105, 160), span(105, 160)},
		{"create in front", strings.Repeat("create as=wes title=new\n", 3), nil},
		{"create a page in front", strings.Repeat("create as=wes title=new\n", 120), nil},
		{"close in front", "close on=157 as=olga", nil},
		{"close behind", "close on=17 as=olga", nil},
		{"create and delete in front", "create as=wes title=new\ndelete on=158\ndelete on=156", []int64{158, 156}},
	} {
		for _, walk := range []string{"all", "issues"} {
			t.Run(tt.name+" "+walk, func(t *testing.T) {
				st := newStage(t, face.Gitea124, fill(n))
				ses := st.open()
				for i, line := range strings.Split(tt.change, "\n") {
					if line != "" {
						_ = i
						require.NoError(t, st.w.After("issues.list", 1, line))
					}
				}
				l := list(ses, walk, time.Time{}, nil)
				require.NoError(t, l.err)
				require.NoError(t, st.w.HookErr())
				assert.Empty(t, l.short)
				assertOnce(t, l.numbers)
				for _, want := range numbers(1, n, isIssue) {
					if !contains(tt.gone, want) {
						assert.Contains(t, l.numbers, want)
					}
				}
			})
		}
	}
}

func deleteRange(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "delete on=%d\n", i)
	}
	return b.String()
}

func span(from, to int) []int64 { return numbers(from, to, func(int) bool { return true }) }

func contains(ns []int64, n int64) bool {
	for _, m := range ns {
		if m == n {
			return true
		}
	}
	return false
}

func assertOnce(t assert.TestingT, ns []int64) {
	seen := map[int64]bool{}
	for _, n := range ns {
		assert.False(t, seen[n], "%d twice", n)
		seen[n] = true
	}
}

// SPEC FJ-4: the same, for any sequence of changes between any pages.
func TestDriftProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 170).Draw(r, "entities")
		st := newStage(t, face.Gitea124, fill(n))
		ses := st.open()
		gone := map[int64]bool{}
		for range rapid.IntRange(0, 40).Draw(r, "changes") {
			after := rapid.IntRange(1, 6).Draw(r, "after")
			on := rapid.IntRange(1, n).Draw(r, "on")
			line := "create as=wes title=new"
			if rapid.Bool().Draw(r, "delete") && !gone[int64(on)] {
				line = fmt.Sprintf("delete on=%d", on)
				gone[int64(on)] = true
			}
			require.NoError(r, st.w.After("issues.list", after, line))
		}
		l := list(ses, "all", time.Time{}, nil)
		require.NoError(r, l.err)
		assert.Empty(r, l.short)
		assertOnce(r, append(l.numbers, l.other...))
		for i := int64(1); i <= int64(n); i++ {
			if !gone[i] && !contains(l.numbers, i) && !contains(l.other, i) {
				r.Fatalf("%d was lost", i)
			}
		}
	})
}

// SPEC FJ-4: a listing goes on where a crash left it, through whatever happened in between.
func TestResume(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(160))
	ses := st.open()
	var first []int64
	var cursor []byte
	for p, err := range ses.Pages(t.Context(), nil, adapters.Walk{Name: "all"}, adapters.Position{}) {
		require.NoError(t, err)
		for _, it := range p.Items {
			first = append(first, it.Number)
		}
		cursor = p.Next
		break
	}
	require.NotEmpty(t, cursor)
	st.run("delete on=160\ndelete on=150\ncreate as=wes title=new\n" + deleteRange(105, 120))
	rest := list(st.open(), "all", time.Time{}, cursor)
	require.NoError(t, rest.err)
	assert.Equal(t, numbers(1, 104, isIssue), sorted(rest.numbers[indexBelow(rest.numbers, 105):]))
	assertOnce(t, append(first, rest.numbers...))
}

func indexBelow(ns []int64, below int64) int {
	for i, n := range ns {
		if n < below {
			return i
		}
	}
	return len(ns)
}

// SPEC FJ-4: a cursor of another window or another maker is refused, never half used.
func TestForeignCursor(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(120))
	ses := st.open()
	var cursor []byte
	for p := range ses.Pages(t.Context(), nil, adapters.Walk{Name: "issues"}, adapters.Position{}) {
		cursor = p.Next
		break
	}
	for name, l := range map[string]listed{
		"other window": list(ses, "issues", st.w.Now(), cursor),
		"other walk":   list(ses, "all", time.Time{}, cursor),
		"garbage":      list(ses, "issues", time.Time{}, []byte("{")),
		"absurd":       list(ses, "issues", time.Time{}, []byte(`{"w":"issues","n":-4,"p":999}`)),
	} {
		assert.ErrorIs(t, l.err, adapters.ErrCursor, name)
	}
}

// SPEC FJ-5: a server with smaller pages than it says, or one that drops rows, is read to its end all the same.
func TestSmallerPages(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(130))
	ses := st.open()
	st.run("fault kind=drop-rows route=issues.list n=20 count=2")
	l := list(ses, "all", time.Time{}, nil)
	require.NoError(t, l.err)
	assert.Equal(t, numbers(1, 130, isIssue), sorted(l.numbers))
}

// SPEC FJ-6: what is not a whole answer never supports "covered".
func TestIncompletePages(t *testing.T) {
	for _, tt := range []struct{ name, fault string }{
		{"null rows", "fault kind=null-rows route=issues.list n=1 count=1"},
		{"count too high", "fault kind=total route=issues.list n=7"},
		{"no count", "fault kind=no-total route=issues.list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := newStage(t, face.Gitea124, fill(60))
			ses := st.open()
			st.run(tt.fault)
			l := list(ses, "issues", time.Time{}, nil)
			require.NoError(t, l.err)
			assert.NotEmpty(t, l.short)
		})
	}
	for _, tt := range []struct{ name, fault string }{
		{"count too low", "fault kind=total route=issues.list n=-7"},
		{"a row twice", "fault kind=repeat-row route=issues.list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := newStage(t, face.Gitea124, fill(130))
			ses := st.open()
			st.run(tt.fault)
			l := list(ses, "issues", time.Time{}, nil)
			require.NoError(t, l.err)
			assert.Equal(t, numbers(1, 130, isIssue), sorted(l.numbers))
		})
	}
}

// SPEC FJ-7: an edited comment, which moves no clock, is found by the feed of its own; a new one is not pointed at.
func TestCommentFeed(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(10)+`
comment on=1 as=stella body=first name=c1
comment on=5 as=stella body=first name=c5
comment on=2 as=stella body=first name=c2
advance by=1h
`)
	ses := st.open()
	since := st.w.Now()
	st.run(`
advance by=10s
edit-comment comment=c1 as=stella body="/fs-fix now"
edit-comment comment=c5 as=stella body="/fs-fix now"
comment on=3 as=stella body=new
`)
	assert.Equal(t, []int64{3}, list(ses, "issues", since, nil).numbers)
	l := list(ses, "comments", since, nil)
	require.NoError(t, l.err)
	require.Len(t, l.items, 1)
	assert.Equal(t, st.ref(1).Identity, l.items[0].Ref.Identity)
	assert.NoError(t, ses.Scope().Check(l.items[0].Place))
	assert.Nil(t, l.items[0].Facts)

	st.config.Kind = query.ChangeProposal
	assert.Equal(t, []int64{5}, list(st.open(), "comments", since, nil).numbers)
}

// SPEC FJ-7: the feed survives drift as the others do.
func TestCommentFeedDrift(t *testing.T) {
	var b strings.Builder
	b.WriteString(fill(140) + "advance by=1h\n")
	for i := 1; i <= 140; i++ {
		fmt.Fprintf(&b, "comment on=%d as=stella body=x name=c%d\n", i, i)
	}
	b.WriteString("advance by=1h\n")
	for i := 1; i <= 140; i++ {
		fmt.Fprintf(&b, "edit-comment comment=c%d as=stella body=y\n", i)
	}
	st := newStage(t, face.Gitea124, b.String())
	ses := st.open()
	for _, line := range []string{"delete-comment comment=c3", "delete-comment comment=c50", "delete-comment comment=c7"} {
		require.NoError(t, st.w.After("comments.list", 1, line))
	}
	l := list(ses, "comments", st.w.Now().Add(-time.Minute), nil)
	require.NoError(t, l.err)
	require.NoError(t, st.w.HookErr())
	assert.Equal(t, numbers(1, 140, isIssue), sorted(l.numbers))
}
