package gitlab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func crowd(b testing.TB, kind query.Kind, q face.Quirks, n int) *stage {
	var script strings.Builder
	for range n {
		fmt.Fprintf(&script, "create as=wes title=t kind=%s body=%q labels=bug\nadvance by=7s\n", kind, strings.Repeat("word ", 60))
	}
	return newStage(b, kind, q, script.String())
}

// BenchmarkRequests counts what the provider is asked: of an idle cycle, of a thousand changed entities whose labels are
// looked at, and of a sweep of ten thousand.
func BenchmarkRequests(b *testing.B) {
	for _, tt := range []struct {
		name string
		kind query.Kind
		q    face.Quirks
	}{{"issues by key", query.WorkItem, face.Quirks{}}, {"issues by number", query.WorkItem, face.Quirks{NoKeyset: true}}, {"merge requests", query.ChangeProposal, face.Quirks{}}} {
		b.Run(tt.name, func(b *testing.B) {
			s := crowd(b, tt.kind, tt.q, 10_000)
			ses := s.open()
			for b.Loop() {
				s.meter.reset()
				idle(b, s, ses)
				b.ReportMetric(float64(s.meter.total()), "idle")
				s.meter.reset()
				changed(b, s, ses)
				b.ReportMetric(float64(s.meter.total()), "per1000changed")
				s.meter.reset()
				if l := list(ses, walk(ses, true), time.Time{}, nil); l.err != nil || len(l.items) < 10_000 {
					b.Fatal(l.err, len(l.items))
				}
				b.ReportMetric(float64(s.meter.total()), "per10000swept")
			}
		})
	}
}

func idle(b testing.TB, s *stage, ses adapters.Session) {
	if _, err := ses.Health(b.Context()); err != nil {
		b.Fatal(err)
	}
	if l := list(ses, walk(ses, false), s.w.Now().Add(time.Hour), nil); l.err != nil || len(l.items) != 0 {
		b.Fatal(l.err, len(l.items))
	}
}

func changed(b testing.TB, s *stage, ses adapters.Session) {
	l := list(ses, walk(ses, false), s.w.Now().Add(-7000*time.Second), nil)
	if l.err != nil || len(l.items) < 1000 {
		b.Fatal(l.err, len(l.items))
	}
	var refs []scope.Ref
	for _, it := range l.items[:1000] {
		refs = append(refs, it.Ref)
	}
	for i := 0; i < len(refs); i += 50 {
		if _, err := ses.Read(b.Context(), refs[i:i+50], query.Fields(query.FLabel)); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := ses.Roles(b.Context(), []query.User{s.user("wes")}); err != nil {
		b.Fatal(err)
	}
}

// SPEC GL-3: the requests of a cycle do not depend on how many sources there are.
func TestRequestsAreFlat(t *testing.T) {
	s := crowd(t, query.WorkItem, face.Quirks{}, 250)
	ses := s.open()
	cost := func(n int) int {
		var ss []query.Source
		for i := range n {
			q, _ := query.Parse(fmt.Sprintf(`v1: label = "l%d"`, i))
			b, _ := q.Bind(query.WorkItem, provider(query.WorkItem).Catalogue, query.Env{})
			ss = append(ss, query.Source{ID: fmt.Sprint(i), Query: b})
		}
		plan, _ := ses.Compile(t.Context(), ss)
		s.meter.reset()
		for _, w := range plan.Walks() {
			for _, err := range ses.Pages(t.Context(), plan, w, adapters.Position{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		return s.meter.total()
	}
	if one, many := cost(1), cost(500); one != many || one != 6 {
		t.Fatalf("%d requests for one source, %d for 500", one, many)
	}
}
