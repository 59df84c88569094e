package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/control"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// The questions that a running poller answers.
const (
	opStatus = "status"
	opWhy    = "why"
	opPlan   = "plan"
	opCancel = "cancel"
)

// asked are the arguments of every question.
type asked struct {
	Dir      string        `json:"dir,omitempty"` // absolute; the poller answers for its own folder only
	Question poll.Question `json:"question,omitzero"`
	Entity   string        `json:"entity,omitempty"`
	Harness  string        `json:"harness,omitempty"`
}

// plans is the answer to opPlan.
type plans struct {
	Text string    `json:"text"` // for people, what was logged included
	Log  string    `json:"log,omitempty"`
	View *planView `json:"view,omitempty"` // absent when nothing could be loaded
}

// pollerView is the poller that holds the ledger.
type pollerView struct {
	PID     int          `json:"pid"`
	Version string       `json:"version"`
	Started time.Time    `json:"started"`
	Mode    string       `json:"mode"` // once or watch
	Dir     string       `json:"dir"`
	Config  string       `json:"config_error,omitempty"` // why the configuration on disk is not the one at work
	Drivers []driverView `json:"drivers"`
}

// driverView is one input driver of a watching poller.
type driverView struct {
	Name    string        `json:"name"`
	Every   time.Duration `json:"every"`
	Next    time.Time     `json:"next,omitzero"`
	Running time.Time     `json:"running_since,omitzero"`
}

// statusView is what status shows: the ledger, and who holds it.
type statusView struct {
	coverage.Snapshot
	Poller *pollerView `json:"poller,omitempty"`
}

// answers answers on the control socket for the process that holds the ledger.
type answers struct {
	e       *env
	f       *pollFlags
	led     *coverage.Ledger
	started time.Time
	mode    string
	current func() (*loaded, error)
	drivers func() []driverView
}

// serve begins to answer. A poller goes on without: the ledger is what matters.
func (a *answers) serve(ctx context.Context) (stop func()) {
	s, err := control.Serve(ctx, control.SocketPath(a.f.state), a.handle)
	if err != nil {
		a.e.logger().Warn("nobody can ask this poller while it runs", "error", err)
		return func() {}
	}
	return func() {
		if err := s.Close(); err != nil {
			a.e.logger().Debug("control socket", "error", err)
		}
	}
}

func (a *answers) handle(ctx context.Context, r control.Request) (any, error) {
	var args asked
	if len(r.Args) > 0 {
		if err := json.Unmarshal(r.Args, &args); err != nil {
			return nil, &control.Error{Code: poll.ExitUsage, Text: fmt.Sprintf("arguments of %s: %v", r.Op, err)}
		}
	}
	if dir := absolute(a.f.dir); args.Dir != "" && args.Dir != dir {
		return nil, &control.Error{Code: poll.ExitUsage, Text: fmt.Sprintf(
			"the poller that holds the ledger works with %s, not with %s: name its folder with --fullsend-dir", dir, args.Dir)}
	}
	v, err := a.answer(ctx, r.Op, &args)
	return v, told(err)
}

func (a *answers) answer(ctx context.Context, op string, args *asked) (any, error) {
	switch op {
	case opStatus:
		snap, err := a.led.Snapshot(ctx, time.Now())
		return statusView{snap, a.view()}, err
	case opWhy:
		cur, _ := a.current()
		w, err := cur.engine.Why(ctx, args.Question, time.Now())
		return answered(w, err)
	case opPlan:
		return a.plan(ctx)
	case opCancel:
		cur, _ := a.current()
		return nil, cancelWith(ctx, a.e, a.led, cur.hand.Driver, cur.setup, args.Entity, args.Harness)
	}
	return nil, exit{poll.ExitUsage, fmt.Errorf("the poller that holds the ledger (%s) does not know %q", version, op)}
}

// plan shows the plan of what is on disk now: who edits wants to see what comes.
func (a *answers) plan(ctx context.Context) (any, error) {
	var out, errs bytes.Buffer
	own := &env{in: a.e.in, out: &out, err: &errs, getenv: a.e.getenv, verbose: a.e.verbose, logJSON: a.e.logJSON, spec: a.e.spec}
	f := *a.f
	f.meters = nil
	views, err := compilePlans(ctx, own, &f)
	p := plans{Log: errs.String()}
	if views != nil {
		printPlans(&out, views)
		p.View = viewOf(views)
	}
	p.Text = p.Log + out.String()
	return p, err
}

func (a *answers) view() *pollerView {
	v := &pollerView{PID: os.Getpid(), Version: version, Started: a.started.UTC(), Mode: a.mode, Dir: absolute(a.f.dir), Drivers: a.drivers()}
	if _, bad := a.current(); bad != nil {
		v.Config = bad.Error()
	}
	return v
}

// told gives an error its exit code on the way through the socket.
func told(err error) error {
	var x exit
	if err == nil || !errors.As(err, &x) {
		return err
	}
	e := &control.Error{Code: x.code}
	if x.err != nil {
		e.Text = x.err.Error()
	}
	return e
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// ask asks the process that holds the ledger. It reports whether there was one; its refusal is an exit.
func (f *pollFlags) ask(ctx context.Context, op string, args asked, v any) (bool, error) {
	err := control.Ask(ctx, control.SocketPath(f.state), op, args, v)
	var refusal *control.Error
	switch {
	case errors.Is(err, control.ErrNobody):
		return false, nil
	case errors.As(err, &refusal):
		if refusal.Text == "" {
			return true, exit{code: refusal.Code}
		}
		return true, exit{refusal.Code, refusal}
	case err != nil:
		return true, exit{poll.ExitError, err}
	}
	return true, nil
}

// reading asks the holder of the ledger, or reads the file itself. A poller may begin or end in between.
func (f *pollFlags) reading(ctx context.Context, op string, args asked, v any, local func() error) error {
	for try := 0; ; try++ {
		if ok, err := f.ask(ctx, op, args, v); ok {
			return err
		}
		err := local()
		if try > 0 || !errors.Is(err, coverage.ErrHeld) {
			return err
		}
	}
}

// readOnly opens the ledger file without writing to it.
func (f *pollFlags) readOnly(ctx context.Context) (*coverage.Ledger, func() error, error) {
	store, err := coverage.OpenFile(ctx, f.state, coverage.FileOptions{Wait: f.wait, ReadOnly: true, Version: version})
	if err != nil {
		return nil, nil, err
	}
	l, err := coverage.Open(ctx, store, coverage.Options{})
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return l, store.Close, nil
}

// bounded says that a driver may keep who hands over waiting.
func bounded(d dispatch.Driver) bool {
	_, ok := d.(dispatch.Bounded)
	return ok
}
