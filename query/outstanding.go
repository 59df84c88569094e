package query

import "time"

// Outstanding is what could still add to the support of a true verdict: facts that a test which is not decided would
// have to read, and elements that may satisfy an `any` and are not admitted yet. When it is empty, every element that
// bears on the match was read in full, and the same state always gives the same Support. Sorted and unique.
func (b *Bound) Outstanding(f *Facts, v View, now time.Time) []Need {
	ev := evaluation{facts: f, view: v, now: now.UnixMilli()}
	return tidyNeeds(ev.outstanding(nil, b.root, false))
}

// outstanding: complements of quantifiers support nothing, but while one is undecided it keeps what stands beside it from
// counting.
func (ev *evaluation) outstanding(out []Need, x expr, negated bool) []Need {
	switch x := x.(type) {
	case *andExpr:
		for _, t := range x.terms {
			out = ev.outstanding(out, t, negated)
		}
	case *orExpr:
		for _, t := range x.terms {
			out = ev.outstanding(out, t, negated)
		}
	case *notExpr:
		out = ev.outstanding(out, x.x, !negated)
	case *quantExpr:
		if x.no == negated || ev.truth(x, nil) == VerdictUnknown {
			out = ev.needsOfQuantifier(out, x)
		}
	case *testExpr:
		if ev.truth(x, nil) == VerdictUnknown {
			out = ev.needsOfTest(out, x, nil, nil)
		}
	}
	return out
}
