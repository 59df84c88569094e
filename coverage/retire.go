package coverage

import (
	"context"
	"errors"
	"fmt"

	"github.com/fullsend-ai/discovery/scope"
)

// Retire is for scopes that the configuration does not name any more: every scope that is not in keep loses its sources,
// as if it were begun with a plan without any. Their rows are not handed out and come back with the source. It must be
// called only when all configured scopes are known.
func (l *Ledger) Retire(ctx context.Context, keep []scope.Scope) error {
	kept := make(map[string]bool, len(keep))
	for _, sc := range keep {
		kept[sc.Key()] = true
	}
	ended := map[string]*scopeState{}
	err := l.store.Update(ctx, func(tx Tx) error {
		clear(ended)
		t, changed := txn{tx}, false
		err := t.eachScope(func(row *scopeRow) error {
			if kept[row.Scope.Key()] {
				return nil
			}
			b := beginning{l: l, tx: t, clock: utc(l.o.Now()), st: &scopeState{scopeRow: *row, sources: map[string]bool{}}}
			for _, w := range row.Walks {
				if w.Sweep {
					b.sweeps = append(b.sweeps, w.Name)
				}
			}
			ended[row.Scope.Key()] = b.st
			err := b.sources()
			changed = changed || b.changed
			return err
		})
		if err == nil && !changed {
			return errUnchanged
		}
		return err
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		return fmt.Errorf("ledger: retire scopes: %w", err)
	}
	for key, st := range ended {
		l.remember(key, st)
	}
	return nil
}
