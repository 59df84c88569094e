package coverage

import (
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// apply brings what the ledger holds of an entity to what the record says.
func (a *applier) apply(r *Record) error {
	id := r.Ref.Identity
	if _, err := scope.ParseIdentity(id.String()); err != nil {
		return ErrRecord
	}
	e, err := a.tx.entity(a.st.SID, id)
	if err != nil {
		return err
	}
	if e == nil {
		if r.Gone {
			return nil // nothing is owed for what was never known
		}
		e = &entityRow{key: entityKey(a.st.SID, id), ref: r.Ref, pairs: map[string]*pairRow{}}
	}
	if a.turn > e.turn {
		e.turn = a.turn
	}
	if err := a.change(e, r); err != nil {
		return err
	}
	return a.tx.saveEntity(a.st.SID, e)
}

func (a *applier) change(e *entityRow, r *Record) error {
	switch {
	case r.Pointer:
		for _, p := range r.Again {
			if p.Since.IsZero() {
				p.Since = r.ReadAt
			}
			e.appoint(p)
		}
		e.refresh(r.Ref)
		return nil
	case older(e, r):
		a.stale(e, r)
		return nil
	case r.Gone:
		return a.gone(e, r)
	case r.Same && (e.readAt.IsZero() || e.gone):
		// It cannot be the same as something that was never read: look.
		e.appoint(Appointment{Why: WhyPointer, At: r.ReadAt, Since: r.ReadAt})
		return nil
	}
	e.see(r)
	if r.Same {
		return nil
	}
	e.gone = false
	if r.Evidence != nil {
		e.evidence = a.l.capped(r.Evidence)
	}
	if r.Judged == "" {
		e.reappoint(r.Again, r.ReadAt)
		if len(r.RestsOn) > 0 {
			return a.restOn(e, r.RestsOn)
		}
		return nil
	}
	e.judged = r.Judged
	if err := a.judge(e, r); err != nil {
		return err
	}
	e.reappoint(r.Again, r.ReadAt)
	return a.restOn(e, r.RestsOn)
}

// older says that the record is of an older read than what is stored.
func older(e *entityRow, r *Record) bool {
	if !r.ReadAt.Equal(e.readAt) {
		return r.ReadAt.Before(e.readAt)
	}
	return !r.Updated.IsZero() && r.Updated.Before(e.updated)
}

// stale: an older read changes nothing. When it shows something else than what is stored, the entity is looked at
// again: the provider's clock may have stepped back, and then the older stamp is the newer state.
func (a *applier) stale(e *entityRow, r *Record) {
	a.out.Stale++
	if r.Same || r.Token != "" && r.Token == e.token {
		return
	}
	e.appoint(Appointment{Why: WhyPointer, At: e.readAt, Since: r.ReadAt, Cause: "an older read differs"})
}

// gone: pairs leave, appointments are closed; how often a pair entered is remembered.
func (a *applier) gone(e *entityRow, r *Record) error {
	e.readAt = r.ReadAt.UTC()
	e.again, e.evidence = nil, nil
	for s, p := range e.pairs {
		p.along = p.in || p.along && e.gone
		if err := a.leave(e, s); err != nil {
			return err
		}
	}
	e.gone = true
	return a.restOn(e, nil)
}

// see takes over what every read tells.
func (e *entityRow) see(r *Record) {
	e.readAt = r.ReadAt.UTC()
	if r.Token != "" {
		e.token = r.Token
	}
	if !r.Updated.IsZero() {
		e.updated = r.Updated.UTC()
	}
	e.refresh(r.Ref)
}

// refresh takes over aliases, which go stale.
func (e *entityRow) refresh(r scope.Ref) {
	for _, f := range []struct{ have, given *string }{
		{&e.ref.Alias, &r.Alias}, {&e.ref.Key, &r.Key}, {&e.ref.URL, &r.URL},
	} {
		if *f.given != "" {
			*f.have = *f.given
		}
	}
}

func sidOf(key string) string { s, _, _ := strings.Cut(key, sep); return s }

// restOn replaces the actors on whom the verdicts of e rest.
func (a *applier) restOn(e *entityRow, as []Actor) error {
	e.restsOn = nil
	for _, x := range as {
		if x.ID == "" {
			continue
		}
		wake, err := a.tx.meetActor(a.st.SID, x, e.ref.Identity)
		if err != nil {
			return err
		}
		if wake {
			e.appoint(Appointment{Why: WhyRole, At: x.At, Since: x.At, Cause: "judged under an older role"})
		}
		e.restsOn = append(e.restsOn, x.ID)
	}
	slices.Sort(e.restsOn)
	e.restsOn = slices.Compact(e.restsOn)
	return nil
}

// utc is t without zone and monotonic reading.
func utc(t time.Time) time.Time { return t.UTC().Round(0) }
