package poll

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

func bound(t *testing.T, text, self string) *query.Bound {
	t.Helper()
	q, _ := query.Parse(text)
	b, ds := q.Bind(query.WorkItem, query.NewCatalogue(query.GitHub, query.WorkItem, nil), query.Env{Self: self})
	require.NotNil(t, b, "%v", ds)
	return b
}

func cel(t *testing.T, text string) *trigger.Program {
	t.Helper()
	p, is := trigger.Compile(text, query.NewCatalogue(query.GitHub, query.WorkItem, nil))
	require.NotNil(t, p, "%v", is)
	return p
}

func targetOf(t *testing.T, change func(*Target)) *Target {
	tg := &Target{Adapter: configtest.Registry()[query.GitHub], Bots: map[string]adapters.Role{"7": adapters.Write}}
	tg.Config.Kind = query.WorkItem
	tg.Harnesses = []Harness{
		{Name: "a", Threshold: adapters.Triage, Self: "7", Queries: []*query.Bound{bound(t, `v1: state = open`, "7"), bound(t, `v1: assignee = self`, "7")}},
		{Name: "b", Threshold: adapters.Write, Queries: []*query.Bound{bound(t, `v1: label = "bug"`, "")}, Trigger: cel(t, "true")},
	}
	if change != nil {
		change(tg)
	}
	return tg
}

func hashOf(t *testing.T, tg *Target) string {
	t.Helper()
	c, err := compile(tg)
	require.NoError(t, err)
	return c.hash
}

// SPEC UB-12: whatever could change a verdict changes the plan; how a query is written does not.
func TestPlanHash(t *testing.T) {
	base := hashOf(t, targetOf(t, nil))
	for name, change := range map[string]func(*Target){
		"a query": func(tg *Target) { tg.Harnesses[0].Queries[0] = bound(t, `v1: state = closed`, "7") },
		"one query more": func(tg *Target) {
			tg.Harnesses[1].Queries = append(tg.Harnesses[1].Queries, bound(t, `v1: locked`, ""))
		},
		"one query less":       func(tg *Target) { tg.Harnesses[0].Queries = tg.Harnesses[0].Queries[:1] },
		"an admission minimum": func(tg *Target) { tg.Harnesses[0].Threshold = adapters.Write },
		"self":                 func(tg *Target) { tg.Harnesses[0].Self = "8" },
		"an agent account":     func(tg *Target) { tg.Bots["8"] = adapters.NoRole },
		"an agent's role":      func(tg *Target) { tg.Bots["7"] = adapters.Triage },
		"no agent accounts":    func(tg *Target) { tg.Bots = nil },
		"a trigger":            func(tg *Target) { tg.Harnesses[1].Trigger = cel(t, "event == null") },
		"no trigger":           func(tg *Target) { tg.Harnesses[1].Trigger = nil },
		"a harness's name":     func(tg *Target) { tg.Harnesses[1].Name = "c" },
		"one harness less":     func(tg *Target) { tg.Harnesses = tg.Harnesses[:1] },
		"a query that moved on": func(tg *Target) {
			tg.Harnesses[0].Queries, tg.Harnesses[1].Queries = tg.Harnesses[1].Queries, tg.Harnesses[0].Queries
		},
	} {
		require.NotEqual(t, base, hashOf(t, targetOf(t, change)), name)
	}
	require.Equal(t, base, hashOf(t, targetOf(t, func(tg *Target) { tg.Harnesses[0].Queries[0] = bound(t, "v1:  STATE  = open", "7") })))
	require.Equal(t, base, hashOf(t, targetOf(t, nil)), "the same again")
}

// SPEC UB-12 CO-10: what was covered is kept only where every new query is seen to imply an old one under the same
// admission.
func TestReuse(t *testing.T) {
	old := targetOf(t, nil)
	stored := map[string]coverage.Source{}
	before, err := compile(old)
	require.NoError(t, err)
	for _, s := range before.ledgerPlan(old, nil, nil).Sources {
		stored[s.ID] = s
	}
	for name, c := range map[string]struct {
		change func(*Target)
		reuse  bool
	}{
		"narrower":        {func(tg *Target) { tg.Harnesses[1].Queries[0] = bound(t, `v1: label = "bug" and state = open`, "") }, true},
		"wider":           {func(tg *Target) { tg.Harnesses[1].Queries[0] = bound(t, `v1: label in ("bug", "docs")`, "") }, false},
		"another trigger": {func(tg *Target) { tg.Harnesses[1].Trigger = cel(t, "event == null") }, true},
		"other admission": {func(tg *Target) { tg.Harnesses[1].Threshold = adapters.Maintain }, false},
		"other agents":    {func(tg *Target) { tg.Bots["9"] = adapters.Write }, false},
		"narrower and wider": {func(tg *Target) {
			tg.Harnesses[1].Queries = append(tg.Harnesses[1].Queries, bound(t, `v1: state = open`, ""))
		}, false},
		"of another harness": {func(tg *Target) { tg.Harnesses[1].Queries[0] = bound(t, `v1: state = open`, "") }, false},
	} {
		tg := targetOf(t, c.change)
		now, err := compile(tg)
		require.NoError(t, err)
		for _, s := range now.ledgerPlan(tg, nil, stored).Sources {
			if s.ID == "b" {
				require.Equal(t, c.reuse, s.Reuse, name)
			}
		}
	}
}
