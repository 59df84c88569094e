package coverage_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/scope"
)

var (
	t0    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	scopA = scope.Scope{Provider: "forgejo", Tenant: "git.example", Container: "17", Kind: "work_item", Account: "5"}
	scopB = scope.Scope{Provider: "forgejo", Tenant: "git.example", Container: "17", Kind: "work_item", Account: "6"}
)

// bed is a ledger with a clock, as tests use it.
type bed struct {
	*coverage.Ledger
	t     testing.TB
	store coverage.Store
	now   time.Time
	drift time.Duration // of our own clock
	plan  coverage.Plan
	sc    scope.Scope
}

func options(now func() time.Time) coverage.Options {
	return coverage.Options{Now: now, Rand: func() float64 { return 0 }}
}

func newBed(t testing.TB, s coverage.Store, sources ...string) *bed {
	b := &bed{t: t, store: s, now: t0, sc: scopA}
	b.plan = plan("p1", sources...)
	b.reopen()
	b.begin()
	return b
}

func (b *bed) reopen() {
	l, err := coverage.Open(context.Background(), b.store, options(func() time.Time { return b.now.Add(b.drift) }))
	require.NoError(b.t, err)
	b.Ledger = l
}

func (b *bed) begin() { require.NoError(b.t, b.Begin(context.Background(), b.sc, b.plan, b.now)) }

func (b *bed) next(pol coverage.Policy) []coverage.Task {
	ts, err := b.Next(context.Background(), b.sc, b.now, pol)
	require.NoError(b.t, err)
	return ts
}

// task is the first task of a kind.
func (b *bed) task(k coverage.TaskKind, pol coverage.Policy) *coverage.Task {
	for _, t := range b.next(pol) {
		if t.Kind == k {
			return &t
		}
	}
	return nil
}

func (b *bed) page(t *coverage.Task, p coverage.Progress, rs ...coverage.Record) coverage.Outcome {
	out, err := b.CommitPage(context.Background(), t, p, rs)
	require.NoError(b.t, err)
	return out
}

func (b *bed) closeTask(t *coverage.Task) {
	_, err := b.Close(context.Background(), t, b.now)
	require.NoError(b.t, err)
}

func (b *bed) settle(rs ...coverage.Record) coverage.Outcome {
	out, err := b.Settle(context.Background(), b.sc, rs)
	require.NoError(b.t, err)
	return out
}

// turn reads a whole turn of the sweep.
func (b *bed) turn(rs ...coverage.Record) coverage.Outcome {
	t := b.task(coverage.Turn, coverage.Policy{Full: true})
	require.NotNil(b.t, t)
	out := b.page(t, coverage.Progress{Rows: len(rs)}, rs...)
	b.closeTask(t)
	return out
}

func (b *bed) entity(n int) coverage.Entity {
	m, err := b.Entities(context.Background(), b.sc, []scope.Identity{ref(n).Identity})
	require.NoError(b.t, err)
	return m[ref(n).Identity]
}

func (b *bed) claim(n int) []coverage.Delivery {
	ds, err := b.Claim(context.Background(), b.now, n, 5*time.Minute)
	require.NoError(b.t, err)
	return ds
}

func (b *bed) done(d coverage.Delivery, outcome string) {
	require.NoError(b.t, b.Done(context.Background(), b.now,
		coverage.Receipt{Key: d.Key, Decision: d.Decision, Outcome: outcome, At: b.now}))
}

func (b *bed) due(n int) []coverage.Entity {
	es, err := b.Due(context.Background(), b.sc, b.now, n)
	require.NoError(b.t, err)
	return es
}

func (b *bed) tick(d time.Duration) { b.now = b.now.Add(d) }

func plan(hash string, sources ...string) coverage.Plan {
	p := coverage.Plan{Hash: hash, Walks: []coverage.Walk{
		{Name: "changes", Lag: 2 * time.Minute, Grain: time.Second},
		{Name: "all", Sweep: true, Dense: true},
	}}
	for _, s := range sources {
		p.Sources = append(p.Sources, coverage.Source{ID: s, Version: "v1", Body: []byte(s)})
	}
	return p
}

func ref(n int) scope.Ref {
	return scope.Ref{
		Identity: scope.Identity{Provider: "forgejo", Tenant: "git.example", Kind: "work_item", ID: fmt.Sprint(n)},
		Alias:    fmt.Sprint(n), Key: fmt.Sprintf("acme/widgets#%d", n), URL: fmt.Sprintf("https://git.example/acme/widgets/issues/%d", n),
	}
}

// rec is a judged record; digest is the one part of the decision.
func (b *bed) rec(n int, digest uint64, sources ...string) coverage.Record {
	r := coverage.Record{Ref: ref(n), Token: fmt.Sprint("t", digest), Updated: b.now, ReadAt: b.now, Judged: b.plan.Hash}
	for _, s := range sources {
		v := ""
		for _, x := range b.plan.Sources {
			if x.ID == s {
				v = x.Version
			}
		}
		r.Match = append(r.Match, coverage.Candidate{Source: s, Version: v,
			Digests: map[string]uint64{"support": digest}, Evidence: []byte(`{}`)})
	}
	return r
}

// stores runs f over every store.
func stores(t *testing.T, f func(t *testing.T, s coverage.Store)) {
	t.Run("memory", func(t *testing.T) { f(t, coverage.NewMemory()) })
	t.Run("file", func(t *testing.T) { f(t, openFile(t, filepath.Join(t.TempDir(), "ledger.db"))) })
}

func openFile(t testing.TB, path string) coverage.Store {
	s, err := coverage.OpenFile(context.Background(), path, coverage.FileOptions{NoSync: true, Version: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}
