package router

import (
	"slices"

	"github.com/fullsend-ai/discovery/query"
)

// A form's code is a conjunction of terms. A term is a literal (a slot and whether it is negated), or the header of a
// block with the terms that follow it. Negation stands at literals alone, which Kleene's logic allows: verdicts and
// needs stay the same.
type word = uint32

const (
	opAnd     word = 1 << 30
	opOr      word = 2 << 30
	opNone    word = 3 << 30 // no term
	opMask    word = 3 << 30
	lengthMax      = opAnd - 1
)

func literalWord(slot int32, neg bool) word {
	if neg {
		return word(slot)<<1 | 1
	}
	return word(slot) << 1
}

func isLiteral(w word) bool { return w&opMask == 0 }

// form is one query under one view as the router evaluates it. It is immutable and outlives the router that made it.
type form struct {
	source query.Source
	terms  [][]word // the top conjunction, cheapest first
	guards []int    // terms that are one literal of a plain field
	// How entities find the query: by the literals that they have, or by having any element of a collection. None: the
	// query is unanchored.
	anchors  []int32
	elements []query.FieldID
	// direct is the term that is the disjunction of the anchors and nothing more, or -1: then a candidate is to be
	// evaluated whole.
	direct int
}

func (f *form) unanchored() bool { return len(f.anchors)+len(f.elements) == 0 }

// term is a node of a query in negation normal form.
type term struct {
	op    word // 0: a literal
	lit   word
	terms []term
}

func (s *symbols) compile(src query.Source) *form {
	f := &form{source: src, direct: -1}
	root := s.normal(src.Query.Tree(), src.View, false)
	parts := []term{root}
	if root.op == opAnd {
		parts = root.terms
	}
	slices.SortStableFunc(parts, func(a, b term) int { return s.cost(&a) - s.cost(&b) })
	for i := range parts {
		f.terms = append(f.terms, appendTerm(nil, &parts[i]))
		if s.isGuard(&parts[i]) {
			f.guards = append(f.guards, i)
		}
	}
	s.anchor(f, src)
	f.direct = s.directTerm(f, parts)
	if len(f.anchors) > 0 && s.values[f.anchors[0]].few {
		s.reanchor(f, parts)
	}
	return f
}

// reanchor prefers names to words: a list of names may be long, but an entity has few names and is in one state.
func (s *symbols) reanchor(f *form, parts []term) {
	for i := range parts {
		if ids := s.disjunction(&parts[i]); len(ids) > 0 && !s.values[ids[0]].few {
			f.anchors, f.elements, f.direct = ids, nil, i
			return
		}
	}
}

// normal pushes negation to the literals and joins what is nested without need.
func (s *symbols) normal(n query.Node, v query.ViewID, neg bool) term {
	switch n.Op {
	case query.NodeNot:
		return s.normal(n.Terms[0], v, !neg)
	case query.NodeAtom:
		return s.atom(n.Atom, v, neg)
	}
	op := opAnd
	if (n.Op == query.NodeOr) != neg {
		op = opOr
	}
	t := term{op: op}
	for _, c := range n.Terms {
		t.add(s.normal(c, v, neg))
	}
	if len(t.terms) == 1 {
		return t.terms[0]
	}
	return t
}

func (t *term) add(c term) {
	if c.op == t.op {
		for _, x := range c.terms {
			t.add(x)
		}
		return
	}
	if c.op == 0 && slices.ContainsFunc(t.terms, func(x term) bool { return x.op == 0 && x.lit == c.lit }) {
		return
	}
	t.terms = append(t.terms, c)
}

// atom takes an equality with several literals apart: some element equals a or b exactly when some equals a or some
// equals b, with the same needs, horizon and actors.
func (s *symbols) atom(a *query.Atom, v query.ViewID, neg bool) term {
	l, ok := a.Leaf()
	switch {
	case ok && l.AnyElement():
		return term{lit: literalWord(s.elementSlot(l.Field, v), neg)}
	case !ok || slices.ContainsFunc(l.Values, func(v query.Value) bool { return !exact(&v) }):
		return term{lit: literalWord(s.atomSlot(a, v), neg)}
	}
	g := s.group(l.Field, l.Member)
	t := term{op: opOr}
	if neg {
		t.op = opAnd
	}
	for i := range l.Values {
		t.add(term{lit: literalWord(s.literalSlot(s.literal(g, &l.Values[i]), v), neg)})
	}
	if len(t.terms) == 1 {
		return t.terms[0]
	}
	return t
}

// cost orders terms by what they cost to evaluate: wrong guesses cost time alone.
func (s *symbols) cost(t *term) int {
	if t.op != 0 {
		return 2
	}
	switch n := &s.slots[t.lit>>1]; {
	case n.kind == literal && s.groups[s.values[n.value].group].member == 0:
		return 0
	case n.kind == literal || n.kind == element:
		return 1
	case n.kind == lazy:
		return 3
	}
	return 4
}

func (s *symbols) isGuard(t *term) bool { return t.op == 0 && s.cost(t) == 0 }

func appendTerm(code []word, t *term) []word {
	if t.op == 0 {
		return append(code, t.lit)
	}
	at := len(code)
	code = append(code, t.op)
	for i := range t.terms {
		code = appendTerm(code, &t.terms[i])
	}
	code[at] |= word(len(code) - at - 1)
	return code
}

// anchor resolves the query's necessary leaves.
func (s *symbols) anchor(f *form, src query.Source) {
	for _, l := range src.Query.Necessary() {
		if l.AnyElement() {
			s.whole(l.Field)
			f.elements = append(f.elements, l.Field)
			continue
		}
		g := s.group(l.Field, l.Member)
		for i := range l.Values {
			if id := s.literal(g, &l.Values[i]); !slices.Contains(f.anchors, id) {
				f.anchors = append(f.anchors, id)
			}
		}
	}
	slices.Sort(f.anchors)
}

// directTerm finds the term that says the same as the anchors, where these are of one group.
func (s *symbols) directTerm(f *form, parts []term) int {
	if len(f.anchors) == 0 || len(f.elements) > 0 {
		return -1
	}
	for i := range parts {
		if slices.Equal(s.disjunction(&parts[i]), f.anchors) {
			return i
		}
	}
	return -1
}

// disjunction gives the literals of a term that is true exactly where one of them is equalled, in order; they are of one
// group. Nil: it is another kind of term.
func (s *symbols) disjunction(t *term) []int32 {
	lits := []term{*t}
	if t.op == opOr {
		lits = t.terms
	}
	var ids []int32
	for _, l := range lits {
		if l.op != 0 || l.lit&1 != 0 || s.slots[l.lit>>1].kind != literal {
			return nil
		}
		id := s.slots[l.lit>>1].value
		if len(ids) > 0 && s.values[ids[0]].group != s.values[id].group {
			return nil
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
