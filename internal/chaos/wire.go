package chaos

import (
	"context"
	"errors"
	"net/http"

	"github.com/fullsend-ai/discovery/coverage"
)

// errDead is what a process meets that has been killed: nothing works any more.
var errDead = errors.New("the process was killed")

// errEndless ends a cycle that goes round in circles.
var errEndless = errors.New("the cycle does not end")

// endless is how many requests, and how many transactions, no cycle of these small worlds needs.
const endless = 20_000

// life is one process: it dies at an armed point and stays dead.
type life struct {
	dead     bool
	endless  bool
	requests int // of this cycle
	updates  int
	plan     crash
}

// crash says where the process dies: at the n-th request, before or after the n-th commit, or when the driver has taken
// the n-th batch.
type crash struct {
	at string // request, write, commit, driver
	n  int
}

func (l *life) begin() { l.requests, l.updates, l.endless = 0, 0, false }

func (l *life) dies(at string, n int) bool {
	if l.plan.at == at && n == l.plan.n {
		l.plan, l.dead = crash{}, true
	}
	return l.dead
}

// wire carries the requests of the process to the forge.
type wire struct {
	forge http.RoundTripper
	life  *life
	hooks map[int][]string // what happens right before the n-th request of this cycle
	do    func(line string)
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	l := w.life
	if l.dead {
		return nil, errDead
	}
	l.requests++
	if l.requests > endless {
		l.endless = true
		return nil, errEndless
	}
	for _, line := range w.hooks[l.requests] {
		w.do(line)
	}
	delete(w.hooks, l.requests)
	if l.dies("request", l.requests) {
		return nil, errDead
	}
	return w.forge.RoundTrip(r)
}

// disk is a store that survives the process.
type disk struct {
	coverage.Store
	life *life
}

func (d *disk) View(ctx context.Context, f func(coverage.Tx) error) error {
	if d.life.dead {
		return errDead
	}
	return d.Store.View(ctx, f)
}

func (d *disk) Update(ctx context.Context, f func(coverage.Tx) error) error {
	l := d.life
	if l.dead {
		return errDead
	}
	l.updates++
	if l.updates > endless {
		l.endless = true
		return errEndless
	}
	if l.dies("write", l.updates) {
		return errDead
	}
	if err := d.Store.Update(ctx, f); err != nil {
		return err
	}
	if l.dies("commit", l.updates) {
		return errDead
	}
	return nil
}
