package gitlab_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/adapters/gitlab"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// SPEC UB-1 GL-3: whatever the sources are, the listing returns what they do not rule out.
func TestSearchIsAdmissible(t *testing.T) {
	for _, k := range kinds() {
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
	return querytest.Provider{Catalogue: gitlab.Adapter{}.Catalogue(k), Claims: gitlab.Adapter{}.Claims(k),
		Returns: func(s *query.Search, _ query.WalkKind, _ *query.Facts) bool { return s.All }}
}

// SPEC GL-3: the requests of a plan carry order and place, and no filter, whatever the sources ask for.
func TestPlansFilterNothing(t *testing.T) {
	for _, k := range kinds() {
		ses := newStage(t, k, face.Quirks{}, "").open()
		cat := gitlab.Adapter{}.Catalogue(k)
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
				_, raw, ok := strings.Cut(plan.Render(w), "?")
				require.True(t, ok)
				q, err := url.ParseQuery(raw)
				require.NoError(t, err)
				for name, vs := range q {
					require.True(t, slices.Contains([]string{"state", "scope", "with_labels_details", "order_by", "sort", "per_page", "pagination", "updated_after"}, name), raw)
					require.Len(t, vs, 1, "sent twice: %s", raw)
				}
				require.Equal(t, "all", q.Get("state"))
				require.Equal(t, "asc", q.Get("sort"))
				require.Equal(t, "true", q.Get("with_labels_details"))
			}
		})
	}
}
