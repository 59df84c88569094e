package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/scope"
)

func newPollCancelCmd(e *env, f *pollFlags) *cobra.Command {
	var entity, harness string
	c := &cobra.Command{
		Use:   "cancel",
		Short: "End the runs of an entity and free it, without calling it done",
		Long: `End the runs that the ledger knows of an entity, or of one harness over it. What was canceled is offered again after a
while, as long as it matches; a run that cannot be ended stays, and frees nothing.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runCancel(c.Context(), e, f, entity, harness) },
	}
	fl := c.Flags()
	fl.StringVar(&entity, "entity", "", "a URL, owner/name#7, PROJ-7, or a canonical identity")
	fl.StringVar(&entity, "issue", "", "the same as --entity")
	fl.StringVar(&harness, "harness", "", "only this harness")
	fl.StringVar(&f.driver, "output-driver", "", "the driver that started the runs (default: output_driver of config.yaml)")
	return c
}

func runCancel(ctx context.Context, e *env, f *pollFlags, entity, harness string) error {
	if entity == "" {
		return exit{poll.ExitUsage, errors.New("--entity is needed")}
	}
	if ok, err := f.ask(ctx, opCancel, asked{Dir: absolute(f.dir), Entity: entity, Harness: harness}, nil); ok {
		return err
	}
	s, err := f.load(e)
	if err != nil {
		return err
	}
	driver, err := f.output(e, s)
	if err != nil {
		return err
	}
	led, closeLedger, err := f.ledger(ctx, e)
	if err != nil {
		return err
	}
	defer closeLedger() //nolint:errcheck // every change was synced by itself
	return cancelWith(ctx, e, led, driver, s, entity, harness)
}

// cancelWith cancels over an open ledger.
func cancelWith(ctx context.Context, e *env, led *coverage.Ledger, driver dispatch.Driver, s *setup.Setup, entity, harness string) error {
	canceler, ok := driver.(dispatch.Canceler)
	if !ok {
		return exit{poll.ExitUsage, fmt.Errorf("the output driver %s starts no runs: there is nothing to cancel", driver.Name())}
	}
	id, err := theEntity(ctx, led, entity)
	if err != nil {
		return exit{poll.ExitError, err}
	}
	n, err := cancelRuns(ctx, e, led, canceler, id, harness, s.Config.TargetRepo)
	switch {
	case err != nil:
		return exit{poll.ExitIncomplete, err}
	case n == 0:
		return exit{poll.ExitError, fmt.Errorf("%w of %s", dispatch.ErrNoRun, diag.Clean(entity))}
	}
	return nil
}

// theEntity is the one that is meant; ambiguity lists the choices.
func theEntity(ctx context.Context, led *coverage.Ledger, text string) (scope.Identity, error) {
	found, err := led.Find(ctx, text)
	if err != nil {
		return scope.Identity{}, err
	}
	var ids []scope.Identity
	for _, f := range found {
		if len(ids) == 0 || ids[0] != f.Entity.Ref.Identity {
			ids = append(ids, f.Entity.Ref.Identity)
		}
	}
	switch len(ids) {
	case 0:
		return scope.Identity{}, fmt.Errorf("the ledger knows no entity %q", text)
	case 1:
		return ids[0], nil
	}
	return scope.Identity{}, fmt.Errorf("%q is ambiguous: %v", text, ids)
}

// cancelRuns ends what drivers hold of the entity. Only a run that was ended frees its row: it is tried again later, as
// long as the entity matches.
func cancelRuns(ctx context.Context, e *env, led *coverage.Ledger, d dispatch.Canceler, id scope.Identity, harness, target string) (int, error) {
	rows, err := led.Claimed(ctx, 10_000)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, row := range rows {
		if row.Ref.Identity != id || harness != "" && row.Source != harness {
			continue
		}
		r, err := dispatch.New(row, dispatch.Frame{Spec: e.declared(), Origin: dispatch.Poll, Target: target, Now: time.Now()})
		if err == nil {
			err = d.Cancel(ctx, &r)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: not canceled, and not freed: %w", row.Source, err))
			continue
		}
		n++
		now := time.Now()
		if err := led.Done(ctx, now, coverage.Receipt{Key: row.Key, Decision: row.Decision, Outcome: coverage.UnknownRun, At: now.UTC(), Why: "canceled by hand"}); err != nil {
			errs = append(errs, err)
			continue
		}
		e.logger().Info("canceled", "harness", row.Source, "entity", row.Ref.Key)
	}
	return n, errors.Join(errs...)
}
