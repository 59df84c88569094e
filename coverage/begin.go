package coverage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// sourceRow is a source as stored. One that left the plan is kept for a while: it may come back, with a repaired file.
type sourceRow struct {
	ID      string    `json:"id"`
	Version string    `json:"version"`
	Body    []byte    `json:"body,omitempty"`
	Since   time.Time `json:"since"`
	Retired time.Time `json:"retired,omitzero"`
}

// Begin registers what a cycle asks in a scope. A source that is new, changed or back is owed one full turn of every
// sweep; a new change walk begins at clock, and the scope is owed a turn. Nothing else of what is stored changes with
// the plan. A frontier further beyond clock than Options.ClockSlack is ErrClock, and changes nothing; so is a name that led
// to another container before, which is ErrName: the repository was made anew, or somebody took its name.
func (l *Ledger) Begin(ctx context.Context, sc scope.Scope, p Plan, clock time.Time) error {
	key, clock := sc.Key(), utc(clock)
	var next *scopeState
	err := l.store.Update(ctx, func(tx Tx) error {
		b := beginning{l: l, tx: txn{tx}, plan: p, clock: clock}
		st, err := b.begin(sc)
		if err != nil {
			return err
		}
		next = st
		if !b.changed {
			return errUnchanged
		}
		return nil
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return fmt.Errorf("ledger: begin %s: %w", sc, err)
	}
	l.remember(key, next)
	return nil
}

// Sources returns the sources of the plan that was begun last, as stored.
func (l *Ledger) Sources(ctx context.Context, sc scope.Scope) (map[string]Source, error) {
	out := map[string]Source{}
	err := l.view(ctx, sc, func(tx txn, st *scopeState) error {
		return tx.each(bSource, st.SID+sep, func(k string, v []byte) error {
			var s sourceRow
			if err := decodeJSON(bSource, k, v, &s); err != nil {
				return err
			}
			if s.Retired.IsZero() {
				out[s.ID] = Source{ID: s.ID, Version: s.Version, Body: s.Body}
			}
			return nil
		})
	})
	if errors.Is(err, ErrUnknownScope) {
		return out, nil // nothing is stored of a scope that was never begun
	}
	return out, err
}

// beginning is one Begin.
type beginning struct {
	l       *Ledger
	tx      txn
	plan    Plan
	clock   time.Time
	st      *scopeState
	sweeps  []string // of the plan
	changed bool
}

func (b *beginning) begin(sc scope.Scope) (*scopeState, error) {
	st, err := readScope(b.tx, sc.Key())
	if err != nil {
		return nil, err
	}
	first := st == nil
	if first {
		if st, err = b.newScope(sc); err != nil {
			return nil, err
		}
	}
	b.st = st
	if err := b.name(); err != nil {
		return nil, err
	}
	for _, w := range b.plan.Walks {
		if w.Sweep {
			b.sweeps = append(b.sweeps, w.Name)
		}
	}
	before := st.Walks
	if first || st.Plan != b.plan.Hash || !slices.Equal(before, b.plan.Walks) {
		st.Plan, st.Walks = b.plan.Hash, slices.Clone(b.plan.Walks)
		b.changed = true
		if err := b.tx.saveJSON(bScope, sc.Key(), st.scopeRow); err != nil {
			return nil, err
		}
	}
	// Sweeps first: walks and sources owe them turns.
	for _, sweeps := range []bool{true, false} {
		for _, w := range b.plan.Walks {
			if w.Sweep != sweeps {
				continue
			}
			if err := b.walk(w); err != nil {
				return nil, err
			}
		}
	}
	if err := b.sources(); err != nil {
		return nil, err
	}
	return st, nil
}

func (b *beginning) newScope(sc scope.Scope) (*scopeState, error) {
	raw, _, err := b.tx.load(bMeta, "sid")
	if err != nil {
		return nil, err
	}
	var n uint32
	if len(raw) == 4 {
		n = binary.BigEndian.Uint32(raw)
	}
	n++
	if err := b.tx.save(bMeta, "sid", binary.BigEndian.AppendUint32(nil, n)); err != nil {
		return nil, err
	}
	st := &scopeState{sources: map[string]bool{}}
	st.SID, st.Scope, st.Since = hexText(uint64(n), 8), sc, b.clock
	return st, nil
}

// walk registers a walk. The scope is owed a turn of a new sweep, and of all sweeps for a new change walk: what it
// would have noticed before it began is theirs to find.
func (b *beginning) walk(w Walk) error {
	if w.Sweep {
		s, err := b.tx.sweep(b.st.SID, w.Name)
		if err != nil {
			return err
		}
		isNew := s == nil
		if !isNew && s.Def == w {
			return nil
		}
		if isNew {
			s = &sweepRow{}
		}
		s.Def, b.changed = w, true
		if err := b.tx.saveSweep(b.st.SID, s); err != nil {
			return err
		}
		if isNew {
			return b.owe(w.Name, "")
		}
		return nil
	}
	row, err := b.tx.walk(b.st.SID, w.Name)
	if err != nil {
		return err
	}
	if row == nil {
		b.changed = true
		if err := b.tx.saveWalk(b.st.SID, &walkRow{Def: w, Since: b.clock, Frontier: b.clock}); err != nil {
			return err
		}
		return b.oweAll("")
	}
	if row.Frontier.After(b.clock.Add(b.l.o.ClockSlack)) {
		return fmt.Errorf("%w: it says %s, and %s was read up to %s; when the clock is right now, begin the scope anew with `poll state reset --scope`",
			ErrClock, b.clock.Format(time.RFC3339), w.Name, row.Frontier.Format(time.RFC3339))
	}
	if row.Def == w {
		return nil
	}
	row.Def, b.changed = w, true
	return b.tx.saveWalk(b.st.SID, row)
}

// stored are the sources that the ledger has of the scope, by id.
func (b *beginning) stored() (map[string]*sourceRow, error) {
	out := map[string]*sourceRow{}
	err := b.tx.each(bSource, b.st.SID+sep, func(k string, v []byte) error {
		var s sourceRow
		err := decodeJSON(bSource, k, v, &s)
		out[s.ID] = &s
		return err
	})
	return out, err
}

func (b *beginning) sources() error {
	stored, err := b.stored()
	if err != nil {
		return err
	}
	b.st.sources = make(map[string]bool, len(b.plan.Sources))
	for _, s := range b.plan.Sources {
		b.st.sources[s.ID] = true
		if err := b.source(s, stored[s.ID]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		if b.st.sources[id] {
			continue
		}
		if err := b.retire(stored[id]); err != nil {
			return err
		}
	}
	return nil
}

func (b *beginning) source(s Source, have *sourceRow) error {
	if have != nil && have.Retired.IsZero() && have.Version == s.Version && bytes.Equal(have.Body, s.Body) {
		return nil
	}
	b.changed = true
	row := sourceRow{ID: s.ID, Version: s.Version, Body: s.Body, Since: b.clock}
	back := have != nil && !have.Retired.IsZero()
	if have != nil && have.Version == s.Version && !back {
		row.Since = have.Since
	}
	if err := b.tx.saveJSON(bSource, keyOf(b.st.SID, part(s.ID)), row); err != nil {
		return err
	}
	if back {
		if err := b.tx.hold(b.st.SID, s.ID, false); err != nil {
			return err
		}
	}
	// Reuse leaves a debt that is not yet settled as it is.
	if have != nil && !back && (s.Reuse || have.Version == s.Version) {
		return nil
	}
	return b.oweAll(s.ID)
}

// retire keeps a source that left the plan, with its pairs and rows, until it is long gone.
func (b *beginning) retire(s *sourceRow) error {
	key := keyOf(b.st.SID, part(s.ID))
	switch {
	case s.Retired.IsZero():
		s.Retired, b.changed = b.clock, true
		for _, w := range b.sweeps {
			if err := b.tx.settleDebt(b.st.SID, w, s.ID); err != nil {
				return err
			}
		}
		if err := b.tx.hold(b.st.SID, s.ID, true); err != nil {
			return err
		}
		return b.tx.saveJSON(bSource, key, s)
	case b.clock.Sub(s.Retired) < b.l.o.RetainSource:
		return nil
	}
	b.changed = true
	rows, err := b.tx.rowsOf(b.st.SID, s.ID)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := b.tx.deleteRow(r); err != nil {
			return err
		}
	}
	return b.tx.Delete(bSource, key)
}

func (b *beginning) oweAll(source string) error {
	for _, w := range b.sweeps {
		if err := b.owe(w, source); err != nil {
			return err
		}
	}
	return nil
}

func (b *beginning) owe(walk, source string) error {
	b.changed = true
	return b.tx.owe(b.st.SID, walk, source, b.clock)
}
