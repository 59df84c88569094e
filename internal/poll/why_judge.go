package poll

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// explain traces one harness over what was read.
func (r *run) explain(ctx context.Context, w *work, h *Harness, out *WhyHarness) {
	view := r.book.View(h.Threshold)
	now := w.item.ReadAt
	out.Verdict = query.False
	for i, q := range h.Queries {
		id := fmt.Sprintf("%s/%d", h.Name, i)
		for _, ref := range r.sum.Refused {
			if ref.Source == id {
				out.Refused = append(out.Refused, fmt.Sprintf("%s: %s: %s", q.Query(), ref.Field, ref.Why))
			}
		}
		if r.refused[id] {
			continue
		}
		t := q.Explain(w.facts, view, now)
		r.standings(&t.Root, w.facts, h, q.Catalogue())
		out.Queries = append(out.Queries, t)
		out.Verdict = out.Verdict.Or(t.Verdict)
	}
	if len(out.Refused) > 0 && out.Verdict == query.False {
		out.Verdict = query.VerdictUnknown // the refused source might have it
	}
	out.Trigger = &WhyTrigger{Verdict: query.False}
	if h.Trigger == nil {
		out.Trigger.Why = "the harness has no trigger: it is never started automatically"
		return
	}
	res := h.Trigger.Eval(ctx, trigger.Input{Ref: w.item.Ref, Facts: w.facts, View: view, Self: h.Self})
	*out.Trigger = WhyTrigger{Expression: h.Trigger.String(), Verdict: res.Verdict, Why: res.Err}
}

// standings adds to the elements of a trace why they stand as they do.
func (r *run) standings(s *query.Step, f *query.Facts, h *Harness, cat *query.Catalogue) {
	if field, ok := cat.Field(s.Field); ok && len(s.Elements) > 0 {
		items := f.Get(field.ID).Items
		at := make(map[string]*query.Element, len(items))
		for i := range items {
			at[items[i].Key] = &items[i]
		}
		for i := range s.Elements {
			if e := at[s.Elements[i].Key]; e != nil {
				s.Elements[i].Why = r.book.Why(field.ID, e, h.Threshold)
			}
		}
	}
	for i := range s.Steps {
		r.standings(&s.Steps[i], f, h, cat)
	}
}

// stored is what the ledger has of the entity in the scope; nil when it has nothing.
func (a *asking) stored(ctx context.Context, sc scope.Scope, id scope.Identity) (*coverage.Entity, error) {
	if a.engine.opt.Ledger == nil {
		return nil, nil
	}
	es, err := a.engine.opt.Ledger.Lookup(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range es {
		if es[i].Scope == sc {
			return &es[i].Entity, nil
		}
	}
	return nil, nil
}

// remember adds what the ledger holds of the harness and the entity.
func (a *asking) remember(ctx context.Context, ent *coverage.Entity, out *WhyHarness) error {
	if ent == nil {
		return nil
	}
	if p, ok := ent.Pairs[out.Harness]; ok {
		out.Pair = &WhyPair{In: p.In, Undecided: p.Undecided, Entries: p.Entries, Pending: p.Pending, Closed: p.Closed}
		if p.Closed == nil {
			out.Pair.Closed = []string{}
		}
	}
	var rem Remembered
	if json.Unmarshal(ent.Evidence, &rem) == nil {
		if last := rem.Harnesses[out.Harness]; string(last) != "null" {
			out.Last = last
		}
	}
	d, ok, err := a.engine.opt.Ledger.Waiting(ctx, out.Harness, ent.Ref.Identity)
	if ok {
		out.Delivery = &WhyDelivery{Decision: d.Decision, Created: d.Created, Tries: d.Tries, NotBefore: d.NotBefore,
			Lease: d.Lease, Dead: d.Dead, Why: d.Why}
	}
	return err
}

// offline answers from the ledger alone.
func (a *asking) offline(ctx context.Context) (*Why, error) {
	none := fmt.Errorf("%w: %q", ErrNoEntity, a.q.Ref)
	if a.engine.opt.Ledger == nil {
		return nil, none
	}
	es, err := a.engine.opt.Ledger.Find(ctx, a.q.Ref)
	if number, ok := strings.CutPrefix(a.q.Ref, "#"); err == nil && len(es) == 0 && ok {
		es, err = a.engine.opt.Ledger.Find(ctx, number)
	}
	if err != nil {
		return nil, err
	}
	if len(es) == 0 {
		return nil, none
	}
	refs := make([]scope.Ref, len(es))
	for i := range es {
		refs[i] = es[i].Entity.Ref
	}
	w, err := a.answer(refs)
	if err != nil {
		return nil, err
	}
	w.Offline, w.Problems = true, a.problems
	for i := range es {
		s, err := a.fromLedger(ctx, &es[i])
		if err != nil {
			return nil, err
		}
		w.Scopes = append(w.Scopes, s)
	}
	return w, nil
}

func (a *asking) fromLedger(ctx context.Context, se *coverage.ScopedEntity) (WhyScope, error) {
	ent := &se.Entity
	out := WhyScope{Scope: se.Scope.Key(), State: "stored", ReadAt: ent.ReadAt, Updated: ent.Updated, Harnesses: []WhyHarness{}}
	if ent.Gone {
		out.State, out.Problem = "gone", "it was proven to be gone, or to be another entity"
	}
	sweep := time.Duration(0)
	for _, t := range a.engine.targets { // what is configured, if anything is, names the scope
		if sc := t.place.Load(); sc != nil && *sc == se.Scope {
			out.Driver, out.Container, sweep = t.Driver, t.Config.Container, t.Policy.SweepEvery
		}
	}
	names := make([]string, 0, len(ent.Pairs))
	for n := range ent.Pairs {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if !a.asks(n) {
			continue
		}
		wh := WhyHarness{Harness: n, Verdict: query.False}
		if err := a.remember(ctx, ent, &wh); err != nil {
			return out, err
		}
		switch p := wh.Pair; {
		case p.Undecided:
			wh.Verdict = query.VerdictUnknown
		case p.In:
			wh.Verdict = query.True
		}
		out.Harnesses = append(out.Harnesses, wh)
	}
	for _, id := range ent.RestsOn {
		out.Actors = append(out.Actors, admission.Evidence{Actor: id, Why: "the verdict rests on this account's role"})
	}
	out.Coverage = a.coverage(se.Scope, ent, ent.Updated, out.Driver, sweep)
	return out, nil
}

// coverage is what the ledger knows around the entity, and what will look at it next.
func (a *asking) coverage(sc scope.Scope, ent *coverage.Entity, updated time.Time, driver string, every time.Duration) WhyCoverage {
	out := WhyCoverage{Again: []WhyLook{}, Walks: []coverage.WalkSnapshot{}, Sweeps: []coverage.SweepSnapshot{}, Notes: []string{}}
	for i := range a.snap.Cycles {
		if a.snap.Cycles[i].Driver == driver {
			out.Cycle = &a.snap.Cycles[i]
		}
	}
	begun := false
	for i := range a.snap.Scopes {
		if s := &a.snap.Scopes[i]; s.Scope == sc {
			begun, out.Walks, out.Sweeps = true, s.Walks, s.Sweeps
		}
	}
	if ent != nil {
		out.Known, out.ReadAt = true, ent.ReadAt
		for _, x := range ent.Again {
			out.Again = append(out.Again, WhyLook(x))
		}
		slices.SortFunc(out.Again, func(x, y WhyLook) int { return x.At.Compare(y.At) })
	}
	out.Next = nextSweep(out.Sweeps, every)
	switch {
	case !begun:
		out.Notes = append(out.Notes, "not covered yet: the scope was never polled; the first cycle reads it")
	case ent == nil:
		out.Notes = append(out.Notes, "not covered yet, next sweep "+sweepWhen(out.Sweeps, out.Next))
	}
	for i := range out.Walks {
		if n := walkNote(&out.Walks[i], ent, updated); n != "" && begun {
			out.Notes = append(out.Notes, n)
		}
	}
	return out
}

// nextSweep is when the next turn begins; zero when one is owed or under way, or nobody knows.
func nextSweep(ss []coverage.SweepSnapshot, every time.Duration) time.Time {
	var next time.Time
	for i := range ss {
		s := &ss[i]
		if !s.Active || every <= 0 || s.Reading != nil || s.Owed > 0 || s.LastStart.IsZero() {
			continue
		}
		if at := s.LastStart.Add(every); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

func sweepWhen(ss []coverage.SweepSnapshot, next time.Time) string {
	for i := range ss {
		switch s := &ss[i]; {
		case !s.Active:
		case s.Reading != nil:
			return fmt.Sprintf("under way: it has read %d entities so far", s.Reading.Entities)
		case s.Owed > 0 && !s.Next.IsZero():
			return "owed, not before " + s.Next.UTC().Format(time.RFC3339)
		case s.Owed > 0 || s.LastStart.IsZero():
			return "owed: it begins with the next cycle"
		}
	}
	if next.IsZero() {
		return "at a time that only the configuration knows"
	}
	return "at " + next.UTC().Format(time.RFC3339)
}

// walkNote says whether a walk has shown the entity's last change.
func walkNote(w *coverage.WalkSnapshot, ent *coverage.Entity, updated time.Time) string {
	if !w.Active || updated.IsZero() {
		return ""
	}
	for _, g := range w.Gaps {
		if !updated.Before(g.From) && updated.Before(g.To) {
			return fmt.Sprintf("its last change lies in a gap of %s, which is read again at %s: %s", w.Name, g.Next.UTC().Format(time.RFC3339), g.Why)
		}
	}
	switch {
	case ent != nil && !ent.Updated.Before(updated):
		return ""
	case !updated.Before(w.Provisional):
		return fmt.Sprintf("its last change is newer than what %s covers for good (%s): the next window shows it", w.Name, w.Provisional.UTC().Format(time.RFC3339))
	case ent == nil:
		return fmt.Sprintf("its last change is older than the window of %s: the sweep shows it", w.Name)
	}
	return fmt.Sprintf("%s has covered its last change and has not shown it: the sweep will count a miss", w.Name)
}
