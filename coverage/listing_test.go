package coverage_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

// Scenario B024, SPEC CO-18: a scope whose window cannot be read goes on where it stood, however far another one has come.
func TestFrontiersAreOfOneScope(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, src)
		b.sc = scopB
		b.begin()
		for range 10 {
			b.tick(time.Hour)
			b.tail("", b.at(1, 'A', b.now))
		}
		b.sc = scopA
		b.begin()
		require.Equal(t, t0.Add(-2*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From)
		out := b.tail("", b.at(2, 'B', t0.Add(time.Minute)))
		require.Equal(t, 1, out.Emitted)
		require.Equal(t, []coverage.Range{{From: t0.Add(-2 * time.Minute), To: b.now, Plan: "p1", Start: b.now, End: b.now,
			Scans: 1, Pages: 1, Entities: 1, Lag: 2 * time.Minute}}, b.walk().Covered)
	})
}

// Scenario B023, SPEC CO-18: an entity whose change clock lies two years ahead moves no frontier and is offered once.
func TestAnEntityFromTheFuture(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, src)
		for n, want := range []int{1, 0, 0} {
			b.tick(time.Hour)
			out := b.tail("", b.at(1, 'A', t0.AddDate(2, 0, 0)))
			require.Equal(t, want, out.Emitted, n)
			require.Equal(t, b.now, b.walk().Frontier)
		}
		b.tick(time.Minute)
		require.Equal(t, b.now.Add(-3*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From)
		require.Equal(t, 1, b.tail("", b.at(2, 'B', b.now)).Emitted)
	})
}

// Scenario B026, SPEC CO-23: on the days on which clocks are changed the covered range has no gap and its full length.
func TestCoveredOverClockChanges(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	for day, hours := range map[time.Time]time.Duration{
		time.Date(2026, 3, 8, 0, 0, 0, 0, newYork):  23,
		time.Date(2026, 11, 1, 0, 0, 0, 0, newYork): 25,
	} {
		b := newBed(t, coverage.NewMemory(), src)
		b.now = day
		b.tail("")
		emitted := 0
		for b.now.Before(day.AddDate(0, 0, 1)) {
			b.tick(30 * time.Minute)
			emitted += b.tail("", b.at(1, 'A', day.Add(90*time.Minute))).Emitted
		}
		require.Equal(t, 1, emitted)
		w := b.walk()
		require.Empty(t, w.Gaps)
		require.Len(t, w.Covered, 1)
		require.Equal(t, t0.Add(-2*time.Minute), w.Covered[0].From)
		require.Equal(t, hours*time.Hour, w.Covered[0].To.Sub(day))
	}
}
