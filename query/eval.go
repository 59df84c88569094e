package query

import "time"

// SemanticsVersion changes whenever the same query, facts, view and instant could give another Result, or the same
// sources another Search. Plan hashes include it, so that nothing judged by other rules counts as judged.
const SemanticsVersion = 1

// Eval decides the query over what is known of one entity. The verdict is one that no resolution of an undecided
// element, an unread fact or an incomplete collection can overturn, until Result.Until. now has millisecond grain. A
// nil view decides nothing. Eval allocates only what Result.Needs and Result.RestsOn hold, and is safe for concurrent
// use.
func (b *Bound) Eval(f *Facts, v View, now time.Time) Result {
	return evalExpr(b.root, f, v, now)
}

func evalExpr(x expr, f *Facts, v View, now time.Time) Result {
	ev := evaluation{facts: f, view: v, now: now.UnixMilli()}
	r := Result{Verdict: ev.truth(x, nil)}
	if r.Verdict == VerdictUnknown {
		r.Needs = tidyNeeds(ev.needs(nil, x, nil, nil))
	}
	if at := ev.horizon(x); at != never {
		r.Until = time.UnixMilli(at).UTC()
	}
	r.RestsOn = tidyStrings(ev.rests(nil, x))
	return r
}

// evaluation is what every part of one evaluation reads.
type evaluation struct {
	facts *Facts
	view  View
	now   int64 // milliseconds, as all instants in here
}

// truth is Kleene's: el is the element at hand inside a quantifier, else nil.
func (ev *evaluation) truth(x expr, el *Element) Verdict {
	switch x := x.(type) {
	case *andExpr:
		v := True
		for _, t := range x.terms {
			if v = v.And(ev.truth(t, el)); v == False {
				break
			}
		}
		return v
	case *orExpr:
		v := False
		for _, t := range x.terms {
			if v = v.Or(ev.truth(t, el)); v == True {
				break
			}
		}
		return v
	case *notExpr:
		return ev.truth(x.x, el).Not()
	case *quantExpr:
		if x.no {
			return ev.some(x).Not()
		}
		return ev.some(x)
	case *testExpr:
		if x.neg {
			return ev.holds(x, el).Not()
		}
		return ev.holds(x, el)
	}
	panic("query: unbound expression")
}

// some is any c(p): true needs an admitted element, false a complete collection without a candidate.
func (ev *evaluation) some(q *quantExpr) Verdict {
	fact := ev.facts.Get(q.field.ID)
	v := False
	if fact.Presence != Known {
		v = VerdictUnknown
	}
	for i := range fact.Items {
		switch el := &fact.Items[i]; ev.truth(q.where, el) {
		case True:
			switch ev.standing(q, el) {
			case Admitted:
				return True
			case Undecided:
				v = VerdictUnknown
			}
		case VerdictUnknown:
			if v == False && ev.standing(q, el) != Excluded {
				v = VerdictUnknown
			}
		}
	}
	return v
}

// standing is the view's word, but for two rules that no view may bend: what nobody wrote is never admitted, and what
// self is named to have written is, where the quantifier asks for self. Where only possible editors are known, self may
// not have written the current revision, so the view decides.
func (ev *evaluation) standing(q *quantExpr, el *Element) Standing {
	if bySelf(q, el) && !nobody(&el.Actor) {
		return Admitted
	}
	return ev.view.Standing(q.field.ID, el)
}

func bySelf(q *quantExpr, el *Element) bool {
	return q.self != "" && el.Editors == EditorsNamed && el.Actor.ID == q.self
}

func nobody(u *User) bool { return u.ID == "" || u.Deleted }

// holds is the test without its negation.
func (ev *evaluation) holds(t *testExpr, el *Element) Verdict {
	var one [1]Value
	presence, values := ev.values(t, el, &one)
	if t.op == OpEmpty {
		return emptiness(presence, values)
	}
	v := False
	if presence != Known {
		v = VerdictUnknown
	}
	for i := range values {
		for j := range t.vals {
			if v = v.Or(ev.compare(t.op, &values[i], &t.vals[j])); v == True {
				return True
			}
		}
	}
	return v
}

func emptiness(p Presence, values []Value) Verdict {
	for i := range values {
		if values[i].Type != TypeUser || !values[i].User.Deleted {
			return False
		}
	}
	if p != Known {
		return VerdictUnknown
	}
	return True
}

// values are what the test looks at; one is room for the members that an element holds itself.
func (ev *evaluation) values(t *testExpr, el *Element, one *[1]Value) (Presence, []Value) {
	if el == nil {
		fact := ev.facts.Get(t.field.ID)
		return fact.Presence, fact.Values
	}
	switch t.field.ID {
	case MBy:
		if el.Editors == EditorsUnread {
			return Unknown, nil
		}
		one[0] = Value{Type: TypeUser, User: el.Actor}
		return Known, one[:]
	case MAt:
		if el.At.IsZero() {
			return Unknown, nil
		}
		one[0] = Value{Type: TypeInstant, Time: el.At}
		return Known, one[:]
	}
	for i := range el.Members {
		if m := &el.Members[i]; m.ID == t.field.ID {
			return m.Fact.Presence, m.Fact.Values
		}
	}
	return Unknown, nil
}

// compare tests one value against one operand. An operand that names an empty field satisfies nothing.
func (ev *evaluation) compare(op Op, v *Value, o *operand) Verdict {
	switch {
	case o.now:
		return verdictOf(isTime(v) && ordered(op, momentOf(v)-ev.boundary(v, o.offset)))
	case o.field != 0:
		fact := ev.facts.Get(o.field)
		for i := range fact.Values {
			if matches(op, v, &fact.Values[i]) {
				return True
			}
		}
		if fact.Presence != Known {
			return VerdictUnknown
		}
		return False
	default:
		return verdictOf(matches(op, v, &o.lit))
	}
}

// boundary is now+offset in the grain of v: an instant, or the first instant of its UTC day.
func (ev *evaluation) boundary(v *Value, offset time.Duration) int64 {
	b := ev.now + offset.Milliseconds()
	if v.Type == TypeDate {
		return startOfDay(b)
	}
	return b
}
