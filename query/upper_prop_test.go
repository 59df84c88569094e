package query_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// provider claims by chance, but always the same for the same leaf, and keeps what it claimed.
type provider struct {
	seed  int
	asked []query.Leaf
}

func (p *provider) hash(parts ...any) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, p.seed)
	fmt.Fprint(h, parts...)
	return h.Sum32()
}

func (p *provider) Filter(l query.Leaf, w query.WalkKind) query.Strength {
	p.asked = append(p.asked, l)
	return p.claim(l, w)
}

// claim is per field, member, operator and polarity, as adapters claim.
func (p *provider) claim(l query.Leaf, w query.WalkKind) query.Strength {
	return []query.Strength{query.None, query.Superset, query.Exact, query.Exact}[p.hash(l.Field, l.Member, l.Op, l.Positive, w)%4]
}

// returns interprets a search over the true facts with its own idea of each test.
func (p *provider) returns(s *query.Search, w query.WalkKind, f *query.Facts) bool {
	switch {
	case s.All:
		return true
	case s.Leaf != nil:
		switch p.claim(*s.Leaf, w) {
		case query.None:
			panic("a leaf that cannot be filtered: " + s.Leaf.String())
		case query.Superset:
			return querytest.Holds(*s.Leaf, f) || p.hash(s.Leaf, f.Get(query.FUpdated))%2 == 0
		default:
			return querytest.Holds(*s.Leaf, f)
		}
	case len(s.And) > 0:
		return !slices.ContainsFunc(s.And, func(t *query.Search) bool { return !p.returns(t, w, f) })
	default:
		return slices.ContainsFunc(s.Or, func(t *query.Search) bool { return p.returns(t, w, f) })
	}
}

// compiled is a random set of sources with their search.
type compiled struct {
	sources []query.Source
	search  *query.Search
	owed    []query.Weakening
	p       *provider
	walk    query.WalkKind
	now     time.Time
	sweep   time.Duration
	fits    func(*query.Search) error
}

func drawCompiled(t *rapid.T) compiled {
	c := compiled{
		p: &provider{seed: rapid.IntRange(0, 1<<20).Draw(t, "claims")}, now: drawNow(t),
		walk:  rapid.SampledFrom([]query.WalkKind{query.Changes, query.Sweep}).Draw(t, "walk"),
		sweep: rapid.SampledFrom([]time.Duration{0, time.Hour, 26 * time.Hour, 60 * 24 * time.Hour}).Draw(t, "sweep"),
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "sources") {
		c.sources = append(c.sources, query.Source{ID: fmt.Sprint("s", i), Query: drawBound(t)})
	}
	if most := rapid.IntRange(0, 12).Draw(t, "most leaves"); most < 8 {
		c.fits = func(s *query.Search) error { return atMostLeaves(s, most) }
	}
	c.search, c.owed = query.Upper(c.sources, c.p, c.walk, c.now, c.sweep, c.fits)
	return c
}

var errTooLong = errors.New("too many conditions")

func atMostLeaves(s *query.Search, most int) error {
	n := 0
	for range s.Leaves {
		n++
	}
	if n > most {
		return errTooLong
	}
	return nil
}

// SPEC UB-1
func TestSearchIsAdmissible(t *testing.T) {
	filtered := 0
	rapid.Check(t, func(t *rapid.T) {
		if !searchIsAdmissible(t).All {
			filtered++
		}
	})
	assert.NotZero(t, filtered, "every search was everything")
}

func searchIsAdmissible(t *rapid.T) *query.Search {
	c := drawCompiled(t)
	for range 6 {
		whole, standings := querytest.Complete(t), querytest.DrawStandings(t)
		at := c.now.Add(time.Duration(rapid.Int64Range(0, int64(c.sweep)).Draw(t, "until the sweep")))
		for _, s := range c.sources {
			if v := s.Query.Eval(whole, standings.View, at).Verdict; v != query.False {
				assert.True(t, c.p.returns(c.search, c.walk, whole), "%s of %s is lost by %s", v, s.ID, c.search)
			}
		}
	}
	return c.search
}

// SPEC UB-2
func TestClaimsAreAskedAsTheContractSays(t *testing.T) {
	elements := query.Fields(querytest.Collections...)
	rapid.Check(t, func(t *rapid.T) {
		c := drawCompiled(t)
		for _, l := range c.p.asked {
			assert.True(t, l.Positive || !elements.Has(l.Field), "an element leaf in negative polarity: %s", l)
			assert.True(t, l.Op == query.OpEmpty || l.AnyElement() || len(l.Values) > 0, "%s", l)
		}
	})
}

// SPEC UB-7
func TestSearchFitsOrReturnsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCompiled(t)
		if c.fits != nil && !c.search.All {
			assert.NoError(t, c.fits(c.search))
		}
		slices.Reverse(c.sources)
		again, owed := query.Upper(c.sources, c.p, c.walk, c.now, c.sweep, c.fits)
		assert.Equal(t, c.search, again)
		assert.Equal(t, c.owed, owed)
		for _, w := range owed {
			assert.NotEmpty(t, w.Why)
		}
	})
}

func TestSimplifyKeepsTheMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSearch(t, rapid.IntRange(0, 4).Draw(t, "depth"))
		simple := s.Simplify()
		for range 8 {
			truth := rapid.SliceOfN(rapid.Bool(), 5, 5).Draw(t, "truth")
			assert.Equal(t, meaning(s, truth), meaning(simple, truth), "%s became %s", s, simple)
		}
		assert.Equal(t, simple.String(), simple.Simplify().String())
	})
}

func drawSearch(t *rapid.T, depth int) *query.Search {
	if depth == 0 {
		if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
			return &query.Search{All: true}
		}
		id := query.FieldID(rapid.IntRange(1, 5).Draw(t, "leaf"))
		return &query.Search{Leaf: &query.Leaf{Field: id, Op: query.OpEmpty, Positive: true}}
	}
	var terms []*query.Search
	for range rapid.IntRange(0, 3).Draw(t, "terms") {
		terms = append(terms, drawSearch(t, depth-1))
	}
	if rapid.Bool().Draw(t, "and") && len(terms) > 0 {
		return &query.Search{And: terms}
	}
	return &query.Search{Or: terms}
}

func meaning(s *query.Search, truth []bool) bool {
	isFalse := func(t *query.Search) bool { return !meaning(t, truth) }
	switch {
	case s.All:
		return true
	case s.Leaf != nil:
		return truth[s.Leaf.Field-1]
	case len(s.And) > 0:
		return !slices.ContainsFunc(s.And, isFalse)
	}
	return slices.ContainsFunc(s.Or, func(t *query.Search) bool { return meaning(t, truth) })
}
