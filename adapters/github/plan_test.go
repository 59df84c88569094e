package github_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github"
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/query"
)

func sources(t testing.TB, kind query.Kind, texts ...string) []query.Source {
	t.Helper()
	var out []query.Source
	for i, text := range texts {
		q, ds := query.Parse(text)
		require.False(t, ds.Failed(), "%s: %v", text, ds)
		b, ds := q.Bind(kind, github.Adapter{}.Catalogue(kind), query.Env{Self: "1"})
		require.False(t, ds.Failed(), "%s: %v", text, ds)
		out = append(out, query.Source{ID: fmt.Sprintf("h%03d/1", i), Query: b})
	}
	return out
}

// SPEC GH-6, GH-9: the requests of a cycle do not depend on how many harnesses ask.
func TestRequestsAreFlatInHarnesses(t *testing.T) {
	count := func(n int) (requests, points int) {
		st := newStage(t, many(120, "work_item"))
		ses := st.open()
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf(`v1: state = open and label = "l%d" and any comment(command = "/fs-%d")`, i, i))
		}
		p := compile(t, ses, query.WorkItem, texts...)
		st.meter.reset()
		st.face.ResetPoints()
		_, err := ses.Health(context.Background())
		require.NoError(t, err)
		for _, w := range p.Walks() {
			require.NoError(t, walk(ses, p, w.Name, st.w.Now().Add(-time.Hour)).err)
		}
		return st.meter.count(adapters.Search) + st.meter.count(adapters.Identity), st.face.Points()
	}
	r1, p1 := count(1)
	r300, p300 := count(300)
	assert.Equal(t, r1, r300)
	assert.Equal(t, p1, p300)
}

// SPEC GH-6: what a plan shows.
func TestPlan(t *testing.T) {
	st := newStage(t, many(3, "work_item"))
	ses := st.open()
	p := compile(t, ses, query.WorkItem, `v1: state = open and label = "bug" and author = "wes" and any comment(command = "/x")`)
	var names, requests []string
	for _, w := range p.Walks() {
		names, requests = append(names, w.Name), append(requests, p.Render(w))
	}
	assert.Equal(t, []string{"changed", "comments", "all"}, names)
	assert.Equal(t, []string{
		"graphql repository(acme/widgets) { issues(filterBy: {since: {since}}, orderBy: UPDATED_AT ASC, first: 50) }",
		"GET repos/acme/widgets/issues/comments?since={since}&sort=updated&direction=asc&per_page=100",
		"graphql repository(acme/widgets) { issues(states: [OPEN], orderBy: CREATED_AT ASC, first: 50) }",
	}, requests)
	var whys []string
	for _, w := range p.Weakened() {
		whys = append(whys, w.Leaf.String()+": "+w.Why)
	}
	assert.Contains(t, whys, `author = "wes": filters by people, milestone or type were seen to switch the listing to an index that was days old`)
	assert.NotContains(t, strings.Join(whys, "\n"), "state = open", "that one is filtered")
	assert.Contains(t, strings.Join(p.Cost(), "\n"), "idle cycle: 3 requests")
	p = compile(t, ses, query.WorkItem, `v1: label = "bug"`)
	assert.Len(t, p.Walks(), 2, "no comments, no feed")
}

// SPEC GH-6: a server without issue types refuses the sources that ask for one, by name, and serves the others.
func TestServerWithoutIssueTypes(t *testing.T) {
	st := newStage(t, many(3, "work_item"))
	st.face.Switch(func(q *face.Quirks) { q.NoIssueTypes = true })
	ses := st.open()
	_, refused := ses.Compile(context.Background(), sources(t, query.WorkItem, `v1: type = "Bug"`, "v1: state = open"))
	require.Len(t, refused, 1)
	assert.Equal(t, "h000/1", refused[0].Source)
	l := list(ses, "all", time.Time{}, nil)
	require.NoError(t, l.err)
	assert.Len(t, l.numbers, 3)
	assert.Equal(t, query.Unknown, l.items[0].Facts.Get(query.FType).Presence)
	it := item(t, ses, l.items[0].Ref, query.FLabel)
	assert.Equal(t, adapters.Present, it.State)
}
