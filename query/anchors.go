package query

import "cmp"

// Necessary returns the query's anchors: a disjunction of which at least one leaf is not False whenever the query's
// verdict is not False, under every view and at every instant. An anchor is an equality of a field or member with
// literals, or "has any element"; never a negation, a range or a text search. Its truth is Leaf.Truth: on facts that
// are not Known it is at least unknown, and elements count whatever their standing. Of an and the branch that is
// guessed to select most is taken, of an or every branch. Empty: the query is unanchored, and every entity must be
// looked at. The result is a fresh slice in a fixed order.
func (b *Bound) Necessary() []Leaf { return anchorsOf(nil, b.root, true).leaves }

// Anchored reports whether the query has anchors.
func (b *Bound) Anchored() bool { return len(b.Necessary()) > 0 }

// anchors is a disjunction of leaves with the weight of all; none means that nothing is necessary.
type anchors struct {
	leaves []Leaf
	weight int
}

func (a anchors) none() bool { return len(a.leaves) == 0 }

func anchorsOf(within *Field, x expr, positive bool) anchors {
	switch x := x.(type) {
	case *andExpr:
		return anchorsOfTerms(within, x.terms, positive, positive)
	case *orExpr:
		return anchorsOfTerms(within, x.terms, positive, !positive)
	case *notExpr:
		return anchorsOf(within, x.x, !positive)
	case *quantExpr:
		if positive != x.no {
			return anchorsOfElements(x)
		}
	case *testExpr:
		if l, ok := equality(within, x); ok && positive != x.neg {
			return anchors{[]Leaf{l}, weight(&l)}
		}
	}
	return anchors{}
}

func anchorsOfTerms(within *Field, terms []expr, positive, all bool) anchors {
	var sum anchors
	for _, t := range terms {
		a := anchorsOf(within, t, positive)
		switch {
		case all && (a.none() || !sum.none() && !a.better(sum)):
		case all:
			sum = a
		case a.none():
			return anchors{}
		default:
			sum = sum.union(a)
		}
	}
	return sum
}

func (a anchors) better(b anchors) bool {
	return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(len(a.leaves), len(b.leaves))) < 0
}

func (a anchors) union(b anchors) anchors {
	for _, l := range b.leaves {
		if !a.has(&l) {
			a.leaves = append(a.leaves, l)
			a.weight += weight(&l)
		}
	}
	return a
}

func (a anchors) has(l *Leaf) bool {
	k := leafKey(l)
	for i := range a.leaves {
		if leafKey(&a.leaves[i]) == k {
			return true
		}
	}
	return false
}

// anchorsOfElements: where no condition anchors, that there is an element may.
func anchorsOfElements(q *quantExpr) anchors {
	inner := anchorsOf(q.field, q.where, true)
	if inner.none() && !alwaysThere(q.field.ID) {
		l := anyElement(q.field)
		return anchors{[]Leaf{l}, weight(&l)}
	}
	return inner
}
