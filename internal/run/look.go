package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/acquire"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// look is one entity in one scope, for one sandbox cycle: the evidence on roles is its own.
type look struct {
	t       *Target
	session adapters.Session
	book    *admission.Book
	ref     scope.Ref
	event   *trigger.Event
	login   string // the sender's name for the event's actor

	facts  *query.Facts
	known  query.FieldSet // fields that were read in full
	want   query.FieldSet // fields to read next
	had    query.FieldSet // fields that were ever asked for
	seen   time.Time      // the newest change clock that was met
	readAt time.Time

	changes int
}

func newLook(t *Target, s adapters.Session, ref scope.Ref, clock, seen time.Time) *look {
	return &look{
		t: t, session: s, ref: ref, seen: seen, readAt: clock,
		book: admission.New(admission.Config{Accounts: t.Bots, EditFloor: t.Adapter.EditFloor}),
	}
}

// decide evaluates everything on what is known. Needs are nil when the verdict is final.
func (l *look) decide(ctx context.Context) ([]query.Need, Verdict) {
	h := &l.t.Harness
	view := l.book.View(h.Threshold)
	if l.event != nil {
		needs, v := l.actor()
		if needs != nil || !v.Starts() {
			return needs, v
		}
	}
	member, needs, qs := l.member(view)
	if member == query.False {
		if h.Refused {
			return nil, l.unknown("no usable query matches, and a source of the harness is refused")
		}
		return nil, l.result(no(coverage.NotMember, "%s", l.whyNot(view)))
	}
	res := h.Trigger.Eval(ctx, trigger.Input{Ref: l.ref, Facts: l.facts, View: view, Self: h.Self, Event: l.event})
	switch {
	case res.Verdict == query.False && h.Trigger == nil:
		return nil, l.result(no(coverage.NotTriggered, "the harness has no trigger: it is never started automatically"))
	case res.Verdict == query.False:
		return nil, l.result(no(coverage.NotTriggered, "trigger is false"))
	case member == query.VerdictUnknown:
		return needs, l.unknown("")
	}
	m := acquire.Match{Queries: qs, Trigger: h.Trigger, Self: h.Self, Ref: l.ref, Facts: l.facts, View: view, Event: l.event, Now: l.readAt}
	d := acquire.Decide(ctx, &m, l.stuck)
	if d.Trigger == query.VerdictUnknown {
		if len(d.Needs) == 0 {
			return nil, l.unknown("trigger: %s", d.Why)
		}
		return d.Needs, l.unknown("%s", d.Why)
	}
	v := l.result(Verdict{})
	v.Read = l.polled(ctx, m)
	v.About = l.about(&v, qs, view, d.RestsOn)
	return nil, v
}

// polled is the decision that a poller would make of this state: none where only the event started the run.
func (l *look) polled(ctx context.Context, m acquire.Match) *coverage.ReadState {
	if !l.t.Harness.Sourced {
		return nil
	}
	m.Event = nil
	d := acquire.Decide(ctx, &m, l.stuck)
	if d.Trigger != query.True {
		return nil
	}
	return &coverage.ReadState{Version: l.t.Harness.Version, Digests: d.Digests}
}

// member is membership by the harness's queries; a harness without sources has none to check.
func (l *look) member(view query.View) (query.Verdict, []query.Need, []*query.Bound) {
	if !l.t.Harness.Sourced {
		return query.True, nil, nil
	}
	out := query.False
	var needs []query.Need
	var qs []*query.Bound
	for _, q := range l.t.Harness.Queries {
		r := q.Eval(l.facts, view, l.readAt)
		out = out.Or(r.Verdict)
		needs = append(needs, r.Needs...)
		if r.Verdict == query.True {
			qs = append(qs, q)
		}
	}
	slices.SortFunc(needs, query.Need.Compare)
	return out, slices.Compact(needs), qs
}

func (l *look) whyNot(query.View) string {
	texts := make([]string, 0, len(l.t.Harness.Queries))
	for _, q := range l.t.Harness.Queries {
		texts = append(texts, q.Query().String())
	}
	return "no query of the harness matches: " + strings.Join(texts, "; ")
}

// stuck tells needs that were asked for in this cycle and could not be met.
func (l *look) stuck(n query.Need) bool {
	return n.Actor != "" && len(l.book.Missing([]query.Need{n}, nil)) == 0
}

// ask takes up fields that were not read yet, and reports whether there were any.
func (l *look) ask(needs []query.Need) bool {
	for _, n := range needs {
		if n.Actor == "" && !l.known.Has(n.Field) {
			l.want.Add(n.Field)
		}
	}
	return !l.want.Empty()
}

// roles looks up the actors that a verdict depends on, and reports whether there were any left to ask about.
func (l *look) roles(ctx context.Context, needs []query.Need) (bool, error) {
	users := admission.Users(l.facts)
	if l.event != nil {
		id := string(l.event.Actor.ID)
		if _, ok := users[id]; !ok {
			// Adapters take a login for a hint and prove the id.
			users[id] = query.User{ID: id, Login: cmp.Or(l.login, id)}
		}
	}
	missing := l.book.Missing(needs, users)
	if len(missing) == 0 {
		return false, nil
	}
	found, err := l.session.Roles(ctx, missing)
	if err != nil {
		return false, err
	}
	if len(found) != len(missing) {
		return false, fmt.Errorf("%w: %d answers about %d actors", adapters.ErrProtocol, len(found), len(missing))
	}
	for i := range found {
		if found[i].Actor.ID != missing[i].ID {
			return false, fmt.Errorf("%w: an answer about another actor", adapters.ErrProtocol)
		}
	}
	l.book.Learn(found)
	return true, nil
}

// because says what kept the verdict open after everything was asked.
func (l *look) because(needs []query.Need, why string) string {
	for _, n := range needs {
		if c, ok := l.book.CauseOf(n.Actor); ok {
			return c.String()
		}
	}
	for _, n := range needs {
		if f := l.facts.Get(n.Field); f.Presence != query.Known && f.Why != "" {
			return f.Why
		}
	}
	if why != "" {
		return why
	}
	return "what would decide it was not given by the provider"
}
