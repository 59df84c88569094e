package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/coverage/spool"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/internal/watch"
	"github.com/fullsend-ai/discovery/scope"
)

// pollFlags are shared by poll and its subcommands.
type pollFlags struct {
	dir   string
	state string
	wait  time.Duration

	driver string
	outTo  string
	dryRun bool
	full   bool
	budget int
	emit   int

	watch       bool
	catchUpText string
	catchUp     watch.CatchUp
	meters      map[string]*poll.Meter // of credentials, kept over changes of the configuration
	print       fingerprint            // of the folder, before it was loaded
}

func newPollCmd(e *env) *cobra.Command {
	f := &pollFlags{}
	c := &cobra.Command{
		Use:   "poll",
		Short: "Run one cycle: search every configured scope, route what is found, write dispatch records",
		Long: `Run one cycle over every configured scope: one search per scope, however many harnesses there are; every result is
checked against its scope, decided locally for each harness, recorded in the ledger, and handed to the output driver.

Exit codes: 0 every scope complete; 1 configuration unreadable, ledger damaged or newer, or no scope could be read;
2 usage; 3 something is incomplete, refused or dead-lettered, kept durably and named on standard error; 75 the ledger is
held by another process, or the provider throttled everything: try later.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runPoll(c.Context(), e, f) },
	}
	pf := c.PersistentFlags()
	pf.StringVar(&f.dir, "fullsend-dir", ".fullsend", "folder with config.yaml and harness files, from a trusted checkout")
	pf.StringVar(&f.state, "state", "fullsend.db", "the ledger file; a missing one is started, which costs reads and never a match")
	fl := c.Flags()
	fl.StringVar(&f.driver, "output-driver", "", "how candidates are handed over (default: output_driver of config.yaml, else json)")
	fl.StringVar(&f.outTo, "out", "-", "where the json driver writes dispatch records; - is standard output")
	fl.BoolVar(&f.dryRun, "dry-run", false, "do everything on a copy of the ledger in memory; show the records, write nothing")
	fl.BoolVar(&f.full, "full", false, "read everything again in this cycle, whatever the windows cover")
	fl.IntVar(&f.budget, "budget", 0, "most requests of this cycle and credential; what is left over is read by later cycles (0: no limit)")
	fl.IntVar(&f.emit, "emit-budget", 0, "most candidates handed over in this cycle, oldest first (0: no limit)")
	pf.DurationVar(&f.wait, "wait", 0, "how long to wait for a ledger that another process holds")
	fl.BoolVar(&f.watch, "watch", false, "stay and poll every input driver in its own rhythm (every: in config.yaml) until SIGINT or SIGTERM")
	fl.StringVar(&f.catchUpText, "catch-up", string(watch.Coalesce), "with --watch, what becomes of ticks that were missed while nothing polled: skip (wait for the next) or coalesce (one cycle at once)")
	c.AddCommand(newPollPlanCmd(e, f), newPollStatusCmd(e, f), newPollWhyCmd(e, f), newPollStateCmd(e, f), newPollCancelCmd(e, f))
	return c
}

// usage finds flags that contradict each other.
func (f *pollFlags) usage() (err error) {
	switch {
	case f.budget < 0 || f.emit < 0:
		err = errors.New("--budget and --emit-budget count requests and candidates: they cannot be negative")
	case f.wait < 0:
		err = errors.New("--wait cannot be negative")
	case f.driver != "" && !slices.Contains(config.OutputDrivers(), f.driver):
		err = fmt.Errorf("--output-driver: unknown output driver %q; %s", f.driver, diag.DidYouMean(f.driver, config.OutputDrivers()))
	case f.watch && f.dryRun:
		err = errors.New("--watch and --dry-run: a dry run is one cycle")
	case f.watch && f.full:
		err = errors.New("--watch and --full: every cycle would read everything; run `poll --full` once instead")
	default:
		f.catchUp, err = watch.ParseCatchUp(f.catchUpText)
	}
	if err != nil {
		return exit{poll.ExitUsage, err}
	}
	return nil
}

// load reads the folder and prints what is wrong with it.
func (f *pollFlags) load(e *env) (*setup.Setup, error) {
	s, err := setup.Load(setup.Options{
		Dir: f.dir, Getenv: e.getenv, HTTP: setup.Client(), Now: time.Now, Registry: setup.Registry(),
		Budget: f.budget, Full: f.full, Meters: f.meters,
	})
	if perr := (diag.TextPrinter{Colour: e.colour()}).PrintAll(e.err, s.Diagnostics); err == nil && perr != nil {
		err = perr
	}
	if err != nil {
		return nil, exit{poll.ExitError, err}
	}
	if len(s.Targets) == 0 {
		e.logger().Warn("nothing to poll: no harness asks about a scope of config.yaml", "input_drivers", len(s.Config.InputDrivers))
	}
	return s, nil
}

// ledger opens the file, or a copy of it in memory for a dry run.
func (f *pollFlags) ledger(ctx context.Context, e *env) (*coverage.Ledger, func() error, error) {
	fresh := false
	if _, err := os.Stat(f.state); errors.Is(err, os.ErrNotExist) {
		fresh = true
	}
	var store coverage.Store
	var err error
	switch {
	case f.dryRun && fresh:
		store = coverage.NewMemory()
	default:
		store, err = coverage.OpenFile(ctx, f.state, coverage.FileOptions{Wait: f.wait, Version: version, ReadOnly: f.dryRun})
		if err == nil && f.dryRun {
			store, err = copyOf(ctx, store)
		}
	}
	if err != nil {
		return nil, nil, ledgerExit(err)
	}
	if fresh {
		e.logger().Info("no ledger yet: starting one; the first scan reads every scope", "state", f.state)
	}
	l, err := coverage.Open(ctx, store, coverage.Options{})
	if err != nil {
		store.Close()
		return nil, nil, ledgerExit(err)
	}
	return l, store.Close, nil
}

// copyOf reads a store into memory and closes it.
func copyOf(ctx context.Context, from coverage.Store) (coverage.Store, error) {
	defer from.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(coverage.Export(ctx, from, w)) }()
	to := coverage.NewMemory()
	if err := coverage.Import(ctx, to, r); err != nil {
		r.CloseWithError(err)
		return nil, fmt.Errorf("copy the ledger: %w", err)
	}
	return to, nil
}

// ledgerExit maps what can be wrong with a ledger to exit codes and says the way out.
func ledgerExit(err error) error {
	if errors.Is(err, coverage.ErrHeld) {
		return exit{poll.ExitTryLater, err}
	}
	return exit{poll.ExitError, err}
}

// saveMemory collects garbage twice as early as usual: the poller waits for providers and the disk, and shares its machine.
// GOGC in the environment wins.
func saveMemory(e *env) {
	if _, set := e.getenv("GOGC"); !set {
		debug.SetGCPercent(50)
	}
}

func runPoll(ctx context.Context, e *env, f *pollFlags) error {
	if err := f.usage(); err != nil {
		return err
	}
	f.meters = map[string]*poll.Meter{}
	saveMemory(e)
	if f.watch { // before it is loaded: what changes meanwhile is taken up by the first cycle
		f.print, _ = fingerprintOf(f.dir) // a folder that cannot be read has none: load says why, or the first look loads it again
	}
	s, err := f.load(e)
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what reading thousands of files took
	driver, err := f.output(e, s)
	if err != nil {
		return err
	}
	led, closeLedger, err := f.ledger(ctx, e)
	if err != nil {
		return err
	}
	code, err := f.work(ctx, e, s, led, driver)
	if errors.Is(err, errStuck) {
		return err // the end of the process lets go of the file
	}
	if cerr := closeLedger(); err == nil && cerr != nil {
		err = exit{poll.ExitError, fmt.Errorf("close the ledger: %w", cerr)}
	}
	if x, ok := driver.(*dispatch.Exec); ok && err == nil {
		owed := false
		owed, err = f.attend(ctx, e, s, x)
		if owed && code == poll.ExitComplete {
			code = poll.ExitIncomplete
		}
	}
	if err != nil {
		return err
	}
	if s.Diagnostics.Failed() && code == poll.ExitComplete {
		code = poll.ExitIncomplete
	}
	if code != poll.ExitComplete {
		return exit{code: code}
	}
	return nil
}

// heapSlack is how much more garbage may gather before it is collected.
const heapSlack = 12 << 20

// work polls, once or until it is told to stop, and can be asked meanwhile.
func (f *pollFlags) work(ctx context.Context, e *env, s *setup.Setup, led *coverage.Ledger, driver dispatch.Driver) (int, error) {
	// The heap of a scan is a few megabytes, and the collector would run all the time. Memory that is never touched, and so
	// never backed, lets some tens of megabytes gather first.
	ballast := make([]byte, heapSlack)
	defer runtime.KeepAlive(ballast)
	w := newWatcher(e, f, s, led, driver)
	defer w.bars.end()
	if err := f.room(); err != nil {
		return 0, exit{poll.ExitError, err}
	}
	if !f.dryRun {
		a := &answers{e: e, f: f, led: led, started: time.Now(), mode: "once", current: w.current, drivers: w.view}
		if f.watch {
			a.mode = "watch"
		}
		defer a.serve(ctx)()
	}
	if f.watch {
		return poll.ExitComplete, w.watch(ctx)
	}
	return f.cycle(ctx, e, w.now, led)
}

// output makes the driver, behind the gate: until the protocols are complete, only json may hand anything over.
func (f *pollFlags) output(e *env, s *setup.Setup) (dispatch.Driver, error) {
	name := f.driver
	if name == "" {
		name = s.Config.OutputDriver
	}
	if err := dispatch.Allowed(name, e.declared(), false); err != nil {
		return nil, exit{poll.ExitError, err}
	}
	if name != dispatch.JSON && !f.dryRun {
		return f.starter(e, s, name)
	}
	if f.outTo == "-" || f.dryRun {
		return dispatch.ToWriter(e.out, time.Now), nil
	}
	return dispatch.ToFile(f.outTo, time.Now), nil
}

// cycle takes in receipts, polls, hands over, and reports.
func (f *pollFlags) cycle(ctx context.Context, e *env, cur *loaded, led *coverage.Ledger) (int, error) {
	s, engine, hand, driver := cur.setup, cur.engine, cur.hand, cur.hand.Driver
	began := time.Now()
	if !f.dryRun {
		if err := f.recover(ctx, e, led, engine, hand); err != nil {
			return 0, exit{poll.ExitError, fmt.Errorf("take in receipts: %w", err)}
		}
	}
	sums, err := engine.Cycle(ctx)
	cur.read()
	if err != nil {
		summarize(e.logger(), sums)
		if ctx.Err() != nil {
			return 0, exit{poll.ExitIncomplete, errors.New("interrupted: what was read is kept, the next cycle goes on from there")}
		}
		return 0, exit{poll.ExitError, err}
	}
	code := poll.ExitCode(sums)
	hand.Told = tally(sums)
	defer func() { summarize(e.logger(), sums) }()
	if f.hand(ctx, e, s, engine, hand) && code != poll.ExitError {
		code = poll.ExitIncomplete
	}
	if x, ok := driver.(*dispatch.Exec); ok && !f.dryRun && !s.Config.KillSwitch {
		if err := f.retry(ctx, e, x); err != nil {
			e.logger().Error("retries", "error", err)
			code = max(code, poll.ExitIncomplete)
		}
	}
	x, ok := driver.(*dispatch.Exec)
	if ok && x.Busy() {
		return code, nil // what is owed is known when they have ended
	}
	owed, err := owing(ctx, e, led, driver)
	if err != nil {
		return 0, ledgerExit(err)
	}
	if owed && code == poll.ExitComplete {
		code = poll.ExitIncomplete
	}
	return code, f.note(ctx, led, s, sums, began)
}

// note remembers the cycle for a poller that watches later.
func (f *pollFlags) note(ctx context.Context, led *coverage.Ledger, s *setup.Setup, sums []poll.Summary, began time.Time) error {
	last, err := led.Cycles(ctx)
	if err != nil {
		return ledgerExit(err)
	}
	for _, d := range s.Config.InputDrivers {
		var own []poll.Summary
		for i := range sums {
			if sums[i].Driver == d.Name {
				own = append(own, sums[i])
			}
		}
		if len(own) == 0 {
			continue
		}
		c := lastOf(last, d.Name)
		c.Driver, c.Began, c.Ended, c.NotBefore, c.Fails = d.Name, began, time.Now(), time.Time{}, 0
		if poll.ExitCode(own) == poll.ExitComplete {
			c.Complete = c.Ended
		}
		c.Scanned, c.Evaluated = evaluated(own)
		if err := led.NoteCycle(ctx, c); err != nil {
			return ledgerExit(err)
		}
	}
	return nil
}

// tally counts what is handed over in the summaries of its scopes.
func tally(sums []poll.Summary) func(scope.Scope, bool) {
	at := map[scope.Scope]*poll.Summary{}
	for i := range sums {
		at[sums[i].In] = &sums[i]
	}
	return func(sc scope.Scope, taken bool) {
		s := at[sc]
		switch {
		case s == nil: // of another cycle
		case taken:
			s.Dispatched++
		default:
			s.Failed++
		}
	}
}

// receipts takes in what runs have left since the last cycle.
func (f *pollFlags) receipts(ctx context.Context, e *env, led *coverage.Ledger) error {
	sp, err := spool.Open(f.state+".spool", time.Now, rand.Uint64)
	if err != nil {
		return err
	}
	n, bad, err := sp.Ingest(func(r coverage.Receipt) error { return led.Done(ctx, time.Now(), r) })
	for _, m := range bad {
		e.logger().Error("receipt set aside", "file", m.Name, "reason", m.Err)
	}
	if n > 0 {
		e.logger().Info("receipts taken in", "receipts", n)
	}
	return err
}

// hand dispatches and reports whether something could not be handed over.
func (f *pollFlags) hand(ctx context.Context, e *env, s *setup.Setup, engine *poll.Engine, h poll.Hand) bool {
	log := e.logger()
	if s.Config.KillSwitch {
		log.Warn("kill switch: candidates are kept in the ledger, nothing is dispatched")
		return false
	}
	sent, failed, err := engine.Deliver(ctx, h)
	if err != nil {
		log.Error("dispatch failed: what was not handed over stays in the ledger", "error", err)
	}
	log.Info("dispatched", "driver", h.Driver.Name(), "dispatched", sent, "failed", failed)
	return err != nil || failed > 0
}

// owing names what the ledger still owes because it failed: it is durable and will be tried, but the cycle is not
// complete while it stands.
func owing(ctx context.Context, e *env, led *coverage.Ledger, driver dispatch.Driver) (bool, error) {
	snap, err := led.Snapshot(ctx, time.Now())
	if err != nil {
		return false, err
	}
	owed := false
	say := func(msg string, args ...any) { owed = true; e.logger().Warn(msg, args...) }
	for i := range snap.Scopes {
		sc := &snap.Scopes[i]
		if !slices.ContainsFunc(sc.Sources, func(s coverage.SourceSnapshot) bool { return s.Retired.IsZero() }) {
			continue // nobody asks there any more
		}
		for _, a := range sc.Agenda {
			if a.Why == coverage.WhyUndecided || a.Why == coverage.WhyFailed {
				say("entities wait to be looked at again", "scope", sc.Scope, "reason", a.Why, "entities", a.Count, "since", a.Oldest, "next", a.Next)
			}
		}
		for _, w := range sc.Walks {
			if !w.Active {
				continue // it is read again when the plan has it again
			}
			for _, g := range w.Gaps {
				say("a range is not covered", "scope", sc.Scope, "walk", w.Name, "from", g.From, "to", g.To, "reason", g.Why, "next", g.Next)
			}
		}
		for _, s := range sc.Sweeps {
			if s.Active && s.Tries > 0 {
				say("a sweep is not complete", "scope", sc.Scope, "walk", s.Name, "tries", s.Tries, "reason", s.Why, "next", s.Next)
			}
		}
	}
	o := snap.Outbox
	if _, holds := driver.(dispatch.Asker); holds {
		o.Claimed = 0 // they run
	}
	if o.Waiting+o.Claimed+o.Lost > 0 {
		say("candidates are not handed over yet: an earlier try failed or was cut off",
			"waiting", o.Waiting, "claimed", o.Claimed, "lost", o.Lost, "since", o.Oldest)
	}
	if n := snap.Outbox.Dead; n > 0 {
		say("dead letters: tried again slowly", "candidates", n)
	}
	return owed, nil
}

// summarize writes one summary line per scope, and names on standard error what is not complete.
func summarize(log *slog.Logger, sums []poll.Summary) {
	for i := range sums {
		s := &sums[i]
		if s.Driver == "" {
			continue // not begun
		}
		for _, r := range s.Refused {
			log.Error("source refused", "source", r.Source, "scope", s.Scope, "kind", s.Kind, "field", r.Field, "reason", r.Why)
		}
		for _, w := range s.Incomplete {
			log.Error("incomplete", "scope", s.Scope, "kind", s.Kind, "reason", w)
		}
		log.LogAttrs(context.Background(), slog.LevelInfo, "cycle", s.Attrs()...)
	}
}

// evaluated is how many entities a cycle looked at, and how many queries it evaluated for them: what routing costs.
func evaluated(sums []poll.Summary) (entities, queries int) {
	for i := range sums {
		entities += sums[i].Scanned
		queries += sums[i].Evaluated
	}
	return entities, queries
}
