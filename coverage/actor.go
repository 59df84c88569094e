package coverage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// actorRow is an actor on whom stored verdicts rest. Asked is when the role was last asked for, with or without an
// answer; Actor.At is when it was last verified.
type actorRow struct {
	Actor
	Asked time.Time
}

func askKey(sid string, a *actorRow) string { return keyOf(sid, stamp(a.Asked), part(a.ID)) }

func actorKey(sid, id string) string { return keyOf(sid, part(id)) }

func (t txn) actor(sid, id string) (*actorRow, error) {
	var a actorRow
	ok, err := t.loadJSON(bActor, actorKey(sid, id), &a)
	if err != nil || !ok {
		return nil, err
	}
	return &a, nil
}

// putActor writes the actor; asked is when the role was asked for until now, zero for a new one.
func (t txn) putActor(sid string, before, a *actorRow) error {
	if before != nil && !before.Asked.Equal(a.Asked) {
		if err := t.Delete(bAsk, askKey(sid, before)); err != nil {
			return err
		}
	}
	if err := t.save(bAsk, askKey(sid, a), nil); err != nil {
		return err
	}
	return t.saveJSON(bActor, actorKey(sid, a.ID), a)
}

// meetActor learns from a record whom a verdict rests on. A role that differs from the stored one does not replace it:
// the actor is asked soon, since others rest on the actor too. wake says that this verdict was made under an older role.
func (t txn) meetActor(sid string, a Actor, id scope.Identity) (wake bool, err error) {
	have, err := t.actor(sid, a.ID)
	if err != nil {
		return false, err
	}
	a.At = utc(a.At)
	if have == nil {
		return false, t.putActor(sid, nil, &actorRow{Actor: a, Asked: a.At})
	}
	next := *have
	switch {
	case a.Role == "" || a.Role == have.Role && !a.At.After(have.At):
		return false, nil
	case a.Role == have.Role:
		next.At = a.At
		if a.At.After(next.Asked) {
			next.Asked = a.At
		}
	case have.Role == "" && t.restsAlone(sid, a.ID, id):
		next.Actor, next.Asked = a, a.At
	case a.At.After(have.At):
		next.Asked = time.Time{}
	default:
		return true, nil
	}
	return false, t.putActor(sid, have, &next)
}

// restsAlone says that nobody but id rests on the actor.
func (t txn) restsAlone(sid, actor string, id scope.Identity) bool {
	prefix, alone := actorKey(sid, actor)+sep, true
	t.Ascend(bRests, prefix, func(k string, _ []byte) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		alone = k[len(prefix):] == id.String()
		return alone
	})
	return alone
}

// saveRests writes the difference to the index of who rests on whom, and forgets actors on whom nothing rests.
func (t txn) saveRests(sid string, e *entityRow) error {
	id := e.ref.Identity.String()
	for _, a := range e.restsOn {
		if _, had := slices.BinarySearch(e.oldRests, a); had {
			continue
		}
		if err := t.save(bRests, actorKey(sid, a)+sep+id, nil); err != nil {
			return err
		}
	}
	for _, a := range e.oldRests {
		if _, has := slices.BinarySearch(e.restsOn, a); has {
			continue
		}
		if err := t.Delete(bRests, actorKey(sid, a)+sep+id); err != nil {
			return err
		}
		if err := t.forgetActor(sid, a); err != nil {
			return err
		}
	}
	return nil
}

func (t txn) forgetActor(sid, id string) error {
	prefix, used := actorKey(sid, id)+sep, false
	t.Ascend(bRests, prefix, func(k string, _ []byte) bool { used = strings.HasPrefix(k, prefix); return false })
	if used {
		return nil
	}
	a, err := t.actor(sid, id)
	if err != nil || a == nil {
		return err
	}
	if err := t.Delete(bAsk, askKey(sid, a)); err != nil {
		return err
	}
	return t.Delete(bActor, actorKey(sid, id))
}

// ActorsDue returns up to n actors on whom stored verdicts rest and whose role was last asked for before that instant,
// longest ago first.
func (l *Ledger) ActorsDue(ctx context.Context, sc scope.Scope, before time.Time, n int) ([]Actor, error) {
	var out []Actor
	err := l.view(ctx, sc, func(tx txn, st *scopeState) error {
		prefix, limit := st.SID+sep, stamp(before)
		var ids []string
		err := tx.each(bAsk, prefix, func(k string, _ []byte) error {
			at, id, _ := strings.Cut(k[len(prefix):], sep)
			if at >= limit || len(ids) >= n {
				return errStop
			}
			ids = append(ids, id)
			return nil
		})
		for _, id := range ids {
			var a actorRow
			if ok, err := tx.loadJSON(bActor, prefix+id, &a); err != nil {
				return err
			} else if ok {
				out = append(out, a.Actor)
			}
		}
		return err
	})
	return out, err
}

// wakeChunk bounds the entities that one transaction wakes.
const wakeChunk = 500

// NoteRoles stores the roles as read. Every entity that rests on an actor whose role changed gets an appointment; the
// new role is stored last, so that a crash in between repeats the waking. A finding without a role changes nothing but
// when the actor was asked. Actors on whom nothing rests are ignored.
func (l *Ledger) NoteRoles(ctx context.Context, sc scope.Scope, as []Actor) (woken int, err error) {
	for _, a := range as {
		n, err := l.wake(ctx, sc, a)
		woken += n
		if err != nil {
			return woken, err
		}
	}
	return woken, l.update(ctx, sc, func(tx txn, st *scopeState) error {
		changed := false
		for _, a := range as {
			have, err := tx.actor(st.SID, a.ID)
			if err != nil {
				return err
			}
			if have == nil || a.At.Before(have.At) {
				continue
			}
			next := *have
			next.Asked = utc(a.At)
			if a.Role != "" {
				next.Actor = a
				next.At = utc(a.At)
			}
			if err := tx.putActor(st.SID, have, &next); err != nil {
				return err
			}
			changed = true
		}
		if !changed {
			return errUnchanged
		}
		return nil
	})
}

// wake gives everything that rests on a, whose role changed, an appointment.
func (l *Ledger) wake(ctx context.Context, sc scope.Scope, a Actor) (woken int, err error) {
	for from, more := "", true; more; {
		n := 0
		err := l.update(ctx, sc, func(tx txn, st *scopeState) error {
			have, err := tx.actor(st.SID, a.ID)
			if err != nil {
				return err
			}
			if have == nil || a.Role == "" || a.Role == have.Role || a.At.Before(have.At) {
				more = false
				return errUnchanged
			}
			ids, next, err := tx.resting(st.SID, a.ID, from)
			if err != nil {
				return err
			}
			from, more, n = next, next != "", len(ids)
			return tx.wakeAll(st.SID, ids, a)
		})
		if err != nil {
			return woken, err
		}
		woken += n
	}
	return woken, nil
}

// resting returns entity keys that rest on the actor, from one on, and where to go on; "" at the end.
func (t txn) resting(sid, actor, from string) (keys []string, next string, err error) {
	prefix := actorKey(sid, actor) + sep
	err = t.eachFrom(bRests, prefix, max(from, prefix), func(k string, _ []byte) error {
		if len(keys) == wakeChunk {
			next = k
			return errStop
		}
		keys = append(keys, sid+sep+k[len(prefix):])
		return nil
	})
	return keys, next, err
}

func (t txn) wakeAll(sid string, keys []string, a Actor) error {
	for _, k := range keys {
		b, ok, err := t.load(bEntity, k)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		e, err := entityAt(k, b)
		if err != nil {
			return err
		}
		e.appoint(Appointment{Why: WhyRole, At: a.At, Since: a.At})
		if err := t.saveEntity(sid, e); err != nil {
			return err
		}
	}
	return nil
}
