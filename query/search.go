package query

import (
	"cmp"
	"slices"
	"strings"
)

// everything says nothing; nothing is the empty or, which only folding produces.
func everything() *Search { return &Search{All: true} }
func nothing() *Search    { return &Search{} }

func (s *Search) isNothing() bool {
	return !s.All && s.Leaf == nil && len(s.And) == 0 && len(s.Or) == 0
}

// String is the search in the language's words, for people. It is not a query: an adapter renders the tree.
func (s *Search) String() string { return s.text(false) }

func (s *Search) text(nested bool) string {
	switch {
	case s.All:
		return "everything"
	case s.Leaf != nil:
		return s.Leaf.String()
	case len(s.And) > 0:
		return joinTexts(s.And, " and ", nested)
	case len(s.Or) > 0:
		return joinTexts(s.Or, " or ", nested)
	}
	return "nothing"
}

func joinTexts(ss []*Search, word string, nested bool) string {
	texts := make([]string, len(ss))
	for i, s := range ss {
		texts[i] = s.text(true)
	}
	if nested {
		return "(" + strings.Join(texts, word) + ")"
	}
	return strings.Join(texts, word)
}

// Leaves calls yield with every leaf of s in order, repeated ones too, until yield returns false.
func (s *Search) Leaves(yield func(*Leaf) bool) { s.leaves(yield) }

func (s *Search) leaves(yield func(*Leaf) bool) bool {
	if s.Leaf != nil {
		return yield(s.Leaf)
	}
	for _, t := range s.And {
		if !t.leaves(yield) {
			return false
		}
	}
	for _, t := range s.Or {
		if !t.leaves(yield) {
			return false
		}
	}
	return true
}

// Simplify returns a search that finds the same: flattened, in a fixed order, without repeated or absorbed terms, with
// what all branches of an or share taken out. s is not changed; the result may share parts with it.
func (s *Search) Simplify() *Search { return (&folder{}).fold(s).s }

// folded is a folded search with its key and the terms of its and or or, folded too: nothing is folded twice, which would
// cost twice as much for every level of depth.
type folded struct {
	s     *Search
	key   string
	terms []folded
}

// folder folds and-or trees. merge, when set, says whether one leaf with the values of several may stand for them, and
// gives it its text.
type folder struct {
	merge func(*Leaf) bool
}

func leafNode(l *Leaf) folded { return folded{s: &Search{Leaf: l}, key: "L" + leafKey(l)} }

func (fo *folder) fold(s *Search) folded {
	switch {
	case s.All:
		return folded{s: s, key: "A"}
	case s.Leaf != nil:
		return folded{s: s, key: "L" + leafKey(s.Leaf)}
	case len(s.And) > 0:
		return fo.and(fo.foldEach(s.And))
	default:
		return fo.or(fo.foldEach(s.Or))
	}
}

func (fo *folder) foldEach(ss []*Search) []folded {
	out := make([]folded, len(ss))
	for i, s := range ss {
		out[i] = fo.fold(s)
	}
	return out
}

func (fo *folder) and(terms []folded) folded {
	var flat []folded
	for _, t := range terms {
		switch {
		case t.s.All:
		case t.s.isNothing():
			return t
		default:
			flat = append(flat, t.conjuncts()...)
		}
	}
	flat = unique(flat)
	has := keysOf(flat)
	flat = slices.DeleteFunc(flat, func(t folded) bool { // a and (a or b) is a
		return len(t.s.Or) > 0 && slices.ContainsFunc(t.terms, func(o folded) bool { return has[o.key] })
	})
	return conjunction(flat)
}

// or unites alternatives. Terms are folded already.
func (fo *folder) or(terms []folded) folded {
	var flat []folded
	for _, t := range terms {
		switch {
		case t.s.All:
			return t
		case len(t.s.Or) > 0:
			flat = append(flat, t.terms...)
		case !t.s.isNothing():
			flat = append(flat, t)
		}
	}
	branches := fo.mergeValues(absorb(branchesOf(unique(flat))))
	if len(branches) == 0 {
		return folded{s: nothing(), key: "|"}
	}
	return fo.factor(branches)
}

// factor takes out what all branches share: (a and b) or (a and c) is a and (b or c).
func (fo *folder) factor(branches []branch) folded {
	shared := slices.Clone(branches[0].terms)
	for _, b := range branches[1:] {
		has := b.keys()
		shared = slices.DeleteFunc(shared, func(t folded) bool { return !has[t.key] })
	}
	if len(shared) == 0 || len(branches) == 1 {
		return disjunction(branches)
	}
	taken := keysOf(shared)
	rests := make([]folded, len(branches))
	for i, b := range branches {
		rests[i] = conjunction(slices.DeleteFunc(slices.Clone(b.terms), func(t folded) bool { return taken[t.key] }))
	}
	return fo.and(append(shared, fo.or(rests)))
}

// branch is one alternative of an or as its conjuncts, in order.
type branch struct {
	terms []folded
	key   string
}

func newBranch(conjuncts []folded) branch {
	ts := unique(conjuncts)
	return branch{ts, conjunction(ts).key}
}

func (b branch) keys() map[string]bool { return keysOf(b.terms) }

func branchesOf(ts []folded) []branch {
	bs := make([]branch, len(ts))
	for i, t := range ts {
		bs[i] = newBranch(t.conjuncts())
	}
	return bs
}

// pairwise is up to how many branches absorption compares all pairs; beyond, only single terms absorb.
const pairwise = 64

// absorb drops every branch that another one already includes: a or (a and b) is a.
func absorb(bs []branch) []branch {
	single := map[string]bool{}
	for _, b := range bs {
		if len(b.terms) == 1 {
			single[b.terms[0].key] = true
		}
	}
	out := bs[:0:0]
	for i, b := range bs {
		wider := func(t folded) bool { return single[t.key] }
		if len(b.terms) > 1 && slices.ContainsFunc(b.terms, wider) {
			continue
		}
		if len(bs) <= pairwise && absorbed(bs, i) {
			continue
		}
		out = append(out, b)
	}
	return out
}

func absorbed(bs []branch, i int) bool {
	has := bs[i].keys()
	for j, c := range bs {
		if j == i || len(c.terms) >= len(bs[i].terms) {
			continue
		}
		if !slices.ContainsFunc(c.terms, func(t folded) bool { return !has[t.key] }) {
			return true
		}
	}
	return false
}

// mergeValues joins branches that differ in the values of one positive equality alone:
// (r and x = a) or (r and x = b) is r and x in (a, b).
func (fo *folder) mergeValues(bs []branch) []branch {
	if fo.merge == nil {
		return bs
	}
	for changed := true; changed; {
		bs, changed = fo.mergeOnce(bs)
	}
	return bs
}

func (fo *folder) mergeOnce(bs []branch) ([]branch, bool) {
	type slot struct{ branch, term int }
	groups := map[string][]slot{}
	var order []string
	for i, b := range bs {
		for j, t := range b.terms {
			if l := t.s.Leaf; l != nil && l.Positive && l.Op == OpIn && len(l.Values) > 0 {
				k := restKey(b, j)
				if groups[k] == nil {
					order = append(order, k)
				}
				groups[k] = append(groups[k], slot{i, j})
			}
		}
	}
	gone := make([]bool, len(bs))
	changed := false
	for _, k := range order {
		g := slices.DeleteFunc(groups[k], func(s slot) bool { return gone[s.branch] })
		if len(g) < 2 {
			continue
		}
		var values []Value
		for _, s := range g {
			values = append(values, bs[s.branch].terms[s.term].s.Leaf.Values...)
		}
		first := bs[g[0].branch].terms[g[0].term].s.Leaf
		wide := withValues(first, values)
		if !fo.merge(wide) {
			continue
		}
		for _, s := range g {
			gone[s.branch] = true
		}
		terms := slices.Clone(bs[g[0].branch].terms)
		terms[g[0].term] = leafNode(wide)
		bs, gone = append(bs, newBranch(terms)), append(gone, false)
		changed = true
	}
	var out []branch
	for i, b := range bs {
		if !gone[i] {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b branch) int { return cmp.Compare(a.key, b.key) })
	return out, changed
}

// restKey is the same for branches that could merge at term j.
func restKey(b branch, j int) string {
	l := *b.terms[j].s.Leaf
	l.Values = nil
	rest := slices.Delete(slices.Clone(b.terms), j, j+1)
	return leafKey(&l) + conjunction(rest).key
}

// withValues is l over the given values, each once, in a fixed order.
func withValues(l *Leaf, vs []Value) *Leaf {
	keyOf := func(v Value) string {
		var k keyer
		k.value(&v)
		return string(k.b)
	}
	vs = slices.Clone(vs)
	slices.SortFunc(vs, func(a, b Value) int { return cmp.Compare(keyOf(a), keyOf(b)) })
	vs = slices.CompactFunc(vs, func(a, b Value) bool { return keyOf(a) == keyOf(b) })
	wide := *l
	wide.Values = vs
	wide.Text = ""
	return &wide
}

func (t folded) conjuncts() []folded {
	if len(t.s.And) == 0 {
		return []folded{t}
	}
	return t.terms
}

// unique sorts by key and drops repetitions.
func unique(ts []folded) []folded {
	ts = slices.Clone(ts)
	slices.SortFunc(ts, func(a, b folded) int { return cmp.Compare(a.key, b.key) })
	return slices.CompactFunc(ts, func(a, b folded) bool { return a.key == b.key })
}

func keysOf(ts []folded) map[string]bool {
	has := make(map[string]bool, len(ts))
	for _, t := range ts {
		has[t.key] = true
	}
	return has
}

func conjunction(ts []folded) folded {
	switch len(ts) {
	case 0:
		return folded{s: everything(), key: "A"}
	case 1:
		return ts[0]
	}
	return folded{&Search{And: searches(ts)}, joinKeys('&', ts), ts}
}

func disjunction(bs []branch) folded {
	ts := make([]folded, len(bs))
	for i, b := range bs {
		ts[i] = conjunction(b.terms)
	}
	ts = unique(ts)
	if len(ts) == 1 {
		return ts[0]
	}
	return folded{&Search{Or: searches(ts)}, joinKeys('|', ts), ts}
}

func searches(ts []folded) []*Search {
	ss := make([]*Search, len(ts))
	for i, t := range ts {
		ss[i] = t.s
	}
	return ss
}

func joinKeys(op byte, ts []folded) string {
	k := keyer{b: []byte{op}}
	for _, t := range ts {
		k.str(t.key, false)
	}
	return string(k.b)
}
