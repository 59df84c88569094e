package router_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/router"
	"github.com/fullsend-ai/discovery/router/workload"
)

var admitted = []query.View{workload.Admit()}

func ask(r *router.Router, f *query.Facts) router.Answer {
	var a router.Answer
	r.Route(f, admitted, workload.Now, &a)
	return a
}

// The queries that are evaluated are those whose anchor the entity has: the counter follows matches, not rules.
func TestEvaluatedFollowsMatches(t *testing.T) {
	rules := workload.Rules(1_000, workload.Labels, 11)
	r := router.New(sources(t, workload.Texts(rules)))
	assert.Empty(t, r.Unanchored())
	es := workload.Entities(200, 7)
	var a router.Answer
	for i := range es {
		e := &es[i]
		may, match := 0, 0
		for _, rule := range rules {
			c := rule.C
			if rule.C = -1; rule.Matches(e) {
				may++
			}
			if rule.C = c; rule.Matches(e) {
				match++
			}
		}
		r.Route(e.Facts(), admitted, workload.Now, &a)
		assert.Equal(t, may, a.Evaluated, "%+v", e)
		assert.Len(t, a.Match, match, "%+v", e)
	}
}

func TestEvaluated(t *testing.T) {
	r := router.New(sources(t, []string{
		`v1: state = open and label = "a"`,                  // 0
		`v1: label = "a" or milestone = "m"`,                // 1
		`v1: milestone = "m" and not label = "a"`,           // 2
		`v1: any comment(command = "/fs-fix")`,              // 3
		`v1: any comment(at >= now - 1d)`,                   // 4: any comment may do
		`v1: assignee is empty`,                             // 5: unanchored
		`v1: state = closed`,                                // 6
		`v1: any label(name = "a" and by = "user1")`,        // 7
		`v1: not (label != "a" or milestone != "m")`,        // 8
		`v1: label = "a" and updated < now - 1d`,            // 9
		`v1: updated >= now - 1d and not state = "closed"`,  // 10: unanchored
		`v1: (label = "b" or label = "c") and state = open`, // 11
	}))
	assert.Equal(t, []int{5, 10}, r.Unanchored())
	assert.Len(t, r.Sources(), 12)
	label := query.Element{
		Key: "1", Actor: query.User{ID: "1", Login: "user1"}, Editors: query.EditorsNamed,
		Members: []query.Member{{ID: query.MName, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Name("A")}}}},
	}
	known := func() *query.Facts {
		var f query.Facts
		f.SetKnown(query.FState, query.Word("open"))
		f.SetKnown(query.FUpdated, query.Instant(workload.Now.Add(-time.Hour)))
		f.SetKnown(query.FMilestone)
		f.SetKnown(query.FAssignee, query.UserValue(query.User{ID: "7", Login: "x"}))
		f.SetItems(query.FLabel)
		f.SetItems(query.FComment)
		return &f
	}
	tests := []struct {
		name             string
		alter            func(*query.Facts)
		match, undecided []int
		evaluated        int
	}{
		{"nothing", func(*query.Facts) {}, []int{10}, nil, 2},
		{"a label", func(f *query.Facts) { f.SetItems(query.FLabel, label) }, []int{0, 1, 7, 10}, nil, 6},
		{"closed, with it", func(f *query.Facts) {
			f.SetItems(query.FLabel, label)
			f.SetKnown(query.FState, query.Word("closed"))
		}, []int{1, 6, 7}, nil, 5},
		{"labels absent", func(f *query.Facts) { f.Set(query.FLabel, query.Fact{}) }, []int{10}, []int{0, 1, 7, 11}, 7},
		{"milestone absent", func(f *query.Facts) { f.Set(query.FMilestone, query.Fact{}) }, []int{10}, []int{1, 2}, 4},
		{"comments absent", func(f *query.Facts) { f.Set(query.FComment, query.Fact{}) }, []int{10}, []int{3, 4}, 4},
		{"state absent", func(f *query.Facts) { f.Set(query.FState, query.Fact{}) }, nil, []int{6, 10}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := known()
			tt.alter(f)
			a := ask(r, f)
			assert.Equal(t, list(tt.match), list(a.Match), "match")
			assert.Equal(t, list(tt.undecided), list(a.Undecided), "undecided")
			assert.Equal(t, tt.evaluated, a.Evaluated, "evaluated")
			w := world{r.Sources(), admitted, f, workload.Now}
			w.check(t, r, &a)
		})
	}
}

// The workloads themselves are decided as plain evaluation does.
func TestWorkloadsEqualPlainEvaluation(t *testing.T) {
	fs := entities(60)
	workload.Thin(fs[30:], 5)
	texts := append(workload.Mixed(300, 3), workload.Texts(workload.Rules(300, workload.Labels, 11))...)
	w := world{sources: sources(t, texts), views: admitted, now: workload.Now}
	r := router.New(w.sources)
	var a router.Answer
	for _, w.facts = range fs {
		w.check(t, r, &a)
	}
}

func TestRoutingDoesNotAllocate(t *testing.T) {
	fs := entities(300)
	workload.Thin(fs[150:], 5)
	for name, texts := range map[string][]string{
		"rules": workload.Texts(workload.Rules(500, workload.Labels, 11)), "mixed": workload.Mixed(500, 3),
	} {
		t.Run(name, func(t *testing.T) {
			r := router.New(sources(t, texts))
			var a router.Answer
			all := func() {
				for _, f := range fs {
					r.Route(f, admitted, workload.Now, &a)
				}
			}
			all()
			assert.Zero(t, testing.AllocsPerRun(3, all))
		})
	}
}

// Readers keep what they have while the set of queries changes under them.
func TestSwap(t *testing.T) {
	fs := entities(50)
	first := sources(t, workload.Mixed(50, 3))
	var current atomic.Pointer[router.Router]
	current.Store(router.New(first))
	g, ctx := errgroup.WithContext(context.Background())
	ctx, stop := context.WithCancel(ctx)
	for range 2 {
		g.Go(func() error {
			var a router.Answer
			for i := 0; ctx.Err() == nil; i++ {
				r := current.Load()
				r.Route(fs[i%len(fs)], admitted, workload.Now, &a)
				want := naive(r.Sources(), fs[i%len(fs)], admitted, workload.Now)
				if fmt.Sprint(list(want.Match), list(want.Undecided)) != fmt.Sprint(list(a.Match), list(a.Undecided)) {
					return fmt.Errorf("%v and %v, want %v and %v", a.Match, a.Undecided, want.Match, want.Undecided)
				}
			}
			return nil
		})
	}
	for i := range 12 {
		current.Store(current.Load().With(append(sources(t, workload.Mixed(10, uint64(i))), first...)))
	}
	stop()
	require.NoError(t, g.Wait())
}

// A router that was changed very often holds no more than what is in use, and stays exact.
func TestManyChanges(t *testing.T) {
	w := world{views: admitted, now: workload.Now, facts: entities(1)[0]}
	base := sources(t, workload.Mixed(20, 3))
	r := router.New(base)
	var a router.Answer
	for i := range 600 {
		w.sources = append(sources(t, []string{
			fmt.Sprintf(`v1: label = "%d" and any comment(command = "/%d")`, i, i), fmt.Sprintf(`v1: updated < now - %dd`, i),
		}), base...)
		r = r.With(w.sources)
		w.check(t, r, &a)
	}
}
