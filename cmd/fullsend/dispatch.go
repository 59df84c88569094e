package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/run"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/internal/trigger"
)

func newDispatchCmd(e *env) *cobra.Command {
	f := &runFlags{}
	var input string
	var harnesses []string
	due := false
	c := &cobra.Command{
		Use:   "dispatch",
		Short: "Take one event, and run every harness that it may start",
		Long: `An event only names a candidate. Its actor is looked up at the provider and must be allowed to start the harness; then
everything is checked that is checked for a polled candidate: where the entity is, membership, and the trigger with the
event. What cannot be learned is kept and tried again by poll.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if due {
				return runDue(c.Context(), e, f)
			}
			return runDispatch(c.Context(), e, f, input, harnesses)
		},
	}
	f.common(c)
	fl := c.Flags()
	fl.StringVar(&input, "input-driver", "json", "json: a NormalizedEvent; gha-event: the event of a GitHub Actions workflow")
	fl.StringVar(&f.event, "event", "", "file with the event; - is standard input (default: - for json, $GITHUB_EVENT_PATH for gha-event)")
	fl.BoolVar(&due, "due", false, "take no event: try again what could not be decided and is due, as poll with the driver exec does")
	fl.StringSliceVar(&harnesses, "harness", nil, "only these harnesses")
	return c
}

func runDispatch(ctx context.Context, e *env, f *runFlags, input string, only []string) error {
	if err := dispatch.Allowed(dispatch.ExecName, e.declared(), false); err != nil {
		return exit{poll.ExitError, err}
	}
	ev, err := f.input(e, input)
	if err != nil {
		return err
	}
	s, err := setup.Load(f.options(e))
	if perr := (diag.TextPrinter{Colour: e.colour()}).PrintAll(e.err, s.Diagnostics); err != nil || perr != nil {
		return exit{poll.ExitError, errors.Join(err, perr)}
	}
	ref, err := refOf(ev)
	if err != nil {
		return exit{poll.ExitUsage, err}
	}
	retries, err := f.retries()
	if err != nil {
		return exit{poll.ExitError, err}
	}
	names, err := startable(s, only)
	if err != nil {
		return exit{poll.ExitUsage, err}
	}
	// Noted for all of them before any is begun: a crash in between forgets none.
	cs := make([]run.Candidate, len(names))
	for i, name := range names {
		if cs[i], err = retries.Begin(name, run.Candidate{Ref: ref, Event: ev}); err != nil {
			return exit{poll.ExitError, err}
		}
	}
	return f.all(ctx, e, s.Config.Run.Parallel, retries, names, cs)
}

// all runs candidates of harnesses, a few at a time.
func (f *runFlags) all(ctx context.Context, e *env, parallel int, retries *run.Retries, names []string, cs []run.Candidate) error {
	var mu sync.Mutex
	var errs []error
	var g errgroup.Group
	g.SetLimit(max(parallel, 1))
	for i, name := range names {
		g.Go(func() error {
			rep, err := f.serve(ctx, e, name, cs[i], retries)
			if err == nil {
				err = conclude(e, name, &rep)
			}
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			return nil
		})
	}
	_ = g.Wait() // errors are collected
	if err := errors.Join(errs...); err != nil {
		return exit{poll.ExitIncomplete, err}
	}
	return nil
}

// runDue tries again what is due.
func runDue(ctx context.Context, e *env, f *runFlags) error {
	if err := dispatch.Allowed(dispatch.ExecName, e.declared(), false); err != nil {
		return exit{poll.ExitError, err}
	}
	retries, err := f.retries()
	if err != nil {
		return exit{poll.ExitError, err}
	}
	due, err := retries.Due()
	if err != nil {
		return exit{poll.ExitError, err}
	}
	var names []string
	var cs []run.Candidate
	for _, t := range due {
		t.Candidate.Retry = t.Name
		names, cs = append(names, t.Harness), append(cs, t.Candidate)
	}
	return f.all(ctx, e, 1, retries, names, cs)
}

// input reads the event and puts it into the form of a NormalizedEvent.
func (f *runFlags) input(e *env, driver string) ([]byte, error) {
	from := f.event
	switch driver {
	case "json":
		if from == "" {
			from = "-"
		}
		return readEvent(e, from)
	case "gha-event":
		name, _ := e.getenv("GITHUB_EVENT_NAME")
		if from == "" {
			from, _ = e.getenv("GITHUB_EVENT_PATH")
		}
		if from == "" || name == "" {
			return nil, exit{poll.ExitUsage, errors.New("gha-event needs GITHUB_EVENT_NAME, and GITHUB_EVENT_PATH or --event")}
		}
		b, err := readEvent(e, from)
		if err != nil {
			return nil, err
		}
		ev, err := dispatch.FromGitHub(name, b)
		if err != nil {
			return nil, exit{poll.ExitUsage, err}
		}
		return ev, nil
	}
	return nil, exit{poll.ExitUsage, fmt.Errorf("--input-driver %q: use json or gha-event", driver)}
}

// refOf is what the event calls its entity; every name that it gives is held against what is found.
func refOf(ev []byte) (string, error) {
	var e trigger.Event
	if err := json.Unmarshal(ev, &e); err != nil {
		return "", fmt.Errorf("the event: %w", err)
	}
	for _, ref := range []string{e.Entity.URL, e.Entity.Key} {
		if ref != "" {
			return ref, nil
		}
	}
	if e.Entity.ID == "" {
		return "", errors.New("the event names no entity")
	}
	return string(e.Entity.ID), nil
}

// startable are the harnesses that events may start: those with a trigger.
func startable(s *setup.Setup, only []string) ([]string, error) {
	var names []string
	for _, h := range s.Harnesses.Harnesses {
		if !h.Broken && h.Trigger != nil && (len(only) == 0 || slices.Contains(only, h.Name)) {
			names = append(names, h.Name)
		}
	}
	for _, o := range only {
		if !slices.Contains(names, o) {
			return nil, fmt.Errorf("there is no usable harness %q with a trigger", o)
		}
	}
	return names, nil
}
