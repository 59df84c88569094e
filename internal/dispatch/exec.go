package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
)

// Names of the drivers that start runs.
const (
	ExecName     = "exec"
	GHAName      = "gha-dispatch"
	PipelineName = "gitlab-pipeline"
)

// Started is the outcome of a delivery whose run was started and has not ended. It is never recorded: the delivery stays
// with the driver until a receipt comes or its lease is over.
const Started = "started"

// Bounded is implemented by drivers that take only so many records at once. Free says how many now.
type Bounded interface {
	Free(ctx context.Context) int
}

// Asker is implemented by drivers whose runs outlive Start. Ask returns a receipt for every record whose run is known:
// Started while it lives. A record without a receipt has no run.
type Asker interface {
	Ask(ctx context.Context, rs []Record) ([]coverage.Receipt, error)
}

// ErrNoRun is returned by Cancel for a record of which no run is known.
var ErrNoRun = errors.New("no run is known")

// Canceler is implemented by drivers that can end a run. It returns nil only when the run has surely been told to end.
type Canceler interface {
	Cancel(ctx context.Context, r *Record) error
}

// ExecOptions of the driver exec.
type ExecOptions struct {
	Program string
	Args    func(r *Record) []string // argv of the run of a record, without the program
	Max     int                      // runs of this process at once
	Output  *os.File                 // of the runs; nil: none
	Now     func() time.Time
	// Alive reports whether a run of a group lives on this machine, whoever started it.
	Alive func(group string) (pid int, alive bool, err error)
}

// Exec starts bound runs as processes of this machine. A run writes its receipt itself, so that it survives both; the
// driver only tells of runs that ended without one.
type Exec struct {
	o ExecOptions

	mu    sync.Mutex
	slots chan struct{}
	procs map[*exec.Cmd]string // by process, the key of the record that it was started for
	ended []coverage.Receipt
	done  sync.WaitGroup
	wake  chan struct{} // holds one when Wait should look
	// unseen runs have ended and Wait has not told of them.
	unseen int
}

// NewExec makes the driver.
func NewExec(o ExecOptions) *Exec {
	return &Exec{o: o, slots: make(chan struct{}, max(o.Max, 1)), procs: map[*exec.Cmd]string{}, wake: make(chan struct{}, 1)}
}

// Name is exec.
func (*Exec) Name() string { return ExecName }

// Free is how many runs may be started now. It does not wait.
func (x *Exec) Free(ctx context.Context) int {
	if ctx.Err() != nil {
		return 0
	}
	return cap(x.slots) - len(x.slots)
}

// Start starts one process per record and does not wait for its end. A process that finds another run of its group
// leaves the record to that one.
func (x *Exec) Start(ctx context.Context, rs []Record) ([]coverage.Receipt, error) {
	var out []coverage.Receipt
	var errs []error
	for i := range rs {
		r := &rs[i]
		select {
		case x.slots <- struct{}{}:
		case <-ctx.Done():
			return out, errors.Join(append(errs, ctx.Err())...)
		}
		if err := x.launch(r.Key, r.Decision, x.o.Args(r)); err != nil {
			<-x.slots
			errs = append(errs, fmt.Errorf("start the run of %s: %w", r.Key, err))
			continue
		}
		out = append(out, coverage.Receipt{Key: r.Key, Decision: r.Decision, Outcome: Started, At: x.o.Now().UTC()})
	}
	return out, errors.Join(errs...)
}

// Also starts a run that no record stands for, and that answers for itself, when there is room for it.
func (x *Exec) Also(ctx context.Context, name string, args []string) error {
	select {
	case x.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := x.launch("", "", args); err != nil {
		<-x.slots
		return fmt.Errorf("start the run of %s: %w", name, err)
	}
	return nil
}

func (x *Exec) launch(key, decision string, args []string) error {
	c := exec.Command(x.o.Program, args...)
	if x.o.Output != nil {
		c.Stdout, c.Stderr = x.o.Output, x.o.Output
	}
	apart(c)
	if err := c.Start(); err != nil {
		return err
	}
	x.mu.Lock()
	x.procs[c] = key
	x.mu.Unlock()
	x.done.Add(1)
	go func() {
		defer x.done.Done()
		err := c.Wait()
		x.mu.Lock()
		delete(x.procs, c)
		// 0 and 3 are ends of a run that has said itself what became of the candidate.
		if code := c.ProcessState.ExitCode(); code != 0 && code != 3 && key != "" {
			x.ended = append(x.ended, coverage.Receipt{Key: key, Decision: decision, Outcome: coverage.Failed,
				At: x.o.Now().UTC(), Why: fmt.Sprintf("the run ended without a word: %v", err)})
		}
		<-x.slots
		x.unseen++
		x.mu.Unlock()
		select {
		case x.wake <- struct{}{}:
		default: // somebody will look anyway
		}
	}()
	return nil
}

// Wait waits until a run has ended that it has not told of yet, and returns false when there is none and none is running.
// When ctx ends all of them are asked to stop and are waited for: a run that is stopped says so.
func (x *Exec) Wait(ctx context.Context) bool {
	for {
		x.mu.Lock()
		told, busy := x.unseen > 0, len(x.procs) > 0
		x.unseen = 0
		x.mu.Unlock()
		if told || !busy {
			return told
		}
		select {
		case <-x.wake:
		case <-ctx.Done():
			x.mu.Lock()
			for c := range x.procs {
				_ = c.Process.Signal(os.Interrupt)
			}
			x.mu.Unlock()
			x.done.Wait()
		}
	}
}

// Busy reports whether a run that this driver started has not ended.
func (x *Exec) Busy() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.procs) > 0 || x.unseen > 0
}

// Ended returns receipts for the runs that ended without one, each once. They come after whatever runs have written.
func (x *Exec) Ended() []coverage.Receipt {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.ended
	x.ended = nil
	return out
}

// runs reports whether a process of this driver lives that was started for the key: it may not have said so yet.
func (x *Exec) runs(key string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range x.procs {
		if k == key {
			return true
		}
	}
	return false
}

// Ask tells which records have a live run on this machine.
func (x *Exec) Ask(_ context.Context, rs []Record) ([]coverage.Receipt, error) {
	var out []coverage.Receipt
	for i := range rs {
		_, alive, err := x.o.Alive(rs[i].Group())
		if err != nil {
			return out, err
		}
		if alive || x.runs(rs[i].Key) {
			out = append(out, coverage.Receipt{Key: rs[i].Key, Decision: rs[i].Decision, Outcome: Started, At: x.o.Now().UTC()})
		}
	}
	return out, nil
}

// Cancel asks the run of the record's group to stop.
func (x *Exec) Cancel(_ context.Context, r *Record) error {
	pid, alive, err := x.o.Alive(r.Group())
	switch {
	case err != nil:
		return err
	case !alive || pid <= 1:
		return fmt.Errorf("%w on this machine for %s", ErrNoRun, r.Key)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(os.Interrupt)
}
