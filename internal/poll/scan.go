package poll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/scope"
)

// scan pages through a walk. Each page is committed before the next is asked for, without waiting for other reads: what
// needs more facts becomes an appointment in the same transaction.
func (r *run) scan(ctx context.Context, t *coverage.Task, w adapters.Walk) error {
	at := adapters.Position{Since: t.From, Until: t.To, Cursor: t.Cursor}
	for page, err := range r.t.session.Pages(ctx, r.plan, w, at) {
		if err != nil {
			return err
		}
		if err := r.page(ctx, t, w, &page); err != nil {
			return err
		}
		if r.engine.opt.Progress != nil {
			r.engine.opt.Progress(r.sum.Scope+" "+r.sum.Kind, w.Name, t.Entities, page.Total)
		}
	}
	return ctx.Err()
}

// page turns one page into records and commits them.
func (r *run) page(ctx context.Context, t *coverage.Task, w adapters.Walk, p *adapters.Page) error {
	prog := coverage.Progress{Next: p.Next, Rows: len(p.Items), Other: p.Other}
	if p.Short != nil {
		prog.Short, prog.Capped = p.Short.Error(), errors.Is(p.Short, adapters.ErrCapped)
	}
	items := r.admissible(p.Items, &prog)
	known, err := r.led().Entities(ctx, r.sc, identities(items))
	if err != nil {
		return errLedger{err}
	}
	recs := make([]coverage.Record, 0, len(items))
	for i := range items {
		it := &items[i]
		if it.Number != 0 {
			prog.Met = append(prog.Met, it.Number)
		}
		ent, seen := known[it.Ref.Identity]
		recs = append(recs, r.row(ctx, it, w, t.Kind, &ent, seen))
	}
	r.sum.Scanned += len(items)
	out, err := r.led().CommitPage(ctx, t, prog, recs)
	if err != nil {
		return errLedger{err}
	}
	r.sum.add(out)
	return nil
}

// admissible keeps the items whose place is proven, each entity once (the newest of one page). What cannot be proven
// makes the page short; what is proven to be elsewhere is only counted.
func (r *run) admissible(items []adapters.Item, prog *coverage.Progress) []adapters.Item {
	out := make([]adapters.Item, 0, len(items))
	at := make(map[scope.Identity]int, len(items))
	for _, it := range items {
		if err := r.sc.Check(it.Place); err != nil {
			if errors.Is(err, scope.ErrOutside) {
				r.sum.Outside++
				r.log.Warn("result outside the scope dropped", "entity", it.Ref.Key, "reason", err)
			} else if prog.Short == "" {
				prog.Short = fmt.Sprintf("%s: %v", it.Ref.Key, err)
			}
			continue
		}
		if i, ok := at[it.Ref.Identity]; ok {
			if it.Updated.After(out[i].Updated) {
				out[i] = it
			}
			continue
		}
		at[it.Ref.Identity] = len(out)
		out = append(out, it)
	}
	return out
}

func identities(items []adapters.Item) []scope.Identity {
	ids := make([]scope.Identity, len(items))
	for i := range items {
		ids[i] = items[i].Ref.Identity
	}
	return ids
}

// row makes the record of one listing row.
func (r *run) row(ctx context.Context, it *adapters.Item, w adapters.Walk, kind coverage.TaskKind, ent *coverage.Entity, seen bool) coverage.Record {
	rec := coverage.Record{Ref: it.Ref, Token: it.Token, Updated: it.Updated, ReadAt: it.ReadAt}
	switch {
	case it.State == adapters.Gone:
		rec.Gone = true
	case it.State == adapters.Unreadable || w.Pointers || it.Facts == nil:
		rec.Pointer, rec.Token = true, ""
		rec.Again = []coverage.Appointment{{Why: coverage.WhyPointer, At: r.clock, Cause: cause(it.Err)}}
	case seen && kind != coverage.Turn && r.settled(it, w, ent):
		rec.Same = true
	default:
		r.judge.row(ctx, it, &rec, ent, kind == coverage.Turn)
	}
	return rec
}

// settled reports that the row shows what was judged before by the same plan, in a read that came late enough to have
// seen everything of that instant.
func (r *run) settled(it *adapters.Item, w adapters.Walk, ent *coverage.Entity) bool {
	return it.Token != "" && it.Token == ent.Token && ent.Judged == r.t.comp.hash &&
		!ent.Gone && ent.ReadAt.After(it.Updated.Add(w.Lag))
}

func cause(err *adapters.Error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// probe asks for the numbers that a finished turn of a dense sweep did not meet: gone, of the other kind, or missed.
func (r *run) probe(ctx context.Context) error {
	p, ok := r.t.session.(adapters.Prober)
	if !ok {
		return nil
	}
	tasks, err := r.led().Next(ctx, r.sc, r.clock, coverage.Policy{SweepEvery: forever, RecheckEvery: forever})
	if err != nil {
		return errLedger{err}
	}
	for i := range tasks {
		if t := &tasks[i]; t.Kind == coverage.Probe {
			if err := r.probeNumbers(withShare(ctx, shareSweep), p, t); err != nil {
				return err
			}
		}
	}
	return r.agenda(withShare(ctx, shareAgenda))
}

const forever = 100 * 365 * 24 * time.Hour

func (r *run) probeNumbers(ctx context.Context, p adapters.Prober, t *coverage.Task) error {
	for len(t.Numbers) > 0 {
		n := min(len(t.Numbers), r.engine.opt.Batch)
		items, err := p.Probe(ctx, t.Numbers[:n])
		if err != nil {
			return r.broken(ctx, t, err)
		}
		if err := r.probed(ctx, t, t.Numbers[:n], items); err != nil {
			return err
		}
		t.Numbers = t.Numbers[n:]
	}
	out, err := r.led().Close(ctx, t, r.clock)
	if err != nil {
		return errLedger{err}
	}
	r.sum.add(out)
	return nil
}

// probed commits one batch of answers. A number whose answer proves nothing stays owed.
func (r *run) probed(ctx context.Context, t *coverage.Task, numbers []int64, items []adapters.Item) error {
	prog := coverage.Progress{Rows: len(items)}
	var recs []coverage.Record
	for i := range items {
		it := &items[i]
		switch it.State {
		case adapters.Gone:
			prog.Other = append(prog.Other, numbers[i])
		case adapters.Present:
			if err := r.sc.Check(it.Place); err != nil {
				prog.Short = err.Error()
				continue
			}
			rec := coverage.Record{Ref: it.Ref, Token: it.Token, Updated: it.Updated, ReadAt: it.ReadAt}
			r.judge.row(ctx, it, &rec, &coverage.Entity{}, true)
			recs = append(recs, rec)
			prog.Met = append(prog.Met, numbers[i])
		default:
			prog.Short = cause(it.Err)
		}
	}
	out, err := r.led().CommitPage(ctx, t, prog, recs)
	if err != nil {
		return errLedger{err}
	}
	r.sum.add(out)
	return nil
}

// due makes the appointment at which time alone may change a verdict.
func due(until time.Time) []coverage.Appointment {
	if until.IsZero() {
		return nil
	}
	return []coverage.Appointment{{Why: coverage.WhyDue, At: until}}
}
