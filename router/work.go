package router

import (
	"time"

	"github.com/fullsend-ai/discovery/query"
)

// The truth of a slot while an entity is looked at. A slot that holds untouched is as its lane says.
const (
	untouched    uint8 = 0
	isFalse      uint8 = 1
	isUnknown    uint8 = 2
	isTrue       uint8 = 3
	pendingTruth uint8 = 4 // to be evaluated when a query asks
	dueTruth     uint8 = 5 // to be compared with now when a query asks
)

// state is the truth of a slot with its lane or, of a dueTruth, its clock: one look gives both.
type state uint32

func stateOf(truth uint8, at int32) state { return state(at)<<8 | state(truth) }

func (s state) truth() uint8 { return uint8(s) }

func (s state) at() int32 { return int32(s >> 8) }

func (s state) with(truth uint8) state { return s&^0xff | state(truth) }

func truthOf(v query.Verdict) uint8 { return uint8(v + 2) }

// work is the memory of one user of a router: everything in it is about the entity at hand.
type work struct {
	router *Router
	*index

	facts  *query.Facts
	views  []query.View
	now    time.Time
	millis int64 // now
	answer *Answer

	states   []state  // by slot
	touched  []int32  // slots whose truth is not the initial one
	lanes    []uint8  // by lane: the truth of untouched slots
	moments  []moment // by plain field
	found    []int32  // literals that the entity has
	bare     []bool   // by group: no literal of it can have been met
	partly   []bool   // by group: not all is known
	quants   []int32  // quantifiers that some element may satisfy
	hits     []hit
	standing []query.Standing // of the element at hand, by view of its collection
	ids      []int32
	buf      []byte

	cells   []cell // by 64 queries
	summary []uint64

	marks   marks
	needed  []query.Need
	horizon int64
}

// cell is what is known of 64 queries. What leaves a query undecided is marked when it is decided, but for those in walk.
type cell struct{ seen, match, undecided, walk uint64 }

// hit is an element whose standing or member leaves a lane's slots undecided.
type hit struct {
	coll, item, member int32
	lane               int32
	slot               int32 // loose: all slots of the lane that the element does not satisfy
	undecided          bool  // its standing
}

const loose = -1

func newWork(r *Router) *work {
	x := r.index
	w := &work{router: r, index: x}
	w.states = make([]state, len(x.initial))
	copy(w.states, x.initial)
	w.lanes = make([]uint8, len(r.syms.lanes))
	w.moments = make([]moment, len(x.plains))
	w.partly = make([]bool, len(r.syms.groups))
	w.bare = make([]bool, len(r.syms.groups))
	w.cells = make([]cell, (len(r.forms)+63)/64)
	w.summary = make([]uint64, (len(w.cells)+63)/64)
	w.marks = marks{slot: make([]bool, len(x.initial)), lane: make([]bool, len(w.lanes))}
	return w
}

// read takes in what the entity has: the truth of every literal and of every "has an element", the candidates' anchors,
// the actors rested on, and the horizon.
func (w *work) read() {
	w.horizon, w.millis = never, w.now.UnixMilli()
	for i := range w.plains {
		w.readPlain(i, &w.plains[i])
	}
	for i := range w.colls {
		w.readCollection(int32(i), &w.colls[i])
	}
	w.restOnQuantifiers()
}

func (w *work) readPlain(i int, p *plainField) {
	fact := w.facts.Get(p.field)
	w.moments[i] = momentOf(fact)
	if p.group != noGroup {
		w.readLiterals(p, fact)
	}
	for i := range p.clock {
		w.turn(&p.clock[i], fact.Values)
	}
}

func (w *work) readLiterals(p *plainField, fact *query.Fact) {
	known := fact.Presence == query.Known
	if p.lane != noLane {
		w.lanes[p.lane] = defaultTruth(known)
	}
	w.partly[p.group], w.bare[p.group] = !known, len(fact.Values) == 0
	t := &w.router.syms.groups[p.group].table
	w.ids = w.ids[:0]
	for i := range fact.Values {
		w.ids, w.buf = t.find(w.ids, w.buf, &fact.Values[i])
	}
	for _, id := range w.ids {
		w.found = append(w.found, id)
		if ss := w.finds[id].slots; len(ss) > 0 && ss[0] != noSlot {
			w.raise(ss[0], isTrue)
		}
	}
}

func defaultTruth(known bool) uint8 {
	if known {
		return isFalse
	}
	return isUnknown
}

func (w *work) turn(c *clockwork, values []query.Value) {
	for i := range values {
		w.horizon = min(w.horizon, c.next(&values[i], w.millis))
	}
}

// raise lifts a slot's truth: one element is enough.
func (w *work) raise(slot int32, t uint8) {
	s := w.states[slot]
	if s.truth() == untouched {
		w.touched = append(w.touched, slot)
	}
	w.states[slot] = s.with(max(s.truth(), t))
}

func (w *work) readCollection(ci int32, c *collection) {
	fact := w.facts.Get(c.field)
	known := fact.Presence == query.Known
	w.lanes[c.lane] = defaultTruth(known)
	for i := range c.members {
		m := &c.members[i]
		w.partly[m.group], w.bare[m.group] = !known, len(fact.Items) == 0
		for _, l := range m.lanes {
			if l != noLane {
				w.lanes[l] = defaultTruth(known)
			}
		}
	}
	for i := range fact.Items {
		w.readElement(ci, c, int32(i), &fact.Items[i])
	}
}

func (w *work) readElement(ci int32, c *collection, item int32, e *query.Element) {
	w.standing = w.standing[:0]
	for _, v := range c.views {
		w.standing = append(w.standing, w.view(v).Standing(c.field, e))
	}
	for vi, s := range c.any {
		if s != noSlot {
			w.admit(hit{ci, item, 0, c.lane, s, false}, w.standing[vi], e)
		}
	}
	for _, q := range c.always {
		w.await(q)
	}
	for i := range c.members {
		w.readMember(ci, &c.members[i], item, e)
	}
	for i := range c.clock {
		k := &c.clock[i]
		if k.member == query.MAt {
			if !e.At.IsZero() {
				at := query.Value{Type: query.TypeInstant, Time: e.At}
				w.horizon = min(w.horizon, k.next(&at, w.millis))
			}
			continue
		}
		w.turn(k, memberFact(e, k.member).Values)
	}
}

func (w *work) view(id query.ViewID) query.View { return w.views[id] }

func (w *work) readMember(ci int32, m *member, item int32, e *query.Element) {
	known := w.literals(m, e)
	for _, id := range w.ids {
		w.found = append(w.found, id)
		f := &w.finds[id]
		for vi, s := range f.slots {
			if s != noSlot {
				w.admit(hit{ci, item, int32(m.member), m.lanes[vi], s, false}, w.standing[vi], e)
			}
		}
		for _, q := range f.quants {
			w.await(q)
		}
	}
	if known {
		return
	}
	w.partly[m.group] = true
	for _, q := range m.quants {
		w.await(q)
	}
	for vi, l := range m.lanes {
		if l != noLane {
			w.doubt(hit{ci, item, int32(m.member), l, loose, false}, w.standing[vi], e)
		}
	}
}

// literals finds the literals that the element's member equals, and reports whether the member is known.
func (w *work) literals(m *member, e *query.Element) bool {
	t := &w.router.syms.groups[m.group].table
	w.ids = w.ids[:0]
	if m.member == query.MBy {
		if e.Editors == query.EditorsUnread {
			return false
		}
		w.ids, w.buf = t.findUser(w.ids, w.buf, &e.Actor)
		return true
	}
	fact := memberFact(e, m.member)
	for i := range fact.Values {
		w.ids, w.buf = t.find(w.ids, w.buf, &fact.Values[i])
	}
	return fact.Presence == query.Known
}

func memberFact(e *query.Element, id query.FieldID) *query.Fact {
	for i := range e.Members {
		if e.Members[i].ID == id {
			return &e.Members[i].Fact
		}
	}
	return &noFact
}

var noFact query.Fact // read only

// admit counts an element that satisfies the slot h.slot.
func (w *work) admit(h hit, s query.Standing, e *query.Element) {
	switch s {
	case query.Admitted:
		w.raise(h.slot, isTrue)
	case query.Undecided:
		w.raise(h.slot, isUnknown)
		h.undecided = true
		w.hits = append(w.hits, h)
		return
	}
	w.restOn(e)
}

// doubt counts an element that may satisfy any slot of the lane h.lane.
func (w *work) doubt(h hit, s query.Standing, e *query.Element) {
	if s != query.Excluded {
		w.lanes[h.lane] = isUnknown
		h.undecided = s == query.Undecided
		w.hits = append(w.hits, h)
	}
	if s != query.Undecided {
		w.restOn(e)
	}
}

func (w *work) restOn(e *query.Element) {
	if e.Actor.ID == "" || e.Actor.Deleted {
		return
	}
	w.restOnActor(e.Actor.ID)
}

// restOnActor keeps the list short while it is short; collect makes it unique.
func (w *work) restOnActor(id string) {
	const few = 16
	if len(w.answer.RestsOn) > few || !w.restedOn(id) {
		w.answer.RestsOn = append(w.answer.RestsOn, id)
	}
}

// await notes a quantifier that some element may satisfy.
func (w *work) await(slot int32) {
	if s := w.states[slot]; s.truth() == untouched {
		w.states[slot] = s.with(pendingTruth)
		w.touched = append(w.touched, slot)
		w.quants = append(w.quants, slot)
	}
}

func (w *work) restOnQuantifiers() {
	for _, q := range w.quants {
		s := &w.router.syms.slots[q]
		if w.allRestedOn(s) {
			continue
		}
		w.answer.RestsOn = s.atom.AppendRests(w.answer.RestsOn, w.facts, w.view(s.view), w.now)
	}
}

// allRestedOn reports that the quantifier cannot add an actor, because all of the collection's are there.
func (w *work) allRestedOn(s *slot) bool {
	const few = 8
	items := w.facts.Get(s.atom.Field()).Items
	if len(items) > few {
		return false
	}
	for i := range items {
		if a := &items[i].Actor; a.ID != "" && !a.Deleted && !w.restedOn(a.ID) {
			return false
		}
	}
	return true
}

func (w *work) restedOn(id string) bool {
	for _, have := range w.answer.RestsOn {
		if have == id {
			return true
		}
	}
	return false
}

// of gives the truth of a literal of a query's code.
func (w *work) of(lit word) uint8 {
	s := w.states[lit>>1]
	t := s.truth()
	if t == untouched {
		t = w.lanes[s.at()]
	} else if t >= pendingTruth {
		t = w.evaluate(int32(lit>>1), s)
	}
	return turned(t, lit)
}

// turned negates the truth of a negated literal, without a branch that a processor would have to guess.
func turned(t uint8, lit word) uint8 {
	neg := uint8(lit & 1)
	return (t ^ -neg) + 5*neg
}

func (w *work) evaluate(i int32, st state) uint8 {
	t := w.compare(st)
	if t != untouched {
		w.touched = append(w.touched, i)
	} else {
		s := &w.router.syms.slots[i]
		t = truthOf(s.atom.Truth(w.facts, w.viewOf(s), w.now))
		if s.kind == lazy {
			w.touched = append(w.touched, i)
		}
	}
	w.states[i] = stateOf(t, 0)
	return t
}

// compare decides a comparison with now; untouched: it cannot.
func (w *work) compare(st state) uint8 {
	if st.truth() != dueTruth {
		return untouched
	}
	k := &w.clocks[st.at()]
	switch m := w.moments[k.plain]; {
	case !m.ok:
		return untouched
	case k.holds(m.at, w.millis):
		return isTrue
	}
	return isFalse
}

// viewOf is the view that an atom is evaluated under; a plain fact has none.
func (w *work) viewOf(s *slot) query.View {
	if s.kind == lazy {
		return nil
	}
	return w.view(s.view)
}

// block gives the truth of the block whose header stands at a place of the code.
func (w *work) block(at word) uint8 {
	h := w.code[at]
	from, to := at+1, at+1+h&lengthMax
	if h&opMask == opAnd {
		t := isTrue
		for from < to && t != isFalse {
			t = min(t, w.term(&from))
		}
		return t
	}
	t := isFalse
	for from < to && t != isTrue {
		t = max(t, w.term(&from))
	}
	return t
}

// term gives the truth of the term at a place of the code and moves behind it.
func (w *work) term(at *word) uint8 {
	x := w.code[*at]
	if isLiteral(x) {
		*at++
		return w.of(x)
	}
	t := w.block(*at)
	*at += 1 + x&lengthMax
	return t
}

// reset makes the memory ready for the next entity.
func (w *work) reset() {
	for _, s := range w.touched {
		w.states[s] = w.initial[s]
	}
	w.touched, w.found, w.quants, w.hits = w.touched[:0], w.found[:0], w.quants[:0], w.hits[:0]
	w.facts, w.views = nil, nil
}
