package coverage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// applier applies the records of one transaction.
type applier struct {
	l    *Ledger
	tx   txn
	st   *scopeState
	out  *Outcome
	turn int // the turn that met the entities; 0 when none did
}

// judge brings the pairs of e to what the record says: sources in neither list have left, see Record.Judged.
func (a *applier) judge(e *entityRow, r *Record) error {
	undecided := make(map[string]bool, len(r.Undecided))
	for _, s := range r.Undecided {
		undecided[s] = true
	}
	matched := make(map[string]bool, len(r.Match))
	for i := range r.Match {
		c := &r.Match[i]
		if matched[c.Source] {
			continue
		}
		matched[c.Source] = true
		if err := a.match(e, c); err != nil {
			return err
		}
	}
	for s := range undecided {
		if matched[s] {
			continue
		}
		p := e.pairs[s]
		if p == nil {
			p = &pairRow{}
			e.pairs[s] = p
		}
		p.undecided = true
	}
	if r.Judged != a.st.Plan {
		return nil // another plan's lists prove nothing about the sources of this one
	}
	for _, s := range slices.Sorted(maps.Keys(e.pairs)) {
		if matched[s] || undecided[s] || !a.st.sources[s] {
			continue
		}
		if err := a.leave(e, s); err != nil {
			return err
		}
	}
	return nil
}

// leave: the pair is proven to be no match. Its row is withdrawn, unless a driver has it already.
func (a *applier) leave(e *entityRow, source string) error {
	p := e.pairs[source]
	p.undecided = false
	if p.in {
		p.in = false
		a.out.Left++
	}
	if p.pending != "" {
		if err := a.withdraw(e, source, p); err != nil {
			return err
		}
	}
	if p.entries == 0 {
		delete(e.pairs, source)
	}
	return nil
}

// match: the pair is proven to be a match. It is emitted when it enters, or when its decision differs from every
// closed one and from the one in the outbox.
func (a *applier) match(e *entityRow, c *Candidate) error {
	p := e.pairs[c.Source]
	if p == nil {
		p = &pairRow{}
		e.pairs[c.Source] = p
	}
	if err := a.home(e, p, c.Source); err != nil {
		return err
	}
	p.undecided = false
	p.along = false
	if !p.in {
		p.in = true
		p.entries++
		p.closed, p.reopened, p.tries = nil, "", 0 // earlier entries can never be the same decision again
		a.out.Entered++
		if !c.Hold {
			return a.emit(e, p, c)
		}
	}
	if c.Hold {
		p.version, p.digests = c.Version, maps.Clone(c.Digests)
		if p.pending == "" {
			return nil
		}
		return a.withdraw(e, c.Source, p)
	}
	known, err := a.known(e, p, c)
	if err != nil {
		return err
	}
	if known {
		p.version, p.digests = c.Version, maps.Clone(c.Digests)
		return nil
	}
	return a.emit(e, p, c)
}

// known says whether the decision is in the outbox or closed; then nothing is emitted, parts that are new in this
// version are adopted, and a different decision that still waits is taken back.
func (a *applier) known(e *entityRow, p *pairRow, c *Candidate) (bool, error) {
	row, err := a.pendingRow(e, c.Source, p)
	if err != nil {
		return false, err
	}
	if row != nil {
		next := row.Next != nil
		switch {
		case next && p.sameAs(&row.Next.Dec, c, true):
			return true, a.adopt(row, &row.Next.Dec, c)
		case p.sameAs(&row.Dec, c, !next):
			if next { // back to what the driver has already
				row.Next = nil
				p.pending = row.Dec.ID
				if err := a.tx.saveRow(row); err != nil {
					return false, err
				}
			}
			return true, a.adopt(row, &row.Dec, c)
		}
	}
	id := decisionID(c.Source, e.ref.Identity, p.entries, c.Digests)
	stands := len(p.closed) - 1
	if i := slices.IndexFunc(p.closed, p.is); i >= 0 {
		stands = i
	}
	for i := len(p.closed) - 1; i >= 0; i-- {
		d := &p.closed[i]
		// One with the id that c would have was asked, whatever an edit has made of its parts since.
		if d.ID != id && !p.sameAs(d, c, row == nil && i == stands) {
			continue
		}
		d.Version, d.Digests = c.Version, maps.Clone(c.Digests)
		if row != nil {
			return true, a.withdraw(e, c.Source, p)
		}
		return true, nil
	}
	return false, nil
}

// is says that d is what was decided last.
func (p *pairRow) is(d decision) bool {
	return d.Version == p.version && maps.Equal(d.Digests, p.digests)
}

// sameAs says that c is no other decision than d. A decision of another version counts when the source has just been
// edited, and only the one that stands: what lies behind it may have no part in common with c and would equal anything.
func (p *pairRow) sameAs(d *decision, c *Candidate, stands bool) bool {
	if d.Version != c.Version && !(stands && p.version != c.Version) {
		return false
	}
	return d.same(p.entries, c.Version, c.Digests)
}

// adopt takes the parts of a new version of the source into a decision that they do not change.
func (a *applier) adopt(row *outRow, d *decision, c *Candidate) error {
	if d.Version == c.Version {
		return nil
	}
	d.Version, d.Digests = c.Version, maps.Clone(c.Digests)
	return a.tx.saveRow(row)
}

// pendingRow is the pair's outbox row, if the row is still this scope's.
func (a *applier) pendingRow(e *entityRow, source string, p *pairRow) (*outRow, error) {
	if p.pending == "" {
		return nil, nil
	}
	row, err := a.tx.row(deliveryKey(source, e.ref.Identity))
	if err != nil {
		return nil, err
	}
	if row == nil || row.SID != a.st.SID {
		p.pending = ""
		return nil, nil
	}
	return row, nil
}

// withdraw takes the pair's row back. A row that a driver holds stays; only what would follow it is dropped.
func (a *applier) withdraw(e *entityRow, source string, p *pairRow) error {
	row, err := a.pendingRow(e, source, p)
	if err != nil || row == nil {
		return err
	}
	if row.leased() {
		if row.Next == nil {
			return nil
		}
		row.Next = nil
		p.pending = row.Dec.ID
		return a.tx.saveRow(row)
	}
	p.pending = ""
	a.out.Canceled++
	return a.tx.deleteRow(row)
}

// emit writes the decision to the outbox. A row of the key that still waits is replaced; one that a driver holds is
// followed.
func (a *applier) emit(e *entityRow, p *pairRow, c *Candidate) error {
	d := decision{Entries: p.entries, Version: c.Version, Digests: maps.Clone(c.Digests)}
	d.ID = decisionID(c.Source, e.ref.Identity, p.entries, c.Digests)
	p.version, p.digests, p.pending = c.Version, maps.Clone(c.Digests), d.ID
	a.out.Emitted++

	key := deliveryKey(c.Source, e.ref.Identity)
	row, err := a.tx.row(key)
	if err != nil {
		return err
	}
	if row != nil && row.SID != a.st.SID {
		if err := a.takeOver(row, c.Source); err != nil {
			return err
		}
	}
	evidence := a.l.capped(c.Evidence)
	if row != nil && row.leased() {
		row.Next = &nextRow{Dec: d, Evidence: evidence}
		return a.tx.saveRow(row)
	}
	if row == nil {
		seq, err := a.tx.nextSeq()
		if err != nil {
			return err
		}
		row = &outRow{Seq: seq}
		row.Key, row.Source, row.Created = key, c.Source, a.l.o.Now().UTC()
	}
	row.fill(a.st, e.ref, d, evidence)
	row.Tries, row.Dead, row.Why, row.NotBefore = 0, false, "", time.Time{}
	if p.reopened == d.ID {
		row.Tries = p.tries
	}
	return a.tx.requeue(row, queueNew)
}

// home makes this scope the one that has the pair. Where another one had it, the entity moved here, or is seen with another
// account: what was decided there counts, and neither is a new entry.
func (a *applier) home(e *entityRow, p *pairRow, source string) error {
	key := deliveryKey(source, e.ref.Identity)
	b, known, err := a.tx.load(bPair, key)
	if err != nil || known && string(b) == a.st.SID {
		return err
	}
	if known && p.entries == 0 {
		if err := a.inherit(e, p, source, string(b)); err != nil {
			return err
		}
	}
	return a.tx.save(bPair, key, []byte(a.st.SID))
}

func (a *applier) inherit(e *entityRow, p *pairRow, source, sid string) error {
	other, err := a.tx.entity(sid, e.ref.Identity)
	if err != nil || other == nil || other.pairs[source] == nil {
		return err
	}
	*p = *other.pairs[source]
	p.in, p.along = p.in || p.along && other.gone, false
	delete(other.pairs, source)
	if err := a.tx.saveEntity(sid, other); err != nil || p.pending == "" {
		return err
	}
	row, err := a.tx.row(deliveryKey(source, e.ref.Identity))
	switch {
	case err != nil:
		return err
	case row == nil || row.SID != sid:
		p.pending = ""
		return nil
	}
	row.SID = a.st.SID
	if row.leased() {
		return a.tx.saveRow(row)
	}
	row.Scope, row.Ref = a.st.Scope, e.ref
	if row.NotBefore.IsZero() {
		return a.tx.requeue(row, queueNew) // it was held where its source had left the plan
	}
	return a.tx.requeue(row, queueWait)
}

// disown forgets where the entity's pairs are, as far as they are in this scope.
func (t txn) disown(sid string, e *entityRow) error {
	for s := range e.pairs {
		key := deliveryKey(s, e.ref.Identity)
		b, known, err := t.load(bPair, key)
		if err != nil {
			return err
		}
		if known && string(b) == sid {
			if err := t.Delete(bPair, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOver: another scope sees the same entity for the same source and its row is still there. One key is one row;
// the other scope's decision counts as made.
func (a *applier) takeOver(row *outRow, source string) error {
	e, err := a.tx.entity(row.SID, row.Ref.Identity)
	if err != nil || e == nil {
		return err
	}
	p := e.pairs[source]
	if p == nil {
		return nil
	}
	p.close(row.Dec)
	if row.Next != nil {
		p.close(row.Next.Dec)
	}
	p.pending = ""
	row.SID = a.st.SID
	return a.tx.saveEntity(sidOf(e.key), e)
}

// decisionID is the same for the same decision, also in a ledger that was restored or begun anew.
func decisionID(source string, id scope.Identity, entries int, digests map[string]uint64) string {
	h := sha256.New()
	write := func(s string) { fmt.Fprintf(h, "%d:", len(s)); io.WriteString(h, s) }
	write(source)
	write(id.String())
	fmt.Fprintf(h, "%d;", entries)
	for _, k := range slices.Sorted(maps.Keys(digests)) {
		write(k)
		fmt.Fprintf(h, "%x;", digests[k])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// capped replaces evidence that exceeds the cap by a note that is JSON too.
func (l *Ledger) capped(b []byte) []byte {
	if len(b) <= l.o.EvidenceCap {
		return b
	}
	return fmt.Appendf(nil, `{"omitted":"evidence of %d bytes exceeds the cap of %d"}`, len(b), l.o.EvidenceCap)
}
