package coverage

import (
	"slices"
	"time"
)

// walkRow is a change walk as stored.
type walkRow struct {
	Def      Walk          `json:"def"`
	Since    time.Time     `json:"since"`
	Frontier time.Time     `json:"frontier"`
	Local    time.Time     `json:"local,omitzero"`    // our own clock when the provider's stood at the frontier
	Widened  time.Duration `json:"widened,omitempty"` // lag that the audit asks for
	Clean    int           `json:"clean,omitempty"`   // finished turns since it last asked
	Open     *openTask     `json:"open,omitempty"`
	Fails    int           `json:"fails,omitempty"` // of the tail, since its last page
	Why      string        `json:"why,omitempty"`   // last failure of the tail
	Gaps     []gapRow      `json:"gaps,omitempty"`

	history `json:"-"` // of its own, since pages do not touch it; see withHistory
}

// history is what was read of a change walk.
type history struct {
	Covered []Range `json:"covered,omitempty"` // ascending by From
	Recent  []Range `json:"recent,omitempty"`  // the last scans, oldest first, incomplete ones too
}

// openTask is a task that was begun and is not closed.
type openTask struct {
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Started  time.Time `json:"started"`
	Cursor   []byte    `json:"cursor,omitempty"`
	End      bool      `json:"end,omitempty"` // the last page is committed
	Turn     int       `json:"turn,omitempty"`
	Pages    int       `json:"pages"`
	Entities int       `json:"entities"`
	Short    string    `json:"short,omitempty"`
	Capped   bool      `json:"capped,omitempty"`
	Local    time.Time `json:"local,omitzero"`
}

type gapRow struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Why       string    `json:"why"`
	Since     time.Time `json:"since"`
	Tries     int       `json:"tries"`           // scans that stayed short
	Fails     int       `json:"fails,omitempty"` // failures since its last page
	NotBefore time.Time `json:"not_before,omitzero"`
	Open      *openTask `json:"open,omitempty"`
	Part      bool      `json:"part,omitempty"` // of a range that the provider cut off: stays for itself
}

// Range is a half-open stretch [From, To) of a walk's change clock that was read, with its evidence.
type Range struct {
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to"`
	Plan     string        `json:"plan"`
	Start    time.Time     `json:"start"` // provider's clock before the first page
	End      time.Time     `json:"end"`   // provider's clock at the close
	Scans    int           `json:"scans"` // how many scans it was merged from
	Pages    int           `json:"pages"`
	Entities int           `json:"entities"`
	Lag      time.Duration `json:"lag"`             // that was taken off
	Short    string        `json:"short,omitempty"` // why it does not count as covered
}

// What a walk remembers at most.
const (
	maxGaps    = 64
	maxCovered = 32
	maxRecent  = 16
	maxWhy     = 512
)

func (t txn) walk(sid, name string) (*walkRow, error) {
	var w walkRow
	ok, err := t.loadJSON(bWalk, keyOf(sid, part(name)), &w)
	if err != nil || !ok {
		return nil, err
	}
	return &w, nil
}

func (t txn) saveWalk(sid string, w *walkRow) error {
	return t.saveJSON(bWalk, keyOf(sid, part(w.Def.Name)), w)
}

// withHistory reads the walk together with what was read of it.
func (t txn) withHistory(sid, name string) (*walkRow, error) {
	w, err := t.walk(sid, name)
	if err != nil || w == nil {
		return nil, err
	}
	_, err = t.loadJSON(bRange, keyOf(sid, part(name)), &w.history)
	return w, err
}

func (t txn) saveHistory(sid string, w *walkRow) error {
	return t.saveJSON(bRange, keyOf(sid, part(w.Def.Name)), w.history)
}

// lag is what is taken off the frontier: the walk's own, or more where the audit found it too small.
func (w *walkRow) lag() time.Duration { return max(w.Def.Lag, w.Def.Grain, w.Widened) }

// from is where the tail begins. A clock that has stepped back was lower still before this cycle, and what changed then
// bears its stamps: as much is read again as a clock may step back. One that stepped back and has overtaken the frontier
// since shows beside our own clock: the provider's went less far than ours, by as much as it stepped back.
func (w *walkRow) from(clock, now time.Time, slack time.Duration) time.Time {
	f := w.Frontier
	switch {
	case clock.Before(f):
		f = clock.Add(-slack)
	case !w.Local.IsZero():
		back := now.Sub(w.Local) - clock.Sub(f)
		f = f.Add(-min(max(back, 0), slack))
	}
	return f.Add(-w.lag())
}

// claims says that the windows have covered t and that nothing of it may still be on its way.
func (w *walkRow) claims(t time.Time) bool {
	if t.IsZero() || !t.Before(w.Frontier.Add(-w.lag())) {
		return false
	}
	for _, g := range w.Gaps {
		if !t.Before(g.From) && t.Before(g.To) {
			return false
		}
	}
	return slices.ContainsFunc(w.Covered, func(r Range) bool { return !t.Before(r.From) && t.Before(r.To) })
}

// cover adds a range that was read completely. Ranges of one plan that touch are one.
func (w *walkRow) cover(r Range) {
	w.remember(r)
	var rest []Range
	for _, x := range w.Covered {
		if x.Plan == r.Plan && !r.From.After(x.To) && !x.From.After(r.To) {
			r = merge(x, r)
			continue
		}
		rest = append(rest, x)
	}
	i, _ := slices.BinarySearchFunc(rest, r, func(a, b Range) int { return a.From.Compare(b.From) })
	w.Covered = slices.Insert(rest, i, r)
	for len(w.Covered) > maxCovered {
		a, b := w.Covered[0], w.Covered[1]
		w.Covered = w.Covered[1:]
		if !b.From.After(a.To) {
			w.Covered[0] = merge(a, b) // a hole is not merged over: less is claimed then
		}
	}
}

// merge unites two ranges that touch; the plan is that of the newer.
func merge(a, b Range) Range {
	out := b
	out.From = earlier(a.From, b.From)
	out.To = later(a.To, b.To)
	out.Start, out.End = earlier(a.Start, b.Start), later(a.End, b.End)
	out.Scans, out.Pages, out.Entities = a.Scans+b.Scans, a.Pages+b.Pages, a.Entities+b.Entities
	out.Lag = max(a.Lag, b.Lag)
	return out
}

func (w *walkRow) remember(r Range) {
	r.Short = clip(r.Short)
	w.Recent = append(w.Recent, r)
	if n := len(w.Recent) - maxRecent; n > 0 {
		w.Recent = slices.Delete(w.Recent, 0, n)
	}
}

// miss adds a range that was not read completely. Gaps that touch and are not being read are one; their number is
// bounded by uniting the closest.
func (w *walkRow) miss(g gapRow) {
	g.Why = clip(g.Why)
	for i := 0; i < len(w.Gaps); {
		x := w.Gaps[i]
		if x.Open == nil && g.Open == nil && !x.Part && !g.Part && !g.From.After(x.To) && !x.From.After(g.To) {
			g = union(x, g)
			w.Gaps = slices.Delete(w.Gaps, i, i+1)
			continue
		}
		i++
	}
	i, _ := slices.BinarySearchFunc(w.Gaps, g, func(a, b gapRow) int { return a.From.Compare(b.From) })
	w.Gaps = slices.Insert(w.Gaps, i, g)
	for len(w.Gaps) > maxGaps {
		best := 0
		for i := 1; i+1 < len(w.Gaps); i++ { // the latest of equals: parts are read from the earliest on
			if w.Gaps[i+1].From.Sub(w.Gaps[i].To) <= w.Gaps[best+1].From.Sub(w.Gaps[best].To) {
				best = i
			}
		}
		w.Gaps[best] = union(w.Gaps[best], w.Gaps[best+1])
		w.Gaps = slices.Delete(w.Gaps, best+1, best+2)
	}
}

// divide puts the halves of a range that the provider cut off in its place, due at once. It refuses where one unit of the
// change clock is left, and where as many gaps are kept as there may be.
func (w *walkRow) divide(g gapRow) bool {
	unit := w.Def.Grain
	if unit <= 0 {
		unit = time.Second
	}
	mid := g.From.Add(g.To.Sub(g.From) / 2).Truncate(unit)
	if !mid.After(g.From) {
		mid = g.From.Truncate(unit).Add(unit)
	}
	if !mid.Before(g.To) || len(w.Gaps) >= maxGaps {
		return false
	}
	w.Gaps = slices.DeleteFunc(w.Gaps, func(x gapRow) bool { return x.From.Equal(g.From) && x.To.Equal(g.To) })
	for _, h := range []gapRow{{From: g.From, To: mid}, {From: mid, To: g.To}} {
		h.Why, h.Since, h.Part = g.Why, g.Since, true
		w.miss(h)
	}
	return true
}

// union of two gaps is read from its beginning, as soon as either was due: gaps that grow every cycle are read too.
func union(a, b gapRow) gapRow {
	return gapRow{
		From: earlier(a.From, b.From), To: later(a.To, b.To), Why: b.Why, Since: earlier(a.Since, b.Since),
		Tries: max(a.Tries, b.Tries), NotBefore: earlier(a.NotBefore, b.NotBefore), Part: a.Part || b.Part,
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func clip(s string) string {
	if len(s) > maxWhy {
		s = s[:maxWhy]
	}
	return s
}

// longestLag is the largest lag of the scope's change walks.
func (t txn) longestLag(sid string) (time.Duration, error) {
	var lag time.Duration
	err := t.each(bWalk, sid+sep, func(k string, v []byte) error {
		var w walkRow
		if err := decodeJSON(bWalk, k, v, &w); err != nil {
			return err
		}
		lag = max(lag, w.lag())
		return nil
	})
	return lag, err
}
