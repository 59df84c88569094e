package router_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/router"
	"github.com/fullsend-ai/discovery/router/workload"
)

func sources(t testing.TB, texts []string) []query.Source {
	t.Helper()
	ss, err := workload.Sources(texts)
	require.NoError(t, err)
	return ss
}

func entities(n int) []*query.Facts {
	es := workload.Entities(n, 7)
	fs := make([]*query.Facts, n)
	for i := range es {
		fs[i] = es[i].Facts()
	}
	return fs
}

func route(b *testing.B, ss []query.Source, fs []*query.Facts) {
	b.Helper()
	vs := []query.View{workload.Admit()}
	r := router.New(ss)
	var a router.Answer
	for _, f := range fs { // grow the answer
		r.Route(f, vs, workload.Now, &a)
	}
	evaluated, matched, i := 0, 0, 0
	b.ReportAllocs()
	for b.Loop() {
		r.Route(fs[i%len(fs)], vs, workload.Now, &a)
		evaluated, matched, i = evaluated+a.Evaluated, matched+len(a.Match), i+1
	}
	b.ReportMetric(float64(evaluated)/float64(i), "evaluated/op")
	b.ReportMetric(float64(matched)/float64(i), "matches/op")
}

func BenchmarkRoute(b *testing.B) {
	fs := entities(10_000)
	for _, n := range []int{10, 100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			route(b, sources(b, workload.Texts(workload.Rules(n, workload.Labels, 11))), fs)
		})
	}
}

// BenchmarkRouteSameMatches has one thousand rules that match and, in the second run, nine thousand others that do not.
func BenchmarkRouteSameMatches(b *testing.B) {
	fs := entities(10_000)
	texts := workload.Texts(workload.Rules(1_000, workload.Labels, 11))
	for i := range 9_000 {
		texts = append(texts, fmt.Sprintf(`v1: state = open and label in ("other-%d", "other-%d") and not label = "x"`, i, i/2))
	}
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) { route(b, sources(b, texts[:n]), fs) })
	}
}

func BenchmarkRouteMixed(b *testing.B) {
	fs := entities(10_000)
	workload.Thin(fs, 5)
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) { route(b, sources(b, workload.Mixed(n, 3)), fs) })
	}
}

// BenchmarkPlain evaluates every query by itself.
func BenchmarkPlain(b *testing.B) {
	ss, fs, vs := sources(b, workload.Texts(workload.Rules(1_000, workload.Labels, 11))), entities(100), []query.View{workload.Admit()}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		naive(ss, fs[i%len(fs)], vs, workload.Now)
		i++
	}
}

func BenchmarkBuild(b *testing.B) {
	for name, texts := range map[string][]string{
		"plain": workload.Texts(workload.Rules(10_000, workload.Labels, 11)), "mixed": workload.Mixed(10_000, 3),
	} {
		ss := sources(b, texts)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				router.New(ss)
			}
		})
	}
}

// BenchmarkRebuild changes one query of ten thousand.
func BenchmarkRebuild(b *testing.B) {
	ss := sources(b, workload.Mixed(10_000, 3))
	other := sources(b, []string{`v1: label = "entirely new"`})
	r := router.New(ss)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		old := ss[i%len(ss)]
		ss[i%len(ss)] = other[0]
		r.With(ss)
		ss[i%len(ss)] = old
		i++
	}
}
