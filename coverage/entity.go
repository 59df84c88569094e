package coverage

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// decision is what a pair was asked about.
type decision struct {
	ID      string            `json:"id"`
	Entries int               `json:"entries"`
	Version string            `json:"version"`
	Digests map[string]uint64 `json:"digests,omitempty"`
	Outcome string            `json:"outcome,omitempty"` // how it was closed
	At      time.Time         `json:"at,omitzero"`       // when
}

// same says that d and c do not differ: of one version, in no part; of two, in no part that both have.
func (d *decision) same(entries int, version string, digests map[string]uint64) bool {
	if d.Entries != entries {
		return false
	}
	if d.Version == version {
		return maps.Equal(d.Digests, digests)
	}
	for part, v := range digests {
		if w, ok := d.Digests[part]; ok && v != w {
			return false
		}
	}
	return true
}

// pairRow is a pair as stored.
type pairRow struct {
	in, undecided bool
	along         bool // it was in when its entity went: if that shows up in another scope, it has not left
	entries       int
	version       string
	digests       map[string]uint64
	pending       string
	closed        []decision // newest last
	reopened      string     // a decision that was handed off and then failed
	tries         int        // of the reopened decision
}

// maxClosed bounds the closed decisions that a pair remembers.
const maxClosed = 8

func (p *pairRow) close(d decision) {
	p.closed = slices.DeleteFunc(p.closed, func(c decision) bool { return c.ID == d.ID })
	p.closed = append(p.closed, d)
	if n := len(p.closed) - maxClosed; n > 0 {
		p.closed = slices.Delete(p.closed, 0, n)
	}
}

// entityRow is an entity as stored, and as it was when it was read, so that indexes are changed by the difference.
type entityRow struct {
	key      string
	ref      scope.Ref
	token    string
	updated  time.Time
	readAt   time.Time
	judged   string
	turn     int
	gone     bool
	again    []Appointment // ascending by Why
	pairs    map[string]*pairRow
	restsOn  []string // ascending
	evidence []byte

	stored   bool
	oldAgain []Appointment
	oldRests []string
}

// What the head of a stored entity tells without decoding the rest.
const (
	headGone = 1 << iota
	headAgain
	headMember
)

const entityFormat = 1

func (e *entityRow) encode() []byte {
	enc := encoder{b: make([]byte, 0, 256+len(e.evidence))}
	enc.uint(entityFormat)
	enc.uint(e.head())
	enc.count(e.turn)
	enc.time(e.readAt)
	enc.time(e.updated)
	enc.str(e.token)
	enc.str(e.judged)
	enc.str(e.ref.Alias)
	enc.str(e.ref.Key)
	enc.str(e.ref.URL)
	enc.count(len(e.again))
	for _, a := range e.again {
		enc.str(a.Why)
		enc.time(a.At)
		enc.time(a.Since)
		enc.count(max(a.Tries, 0))
		enc.str(a.Cause)
		enc.strs(a.Needs)
	}
	enc.count(len(e.pairs))
	for _, s := range slices.Sorted(maps.Keys(e.pairs)) {
		enc.str(s)
		enc.pair(e.pairs[s])
	}
	enc.strs(e.restsOn)
	enc.bytes(e.evidence)
	return enc.b
}

func (e *entityRow) head() uint64 {
	var h uint64
	if e.gone {
		h |= headGone
	}
	if len(e.again) > 0 {
		h |= headAgain
	}
	for _, p := range e.pairs {
		if p.in {
			h |= headMember
		}
	}
	return h
}

func (enc *encoder) pair(p *pairRow) {
	enc.flags(p.in, p.along)
	enc.bool(p.undecided)
	enc.count(p.entries)
	enc.str(p.version)
	enc.digests(p.digests)
	enc.str(p.pending)
	enc.count(len(p.closed))
	for _, d := range p.closed {
		enc.str(d.ID)
		enc.count(d.Entries)
		enc.str(d.Version)
		enc.digests(d.Digests)
		enc.str(d.Outcome)
		enc.time(d.At)
	}
	enc.str(p.reopened)
	enc.count(p.tries)
}

func (enc *encoder) digests(m map[string]uint64) {
	enc.count(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		enc.str(k)
		enc.fixed(m[k])
	}
}

func decodeEntity(key string, id scope.Identity, b []byte) (*entityRow, error) {
	d := decoder{b: b}
	e := &entityRow{key: key, stored: true, pairs: map[string]*pairRow{}}
	e.ref.Identity = id
	format := d.uint()
	e.gone = d.uint()&headGone != 0
	e.turn = d.int()
	e.readAt = d.time()
	e.updated = d.time()
	e.token = d.str()
	e.judged = d.str()
	e.ref.Alias, e.ref.Key, e.ref.URL = d.str(), d.str(), d.str()
	e.again = repeat(&d, func() Appointment {
		return Appointment{Why: d.str(), At: d.time(), Since: d.time(), Tries: d.int(), Cause: d.str(), Needs: d.strs()}
	})
	for n := d.count(); n > 0 && !d.bad; n-- {
		s := d.str()
		e.pairs[s] = d.pair()
	}
	e.restsOn = d.strs()
	e.evidence = d.bytes()
	if d.bad || format != entityFormat || len(d.b) != 0 {
		return nil, damaged("entity %q cannot be decoded", key)
	}
	e.oldAgain, e.oldRests = e.again, e.restsOn
	return e, nil
}

func (d *decoder) pair() *pairRow {
	in, along := d.flags()
	return &pairRow{
		in: in, along: along, undecided: d.bool(), entries: d.int(), version: d.str(), digests: d.digests(), pending: d.str(),
		closed: repeat(d, func() decision {
			return decision{ID: d.str(), Entries: d.int(), Version: d.str(), Digests: d.digests(), Outcome: d.str(), At: d.time()}
		}),
		reopened: d.str(), tries: d.int(),
	}
}

func (d *decoder) digests() map[string]uint64 {
	n := d.count()
	if n == 0 {
		return nil
	}
	m := make(map[string]uint64, n)
	for ; n > 0 && !d.bad; n-- {
		k := d.str()
		m[k] = d.fixed()
	}
	return m
}

// peek reads the head of a stored entity.
func peek(b []byte) (head uint64, turn int, readAt time.Time) {
	d := decoder{b: b}
	d.uint()
	return d.uint(), d.int(), d.time()
}

func (t txn) entity(sid string, id scope.Identity) (*entityRow, error) {
	key := entityKey(sid, id)
	b, ok, err := t.load(bEntity, key)
	if err != nil || !ok {
		return nil, err
	}
	return decodeEntity(key, id, b)
}

// entityAt decodes what an ascent over entities showed.
func entityAt(key string, b []byte) (*entityRow, error) {
	_, text, _ := strings.Cut(key, sep)
	id, err := scope.ParseIdentity(text)
	if err != nil {
		return nil, damaged("entity %q: %v", key, err)
	}
	return decodeEntity(key, id, b)
}

// saveEntity writes the entity and the difference to its indexes.
func (t txn) saveEntity(sid string, e *entityRow) error {
	id := e.ref.Identity.String()
	for _, a := range e.oldAgain {
		if i := slices.IndexFunc(e.again, func(b Appointment) bool { return b.Why == a.Why }); i >= 0 &&
			e.again[i].At.Equal(a.At) && e.again[i].Since.Equal(a.Since) {
			continue
		}
		if err := t.Delete(bAgenda, agendaKey(sid, a, id)); err != nil {
			return err
		}
	}
	for _, a := range e.again {
		if i := slices.IndexFunc(e.oldAgain, func(b Appointment) bool { return b.Why == a.Why }); i >= 0 &&
			e.oldAgain[i].At.Equal(a.At) && e.oldAgain[i].Since.Equal(a.Since) {
			continue
		}
		if err := t.save(bAgenda, agendaKey(sid, a, id), []byte(stamp(a.Since))); err != nil {
			return err
		}
	}
	if err := t.saveRests(sid, e); err != nil {
		return err
	}
	if err := t.save(bEntity, e.key, e.encode()); err != nil {
		return err
	}
	e.stored, e.oldAgain, e.oldRests = true, slices.Clone(e.again), slices.Clone(e.restsOn)
	return nil
}

func agendaKey(sid string, a Appointment, id string) string {
	return keyOf(sid, part(a.Why), stamp(a.At), id)
}

// public is the entity as callers see it.
func (e *entityRow) public() Entity {
	out := Entity{
		Ref: e.ref, Token: e.token, Updated: e.updated, ReadAt: e.readAt, Judged: e.judged, Turn: e.turn, Gone: e.gone,
		Again: slices.Clone(e.again), RestsOn: slices.Clone(e.restsOn), Evidence: e.evidence,
		Pairs: make(map[string]Pair, len(e.pairs)),
	}
	for s, p := range e.pairs {
		closed := make([]string, len(p.closed))
		for i, d := range p.closed {
			closed[i] = d.ID
		}
		out.Pairs[s] = Pair{In: p.in, Undecided: p.undecided, Entries: p.entries, Version: p.version,
			Digests: maps.Clone(p.digests), Closed: closed, Pending: p.pending}
	}
	return out
}

// appoint adds an appointment or moves an existing one of the reason: the earlier instant and the older age win.
func (e *entityRow) appoint(a Appointment) {
	i, found := slices.BinarySearchFunc(e.again, a, func(x, y Appointment) int { return strings.Compare(x.Why, y.Why) })
	if !found {
		e.again = slices.Insert(slices.Clone(e.again), i, trim(a))
		return
	}
	e.again = slices.Clone(e.again)
	old := &e.again[i]
	if a.At.Before(old.At) {
		old.At = a.At
	}
	if !a.Since.IsZero() && a.Since.Before(old.Since) {
		old.Since = a.Since
	}
}

// reappoint replaces all appointments. A reason that stays keeps the age that it had.
func (e *entityRow) reappoint(as []Appointment, at time.Time) {
	before := e.again
	e.again = nil
	for _, a := range as {
		if a.Since.IsZero() {
			a.Since = at
		}
		if i := slices.IndexFunc(before, func(b Appointment) bool { return b.Why == a.Why }); i >= 0 &&
			before[i].Since.Before(a.Since) {
			a.Since = before[i].Since
		}
		e.appoint(a)
	}
}

// trim bounds what an appointment may carry.
func trim(a Appointment) Appointment {
	const maxNeeds, maxCause = 64, 1 << 10
	a.At, a.Since = a.At.UTC(), a.Since.UTC()
	if len(a.Needs) > maxNeeds {
		a.Needs = a.Needs[:maxNeeds]
	}
	if len(a.Cause) > maxCause {
		a.Cause = strings.ToValidUTF8(a.Cause[:maxCause], "")
	}
	return a
}
