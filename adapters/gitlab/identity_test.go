package gitlab_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Scenario B085, SPEC GL-1: the first merge request of one project is not the first of another, and a change of one is
// none of the other.
func TestOneNumberInTwoProjects(t *testing.T) {
	s := newStage(t, query.ChangeProposal, face.Quirks{}, `
set-role repo=acme/gadgets user=olga role=admin
create as=wes kind=change_proposal title=p name=p
create as=wes kind=change_proposal title=q name=q repo=acme/gadgets`)
	p := s.open()
	s.config.Container = "acme/gadgets"
	q := s.open()
	first := func(ses adapters.Session) adapters.Item {
		l := list(ses, walk(ses, false), time.Time{}, nil)
		require.NoError(t, l.err)
		require.Equal(t, []int64{1}, l.numbers)
		return l.items[0]
	}
	ours, theirs := first(p), first(q)
	require.NotEqual(t, ours.Ref.Identity, theirs.Ref.Identity)
	require.Equal(t, ours.Ref.Alias, theirs.Ref.Alias)

	s.run("advance by=1m\nclose on=q as=wes")
	assert.Equal(t, ours.Token, first(p).Token)
	assert.NotEqual(t, theirs.Token, first(q).Token)
	for ref, state := range map[scope.Ref]adapters.ItemState{ours.Ref: adapters.Present, theirs.Ref: adapters.Gone} {
		items, err := p.Read(t.Context(), []scope.Ref{ref}, query.Fields(query.FState))
		require.NoError(t, err)
		assert.Equal(t, state, items[0].State, "%v asked for in the other project", ref)
	}
}
