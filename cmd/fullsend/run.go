package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/coverage/spool"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/run"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/internal/trigger"
)

// runFlags say where the trusted configuration is and where runs keep what must survive them.
type runFlags struct {
	dir, state string
	sandbox    string

	harness, entity, event string
	candidate              run.Candidate
	updated                string
}

func (f *runFlags) common(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.dir, "fullsend-dir", ".fullsend", "folder with config.yaml and harness files, from a trusted checkout")
	fl.StringVar(&f.state, "state", "fullsend.db", "the poller's ledger file, which a run never opens: receipts, retries and locks are kept beside it")
	fl.StringVar(&f.sandbox, "sandbox", "", "bwrap, command or none (default: run.sandbox of config.yaml)")
}

func newRunCmd(e *env) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Run one harness for one entity, if it is proven now that it may",
		Long: `Read the entity afresh, check that it is a member of the harness and that its trigger holds, over what people with a say
wrote, and start the sandbox when both are true. When either is false it ends and says why; when anything is unknown
nothing is started and the run is tried again. All of it is repeated before every sandbox cycle.

One run serves a harness, target repository and subject at a time: a second one wakes it and ends.

Exit codes: 0 ran, skipped, woke another run, or may not run; 1 configuration unreadable; 2 usage; 3 failed or unknown,
kept durably.`,
		Example: `  fullsend run --harness triage --entity acme/widgets#7
  fullsend run --harness fix --entity https://forge.example/acme/widgets/pulls/8 --event - < event.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runRun(c.Context(), e, f) },
	}
	f.common(c)
	fl := c.Flags()
	fl.StringVar(&f.harness, "harness", "", "name of the harness")
	fl.StringVar(&f.entity, "entity", "", "a URL, owner/name#7, PROJ-7, or a canonical identity")
	fl.StringVar(&f.event, "event", "", "file with a NormalizedEvent; - is standard input")
	fl.StringVar(&f.candidate.Key, "key", "", "key of the delivery that the receipt answers")
	fl.StringVar(&f.candidate.Decision, "decision", "", "decision of the delivery that the receipt answers")
	fl.StringVar(&f.candidate.Identity, "identity", "", "canonical identity that the entity must have")
	fl.IntVar(&f.candidate.Entries, "entries", 0, "how often the entity had entered the match")
	fl.StringVar(&f.updated, "updated", "", "change clock that the delivery's facts had: no older answer is used")
	fl.StringVar(&f.candidate.Retry, "retry", "", "name of the retry that is tried again")
	for _, name := range []string{"key", "decision", "identity", "entries", "updated", "retry"} {
		_ = fl.MarkHidden(name) // written by output drivers; the flag exists
	}
	return c
}

func runRun(ctx context.Context, e *env, f *runFlags) error {
	retries, err := f.retries()
	if err != nil {
		return exit{poll.ExitError, err}
	}
	if f.candidate.Retry != "" {
		t, err := retries.Get(f.candidate.Retry)
		if err != nil {
			return exit{poll.ExitError, err}
		}
		f.harness, f.candidate = t.Harness, t.Candidate
	} else if err := f.read(e); err != nil {
		return err
	}
	rep, err := f.serve(ctx, e, f.harness, f.candidate, retries)
	if err != nil {
		return exit{poll.ExitError, err}
	}
	return conclude(e, f.harness, &rep)
}

// read makes the candidate of the flags.
func (f *runFlags) read(e *env) error {
	if f.harness == "" || f.entity == "" {
		return exit{poll.ExitUsage, errors.New("--harness and --entity are needed")}
	}
	if (f.candidate.Key == "") != (f.candidate.Decision == "") {
		return exit{poll.ExitUsage, errors.New("--key and --decision belong together")}
	}
	f.candidate.Ref = f.entity
	if f.updated != "" {
		t, err := time.Parse(time.RFC3339Nano, f.updated)
		if err != nil {
			return exit{poll.ExitUsage, fmt.Errorf("--updated: %w", err)}
		}
		f.candidate.Updated = t
	}
	if f.event == "" {
		return nil
	}
	b, err := readEvent(e, f.event)
	f.candidate.Event = b
	return err
}

// readEvent reads no more than an event may have; what it says is judged later.
func readEvent(e *env, name string) ([]byte, error) {
	in := e.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, exit{poll.ExitUsage, fmt.Errorf("--event: %w", err)}
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, trigger.MaxEvent+1))
	if err != nil {
		return nil, exit{poll.ExitUsage, fmt.Errorf("--event: %w", err)}
	}
	if len(b) > trigger.MaxEvent {
		return nil, exit{poll.ExitUsage, fmt.Errorf("--event: larger than %d bytes", trigger.MaxEvent)}
	}
	return b, nil
}

func (f *runFlags) retries() (*run.Retries, error) {
	return run.NewRetries(f.state+".retry", time.Now)
}

// options are those of every load of the trusted configuration: each run reads it anew before each sandbox.
func (f *runFlags) options(e *env) setup.Options {
	return setup.Options{Dir: f.dir, Getenv: e.getenv, HTTP: setup.Client(), Now: time.Now, Registry: setup.Registry()}
}

// serve runs a candidate of one harness to its end.
func (f *runFlags) serve(ctx context.Context, e *env, harness string, c run.Candidate, retries *run.Retries) (run.Report, error) {
	sp, err := spool.Open(f.state+".spool", time.Now, rand.Uint64)
	if err != nil {
		return run.Report{}, err
	}
	o := f.options(e)
	load := func(context.Context) (*run.Bound, error) {
		s, err := setup.Load(o)
		if err != nil {
			return nil, err
		}
		return s.Bound(o, harness, f.sandbox)
	}
	s, err := setup.Load(o)
	if err == nil {
		_, err = s.Bound(o, harness, f.sandbox)
	}
	if err != nil && c.Decision == "" && c.Retry == "" {
		if s != nil {
			err = errors.Join(err, diag.TextPrinter{Colour: e.colour()}.PrintAll(e.err, s.Diagnostics))
		}
		return run.Report{}, err // nobody waits for a receipt
	}
	idle := time.Duration(0)
	if s != nil && s.Config != nil {
		idle = s.Config.Run.Idle
	}
	return run.New(run.Options{
		Harness: harness, Load: load, Dir: f.state + ".run", Idle: idle, Retries: retries, Now: time.Now, Log: e.logger(),
		Receipt: func(r coverage.Receipt) error { return sp.Write(r) },
		Tick:    pulse, Out: e.out, Errs: e.err,
	}).Run(ctx, c)
}

// pulse waits as long as a woken run may wait to notice.
func pulse(ctx context.Context) bool {
	t := time.NewTimer(200 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// conclude says how a run ended and turns it into an exit code.
func conclude(e *env, harness string, rep *run.Report) error {
	e.logger().Info("run ended", "harness", harness, "outcome", rep.Outcome, "reason", rep.Why, "sandboxes", rep.Cycles)
	switch rep.Outcome {
	case coverage.UnknownRun, coverage.Failed:
		return exit{poll.ExitIncomplete, fmt.Errorf("%s: %s: %s", harness, rep.Outcome, rep.Why)}
	}
	return nil
}
