package querytest_test

import (
	"testing"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
	"pgregory.net/rapid"
)

// catalogues are all that v1 has.
func catalogues() []*query.Catalogue {
	var out []*query.Catalogue
	for _, p := range []string{query.GitHub, query.GitLab, query.Forgejo, query.Jira} {
		for _, k := range []query.Kind{query.WorkItem, query.ChangeProposal} {
			if p == query.Jira && k == query.ChangeProposal {
				continue
			}
			out = append(out, query.NewCatalogue(p, k, nil))
		}
	}
	return out
}

// What the generator gives binds, and says so itself when it does not.
func TestQueryBinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(catalogues()).Draw(t, "catalogue")
		q, ds := query.Parse(querytest.Query(t, c, c.Kind(), rapid.IntRange(0, 6).Draw(t, "depth")))
		if ds.Failed() {
			t.Fatal(ds)
		}
		if b, ds := q.Bind(c.Kind(), c, querytest.Env()); b == nil {
			t.Fatal(ds)
		}
	})
}

// SPEC QL-9: printing then parsing gives the same query, and printing it again the same text.
func TestPrintThenParseIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(catalogues()).Draw(t, "catalogue")
		q, _ := query.Parse(querytest.Query(t, c, c.Kind(), rapid.IntRange(0, 6).Draw(t, "depth")))
		again, ds := query.Parse(q.String())
		if ds.Failed() {
			t.Fatalf("%s: %v", q, ds)
		}
		if again.String() != q.String() {
			t.Fatalf("printed\n%s\nand then\n%s", q, again)
		}
		a, _ := q.Bind(c.Kind(), c, querytest.Env())
		b, _ := again.Bind(c.Kind(), c, querytest.Env())
		if !query.Implies(a, b) || !query.Implies(b, a) {
			t.Fatalf("%s and %s differ once bound", q, again)
		}
	})
}
