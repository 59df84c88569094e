package acquire

import (
	"context"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Match is one harness over one entity that it matches.
type Match struct {
	Queries []*query.Bound // those of the harness's queries that are true
	Trigger *trigger.Program
	Self    string // stable id of the harness's own account
	Ref     scope.Ref
	Facts   *query.Facts
	View    query.View
	Event   *trigger.Event // nil for what polling finds
	Now     time.Time      // the provider's clock
}

// Decision is what a harness is asked about an entity.
type Decision struct {
	// Trigger is the trigger's verdict. Unknown: no decision can be made yet, Needs or Why say what is missing.
	Trigger query.Verdict
	Needs   []query.Need
	Why     string            // a reason that no read can mend
	Digests map[string]uint64 // of everything that the decision rests on, by part
	RestsOn []string          // actors on whom the trigger rests
}

// Decide makes the decision of a match. It waits until everything was read that bears on it, so that one state makes
// one decision however little of it was needed to match; stuck tells needs that were asked for in vain and that a
// decision does not wait for.
func Decide(ctx context.Context, m *Match, stuck func(query.Need) bool) Decision {
	var open []query.Need
	for _, q := range m.Queries {
		open = append(open, q.Outstanding(m.Facts, m.View, m.Now)...)
	}
	if open = slices.DeleteFunc(open, stuck); len(open) > 0 {
		return Decision{Needs: open}
	}
	res := m.Trigger.Eval(ctx, trigger.Input{Ref: m.Ref, Facts: m.Facts, View: m.View, Self: m.Self, Event: m.Event})
	d := Decision{Trigger: res.Verdict, RestsOn: res.RestsOn}
	if res.Verdict == query.VerdictUnknown {
		d.Needs, d.Why = res.Needs, res.Err
		return d
	}
	// A trigger that is false starts nothing: what else it could have read need not be known.
	if open := slices.DeleteFunc(res.Outstanding, stuck); len(open) > 0 && res.Verdict == query.True {
		return Decision{Needs: open, RestsOn: res.RestsOn}
	}
	d.Digests = map[string]uint64{}
	for k, v := range res.Reads {
		d.Digests["trigger "+k] = v
	}
	for _, q := range m.Queries {
		s := q.Support(m.Facts, m.View, m.Now)
		support(d.Digests, &s, m.Self)
	}
	return d
}
