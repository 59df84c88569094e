package forgejo_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// SPEC UB-1 FJ-5: whatever the sources are, the listing returns what they do not rule out.
func TestSearchIsAdmissible(t *testing.T) {
	for _, k := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		tally := querytest.Admissible(t, provider(k))
		require.NotZero(t, tally.Owed)
		require.Zero(t, tally.Filtered, "the adapter claims something now: Returns must interpret it")
	}
}

func FuzzSearchIsAdmissible(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { querytest.AdmissibleFuzz(t, provider(query.WorkItem)) }))
}

// provider returns everything of the scope for the one search that there is; a filtered one would be a mistake.
func provider(k query.Kind) querytest.Provider {
	return querytest.Provider{Catalogue: forgejo.Adapter{}.Catalogue(k), Claims: forgejo.Adapter{}.Claims(k),
		Returns: func(s *query.Search, _ query.WalkKind, _ *query.Facts) bool { return s.All }}
}

// Scenario B017, SPEC FJ-3: the requests of a plan carry the kind, the window and paging, and no filter, whatever the sources ask for.
func TestPlansFilterNothing(t *testing.T) {
	for _, k := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		s := newStage(t, face.Gitea124, "")
		s.config.Kind = k
		ses := s.open()
		cat := forgejo.Adapter{}.Catalogue(k)
		rapid.Check(t, func(t *rapid.T) {
			var ss []query.Source
			for range rapid.IntRange(1, 3).Draw(t, "sources") {
				q, _ := query.Parse(querytest.Query(t, cat, k, 4))
				b, ds := q.Bind(k, cat, querytest.Env())
				require.NotNil(t, b, "%v", ds)
				ss = append(ss, query.Source{ID: "s", Query: b})
			}
			plan, refused := ses.Compile(t.Context(), ss)
			require.Empty(t, refused)
			for _, w := range plan.Walks() {
				checkRequest(t, plan, w)
			}
		})
	}
}

func checkRequest(t *rapid.T, plan adapters.Plan, w adapters.Walk) {
	text := plan.Render(w)
	_, raw, ok := strings.Cut(text, "?")
	require.True(t, ok, text)
	q, err := url.ParseQuery(raw)
	require.NoError(t, err, text)
	for name := range q {
		require.True(t, slices.Contains([]string{"state", "type", "since", "page", "limit", "sort"}, name), text)
	}
	if q.Has("state") {
		require.Equal(t, "all", q.Get("state"), text)
	}
}
