package report

import (
	"fmt"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
)

// The drawing's measures, in pixels, and how far back it goes at most.
const (
	lineWidth  = 900
	labelWidth = 150
	rowHeight  = 26
	axisHeight = 22
	farthest   = 30 * 24 * time.Hour
	nearest    = time.Hour
)

// timeline is coverage as it is drawn: one row per walk.
type timeline struct {
	Width, Height int
	From, To      time.Time
	Rows          []row
	Ticks         []tick
	Late          bool // nothing was read for so long that the drawing ends before now
}

// row is one walk.
type row struct {
	Name  string
	Y     int
	Class string // off when the walk is not in the plan any more
	Bars  []bar
	Marks []mark
}

// bar is one range.
type bar struct {
	Class string // covered, provisional, gap, turn, short, reading
	X, W  float64
	Title string
}

// mark is one instant.
type mark struct {
	X     float64
	Title string
}

type tick struct {
	X    float64
	Text string
}

// Y positions that the template needs.
func (r row) BarY() int         { return r.Y + 5 }
func (r row) TextY() int        { return r.Y + 17 }
func (t *timeline) AxisY() int  { return t.Height - 6 }
func (t *timeline) Bottom() int { return t.Height - axisHeight }
func (t *timeline) Left() int   { return labelWidth }
func (t *timeline) Right() int  { return labelWidth + lineWidth }

func draw(s *coverage.ScopeSnapshot, now time.Time) *timeline {
	t := &timeline{Width: labelWidth + lineWidth + 10, To: now}
	last := newest(s)
	if t.Late = last.Add(farthest).Before(now) && !last.IsZero(); t.Late || last.After(now) {
		t.To = last.Add(time.Minute)
	}
	t.From = oldest(s, t.To)
	for i := range s.Walks {
		t.walk(&s.Walks[i])
	}
	for i := range s.Sweeps {
		t.sweep(&s.Sweeps[i])
	}
	t.Height = len(t.Rows)*rowHeight + axisHeight
	t.axis()
	return t
}

// newest is the last instant of which anything is known, on the provider's clock, which need not be ours.
func newest(s *coverage.ScopeSnapshot) (last time.Time) {
	see := func(at time.Time) {
		if at.After(last) {
			last = at
		}
	}
	for _, w := range s.Walks {
		see(w.Frontier)
		if w.Reading != nil {
			see(w.Reading.Started)
		}
	}
	for _, w := range s.Sweeps {
		see(w.LastEnd)
		if w.Reading != nil {
			see(w.Reading.Started)
		}
	}
	return last
}

// oldest is where the drawing begins.
func oldest(s *coverage.ScopeSnapshot, now time.Time) time.Time {
	from := now.Add(-nearest)
	see := func(at time.Time) {
		if !at.IsZero() && at.Before(from) {
			from = at
		}
	}
	for _, w := range s.Walks {
		for _, r := range w.Covered {
			see(r.From)
		}
		for _, g := range w.Gaps {
			see(g.From)
		}
	}
	for _, w := range s.Sweeps {
		for _, u := range w.Turns {
			see(u.Start)
		}
	}
	if first := now.Add(-farthest); from.Before(first) {
		return first
	}
	return from
}

func (t *timeline) row(name string, active bool) *row {
	t.Rows = append(t.Rows, row{Name: name, Y: len(t.Rows) * rowHeight, Class: when(!active, "off")})
	return &t.Rows[len(t.Rows)-1]
}

func (t *timeline) walk(w *coverage.WalkSnapshot) {
	r := t.row(w.Name, w.Active)
	for _, c := range w.Covered {
		end := c.To
		if w.Provisional.Before(end) {
			end = w.Provisional
		}
		r.Bars = t.bar(r.Bars, "covered", c.From, end, fmt.Sprintf("covered %s to %s: %d scans, %d pages, %d entities", stamp(c.From), stamp(c.To), c.Scans, c.Pages, c.Entities))
		r.Bars = t.bar(r.Bars, "provisional", end, c.To, fmt.Sprintf("covered, and read again: changes may become visible late (lag %s)", short(w.Lag)))
	}
	for _, g := range w.Gaps {
		r.Bars = t.bar(r.Bars, "gap", g.From, g.To, fmt.Sprintf("gap %s to %s since %s, %d tries, next %s: %s", stamp(g.From), stamp(g.To), stamp(g.Since), g.Tries, stamp(g.Next), g.Why))
	}
	if w.Reading != nil {
		r.Bars = t.bar(r.Bars, "reading", w.Frontier, t.To, fmt.Sprintf("being read since %s: %d pages, %d entities", stamp(w.Reading.Started), w.Reading.Pages, w.Reading.Entities))
	}
	if x, ok := t.at(w.Frontier); ok {
		r.Marks = append(r.Marks, mark{x, "frontier " + stamp(w.Frontier)})
	}
}

func (t *timeline) sweep(w *coverage.SweepSnapshot) {
	r := t.row(w.Name, w.Active)
	for _, u := range w.Turns {
		class, why := "turn", ""
		if u.Short != "" {
			class, why = "short", ", incomplete: "+u.Short
		}
		r.Bars = t.bar(r.Bars, class, u.Start, u.End, fmt.Sprintf("turn %d, %s to %s: %d pages, %d entities, %d missed%s", u.Turn, stamp(u.Start), stamp(u.End), u.Pages, u.Entities, u.Missed, why))
	}
	if w.Reading != nil {
		r.Bars = t.bar(r.Bars, "reading", w.Reading.Started, t.To, fmt.Sprintf("turn under way since %s: %d pages, %d entities", stamp(w.Reading.Started), w.Reading.Pages, w.Reading.Entities))
	}
}

// least is how wide a range is drawn at least, so that it is seen.
const least = 2

func (t *timeline) bar(bars []bar, class string, from, to time.Time, title string) []bar {
	if !to.After(from) && class != "turn" && class != "short" || to.Before(t.From) {
		return bars
	}
	x1, x2 := t.x(from), t.x(to)
	if x2-x1 < least {
		x1 = max(min(x1, labelWidth+lineWidth-least), labelWidth)
		x2 = x1 + least
	}
	return append(bars, bar{class, x1, x2 - x1, title})
}

// x is where an instant is drawn, inside the drawing.
func (t *timeline) x(at time.Time) float64 {
	span := t.To.Sub(t.From).Seconds()
	f := at.Sub(t.From).Seconds() / span
	return labelWidth + lineWidth*min(max(f, 0), 1)
}

func (t *timeline) at(i time.Time) (float64, bool) {
	return t.x(i), !i.Before(t.From) && !i.After(t.To.Add(time.Minute))
}

// axis sets about six ticks at round instants.
func (t *timeline) axis() {
	span := t.To.Sub(t.From)
	step := 5 * 24 * time.Hour
	for _, s := range []time.Duration{10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour} {
		if span/s <= 7 {
			step = s
			break
		}
	}
	format := "15:04"
	if step >= 6*time.Hour {
		format = "Jan 2 15:04"
	}
	for at := t.From.Truncate(step).Add(step); at.Before(t.To); at = at.Add(step) {
		if x := t.x(at); x > labelWidth+20 && x < labelWidth+lineWidth-20 {
			t.Ticks = append(t.Ticks, tick{x, at.UTC().Format(format)})
		}
	}
}
