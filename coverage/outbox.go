package coverage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// outRow is an outbox row: one per source and identity.
type outRow struct {
	Delivery
	SID   string   `json:"sid"`
	Dec   decision `json:"dec"`
	Next  *nextRow `json:"next,omitempty"` // a newer decision, made while a driver held this one
	Seq   uint64   `json:"seq"`
	Queue string   `json:"queue"` // its key in the queue
}

type nextRow struct {
	Dec      decision `json:"dec"`
	Evidence []byte   `json:"evidence"`
}

// The queues: rows never tried or tried and ready to be claimed in order of age; rows that wait for an instant; rows
// whose source is not in the plan and that wait for its return.
const (
	queueNew  = "n"
	queueWait = "r"
	queueHeld = "h"
)

func (r *outRow) leased() bool { return !r.Lease.IsZero() }

func (r *outRow) fill(st *scopeState, ref scope.Ref, d decision, evidence []byte) {
	r.SID, r.Scope, r.Ref, r.Entries, r.Dec = st.SID, st.Scope, ref, d.Entries, d
	r.Decision, r.Evidence = d.ID, evidence
}

// advance puts the newer decision in the place of the one that was held.
func (r *outRow) advance(now time.Time) {
	r.Dec, r.Evidence, r.Decision, r.Entries = r.Next.Dec, r.Next.Evidence, r.Next.Dec.ID, r.Next.Dec.Entries
	r.Next = nil
	r.Tries, r.Dead, r.Why = 0, false, ""
	r.NotBefore, r.Lease, r.Created = time.Time{}, time.Time{}, utc(now)
}

func (t txn) row(key string) (*outRow, error) {
	var r outRow
	ok, err := t.loadJSON(bOutbox, key, &r)
	if err != nil || !ok {
		return nil, err
	}
	return &r, nil
}

func (t txn) saveRow(r *outRow) error { return t.saveJSON(bOutbox, r.Key, r) }

func (t txn) deleteRow(r *outRow) error {
	if err := t.Delete(bQueue, r.Queue); err != nil {
		return err
	}
	return t.Delete(bOutbox, r.Key)
}

// requeue moves the row to a queue and saves it. The waiting queue is ordered by the instant waited for.
func (t txn) requeue(r *outRow, queue string) error {
	if r.Queue != "" {
		if err := t.Delete(bQueue, r.Queue); err != nil {
			return err
		}
	}
	at := r.NotBefore
	if r.leased() {
		at = r.Lease
	}
	if queue != queueWait {
		at = time.Time{}
	}
	r.Queue = keyOf(queue, stamp(at), hexText(r.Seq, 16))
	if err := t.save(bQueue, r.Queue, []byte(r.Key)); err != nil {
		return err
	}
	return t.saveRow(r)
}

func (t txn) nextSeq() (uint64, error) {
	b, ok, err := t.load(bMeta, "seq")
	if err != nil {
		return 0, err
	}
	var n uint64
	if ok && len(b) == 8 {
		n = binary.BigEndian.Uint64(b)
	}
	n++
	return n, t.save(bMeta, "seq", binary.BigEndian.AppendUint64(nil, n))
}

// ready returns up to n keys of rows that may be claimed: new ones and ones that have waited long enough, alternately,
// each oldest first, so that neither starves the other.
func (t txn) ready(now time.Time, n int) ([]string, error) {
	read := func(queue, limit string) (keys []string, err error) {
		prefix := queue + sep
		err = t.each(bQueue, prefix, func(k string, v []byte) error {
			if len(keys) == n || k >= prefix+limit {
				return errStop
			}
			keys = append(keys, string(v))
			return nil
		})
		return keys, err
	}
	fresh, err := read(queueNew, "~")
	if err != nil {
		return nil, err
	}
	waited, err := read(queueWait, stamp(now)+sep+"~")
	if err != nil {
		return nil, err
	}
	var out []string
	for i := 0; len(out) < n && (i < len(fresh) || i < len(waited)); i++ {
		for _, q := range [][]string{waited, fresh} {
			if i < len(q) && len(out) < n {
				out = append(out, q[i])
			}
		}
	}
	return out, nil
}

// Claim leases up to n rows to the caller, new and waiting ones alternately, oldest first. A row whose lease is over
// without a receipt comes again with Why set to Lost: ask the driver whether the run still lives before starting
// another. Rows of a source that the plan does not have are not claimed.
func (l *Ledger) Claim(ctx context.Context, now time.Time, n int, lease time.Duration) ([]Delivery, error) {
	var out []Delivery
	err := l.updateAll(ctx, func(tx txn) error {
		out = nil
		keys, err := tx.ready(now, n)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return errUnchanged
		}
		for _, k := range keys {
			row, err := tx.row(k)
			if err != nil {
				return err
			}
			if row == nil {
				return damaged("the queue names %q, which is not in the outbox", k)
			}
			claimed, err := l.claim(tx, row, now, lease)
			if err != nil {
				return err
			}
			if claimed {
				out = append(out, row.Delivery)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (l *Ledger) claim(tx txn, row *outRow, now time.Time, lease time.Duration) (bool, error) {
	if row.leased() { // over
		keep, err := l.retry(tx, row, now, Lost, Lost)
		if err != nil || !keep || row.Dead {
			return false, err
		}
	}
	var src sourceRow
	known, err := tx.loadJSON(bSource, keyOf(row.SID, part(row.Source)), &src)
	if err != nil {
		return false, err
	}
	if known && !src.Retired.IsZero() {
		return false, tx.requeue(row, queueHeld)
	}
	row.Lease = utc(now.Add(lease))
	return true, tx.requeue(row, queueWait)
}

// Renew is for a row whose run lives, as its driver says: it is the driver's for another lease, and that a lease was over
// does not count as a try. A row that is not there, or holds another decision by now, is left alone.
func (l *Ledger) Renew(ctx context.Context, now time.Time, key, decision string, lease time.Duration) error {
	return l.updateAll(ctx, func(tx txn) error {
		row, err := tx.row(key)
		if err != nil {
			return err
		}
		if row == nil || !row.leased() || row.Decision != decision {
			return errUnchanged
		}
		if row.Why == Lost {
			row.Tries, row.Why = max(0, row.Tries-1), ""
		}
		row.Lease = utc(now.Add(lease))
		return tx.requeue(row, queueWait)
	})
}

// retry puts a row back after a run that was lost, failed or could not decide. A newer decision takes its place; a
// pair that has left meanwhile needs no further try. keep says that the row is still there.
func (l *Ledger) retry(tx txn, row *outRow, now time.Time, outcome, why string) (keep bool, err error) {
	row.Lease = time.Time{}
	if row.Next != nil {
		row.advance(now)
		return true, tx.requeue(row, queueNew)
	}
	e, p, err := tx.pairOf(row)
	if err != nil {
		return false, err
	}
	if p == nil || !p.in {
		if p != nil {
			p.pending = ""
			if err := tx.saveEntity(row.SID, e); err != nil {
				return false, err
			}
		}
		return false, tx.deleteRow(row)
	}
	row.Tries++
	row.Why = why
	wait := l.backoff(l.o.Retry, l.o.RetryCap, row.Tries)
	switch {
	case outcome == Lost:
		wait = 0
	case outcome == UnknownRun:
		return true, l.postpone(tx, row, now.Add(wait))
	}
	if row.Tries >= l.o.DeadAfter {
		row.Dead, wait = true, l.o.DeadEvery
	}
	return true, l.postpone(tx, row, now.Add(wait))
}

func (l *Ledger) postpone(tx txn, row *outRow, at time.Time) error {
	row.NotBefore = utc(at)
	return tx.requeue(row, queueWait)
}

// pairOf is the pair of a row; nil when it is not there any more.
func (t txn) pairOf(row *outRow) (*entityRow, *pairRow, error) {
	e, err := t.entity(row.SID, row.Ref.Identity)
	if err != nil || e == nil {
		return nil, nil, err
	}
	return e, e.pairs[row.Source], nil
}

// Claimed returns up to n rows that drivers hold, soonest end of lease first. A poller that starts asks the drivers about
// them, and tells what they do not know with Lost: it need not wait for the leases of a process that is dead.
func (l *Ledger) Claimed(ctx context.Context, n int) ([]Delivery, error) {
	var out []Delivery
	err := l.viewAll(ctx, func(tx txn) error {
		return tx.each(bQueue, queueWait+sep, func(_ string, v []byte) error {
			row, err := tx.row(string(v))
			if err != nil {
				return err
			}
			if len(out) == n {
				return errStop
			}
			if row != nil && row.leased() {
				out = append(out, row.Delivery)
			}
			return nil
		})
	})
	return out, err
}

// Done takes receipts, all in one transaction. It is idempotent: a receipt for a decision that is not in the outbox
// changes nothing, but for one of a run that failed after hand-off, which opens its decision again.
func (l *Ledger) Done(ctx context.Context, now time.Time, rs ...Receipt) error {
	return l.updateAll(ctx, func(tx txn) error {
		err := errUnchanged
		for _, r := range rs {
			switch e := l.done(tx, now, r); {
			case e == nil:
				err = nil
			case !errors.Is(e, errUnchanged):
				return e
			}
		}
		return err
	})
}

func (l *Ledger) done(tx txn, now time.Time, r Receipt) error {
	row, err := tx.row(r.Key)
	if err != nil {
		return err
	}
	switch {
	case row == nil && r.answers():
		return l.noteRead(tx, now, r)
	case row == nil:
		return l.reopen(tx, now, r)
	case r.Decision == "" || r.Decision == row.Decision:
	case row.Next != nil && r.Decision == row.Next.Dec.ID:
		// The run read the newer state: it answers both.
		if err := l.closeRow(tx, row, now, r.Outcome, row.Dec); err != nil {
			return err
		}
	case r.answers() && row.Dec.same(row.Dec.Entries, r.Read.Version, r.Read.Digests):
	case r.answers():
		return l.noteRead(tx, now, r)
	default:
		return l.reopen(tx, now, r)
	}
	return l.finish(tx, row, now, r)
}

func (l *Ledger) finish(tx txn, row *outRow, now time.Time, r Receipt) error {
	switch r.Outcome {
	case HandedOff, Ran, Skipped, NotTriggered:
		if r.answers() && row.Next != nil && row.Next.Dec.same(row.Next.Dec.Entries, r.Read.Version, r.Read.Digests) {
			if err := l.closeRow(tx, row, now, r.Outcome, row.Dec); err != nil {
				return err
			}
		}
		if err := l.closeRow(tx, row, now, r.Outcome, row.Dec); err != nil || !r.answers() {
			return err
		}
		return ignoreUnchanged(l.noteRead(tx, now, r))
	case NotMember:
		at, young, err := l.young(tx, row, r)
		if err != nil {
			return err
		}
		if young {
			row.Lease, row.Why = time.Time{}, r.Outcome
			return l.postpone(tx, row, at)
		}
		return l.closeRow(tx, row, now, r.Outcome, row.Dec)
	case UnknownRun, Failed, Lost:
		why := r.Why
		if why == "" {
			why = r.Outcome
		}
		_, err := l.retry(tx, row, now, r.Outcome, why)
		return err
	}
	return fmt.Errorf("receipt of %s: unknown outcome %q", r.Key, r.Outcome)
}

// closeRow closes the decision; a newer one takes the row, else the row goes.
func (l *Ledger) closeRow(tx txn, row *outRow, now time.Time, outcome string, d decision) error {
	e, p, err := tx.pairOf(row)
	if err != nil {
		return err
	}
	if p != nil {
		d.Outcome, d.At = outcome, utc(now)
		if p.entries == d.Entries {
			p.close(d)
		}
		p.pending = ""
		if row.Next != nil {
			p.pending = row.Next.Dec.ID
		}
		if p.reopened == d.ID {
			p.reopened, p.tries = "", 0
		}
		if err := tx.saveEntity(row.SID, e); err != nil {
			return err
		}
	}
	if row.Next != nil {
		row.advance(now)
		return tx.requeue(row, queueNew)
	}
	return tx.deleteRow(row)
}

// young: a "no" on facts that are younger than the lag is not final. The row waits until they are older, and the
// entity is looked at then.
func (l *Ledger) young(tx txn, row *outRow, r Receipt) (time.Time, bool, error) {
	lag, err := tx.longestLag(row.SID)
	if err != nil {
		return time.Time{}, false, err
	}
	e, p, err := tx.pairOf(row)
	if err != nil || p == nil || !p.in || e.updated.IsZero() {
		return time.Time{}, false, err
	}
	at := e.updated.Add(lag)
	if !r.At.Before(at) {
		return time.Time{}, false, nil
	}
	e.appoint(Appointment{Why: WhyReceipt, At: at, Since: r.At, Cause: r.Why})
	return at, true, tx.saveEntity(row.SID, e)
}

// answers reports that a run has dealt with the state that it read.
func (r *Receipt) answers() bool { return r.Read != nil && (r.Outcome == Ran || r.Outcome == Skipped) }

// noteRead closes the decision that the run read, whichever it was started for: the poller may not have seen it yet.
func (l *Ledger) noteRead(tx txn, now time.Time, r Receipt) error {
	source, id, err := parseDeliveryKey(r.Key)
	if err != nil {
		return errUnchanged
	}
	changed := false
	err = tx.eachScope(func(st *scopeRow) error {
		e, err := tx.entity(st.SID, id)
		if err != nil || e == nil || e.pairs[source] == nil || !e.pairs[source].in {
			return err
		}
		p := e.pairs[source]
		d := decision{ID: decisionID(source, id, p.entries, r.Read.Digests), Entries: p.entries, Version: r.Read.Version,
			Digests: r.Read.Digests, Outcome: r.Outcome, At: utc(now)}
		if p.pending == d.ID {
			return nil // another row's, and still to be answered by its own receipt
		}
		p.close(d)
		changed = true
		return tx.saveEntity(st.SID, e)
	})
	if err == nil && !changed {
		return errUnchanged
	}
	return err
}

func ignoreUnchanged(err error) error {
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// reopen: a run that was handed off, and so closed, says that it failed or could not decide. Its decision is open
// again and the entity is looked at.
func (l *Ledger) reopen(tx txn, now time.Time, r Receipt) error {
	if r.Outcome != Failed && r.Outcome != UnknownRun && r.Outcome != Lost {
		return errUnchanged
	}
	source, id, err := parseDeliveryKey(r.Key)
	if err != nil {
		return errUnchanged
	}
	changed := false
	err = tx.eachScope(func(st *scopeRow) error {
		e, err := tx.entity(st.SID, id)
		if err != nil || e == nil || e.pairs[source] == nil {
			return err
		}
		p := e.pairs[source]
		i := slices.IndexFunc(p.closed, func(d decision) bool { return d.ID == r.Decision })
		if i < 0 || p.closed[i].Outcome != HandedOff || !r.At.After(p.closed[i].At) {
			return nil
		}
		p.closed = slices.Delete(p.closed, i, i+1)
		p.reopened = r.Decision
		p.tries++
		at := now.Add(l.backoff(l.o.Retry, l.o.RetryCap, p.tries))
		e.appoint(Appointment{Why: WhyReceipt, At: at, Since: r.At, Tries: p.tries, Cause: r.Why})
		changed = true
		return tx.saveEntity(st.SID, e)
	})
	if err == nil && !changed {
		return errUnchanged
	}
	return err
}

// Cancel takes a row out and closes its decision: it is not emitted again. It says whether there was one.
func (l *Ledger) Cancel(ctx context.Context, key string) (bool, error) {
	found := false
	err := l.updateAll(ctx, func(tx txn) error {
		row, err := tx.row(key)
		if err != nil {
			return err
		}
		if row == nil {
			return errUnchanged
		}
		found = true
		now := l.o.Now()
		if row.Next != nil { // both
			if err := l.closeRow(tx, row, now, "canceled", row.Dec); err != nil {
				return err
			}
		}
		return l.closeRow(tx, row, now, "canceled", row.Dec)
	})
	return found && err == nil, err
}

// hold moves the rows of a source that left the plan aside, or back when it returns.
func (t txn) hold(sid, source string, held bool) error {
	rows, err := t.rowsOf(sid, source)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if held && r.leased() {
			continue // a driver has it; its receipt will come
		}
		queue := queueHeld
		if !held {
			queue = queueNew
			if !r.NotBefore.IsZero() || r.leased() {
				queue = queueWait
			}
		}
		if err := t.requeue(r, queue); err != nil {
			return err
		}
	}
	return nil
}

func (t txn) rowsOf(sid, source string) ([]*outRow, error) {
	var rows []*outRow
	err := t.each(bOutbox, part(source)+"|", func(k string, v []byte) error {
		var r outRow
		if err := decodeJSON(bOutbox, k, v, &r); err != nil {
			return err
		}
		if r.SID == sid {
			rows = append(rows, &r)
		}
		return nil
	})
	return rows, err
}

func parseDeliveryKey(key string) (string, scope.Identity, error) {
	src, text, _ := strings.Cut(key, "|")
	id, err := scope.ParseIdentity(text)
	if err != nil {
		return "", id, err
	}
	source, err := unpart(src)
	return source, id, err
}

// updateAll runs f in one transaction over all scopes.
func (l *Ledger) updateAll(ctx context.Context, f func(txn) error) error {
	err := l.store.Update(ctx, func(tx Tx) error { return f(txn{tx}) })
	if err == nil || errors.Is(err, errUnchanged) {
		return nil
	}
	return fmt.Errorf("ledger: %w", err)
}

// eachScope calls f for every scope; f may write, but not to scopes.
func (t txn) eachScope(f func(*scopeRow) error) error {
	return t.each(bScope, "", func(k string, v []byte) error {
		var s scopeRow
		if err := decodeJSON(bScope, k, v, &s); err != nil {
			return err
		}
		return f(&s)
	})
}
