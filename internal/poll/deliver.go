package poll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/scope"
)

// lease is how long a driver may take for one batch before its rows count as lost.
const lease = 15 * time.Minute

// batch is how many rows are claimed at once: what a crash may hand over twice.
const batch = 100

// asked is about how many rows a driver is asked at once.
const asked = 1000

// Hand is how candidates leave the ledger.
type Hand struct {
	Driver dispatch.Driver
	Spec   string
	Target string // target repository
	Now    func() time.Time
	Limit  int // most rows of this call; 0: no limit
	// Told, when set, is called for every row that the driver was asked about.
	Told func(sc scope.Scope, taken bool)
}

// Deliver hands over what waits in the outbox, oldest first, and records every receipt. What the driver did not take
// stays in the outbox. It returns how many were taken and how many were not.
func (e *Engine) Deliver(ctx context.Context, h Hand) (sent, failed int, err error) {
	led := e.opt.Ledger
	for h.Limit == 0 || sent+failed < h.Limit {
		n := batch
		if h.Limit > 0 {
			n = min(n, h.Limit-sent-failed)
		}
		if b, ok := h.Driver.(dispatch.Bounded); ok {
			n = min(n, b.Free(ctx))
		}
		if n == 0 {
			return sent, failed, nil
		}
		rows, err := led.Claim(ctx, h.Now(), n, lease)
		if err != nil {
			return sent, failed, fmt.Errorf("claim: %w", err)
		}
		if len(rows) == 0 {
			return sent, failed, nil
		}
		took, err := e.hand(ctx, h, rows)
		sent += took
		failed += len(rows) - took
		if err != nil {
			return sent, failed, err
		}
	}
	return sent, failed, nil
}

// Ask asks a driver whose runs outlive a poller about everything that it holds, and returns what is to be recorded: the
// receipts of runs that have ended, and Lost for what the driver does not know.
func (e *Engine) Ask(ctx context.Context, h Hand) ([]coverage.Receipt, error) {
	asker, ok := h.Driver.(dispatch.Asker)
	if !ok {
		return nil, nil
	}
	rows, err := e.opt.Ledger.Claimed(ctx, asked)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var recs []dispatch.Record
	for _, d := range rows {
		if r, err := dispatch.New(d, dispatch.Frame{Spec: h.Spec, Origin: dispatch.Poll, Target: h.Target, Now: h.Now()}); err == nil {
			recs = append(recs, r)
		}
	}
	known, err := asker.Ask(ctx, recs)
	if err != nil {
		return nil, err // nothing is lost that could not be asked about
	}
	told := map[string]bool{}
	var out []coverage.Receipt
	for _, r := range known {
		told[r.Key] = true
		if r.Outcome != dispatch.Started {
			out = append(out, r)
		}
	}
	for i := range recs {
		if !told[recs[i].Key] {
			out = append(out, coverage.Receipt{Key: recs[i].Key, Decision: recs[i].Decision, Outcome: coverage.Lost,
				At: h.Now().UTC(), Why: "the driver knows no run"})
		}
	}
	return out, nil
}

// hand gives one batch to the driver. A row without a receipt failed: it waits for its next try.
func (e *Engine) hand(ctx context.Context, h Hand, rows []coverage.Delivery) (took int, err error) {
	var recs []dispatch.Record
	var errs []error
	open := map[string]coverage.Delivery{}
	for _, d := range rows {
		open[d.Key] = d
		r, err := dispatch.New(d, dispatch.Frame{
			Spec: h.Spec, Origin: dispatch.Poll, Source: e.driverOf(d), Target: h.Target, Now: h.Now(),
		})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		recs = append(recs, r)
	}
	receipts, derr := h.Driver.Start(ctx, recs)
	errs = append(errs, derr)
	// Receipts are recorded even when the process is being stopped: what was handed over must not be handed over again.
	ctx = context.WithoutCancel(ctx)
	var done []coverage.Receipt
	for _, r := range receipts {
		h.tell(open, r.Key)
		delete(open, r.Key)
		took++
		if r.Outcome != dispatch.Started {
			done = append(done, r)
			continue
		}
		// A run that lives keeps its row, however long it lives, until a receipt of its end comes.
		if err := e.opt.Ledger.Renew(ctx, h.Now(), r.Key, r.Decision, lease); err != nil {
			return took, errors.Join(append(errs, fmt.Errorf("renew a lease: %w", err))...)
		}
	}
	if err := e.opt.Ledger.Done(ctx, h.Now(), done...); err != nil {
		return took, errors.Join(append(errs, fmt.Errorf("record receipts: %w", err))...)
	}
	why := "the driver gave no receipt"
	if err := errors.Join(errs...); err != nil {
		why = err.Error()
	}
	for _, d := range rows {
		if _, ok := open[d.Key]; !ok {
			continue
		}
		err := e.opt.Ledger.Done(ctx, h.Now(), coverage.Receipt{
			Key: d.Key, Decision: d.Decision, Outcome: coverage.Failed, At: h.Now().UTC(), Why: why,
		})
		if err != nil {
			return took, errors.Join(append(errs, fmt.Errorf("record failure: %w", err))...)
		}
		if h.Told != nil {
			h.Told(d.Scope, false)
		}
	}
	return took, errors.Join(errs...)
}

func (h *Hand) tell(open map[string]coverage.Delivery, key string) {
	if d, ok := open[key]; ok && h.Told != nil {
		h.Told(d.Scope, true)
	}
}

// driverOf is the name of the input driver whose scope a delivery belongs to.
func (e *Engine) driverOf(d coverage.Delivery) string {
	for _, t := range e.targets {
		if sc := t.place.Load(); sc != nil && *sc == d.Scope {
			return t.Driver
		}
	}
	return ""
}
