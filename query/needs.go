package query

import (
	"cmp"
	"slices"
)

// needs appends what would decide x, which is unknown: of and, or and not the needs of their unknown terms. q and el are
// the quantifier and element at hand, else nil.
func (ev *evaluation) needs(out []Need, x expr, q *quantExpr, el *Element) []Need {
	switch x := x.(type) {
	case *andExpr:
		return ev.needsOfTerms(out, x.terms, q, el)
	case *orExpr:
		return ev.needsOfTerms(out, x.terms, q, el)
	case *notExpr:
		return ev.needs(out, x.x, q, el)
	case *quantExpr:
		return ev.needsOfQuantifier(out, x)
	case *testExpr:
		return ev.needsOfTest(out, x, q, el)
	}
	return out
}

func (ev *evaluation) needsOfTerms(out []Need, terms []expr, q *quantExpr, el *Element) []Need {
	for _, t := range terms {
		if ev.truth(t, el) == VerdictUnknown {
			out = ev.needs(out, t, q, el)
		}
	}
	return out
}

// needsOfQuantifier asks for the rest of the collection and for what is undecided about every element that could
// satisfy the condition.
func (ev *evaluation) needsOfQuantifier(out []Need, q *quantExpr) []Need {
	fact := ev.facts.Get(q.field.ID)
	if fact.Presence != Known {
		out = append(out, Need{Field: q.field.ID})
	}
	for i := range fact.Items {
		el := &fact.Items[i]
		truth := ev.truth(q.where, el)
		if truth == False {
			continue
		}
		standing := ev.standing(q, el)
		if standing == Excluded {
			continue
		}
		if standing == Undecided {
			out = append(out, needOfStanding(q, el))
		}
		if truth == VerdictUnknown {
			out = ev.needs(out, q.where, q, el)
		}
	}
	return out
}

// needOfStanding asks for the element's attribution, or once it is read for its actor's role: one need per actor,
// however many elements the actor wrote.
func needOfStanding(q *quantExpr, el *Element) Need {
	if el.Editors == EditorsUnread {
		return Need{Field: q.field.ID, Element: el.Key}
	}
	return Need{Field: q.field.ID, Actor: el.Actor.ID}
}

func (ev *evaluation) needsOfTest(out []Need, t *testExpr, q *quantExpr, el *Element) []Need {
	var one [1]Value
	presence, values := ev.values(t, el, &one)
	if presence != Known {
		out = append(out, needOfValue(t, q, el))
	}
	if len(values) == 0 {
		return out
	}
	for j := range t.vals {
		if id := t.vals[j].field; id != 0 && ev.facts.Get(id).Presence != Known {
			out = append(out, Need{Field: id})
		}
	}
	return out
}

func needOfValue(t *testExpr, q *quantExpr, el *Element) Need {
	switch {
	case el == nil:
		return Need{Field: t.field.ID}
	case el.Editors == EditorsUnread && (t.field.ID == MBy || t.field.ID == MAt):
		return Need{Field: q.field.ID, Element: el.Key}
	default:
		return Need{Field: q.field.ID}
	}
}

// Compare orders needs by field, element and actor.
func (n Need) Compare(m Need) int {
	return cmp.Or(cmp.Compare(n.Field, m.Field), cmp.Compare(n.Element, m.Element), cmp.Compare(n.Actor, m.Actor))
}

func tidyNeeds(ns []Need) []Need {
	slices.SortFunc(ns, Need.Compare)
	return slices.Compact(ns)
}

func tidyStrings(ss []string) []string {
	slices.Sort(ss)
	return slices.Compact(ss)
}
