package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/run"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/scope"
)

// declared is what this build says of its specification: it opens the gate, or does not.
func (e *env) declared() string {
	if e.spec != "" {
		return e.spec
	}
	return dispatch.Declared
}

// starter makes a driver that starts runs.
func (f *pollFlags) starter(e *env, s *setup.Setup, name string) (dispatch.Driver, error) {
	if s.Config.Run.Broken {
		return nil, exit{poll.ExitError, errors.New("the run section of config.yaml is refused: nothing can be started")}
	}
	if name == dispatch.ExecName {
		return f.exec(e, s)
	}
	o := dispatch.RemoteOptions{Dir: f.state + ".remote", HTTP: setup.Client(), Now: time.Now, Token: f.token(e, &s.Config.Run.Remote),
		BaseURL: s.Config.Run.Remote.BaseURL, Project: orElse(s.Config.Run.Remote.Project, s.Config.TargetRepo),
		Workflow: s.Config.Run.Remote.Workflow, Ref: s.Config.Run.Remote.Ref}
	if name == dispatch.GHAName {
		return dispatch.NewGHA(o)
	}
	return dispatch.NewPipeline(o)
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (f *pollFlags) token(e *env, r *config.Remote) func() (string, error) {
	return func() (string, error) {
		v, ok := e.getenv(r.TokenEnv)
		if !ok || v == "" {
			return "", errors.New("run.remote.token_env names no variable that holds a token")
		}
		return v, nil
	}
}

func (f *pollFlags) exec(e *env, s *setup.Setup) (dispatch.Driver, error) {
	program := e.program
	if program == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, exit{poll.ExitError, err}
		}
		program = self
	}
	out, _ := e.err.(*os.File) // only a file outlives the poller
	return dispatch.NewExec(dispatch.ExecOptions{
		Program: program, Args: f.runArgs, Max: s.Config.Run.Parallel, Output: out, Now: time.Now, Alive: f.alive,
	}), nil
}

// runArgs is the command line of the run of a record: values stand behind = and are never taken for options.
func (f *pollFlags) runArgs(r *dispatch.Record) []string {
	id := scope.Identity{Provider: r.Entity.Provider, Tenant: r.Entity.Tenant, Kind: r.Entity.Kind, ID: r.Entity.ID}
	ref := r.Entity.Key
	if ref == "" {
		ref = id.String()
	}
	args := []string{"run", "--fullsend-dir=" + f.dir, "--state=" + f.state, "--harness=" + r.Harness, "--entity=" + ref,
		"--identity=" + id.String(), "--key=" + r.Key, "--decision=" + r.Decision, "--entries=" + strconv.Itoa(r.Entries)}
	if !r.Updated.IsZero() {
		args = append(args, "--updated="+r.Updated.Format(time.RFC3339Nano))
	}
	return args
}

func (f *pollFlags) alive(group string) (int, bool, error) {
	g, err := run.NewGroup(f.state+".run", group)
	if err != nil {
		return 0, false, err
	}
	return g.Alive()
}

// recover finds out what became of runs that an earlier poller started. Runs are asked first and receipts are taken in
// then: a run that ends in between has written its receipt before it could not be found.
func (f *pollFlags) recover(ctx context.Context, e *env, led *coverage.Ledger, engine *poll.Engine, h poll.Hand) error {
	found, err := engine.Ask(ctx, h)
	if err != nil {
		e.logger().Error("runs cannot be asked: what they do is waited for", "error", err)
	}
	if err := f.receipts(ctx, e, led); err != nil {
		return err
	}
	for _, r := range found {
		if err := led.Done(ctx, time.Now(), r); err != nil {
			return err
		}
	}
	return nil
}

// attend stays with the runs that this poller has started: as each ends it takes receipts in and starts what waits; it
// reports whether anything is owed in the end. The ledger is open only for as long as it is written to, so that status and cancel can be asked meanwhile.
func (f *pollFlags) attend(ctx context.Context, e *env, s *setup.Setup, x *dispatch.Exec) (owed bool, err error) {
	for x.Wait(ctx) {
		keep := *f
		keep.wait = max(f.wait, time.Minute)
		led, closeLedger, err := keep.ledger(context.WithoutCancel(ctx), e) // what was done must be recorded
		if err != nil {
			return false, err
		}
		owed, err = f.collect(ctx, e, s, led, x)
		if cerr := closeLedger(); err == nil && cerr != nil {
			err = cerr
		}
		if err != nil {
			return false, exit{poll.ExitError, fmt.Errorf("runs: %w", err)}
		}
	}
	return owed, nil
}

// collect takes in what runs have written, and then what they have not.
func (f *pollFlags) collect(ctx context.Context, e *env, s *setup.Setup, led *coverage.Ledger, x *dispatch.Exec) (owed bool, err error) {
	durable := context.WithoutCancel(ctx)
	if err := f.receipts(durable, e, led); err != nil {
		return false, err
	}
	for _, r := range x.Ended() {
		e.logger().Error("run", "key", r.Key, "outcome", r.Outcome, "reason", r.Why)
		if err := led.Done(durable, time.Now(), r); err != nil {
			return false, err
		}
	}
	if ctx.Err() != nil {
		return true, nil
	}
	h := poll.Hand{Driver: x, Spec: e.declared(), Target: s.Config.TargetRepo, Now: time.Now, Limit: f.emit}
	f.hand(ctx, e, s, poll.New(poll.Options{Ledger: led, Targets: s.Targets, Log: e.logger()}), h)
	if err := f.retry(ctx, e, x); err != nil || x.Busy() {
		return false, err
	}
	return owing(ctx, e, led, x)
}

// retry starts what no ledger row stands for: events and runs by hand that could not be decided.
func (f *pollFlags) retry(ctx context.Context, e *env, x *dispatch.Exec) error {
	rf := &runFlags{state: f.state}
	retries, err := rf.retries()
	if err != nil {
		return err
	}
	due, err := retries.Due()
	for _, t := range due {
		if x.Free(ctx) == 0 {
			break // they stay due
		}
		e.logger().Info("retry", "harness", t.Harness, "entity", t.Candidate.Ref, "tries", t.Tries, "since", t.Since, "reason", t.Why)
		args := []string{"run", "--fullsend-dir=" + f.dir, "--state=" + f.state, "--retry=" + t.Name}
		err = errors.Join(err, x.Also(ctx, t.Name, args))
	}
	return err
}
