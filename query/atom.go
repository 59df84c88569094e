package query

import "time"

// TimeTest is one comparison with now inside an atom: of a plain field, or of a member of a collection's elements.
type TimeTest struct {
	Field  FieldID
	Member FieldID // 0: a plain field
	Op     Op
	Offset time.Duration
}

// Quantifier reports whether the atom speaks of a collection's elements.
func (a *Atom) Quantifier() bool {
	_, ok := a.x.(*quantExpr)
	return ok
}

// Truth is the verdict of Eval alone.
func (a *Atom) Truth(f *Facts, v View, now time.Time) Verdict {
	ev := evaluation{facts: f, view: v, now: now.UnixMilli()}
	return ev.truth(a.x, nil)
}

// AppendNeeds appends what Eval names as needs of an atom whose truth is unknown, in any order and perhaps repeated.
func (a *Atom) AppendNeeds(out []Need, f *Facts, v View, now time.Time) []Need {
	ev := evaluation{facts: f, view: v, now: now.UnixMilli()}
	return ev.needs(out, a.x, nil, nil)
}

// AppendRests appends the actors that Eval rests on, in any order and perhaps repeated.
func (a *Atom) AppendRests(out []string, f *Facts, v View, now time.Time) []string {
	ev := evaluation{facts: f, view: v, now: now.UnixMilli()}
	return ev.rests(out, a.x)
}

// Necessary is Bound.Necessary of the atom alone. Of a quantifier it holds for every element by itself: where its
// condition is not false of an element, one of the leaves is not false of that element, whatever its standing. None: any
// element may satisfy the condition.
func (a *Atom) Necessary() []Leaf { return anchorsOf(nil, a.x, true).leaves }

// TimeTests lists the comparisons with now: the atom's horizon is the least of theirs over all values, for a quantifier
// over those of all elements.
func (a *Atom) TimeTests() []TimeTest { return timeTests(nil, nil, a.x) }

func timeTests(out []TimeTest, within *Field, x expr) []TimeTest {
	switch x := x.(type) {
	case *andExpr:
		for _, t := range x.terms {
			out = timeTests(out, within, t)
		}
	case *orExpr:
		for _, t := range x.terms {
			out = timeTests(out, within, t)
		}
	case *notExpr:
		out = timeTests(out, within, x.x)
	case *quantExpr:
		out = timeTests(out, x.field, x.where)
	case *testExpr:
		for i := range x.vals {
			if !x.vals[i].now {
				continue
			}
			t := TimeTest{Field: x.field.ID, Op: x.op, Offset: x.vals[i].offset}
			if within != nil {
				t.Field, t.Member = within.ID, x.field.ID
			}
			out = append(out, t)
		}
	}
	return out
}

// Standing is what evaluation makes of e under the view, FA-14, self aside: what nobody wrote is excluded whatever the
// view says, and without a view nothing is decided.
func (v View) Standing(field FieldID, e *Element) Standing {
	switch {
	case e.Editors != EditorsUnread && nobody(&e.Actor):
		return Excluded
	case v == nil:
		return Undecided
	}
	return v(field, e)
}
