package jira_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Scenario B077, SPEC JI-2: an issue that moved to another project is the same one there, under either key; the project that
// it left says where it is.
func TestMovedIssueIsTheSame(t *testing.T) {
	both(t, "create as=wes title=moves labels=bug", func(t *testing.T, s *stage) {
		from := s.open()
		was := s.ref(from, 1)
		s.config.Container = "GADGETS"
		to := s.open()
		_, err := s.face.Move("acme/widgets#1", "wes", "acme/gadgets")
		require.NoError(t, err)
		l := list(to, nil, everything, time.Time{})
		require.Len(t, l.items, 1)
		assert.Equal(t, was.Identity, l.items[0].Ref.Identity)
		assert.Equal(t, "GADGETS-1", l.items[0].Ref.Key)
		for _, key := range []string{"WIDGETS-1", "GADGETS-1", was.Identity.String()} {
			got, err := to.Find(context.Background(), key)
			require.NoError(t, err, key)
			assert.Equal(t, l.items[0].Ref, got, key)
		}
		items, err := from.Read(context.Background(), []scope.Ref{was}, query.Fields(query.FState))
		require.NoError(t, err)
		assert.Equal(t, adapters.Gone, items[0].State)
		require.ErrorIs(t, items[0].Err, adapters.ErrMoved)
		assert.ErrorContains(t, items[0].Err, "GADGETS-1")
	})
}

// Scenario B079, SPEC JI-2: a new project has the key of a renamed one, whose issues still answer to it. What is asked for by
// such a key is another project's issue, and none here; what is asked for by id is what was meant.
func TestRetiredKeyIsAnothers(t *testing.T) {
	both(t, "create as=wes title=old", func(t *testing.T, s *stage) {
		old := s.open()
		was := s.ref(old, 1)
		s.run(`
rename-repo repo=acme/widgets to=things
repo repo=acme/widgets
set-role repo=acme/widgets user=olga role=admin
set-role repo=acme/widgets user=wes role=write`)
		r, _, _ := s.w.Repo("acme/things")
		s.face.RenameKey("WIDGETS", r.ID)
		young := s.open()
		require.NotEqual(t, old.Scope(), young.Scope())
		_, err := young.Find(context.Background(), "WIDGETS-1")
		require.ErrorIs(t, err, adapters.ErrNotFound)
		assert.ErrorContains(t, err, "THINGS-1 is not in project WIDGETS")
		items, err := young.Read(context.Background(), []scope.Ref{was}, query.Fields(query.FState))
		require.NoError(t, err)
		assert.Equal(t, adapters.Gone, items[0].State)
		require.ErrorIs(t, items[0].Err, adapters.ErrMoved)
		assert.Empty(t, list(young, nil, everything, time.Time{}).items)
	})
}
