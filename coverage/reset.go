package coverage

import (
	"context"
	"strings"

	"github.com/fullsend-ai/discovery/scope"
)

// Reset forgets everything about one scope in one transaction: what it covered, its entities, its pairs and what waits in
// the outbox for them. The next cycle reads the scope as for the first time, and may emit again what was answered. It
// says whether the scope was known.
func (l *Ledger) Reset(ctx context.Context, sc scope.Scope) (bool, error) {
	key := sc.Key()
	known := false
	err := l.updateAll(ctx, func(tx txn) error {
		st, err := readScope(tx, key)
		if err != nil {
			return err
		}
		if known = st != nil; !known {
			return errUnchanged
		}
		if err := tx.unname(sc); err != nil {
			return err
		}
		return tx.forget(key, st.SID)
	})
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.scopes, key)
	return known, nil
}

func (t txn) forget(key, sid string) error {
	var rows []*outRow
	err := t.each(bOutbox, "", func(k string, v []byte) error {
		r := &outRow{}
		if err := decodeJSON(bOutbox, k, v, r); err != nil {
			return err
		}
		if r.SID == sid {
			rows = append(rows, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := t.deleteRow(r); err != nil {
			return err
		}
	}
	var pairs []string
	t.Ascend(bPair, "", func(k string, v []byte) bool {
		if b, err := unseal(bPair, k, v); err != nil || string(b) == sid {
			pairs = append(pairs, k)
		}
		return true
	})
	for _, k := range pairs {
		if err := t.Delete(bPair, k); err != nil {
			return err
		}
	}
	for _, b := range []string{bSource, bWalk, bRange, bSweep, bDebt, bNumber, bEntity, bAgenda, bRests, bActor, bAsk} {
		var keys []string
		t.Ascend(b, sid+sep, func(k string, _ []byte) bool { // values are not looked at: damaged ones go, too
			if !strings.HasPrefix(k, sid+sep) {
				return false
			}
			keys = append(keys, k)
			return true
		})
		for _, k := range keys {
			if err := t.Delete(b, k); err != nil {
				return err
			}
		}
	}
	return t.Delete(bScope, key)
}
