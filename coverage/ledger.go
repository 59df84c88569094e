package coverage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// Ledger is the state of one poller. It guarantees, over any store that keeps the Store contract:
//
//   - what a page showed and how far it was read are kept together or not at all;
//   - a range counts as covered only after its last page, and only when no page of it was short;
//   - one decision of a pair is written to the outbox once, and stays there until its outcome is told;
//   - an older read never replaces a newer one.
//
// It does not guarantee that anything was true at the provider, and it does not coordinate with other ledgers. It is
// safe for concurrent use; updates are serial.
type Ledger struct {
	store Store
	o     Options

	mu     sync.Mutex
	scopes map[string]*scopeState // by scope key, as last stored; a copy of what the store holds
}

// Options of a ledger. The zero value is usable.
type Options struct {
	Now  func() time.Time // local clock, stamps what is created; time.Now
	Rand func() float64   // in [0,1), for jitter

	ClockSlack time.Duration // how far a provider's clock may step back before it is damage; 15 min
	LagCap     time.Duration // to which the audit may widen a walk's lag; 6 h
	Backoff    time.Duration // first wait of a gap or turn that stayed short; 1 min, doubled per try
	BackoffCap time.Duration // 6 h
	TailTries  int           // failures at one place after which a tail's rest becomes a gap; 6

	Retry     time.Duration // first wait of a failed delivery; 1 min, doubled per try
	RetryCap  time.Duration // 6 h
	DeadAfter int           // tries after which a delivery is dead; 8
	DeadEvery time.Duration // how often a dead one is tried; 24 h

	RetainSource time.Duration // how long the pairs of a source that left the plan are kept; 30 days
	RetainGone   time.Duration // how long a proven-gone entity is remembered; 30 days
	EvidenceCap  int           // bytes of evidence per entity and per decision; 64 KiB
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	for _, d := range []struct {
		v    *time.Duration
		unit time.Duration
	}{
		{&o.ClockSlack, 15 * time.Minute},
		{&o.LagCap, 6 * time.Hour},
		{&o.Backoff, time.Minute},
		{&o.BackoffCap, 6 * time.Hour},
		{&o.Retry, time.Minute},
		{&o.RetryCap, 6 * time.Hour},
		{&o.DeadEvery, 24 * time.Hour},
		{&o.RetainSource, 30 * 24 * time.Hour},
		{&o.RetainGone, 30 * 24 * time.Hour},
	} {
		if *d.v <= 0 {
			*d.v = d.unit
		}
	}
	for _, n := range []struct {
		v    *int
		unit int
	}{{&o.TailTries, 6}, {&o.DeadAfter, 8}, {&o.EvidenceCap, 64 << 10}} {
		if *n.v <= 0 {
			*n.v = n.unit
		}
	}
	return o
}

// Schema is the version of what this package writes.
const Schema = 1

// What using a ledger wrongly fails with.
var (
	ErrUnknownScope = errors.New("scope was never begun")
	ErrTask         = errors.New("task is not the one that is open")
	ErrUnfinished   = errors.New("task has not reached its end")
	ErrRecord       = errors.New("record names no entity")
)

// errUnchanged rolls a transaction back that had nothing to write; it never leaves the package.
var errUnchanged = errors.New("unchanged")

// Open reads the schema version and migrates forward. It fails with ErrNewer for a ledger of a later version and with
// ErrDamaged for one that cannot be trusted. An empty store becomes an empty ledger.
func Open(ctx context.Context, s Store, o Options) (*Ledger, error) {
	if err := migrate(ctx, s, migrations()); err != nil {
		return nil, err
	}
	return &Ledger{store: s, o: o.withDefaults(), scopes: map[string]*scopeState{}}, nil
}

// Close closes the store.
func (l *Ledger) CloseStore() error { return l.store.Close() }

// migrations[i] takes a ledger from version i+1 to i+2.
func migrations() []func(Tx) error { return nil }

func migrate(ctx context.Context, s Store, steps []func(Tx) error) error {
	target := len(steps) + 1
	var have int
	if err := s.View(ctx, func(tx Tx) (err error) { have, err = schemaOf(tx, target); return err }); err != nil {
		return err
	}
	if have == target {
		return nil
	}
	return s.Update(ctx, func(tx Tx) error {
		for v := have; v > 0 && v < target; v++ {
			if err := steps[v-1](tx); err != nil {
				return fmt.Errorf("migrate ledger from version %d: %w", v, err)
			}
		}
		return tx.Put(bMeta, "schema", []byte(strconv.Itoa(target)))
	})
}

// schemaOf is 0 for a store without anything in it.
func schemaOf(tx Tx, target int) (int, error) {
	if tx.Get(bMeta, "importing") != nil {
		return 0, damaged("an import was not finished")
	}
	b := tx.Get(bMeta, "schema")
	if b == nil {
		for _, name := range buckets() {
			empty := true
			tx.Ascend(name, "", func(string, []byte) bool { empty = false; return false })
			if !empty {
				return 0, damaged("it has entries but no schema version")
			}
		}
		return 0, nil
	}
	v, err := strconv.Atoi(string(b))
	switch {
	case err != nil || v < 1:
		return 0, damaged("its schema version %q is no number", b)
	case v > target:
		return 0, fmt.Errorf("%w: its schema is version %d, this program writes %d; see `poll state`", ErrNewer, v, target)
	}
	return v, nil
}

// damaged says what is wrong and what to do about it.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s; see `poll state`", ErrDamaged, fmt.Sprintf(format, args...))
}

// backoff doubles from base to top, with up to a fifth of jitter upward.
func (l *Ledger) backoff(base, top time.Duration, tries int) time.Duration {
	d := base
	for i := 1; i < tries && d < top; i++ {
		d *= 2
	}
	d = min(d, top)
	return d + time.Duration(l.o.Rand()*float64(d)/5)
}

// scopeRow is a scope as stored.
type scopeRow struct {
	SID   string      `json:"sid"` // short id, first part of the scope's keys
	Scope scope.Scope `json:"scope"`
	Plan  string      `json:"plan"`
	Walks []Walk      `json:"walks"` // of the plan, in its order
	Since time.Time   `json:"since"`
	Alarm *Alarm      `json:"alarm,omitempty"`
}

// Alarm says that a scope was refused.
type Alarm struct {
	Why   string    `json:"why"`
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"`
}

// scopeState is a scope with the sources of its plan. Its alarm may be out of date.
type scopeState struct {
	scopeRow
	sources map[string]bool
}

// scope returns the state of sc: remembered, or read.
func (l *Ledger) scope(tx txn, sc scope.Scope) (*scopeState, error) {
	key := sc.Key()
	l.mu.Lock()
	st := l.scopes[key]
	l.mu.Unlock()
	if st != nil {
		return st, nil
	}
	st, err := readScope(tx, key)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, fmt.Errorf("%s: %w", sc, ErrUnknownScope)
	}
	if err := st.readSources(tx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.scopes[key] == nil { // a Begin that was committed meanwhile knows better
		l.scopes[key] = st
	}
	return st, nil
}

// remember is for Begin alone: nothing else changes a plan.
func (l *Ledger) remember(key string, st *scopeState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scopes[key] = st
}

// readScope is nil for a scope that was never begun.
func readScope(tx txn, key string) (*scopeState, error) {
	st := &scopeState{sources: map[string]bool{}}
	ok, err := tx.loadJSON(bScope, key, &st.scopeRow)
	if err != nil || !ok {
		return nil, err
	}
	return st, nil
}

func (st *scopeState) readSources(tx txn) error {
	return tx.each(bSource, st.SID+sep, func(k string, v []byte) error {
		var s sourceRow
		if err := decodeJSON(bSource, k, v, &s); err != nil {
			return err
		}
		if s.Retired.IsZero() {
			st.sources[s.ID] = true
		}
		return nil
	})
}

// update runs f on the scope in one transaction; f must not change the state.
func (l *Ledger) update(ctx context.Context, sc scope.Scope, f func(txn, *scopeState) error) error {
	err := l.store.Update(ctx, func(tx Tx) error {
		t := txn{tx}
		st, err := l.scope(t, sc)
		if err != nil {
			return err
		}
		return f(t, st)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// view runs f on the scope over one consistent state.
func (l *Ledger) view(ctx context.Context, sc scope.Scope, f func(txn, *scopeState) error) error {
	err := l.store.View(ctx, func(tx Tx) error {
		t := txn{tx}
		st, err := l.scope(t, sc)
		if err != nil {
			return err
		}
		return f(t, st)
	})
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}
