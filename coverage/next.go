package coverage

import (
	"context"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// Next returns what is owed in the scope at clock, most urgent first: the tail of every change walk of the plan, gaps
// that are due, the sweeps that are owed, due or under way, and the numbers that a turn did not meet. It writes
// nothing; a task begins with its first page. With Policy.Full a sweep is owed at every call.
func (l *Ledger) Next(ctx context.Context, sc scope.Scope, clock time.Time, pol Policy) ([]Task, error) {
	clock = utc(clock)
	var tails, gaps, turns, probes []Task
	err := l.view(ctx, sc, func(tx txn, st *scopeState) error {
		for _, def := range st.Walks {
			if def.Sweep {
				s, err := tx.sweep(st.SID, def.Name)
				if err != nil {
					return err
				}
				if s == nil {
					continue
				}
				if s.owed(clock, pol) {
					turns = append(turns, s.task(sc, clock))
				}
				if p, ok, err := tx.probe(sc, st.SID, s, clock); err != nil {
					return err
				} else if ok {
					probes = append(probes, p)
				}
				continue
			}
			w, err := tx.walk(st.SID, def.Name)
			if err != nil {
				return err
			}
			if w == nil {
				continue
			}
			tails = append(tails, w.tail(sc, clock, utc(l.o.Now()), l.o.ClockSlack))
			gaps = append(gaps, w.dueGaps(sc, clock)...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(append(append(tails, gaps...), turns...), probes...), nil
}

func (o *openTask) task(sc scope.Scope, kind TaskKind, walk string, tries int) Task {
	return Task{Scope: sc, Kind: kind, Walk: walk, From: o.From, To: o.To, Started: o.Started, Cursor: o.Cursor,
		End: o.End, Turn: o.Turn, Pages: o.Pages, Entities: o.Entities, Short: o.Short, Capped: o.Capped, Tries: tries, local: o.Local}
}

func (w *walkRow) tail(sc scope.Scope, clock, now time.Time, slack time.Duration) Task {
	if w.Open != nil {
		return w.Open.task(sc, Tail, w.Def.Name, w.Fails)
	}
	return Task{Scope: sc, Kind: Tail, Walk: w.Def.Name, From: w.from(clock, now, slack), Started: clock, Tries: w.Fails, local: now}
}

func (w *walkRow) dueGaps(sc scope.Scope, clock time.Time) []Task {
	var out []Task
	for _, g := range w.Gaps {
		if clock.Before(g.NotBefore) {
			continue
		}
		t := Task{Scope: sc, Kind: Gap, Walk: w.Def.Name, Started: clock, Tries: g.Tries + g.Fails}
		if g.Open != nil {
			t = g.Open.task(sc, Gap, w.Def.Name, g.Tries+g.Fails)
		}
		t.From, t.To = g.From, g.To
		out = append(out, t)
	}
	return out
}

func (s *sweepRow) task(sc scope.Scope, clock time.Time) Task {
	if s.Open != nil {
		return s.Open.task(sc, Turn, s.Def.Name, s.Tries+s.Fails)
	}
	return Task{Scope: sc, Kind: Turn, Walk: s.Def.Name, Started: clock, Turn: s.Turn + 1, Tries: s.Tries + s.Fails}
}

// probe is the next batch of numbers; while a turn is under way nothing is asked, since it may still meet them.
func (t txn) probe(sc scope.Scope, sid string, s *sweepRow, clock time.Time) (Task, bool, error) {
	if s.Probe == nil || s.Open != nil || clock.Before(s.Probe.NotBefore) {
		return Task{}, false, nil
	}
	numbers, err := t.unmetNumbers(sid, s, s.Probe.Next, s.Probe.Max, probeBatch)
	if err != nil || len(numbers) == 0 {
		return Task{}, false, err
	}
	return Task{Scope: sc, Kind: Probe, Walk: s.Def.Name, Started: clock, Turn: s.Turn, Numbers: numbers,
		Tries: s.Probe.Tries, last: numbers[len(numbers)-1]}, true, nil
}

// Due returns up to n entities with an appointment at or before clock. Reasons take turns, so that a flood of one does
// not starve another; within a reason the longest due comes first.
func (l *Ledger) Due(ctx context.Context, sc scope.Scope, clock time.Time, n int) ([]Entity, error) {
	var out []Entity
	err := l.view(ctx, sc, func(tx txn, st *scopeState) error {
		keys, err := tx.dueKeys(st.SID, utc(clock), n)
		if err != nil {
			return err
		}
		for _, k := range keys {
			b, ok, err := tx.load(bEntity, k)
			if err != nil {
				return err
			}
			if !ok {
				return damaged("the agenda names %q, which is not known", k)
			}
			e, err := entityAt(k, b)
			if err != nil {
				return err
			}
			out = append(out, e.public())
		}
		return nil
	})
	return out, err
}

func (t txn) dueKeys(sid string, clock time.Time, n int) ([]string, error) {
	whys, err := t.whys(sid)
	if err != nil {
		return nil, err
	}
	var queues [][]string
	for _, why := range whys {
		q, err := t.dueOf(sid, why, clock, n)
		if err != nil {
			return nil, err
		}
		queues = append(queues, q)
	}
	var out []string
	seen := map[string]bool{}
	for i, more := 0, true; more && len(out) < n; i++ {
		more = false
		for _, q := range queues {
			if i >= len(q) {
				continue
			}
			more = true
			if !seen[q[i]] && len(out) < n {
				seen[q[i]] = true
				out = append(out, q[i])
			}
		}
	}
	return out, nil
}

// whys lists the reasons in the agenda of a scope, as in its keys.
func (t txn) whys(sid string) ([]string, error) {
	var out []string
	for from := sid + sep; ; {
		why := ""
		err := t.eachFrom(bAgenda, sid+sep, from, func(k string, _ []byte) error {
			why, _, _ = strings.Cut(k[len(sid)+1:], sep)
			return errStop
		})
		if err != nil || why == "" {
			return out, err
		}
		out = append(out, why)
		from = sid + sep + why + "\x01"
	}
}

// dueOf returns entity keys of one reason that are due, longest due first.
func (t txn) dueOf(sid, why string, clock time.Time, n int) ([]string, error) {
	var out []string
	prefix, limit := keyOf(sid, why)+sep, stamp(clock)
	err := t.each(bAgenda, prefix, func(k string, _ []byte) error {
		at, id, _ := strings.Cut(k[len(prefix):], sep)
		if at > limit || len(out) == n {
			return errStop
		}
		out = append(out, sid+sep+id)
		return nil
	})
	return out, err
}

// NextLook is the earliest instant, on the provider's clock, at which anything is owed in the scope but tails and the
// periodic sweep, whose interval the caller knows; zero when nothing is. It may lie in the past.
func (l *Ledger) NextLook(ctx context.Context, sc scope.Scope) (time.Time, error) {
	var first time.Time
	owe := func(t time.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	err := l.view(ctx, sc, func(tx txn, st *scopeState) error {
		for _, def := range st.Walks {
			if def.Sweep {
				if err := tx.sweepLook(st.SID, def.Name, owe); err != nil {
					return err
				}
				continue
			}
			w, err := tx.walk(st.SID, def.Name)
			if err != nil {
				return err
			}
			if w != nil {
				for _, g := range w.Gaps {
					owe(g.NotBefore)
				}
			}
		}
		return tx.agendaLook(st.SID, owe)
	})
	return first, err
}

func (t txn) sweepLook(sid, name string, owe func(time.Time)) error {
	s, err := t.sweep(sid, name)
	if err != nil || s == nil {
		return err
	}
	if s.Probe != nil {
		owe(later(s.Probe.NotBefore, s.LastEnd))
	}
	switch {
	case s.Open != nil:
		owe(later(s.NotBefore, s.Open.Started))
	case s.Tries > 0 || s.Fails > 0:
		owe(s.NotBefore)
	case s.Debts > 0:
		return t.each(bDebt, keyOf(sid, part(name))+sep, func(k string, v []byte) error {
			var d debtRow
			if err := decodeJSON(bDebt, k, v, &d); err != nil {
				return err
			}
			owe(d.Since)
			return nil
		})
	}
	return nil
}

func (t txn) agendaLook(sid string, owe func(time.Time)) error {
	whys, err := t.whys(sid)
	if err != nil {
		return err
	}
	for _, why := range whys {
		prefix := keyOf(sid, why) + sep
		err := t.each(bAgenda, prefix, func(k string, _ []byte) error {
			at, _, _ := strings.Cut(k[len(prefix):], sep)
			owe(unstamp(at))
			return errStop
		})
		if err != nil {
			return err
		}
	}
	return nil
}
