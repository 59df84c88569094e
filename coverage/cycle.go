package coverage

import (
	"context"
	"time"
)

// Cycle is when a poller last worked for one input driver, on the local clock: what a poller that starts again needs to
// keep its schedule, and people to see that it is alive.
type Cycle struct {
	Driver    string    `json:"driver"`
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"ended"`
	Complete  time.Time `json:"complete,omitzero"` // end of the last one in which every scope was complete
	Fails     int       `json:"fails"`             // in a row in which nothing could be read
	NotBefore time.Time `json:"not_before,omitzero"`
	Scanned   int       `json:"scanned"`   // entities that the last cycle looked at
	Evaluated int       `json:"evaluated"` // queries that it evaluated for them
}

// maxCycles bounds how many drivers are remembered.
const maxCycles = 1000

const cyclePrefix = "cycle" + sep

// NoteCycle remembers a cycle under its driver. A driver that was not heard of for RetainSource is forgotten.
func (l *Ledger) NoteCycle(ctx context.Context, c Cycle) error {
	c.Began, c.Ended, c.Complete, c.NotBefore = utc(c.Began), utc(c.Ended), utc(c.Complete), utc(c.NotBefore)
	return l.updateAll(ctx, func(tx txn) error {
		old, err := tx.cycles()
		if err != nil {
			return err
		}
		for i := range old {
			if old[i].Ended.Before(c.Ended.Add(-l.o.RetainSource)) || len(old) > maxCycles {
				if err := tx.Delete(bMeta, cyclePrefix+part(old[i].Driver)); err != nil {
					return err
				}
			}
		}
		return tx.saveJSON(bMeta, cyclePrefix+part(c.Driver), c)
	})
}

// Cycles returns the last cycle of every driver that is remembered, by name.
func (l *Ledger) Cycles(ctx context.Context) ([]Cycle, error) {
	var out []Cycle
	err := l.viewAll(ctx, func(tx txn) (err error) { out, err = tx.cycles(); return err })
	return out, err
}

func (t txn) cycles() ([]Cycle, error) {
	out := []Cycle{}
	err := t.each(bMeta, cyclePrefix, func(k string, v []byte) error {
		var c Cycle
		err := decodeJSON(bMeta, k, v, &c)
		out = append(out, c)
		return err
	})
	return out, err
}
