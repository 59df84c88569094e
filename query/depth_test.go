package query_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// The deepest alternation of and and or that the caps allow folds as fast as a flat query: were a level folded more than
// once, this would not end. SPEC QL-2, UB-5
func TestDeepAlternationFolds(t *testing.T) {
	text := "state = open"
	for i := range 16 {
		text = fmt.Sprintf(`(label = "a%d" or (milestone = "b%d" and %s))`, i, i, text)
	}
	b := bindText(t, "v1: "+text, query.NewCatalogue(query.GitHub, query.WorkItem, nil), "1")
	exact := query.FiltersFunc(func(query.Leaf, query.WalkKind) query.Strength { return query.Exact })
	s, owed := query.Upper([]query.Source{{ID: "a", Query: b}}, exact, query.Sweep, querytest.Now, 0, nil)
	require.False(t, s.All)
	assert.Empty(t, owed)
	leaves := 0
	for range s.Leaves {
		leaves++
	}
	assert.Equal(t, 33, leaves)
	assert.Equal(t, s.String(), s.Simplify().String())
	assert.True(t, query.Implies(b, b))
}
