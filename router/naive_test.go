package router_test

import (
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/router"
)

// naive is the oracle: every source by itself, and the results united.
func naive(ss []query.Source, f *query.Facts, views []query.View, now time.Time) router.Answer {
	var a router.Answer
	for i := range ss {
		r := ss[i].Query.Eval(f, views[ss[i].View], now)
		switch r.Verdict {
		case query.True:
			a.Match = append(a.Match, i)
		case query.VerdictUnknown:
			a.Undecided = append(a.Undecided, i)
			a.Needs = append(a.Needs, r.Needs...)
		}
		a.RestsOn = append(a.RestsOn, r.RestsOn...)
		if !r.Until.IsZero() && (a.Until.IsZero() || r.Until.Before(a.Until)) {
			a.Until = r.Until
		}
	}
	a.Evaluated = len(ss)
	slices.SortFunc(a.Needs, query.Need.Compare)
	a.Needs = slices.Compact(a.Needs)
	slices.Sort(a.RestsOn)
	a.RestsOn = slices.Compact(a.RestsOn)
	return a
}
