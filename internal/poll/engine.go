package poll

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Harness is one harness as the cycle of one scope sees it: it is a member when one of its queries is true, and unknown
// when none is true and one is unknown.
type Harness struct {
	Name      string
	Queries   []*query.Bound
	Threshold adapters.Role
	Trigger   *trigger.Program // nil: never started automatically
	Self      string           // stable id of the account as which it writes; "" when none is configured
	Role      string           // the platform role
	Revision  string           // of the harness file, for records
}

// Target is one configured container and kind with everything that asks about it.
type Target struct {
	Driver    string // name of the input driver
	Adapter   adapters.Adapter
	Config    adapters.Config
	Meter     *Meter
	Lane      *Lane // of Meter, and Config.Budget: counts what this target sends
	Harnesses []Harness
	Bots      map[string]adapters.Role // accounts by stable id whose role is configured
	Policy    coverage.Policy
}

// Options of an engine.
type Options struct {
	Ledger  *coverage.Ledger
	Targets []Target
	Log     *slog.Logger
	// Batch is how many entities are settled in one transaction.
	Batch int
	// Concurrency bounds how many scopes run at once.
	Concurrency int
	// Progress, when set, is told how far a walk has come.
	Progress func(scope, walk string, done, total int)
}

// Engine runs cycles. Sessions stay open between cycles.
type Engine struct {
	opt     Options
	targets []*target

	retiring sync.Mutex
	retired  []scope.Scope // where the targets were when sources were last retired
}

// New makes an engine over an open ledger.
func New(opt Options) *Engine {
	if opt.Batch == 0 {
		opt.Batch = 50
	}
	if opt.Concurrency == 0 {
		opt.Concurrency = 4
	}
	e := &Engine{opt: opt}
	for i := range opt.Targets {
		e.targets = append(e.targets, &target{Target: &opt.Targets[i]})
	}
	return e
}

// Cycle runs one cycle over every target and returns one summary each, in order. A failure of one target never stops
// another; it is in its summary. The error is about the ledger, after which nothing more was tried.
func (e *Engine) Cycle(ctx context.Context) ([]Summary, error) {
	return e.CycleOf(ctx, func(*Target) bool { return true })
}

// CycleOf is Cycle over the targets that are picked. Cycles over different targets may run at the same time; a target
// is in one cycle at a time. What was not read for longest begins, so that a limit which does not suffice for all starves none.
func (e *Engine) CycleOf(ctx context.Context, pick func(*Target) bool) ([]Summary, error) {
	var picked []*target
	for _, t := range e.targets {
		if pick(t.Target) {
			picked = append(picked, t)
		}
	}
	for m, lanes := range lanesOf(picked) {
		m.Begin(lanes...)
	}
	order, err := e.order(ctx, picked)
	if err != nil {
		return nil, err
	}
	sums := make([]Summary, len(picked))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.opt.Concurrency)
	for _, i := range order {
		t := picked[i]
		g.Go(func() error {
			start := time.Now()
			defer t.Lane.done()
			err := e.cycle(ctx, t, &sums[i])
			sums[i].Took = time.Since(start)
			if sums[i].Read {
				t.read = start
			}
			return err
		})
	}
	err = g.Wait()
	if err == nil {
		err = e.retire(context.WithoutCancel(ctx))
	}
	return sums, err
}

// order is the order in which targets begin: by when they were read last, as configured where that is the same. A process that has just
// begun asks the ledger.
func (e *Engine) order(ctx context.Context, ts []*target) ([]int, error) {
	order := make([]int, len(ts))
	first := true
	for i, t := range ts {
		order[i] = i
		first = first && t.read.IsZero()
	}
	if first && len(ts) > 1 {
		names, err := e.opt.Ledger.Names(ctx)
		if err != nil {
			return nil, errLedger{err}
		}
		upTo := make(map[[3]string]time.Time, len(names))
		for _, n := range names {
			upTo[[3]string{n.Provider, n.Kind, n.Name}] = n.Frontier
		}
		for _, t := range ts {
			t.read = upTo[[3]string{t.Adapter.Provider(), string(t.Config.Kind), strings.ToLower(t.Config.Container)}]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return ts[a].read.Compare(ts[b].read) })
	return order, nil
}

// retire takes the sources that nobody asks for any more out of the plan: what waits for them must not go out, also while
// their scope cannot be read. A scope in the ledger may be any target's whose own is not known yet.
func (e *Engine) retire(ctx context.Context) error {
	e.retiring.Lock()
	defer e.retiring.Unlock()
	places := make([]scope.Scope, len(e.targets))
	for i, t := range e.targets {
		if sc := t.place.Load(); sc != nil {
			places[i] = *sc
		}
	}
	if e.retired != nil && slices.Equal(places, e.retired) {
		return nil // nothing has changed since
	}
	asked := make([]map[string]bool, len(e.targets))
	for i, t := range e.targets {
		asked[i] = make(map[string]bool, len(t.Harnesses))
		for _, h := range t.Harnesses {
			asked[i][h.Name] = true
		}
	}
	err := e.opt.Ledger.Retire(ctx, func(sc scope.Scope, source string) bool {
		for i, t := range e.targets {
			unknown := places[i] == scope.Scope{} && t.Config.Kind == sc.Kind
			if (unknown || places[i] == sc) && asked[i][source] {
				return true
			}
		}
		return false
	})
	if err != nil {
		return errLedger{err}
	}
	e.retired = places
	return nil
}

// lanesOf lists the lanes of each credential.
func lanesOf(ts []*target) map[*Meter][]*Lane {
	out := map[*Meter][]*Lane{}
	for _, t := range ts {
		out[t.Meter] = append(out[t.Meter], t.Lane)
	}
	return out
}

// errLedger marks errors after which the cycle must stop: what cannot be recorded must not be done.
type errLedger struct{ error }

func (e errLedger) Unwrap() error { return e.error }

// cycle runs one target. A provider's failure becomes part of the summary, only the ledger's is returned.
func (e *Engine) cycle(ctx context.Context, t *target, sum *Summary) error {
	sum.Driver, sum.Scope, sum.Kind = t.Driver, t.Config.Container, string(t.Config.Kind)
	r := &run{engine: e, t: t, sum: sum, log: e.opt.Log.With("driver", t.Driver, "scope", sum.Scope, "kind", sum.Kind)}
	t.Lane.Counts()
	err := r.run(ctx)
	sum.Requests, sum.Backoff = t.Lane.Counts()
	if err == nil {
		return nil
	}
	var led errLedger
	if errors.As(err, &led) || ctx.Err() != nil {
		return err
	}
	sum.fail(err)
	return nil
}
