package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"reflect"
	"sort"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/internal/watch"
)

const (
	// stopWithin is how long a stopping poller waits for what it has begun. Nothing is lost by ending in the middle:
	// pages are committed whole.
	stopWithin = 5 * time.Second
	// lookAround is how often the loop looks at the clock, which may have jumped.
	lookAround = 30 * time.Second
	// nothingToPoll is how often the folder is read again while nothing in it asks for a cycle.
	nothingToPoll = 5 * time.Second
	// handEvery is how often receipts are taken in and what waits for its next try is handed over, between cycles.
	handEvery = 10 * time.Second
	// owingEvery is how often what is owed is said again.
	owingEvery = 10 * time.Minute
)

// watcher polls every input driver in its own rhythm until it is told to stop.
type watcher struct {
	e    *env
	f    *pollFlags
	log  *slog.Logger
	led  *coverage.Ledger
	bars *progress

	handing sync.Mutex    // one hand-over at a time
	want    chan struct{} // a hand-over, of drivers that may wait for room
	done    chan cycled
	running int
	file    fs.FileInfo // of the ledger that is held
	owed    time.Time   // when what is owed was said last

	mu    sync.Mutex // guards what the control socket shows
	now   *loaded
	bad   error // why the configuration on disk cannot be used; the one before it still is
	print fingerprint
	ticks map[string]*tick
}

// loaded is one configuration at work. Its sessions stay open for as long as it is.
type loaded struct {
	setup  *setup.Setup
	engine *poll.Engine
	hand   poll.Hand
	read   func() // is called when the reads of a cycle are over
}

// tick is one input driver.
type tick struct {
	schedule *watch.Schedule
	since    time.Time // of the cycle that runs; zero: none
}

// cycled is the end of one driver's cycle.
type cycled struct {
	scanned   int // entities
	evaluated int // queries
	driver    string
	watch.Outcome
	err error // of the ledger
}

func newWatcher(e *env, f *pollFlags, s *setup.Setup, led *coverage.Ledger, out dispatch.Driver) *watcher {
	w := &watcher{
		e: e, f: f, log: e.logger(), led: led, bars: newProgress(e),
		want: make(chan struct{}, 1), done: make(chan cycled), ticks: map[string]*tick{},
	}
	w.print = f.print
	w.file, _ = os.Stat(f.state) // the ledger was just opened; one that is gone already is no file that is the same later
	w.now = w.loaded(s, out)
	return w
}

func (w *watcher) loaded(s *setup.Setup, out dispatch.Driver) *loaded {
	return &loaded{
		setup:  s,
		read:   w.bars.end,
		engine: poll.New(poll.Options{Ledger: w.led, Targets: s.Targets, Log: w.log, Progress: w.bars.show}),
		hand:   poll.Hand{Driver: out, Spec: w.e.declared(), Target: s.Config.TargetRepo, Now: time.Now, Limit: w.f.emit},
	}
}

// watch runs until ctx ends, or the ledger fails. A clean stop is no error.
func (w *watcher) watch(ctx context.Context) error {
	cycles, err := w.led.Cycles(ctx)
	if err != nil {
		return ledgerExit(err)
	}
	w.adopt(cycles)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	var hands sync.WaitGroup
	hands.Go(func() { w.hands(work) })
	err = w.loop(work)
	cancel()
	ended := make(chan struct{})
	go func() {
		for w.running > 0 {
			<-w.done
			w.running--
		}
		hands.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(stopWithin):
		w.log.Error("not everything that was begun ended in time: leaving it; the ledger holds what was committed")
		return exit{poll.ExitIncomplete, errStuck}
	}
	if err == nil {
		w.log.Info("stopped: what was read is kept, the next start goes on from there")
	}
	return err
}

// errStuck says that something still runs: the ledger must not be closed under it.
var errStuck = errors.New("stopped with work under way")

func (w *watcher) loop(ctx context.Context) error {
	w.wantHand() // what an earlier poller left
	for {
		if err := w.start(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(w.idle(time.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case c := <-w.done:
			timer.Stop()
			w.running--
			if err := w.finished(ctx, c); err != nil {
				return err
			}
		case <-timer.C:
		}
	}
}

// idle is how long there is nothing to start.
func (w *watcher) idle(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := lookAround
	if len(w.ticks) == 0 {
		wait = nothingToPoll
	}
	for _, t := range w.ticks {
		if t.since.IsZero() {
			wait = min(wait, max(t.schedule.Wake().Sub(now), 0))
		}
	}
	return wait
}

// start begins a cycle of every driver that is due and not at work.
func (w *watcher) start(ctx context.Context) error {
	now := time.Now().Round(0) // the wall clock: a machine that sleeps has slept
	due, polled := w.due(now)
	if polled && len(due) == 0 {
		return nil
	}
	w.reload()
	if !polled { // nothing asked for a cycle; now something may
		due, _ = w.due(now)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range due {
		t := w.ticks[name]
		if t == nil || !t.since.IsZero() {
			continue // not configured any more
		}
		t.since = now
		w.running++
		cur := w.now
		go func() { w.done <- w.cycle(ctx, cur, name, now) }()
	}
	return nil
}

// inPlace finds out that the ledger file was taken away or exchanged: what is written is lost with the process then, and
// another poller may be at work by now.
func (w *watcher) inPlace() error {
	fi, err := os.Stat(w.f.state)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the ledger file: %w", err)
	case err != nil || !os.SameFile(fi, w.file):
		return fmt.Errorf("the ledger %s was taken away or exchanged under this poller, which ends", w.f.state)
	}
	return nil
}

// due lists the drivers whose time has come; polled says that there is any driver with something to poll.
func (w *watcher) due(now time.Time) (names []string, polled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, t := range w.ticks {
		if t.since.IsZero() && t.schedule.Missed(now) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names, len(w.ticks) > 0
}

// cycle runs one cycle of one driver and hands over what it found.
func (w *watcher) cycle(ctx context.Context, cur *loaded, driver string, began time.Time) cycled {
	c := cycled{driver: driver, Outcome: watch.Outcome{Began: began}}
	if c.err = errors.Join(w.inPlace(), w.f.room()); c.err != nil {
		return c
	}
	mine := func(t *poll.Target) bool { return t.Driver == driver }
	sums, err := cur.engine.CycleOf(ctx, mine)
	w.bars.end()
	if err == nil {
		failed := w.handOver(ctx, sums)
		code := poll.ExitCode(sums)
		c.Failed = code == poll.ExitError || code == poll.ExitTryLater
		c.Complete = code == poll.ExitComplete && !failed
	}
	summarize(w.log, sums)
	c.scanned, c.evaluated = evaluated(sums)
	if ctx.Err() == nil {
		c.err = err
	}
	for i := range cur.setup.Targets {
		if t := &cur.setup.Targets[i]; mine(t) && t.Meter.Resume().After(c.NotBefore) {
			c.NotBefore = t.Meter.Resume()
		}
	}
	c.Ended = time.Now().Round(0)
	if !c.NotBefore.After(c.Ended) {
		c.NotBefore = time.Time{}
	}
	return c
}

// finished plans the driver's next cycle and remembers this one. A cycle that was stopped is none.
func (w *watcher) finished(ctx context.Context, c cycled) error {
	w.mu.Lock()
	t := w.ticks[c.driver]
	if t == nil { // taken out meanwhile
		w.mu.Unlock()
		return c.err
	}
	t.since = time.Time{}
	var last coverage.Cycle
	if ctx.Err() == nil && c.err == nil {
		last = t.schedule.Done(c.Outcome)
	}
	next := t.schedule.Wake()
	w.mu.Unlock()
	switch {
	case c.err != nil:
		return exit{poll.ExitError, c.err}
	case ctx.Err() != nil:
		return nil
	}
	last.Driver, last.Scanned, last.Evaluated = c.driver, c.scanned, c.evaluated
	if err := w.led.NoteCycle(ctx, last); err != nil {
		return ledgerExit(err)
	}
	level := slog.LevelDebug
	if last.Fails > 0 {
		level = slog.LevelWarn
	}
	w.log.Log(ctx, level, "next cycle", "driver", c.driver, "at", next.UTC().Format(time.RFC3339), "failures", last.Fails)
	if now := time.Now(); now.Sub(w.owed) >= owingEvery {
		w.owed = now
		if _, err := owing(ctx, w.e, w.led, w.driver()); err != nil {
			return ledgerExit(err)
		}
	}
	return nil
}

// reload takes up a changed configuration. One that cannot be used leaves the old one to read with; nothing is handed
// over meanwhile, since what cannot be read may be a kill switch.
func (w *watcher) reload() {
	print, err := fingerprintOf(w.f.dir)
	if err == nil && print == w.print {
		return
	}
	if err != nil {
		print = fingerprint{} // what is back as it was is a change, too
	}
	var s *setup.Setup
	if err == nil {
		s, err = w.f.load(w.e)
	}
	var out dispatch.Driver
	if err == nil {
		if out = w.now.hand.Driver; !sameOutput(w.now.setup, s) {
			out, err = w.f.output(w.e, s)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.print = print
	if w.bad = err; err != nil {
		w.log.Error("the configuration has changed and cannot be used: reading goes on with the old one, nothing is handed over", "error", err)
		return
	}
	w.now = w.loaded(s, out)
	w.plan(time.Now().Round(0), nil)
	w.log.Info("the configuration has changed: taken up", "scopes", len(s.Targets), "harnesses", len(s.Harnesses.Harnesses))
}

// sameOutput says that a changed configuration hands over as the old one did; runs that were started stay known.
func sameOutput(a, b *setup.Setup) bool {
	return a.Config.OutputDriver == b.Config.OutputDriver && a.Config.TargetRepo == b.Config.TargetRepo &&
		reflect.DeepEqual(a.Config.Run, b.Config.Run)
}

func (w *watcher) adopt(cycles []coverage.Cycle) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan(time.Now().Round(0), cycles)
	for name, t := range w.ticks {
		w.log.Info("watching", "driver", name, "every", t.schedule.Every, "last", stamp(t.schedule.Last().Ended),
			"next", stamp(t.schedule.Wake()))
	}
}

// plan gives every driver that has something to poll its schedule, from what is known of its last cycle.
func (w *watcher) plan(now time.Time, cycles []coverage.Cycle) {
	polled := map[string]bool{}
	for i := range w.now.setup.Targets {
		polled[w.now.setup.Targets[i].Driver] = true
	}
	old := w.ticks
	w.ticks = map[string]*tick{}
	for _, d := range w.now.setup.Config.InputDrivers {
		if !polled[d.Name] {
			continue
		}
		t := old[d.Name]
		if t == nil {
			t = &tick{schedule: &watch.Schedule{Every: d.Every, CatchUp: w.f.catchUp, Jitter: rand.Float64}}
			t.schedule.Resume(lastOf(cycles, d.Name), now)
		} else if t.schedule.Every != d.Every {
			t.schedule.Every = d.Every
			t.schedule.Resume(t.schedule.Last(), now)
		}
		w.ticks[d.Name] = t
	}
}

func lastOf(cycles []coverage.Cycle, driver string) coverage.Cycle {
	for _, c := range cycles {
		if c.Driver == driver {
			return c
		}
	}
	return coverage.Cycle{Driver: driver}
}

// driver is how things are handed over now.
func (w *watcher) driver() dispatch.Driver {
	cur, _ := w.current()
	return cur.hand.Driver
}

// view is the input drivers as status shows them; none is scheduled in a single cycle.
func (w *watcher) view() []driverView {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []driverView{}
	for name, t := range w.ticks {
		out = append(out, driverView{Name: name, Every: t.schedule.Every, Next: t.schedule.Wake(), Running: t.since})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// current is the configuration at work, and why it is not the one on disk.
func (w *watcher) current() (*loaded, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.bad
}

// runs is the driver that starts runs here; they are not waited for.
func (w *watcher) runs() *dispatch.Exec {
	cur, _ := w.current()
	x, _ := cur.hand.Driver.(*dispatch.Exec)
	return x
}

func (w *watcher) wantHand() {
	select {
	case w.want <- struct{}{}:
	default: // one is wanted already
	}
}

// hands hands over whenever that is wanted, and what waits for its next try in between.
func (w *watcher) hands(ctx context.Context) {
	every := time.NewTicker(handEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			if x := w.runs(); x != nil {
				for x.Wait(ctx) { // they are asked to stop, and answer for themselves
				}
			}
			return
		case <-w.want:
		case <-every.C:
		}
		w.handOnce(ctx, nil)
	}
}

// handOver hands over what a cycle has found, and counts it by scope. A driver that may have to wait for room is not
// waited for. It reports whether something was not taken.
func (w *watcher) handOver(ctx context.Context, sums []poll.Summary) (failed bool) {
	cur, _ := w.current()
	if bounded(cur.hand.Driver) {
		w.wantHand()
		return false
	}
	return w.handOnce(ctx, sums)
}

func (w *watcher) handOnce(ctx context.Context, sums []poll.Summary) (failed bool) {
	w.handing.Lock()
	defer w.handing.Unlock()
	cur, bad := w.current()
	if bad != nil || ctx.Err() != nil {
		return bad != nil
	}
	h := cur.hand
	h.Told = tally(sums)
	if err := w.f.recover(ctx, w.e, w.led, cur.engine, h); err != nil {
		w.log.Error("receipts could not be taken in", "error", err)
		return true
	}
	if cur.setup.Config.KillSwitch {
		w.log.Warn("kill switch: candidates are kept in the ledger, nothing is dispatched")
		return false
	}
	sent, lost, err := cur.engine.Deliver(ctx, h)
	if err != nil && ctx.Err() == nil {
		w.log.Error("dispatch failed: what was not handed over stays in the ledger", "error", err)
	}
	if sent+lost > 0 {
		w.log.Info("dispatched", "driver", h.Driver.Name(), "dispatched", sent, "failed", lost)
	}
	if x, ok := h.Driver.(*dispatch.Exec); ok && ctx.Err() == nil {
		err = errors.Join(err, w.settle(ctx, x))
	}
	return err != nil || lost > 0
}

// settle starts retries that are due and records what ended without a word.
func (w *watcher) settle(ctx context.Context, x *dispatch.Exec) error {
	err := w.f.retry(ctx, w.e, x)
	for _, r := range x.Ended() {
		if derr := w.led.Done(context.WithoutCancel(ctx), time.Now(), r); derr != nil {
			return errors.Join(err, fmt.Errorf("record the end of a run: %w", derr))
		}
	}
	return err
}
