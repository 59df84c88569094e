package query_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// SPEC FA-2
func TestNoResolutionOverturnsAKnownVerdict(t *testing.T) { rapid.Check(t, noResolutionOverturns) }

func noResolutionOverturns(t *rapid.T) {
	b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
	before := b.Eval(known, standings.View, now)
	for range 3 {
		whole, decided := querytest.Resolve(t, known), standings.Decide(t)
		after := b.Eval(whole, decided.View, now)
		assert.NotEqual(t, query.VerdictUnknown, after.Verdict, "everything is known")
		if before.Verdict != query.VerdictUnknown {
			assert.Equal(t, before.Verdict, after.Verdict)
		}
	}
}

// SPEC FA-3
func TestNeedsDecideWhatIsUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
		whole, decided := querytest.Resolve(t, known), standings.Decide(t)
		for round := 0; ; round++ {
			r := b.Eval(known, standings.View, now)
			assert.Equal(t, r.Verdict == query.VerdictUnknown, len(r.Needs) > 0, "needs exactly where unknown")
			assert.True(t, slices.IsSortedFunc(r.Needs, query.Need.Compare))
			if r.Verdict != query.VerdictUnknown {
				assert.Equal(t, b.Eval(whole, decided.View, now).Verdict, r.Verdict)
				return
			}
			if round > 40 {
				t.Fatalf("still unknown, needs %v", r.Needs)
			}
			for _, n := range r.Needs {
				assert.True(t, n.Actor == "" || standings[n.Actor] == query.Undecided, "the role of %s is known", n.Actor)
			}
			for _, n := range r.Needs {
				acquire(n, known, whole, standings, decided)
			}
		}
	})
}

// acquire reads one need, and nothing else, from the whole truth.
func acquire(n query.Need, known, whole *query.Facts, standings, decided querytest.Standings) {
	switch {
	case n.Actor != "":
		standings[n.Actor] = decided[n.Actor]
	case n.Element != "":
		fact := *known.Get(n.Field)
		fact.Items = slices.Clone(fact.Items)
		from := whole.Get(n.Field).Items
		for i := range fact.Items {
			if j := slices.IndexFunc(from, func(e query.Element) bool { return e.Key == n.Element }); fact.Items[i].Key == n.Element {
				fact.Items[i].Editors, fact.Items[i].Actor, fact.Items[i].At = from[j].Editors, from[j].Actor, from[j].At
			}
		}
		known.Set(n.Field, fact)
	default:
		known.Set(n.Field, readWithoutAttribution(*known.Get(n.Field), *whole.Get(n.Field)))
	}
}

// readWithoutAttribution completes a fact, but reads nobody's authorship that was not read before.
func readWithoutAttribution(known, whole query.Fact) query.Fact {
	whole.Items = slices.Clone(whole.Items)
	for i := range whole.Items {
		j := slices.IndexFunc(known.Items, func(e query.Element) bool { return e.Key == whole.Items[i].Key })
		if j >= 0 && known.Items[j].Editors == query.EditorsUnread {
			whole.Items[i].Editors, whole.Items[i].Actor = query.EditorsUnread, query.User{}
		}
	}
	return whole
}

// SPEC FA-4
func TestVerdictHoldsUntilItsHorizon(t *testing.T) { rapid.Check(t, holdsUntilItsHorizon) }

func holdsUntilItsHorizon(t *rapid.T) {
	b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
	r := b.Eval(known, standings.View, now)
	for _, at := range instantsFrom(t, now, r.Until) {
		later := b.Eval(known, standings.View, at)
		assert.Equal(t, r.Verdict, later.Verdict, "at %s", at)
		assert.Equal(t, r.Until, later.Until, "at %s", at)
		assert.Equal(t, r.Needs, later.Needs, "at %s", at)
		assert.Equal(t, r.RestsOn, later.RestsOn, "at %s", at)
	}
	if !r.Until.IsZero() {
		assert.True(t, r.Until.After(now))
		next := b.Eval(known, standings.View, r.Until)
		assert.True(t, next.Until.IsZero() || next.Until.After(r.Until), "due at once again")
	}
}

// instantsFrom samples instants before until, its edges included.
func instantsFrom(t *rapid.T, now, until time.Time) []time.Time {
	if until.IsZero() {
		until = now.Add(60 * 24 * time.Hour)
	}
	at := []time.Time{until.Add(-1)}
	for range 4 {
		at = append(at, now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "later"))))
	}
	return at
}

// SPEC FA-5
func TestOnlyTheActorsItRestsOnCanOverturnAVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
		r := b.Eval(known, standings.View, now)
		assert.True(t, slices.IsSorted(r.RestsOn))
		if r.Verdict == query.VerdictUnknown {
			return
		}
		changed := querytest.DrawStandings(t)
		for _, id := range r.RestsOn {
			changed[id] = standings[id]
		}
		assert.Equal(t, r.Verdict, b.Eval(known, changed.View, now).Verdict)
	})
}

// SPEC FA-6
func TestRouterComposesWhatEvalSays(t *testing.T) { rapid.Check(t, composesWhatEvalSays) }

func composesWhatEvalSays(t *rapid.T) {
	b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
	want := b.Eval(known, standings.View, now)
	got := compose(b.Tree(), func(a *query.Atom) query.Result { return a.Eval(known, standings.View, now) })
	if got.Verdict != query.VerdictUnknown {
		got.Needs = nil
	}
	assert.Equal(t, want, got)
}

func compose(n query.Node, atom func(*query.Atom) query.Result) query.Result {
	if n.Op == query.NodeAtom {
		return atom(n.Atom)
	}
	var out query.Result
	switch n.Op {
	case query.NodeAnd:
		out.Verdict = query.True
	case query.NodeOr:
		out.Verdict = query.False
	}
	for _, term := range n.Terms {
		r := compose(term, atom)
		switch n.Op {
		case query.NodeAnd:
			out.Verdict = out.Verdict.And(r.Verdict)
		case query.NodeOr:
			out.Verdict = out.Verdict.Or(r.Verdict)
		case query.NodeNot:
			out.Verdict = r.Verdict.Not()
		}
		if r.Verdict == query.VerdictUnknown {
			out.Needs = append(out.Needs, r.Needs...)
		}
		if !r.Until.IsZero() && (out.Until.IsZero() || r.Until.Before(out.Until)) {
			out.Until = r.Until
		}
		out.RestsOn = append(out.RestsOn, r.RestsOn...)
	}
	slices.SortFunc(out.Needs, query.Need.Compare)
	out.Needs = slices.Compact(out.Needs)
	slices.Sort(out.RestsOn)
	out.RestsOn = slices.Compact(out.RestsOn)
	return out
}

func TestAtomsWithOneKeyAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
		seen := map[string]query.Result{}
		walkAtoms(b.Tree(), func(a *query.Atom) {
			r := a.Eval(known, standings.View, now)
			if before, ok := seen[a.Key()]; ok {
				assert.Equal(t, before, r)
			}
			seen[a.Key()] = r
			assert.True(t, a.Timed() || r.Until.IsZero())
			if leaf, ok := a.Leaf(); ok {
				whole := withoutGhosts(querytest.Resolve(t, known))
				assert.Equal(t, a.Eval(whole, query.Everyone, now).Verdict, leaf.Truth(whole))
			}
		})
	})
}

// withoutGhosts removes the elements that nobody wrote, which no view admits.
func withoutGhosts(f *query.Facts) *query.Facts {
	for _, id := range querytest.Collections {
		fact := *f.Get(id)
		fact.Items = slices.DeleteFunc(slices.Clone(fact.Items), func(e query.Element) bool { return e.Actor.Deleted })
		f.Set(id, fact)
	}
	return f
}

func walkAtoms(n query.Node, f func(*query.Atom)) {
	if n.Op == query.NodeAtom {
		f(n.Atom)
	}
	for _, term := range n.Terms {
		walkAtoms(term, f)
	}
}

// SPEC FA-7
func TestAnchorsAreNecessary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
		anchors := b.Necessary()
		assert.Equal(t, len(anchors) > 0, b.Anchored())
		if len(anchors) == 0 || b.Eval(known, standings.View, now).Verdict == query.False {
			return
		}
		possible := slices.ContainsFunc(anchors, func(l query.Leaf) bool { return l.Truth(known) != query.False })
		assert.True(t, possible, "%v", anchors)
		for _, l := range anchors {
			assert.True(t, l.Positive && l.Op == query.OpIn, "%v", l)
		}
	})
}

// SPEC FA-8
func TestImplicationIsSound(t *testing.T) {
	held := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawBound(t), drawBound(t)
		if rapid.IntRange(0, 4).Draw(t, "related") > 0 {
			a, b = related(t)
		}
		if !query.Implies(a, b) {
			return
		}
		held++
		for range 20 {
			known, standings, now := drawKnown(t), querytest.DrawStandings(t), drawNow(t)
			assert.LessOrEqual(t, a.Eval(known, standings.View, now).Verdict, b.Eval(known, standings.View, now).Verdict)
		}
	})
	assert.NotZero(t, held, "no implication was found at all")
}

// related draws queries of which the first often implies the second.
func related(t *rapid.T) (a, b *query.Bound) {
	shapes := plainShapes
	if rapid.Bool().Draw(t, "over time") {
		shapes = timeShapes
	}
	f := rapid.SampledFrom(shapes).Draw(t, "field")
	x, y := drawCond(t, f), drawCond(t, f)
	if rapid.Bool().Draw(t, "in elements") {
		c := rapid.SampledFrom(collectionShapes).Draw(t, "collection")
		m := rapid.SampledFrom(c.Members).Draw(t, "member")
		no := rapid.Bool().Draw(t, "no")
		x, y = query.Quant(no, c, drawCond(t, m), ""), query.Quant(no, c, drawCond(t, m), "")
	}
	z := drawExpr(t, 1)
	switch rapid.IntRange(0, 3).Draw(t, "relation") {
	case 0:
		x = query.AndOf(x, z)
	case 1:
		y = query.OrOf(z, y)
	case 2:
		x, y = query.NotOf(y), query.NotOf(query.AndOf(x, z))
	}
	return query.BoundOf(query.WorkItem, x), query.BoundOf(query.WorkItem, y)
}

// SPEC FA-9
func TestSupportIsOfTrueVerdictsAndAdmittedElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
		support := b.Support(known, standings.View, now)
		if b.Eval(known, standings.View, now).Verdict != query.True {
			assert.Empty(t, support.Terms)
			return
		}
		for _, term := range support.Terms {
			for _, e := range term.Elements {
				standing := standings.View(term.Field, &e)
				assert.True(t, standing == query.Admitted || e.Actor.ID == querytest.Self && e.Editors == query.EditorsNamed, "%v", e)
			}
		}
	})
}

func TestExplainAgreesWithEval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, known, standings, now := drawBound(t), drawKnown(t), querytest.DrawStandings(t), drawNow(t)
		r, trace := b.Eval(known, standings.View, now), b.Explain(known, standings.View, now)
		assert.Equal(t, r.Verdict, trace.Verdict)
		assert.Equal(t, r.Verdict, trace.Root.Verdict)
		assert.Len(t, trace.Needs, len(r.Needs))
		for _, c := range trace.String() {
			assert.True(t, c == '\n' || c >= ' ', "control character in %q", trace)
		}
	})
}

func drawKnown(t *rapid.T) *query.Facts { return querytest.Degrade(t, querytest.Complete(t)) }
