package coverage_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

func (b *bed) ran(d coverage.Delivery, outcome string, digest uint64) {
	require.NoError(b.t, b.Done(context.Background(), b.now, coverage.Receipt{
		Key: d.Key, Decision: d.Decision, Outcome: outcome, At: b.now,
		Read: &coverage.ReadState{Version: "v1", Digests: map[string]uint64{"support": digest}},
	}))
}

// SPEC CO-43: what a run has read is answered, whether the poller sees it before or after the receipt.
func TestARunAnswersTheStateThatItRead(t *testing.T) {
	for name, seen := range map[string]func(b *bed, receipt func()){
		"poller sees it later":  func(b *bed, receipt func()) { receipt(); b.settle(b.rec(1, 'B', src)) },
		"poller saw it already": func(b *bed, receipt func()) { b.settle(b.rec(1, 'B', src)); receipt() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, coverage.NewMemory(), src)
			b.settle(b.rec(1, 'A', src))
			b.tick(time.Hour)
			d := b.claim(1)[0]
			seen(b, func() { b.ran(d, coverage.Ran, 'B') })
			b.check()
			require.Empty(t, b.claim(1), "the run has answered A and B")
			b.tick(time.Hour)
			b.settle(b.rec(1, 'C', src))
			require.Len(t, b.claim(1), 1, "C is another state")
		})
	}
}

// SPEC CO-43: a run that nobody sent answers what it read too; one that did not run answers nothing but its own decision.
func TestReadStatesOfOtherReceipts(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	d := b.claim(1)[0]
	b.done(d, coverage.Ran)
	b.ran(coverage.Delivery{Key: d.Key}, coverage.Ran, 'B') // by hand
	b.tick(time.Hour)
	b.settle(b.rec(1, 'B', src))
	require.Empty(t, b.claim(1))

	b.settle(b.rec(1, 'C', src))
	d = b.claim(1)[0]
	b.ran(d, coverage.NotTriggered, 'D')
	b.tick(time.Hour)
	b.settle(b.rec(1, 'D', src))
	require.Len(t, b.claim(1), 1)
	b.check()
}

// SPEC CO-43: a run that was started by an event answers the row of the state that it has read, and no other.
func TestARunOfSomebodyElseClosesTheRowOfItsState(t *testing.T) {
	for digest, open := range map[uint64]int{'A': 0, 'B': 1} {
		b := newBed(t, coverage.NewMemory(), src)
		b.settle(b.rec(1, 'A', src))
		b.ran(coverage.Delivery{Key: key(1), Decision: "-"}, coverage.Ran, digest)
		require.Len(t, b.claim(9), open)
		b.check()
	}
}
