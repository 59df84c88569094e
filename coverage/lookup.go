package coverage

import (
	"context"
	"fmt"
	"strings"

	"github.com/fullsend-ai/discovery/scope"
)

// Entities returns what the ledger holds of the given entities; what it does not know is absent.
func (l *Ledger) Entities(ctx context.Context, sc scope.Scope, ids []scope.Identity) (map[scope.Identity]Entity, error) {
	out := make(map[scope.Identity]Entity, len(ids))
	err := l.view(ctx, sc, func(tx txn, st *scopeState) error {
		for _, id := range ids {
			e, err := tx.entity(st.SID, id)
			if err != nil {
				return err
			}
			if e != nil {
				out[id] = e.public()
			}
		}
		return nil
	})
	return out, err
}

// ScopedEntity is an entity in one scope.
type ScopedEntity struct {
	Scope  scope.Scope
	Entity Entity
}

// Lookup finds an entity in every scope that knows it.
func (l *Ledger) Lookup(ctx context.Context, id scope.Identity) ([]ScopedEntity, error) {
	var out []ScopedEntity
	err := l.viewAll(ctx, func(tx txn) error {
		return tx.eachScope(func(st *scopeRow) error {
			e, err := tx.entity(st.SID, id)
			if err != nil || e == nil {
				return err
			}
			out = append(out, ScopedEntity{Scope: st.Scope, Entity: e.public()})
			return nil
		})
	})
	return out, err
}

// maxFound bounds what a text may find.
const maxFound = 50

// Find finds entities by what people write: the canonical identity, a key, an alias or a URL, in any case of ASCII. It
// looks through all that is stored, and returns at most 50.
func (l *Ledger) Find(ctx context.Context, text string) ([]ScopedEntity, error) {
	if id, err := scope.ParseIdentity(text); err == nil {
		return l.Lookup(ctx, id)
	}
	if text == "" {
		return nil, nil
	}
	var out []ScopedEntity
	err := l.viewAll(ctx, func(tx txn) error {
		return tx.eachScope(func(st *scopeRow) error {
			return tx.each(bEntity, st.SID+sep, func(k string, v []byte) error {
				e, err := entityAt(k, v)
				if err != nil {
					return err
				}
				for _, s := range []string{e.ref.Key, e.ref.Alias, e.ref.URL} {
					if strings.EqualFold(s, text) {
						out = append(out, ScopedEntity{Scope: st.Scope, Entity: e.public()})
						break
					}
				}
				if len(out) == maxFound {
					return errStop
				}
				return nil
			})
		})
	})
	return out, err
}

// viewAll runs f over one consistent state of all scopes.
func (l *Ledger) viewAll(ctx context.Context, f func(txn) error) error {
	if err := l.store.View(ctx, func(tx Tx) error { return f(txn{tx}) }); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Waiting returns what waits in the outbox for a source and an entity.
func (l *Ledger) Waiting(ctx context.Context, source string, id scope.Identity) (d Delivery, ok bool, err error) {
	err = l.viewAll(ctx, func(tx txn) error {
		row, err := tx.row(deliveryKey(source, id))
		if err == nil && row != nil {
			d, ok = row.Delivery, true
		}
		return err
	})
	return d, ok, err
}
