package router_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
	"github.com/fullsend-ai/discovery/router"
)

const views = 3

// world is a set of sources with what is known of one entity.
type world struct {
	sources []query.Source
	views   []query.View
	facts   *query.Facts
	now     time.Time
}

func drawSources(t *rapid.T, c *query.Catalogue, most int) []query.Source {
	var ss []query.Source
	for range rapid.IntRange(0, most).Draw(t, "sources") {
		q, ds := query.Parse(querytest.Query(t, c, c.Kind(), rapid.IntRange(0, 4).Draw(t, "depth")))
		require.False(t, ds.Failed())
		b, ds := q.Bind(c.Kind(), c, querytest.Env())
		require.False(t, ds.Failed())
		ss = append(ss, query.Source{Query: b, View: query.ViewID(rapid.IntRange(0, views-1).Draw(t, "view"))})
	}
	return ss
}

func drawCatalogue(t *rapid.T) *query.Catalogue {
	p := rapid.SampledFrom([]string{query.GitHub, query.GitLab, query.Forgejo, query.Jira}).Draw(t, "provider")
	k := query.WorkItem
	if p != query.Jira && rapid.Bool().Draw(t, "change proposals") {
		k = query.ChangeProposal
	}
	return query.NewCatalogue(p, k, nil)
}

func (w *world) drawEntity(t *rapid.T) {
	w.facts = querytest.Complete(t)
	if rapid.Bool().Draw(t, "incomplete") {
		w.facts = querytest.Degrade(t, w.facts)
	}
	w.views = nil
	for range views {
		w.views = append(w.views, drawView(t))
	}
	w.now = querytest.Now.Add(rapid.SampledFrom(querytest.Shifts).Draw(t, "now"))
}

// drawView also draws a view that has no opinion, and one that admits what nobody wrote: the router must not be misled.
func drawView(t *rapid.T) query.View {
	switch rapid.IntRange(0, 7).Draw(t, "kind of view") {
	case 0:
		return nil
	case 1:
		return query.Everyone
	}
	return querytest.DrawStandings(t).View
}

func (w *world) check(t require.TestingT, r *router.Router, a *router.Answer) {
	want := naive(w.sources, w.facts, w.views, w.now)
	r.Route(w.facts, w.views, w.now, a)
	if !assert.ElementsMatch(t, want.Match, a.Match) {
		for i := range w.sources {
			if slices.Contains(want.Match, i) != slices.Contains(a.Match, i) {
				assert.Fail(t, w.sources[i].Query.Query().String())
			}
		}
	}
	require.Equal(t, list(want.Match), list(a.Match), "matches")
	require.Equal(t, list(want.Undecided), list(a.Undecided), "undecided")
	require.Equal(t, list(want.Needs), list(a.Needs), "needs")
	require.Equal(t, want.Until, a.Until, "until")
	require.Equal(t, list(want.RestsOn), list(a.RestsOn), "rests on")
	require.LessOrEqual(t, a.Evaluated, len(w.sources))
	require.GreaterOrEqual(t, a.Evaluated, len(a.Match)+len(a.Undecided))
}

// list makes nil and empty one.
func list[T any](xs []T) []T { return append([]T{}, xs...) }

// SPEC FA-6: routing gives what evaluating every query by itself gives, with memory that was used before.
func TestRoutingEqualsPlainEvaluation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world{sources: drawSources(t, drawCatalogue(t), 12)}
		r := router.New(w.sources)
		var a router.Answer
		for range rapid.IntRange(1, 3).Draw(t, "entities") {
			w.drawEntity(t)
			w.check(t, r, &a)
		}
	})
}

// A router made from another is as good as a new one, and the other stays as it was.
func TestRebuildingEqualsBuilding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCatalogue(t)
		w := world{sources: drawSources(t, c, 8)}
		first := w
		r := router.New(w.sources)
		old := r
		var a, b router.Answer
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			kept := slices.DeleteFunc(slices.Clone(w.sources), func(query.Source) bool {
				return rapid.IntRange(0, 3).Draw(t, "dropped") == 0
			})
			w.sources = append(drawSources(t, c, 4), kept...)
			r = r.With(w.sources)
			w.drawEntity(t)
			w.check(t, r, &a)
			first.facts, first.views, first.now = w.facts, w.views, w.now
			first.check(t, old, &b)
			first.check(t, old, &a)
		}
	})
}
