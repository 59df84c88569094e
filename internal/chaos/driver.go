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
	living   map[string]string // decisions under way, by key
	took     func(r *dispatch.Record, outcome string)
}

// Outcomes of the story that are none of a receipt: the driver says nothing; the run says no although the entity is a
// member, since it read the past.
const (
	mute  = "mute"
	stale = "stale"
)

func (*driver) Name() string { return dispatch.JSON }

func (d *driver) Start(_ context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	if d.life.dead {
		return nil, errDead
	}
	d.batches++
	var out []coverage.Receipt
	for i := range rs {
		if at, lives := d.living[rs[i].Key]; lives {
			out = append(out, coverage.Receipt{Key: rs[i].Key, Decision: at, Outcome: dispatch.Started, At: d.now()})
			continue
		}
		outcome := d.ordinary
		if len(d.next) > 0 {
			outcome, d.next = d.next[0], d.next[1:]
		}
		if d.poison != "" && rs[i].Harness == d.poison {
			outcome = coverage.Failed
		}
		d.took(&rs[i], outcome)
		switch outcome {
		case mute:
			continue
		case stale:
			outcome = coverage.NotMember
		case dispatch.Started:
			d.living[rs[i].Key] = rs[i].Decision
		}
		out = append(out, coverage.Receipt{Key: rs[i].Key, Decision: rs[i].Decision, Outcome: outcome, At: d.now(), Why: "as the story wants it"})
	}
	if d.life.dies("driver", d.batches) {
		return nil, errDead
	}
	return out, nil
}
