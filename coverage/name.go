package coverage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// namePrefix begins the keys in bMeta that say where a configured name led to.
const namePrefix = "name" + sep

// nameRow is a name as it was used last.
type nameRow struct {
	Container string `json:"container"`
	Scope     string `json:"scope"` // the key of one with that container
}

// name binds the configured name to the container that it leads to now. A container has one name: where the configuration calls
// it otherwise, the old name is free.
func (b *beginning) name() error {
	if b.plan.Name == "" {
		return nil
	}
	sc := b.st.Scope
	key := namesOf(sc) + part(strings.ToLower(b.plan.Name))
	var have nameRow
	known, err := b.tx.loadJSON(bMeta, key, &have)
	switch {
	case err != nil:
		return err
	case known && have.Container != sc.Container:
		return fmt.Errorf("%w: %s was container %s and is %s now; when that is meant, forget the old one with `poll state reset --scope '%s'`",
			ErrName, b.plan.Name, have.Container, sc.Container, have.Scope)
	case known:
		return nil
	}
	b.changed = true
	if err := b.tx.unname(sc); err != nil {
		return err
	}
	return b.tx.saveJSON(bMeta, key, nameRow{Scope: sc.Key(), Container: sc.Container})
}

// namesOf begins the keys of the names of one provider and kind.
func namesOf(sc scope.Scope) string {
	return namePrefix + keyOf(part(sc.Provider), part(sc.Tenant), part(string(sc.Kind))) + sep
}

// unname frees the names of the scope's container.
func (t txn) unname(sc scope.Scope) error {
	var keys []string
	err := t.each(bMeta, namesOf(sc), func(k string, v []byte) error {
		var n nameRow
		err := decodeJSON(bMeta, k, v, &n)
		if n.Container == sc.Container {
			keys = append(keys, k)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := t.Delete(bMeta, k); err != nil {
			return err
		}
	}
	return nil
}

// Named is a name that the configuration used, and how far the changes of its container were read: the earliest frontier of its
// walks, zero when there is none.
type Named struct {
	Provider, Kind, Name string // the name in lower case
	Frontier             time.Time
}

// Names lists the configured names, so that a poller can begin with what was not read for longest.
func (l *Ledger) Names(ctx context.Context) ([]Named, error) {
	var out []Named
	err := l.viewAll(ctx, func(tx txn) error {
		return tx.each(bMeta, namePrefix, func(k string, v []byte) error {
			var row nameRow
			if err := decodeJSON(bMeta, k, v, &row); err != nil {
				return err
			}
			var n Named
			for i, p := range strings.Split(strings.TrimPrefix(k, namePrefix), sep) {
				text, err := unpart(p)
				if err != nil {
					return err
				}
				if into := []*string{&n.Provider, nil, &n.Kind, &n.Name}; i < len(into) && into[i] != nil {
					*into[i] = text
				}
			}
			var err error
			n.Frontier, err = tx.readUpTo(row.Scope)
			out = append(out, n)
			return err
		})
	})
	return out, err
}

// readUpTo is the earliest frontier of a scope.
func (t txn) readUpTo(key string) (at time.Time, err error) {
	st, err := readScope(t, key)
	if err != nil || st == nil {
		return at, err
	}
	err = t.each(bWalk, st.SID+sep, func(k string, v []byte) error {
		var w walkRow
		err := decodeJSON(bWalk, k, v, &w)
		if at.IsZero() || w.Frontier.Before(at) {
			at = w.Frontier
		}
		return err
	})
	return at, err
}
