package forgejo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
)

func source(t *testing.T, id string, k query.Kind, text string) query.Source {
	t.Helper()
	q, ds := query.Parse(text)
	require.False(t, ds.Failed(), ds)
	b, ds := q.Bind(k, forgejo.Adapter{}.Catalogue(k), query.Env{})
	require.False(t, ds.Failed(), ds)
	return query.Source{ID: id, Query: b}
}

func names(ws []adapters.Walk) []string {
	var out []string
	for _, w := range ws {
		out = append(out, w.Name)
	}
	return out
}

// SPEC FJ-3: the search is one and the same for one source and for a hundred; only comments add a feed.
func TestCompile(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(3))
	ses := st.open()
	var ss []query.Source
	for range 100 {
		ss = append(ss, source(t, "h", query.WorkItem, `v1: state = open and label = "bug"`))
	}
	one, refused := ses.Compile(t.Context(), ss[:1])
	require.Empty(t, refused)
	many, refused := ses.Compile(t.Context(), ss)
	require.Empty(t, refused)
	require.Equal(t, []string{"issues", "all"}, names(one.Walks()))
	for _, w := range one.Walks() {
		assert.Equal(t, one.Render(w), many.Render(w))
		assert.GreaterOrEqual(t, w.Lag, w.Grain)
	}
	assert.Equal(t, "GET /api/v1/repos/acme/widgets/issues?limit=50&page=1&state=all&type=issues&since={since}", one.Render(one.Walks()[0]))
	assert.Equal(t, "GET /api/v1/repos/acme/widgets/issues?limit=50&page=1&state=all", one.Render(one.Walks()[1]))

	talk, _ := ses.Compile(t.Context(), append(ss, source(t, "c", query.WorkItem, `v1: any comment(command = "/fs-fix")`)))
	assert.Equal(t, []string{"issues", "comments", "all"}, names(talk.Walks()))
	assert.Contains(t, talk.Render(talk.Walks()[1]), "issues/comments?")
	assert.Contains(t, strings.Join(talk.Cost(), "\n"), "idle cycle: 3 ")
}

// SPEC FJ-3: every leaf is left to the local check, with a reason that a person can use.
func TestEveryLeafIsExplained(t *testing.T) {
	st := newStage(t, face.Gitea124, "")
	p, _ := st.open().Compile(t.Context(), []query.Source{source(t, "h", query.WorkItem,
		`v1: state = open and label = "bug" and not assignee is empty and title contains "x" and updated > now - 3d and milestone = "v2" and locked`)})
	fields := map[query.FieldID]bool{}
	for _, w := range p.Weakened() {
		assert.NotEmpty(t, w.Why)
		assert.Equal(t, "h", w.Source)
		fields[w.Leaf.Field] = true
	}
	for _, id := range []query.FieldID{query.FState, query.FLabel, query.FAssignee, query.FTitle, query.FUpdated, query.FMilestone, query.FLocked} {
		assert.True(t, fields[id], id)
	}
}

// SPEC FJ-10: the catalogue has what the provider has, and says which walk notices a change.
func TestCatalogue(t *testing.T) {
	for _, k := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		c := forgejo.Adapter{}.Catalogue(k)
		for _, name := range []string{"linked_change_proposal", "status", "cf[7]", "type", "parent"} {
			_, ok := c.Field(name)
			assert.False(t, ok, name)
		}
		_, pull := c.Field("review")
		assert.Equal(t, k == query.ChangeProposal, pull)
		comment, ok := c.Field("comment")
		require.True(t, ok)
		assert.Equal(t, []string{"issues", "comments"}, comment.Walks)
	}
	checks, ok := forgejo.Adapter{}.Catalogue(query.ChangeProposal).Field("checks")
	require.True(t, ok)
	assert.Empty(t, checks.Walks)
}

// SPEC FJ-10: a field that a walk is said to notice is noticed by it: a change of it brings the entity into the next window.
func TestNoticedChanges(t *testing.T) {
	for _, tt := range []struct {
		field, script string
		kind          query.Kind
	}{
		{"state", "close on=1 as=olga", query.WorkItem},
		{"label", "create-label label=ui color=00ff00\nlabel on=1 as=wes label=ui", query.WorkItem},
		{"title", "edit on=1 as=wes title=new", query.WorkItem},
		{"body", "edit on=1 as=wes body=new", query.WorkItem},
		{"assignee", "assign on=1 as=olga user=wes", query.WorkItem},
		{"due", "edit on=1 as=olga due=2026-04-01", query.WorkItem},
		{"locked", "edit on=1 as=olga locked=true", query.WorkItem},
		{"comment", "comment on=1 as=stella body=hello", query.WorkItem},
		{"comment", "edit-comment comment=old as=stella body=changed", query.WorkItem},
		{"milestone", "create-milestone milestone=m\nmilestone on=1 as=olga milestone=m", query.WorkItem},
		{"draft", "edit on=2 as=stella draft=true", query.ChangeProposal},
		{"base", "edit on=2 as=stella base=next", query.ChangeProposal},
		{"head", "push on=2 as=stella", query.ChangeProposal},
		{"merged", "merge on=2 as=olga", query.ChangeProposal},
		{"reviewer", "request-review on=2 as=olga user=wes", query.ChangeProposal},
		{"review", "review on=2 as=wes state=approved", query.ChangeProposal},
		{"review", "dismiss-review on=2 as=olga user=rea", query.ChangeProposal},
	} {
		t.Run(tt.field+" "+tt.script, func(t *testing.T) {
			st := newStage(t, face.Gitea124, "create as=stella title=one\ncreate as=stella title=two kind=change_proposal\n"+
				"comment on=1 as=stella body=old name=old\nreview on=2 as=rea state=changes_requested\nadvance by=1h")
			st.config.Kind = tt.kind
			ses := st.open()
			h, err := ses.Health(t.Context())
			require.NoError(t, err)
			st.run("advance by=1m\n" + tt.script)
			f, ok := forgejo.Adapter{}.Catalogue(tt.kind).Field(tt.field)
			require.True(t, ok)
			var found []int64
			for _, w := range f.Walks {
				l := list(ses, w, h.Clock, nil)
				require.NoError(t, l.err)
				found = append(found, l.numbers...)
			}
			assert.Len(t, found, 1)
		})
	}
}

// The token of a row changes with what it shows, and only with that.
func TestToken(t *testing.T) {
	st := newStage(t, face.Gitea124, "create as=stella title=one\ncreate-label label=ui color=00ff00\nlabel on=1 as=wes label=ui")
	ses := st.open()
	token := func() string { return list(ses, "all", time.Time{}, nil).items[0].Token }
	before := token()
	assert.Equal(t, before, token())
	st.run("create as=stella title=two\ndelete on=2")
	assert.Equal(t, before, token())
	st.run("rename-label label=ui to=ux")
	assert.NotEqual(t, before, token(), "a renamed label moves no clock, but the row shows it")
}
