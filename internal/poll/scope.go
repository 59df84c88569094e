package poll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/scope"
)

// target is a Target with what stays between cycles.
type target struct {
	*Target
	session adapters.Session
	read    time.Time // when something of it was read last, or how far; for the order of a cycle
	comp    *compiled
	place   atomic.Pointer[scope.Scope] // of the session, for those who are not in its cycle
	batch   int                         // entities that the agenda looks at together: fewer where the budget is small
}

// open opens the session once; a failure is tried again by the next cycle.
func (t *target) open(ctx context.Context) error {
	if t.comp == nil {
		c, err := compile(t.Target)
		if err != nil {
			return err
		}
		t.comp = c
	}
	if t.session != nil {
		return nil
	}
	s, err := t.Adapter.Open(ctx, t.Config)
	if err != nil {
		return err
	}
	t.session = s
	sc := s.Scope()
	t.place.Store(&sc)
	return nil
}

// run is one cycle of one target.
type run struct {
	engine *Engine
	t      *target
	sum    *Summary
	log    *slog.Logger

	sc      scope.Scope
	clock   time.Time // the provider's, before anything was read
	plan    adapters.Plan
	book    *admission.Book
	refused map[string]bool // source ids
	judge   *judge
	stuck   map[string]int // failures by cause, for the summary
	divided bool           // a window was cut off, and its halves are due
}

// run goes through a cycle in the order in which work may be starved least: identity, windows, agenda, sweep, agenda.
func (r *run) run(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	tasks, err := r.led().Next(ctx, r.sc, r.clock, r.t.Policy)
	if err != nil {
		return errLedger{err}
	}
	for _, windows := range []bool{true, false} {
		for i := range tasks {
			if windows != (tasks[i].Kind == coverage.Tail || tasks[i].Kind == coverage.Gap) {
				continue
			}
			if err := r.task(ctx, &tasks[i]); err != nil {
				return err
			}
		}
		if err := r.halves(ctx); err != nil {
			return err
		}
		looks := shareAgenda
		if windows {
			looks = shareLooks
			if err := r.recheck(withShare(ctx, looks)); err != nil {
				return err
			}
		}
		if err := r.agenda(withShare(ctx, looks)); err != nil {
			return err
		}
	}
	return r.probe(ctx)
}

// halves reads windows that the provider cut off again, in halves: the earliest first, so that few are open at a time, until
// each fits or cannot be divided.
func (r *run) halves(ctx context.Context) error {
	for r.divided {
		r.divided = false
		tasks, err := r.led().Next(ctx, r.sc, r.clock, coverage.Policy{SweepEvery: forever, RecheckEvery: forever})
		if err != nil {
			return errLedger{err}
		}
		for i := range tasks {
			if tasks[i].Kind != coverage.Gap || r.divided {
				continue
			}
			if err := r.task(ctx, &tasks[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin opens the session, checks that it is still the scope that it was, compiles, and registers the plan.
func (r *run) begin(ctx context.Context) error {
	ctx = withShare(ctx, shareSetup)
	if err := r.t.open(ctx); err != nil {
		return err
	}
	h, err := r.t.session.Health(ctx)
	if err != nil {
		r.t.session = nil
		return err
	}
	r.prepare(ctx, h)
	for _, w := range h.Warnings { // now, not when everything was read: a first scan may take hours
		r.log.Warn(w)
	}
	stored, err := r.led().Sources(ctx, r.sc)
	if err != nil {
		return errLedger{err}
	}
	err = r.led().Begin(ctx, r.sc, r.t.comp.ledgerPlan(r.t.Target, r.plan.Walks(), stored), r.clock)
	if err != nil && !errors.Is(err, coverage.ErrClock) && !errors.Is(err, coverage.ErrName) { // no reason to stop the others
		return errLedger{err}
	}
	return err
}

// prepare compiles the search and makes an empty book of roles.
func (r *run) prepare(ctx context.Context, h adapters.Health) {
	r.sc, r.clock = r.t.session.Scope(), h.Clock
	r.sum.In = r.sc
	r.sum.Warnings = append(r.sum.Warnings, h.Warnings...)
	r.plan, r.sum.Refused = r.t.session.Compile(ctx, r.t.comp.sources)
	r.refused = map[string]bool{}
	for _, ref := range r.sum.Refused {
		r.refused[ref.Source] = true
	}
	r.book = admission.New(admission.Config{Accounts: r.t.Bots, EditFloor: r.t.Adapter.EditFloor})
	r.judge = newJudge(r)
	r.stuck = map[string]int{}
}

func (r *run) led() *coverage.Ledger { return r.engine.opt.Ledger }

// task reads one task to its end, or as far as it gets. Only the ledger's errors are returned.
func (r *run) task(ctx context.Context, t *coverage.Task) error {
	switch t.Kind {
	case coverage.Probe:
		return nil // after the sweep, see probe
	case coverage.Turn:
		ctx = withShare(ctx, shareSweep)
	default:
		ctx = withShare(ctx, shareWindows)
	}
	w, ok := walkOf(r.plan, t.Walk)
	if !ok {
		return nil // a walk of an earlier plan; the ledger keeps its place
	}
	err := r.scan(ctx, t, w)
	var led errLedger
	switch {
	case err == nil:
		r.sum.Read = true
		out, err := r.led().Close(ctx, t, r.clock)
		if err != nil {
			return errLedger{err}
		}
		r.sum.add(out)
		switch {
		case out.Divided: // each half says for itself whether it was read
			r.divided = true
		case t.Short != "":
			r.sum.incomplete(fmt.Sprintf("%s %s: %s", t.Kind, t.Walk, t.Short))
		}
		return nil
	case errors.As(err, &led) || ctx.Err() != nil:
		return err
	default:
		return r.broken(ctx, t, err)
	}
}

// broken notes that a task ended early: it stays open in the ledger and is read on by a later cycle.
func (r *run) broken(ctx context.Context, t *coverage.Task, err error) error {
	f := coverage.Failure{Why: err.Error(), Reset: errors.Is(err, adapters.ErrCursor)}
	var ae *adapters.Error
	if errors.As(err, &ae) {
		f.Scope, f.After = ae.Severity == adapters.ScopeFailure, ae.After
	}
	if t.Pages > 0 {
		r.sum.Read = true
	}
	r.sum.fail(fmt.Errorf("%s %s: %w", t.Kind, t.Walk, err))
	if errors.Is(err, adapters.ErrBudget) {
		return nil // no failure: the task stays open, and the next cycle's budget reads on
	}
	if err := r.led().Fail(ctx, t, f, r.clock); err != nil {
		return errLedger{err}
	}
	return nil
}

func walkOf(p adapters.Plan, name string) (adapters.Walk, bool) {
	for _, w := range p.Walks() {
		if w.Name == name {
			return w, true
		}
	}
	return adapters.Walk{}, false
}
