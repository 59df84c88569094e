package query_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
)

// seeds are the texts of the corpus.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/v1/text-*.txt")
	require.NoError(f, err)
	t := &testing.T{}
	for _, file := range files {
		for _, b := range readCorpus(t, file) {
			f.Add(b.src)
		}
	}
	f.Add("v1: ((((((((((((((((((((((((((((((((((((((((")
	f.Add("v1: not not not any label(not(not x")
	f.Add("v1: a in (((,,,) and or \" ' ` # /* \xff \x00")
}

// SPEC QL-2: every text gives a query and diagnostics whose ranges lie in the text, in order.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		q, ds := query.Parse(src)
		require.NotNil(t, q)
		checkPlaces(t, src, ds)
	})
}

func checkPlaces(t *testing.T, src string, ds query.Diagnostics) {
	last := 0
	for _, d := range ds {
		require.LessOrEqual(t, last, d.Span.Start, "%v", ds)
		require.LessOrEqual(t, d.Span.Start, d.Span.End, "%v", d)
		require.LessOrEqual(t, d.Span.End, len(src), "%v", d)
		require.NotEmpty(t, d.Message)
		last = d.Span.Start
	}
}

// SPEC QL-9
func FuzzPrintParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		q, ds := query.Parse(src)
		if ds.Failed() {
			return
		}
		again, ds := query.Parse(q.String())
		require.Empty(t, ds, "%s", q)
		require.Equal(t, q.String(), again.String())
		require.Equal(t, query.Shape(q), query.Shape(again))
	})
}

// SPEC QL-5: binding answers every text, against every provider's catalogue; what it accepts is bound to the same when
// it is printed first.
func FuzzBind(f *testing.F) {
	seeds(f)
	var cs []*query.Catalogue
	for _, p := range []string{query.GitHub, query.GitLab, query.Forgejo, query.Jira} {
		cs = append(cs, query.NewCatalogue(p, query.WorkItem, nil), query.NewCatalogue(p, query.ChangeProposal, nil))
	}
	f.Fuzz(func(t *testing.T, src string) {
		q, _ := query.Parse(src)
		for _, c := range cs {
			b, ds := q.Bind(c.Kind(), c, query.Env{Self: "7"})
			checkPlaces(t, src, ds)
			require.Equal(t, ds.Failed(), b == nil)
			if b == nil {
				continue
			}
			again, _ := query.Parse(q.String())
			second, ds := again.Bind(c.Kind(), c, query.Env{Self: "7"})
			require.NotNil(t, second, "%s: %v", q, ds)
			require.Equal(t, b.Fields(), second.Fields())
		}
	})
}
