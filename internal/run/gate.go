package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Verdict is what the gate says of one candidate. Only with an empty Outcome may a sandbox start.
type Verdict struct {
	Outcome string // why not: coverage.NotMember, NotTriggered or UnknownRun
	Why     string
	Ref     scope.Ref
	Scope   scope.Scope
	Subject dispatch.Subject
	Key     string              // of the delivery
	Read    *coverage.ReadState // the decision as it was read, as a poller would make it
	About   About               // what the sandbox is told
}

// Starts reports that everything was proven.
func (v *Verdict) Starts() bool { return v.Outcome == "" }

func no(outcome, format string, args ...any) Verdict {
	return Verdict{Outcome: outcome, Why: fmt.Sprintf(format, args...)}
}

// Judge is the whole gate: kill switch, where the entity is, whose word counts, membership and trigger, each on facts
// that it reads now from the authoritative endpoint, with roles that it asks for now. Anything that it cannot learn
// makes the verdict unknown.
func Judge(ctx context.Context, b *Bound, c *Candidate) Verdict {
	if b.Killed {
		return no(coverage.UnknownRun, "kill switch is on: nothing is started")
	}
	ev, login, err := c.event()
	if err != nil {
		return no(coverage.NotTriggered, "%v", err)
	}
	found, v := find(ctx, b, c)
	if len(found) == 0 {
		return v
	}
	out := Verdict{Outcome: coverage.NotMember}
	for i, l := range found {
		l.event, l.login = ev, login
		v := l.judge(ctx)
		if i == 0 || stronger(&v, &out) {
			out = v
		}
	}
	return out
}

// stronger: with several scopes over one entity a harness is a member when it is in one, and unknown before it is none.
func stronger(v, w *Verdict) bool {
	rank := func(v *Verdict) int {
		return slices.Index([]string{coverage.NotMember, coverage.NotTriggered, coverage.UnknownRun, ""}, v.Outcome)
	}
	return rank(v) > rank(w)
}

// find looks for the entity in every target. No target has it: the verdict says why. Several entities fit: nobody can
// know which is meant.
func find(ctx context.Context, b *Bound, c *Candidate) ([]*look, Verdict) {
	var found []*look
	var unsure []error
	for i := range b.Targets {
		t := &b.Targets[i]
		if !t.mayHave(c) {
			continue
		}
		l, err := open(ctx, t, c)
		switch {
		case err == nil:
			found = append(found, l)
		case !errors.Is(err, errElsewhere):
			unsure = append(unsure, fmt.Errorf("%s %s: %w", t.Config.Container, t.Config.Kind, err))
		}
	}
	if len(unsure) > 0 {
		return nil, no(coverage.UnknownRun, "%v", errors.Join(unsure...))
	}
	if len(found) == 0 {
		return nil, no(coverage.NotMember, "no configured scope has an entity %q", clip(c.Ref))
	}
	for _, l := range found[1:] {
		if l.ref.Identity != found[0].ref.Identity {
			return nil, no(coverage.NotMember, "%q is ambiguous: %s or %s", clip(c.Ref), found[0].ref.Identity, l.ref.Identity)
		}
	}
	return found, Verdict{}
}

func clip(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// mayHave leaves out targets that cannot have the entity by what the candidate itself says, to save requests.
func (t *Target) mayHave(c *Candidate) bool {
	id, err := scope.ParseIdentity(c.Identity)
	return err != nil || id.Provider == t.Adapter.Provider() && id.Kind == t.Config.Kind
}

// errElsewhere: the scope was read and does not have the entity.
var errElsewhere = errors.New("not in this scope")

// maxRef bounds what a person or an event may give for a reference, in bytes.
const maxRef = 2048

// open opens a session of its own, checks that the scope is still the one that is meant, and finds the entity there.
func open(ctx context.Context, t *Target, c *Candidate) (*look, error) {
	if len(c.Ref) > maxRef || strings.ContainsFunc(c.Ref, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errElsewhere
	}
	s, err := t.Adapter.Open(ctx, t.Config)
	if err != nil {
		return nil, err
	}
	h, err := s.Health(ctx)
	if err != nil {
		return nil, err
	}
	ref, err := s.Find(ctx, c.Ref)
	if err != nil {
		var ae *adapters.Error
		if errors.Is(err, adapters.ErrNotFound) && errors.As(err, &ae) && ae.Severity == adapters.ItemFailure {
			return nil, errElsewhere
		}
		return nil, err
	}
	if c.Identity != "" && ref.Identity.String() != c.Identity {
		return nil, errElsewhere // the name is another entity's now
	}
	return newLook(t, s, ref, h.Clock, c.Updated), nil
}

// event decodes the candidate's event, afresh for every use. login is what the sender calls the actor: a hint for
// finding the account of the actor's id, never in its place.
func (c *Candidate) event() (e *trigger.Event, login string, err error) {
	if len(c.Event) == 0 {
		return nil, "", nil
	}
	if e, err = trigger.DecodeEvent(bytes.NewReader(c.Event)); err != nil {
		return nil, "", err
	}
	var hint struct {
		Actor struct {
			Login any `json:"login"`
		} `json:"actor"`
	}
	if json.Unmarshal(c.Event, &hint) == nil {
		login, _ = hint.Actor.Login.(string)
	}
	if len(login) > 100 || strings.ContainsFunc(login, unicode.IsControl) {
		login = ""
	}
	return e, login, nil
}

// result completes a verdict with what is known of the entity.
func (l *look) result(v Verdict) Verdict {
	v.Ref, v.Scope = l.ref, l.session.Scope()
	v.Key = coverage.DeliveryKey(l.t.Harness.Name, l.ref.Identity)
	v.Subject = dispatch.SubjectOf(l.ref.Identity, l.proposal())
	return v
}

// proposal is the stable id of the one change proposal that a work item is linked to, as far as facts tell.
func (l *look) proposal() string {
	if l.facts == nil {
		return ""
	}
	return dispatch.Linked(l.facts, l.book.View(l.t.Harness.Threshold))
}

func (l *look) unknown(format string, args ...any) Verdict {
	return l.result(no(coverage.UnknownRun, format, args...))
}

// rounds bounds how often facts are read on before the gate gives up: row, fields, roles, what the trigger reads.
const rounds = 8

// judge reads and decides until nothing that could decide is left to ask.
func (l *look) judge(ctx context.Context) Verdict {
	h := &l.t.Harness
	switch {
	case h.Sourced && len(h.Queries) == 0 && h.Refused:
		return l.unknown("a source of the harness is refused: it may have members here")
	case h.Sourced && len(h.Queries) == 0:
		return l.result(no(coverage.NotMember, "the harness asks about nothing in this scope"))
	case !h.Sourced && l.event == nil:
		return l.result(no(coverage.NotTriggered, "the harness has no sources: only an event can start it"))
	}
	for range rounds {
		if v, done := l.read(ctx); done {
			return v
		}
		if l.facts == nil {
			continue // it changed: all of it is read again
		}
		needs, v := l.decide(ctx)
		if needs == nil {
			return v
		}
		if !l.ask(needs) {
			asked, err := l.roles(ctx, needs)
			if err != nil {
				return l.unknown("roles: %v", err)
			}
			if !asked {
				return l.unknown("%s", l.because(needs, v.Why))
			}
		}
	}
	return l.unknown("facts lead to further facts without end")
}

// read reads what is wanted and checks what came.
func (l *look) read(ctx context.Context) (Verdict, bool) {
	if l.facts != nil && l.want.Empty() {
		return Verdict{}, false
	}
	items, err := l.session.Read(ctx, []scope.Ref{l.ref}, l.want)
	if err != nil {
		return l.unknown("%v", err), true
	}
	if len(items) != 1 {
		return l.unknown("%d answers for one entity", len(items)), true
	}
	return l.take(&items[0])
}

func (l *look) take(it *adapters.Item) (Verdict, bool) {
	switch {
	case it.State == adapters.Gone:
		return l.result(no(coverage.NotMember, "the entity is gone: %v", it.Err)), true
	case it.State != adapters.Present || it.Facts == nil:
		return l.unknown("the entity cannot be read: %v", it.Err), true
	case it.Ref.Identity != l.ref.Identity:
		return l.unknown("the answer is about %s", it.Ref.Identity), true
	}
	if err := l.session.Scope().Check(it.Place); errors.Is(err, scope.ErrOutside) {
		return l.result(no(coverage.NotMember, "%v", err)), true
	} else if err != nil {
		return l.unknown("%v", err), true
	}
	if it.Updated.Before(l.seen) {
		return l.unknown("answer of %s is older than what was seen before, of %s: a replica lags",
			it.Updated.UTC().Format(time.RFC3339), l.seen.UTC().Format(time.RFC3339)), true
	}
	if l.facts != nil && !it.Updated.Equal(l.seen) {
		l.facts, l.known = nil, query.FieldSet{} // it changed between two answers: one moment, or none
		l.changes++
		if l.changes > 3 {
			return l.unknown("the entity changes faster than it can be read"), true
		}
		l.seen, l.want = it.Updated, l.want.Union(l.had)
		return Verdict{}, false
	}
	l.seen, l.ref, l.readAt = it.Updated, it.Ref, it.ReadAt
	if l.facts == nil {
		l.facts = it.Facts
	} else {
		l.facts.Merge(it.Facts)
	}
	l.known, l.had = l.known.Union(l.want), l.had.Union(l.want)
	l.want = query.FieldSet{}
	return Verdict{}, false
}
