package query_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// SPEC QL-10: what is called never true is true of no entity, and what is called never false is false of none, whatever
// is known of it, whoever is admitted, and at every instant. Few fields are in play, so that conditions meet.
func TestJudgementIsSound(t *testing.T) {
	said := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		c, k := narrowCatalogue(t)
		text := func(label string) string {
			return querytest.Query(t, c, k, rapid.IntRange(0, 2).Draw(t, label))[len("v1:"):]
		}
		joint := rapid.SampledFrom([]string{"and", "or", "and not", "or not"}).Draw(t, "joint")
		q, ds := query.Parse(fmt.Sprintf("v1: (%s) %s (%s)", text("left"), joint, text("right")))
		if ds.Failed() {
			t.Fatal(ds)
		}
		b, judged := query.Judge(q, k, c, querytest.Env())
		said[judged]++
		if judged == 0 {
			return
		}
		for range 8 {
			f := querytest.Complete(t)
			if rapid.Bool().Draw(t, "degraded") {
				f = querytest.Degrade(t, f)
			}
			now := querytest.Now.Add(rapid.SampledFrom(querytest.Shifts).Draw(t, "now"))
			v := b.Eval(f, querytest.DrawStandings(t).View, now).Verdict
			if int(v) == -judged {
				t.Fatalf("%s is judged %d and evaluates to %d", q, judged, v)
			}
		}
	})
	if n := said[-1] + said[0] + said[1]; n >= 500 && (said[-1] == 0 || said[1] == 0) { // a short run may meet none
		t.Fatalf("nothing was judged: %v", said)
	}
}

// narrowCatalogue has state and two other fields. Generated facts do not know that what is open is not merged.
func narrowCatalogue(t *rapid.T) (*query.Catalogue, query.Kind) {
	p := rapid.SampledFrom([]string{query.GitHub, query.Forgejo, query.Jira}).Draw(t, "provider")
	k := query.WorkItem
	if p == query.GitHub {
		k = query.ChangeProposal
	}
	names := query.NewCatalogue(p, k, nil).Names()
	names = slices.DeleteFunc(names, func(n string) bool { return n == "state" || n == "merged" || n == "linked_change_proposal" })
	keep := []string{"state", rapid.SampledFrom(names).Draw(t, "field"), rapid.SampledFrom(names).Draw(t, "other field")}
	return query.NewCatalogue(p, k, func(f *query.Field) bool { return slices.Contains(keep, f.Name) }), k
}
