package github_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// SPEC GH-22: every query that the adapter sends is valid by GitHub's published schema.
func TestQueriesAreValid(t *testing.T) {
	if _, err := os.Stat(schemaFile); err != nil {
		t.Skip("the published schema is not here; make schema fetches it")
	}
	schema, err := face.Schema(schemaFile)
	require.NoError(t, err)
	sent := map[string]bool{}
	for _, kind := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		for _, typed := range []bool{true, false} {
			for _, q := range everyQuery(t, kind, typed) {
				sent[q] = true
			}
		}
	}
	assert.Greater(t, len(sent), 20)
	for q := range sent {
		if _, errs := gqlparser.LoadQuery(schema, q); len(errs) > 0 {
			t.Errorf("%v\n%s", errs, q)
		}
	}
	_, errs := gqlparser.LoadQuery(schema, `query{viewer{login nonsense}}`)
	require.NotEmpty(t, errs, "the check itself must be able to fail")
}

// everyQuery makes a session ask everything that it can ask.
func everyQuery(t *testing.T, kind query.Kind, typed bool) []string {
	var script string
	if kind == query.WorkItem {
		script = longStory("work_item")
	} else {
		script = longStory("change_proposal")
	}
	st := newStage(t, script)
	st.config.Kind = kind
	st.face.Switch(func(q *face.Quirks) { q.NoIssueTypes = !typed })
	ses := st.open()
	_, err := ses.Health(context.Background())
	require.NoError(t, err)
	for _, w := range []string{"changed", "all", "comments"} {
		require.NoError(t, list(ses, w, time.Time{}, nil).err)
		require.NoError(t, list(ses, w, st.w.Now().Add(-time.Hour), nil).err)
	}
	ref := list(ses, "changed", time.Time{}, nil).items[0].Ref
	it := item(t, ses, ref, everything(kind)...)
	require.Equal(t, adapters.Present, it.State, "%v", it.Err)
	for _, id := range everything(kind) {
		if id == query.FType && !typed {
			continue
		}
		assert.Equal(t, query.Known, it.Facts.Get(id).Presence, "%d: %s", id, it.Facts.Get(id).Why)
	}
	_, err = ses.(adapters.Prober).Probe(context.Background(), []int64{1, 2, 3, 4000})
	require.NoError(t, err)
	st.run("repo repo=acme/gadgets\ncreate as=olga repo=acme/widgets title=m name=m\nmove on=m as=olga to=acme/gadgets")
	_, err = ses.Read(context.Background(), []scope.Ref{{Alias: "3"}}, query.FieldSet{})
	require.NoError(t, err)
	_, err = ses.Find(context.Background(), "acme/gadgets#1")
	require.Error(t, err)
	return st.face.Queries()
}
