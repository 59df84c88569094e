package watch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/watch"
)

var t0 = time.Date(2026, 3, 8, 1, 0, 0, 0, time.UTC)

func at(min float64) time.Time { return t0.Add(time.Duration(min * float64(time.Minute))) }

func schedule(every time.Duration, c watch.CatchUp) *watch.Schedule {
	return &watch.Schedule{Every: every, CatchUp: c, Jitter: func() float64 { return 0 }}
}

// SPEC PO-3, scenario B155: a restart acts when the poller before it would have.
func TestRestartKeepsTheSchedule(t *testing.T) {
	last := coverage.Cycle{Driver: "d", Began: at(0), Ended: at(1)}
	tests := []struct {
		name    string
		last    coverage.Cycle
		now     time.Time
		catchUp watch.CatchUp
		want    time.Time
	}{
		{"five minutes after a cycle", last, at(5), watch.Coalesce, at(60)},
		{"five minutes after a cycle", last, at(5), watch.Skip, at(60)},
		{"never polled", coverage.Cycle{}, at(5), watch.Skip, at(5)},
		{"three ticks were missed", last, at(200), watch.Coalesce, at(200)},
		{"three ticks were missed", last, at(200), watch.Skip, at(240)},
		{"a clock that stepped back", coverage.Cycle{Began: at(600), Ended: at(601)}, at(0), watch.Skip, at(60)},
		{"a backoff goes on", coverage.Cycle{Began: at(0), Ended: at(1), Fails: 3, NotBefore: at(90)}, at(5), watch.Coalesce, at(90)},
		{"a backoff that no clock would write", coverage.Cycle{Began: at(0), Ended: at(1), Fails: 3, NotBefore: at(1e6)}, at(5), watch.Skip, at(60)},
		{"a cycle that took longer than its interval", coverage.Cycle{Began: at(0), Ended: at(130)}, at(131), watch.Coalesce, at(180)},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+string(tt.catchUp), func(t *testing.T) {
			s := schedule(time.Hour, tt.catchUp)
			s.Resume(tt.last, tt.now)
			assert.Equal(t, tt.want, s.Wake())
		})
	}
}

// Scenario B139, SPEC PO-4: ticks during a cycle are skipped, failures back off, the provider's word is kept.
func TestAfterACycle(t *testing.T) {
	s := schedule(time.Minute, watch.Coalesce)
	s.Resume(coverage.Cycle{}, at(0))
	assert.True(t, s.Missed(at(0)))
	c := s.Done(watch.Outcome{Began: at(0), Ended: at(0.5), Complete: true})
	assert.Equal(t, at(1), s.Wake())
	assert.Equal(t, at(0.5), c.Complete)
	c = s.Done(watch.Outcome{Began: at(1), Ended: at(3.5)})
	assert.Equal(t, at(4), s.Wake(), "two ticks passed while it ran")
	assert.Equal(t, at(0.5), c.Complete, "it was not complete")
	var waits []time.Duration
	for range 9 {
		began := s.Wake()
		c = s.Done(watch.Outcome{Began: began, Ended: began.Add(time.Second), Failed: true})
		waits = append(waits, s.Wake().Sub(began)/time.Minute)
	}
	assert.Equal(t, []time.Duration{2, 4, 8, 16, 32, 60, 60, 60, 60}, waits)
	assert.Equal(t, 9, c.Fails)
	began := s.Wake()
	c = s.Done(watch.Outcome{Began: began, Ended: began.Add(time.Second), Failed: true, NotBefore: began.Add(90 * time.Minute)})
	assert.Equal(t, began.Add(90*time.Minute), s.Wake())
	assert.Equal(t, began.Add(90*time.Minute), c.NotBefore)
	began = s.Wake()
	c = s.Done(watch.Outcome{Began: began, Ended: began.Add(time.Second)})
	assert.Zero(t, c.Fails)
	assert.Equal(t, began.Add(time.Minute), s.Wake())
}

// SPEC PO-5: a machine that slept.
func TestSleep(t *testing.T) {
	for c, want := range map[watch.CatchUp]bool{watch.Skip: false, watch.Coalesce: true} {
		s := schedule(time.Minute, c)
		s.Resume(coverage.Cycle{Began: at(0), Ended: at(0.1)}, at(0.2))
		assert.True(t, s.Missed(at(1.9)), "a little late is not missed")
		assert.Equal(t, want, s.Missed(at(30.5)), c)
		if c == watch.Skip {
			assert.Equal(t, at(31), s.Wake())
		}
	}
	_, err := watch.ParseCatchUp("all")
	require.Error(t, err)
}

// Whatever happens, a driver is polled again, never while it is busy, never before the provider allows, and never
// later than an interval, its jitter and its backoff ask for.
func TestAlwaysSoonAndNeverTooSoon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.IntRange(1, 90_000).Draw(t, "every")) * time.Second
		s := &watch.Schedule{
			Every: every, CatchUp: rapid.SampledFrom([]watch.CatchUp{watch.Skip, watch.Coalesce}).Draw(t, "catch up"),
			Jitter: func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "jitter") },
		}
		now := t0
		s.Resume(coverage.Cycle{}, now)
		for range rapid.IntRange(1, 12).Draw(t, "cycles") {
			now = s.Wake().Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "late")) * time.Millisecond)
			if !s.Missed(now) {
				t.Fatalf("woken at %s, and not due", now)
			}
			o := watch.Outcome{Began: now, Ended: now.Add(time.Duration(rapid.IntRange(0, 200_000).Draw(t, "took")) * time.Second),
				Failed: rapid.Bool().Draw(t, "failed")}
			if rapid.Bool().Draw(t, "word") {
				o.NotBefore = o.Ended.Add(time.Duration(rapid.IntRange(1, 80_000).Draw(t, "wait")) * time.Second)
			}
			c := s.Done(o)
			now = o.Ended
			if rapid.Bool().Draw(t, "restart") {
				r := *s
				s = &r
				s.Resume(c, now)
			}
			wake := s.Wake()
			if !wake.After(o.Ended) && s.Wake() != now || wake.Before(o.NotBefore) {
				t.Fatalf("wakes at %s after a cycle that ended at %s, provider said %s", wake, o.Ended, o.NotBefore)
			}
			latest := o.Ended.Add(2*every + max(time.Hour, every))
			if o.NotBefore.Add(every).After(latest) {
				latest = o.NotBefore.Add(every)
			}
			if wake.After(latest) {
				t.Fatalf("wakes at %s, latest %s", wake, latest)
			}
		}
	})
}
