package coverage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fullsend-ai/discovery/scope"
)

// Retire is for sources that the configuration does not name any more: every source that keep denies is treated as if its
// scope were begun with a plan without it. Its rows are not handed out and come back with the source. It needs no
// provider, so that what waits for a removed source stays inside also while its scope cannot be read.
func (l *Ledger) Retire(ctx context.Context, keep func(sc scope.Scope, source string) bool) error {
	ended := map[string]*scopeState{}
	err := l.store.Update(ctx, func(tx Tx) error {
		clear(ended)
		t := txn{tx}
		err := t.eachScope(func(row *scopeRow) error {
			b := beginning{l: l, tx: t, clock: utc(l.o.Now()), st: &scopeState{scopeRow: *row, sources: map[string]bool{}}}
			for _, w := range row.Walks {
				if w.Sweep {
					b.sweeps = append(b.sweeps, w.Name)
				}
			}
			err := b.retireAllBut(func(source string) bool { return keep(row.Scope, source) })
			if b.changed {
				ended[row.Scope.Key()] = b.st
			}
			return err
		})
		if err == nil && len(ended) == 0 {
			return errUnchanged
		}
		return err
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return fmt.Errorf("ledger: retire sources: %w", err)
	}
	for key, st := range ended {
		l.remember(key, st)
	}
	return nil
}

func (b *beginning) retireAllBut(keep func(source string) bool) error {
	stored, err := b.stored()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(stored)) {
		if s := stored[id]; keep(id) {
			if s.Retired.IsZero() {
				b.st.sources[id] = true
			}
			continue
		}
		if err := b.retire(stored[id]); err != nil {
			return err
		}
	}
	return nil
}
