package coverage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fullsend-ai/discovery/scope"
)

// Report is what Check found.
type Report struct {
	Schema   int      `json:"schema"`
	Scopes   int      `json:"scopes"`
	Entities int      `json:"entities"`
	Outbox   int      `json:"outbox"`
	Values   int      `json:"values"` // all values read
	Problems []string `json:"problems"`
	More     int      `json:"more,omitempty"` // problems beyond the first 100
}

// OK says that nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

const maxProblems = 100

func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) >= maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Check reads everything: checksums, formats, and that indexes and values agree. It reports all it can find; the error
// is for a store that cannot be read any further, and then the report is partial.
func Check(ctx context.Context, s Store) (Report, error) {
	r := Report{Problems: []string{}}
	err := s.View(ctx, func(tx Tx) error {
		c := checker{Report: &r, tx: txn{tx}, sids: map[string]bool{}}
		return c.run(ctx)
	})
	if err != nil {
		r.problem("%v", err)
	}
	return r, err
}

type checker struct {
	*Report
	tx   txn
	sids map[string]bool
}

func (c *checker) run(ctx context.Context) error {
	v, err := schemaOf(c.tx, Schema)
	if err != nil && !errors.Is(err, ErrNewer) {
		c.problem("%v", err)
	} else if err != nil {
		return err
	}
	c.Schema = v
	for _, step := range []struct {
		bucket string
		look   func(key string, value []byte)
	}{
		{bMeta, func(string, []byte) {}}, {bScope, c.scope}, {bSource, asJSON[sourceRow](c, bSource)},
		{bWalk, asJSON[walkRow](c, bWalk)}, {bRange, c.history}, {bSweep, asJSON[sweepRow](c, bSweep)}, {bDebt, asJSON[debtRow](c, bDebt)},
		{bNumber, c.number}, {bEntity, c.entity}, {bAgenda, c.agenda}, {bRests, c.rests},
		{bActor, c.actor}, {bAsk, c.ask}, {bPair, c.pair}, {bOutbox, c.row}, {bQueue, c.queue},
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.bucket(step.bucket, step.look)
	}
	return nil
}

// bucket goes on after a bad value, unlike every other reader.
func (c *checker) bucket(name string, look func(string, []byte)) {
	c.tx.Ascend(name, "", func(k string, b []byte) bool {
		c.Values++
		if name == bMeta && k == "schema" {
			return true
		}
		v, err := unseal(name, k, b)
		if err != nil {
			c.problem("%v", err)
			return true
		}
		if sid := sidOf(k); name != bMeta && name != bScope && name != bPair && name != bOutbox && name != bQueue && !c.sids[sid] {
			c.problem("%s %q belongs to no scope", name, k)
		}
		look(k, v)
		return true
	})
}

func asJSON[T any](c *checker, bucket string) func(string, []byte) {
	return func(k string, v []byte) {
		var x T
		if err := decodeJSON(bucket, k, v, &x); err != nil {
			c.problem("%v", err)
		}
	}
}

func (c *checker) scope(k string, v []byte) {
	var s scopeRow
	if err := decodeJSON(bScope, k, v, &s); err != nil {
		c.problem("%v", err)
		return
	}
	if s.Scope.Key() != k {
		c.problem("scope %q is stored under %q", s.Scope.Key(), k)
	}
	c.Scopes++
	c.sids[s.SID] = true
}

func (c *checker) history(k string, v []byte) {
	var h history
	if err := decodeJSON(bRange, k, v, &h); err != nil {
		c.problem("%v", err)
		return
	}
	if c.tx.Get(bWalk, k) == nil {
		c.problem("range %q belongs to no walk", k)
	}
	for _, r := range h.Covered {
		if r.To.Before(r.From) {
			c.problem("walk %q has a range that ends before it begins: %s, %s", k, r.From, r.To)
		}
	}
}

func (c *checker) number(k string, v []byte) {
	d := decoder{b: v}
	d.int()
	if d.take(2 * chunkBytes); d.bad || len(d.b) != 0 {
		c.problem("number %q cannot be decoded", k)
	}
}

func (c *checker) entity(k string, v []byte) {
	e, err := entityAt(k, v)
	if err != nil {
		c.problem("%v", err)
		return
	}
	c.Entities++
	sid, id := sidOf(k), e.ref.Identity.String()
	for _, a := range e.again {
		if c.tx.Get(bAgenda, agendaKey(sid, a, id)) == nil {
			c.problem("entity %q: its appointment %q is not in the agenda", k, a.Why)
		}
	}
	for _, a := range e.restsOn {
		if c.tx.Get(bRests, actorKey(sid, a)+sep+id) == nil {
			c.problem("entity %q rests on %q, which is not in the index", k, a)
		}
		if c.tx.Get(bActor, actorKey(sid, a)) == nil {
			c.problem("entity %q rests on %q, who is not known", k, a)
		}
	}
	for s, p := range e.pairs {
		if p.pending == "" {
			continue
		}
		row, err := c.tx.row(deliveryKey(s, e.ref.Identity))
		if err == nil && (row == nil || row.SID == sid && row.Dec.ID != p.pending && (row.Next == nil || row.Next.Dec.ID != p.pending)) {
			c.problem("entity %q: decision %s of %q is not in the outbox", k, p.pending, s)
		}
	}
}

// known returns the entity of an index key; nil is a problem, already reported.
func (c *checker) known(bucket, k, sid, id string) *entityRow {
	x, err := scope.ParseIdentity(id)
	if err != nil {
		c.problem("%s %q: %v", bucket, k, err)
		return nil
	}
	e, err := c.tx.entity(sid, x)
	if err != nil {
		return nil // reported with the entity
	}
	if e == nil {
		c.problem("%s %q names an entity that is not known", bucket, k)
	}
	return e
}

func (c *checker) agenda(k string, _ []byte) {
	p := strings.Split(k, sep)
	if len(p) != 4 {
		c.problem("agenda %q has %d parts", k, len(p))
		return
	}
	e := c.known(bAgenda, k, p[0], p[3])
	if e != nil && !slices.ContainsFunc(e.again, func(a Appointment) bool { return part(a.Why) == p[1] && stamp(a.At) == p[2] }) {
		c.problem("agenda %q is no appointment of its entity", k)
	}
}

func (c *checker) rests(k string, _ []byte) {
	p := strings.Split(k, sep)
	if len(p) != 3 {
		c.problem("rests %q has %d parts", k, len(p))
		return
	}
	e := c.known(bRests, k, p[0], p[2])
	if e != nil && !slices.ContainsFunc(e.restsOn, func(a string) bool { return part(a) == p[1] }) {
		c.problem("rests %q: the entity does not rest on the actor", k)
	}
}

func (c *checker) actor(k string, v []byte) {
	var a actorRow
	if err := decodeJSON(bActor, k, v, &a); err != nil {
		c.problem("%v", err)
		return
	}
	if c.tx.Get(bAsk, askKey(sidOf(k), &a)) == nil {
		c.problem("actor %q is never asked", k)
	}
}

func (c *checker) ask(k string, _ []byte) {
	p := strings.Split(k, sep)
	if len(p) != 3 || c.tx.Get(bActor, p[0]+sep+p[2]) == nil {
		c.problem("ask %q names an actor who is not known", k)
	}
}

func (c *checker) pair(k string, v []byte) {
	source, id, err := parseDeliveryKey(k)
	if err != nil {
		c.problem("pair %q: %v", k, err)
		return
	}
	if e := c.known(bPair, k, string(v), id.String()); e != nil && e.pairs[source] == nil {
		c.problem("pair %q: the entity has no such pair", k)
	}
}

func (c *checker) row(k string, v []byte) {
	var r outRow
	if err := decodeJSON(bOutbox, k, v, &r); err != nil {
		c.problem("%v", err)
		return
	}
	c.Outbox++
	if r.Key != k || c.tx.Get(bQueue, r.Queue) == nil {
		c.problem("outbox row %q is in no queue", k)
	}
	seq, err := strconv.ParseUint(r.Queue[strings.LastIndex(r.Queue, sep)+1:], 16, 64)
	if err != nil || seq != r.Seq {
		c.problem("outbox row %q is queued as %q", k, r.Queue)
	}
}

func (c *checker) queue(k string, v []byte) {
	if c.tx.Get(bOutbox, string(v)) == nil {
		c.problem("queue %q names a row that is not in the outbox", k)
	}
}
