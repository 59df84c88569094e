package coverage

import (
	"time"
)

// Audit counts what sweeps found that the windows had claimed to cover.
type Audit struct {
	Missed      int    `json:"missed"`
	Late        int    `json:"late"`        // the change became visible later than the lag allowed for
	Unnoticed   int    `json:"unnoticed"`   // the listing changed, its change clock did not
	Unexplained int    `json:"unexplained"` // the change clock went back
	Unlisted    int    `json:"unlisted"`    // no listing showed it: it was asked for by its number
	Turn        int    `json:"turn"`        // to which TurnMissed belongs
	TurnMissed  int    `json:"turn_missed"`
	Recent      []Miss `json:"recent,omitempty"` // oldest first
}

// Miss is one entity that the windows missed.
type Miss struct {
	ID      string    `json:"id"`
	Key     string    `json:"key"`
	Class   string    `json:"class"`
	Walk    string    `json:"walk"` // that claimed to cover it
	Updated time.Time `json:"updated"`
	Found   time.Time `json:"found"`
	Turn    int       `json:"turn"`
}

// Classes of a miss.
const (
	MissLate        = "late"
	MissUnnoticed   = "unnoticed"
	MissUnexplained = "unexplained"
	MissUnlisted    = "unlisted"
)

const (
	maxMisses = 16
	calmTurns = 8
)

func (a *Audit) turn(turn int) int {
	if a.Turn != turn {
		return 0
	}
	return a.TurnMissed
}

func (a *Audit) add(m Miss) {
	a.Missed++
	switch m.Class {
	case MissLate:
		a.Late++
	case MissUnnoticed:
		a.Unnoticed++
	case MissUnlisted:
		a.Unlisted++
	default:
		a.Unexplained++
	}
	if a.Turn != m.Turn {
		a.Turn, a.TurnMissed = m.Turn, 0
	}
	a.TurnMissed++
	a.Recent = append(a.Recent, m)
	if n := len(a.Recent) - maxMisses; n > 0 {
		a.Recent = append(a.Recent[:0:0], a.Recent[n:]...)
	}
}

// auditor checks the records of a sweep page against what the windows claim.
type auditor struct {
	l     *Ledger
	tx    txn
	st    *scopeState
	sweep *sweepRow
	task  *Task
	walks []*walkRow // the plan's change walks that list the entities themselves, in its order
	dirty map[*walkRow]bool
}

// load reads the plan's change walks, when there is something to check against them.
func (a *auditor) load() error {
	if a.walks != nil {
		return nil
	}
	for _, w := range a.st.Walks {
		if w.Sweep || w.Pointers {
			continue
		}
		row, err := a.tx.withHistory(a.st.SID, w.Name)
		if err != nil {
			return err
		}
		if row != nil {
			a.walks = append(a.walks, row)
		}
	}
	return nil
}

// check classifies a record before it is applied, and widens the lag of the walk that missed it.
func (a *auditor) check(r *Record) (missed bool, err error) {
	if r.Pointer || r.Same || r.Gone || r.Updated.IsZero() {
		return false, nil
	}
	e, err := a.tx.entity(a.st.SID, r.Ref.Identity)
	if err != nil {
		return false, err
	}
	class := classify(e, r)
	if class == "" {
		return false, nil
	}
	if err := a.load(); err != nil {
		return false, err
	}
	for _, w := range a.walks {
		if !w.claims(r.Updated) {
			continue
		}
		a.sweep.Audit.add(Miss{ID: r.Ref.Identity.String(), Key: r.Ref.Key, Class: class, Walk: w.Def.Name,
			Updated: utc(r.Updated), Found: utc(r.ReadAt), Turn: a.task.Turn})
		if class == MissLate {
			w.widen(r.Updated, a.l.o.LagCap)
			a.dirty[w] = true
		}
		return true, nil
	}
	return false, nil
}

// classify says how the record differs from what is stored; "" when the windows have shown it, or that it must be
// looked at.
func classify(e *entityRow, r *Record) string {
	switch {
	case e == nil && r.Token == "": // the answer for a number
		return MissUnlisted
	case e == nil:
		return MissLate
	case r.Token == "", e.token == r.Token || e.gone || older(e, r) || e.readAt.IsZero() || e.token == "" || e.awaits():
		return ""
	case r.Updated.After(e.updated):
		return MissLate
	case r.Updated.Equal(e.updated):
		return MissUnnoticed
	default:
		return MissUnexplained
	}
}

// awaits says that a window pointed at the entity and it was not read since.
func (e *entityRow) awaits() bool {
	for _, a := range e.again {
		if a.Why == WhyPointer || a.Why == WhyFailed {
			return true
		}
	}
	return false
}

func (a *auditor) save() error {
	for _, w := range a.walks {
		if !a.dirty[w] {
			continue
		}
		if err := a.tx.saveWalk(a.st.SID, w); err != nil {
			return err
		}
	}
	return nil
}

// widen raises the lag to twice the lateness that is proven: the last complete scan whose range holds updated began
// its reading at its To, and the row was not there. It never exceeds the cap, nor falls below the walk's own lag.
func (w *walkRow) widen(updated time.Time, limit time.Duration) {
	late := w.lag()
	for _, r := range w.Recent {
		if r.Short == "" && !updated.Before(r.From) && updated.Before(r.To) {
			late = max(late, r.To.Sub(updated))
		}
	}
	w.Widened = min(limit, max(w.lag(), 2*late))
	w.Clean = 0
}

// calmLags halves widened lags that no late row has needed for a while.
func (t txn) calmLags(st *scopeState, s *sweepRow) error {
	for _, def := range st.Walks {
		if def.Sweep {
			continue
		}
		w, err := t.walk(st.SID, def.Name)
		if err != nil {
			return err
		}
		if w == nil || w.Widened == 0 {
			continue
		}
		if w.Clean++; w.Clean >= calmTurns {
			w.Clean = 0
			if w.Widened /= 2; w.Widened <= w.Def.Lag {
				w.Widened = 0
			}
		}
		if err := t.saveWalk(st.SID, w); err != nil {
			return err
		}
	}
	return nil
}
