package coverage_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

// Scenario B008, SPEC CO-10, CO-11
func TestWhatIsOwedToSources(t *testing.T) {
	every := coverage.Policy{SweepEvery: time.Hour}
	for name, c := range map[string]struct {
		change func(p *coverage.Plan)
		owed   bool
	}{
		"nothing changed":    {func(p *coverage.Plan) {}, false},
		"only the hash":      {func(p *coverage.Plan) { p.Hash = "p2" }, false},
		"a new source":       {func(p *coverage.Plan) { p.Sources = append(p.Sources, coverage.Source{ID: "new", Version: "v1"}) }, true},
		"a changed source":   {func(p *coverage.Plan) { p.Sources[0].Version = "v2" }, true},
		"a narrower source":  {func(p *coverage.Plan) { p.Sources[0].Version, p.Sources[0].Reuse = "v2", true }, false},
		"a source that left": {func(p *coverage.Plan) { p.Sources = p.Sources[:1] }, false},
		"two that swap": {func(p *coverage.Plan) {
			p.Sources[0].Version, p.Sources[1].Version = p.Sources[1].Version+"b", p.Sources[0].Version+"a"
		}, true},
		"a new change walk": {func(p *coverage.Plan) { p.Walks = append(p.Walks, coverage.Walk{Name: "comments", Lag: time.Minute}) }, true},
		"a longer lag":      {func(p *coverage.Plan) { p.Walks[0].Lag = time.Hour }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, coverage.NewMemory(), src, "review/1")
			b.turn()
			require.Nil(t, b.task(coverage.Turn, every))
			b.tick(time.Minute)
			c.change(&b.plan)
			b.begin()
			b.begin() // repeated, as after a crash
			require.Equal(t, c.owed, b.task(coverage.Turn, every) != nil)
			b.turn()
			require.Nil(t, b.task(coverage.Turn, every))
			require.Zero(t, b.sweepState().Owed)
			stored, err := b.Sources(context.Background(), b.sc)
			require.NoError(t, err)
			require.Len(t, stored, len(b.plan.Sources))
		})
	}
}

// SPEC CO-11, CO-24
func TestASourceThatComesDuringATurnIsOwedTheNext(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	turn := b.task(coverage.Turn, coverage.Policy{})
	b.page(turn, coverage.Progress{Next: []byte("c1")})
	b.plan = plan("p2", src, "late/1")
	b.begin()
	turn = b.task(coverage.Turn, coverage.Policy{})
	require.Equal(t, []byte("c1"), turn.Cursor, "the ring goes on over a plan change")
	b.page(turn, coverage.Progress{})
	b.closeTask(turn)
	require.Equal(t, 1, b.sweepState().Owed, "the first part did not ask for it")
	b.turn()
	require.Zero(t, b.sweepState().Owed)
}

func TestReuseDoesNotPayDebts(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src) // v1 is owed a turn
	b.plan.Sources[0].Version, b.plan.Sources[0].Reuse = "v2", true
	b.begin()
	require.Equal(t, 2, b.sweepState().Owed, "the source and the scope itself")
}

func TestASourceThatComesBackIsOwedATurn(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.turn()
	b.plan = plan("none")
	b.begin()
	b.plan = plan("p1", src)
	b.begin()
	require.Equal(t, 1, b.sweepState().Owed)
	b.plan = plan("none")
	b.begin()
	require.Zero(t, b.sweepState().Owed)
	b.tick(31 * 24 * time.Hour)
	b.begin()
	s, err := b.Snapshot(context.Background(), b.now)
	require.NoError(t, err)
	require.Empty(t, s.Scopes[0].Sources, "forgotten after a month")
}

// SPEC CO-25
func TestAShortTurnPaysNothingAndIsRepeated(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	b.tick(time.Minute)
	turn := b.task(coverage.Turn, coverage.Policy{})
	b.page(turn, coverage.Progress{Next: []byte("c"), Short: "cap"})
	b.page(turn, coverage.Progress{Short: "later reason"})
	require.Equal(t, "cap", turn.Short)
	b.closeTask(turn)
	require.Equal(t, 2, b.sweepState().Owed)
	require.Empty(t, b.entity(1).Again, "a short turn proves nothing about who is missing")
	require.Nil(t, b.task(coverage.Turn, coverage.Policy{SweepEvery: time.Second}))
	b.tick(time.Minute)
	require.Equal(t, 2, b.task(coverage.Turn, coverage.Policy{}).Turn)
	b.turn()
	require.Zero(t, b.sweepState().Owed)
}

// SPEC CO-26
func TestUnmetMembersAreLookedAt(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, src)
		b.settle(b.rec(1, 'A', src), b.rec(2, 'A', src), b.rec(3, 0), b.rec(4, 'A', src))
		un := b.rec(5, 0)
		un.Again = []coverage.Appointment{{Why: coverage.WhyUndecided, At: b.now.Add(time.Hour)}}
		b.settle(un, coverage.Record{Ref: ref(4), ReadAt: b.now, Gone: true})
		b.tick(time.Minute)
		turn := b.task(coverage.Turn, coverage.Policy{})
		b.tick(time.Second)
		b.page(turn, coverage.Progress{}, b.rec(1, 'A', src))
		b.settle(b.rec(2, 'A', src)) // seen by another read since the turn began
		b.closeTask(turn)
		b.page(b.task(coverage.Turn, coverage.Policy{Full: true}), coverage.Progress{Next: []byte("c")})

		require.Empty(t, b.entity(1).Again)
		require.Empty(t, b.entity(2).Again)
		require.Empty(t, b.entity(3).Again, "no member")
		require.Empty(t, b.entity(4).Again, "proven gone")
		whys := []string{}
		for _, a := range b.entity(5).Again {
			whys = append(whys, a.Why)
		}
		require.Equal(t, []string{coverage.WhyUndecided, coverage.WhyUnmet}, whys)
		b.check()
	})
}

// SPEC CO-27
func TestNumbersNotMetAreProbed(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, src)
		turn := b.task(coverage.Turn, coverage.Policy{})
		b.page(turn, coverage.Progress{Next: []byte("c"), Met: []int64{1, 2, 4095, 4096, 4097}, Other: []int64{3}})
		met := []int64{}
		for n := int64(5); n < 4090; n++ {
			met = append(met, n)
		}
		b.page(turn, coverage.Progress{Met: append(met, 9000, -1, 0, 1<<40)})
		b.closeTask(turn)

		probe := b.task(coverage.Probe, coverage.Policy{})
		require.Len(t, probe.Numbers, 200)
		require.Equal(t, []int64{4, 4090, 4091, 4092, 4093, 4094, 4098}, probe.Numbers[:7])
		b.page(probe, coverage.Progress{Other: []int64{4, 4090}, Met: []int64{4091}}, b.rec(4091, 'A', src))
		require.NotContains(t, b.task(coverage.Probe, coverage.Policy{}).Numbers, int64(4091), "a crash here asks only for the rest")
		probe.Numbers = nil // the caller works through its batch
		b.closeTask(probe)
		next := b.task(coverage.Probe, coverage.Policy{})
		require.Equal(t, int64(4098+194), next.Numbers[0])
		for next != nil {
			b.page(next, coverage.Progress{})
			b.closeTask(next)
			next = b.task(coverage.Probe, coverage.Policy{})
		}
		// The next turn meets everything else: what is gone or of the other kind stays known, the unread are asked again.
		turn = b.task(coverage.Turn, coverage.Policy{Full: true})
		b.page(turn, coverage.Progress{Met: append(met, 1, 2, 4091, 4095, 4096, 4097)})
		b.closeTask(turn)
		require.Equal(t, []int64{4092, 4093, 4094}, b.task(coverage.Probe, coverage.Policy{}).Numbers)
	})
}

func TestATurnThatFailsGoesOnWhereItStood(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	turn := b.task(coverage.Turn, coverage.Policy{})
	b.page(turn, coverage.Progress{Next: []byte("c1"), Met: []int64{1, 3}})
	b.fail(turn, coverage.Failure{Why: "429", After: time.Hour})
	b.tick(59 * time.Minute)
	require.Nil(t, b.task(coverage.Turn, coverage.Policy{}))
	b.tick(time.Minute)
	turn = b.task(coverage.Turn, coverage.Policy{})
	require.Equal(t, []byte("c1"), turn.Cursor)
	b.fail(turn, coverage.Failure{Why: "cursor expired", Reset: true})
	b.tick(2 * time.Minute)
	turn = b.task(coverage.Turn, coverage.Policy{})
	require.Nil(t, turn.Cursor)
	require.Equal(t, 1, turn.Turn)
	b.page(turn, coverage.Progress{})
	b.closeTask(turn)
	require.Equal(t, []int64{2}, b.task(coverage.Probe, coverage.Policy{}).Numbers)
}

func TestGoneEntitiesAreForgottenInTheEnd(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src), b.rec(2, 'A', src))
	b.settle(coverage.Record{Ref: ref(1), ReadAt: b.now, Gone: true})
	b.turn(b.rec(2, 'A', src))
	require.True(t, b.entity(1).Gone)
	b.tick(31 * 24 * time.Hour)
	b.turn(b.rec(2, 'A', src))
	require.Zero(t, b.entity(1).Ref)
	require.True(t, b.entity(2).Pairs[src].In)
	b.check()
}

// SPEC CO-28: that a walk of pointers was read says nothing of what changed without it.
func TestAuditAsksTheWalkThatLists(t *testing.T) {
	b := newBed(t, coverage.NewMemory())
	b.plan.Walks = append(b.plan.Walks, coverage.Walk{Name: "comments", Lag: 2 * time.Minute, Grain: time.Second, Pointers: true})
	b.begin()
	b.now = t0.Add(time.Hour)
	for _, task := range b.next(coverage.Policy{}) {
		if task.Kind == coverage.Tail {
			short := ""
			if task.Walk == "changes" {
				short = "a null row"
			}
			b.page(&task, coverage.Progress{Short: short})
			b.closeTask(&task)
		}
	}
	require.Zero(t, b.turn(b.at(1, 'A', t0.Add(10*time.Minute))).Missed, "nobody claimed it")
	gap := b.walk().Gaps[0]
	b.now = gap.Next
	task := b.task(coverage.Gap, coverage.Policy{})
	b.page(task, coverage.Progress{})
	b.closeTask(task)
	require.Equal(t, 1, b.turn(b.at(2, 'A', t0.Add(10*time.Minute))).Missed)
}

// SPEC CO-28, B011: what no listing shows, and its number leads to, was missed, and proves no lateness.
func TestAuditOfWhatNoListingShows(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.now = t0.Add(time.Hour)
	b.tail("")
	turn := b.task(coverage.Turn, coverage.Policy{Full: true})
	b.page(turn, coverage.Progress{Met: []int64{3}}, b.at(3, 'A', t0.Add(-time.Hour)))
	b.closeTask(turn)
	probe := b.task(coverage.Probe, coverage.Policy{})
	require.Equal(t, []int64{1, 2}, probe.Numbers)
	found, old := b.at(1, 'A', t0.Add(10*time.Minute)), b.at(2, 'A', t0.Add(-time.Hour))
	found.Token, old.Token = "", ""
	out := b.page(probe, coverage.Progress{Met: []int64{1, 2}}, found, old)
	require.Equal(t, 1, out.Missed, "the other one is older than the ledger")
	a := b.sweepState().Audit
	require.Equal(t, 1, a.Unlisted)
	require.Equal(t, coverage.MissUnlisted, a.Recent[0].Class)
	require.Equal(t, 2*time.Minute, b.walk().Lag)
}

// Scenarios B011, B014, SPEC CO-28, CO-29
func TestAudit(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(b *bed)
		found   func(b *bed) coverage.Record
		class   string
		lag     time.Duration // afterwards
	}{
		"never shown": {func(*bed) {}, func(b *bed) coverage.Record { return b.at(1, 'A', t0.Add(50*time.Minute)) },
			coverage.MissLate, 20 * time.Minute},
		"shown before it changed": {func(b *bed) { b.settle(b.at(1, 'A', t0.Add(-time.Hour))) },
			func(b *bed) coverage.Record { return b.at(1, 'B', t0.Add(50*time.Minute)) }, coverage.MissLate, 20 * time.Minute},
		"its clock did not move": {func(b *bed) { b.settle(b.at(1, 'A', t0.Add(10*time.Minute))) },
			func(b *bed) coverage.Record { return b.at(1, 'B', t0.Add(10*time.Minute)) }, coverage.MissUnnoticed, 2 * time.Minute},
		"its clock went back": {func(b *bed) { b.settle(b.at(1, 'A', t0.Add(30*time.Minute))) },
			func(b *bed) coverage.Record { return b.at(1, 'B', t0.Add(10*time.Minute)) }, coverage.MissUnexplained, 2 * time.Minute},
		"older than the ledger": {func(*bed) {}, func(b *bed) coverage.Record { return b.at(1, 'A', t0.Add(-time.Hour)) }, "", 2 * time.Minute},
		"younger than the lag":  {func(*bed) {}, func(b *bed) coverage.Record { return b.at(1, 'A', t0.Add(59*time.Minute)) }, "", 2 * time.Minute},
		"as it was":             {func(b *bed) { b.settle(b.at(1, 'A', t0.Add(10*time.Minute))) }, func(b *bed) coverage.Record { return b.at(1, 'A', t0.Add(10*time.Minute)) }, "", 2 * time.Minute},
		"pointed at": {func(b *bed) {
			b.settle(b.at(1, 'A', t0.Add(-time.Hour)))
			b.settle(coverage.Record{Ref: ref(1), Pointer: true, Again: []coverage.Appointment{{Why: coverage.WhyPointer, At: b.now}}})
		}, func(b *bed) coverage.Record { return b.at(1, 'B', t0.Add(50*time.Minute)) }, "", 2 * time.Minute},
		"very late": {func(*bed) {}, func(b *bed) coverage.Record { return b.at(1, 'A', t0) }, coverage.MissLate, 90 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, coverage.NewMemory(), src)
			l, err := coverage.Open(context.Background(), b.store, coverage.Options{
				Now: func() time.Time { return b.now }, Rand: func() float64 { return 0 }, LagCap: 90 * time.Minute})
			require.NoError(t, err)
			b.Ledger = l
			c.prepare(b)
			b.now = t0.Add(time.Hour)
			b.tail("")
			b.tick(time.Minute)
			out := b.turn(c.found(b))
			a := b.sweepState().Audit
			require.Equal(t, c.lag, b.walk().Lag)
			if c.class == "" {
				require.Zero(t, out.Missed)
				require.Empty(t, a.Recent)
				return
			}
			require.Equal(t, 1, out.Missed)
			require.Equal(t, 1, a.Missed)
			require.Equal(t, c.class, a.Recent[0].Class)
			require.Equal(t, 1, b.sweepState().Turns[0].Missed)
			require.Equal(t, b.walk().Widened, c.lag > 2*time.Minute)
		})
	}
}

func (b *bed) at(n int, digest uint64, updated time.Time) coverage.Record {
	r := b.rec(n, digest, src)
	r.Updated = updated
	return r
}

func TestWidenedLagsCalmDown(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.now = t0.Add(time.Hour)
	b.tail("")
	b.turn(b.at(1, 'A', t0.Add(50*time.Minute)))
	require.Equal(t, 20*time.Minute, b.walk().Lag)
	for turns := 1; b.walk().Widened; turns++ {
		require.Less(t, turns, 40)
		b.tick(time.Minute)
		b.turn(b.at(1, 'A', t0.Add(50*time.Minute)))
	}
	require.Equal(t, 2*time.Minute, b.walk().Lag)
}
