package router

import (
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/query"
)

// Router is an immutable set of sources. A change of the set makes a new Router; readers swap the pointer. It is safe
// for concurrent use.
type Router struct {
	sources []query.Source
}

// Answer is what Route says of one entity. Its slices are reused from call to call.
type Answer struct {
	Match     []int        // indices into Sources whose query is true, ascending
	Undecided []int        // indices whose verdict is unknown, ascending
	Needs     []query.Need // union over the undecided, sorted and unique
	Until     time.Time    // the first instant at which any verdict may change by time alone; zero: never
	RestsOn   []string     // union over all sources: actors whose role a verdict may rest on, sorted and unique
	Evaluated int          // queries that were evaluated
}

// New compiles the sources.
func New(ss []query.Source) *Router { return &Router{sources: slices.Clone(ss)} }

// Sources are the sources in the order of their indices.
func (r *Router) Sources() []query.Source { return r.sources }

// Unanchored lists the sources that every entity must be evaluated against, because no single positive test is
// necessary for them.
func (r *Router) Unanchored() []int {
	var out []int
	for i := range r.sources {
		if !r.sources[i].Query.Anchored() {
			out = append(out, i)
		}
	}
	return out
}

// Route fills a with exactly what evaluating every source by itself and uniting the results gives. views is indexed by
// ViewID. now is the provider's clock.
func (r *Router) Route(f *query.Facts, views []query.View, now time.Time, a *Answer) {
	a.reset()
	for i := range r.sources {
		s := &r.sources[i]
		res := s.Query.Eval(f, views[s.View], now)
		a.add(i, &res)
	}
	a.finish()
}

func (a *Answer) reset() {
	a.Match, a.Undecided, a.Needs, a.RestsOn = a.Match[:0], a.Undecided[:0], a.Needs[:0], a.RestsOn[:0]
	a.Until, a.Evaluated = time.Time{}, 0
}

func (a *Answer) add(i int, res *query.Result) {
	a.Evaluated++
	switch res.Verdict {
	case query.True:
		a.Match = append(a.Match, i)
	case query.VerdictUnknown:
		a.Undecided = append(a.Undecided, i)
		a.Needs = append(a.Needs, res.Needs...)
	}
	a.RestsOn = append(a.RestsOn, res.RestsOn...)
	if !res.Until.IsZero() && (a.Until.IsZero() || res.Until.Before(a.Until)) {
		a.Until = res.Until
	}
}

func (a *Answer) finish() {
	slices.SortFunc(a.Needs, compareNeeds)
	a.Needs = slices.Compact(a.Needs)
	slices.Sort(a.RestsOn)
	a.RestsOn = slices.Compact(a.RestsOn)
}

func compareNeeds(x, y query.Need) int {
	if x.Field != y.Field {
		return int(x.Field) - int(y.Field)
	}
	if c := strings.Compare(x.Element, y.Element); c != 0 {
		return c
	}
	return strings.Compare(x.Actor, y.Actor)
}
