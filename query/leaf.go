package query

import (
	"fmt"
)

// AnyElement reports whether l asks only that its collection has an element: a positive leaf of an element field
// without member, operator or value.
func (l Leaf) AnyElement() bool {
	return l.Positive && l.Member == 0 && l.Op == OpIn && len(l.Values) == 0
}

// Truth evaluates l over f without any view: an element counts whatever its standing. It is what Necessary promises
// about, and what a Search means on complete facts.
func (l Leaf) Truth(f *Facts) Verdict {
	t := &testExpr{field: &Field{ID: l.Field}, op: l.Op, neg: !l.Positive, vals: operandsOf(l.Values)}
	ev := evaluation{facts: f, view: Everyone}
	fact := f.Get(l.Field)
	switch {
	case l.Member == 0 && !l.AnyElement():
		return ev.truth(t, nil)
	case l.Member != 0:
		t.field = &Field{ID: l.Member}
	}
	v := False
	if fact.Presence != Known {
		v = VerdictUnknown
	}
	for i := range fact.Items {
		if l.AnyElement() {
			return True
		}
		v = v.Or(ev.truth(t, &fact.Items[i]))
	}
	return v
}

func operandsOf(vs []Value) []operand {
	os := make([]operand, len(vs))
	for i := range vs {
		os[i].lit = vs[i]
	}
	return os
}

// String is the canonical text of l, as plans print it.
func (l Leaf) String() string {
	if l.Text != "" {
		return l.Text
	}
	return leafText(l, fmt.Sprintf("field %d", l.Field), fmt.Sprintf("member %d", l.Member))
}

func leafText(l Leaf, field, member string) string {
	switch {
	case l.AnyElement():
		return field + " is not empty"
	case l.Member == 0:
		return testText(field, l.Op, !l.Positive, valueTexts(l.Values))
	default:
		return "any " + field + "(" + testText(member, l.Op, !l.Positive, valueTexts(l.Values)) + ")"
	}
}
