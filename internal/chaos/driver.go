package chaos

import (
	"context"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
)

// driver takes records and answers with what it was told to: for each record the next outcome of the list, or the
// ordinary one.
type driver struct {
	life     *life
	now      func() time.Time
	ordinary string
	next     []string
	poison   string // a harness whose runs always fail
	batches  int
	took     func(r *dispatch.Record, outcome string)
}

// mute is an outcome that is none: the driver says nothing about the record.
const mute = "mute"

func (*driver) Name() string { return dispatch.JSON }

func (d *driver) Start(_ context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	if d.life.dead {
		return nil, errDead
	}
	d.batches++
	var out []coverage.Receipt
	for i := range rs {
		outcome := d.ordinary
		if len(d.next) > 0 {
			outcome, d.next = d.next[0], d.next[1:]
		}
		if d.poison != "" && rs[i].Harness == d.poison {
			outcome = coverage.Failed
		}
		d.took(&rs[i], outcome)
		if outcome == mute {
			continue
		}
		out = append(out, coverage.Receipt{Key: rs[i].Key, Decision: rs[i].Decision, Outcome: outcome, At: d.now(), Why: "as the story wants it"})
	}
	if d.life.dies("driver", d.batches) {
		return nil, errDead
	}
	return out, nil
}
