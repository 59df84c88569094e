package query

import (
	"cmp"
	"slices"
	"time"
)

// Support says what makes a true verdict true: of every true test that the truth of the query can rest on, the values of
// the plain fact, and of every true any the admitted elements that satisfy it. Complements (!=, no, not) add the plain
// facts they read and no elements. Where checks or on_head was read, Rev is the head commit. Nothing is left out for
// being a clock; the caller knows which fields are. The terms are in a fixed order, whatever the order of facts and of
// the query's parts, and empty where the verdict is not True.
func (b *Bound) Support(f *Facts, v View, now time.Time) Support {
	ev := evaluation{facts: f, view: v, now: now.UnixMilli()}
	if ev.truth(b.root, nil) != True {
		return Support{}
	}
	terms := ev.support(nil, b.root, true)
	byTest := func(a, b Term) int { return cmp.Or(cmp.Compare(a.Test, b.Test), cmp.Compare(a.Field, b.Field)) }
	slices.SortStableFunc(terms, byTest)
	return Support{Terms: slices.CompactFunc(terms, func(a, b Term) bool { return byTest(a, b) == 0 })}
}

// support appends what makes x true (false, where want is not set); x has that truth.
func (ev *evaluation) support(out []Term, x expr, want bool) []Term {
	switch x := x.(type) {
	case *andExpr:
		return ev.supportOfTerms(out, x.terms, want)
	case *orExpr:
		return ev.supportOfTerms(out, x.terms, want)
	case *notExpr:
		return ev.support(out, x.x, !want)
	case *quantExpr:
		return ev.supportOfQuantifier(out, x, want)
	case *testExpr:
		return ev.supportOfTest(out, x, want)
	}
	return out
}

// supportOfTerms: of a true or, as of a false and, every term with that truth counts, so that the order of terms does
// not matter.
func (ev *evaluation) supportOfTerms(out []Term, terms []expr, want bool) []Term {
	for _, t := range terms {
		if ev.truth(t, nil) == verdictOf(want) {
			out = ev.support(out, t, want)
		}
	}
	return out
}

func (ev *evaluation) supportOfQuantifier(out []Term, q *quantExpr, want bool) []Term {
	fact := ev.facts.Get(q.field.ID)
	term := Term{Test: signed(render(q), want), Field: q.field.ID}
	if mentionsMember(q.where, MOnHead) {
		term.Rev = headOf(fact)
	}
	if want == q.no {
		if term.Rev == "" {
			return out
		}
		return append(out, term)
	}
	for i := range fact.Items {
		el := &fact.Items[i]
		if ev.truth(q.where, el) == True && ev.standing(q, el) == Admitted {
			term.Elements = append(term.Elements, *el)
		}
	}
	slices.SortStableFunc(term.Elements, func(a, b Element) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Rev, b.Rev))
	})
	return append(out, term)
}

// signed is the test as it is true here: a test that stands under a negation reads as its negation.
func signed(test string, want bool) string {
	if want {
		return test
	}
	return "not " + test
}

func headOf(fact *Fact) string {
	for i := range fact.Items {
		for j := range fact.Items[i].Members {
			if m := &fact.Items[i].Members[j]; m.ID == MOnHead && m.Fact.Rev != "" {
				return m.Fact.Rev
			}
		}
	}
	return fact.Rev
}

// supportOfTest: the values that satisfy a test are its support; of a complement, or of a test on emptiness, all are.
func (ev *evaluation) supportOfTest(out []Term, t *testExpr, want bool) []Term {
	fact := ev.facts.Get(t.field.ID)
	term := Term{Test: signed(render(t), want), Field: t.field.ID, Rev: fact.Rev}
	for i := range fact.Values {
		if want == t.neg || t.op == OpEmpty || ev.satisfies(t, &fact.Values[i]) {
			term.Values = append(term.Values, fact.Values[i])
		}
	}
	slices.SortStableFunc(term.Values, func(a, b Value) int { return cmp.Compare(exactKey(&a), exactKey(&b)) })
	out = append(out, term)
	for j := range t.vals {
		if id := t.vals[j].field; id != 0 {
			operand := ev.facts.Get(id)
			out = append(out, Term{Test: term.Test, Field: id, Values: slices.Clone(operand.Values), Rev: operand.Rev})
		}
	}
	return out
}

func (ev *evaluation) satisfies(t *testExpr, v *Value) bool {
	for j := range t.vals {
		if ev.compare(t.op, v, &t.vals[j]) == True {
			return true
		}
	}
	return false
}

func exactKey(v *Value) string {
	var k keyer
	k.value(v)
	return string(k.b)
}

func mentionsMember(x expr, id FieldID) bool {
	switch x := x.(type) {
	case *andExpr:
		return slices.ContainsFunc(x.terms, func(t expr) bool { return mentionsMember(t, id) })
	case *orExpr:
		return slices.ContainsFunc(x.terms, func(t expr) bool { return mentionsMember(t, id) })
	case *notExpr:
		return mentionsMember(x.x, id)
	case *testExpr:
		return x.field.ID == id
	}
	return false
}
