package coverage_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

func (b *bed) walk() coverage.WalkSnapshot {
	s, err := b.Snapshot(context.Background(), b.now)
	require.NoError(b.t, err)
	for _, w := range s.Scopes[0].Walks {
		if w.Name == "changes" {
			return w
		}
	}
	b.t.Fatal("no walk")
	return coverage.WalkSnapshot{}
}

func (b *bed) sweepState() coverage.SweepSnapshot {
	s, err := b.Snapshot(context.Background(), b.now)
	require.NoError(b.t, err)
	return s.Scopes[0].Sweeps[0]
}

func (b *bed) fail(t *coverage.Task, f coverage.Failure) {
	require.NoError(b.t, b.Fail(context.Background(), t, f, b.now))
}

// tail reads a whole tail of one page.
func (b *bed) tail(short string, rs ...coverage.Record) coverage.Outcome {
	t := b.task(coverage.Tail, coverage.Policy{})
	require.NotNil(b.t, t)
	out := b.page(t, coverage.Progress{Rows: len(rs), Short: short}, rs...)
	b.closeTask(t)
	return out
}

// SPEC CO-18, CO-19
func TestTail(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, src)
		b.tick(10 * time.Minute)
		tail := b.task(coverage.Tail, coverage.Policy{})
		require.Equal(t, t0.Add(-2*time.Minute), tail.From, "the frontier is the clock of the first Begin")
		require.True(t, tail.To.IsZero())
		require.Equal(t, b.now, tail.Started)
		b.page(tail, coverage.Progress{Next: []byte("x"), Rows: 3})
		b.tick(time.Minute)
		started := tail.Started
		tail = b.task(coverage.Tail, coverage.Policy{})
		require.Equal(t, []byte("x"), tail.Cursor, "it goes on where it stood")
		_, err := b.Close(context.Background(), tail, b.now)
		require.ErrorIs(t, err, coverage.ErrUnfinished)
		b.page(tail, coverage.Progress{Rows: 1})
		require.True(t, b.task(coverage.Tail, coverage.Policy{}).End)
		b.closeTask(tail)

		w := b.walk()
		require.Equal(t, started, w.Frontier, "the clock before the first page, not the newest entity, not now")
		require.Equal(t, []coverage.Range{{From: t0.Add(-2 * time.Minute), To: started, Plan: "p1", Start: started, End: b.now,
			Scans: 1, Pages: 2, Entities: 4, Lag: 2 * time.Minute}}, w.Covered)
		require.Equal(t, started.Add(-2*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From)
	})
}

// SPEC CO-20
func TestShortTailLeavesAGap(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.tick(10 * time.Minute)
	b.tail("null node")
	w := b.walk()
	require.Equal(t, b.now, w.Frontier, "the tail is not held up")
	require.Empty(t, w.Covered)
	require.Len(t, w.Gaps, 1)
	require.Equal(t, "null node", w.Gaps[0].Why)
	require.Nil(t, b.task(coverage.Gap, coverage.Policy{}), "not before its backoff")

	since := b.now
	for tries := 1; tries <= 3; tries++ {
		b.now = b.walk().Gaps[0].Next
		gap := b.task(coverage.Gap, coverage.Policy{})
		require.Equal(t, t0.Add(-2*time.Minute), gap.From)
		require.Equal(t, since, gap.To)
		b.page(gap, coverage.Progress{Rows: 1, Short: "still null"})
		b.closeTask(gap)
		g := b.walk().Gaps[0]
		require.Equal(t, tries, g.Tries)
		require.Equal(t, since, g.Since, "its age goes on")
		require.Equal(t, time.Minute<<(tries-1), g.Next.Sub(b.now))
	}
	b.now = b.walk().Gaps[0].Next
	gap := b.task(coverage.Gap, coverage.Policy{})
	b.page(gap, coverage.Progress{Rows: 1})
	b.closeTask(gap)
	require.Empty(t, b.walk().Gaps)
	require.Equal(t, since, b.walk().Covered[0].To)
}

func TestGapsThatTouchAreOneAndAreStillReadInTime(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	read := 0
	for range 200 {
		b.tick(30 * time.Second) // faster than the first backoff
		b.tail("always short")
		if g := b.task(coverage.Gap, coverage.Policy{}); g != nil {
			read++
			b.page(g, coverage.Progress{Short: "always short"})
			b.closeTask(g)
		}
		require.LessOrEqual(t, len(b.walk().Gaps), 64)
	}
	require.Greater(t, read, 3)
}

// SPEC CO-21
func TestFailures(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.tick(10 * time.Minute)
	tail := b.task(coverage.Tail, coverage.Policy{})
	b.page(tail, coverage.Progress{Next: []byte("c1"), Rows: 5, Short: "odd page"})
	b.fail(tail, coverage.Failure{Why: "502"})
	got := b.task(coverage.Tail, coverage.Policy{})
	require.Equal(t, []byte("c1"), got.Cursor)
	require.Equal(t, 1, got.Tries)
	require.Equal(t, t0, b.walk().Frontier)

	b.fail(got, coverage.Failure{Why: "cursor expired", Reset: true})
	got = b.task(coverage.Tail, coverage.Policy{})
	require.Nil(t, got.Cursor)
	require.Zero(t, got.Pages)
	require.Empty(t, got.Short, "the page is read again")
	require.Equal(t, t0.Add(-2*time.Minute), got.From)
}

func TestAPageThatAlwaysFailsDoesNotHoldUpTheTail(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.tick(10 * time.Minute)
	tail := b.task(coverage.Tail, coverage.Policy{})
	b.page(tail, coverage.Progress{Next: []byte("bad page"), Rows: 5})
	for range 5 {
		b.fail(b.task(coverage.Tail, coverage.Policy{}), coverage.Failure{Why: "500"})
		require.Equal(t, t0, b.walk().Frontier)
	}
	for range 20 { // a throttle proves nothing about the page
		b.fail(b.task(coverage.Tail, coverage.Policy{}), coverage.Failure{Why: "429", After: time.Second})
	}
	require.Equal(t, t0, b.walk().Frontier)
	b.fail(b.task(coverage.Tail, coverage.Policy{}), coverage.Failure{Why: "500"})
	require.Equal(t, tail.Started, b.walk().Frontier)
	b.now = b.walk().Gaps[0].Next
	require.Equal(t, []byte("bad page"), b.task(coverage.Gap, coverage.Policy{}).Cursor, "the rest waits as a gap, where it stood")
}

func TestRefusedScopeRaisesAnAlarm(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	alarm := func() *coverage.Alarm {
		s, err := b.Snapshot(context.Background(), b.now)
		require.NoError(t, err)
		return s.Scopes[0].Alarm
	}
	tail := b.task(coverage.Tail, coverage.Policy{})
	b.fail(tail, coverage.Failure{Why: "403", Scope: true})
	b.tick(time.Minute)
	b.fail(tail, coverage.Failure{Why: "404", Scope: true})
	require.Equal(t, &coverage.Alarm{Why: "404", Since: t0, Last: b.now}, alarm())
	b.tail("")
	require.Nil(t, alarm())
}

// SPEC CO-22
func TestClockThatStepsBack(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.tick(time.Hour)
	b.tail("")
	front := b.now
	b.now = front.Add(-10 * time.Minute)
	b.begin()
	require.Equal(t, b.now.Add(-17*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From, "the clock was lower still before")
	b.tail("")
	require.Equal(t, b.now, b.walk().Frontier)

	b.now = t0.Add(-24 * time.Hour)
	err := b.Begin(context.Background(), b.sc, b.plan, b.now)
	require.ErrorIs(t, err, coverage.ErrClock)
	require.NotErrorIs(t, err, coverage.ErrDamaged)
	require.ErrorContains(t, err, "poll state reset --scope")
	require.Equal(t, front.Add(-10*time.Minute), b.walk().Frontier)
}

// SPEC CO-22: a clock that stepped back between two cycles and is ahead of the frontier again.
func TestClockThatSteppedBackUnseen(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.tick(time.Hour)
	tail := b.task(coverage.Tail, coverage.Policy{})
	b.page(tail, coverage.Progress{Next: []byte("c1")})
	b.drift += 30 * time.Second // the scan goes on in another process, some time later
	b.reopen()
	tail = b.task(coverage.Tail, coverage.Policy{})
	b.page(tail, coverage.Progress{})
	b.closeTask(tail)
	front := b.now

	b.drift -= 30 * time.Second
	b.tick(3 * time.Minute)
	b.drift += 10 * time.Minute // thirteen minutes of ours are three of the provider's
	b.begin()
	require.Equal(t, front.Add(-12*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From, "as far as it stepped back, and the lag")
	b.tail("")
	b.tick(time.Minute)
	require.Equal(t, front.Add(3*time.Minute-2*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From, "once")
	b.drift += 24 * time.Hour
	require.Equal(t, front.Add(3*time.Minute-17*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From, "no further than a clock may step back")
	b.drift -= 48 * time.Hour
	require.Equal(t, front.Add(3*time.Minute-2*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From, "our own clock stepped back")
}

// Scenarios B028, B030, B031, SPEC CO-20: a cap divides the range until every part fits; what cannot be
// divided is reported and tried again.
func TestCapDivides(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.tick(time.Hour)
	const most = 10
	busy := t0.Add(20 * time.Minute)
	changes := func(from, to time.Time) (n int) { // one a minute, and in one second more than the provider gives
		for at := t0.Add(-time.Hour); at.Before(b.now); at = at.Add(time.Minute) {
			if !at.Before(from) && (to.IsZero() || at.Before(to)) {
				n++
				if at.Equal(busy) {
					n += most
				}
			}
		}
		return n
	}
	read := func(task *coverage.Task) bool {
		p := coverage.Progress{Rows: changes(task.From, task.To)}
		if p.Rows > most {
			p.Rows, p.Short, p.Capped = most, "no more than ten", true
		}
		b.page(task, p)
		out, err := b.Close(context.Background(), task, b.now)
		require.NoError(t, err)
		return out.Divided
	}
	require.True(t, read(b.task(coverage.Tail, coverage.Policy{})))
	require.Equal(t, b.now, b.walk().Frontier, "the tail is not held up")
	require.Len(t, b.walk().Gaps, 2, "halves that touch stay two")
	for range 200 {
		gap := b.task(coverage.Gap, coverage.Policy{})
		if gap == nil {
			break
		}
		read(gap)
		require.LessOrEqual(t, len(b.walk().Gaps), 20, "the earliest first: few are open at a time")
		covered := time.Duration(0)
		for _, r := range b.walk().Covered {
			covered += r.To.Sub(r.From)
		}
		for _, g := range b.walk().Gaps {
			covered += g.To.Sub(g.From)
		}
		require.Equal(t, b.now.Sub(t0.Add(-2*time.Minute)), covered, "every instant is covered or missing")
	}
	w := b.walk()
	require.Len(t, w.Gaps, 1)
	require.Equal(t, busy, w.Gaps[0].From)
	require.Equal(t, busy.Add(time.Second), w.Gaps[0].To, "one unit of the change clock")
	require.Equal(t, "no more than ten", w.Gaps[0].Why)
	require.Equal(t, 1, w.Gaps[0].Tries)
	require.True(t, w.Gaps[0].Next.After(b.now))
}

func TestStaleTasksAreRefused(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	one, two := b.task(coverage.Tail, coverage.Policy{}), b.task(coverage.Tail, coverage.Policy{})
	b.page(one, coverage.Progress{Next: []byte("c1")})
	_, err := b.CommitPage(context.Background(), two, coverage.Progress{Next: []byte("c1")}, nil)
	require.ErrorIs(t, err, coverage.ErrTask)
	require.Zero(t, two.Pages, "a refused page leaves the task as it was")
	_, err = b.Close(context.Background(), two, b.now)
	require.ErrorIs(t, err, coverage.ErrTask)
}

// SPEC CO-23
func TestRangesAreMergedAndBounded(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	for i := range 300 {
		b.tick(time.Minute)
		if i%100 == 0 {
			b.plan = plan(b.plan.Hash+"x", src)
			b.begin()
		}
		b.tail("")
	}
	w := b.walk()
	require.Len(t, w.Covered, 3, "one per plan: scans that touch are one")
	require.Equal(t, 100, w.Covered[2].Scans)
	require.Len(t, w.Recent, 16)
	for i := range 200 { // plans that change all the time
		b.tick(time.Minute)
		b.plan.Hash = "y" + string(rune('a'+i%20))
		b.begin()
		b.tail("")
	}
	require.LessOrEqual(t, len(b.walk().Covered), 32)
	require.Equal(t, t0.Add(-2*time.Minute), b.walk().Covered[0].From)
}
