package querytest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
)

// Provider is what an adapter claims, and what its provider really does.
type Provider struct {
	Catalogue *query.Catalogue
	Claims    query.Filters
	// Fits says why the provider would refuse a search; nil: it takes any.
	Fits func(*query.Search) error
	// Returns says whether the provider returns an entity with these true facts for the search as the adapter renders
	// it. It is to interpret the rendered request with the provider's semantics, not the tree with the language's.
	Returns func(s *query.Search, w query.WalkKind, true *query.Facts) bool
}

// Tally counts what Admissible has looked at.
type Tally struct {
	Cases    int // entity, view and instant under one search
	Owed     int // cases that some source does not rule out, which the search must return
	Filtered int // cases whose search says something
}

// The entities and views of one drawn search: all pairs are cases.
const (
	entitiesPerSearch = 20
	viewsPerSearch    = 11
)

// Admissible checks the rule on which completeness rests: over random sources (queries up to six deep, one to four of
// them), walks, instants and limits, and for entities with contested labels, empty fields and awkward names under every
// kind of view, the search returns each entity that a source does not rule out on its true facts, and each that it
// accepts on facts that were read in part. A run of N checks (RAPID_CHECKS) looks at 220 N cases, a short one at 20 N.
func Admissible(t rapid.TB, p Provider) Tally {
	entities, views := entitiesPerSearch, viewsPerSearch
	if testing.Short() {
		entities, views = 5, 4
	}
	var sum Tally
	rapid.Check(t, func(t *rapid.T) { sum.add(p.check(t, entities, views)) })
	return sum
}

func (s *Tally) add(o Tally) {
	s.Cases, s.Owed, s.Filtered = s.Cases+o.Cases, s.Owed+o.Owed, s.Filtered+o.Filtered
}

// AdmissibleFuzz is one check of Admissible, for a fuzz target.
func AdmissibleFuzz(t *rapid.T, p Provider) { p.check(t, 5, 4) }

func (p Provider) check(t *rapid.T, entities, views int) (sum Tally) {
	var sources []query.Source
	for i := range rapid.SampledFrom([]int{1, 1, 1, 2, 3, 4}).Draw(t, "sources") {
		sources = append(sources, query.Source{ID: fmt.Sprint("s", i), Query: p.bound(t)})
	}
	walk := rapid.SampledFrom([]query.WalkKind{query.Changes, query.Sweep}).Draw(t, "walk")
	sweep := rapid.SampledFrom([]time.Duration{0, time.Hour, 26 * time.Hour, 60 * 24 * time.Hour}).Draw(t, "sweep")
	search, _ := query.Upper(sources, p.Claims, walk, Now, sweep, p.Fits)
	if p.Fits != nil && !search.All {
		if err := p.Fits(search); err != nil {
			t.Fatalf("the search does not fit (%v): %s", err, search)
		}
	}
	vs := make([]Standings, views)
	for i := range vs {
		vs[i] = DrawStandings(t)
	}
	wanted := wants(sources)
	for range entities {
		whole := aimed(t, wanted)
		part := Degrade(t, whole)
		at := Now.Add(time.Duration(rapid.Int64Range(0, int64(sweep)).Draw(t, "until the sweep")))
		returned := p.Returns(search, walk, whole)
		for _, v := range vs {
			sum.Cases++
			if !search.All {
				sum.Filtered++
			}
			for _, s := range sources {
				sum.Owed += p.owed(t, s, whole, part, v, at, returned, search)
			}
		}
	}
	return sum
}

func (p Provider) bound(t *rapid.T) *query.Bound {
	kind := p.Catalogue.Kind()
	text := Query(t, p.Catalogue, kind, rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 3, 4, 5, 6}).Draw(t, "depth"))
	q, _ := query.Parse(text)
	b, ds := q.Bind(kind, p.Catalogue, Env())
	if b == nil {
		t.Fatalf("generated query %q does not bind: %v", text, ds)
	}
	return b
}

// owed is 1 where the search must return the entity.
func (p Provider) owed(t *rapid.T, s query.Source, whole, part *query.Facts, v Standings, at time.Time, returned bool, search *query.Search) int {
	verdict := s.Query.Eval(whole, v.View, at).Verdict
	if verdict == query.False && s.Query.Eval(part, v.View, at).Verdict != query.True {
		return 0
	}
	if !returned {
		t.Fatalf("lost: %s of %s at %s, by the search %s", verdict, s.Query.Query(), at.Format(time.RFC3339Nano), search)
	}
	return 1
}
