package coverage

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// CommitPage adds one page to a task: its progress and its records, in one transaction. t is brought to what is stored
// when it returns nil, and is unchanged otherwise. A task that is not the open one is refused with ErrTask.
func (l *Ledger) CommitPage(ctx context.Context, t *Task, p Progress, rs []Record) (Outcome, error) {
	next := *t
	next.Cursor, next.End = bytes.Clone(p.Next), p.Next == nil
	next.Pages++
	next.Entities += p.Rows
	if next.Short == "" {
		next.Short = clip(p.Short)
	}
	next.Capped = next.Capped || p.Capped
	var out Outcome
	err := l.update(ctx, t.Scope, func(tx txn, st *scopeState) error {
		out = Outcome{}
		a := &applier{l: l, tx: tx, st: st, out: &out}
		var err error
		switch t.Kind {
		case Tail, Gap:
			err = tx.commitWindow(st, t, &next, p)
		default:
			a.turn = t.Turn
			err = l.commitSweep(tx, st, t, &next, p, rs, &out)
		}
		if err != nil {
			return err
		}
		if err := tx.clearAlarm(st); err != nil {
			return err
		}
		return a.applyAll(rs)
	})
	if err != nil {
		return Outcome{}, err
	}
	*t = next
	return out, nil
}

// Settle applies records that were read outside of a page, in one transaction.
func (l *Ledger) Settle(ctx context.Context, sc scope.Scope, rs []Record) (Outcome, error) {
	var out Outcome
	if len(rs) == 0 {
		return out, nil
	}
	err := l.update(ctx, sc, func(tx txn, st *scopeState) error {
		out = Outcome{}
		return (&applier{l: l, tx: tx, st: st, out: &out}).applyAll(rs)
	})
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

func (a *applier) applyAll(rs []Record) error {
	for i := range rs {
		if err := a.apply(&rs[i]); err != nil {
			return err
		}
	}
	return nil
}

// sameOpen says that t goes on where the stored task stands.
func sameOpen(open *openTask, t *Task) bool {
	if open == nil {
		return t.Pages == 0
	}
	return open.Pages == t.Pages && open.Started.Equal(t.Started)
}

func (t *Task) open() *openTask {
	return &openTask{From: utc(t.From), To: utc(t.To), Started: utc(t.Started), Cursor: t.Cursor, End: t.End,
		Turn: t.Turn, Pages: t.Pages, Entities: t.Entities, Short: t.Short,
		Capped: t.Capped, Local: t.local}
}

func (t txn) commitWindow(st *scopeState, was, next *Task, p Progress) error {
	w, err := t.walk(st.SID, was.Walk)
	if err != nil {
		return err
	}
	if w == nil {
		return ErrTask
	}
	if was.Kind == Tail {
		if !sameOpen(w.Open, was) {
			return ErrTask
		}
		w.Open, w.Fails = next.open(), 0
	} else {
		g := w.gap(was)
		if g == nil || !sameOpen(g.Open, was) {
			return ErrTask
		}
		g.Open, g.Fails = next.open(), 0
	}
	if err := t.noteSeen(st, p); err != nil {
		return err
	}
	return t.saveWalk(st.SID, w)
}

// noteSeen records numbers that a window met, for the dense sweeps.
func (t txn) noteSeen(st *scopeState, p Progress) error {
	if len(p.Met) == 0 && len(p.Other) == 0 {
		return nil
	}
	for _, def := range st.Walks {
		if !def.Sweep || !def.Dense {
			continue
		}
		s, err := t.sweep(st.SID, def.Name)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if _, err := t.note(st.SID, def.Name, s.current(), p.Met, p.Other); err != nil {
			return err
		}
	}
	return nil
}

// current is the turn that is open, else the last one.
func (s *sweepRow) current() int {
	if s.Open != nil {
		return s.Open.Turn
	}
	return s.Turn
}

// gap finds the stored gap of a task.
func (w *walkRow) gap(t *Task) *gapRow {
	i := slices.IndexFunc(w.Gaps, func(g gapRow) bool { return g.From.Equal(t.From) && g.To.Equal(t.To) })
	if i < 0 {
		return nil
	}
	return &w.Gaps[i]
}

// commitSweep stores progress and numbers of a turn or a probe and audits the records against the windows.
func (l *Ledger) commitSweep(tx txn, st *scopeState, was, next *Task, p Progress, rs []Record, out *Outcome) error {
	s, err := tx.sweep(st.SID, was.Walk)
	if err != nil {
		return err
	}
	switch {
	case s == nil:
		return ErrTask
	case was.Kind == Turn:
		if was.Turn != s.Turn+1 || !sameOpen(s.Open, was) {
			return ErrTask
		}
		if s.Open == nil {
			s.Max = 0
		}
		s.Open, s.Fails = next.open(), 0
	case s.Probe == nil || was.Turn != s.Turn || s.Open != nil:
		return ErrTask
	}
	highest, err := tx.note(st.SID, was.Walk, was.Turn, p.Met, p.Other)
	if err != nil {
		return err
	}
	if was.Kind == Turn {
		s.Max = max(s.Max, highest)
	}
	a := auditor{l: l, tx: tx, st: st, sweep: s, task: was, dirty: map[*walkRow]bool{}}
	for i := range rs {
		missed, err := a.check(&rs[i])
		if err != nil {
			return err
		}
		if missed {
			out.Missed++
		}
	}
	if err := a.save(); err != nil {
		return err
	}
	return tx.saveSweep(st.SID, s)
}

// Close ends a task whose last page is committed. A tail's frontier moves to Started in every case; what a short tail
// read becomes a gap. A gap that is complete becomes covered, a short one is read again later; one that the provider cut off
// is divided. For turns see CO-24 to CO-27. A task with pages left is refused with ErrUnfinished.
func (l *Ledger) Close(ctx context.Context, t *Task, clock time.Time) (Outcome, error) {
	clock = utc(clock)
	if t.Cursor != nil || t.Pages > 0 && !t.End && t.Kind != Probe {
		return Outcome{}, ErrUnfinished
	}
	switch t.Kind {
	case Turn:
		return Outcome{}, l.closeTurn(ctx, t, clock)
	case Probe:
		return Outcome{}, l.closeProbe(ctx, t)
	}
	var out Outcome
	err := l.update(ctx, t.Scope, func(tx txn, st *scopeState) error {
		out = Outcome{}
		w, err := tx.withHistory(st.SID, t.Walk)
		if err != nil {
			return err
		}
		if w == nil {
			return ErrTask
		}
		r := Range{From: utc(t.From), To: utc(t.Started), Plan: st.Plan, Start: utc(t.Started), End: clock, Scans: 1,
			Pages: t.Pages, Entities: t.Entities, Lag: w.lag(), Short: t.Short}
		if t.Kind == Tail {
			if !sameOpen(w.Open, t) {
				return ErrTask
			}
			out.Divided = l.closeTail(w, r, t)
		} else if out.Divided, err = l.closeGap(w, r, t); err != nil {
			return err
		}
		if err := tx.clearAlarm(st); err != nil {
			return err
		}
		if err := tx.saveHistory(st.SID, w); err != nil {
			return err
		}
		return tx.saveWalk(st.SID, w)
	})
	return out, err
}

func (l *Ledger) closeTail(w *walkRow, r Range, t *Task) (divided bool) {
	w.Frontier, w.Local, w.Open, w.Fails, w.Why = r.To, t.local, nil, 0, ""
	if r.Short == "" {
		w.cover(r)
		return false
	}
	w.remember(r)
	g := gapRow{From: r.From, To: r.To, Why: r.Short, Since: r.End, NotBefore: l.later(r.End, 1, 0)}
	if t.Capped && w.divide(g) {
		return true
	}
	w.miss(g)
	return false
}

func (l *Ledger) closeGap(w *walkRow, r Range, t *Task) (divided bool, err error) {
	g := w.gap(t)
	if g == nil || !sameOpen(g.Open, t) {
		return false, ErrTask
	}
	r.To = g.To
	if r.Short == "" {
		w.Gaps = slices.DeleteFunc(w.Gaps, func(x gapRow) bool { return x.From.Equal(g.From) && x.To.Equal(g.To) })
		w.cover(r)
		return false, nil
	}
	w.remember(r)
	if t.Capped && w.divide(*g) {
		return true, nil
	}
	g.Open, g.Why = nil, clip(r.Short)
	g.Tries++
	g.NotBefore = l.later(r.End, g.Tries, 0)
	return false, nil
}

// later is when a task is tried again that failed or stayed short: after its backoff, or the provider's word.
func (l *Ledger) later(clock time.Time, tries int, after time.Duration) time.Time {
	return clock.Add(max(after, l.backoff(l.o.Backoff, l.o.BackoffCap, tries)))
}

// Fail notes that a task could not go on. It stays open where its last page was committed, or is begun again with
// Failure.Reset. A tail that keeps failing at one place becomes a gap, so that it does not hold up what is newer.
func (l *Ledger) Fail(ctx context.Context, t *Task, f Failure, clock time.Time) error {
	clock = utc(clock)
	return l.update(ctx, t.Scope, func(tx txn, st *scopeState) error {
		if f.Scope {
			if err := tx.raiseAlarm(st, f.Why, clock); err != nil {
				return err
			}
		}
		if t.Kind == Tail || t.Kind == Gap {
			return l.failWindow(tx, st, t, f, clock)
		}
		return l.failSweep(tx, st, t, f, clock)
	})
}

func (l *Ledger) failWindow(tx txn, st *scopeState, t *Task, f Failure, clock time.Time) error {
	w, err := tx.walk(st.SID, t.Walk)
	if err != nil {
		return err
	}
	if w == nil {
		return ErrTask
	}
	if t.Kind == Gap {
		g := w.gap(t)
		if g == nil {
			return ErrTask
		}
		if f.Reset {
			g.Open = nil
		}
		g.Fails++
		g.Why = clip(f.Why)
		g.NotBefore = l.later(clock, g.Fails, f.After)
		return tx.saveWalk(st.SID, w)
	}
	w.Why = clip(f.Why)
	if f.Reset {
		w.Open = nil
	}
	if !f.Scope && f.After == 0 {
		w.Fails++
	}
	if w.Open != nil && w.Fails >= l.o.TailTries {
		o := w.Open
		w.Frontier, w.Local, w.Open, w.Fails = o.Started, o.Local, nil, 0
		w.miss(gapRow{From: o.From, To: o.Started, Why: f.Why, Since: clock, Fails: 1, Open: o,
			NotBefore: l.later(clock, 1, 0)})
	}
	return tx.saveWalk(st.SID, w)
}

func (l *Ledger) failSweep(tx txn, st *scopeState, t *Task, f Failure, clock time.Time) error {
	s, err := tx.sweep(st.SID, t.Walk)
	if err != nil {
		return err
	}
	if s == nil {
		return ErrTask
	}
	if t.Kind == Probe {
		if s.Probe == nil {
			return ErrTask
		}
		s.Probe.Tries++
		s.Probe.Why = clip(f.Why)
		s.Probe.NotBefore = l.later(clock, s.Probe.Tries, f.After)
		return tx.saveSweep(st.SID, s)
	}
	s.Fails++
	s.Why = clip(f.Why)
	s.NotBefore = l.later(clock, s.Fails, f.After)
	if f.Reset && s.Open != nil {
		// The turn begins again; what it met stays met. It keeps its number: debts that came since wait for the next.
		o := s.Open
		s.Open = &openTask{Started: o.Started, Turn: o.Turn}
	}
	return tx.saveSweep(st.SID, s)
}

func (t txn) raiseAlarm(st *scopeState, why string, clock time.Time) error {
	var row scopeRow
	key := st.Scope.Key()
	if _, err := t.loadJSON(bScope, key, &row); err != nil {
		return err
	}
	a := Alarm{Why: clip(why), Since: clock, Last: clock}
	if row.Alarm != nil {
		a.Since = row.Alarm.Since
	}
	row.Alarm = &a
	return t.saveJSON(bScope, key, row)
}

func (t txn) clearAlarm(st *scopeState) error {
	var row scopeRow
	key := st.Scope.Key()
	if _, err := t.loadJSON(bScope, key, &row); err != nil || row.Alarm == nil {
		return err
	}
	row.Alarm = nil
	return t.saveJSON(bScope, key, row)
}
