package watch

import (
	"fmt"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
)

// CatchUp is what becomes of ticks that passed while nobody could poll: the process was down, or the machine slept. Ticks
// that pass while a cycle of the driver runs are skipped in either case.
type CatchUp string

const (
	Skip     CatchUp = "skip"     // wait for the next tick of the grid
	Coalesce CatchUp = "coalesce" // one cycle at once for all of them
)

// ParseCatchUp reads a policy.
func ParseCatchUp(s string) (CatchUp, error) {
	switch c := CatchUp(s); c {
	case Skip, Coalesce:
		return c, nil
	}
	return "", fmt.Errorf("unknown catch-up policy %q: use skip or coalesce", s)
}

// Schedule is when one driver is polled. Its grid begins where its last cycle began, so that a poller that starts again
// goes on in the rhythm of the one before it.
type Schedule struct {
	Every   time.Duration
	CatchUp CatchUp
	Jitter  func() float64 // in [0,1)

	last coverage.Cycle
	next time.Time // the tick, without jitter
	wake time.Time // with jitter
}

// The jitter is up to a tenth of the interval and at most this: many pollers that were started together drift apart,
// and none waits noticeably longer.
const maxJitter = 30 * time.Second

// The backoff of a driver of which nothing could be read doubles from its interval to this, or to its interval where
// that is longer.
const maxBackoff = time.Hour

// Resume takes up the schedule where the last cycle, as the ledger remembers it, left it. A driver that was never polled
// is due at once. An instant that lies further ahead than an interval (or than a backoff) was written by a clock that
// has stepped back since, and counts as now.
func (s *Schedule) Resume(last coverage.Cycle, now time.Time) {
	s.last = last
	switch {
	case last.Began.IsZero():
		s.at(now)
		s.wake = now // there is nothing to keep a distance to
		return
	case last.Began.After(now):
		s.last.Began, s.last.Ended = now, now
	}
	if s.last.NotBefore.After(now.Add(max(maxBackoff, s.Every, 24*time.Hour))) {
		s.last.NotBefore = time.Time{}
	}
	s.plan(s.last.Began, now)
}

// Done plans the next tick after a cycle: the first of the grid after its end, and not before what its failures and the
// provider ask for. It returns the cycle as the ledger should remember it.
func (s *Schedule) Done(c Outcome) coverage.Cycle {
	s.last.Began, s.last.Ended, s.last.NotBefore = c.Began, c.Ended, time.Time{}
	if c.Complete {
		s.last.Complete = c.Ended
	}
	s.last.Fails++
	if !c.Failed {
		s.last.Fails = 0
	}
	if s.last.Fails > 0 {
		s.last.NotBefore = c.Began.Add(s.backoff())
	}
	if c.NotBefore.After(s.last.NotBefore) {
		s.last.NotBefore = c.NotBefore // the provider's word
	}
	s.plan(c.Began, c.Ended)
	return s.last
}

// Outcome is what a cycle of a driver was.
type Outcome struct {
	Began, Ended time.Time
	Failed       bool      // nothing could be read
	Complete     bool      // every scope was
	NotBefore    time.Time // the provider's word; zero when it had none
}

// plan sets the next tick of the grid that began at from. Ticks up to quiet passed while the driver was busy; those
// between the end of the last cycle and quiet were missed.
func (s *Schedule) plan(from, now time.Time) {
	busy := s.last.Ended
	tick := after(from, s.Every, busy)
	if tick.Before(now) && !s.last.NotBefore.After(now) { // missed
		if s.CatchUp == Coalesce {
			s.next, s.wake = now, now
			return
		}
		tick = after(from, s.Every, now)
	}
	if s.last.NotBefore.After(tick) {
		tick = s.last.NotBefore
	}
	s.at(tick)
}

// Missed tells the schedule that it is now and that its tick may have passed unused, long ago: a machine that slept. It
// reports whether the driver is due.
func (s *Schedule) Missed(now time.Time) (due bool) {
	if now.Before(s.wake) {
		return false
	}
	if late := now.Sub(s.wake); late < s.Every || s.CatchUp == Coalesce {
		return true
	}
	s.at(after(s.next, s.Every, now))
	return false
}

// Wake is when the driver is due.
func (s *Schedule) Wake() time.Time { return s.wake }

// Last is the last cycle.
func (s *Schedule) Last() coverage.Cycle { return s.last }

func (s *Schedule) at(tick time.Time) {
	s.next = tick
	s.wake = tick.Add(time.Duration(s.Jitter() * float64(min(s.Every/10, maxJitter))))
}

func (s *Schedule) backoff() time.Duration {
	d, top := s.Every, max(maxBackoff, s.Every)
	for i := 0; i < s.last.Fails && d < top; i++ {
		d *= 2
	}
	return min(d, top)
}

// after is the first tick of the grid that is later than t.
func after(from time.Time, every time.Duration, t time.Time) time.Time {
	if t.Before(from) {
		return from.Add(every)
	}
	n := t.Sub(from)/every + 1
	return from.Add(n * every)
}
