package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Direct starts the command as it is: driver none, or command when a launcher is put before it.
type Direct struct {
	Launcher []string // argv to which the command is added; empty for none
}

// Name is command with a launcher, else none.
func (d Direct) Name() string {
	if len(d.Launcher) > 0 {
		return Command
	}
	return None
}

// Run implements Driver. Only the environment of the spec is passed on; nothing else is kept away.
func (d Direct) Run(ctx context.Context, s Spec) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	path, err := place(s.Work, s.Context)
	if err != nil {
		return Result{}, err
	}
	argv := append(slices.Clone(d.Launcher), s.Command...)
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Stdout, c.Stderr = s.Work, s.Out, s.Errs
	c.Env = environ(s.Env, map[string]string{"FULLSEND_CONTEXT": path})
	return wait(ctx, c, &s)
}

// place writes the context where the command will find it.
func place(work string, b []byte) (string, error) {
	path := filepath.Join(work, "context.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return "", fmt.Errorf("write the context: %w", err)
	}
	return path, nil
}

// environ is never empty: exec.Cmd would take nil for "as mine".
func environ(ms ...map[string]string) []string {
	out := []string{}
	for _, m := range ms {
		for k, v := range m {
			out = append(out, k+"="+v)
		}
	}
	slices.Sort(out)
	return out
}

// wait runs c in a process group of its own and ends the group when the time or ctx is over: asking first, then not.
func wait(ctx context.Context, c *exec.Cmd, s *Spec) (Result, error) {
	if s.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Limit)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	group(c)
	c.WaitDelay = time.Second // for outputs that a stray grandchild holds open
	if err := c.Start(); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	stopped := false
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		stopped = true
		ask(c)
		t := time.NewTimer(s.Grace)
		select {
		case err = <-done:
		case <-t.C:
			end(c)
			err = <-done
		}
		t.Stop()
	}
	end(c) // whatever it left behind
	var x *exec.ExitError
	if errors.As(err, &x) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return Result{Code: c.ProcessState.ExitCode(), Stopped: stopped}, err
}
