package router

import (
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/query"
)

// Router is an immutable set of sources. A change of the set makes a new Router, see With; readers swap the pointer. It
// is safe for concurrent use, each user with an Answer of its own.
type Router struct {
	sources []query.Source
	forms   []*form
	syms    *symbols
	index   *index
}

// Answer is what Route says of one entity. Its slices are reused from call to call. The zero Answer serves any router.
type Answer struct {
	Match     []int        // indices into Sources whose query is true, ascending
	Undecided []int        // indices whose verdict is unknown, ascending
	Needs     []query.Need // union over the undecided, sorted and unique
	Until     time.Time    // the first instant at which any verdict may change by time alone; zero: never
	RestsOn   []string     // union over all sources: actors whose role a verdict may rest on, sorted and unique
	Evaluated int          // queries that were evaluated

	work *work // of the router that it was last used with
}

// New compiles the sources.
func New(ss []query.Source) *Router {
	return build(ss, newSymbols(), nil)
}

// With compiles the sources and reuses what r made of those whose query is the same (by pointer) under the same view: a
// change of one query costs little beside a new router. r stays as it is.
func (r *Router) With(ss []query.Source) *Router {
	known := make(map[formKey]*form, len(r.forms))
	for _, f := range r.forms {
		known[keyOf(&f.source)] = f
	}
	if r.stale(len(ss)) {
		return New(ss)
	}
	return build(ss, r.syms.clone(), known)
}

type formKey struct {
	query *query.Bound
	view  query.ViewID
}

func keyOf(s *query.Source) formKey { return formKey{s.Query, s.View} }

// stale reports whether so much of the symbols belongs to queries of the past that a fresh start is due.
func (r *Router) stale(sources int) bool {
	const spare = 1024
	live := 0
	for _, l := range r.index.live {
		if l {
			live++
		}
	}
	return len(r.syms.slots) > 2*live+spare+sources/4
}

func build(ss []query.Source, syms *symbols, known map[formKey]*form) *Router {
	r := &Router{sources: slices.Clone(ss), forms: make([]*form, len(ss)), syms: syms}
	for i := range r.sources {
		f, ok := known[keyOf(&r.sources[i])]
		if !ok {
			f = syms.compile(r.sources[i])
		}
		r.forms[i] = f
	}
	r.index = assemble(syms, r.forms)
	return r
}

// Sources are the sources in the order of their indices.
func (r *Router) Sources() []query.Source { return r.sources }

// Unanchored lists the sources that every entity must be evaluated against, because no single positive test is
// necessary for them.
func (r *Router) Unanchored() []int {
	var out []int
	for i, f := range r.forms {
		if f.unanchored() {
			out = append(out, i)
		}
	}
	return out
}

// Route fills a with exactly what evaluating every source by itself and uniting the results gives. views is indexed by
// ViewID. now is the provider's clock. Once a has grown to what answers need, Route does not allocate.
func (r *Router) Route(f *query.Facts, views []query.View, now time.Time, a *Answer) {
	if a.work == nil || a.work.router != r {
		a.work = newWork(r)
	}
	a.Match, a.Undecided, a.Needs, a.RestsOn = a.Match[:0], a.Undecided[:0], a.Needs[:0], a.RestsOn[:0]
	a.Until, a.Evaluated = time.Time{}, 0
	w := a.work
	w.facts, w.views, w.now, w.answer = f, views, now, a
	w.read()
	w.visit()
	w.collect()
	w.reset()
}
