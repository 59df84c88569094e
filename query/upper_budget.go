package query

import (
	"cmp"
	"slices"
	"sort"
)

// within folds the sources into one search that fits.
func (c *claims) within(trees []weakened, fits func(*Search) error) (*Search, []Weakening) {
	whole := c.unite(trees, nil)
	refusal := refused(whole, fits)
	if refusal == nil {
		return whole, nil
	}
	order := giveUpOrder(trees)
	// The smallest number of leaves to give up, by doubling and halving: fewer leaves never make a provider refuse more.
	n := sort.Search(len(order), func(k int) bool { return refused(c.unite(trees, order[:k+1]), fits) == nil }) + 1
	n = min(n, len(order))
	search := c.unite(trees, order[:n])
	if refused(search, fits) != nil {
		search = everything()
	}
	return search, givenUp(trees, order[:n], refusal)
}

func refused(s *Search, fits func(*Search) error) error {
	if fits == nil || s.All {
		return nil
	}
	return fits(s)
}

// unite is the or over all sources, without the leaves given up.
func (c *claims) unite(trees []weakened, without []string) *Search {
	drop := make(map[string]bool, len(without))
	for _, k := range without {
		drop[k] = true
	}
	fo := &folder{merge: c.mergeable}
	alternatives := make([]folded, len(trees))
	for i, t := range trees {
		alternatives[i] = fo.fold(t.search.silence(drop))
	}
	s := fo.or(alternatives).s
	if s.isNothing() {
		return everything()
	}
	return s
}

// silence replaces leaves by everything. The tree is positive, so the result is wider.
func (s *Search) silence(drop map[string]bool) *Search {
	switch {
	case len(drop) == 0 || s.All:
		return s
	case s.Leaf != nil && drop[leafKey(s.Leaf)]:
		return everything()
	case len(s.And) > 0:
		return &Search{And: silenceEach(s.And, drop)}
	case len(s.Or) > 0:
		return &Search{Or: silenceEach(s.Or, drop)}
	}
	return s
}

func silenceEach(ss []*Search, drop map[string]bool) []*Search {
	out := make([]*Search, len(ss))
	for i, s := range ss {
		out[i] = s.silence(drop)
	}
	return out
}

// giveUpOrder is the fixed order in which leaves are given up, least selective first. One search serves all sources, so
// a leaf selects the less the fewer sources it narrows; among those the one that keeps most entities by weight, then the
// one with more values, then the later by key. Giving up what narrows one source leaves standing what narrows all.
func giveUpOrder(trees []weakened) []string {
	type entry struct {
		key     string
		leaf    *Leaf
		sources int
	}
	byKey := map[string]*entry{}
	var all []*entry
	for _, t := range trees {
		met := map[string]bool{}
		for l := range t.search.Leaves {
			k := leafKey(l)
			e := byKey[k]
			if e == nil {
				e = &entry{key: k, leaf: l}
				byKey[k], all = e, append(all, e)
			}
			if !met[k] {
				met[k] = true
				e.sources++
			}
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.sources, b.sources), -cmp.Compare(weight(a.leaf), weight(b.leaf)),
			-cmp.Compare(len(a.leaf.Values), len(b.leaf.Values)), -cmp.Compare(a.key, b.key))
	})
	keys := make([]string, len(all))
	for i, e := range all {
		keys[i] = e.key
	}
	return keys
}

func givenUp(trees []weakened, keys []string, refusal error) []Weakening {
	drop := make(map[string]bool, len(keys))
	for _, k := range keys {
		drop[k] = true
	}
	var out []Weakening
	for _, t := range trees {
		left := map[string]bool{}
		for l := range t.search.silence(drop).Simplify().Leaves {
			left[leafKey(l)] = true
		}
		for l := range t.search.Leaves {
			switch k := leafKey(l); {
			case drop[k]:
				out = append(out, Weakening{Source: t.source, Leaf: *l, Why: "given up to stay within the provider's limits: " + refusal.Error()})
			case !left[k]:
				out = append(out, Weakening{Source: t.source, Leaf: *l, Why: "another branch of its or was given up to stay within the provider's limits"})
			}
		}
	}
	return out
}
