package github_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func refsOf(l listed) []scope.Ref {
	refs := make([]scope.Ref, len(l.items))
	for i := range l.items {
		refs[i] = l.items[i].Ref
	}
	return refs
}

// spend counts what f costs on a stage.
func (s *stage) spend(f func()) (requests, points int) {
	s.meter.reset()
	s.face.ResetPoints()
	f()
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	for _, n := range s.meter.asked {
		requests += n
	}
	return requests, s.face.Points()
}

// harnesses are n queries of one kind that the state filters in sweeps.
func harnesses(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(`v1: state = open and label = "l%d"`, i)
	}
	return texts
}

// fill makes n open entities, three seconds apart.
func (s *stage) fill(n int, kind forgesim.Kind) {
	s.t.Helper()
	_, err := s.w.AddLabel("acme/widgets", "bug", "", false)
	require.NoError(s.t, err)
	for i := range n {
		_, err := s.w.Create("olga", forgesim.NewEntity{Repo: "acme/widgets", Kind: kind, Title: fmt.Sprint("entity ", i), Body: strings.Repeat("word ", 60), Labels: []string{"bug"}})
		require.NoError(s.t, err)
		s.w.Advance(3 * time.Second)
	}
}

// costs are the requests and points of the three numbers that people plan with.
func costs(t testing.TB, kind query.Kind, open, changed, harness int) map[string][2]int {
	st := newStageUnder(t, nil, "")
	st.config.Kind = kind
	st.fill(open, forgesim.Kind(kind))
	ses := st.open()
	p := compile(t, ses, kind, harnesses(harness)...)
	out := map[string][2]int{}
	note := func(name string, f func()) {
		r, pts := st.spend(f)
		out[name] = [2]int{r, pts}
	}
	st.w.Advance(time.Hour)
	now := st.w.Now()
	cycle := func() {
		_, err := ses.Health(context.Background())
		require.NoError(t, err)
		require.NoError(t, walk(ses, p, "changed", now.Add(-time.Minute)).err)
	}
	note("idle cycle", cycle)
	for n := 1; n <= changed; n++ {
		_, err := st.w.Comment(fmt.Sprintf("acme/widgets#%d", n), "rea", "hm", "")
		require.NoError(t, err)
	}
	note(fmt.Sprintf("%d changed, listed and read", changed), func() {
		l := walk(ses, p, "changed", now.Add(-time.Minute))
		require.NoError(t, l.err)
		require.Len(t, l.numbers, changed)
		items, err := ses.Read(context.Background(), refsOf(l), query.Fields(query.FLabel))
		require.NoError(t, err)
		require.Equal(t, adapters.Present, items[changed-1].State)
	})
	note(fmt.Sprintf("sweep of %d open", open), func() {
		l := walk(ses, p, "all", time.Time{})
		require.NoError(t, l.err)
		require.Empty(t, l.short)
		require.Len(t, l.numbers, open)
	})
	return out
}

// SPEC GH-23: what cycles and sweeps cost, for one harness and for three hundred.
func TestCosts(t *testing.T) {
	for _, kind := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		read := 4 + 10
		if kind == query.ChangeProposal {
			read++ // the page on which the window ends
		}
		want := map[string][2]int{"idle cycle": {2, 2}, "200 changed, listed and read": {read, read}, "sweep of 500 open": {10, 10}}
		require.Equal(t, want, costs(t, kind, 500, 200, 1))
		require.Equal(t, want, costs(t, kind, 500, 200, 300))
	}
}

// BenchmarkCosts reports requests and points of the planning numbers.
func BenchmarkCosts(b *testing.B) {
	for _, kind := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		for _, n := range []int{1, 300} {
			b.Run(fmt.Sprintf("%s/harnesses=%d", kind, n), func(b *testing.B) {
				for b.Loop() {
					for name, c := range costs(b, kind, 10_000, 1_000, n) {
						name = strings.NewReplacer(" ", "_", ",", "").Replace(name)
						b.ReportMetric(float64(c[0]), name+"_requests")
						b.ReportMetric(float64(c[1]), name+"_points")
					}
				}
			})
		}
	}
}
