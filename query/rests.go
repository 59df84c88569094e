package query

// rests appends the actors whose role the verdict may rest on: of every quantifier, without short circuit, the writers of
// elements with a decided standing that could satisfy its condition if standing is ignored. More than the deciding test
// needs, and for that independent of it: a gain or a loss of any other actor's role changes no decided verdict.
func (ev *evaluation) rests(out []string, x expr) []string {
	switch x := x.(type) {
	case *andExpr:
		for _, t := range x.terms {
			out = ev.rests(out, t)
		}
	case *orExpr:
		for _, t := range x.terms {
			out = ev.rests(out, t)
		}
	case *notExpr:
		out = ev.rests(out, x.x)
	case *quantExpr:
		items := ev.facts.Get(x.field.ID).Items
		for i := range items {
			if el := &items[i]; ev.restsOnRole(x, el) {
				out = append(out, el.Actor.ID)
			}
		}
	}
	return out
}

// restsOnRole: the standing of self and of nobody is no matter of roles.
func (ev *evaluation) restsOnRole(q *quantExpr, el *Element) bool {
	return !nobody(&el.Actor) && !bySelf(q, el) &&
		ev.truth(q.where, el) != False && ev.standing(q, el) != Undecided
}
