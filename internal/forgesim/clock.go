package forgesim

import "time"

// Epoch is where the clock of a new world stands.
func Epoch() time.Time { return time.Date(2026, time.January, 5, 9, 0, 0, 0, time.UTC) }

// clock is the world's wall clock, which may be set back, and an elapsed time that only grows.
// Lags are measured in elapsed time, so that a clock that steps back hides nothing for ever.
type clock struct {
	source  func() time.Time // nil: stands still until advanced
	offset  time.Duration
	seen    time.Time
	elapsed time.Duration
}

func newClock(source func() time.Time) clock {
	c := clock{source: source}
	c.seen = c.now()
	return c
}

func (c *clock) now() time.Time {
	if c.source == nil {
		return Epoch().Add(c.offset)
	}
	return c.source().UTC().Add(c.offset)
}

// tick reads both times.
func (c *clock) tick() (time.Time, time.Duration) {
	now := c.now()
	if d := now.Sub(c.seen); d > 0 {
		c.elapsed += d
	}
	c.seen = now
	return now, c.elapsed
}

// Now is the world's wall clock, in UTC.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, _ := w.clock.tick()
	return now
}

// Advance moves the wall clock; a negative d steps it back.
func (w *World) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock.tick()
	w.clock.offset += d
	w.clock.tick()
}

// SetClock sets the wall clock to t.
func (w *World) SetClock(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, _ := w.clock.tick()
	w.clock.offset += t.Sub(now)
	w.clock.tick()
}

// virtual reports whether time passes only by Advance.
func (w *World) virtual() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock.source == nil
}
