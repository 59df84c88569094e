package coverage_test

import (
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
