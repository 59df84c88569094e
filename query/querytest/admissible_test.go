package querytest_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// everything claims to filter every leaf exactly.
var everything = query.FiltersFunc(func(query.Leaf, query.WalkKind) query.Strength { return query.Exact })

// provider does with each leaf what leaf says.
func provider(name string, k query.Kind, leaf func(query.Leaf, *query.Facts) bool) querytest.Provider {
	return querytest.Provider{Catalogue: query.NewCatalogue(name, k, nil), Claims: everything,
		Returns: func(s *query.Search, _ query.WalkKind, f *query.Facts) bool { return querytest.Returned(s, f, leaf) }}
}

// A provider that does what it claims passes. SPEC UB-1
func TestAdmissible(t *testing.T) {
	for _, name := range []string{query.GitHub, query.Jira} {
		tally := querytest.Admissible(t, provider(name, query.WorkItem, querytest.Holds))
		require.NotZero(t, tally.Owed)
		require.NotZero(t, tally.Filtered)
	}
}

// A provider that loosens is fine; limits are met.
func TestAdmissibleWithinLimits(t *testing.T) {
	p := provider(query.GitHub, query.ChangeProposal, func(l query.Leaf, f *query.Facts) bool {
		return querytest.Holds(l, f) || len(f.Get(query.FAssignee).Values) > 1
	})
	p.Fits = func(s *query.Search) error {
		if n := len(s.String()); n > 128 {
			return fmt.Errorf("%d bytes", n)
		}
		return nil
	}
	querytest.Admissible(t, p)
}

// The known killers: each is a provider whose filter differs from its claim in one way, and each must be found out.
func TestKillersAreFound(t *testing.T) {
	values := func(l query.Leaf, change func(string) string) query.Leaf {
		vs := make([]query.Value, len(l.Values))
		copy(vs, l.Values)
		for i := range vs {
			vs[i].Str = change(vs[i].Str)
		}
		l.Values = vs
		return l
	}
	for name, value := range map[string]string{"rapid.checks": "10000", "rapid.shrinktime": "1ms", "rapid.nofailfile": "true"} { // these failures are wanted
		old := flag.Lookup(name).Value.String()
		require.NoError(t, flag.Set(name, value))
		t.Cleanup(func() { require.NoError(t, flag.Set(name, old)) })
	}
	for name, leaf := range map[string]func(query.Leaf, *query.Facts) bool{
		"a negation that leaves empty fields out": func(l query.Leaf, f *query.Facts) bool {
			return querytest.Holds(l, f) && (l.Positive || l.Op == query.OpEmpty || len(f.Get(l.Field).Values) > 0)
		},
		"a server that tells cases apart": func(l query.Leaf, f *query.Facts) bool {
			return querytest.Holds(l, f) && (l.Field != query.FLabel || l.Op != query.OpIn || l.Member != query.MName || labelled(f, l))
		},
		"labels joined with commas": func(l query.Leaf, f *query.Facts) bool {
			return querytest.Holds(values(l, func(s string) string { first, _, _ := strings.Cut(s, ","); return first }), f)
		},
		"a backslash that is eaten": func(l query.Leaf, f *query.Facts) bool {
			return querytest.Holds(values(l, func(s string) string { return strings.ReplaceAll(s, `\`, "") }), f)
		},
		"two labels of one name, of which one is found": func(l query.Leaf, f *query.Facts) bool {
			return querytest.Holds(l, f) && (l.Field != query.FLabel || len(f.Get(query.FLabel).Items) < 3)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{TB: t}
			func() {
				defer func() { _ = recover() }()
				querytest.Admissible(w, provider(query.GitHub, query.WorkItem, leaf))
			}()
			require.True(t, w.failed, "nobody noticed")
		})
	}
}

// labelled compares label names byte by byte.
func labelled(f *query.Facts, l query.Leaf) bool {
	for _, e := range f.Get(query.FLabel).Items {
		for _, v := range l.Values {
			if e.Member(query.MName).Values[0].Str == v.Str {
				return true
			}
		}
	}
	return false
}

// witness takes a failure down instead of failing.
type witness struct {
	rapid.TB
	failed bool
}

func (w *witness) Errorf(string, ...any) { w.failed = true }
func (w *witness) Fatalf(string, ...any) { w.failed = true; panic("failed") }
func (w *witness) Logf(string, ...any)   {}
func (w *witness) Fail()                 { w.failed = true }
func (w *witness) FailNow()              { w.failed = true; panic("failed") }
