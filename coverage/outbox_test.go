package coverage_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

func (b *bed) receipt(outcome string, at time.Time, decision string) {
	require.NoError(b.t, b.Done(context.Background(), b.now,
		coverage.Receipt{Key: key(1), Decision: decision, Outcome: outcome, At: at, Why: "because"}))
}

// SPEC CO-34, CO-35
func TestOutcomes(t *testing.T) {
	for outcome, c := range map[string]struct {
		closed bool
		wait   time.Duration
	}{
		coverage.HandedOff:    {closed: true},
		coverage.Ran:          {closed: true},
		coverage.Skipped:      {closed: true},
		coverage.NotTriggered: {closed: true},
		coverage.NotMember:    {closed: true},
		coverage.UnknownRun:   {wait: time.Minute},
		coverage.Failed:       {wait: time.Minute},
		coverage.Lost:         {wait: 0},
	} {
		t.Run(outcome, func(t *testing.T) {
			stores(t, func(t *testing.T, s coverage.Store) {
				b := newBed(t, s, src)
				b.settle(b.rec(1, 'A', src))
				b.tick(time.Hour)
				d := b.claim(1)[0]
				require.Equal(t, src, d.Source)
				require.Empty(t, b.claim(1))
				b.receipt(outcome, b.now, d.Decision)
				b.receipt("", b.now.Add(-time.Hour), "some other decision") // of another ledger's life: ignored
				require.Equal(t, c.closed, len(b.entity(1).Pairs[src].Closed) == 1)
				if c.closed {
					b.receipt(outcome, b.now, d.Decision) // told twice
				} else {
					b.tick(c.wait - 1)
					if c.wait > 0 {
						require.Empty(t, b.claim(1))
					}
					b.tick(1)
					again := b.claim(1)[0]
					require.Equal(t, d.Decision, again.Decision)
					require.Equal(t, 1, again.Tries)
					require.Equal(t, "because", again.Why)
				}
				b.check()
			})
		})
	}
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	require.Error(t, b.Done(context.Background(), b.now, coverage.Receipt{Key: key(1), Outcome: "magic"}))
}

// SPEC CO-36
func TestANoOnYoungFactsIsAskedAgain(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	b.tick(time.Minute) // the lag is two
	d := b.claim(1)[0]
	b.receipt(coverage.NotMember, b.now, d.Decision)
	require.Empty(t, b.claim(1))
	require.Equal(t, coverage.WhyReceipt, b.entity(1).Again[0].Why)
	b.tick(time.Minute)
	require.Len(t, b.due(1), 1)
	d = b.claim(1)[0]
	b.receipt(coverage.NotMember, b.now, d.Decision)
	b.tick(time.Hour)
	require.Empty(t, b.claim(1))
	require.Len(t, b.entity(1).Pairs[src].Closed, 1)
}

// SPEC CO-35
func TestDeadLettersAreKeptAndTriedSlowly(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	for range 8 {
		b.tick(24 * time.Hour)
		d := b.claim(1)
		require.Len(t, d, 1)
		require.False(t, d[0].Dead)
		b.receipt(coverage.Failed, b.now, d[0].Decision)
	}
	s, err := b.Snapshot(context.Background(), b.now)
	require.NoError(t, err)
	require.Equal(t, 1, s.Outbox.Dead)
	require.Equal(t, 8, s.Outbox.Letters[0].Tries)
	require.Equal(t, "because", s.Outbox.Letters[0].Why)
	b.tick(23 * time.Hour)
	require.Empty(t, b.claim(1))
	b.tick(time.Hour)
	d := b.claim(1)
	require.True(t, d[0].Dead)
	b.receipt(coverage.Ran, b.now, d[0].Decision)
	s, err = b.Snapshot(context.Background(), b.now)
	require.NoError(t, err)
	require.Zero(t, s.Outbox.Dead)
}

// Scenario B102, SPEC CO-37
func TestLostRuns(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	first := b.claim(1)[0]
	require.Empty(t, first.Why)
	b.tick(5 * time.Minute)
	s, err := b.Snapshot(context.Background(), b.now)
	require.NoError(t, err)
	require.Equal(t, 1, s.Outbox.Lost)
	again := b.claim(1)[0]
	require.Equal(t, coverage.Lost, again.Why, "ask the driver first")
	require.Equal(t, first.Decision, again.Decision)
	require.Equal(t, 1, again.Tries)
	require.Equal(t, b.now.Add(5*time.Minute), again.Lease)
	b.receipt(coverage.Ran, b.now, first.Decision) // it lived after all
	b.tick(time.Hour)
	require.Empty(t, b.claim(1))

	// A poison run dies every time; in the end it is dead, and listed.
	b.settle(b.rec(1, 'B', src))
	for range 8 {
		require.Len(t, b.claim(1), 1)
		b.tick(5 * time.Minute)
	}
	require.Empty(t, b.claim(1))
	s, err = b.Snapshot(context.Background(), b.now)
	require.NoError(t, err)
	require.Equal(t, 1, s.Outbox.Dead)
}

func TestALostRunOfAPairThatLeftIsOver(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	b.claim(1)
	b.tick(time.Minute)
	b.settle(b.rec(1, 0))
	b.tick(time.Hour)
	require.Empty(t, b.claim(1))
	b.check()
}

// SPEC CO-38
func TestAFailureAfterHandOffOpensTheDecision(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	d := b.claim(1)[0]
	b.done(d, coverage.HandedOff)
	b.receipt(coverage.UnknownRun, b.now.Add(-time.Minute), d.Decision) // older than the hand-off
	require.Empty(t, b.entity(1).Again)
	b.tick(time.Hour)
	b.receipt(coverage.UnknownRun, b.now, d.Decision)
	b.receipt(coverage.UnknownRun, b.now, d.Decision)
	require.Equal(t, coverage.WhyReceipt, b.entity(1).Again[0].Why)
	b.tick(time.Minute)
	require.Len(t, b.due(1), 1)
	require.Equal(t, emits, b.settle(b.rec(1, 'A', src)))
	again := b.claim(1)[0]
	require.Equal(t, d.Decision, again.Decision)
	require.Equal(t, 1, again.Tries)
	b.done(again, coverage.HandedOff)
	b.receipt(coverage.Ran, b.now, again.Decision)
	require.Equal(t, nothing, b.settle(b.rec(1, 'A', src)))
}

func TestAReceiptForTheNewerDecisionAnswersBoth(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	b.claim(1)
	b.tick(time.Minute)
	b.settle(b.rec(1, 'B', src))
	b.receipt(coverage.Ran, b.now, b.entity(1).Pairs[src].Pending)
	require.Empty(t, b.claim(1))
	require.Len(t, b.entity(1).Pairs[src].Closed, 2)
	b.tick(time.Minute)
	require.Equal(t, nothing, b.settle(b.rec(1, 'A', src)))
	require.Equal(t, nothing, b.settle(b.rec(1, 'B', src)))
}

// SPEC CO-39
func TestClaimsAreFair(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	for i := 1; i <= 20; i++ {
		b.tick(time.Second)
		b.settle(b.rec(i, 'A', src))
	}
	require.Equal(t, []string{"1", "2", "3"}, refs(b.claim(3)), "oldest first")
	for i := 1; i <= 3; i++ {
		require.NoError(t, b.Done(context.Background(), b.now, coverage.Receipt{Key: key(i), Outcome: coverage.Failed, At: b.now}))
	}
	b.tick(time.Hour)
	require.Equal(t, []string{"1", "4", "2", "5"}, refs(b.claim(4)), "retries and new ones take turns")
	got := refs(b.claim(100))
	require.Len(t, got, 16, "never dropped")
	require.Empty(t, b.claim(100))
}

func refs(ds []coverage.Delivery) (ids []string) {
	for _, d := range ds {
		ids = append(ids, d.Ref.ID)
	}
	return ids
}

func TestCancelUnknown(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	found, err := b.Cancel(context.Background(), key(1))
	require.NoError(t, err)
	require.False(t, found)
}

func TestAStartingPollerNeedNotWaitForLeases(t *testing.T) {
	// B104: the claims of a poller that died are resolved at once.
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src), b.rec(2, 'A', src), b.rec(3, 'A', src))
	require.Len(t, b.claimLong(), 3)
	b.reopen()
	held, err := b.Claimed(context.Background(), 2)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, refs(held))
	b.done(held[0], coverage.Lost)
	b.done(held[1], coverage.Ran)
	ds := b.claim(9)
	require.Equal(t, []string{"1"}, refs(ds))
	require.Equal(t, coverage.Lost, ds[0].Why)
}
