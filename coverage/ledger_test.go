package coverage_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

func TestFirstCycle(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, "triage/1", "review/1")
		ts := b.next(coverage.Policy{SweepEvery: time.Hour})
		require.Len(t, ts, 2)
		require.Equal(t, coverage.Tail, ts[0].Kind)
		require.Equal(t, t0.Add(-2*time.Minute), ts[0].From)
		require.Equal(t, coverage.Turn, ts[1].Kind)

		turn := ts[1]
		out := b.page(&turn, coverage.Progress{Next: []byte("c1"), Rows: 2, Met: []int64{1, 2}}, b.rec(1, 7, "triage/1"), b.rec(2, 7))
		require.Equal(t, coverage.Outcome{Entered: 1, Emitted: 1}, out)
		b.reopen()
		b.begin()
		again := b.task(coverage.Turn, coverage.Policy{})
		require.Equal(t, turn, *again)
		out = b.page(again, coverage.Progress{Rows: 1, Met: []int64{4}}, b.rec(4, 7, "triage/1", "review/1"))
		require.Equal(t, 2, out.Emitted)
		b.closeTask(again)
		require.Nil(t, b.task(coverage.Turn, coverage.Policy{SweepEvery: time.Hour}))
		require.Equal(t, []int64{3}, b.task(coverage.Probe, coverage.Policy{}).Numbers)

		ds := b.claim(2)
		require.Len(t, ds, 2)
		b.done(ds[0], coverage.HandedOff)
		b.done(ds[1], coverage.Ran)
		require.Len(t, b.claim(5), 1)
		require.Empty(t, b.claim(5))
	})
}

func TestConcurrentScopes(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		ctx := context.Background()
		l, err := coverage.Open(ctx, s, coverage.Options{Now: func() time.Time { return t0 }})
		require.NoError(t, err)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { errs[i] = oneScope(ctx, l, i) })
		}
		claimed := map[string]bool{}
		for range 20 {
			ds, err := l.Claim(ctx, t0, 5, time.Hour)
			require.NoError(t, err)
			for _, d := range ds {
				require.False(t, claimed[d.Key])
				claimed[d.Key] = true
			}
			_, err = l.Snapshot(ctx, t0)
			require.NoError(t, err)
		}
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		ds, err := l.Claim(ctx, t0, 1000, time.Hour)
		require.NoError(t, err)
		require.Equal(t, 8*20, len(claimed)+len(ds))
		r, err := coverage.Check(ctx, s)
		require.NoError(t, err)
		require.Empty(t, r.Problems)
	})
}

// oneScope runs a first turn of a scope with a source of its own.
func oneScope(ctx context.Context, l *coverage.Ledger, i int) error {
	sc := scopA
	sc.Container = fmt.Sprint(i)
	p := plan("p1", fmt.Sprint("source", i))
	if err := l.Begin(ctx, sc, p, t0); err != nil {
		return err
	}
	ts, err := l.Next(ctx, sc, t0, coverage.Policy{})
	if err != nil {
		return err
	}
	turn := ts[1]
	for n := range 20 {
		r := coverage.Record{Ref: ref(n), ReadAt: t0, Judged: "p1", Match: []coverage.Candidate{{Source: p.Sources[0].ID, Version: "v1"}}}
		prog := coverage.Progress{Rows: 1}
		if n < 19 {
			prog.Next = []byte{byte(n)}
		}
		if _, err := l.CommitPage(ctx, &turn, prog, []coverage.Record{r}); err != nil {
			return err
		}
	}
	_, err = l.Close(ctx, &turn, t0)
	return err
}
