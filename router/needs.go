package router

import (
	"math/bits"
	"slices"

	"github.com/fullsend-ai/discovery/query"
)

// marks are the unknown slots and lanes on which undecided queries hang, each once.
type marks struct {
	slot   []bool
	lane   []bool
	slots  []int32
	lanes  []int32
	fields uint64       // fields of v1 that are needed as a whole
	needs  []query.Need // of one atom
}

func (m *marks) addSlot(i int32) {
	if !m.slot[i] {
		m.slot[i] = true
		m.slots = append(m.slots, i)
	}
}

func (m *marks) addLane(i int32) {
	if !m.lane[i] {
		m.lane[i] = true
		m.lanes = append(m.lanes, i)
	}
}

func (m *marks) reset() {
	for _, i := range m.slots {
		m.slot[i] = false
	}
	for _, i := range m.lanes {
		m.lane[i] = false
	}
	m.slots, m.lanes, m.fields = m.slots[:0], m.lanes[:0], 0
}

// collectNeeds unites what would decide the undecided queries. Slots that many queries share are asked once, and slots
// that no element touched are asked as one, by their lane.
func (w *work) collectNeeds() {
	for _, l := range w.marks.lanes {
		w.needsOfLane(l)
	}
	for _, s := range w.marks.slots {
		w.needsOfSlot(s)
	}
	for b := w.marks.fields; b != 0; b &= b - 1 {
		w.answer.Needs = append(w.answer.Needs, query.Need{Field: query.FieldID(bits.TrailingZeros64(b))})
	}
	w.marks.reset()
	slices.SortFunc(w.answer.Needs, query.Need.Compare)
	w.answer.Needs = slices.Compact(w.answer.Needs)
}

// mark notes the unknown literals of an unknown block, SPEC FA-3: those of its unknown terms alone.
func (w *work) mark(at word) {
	for i, end := at+1, at+1+w.code[at]&lengthMax; i < end; {
		x := w.code[i]
		if isLiteral(x) {
			w.markLiteral(x)
			i++
			continue
		}
		if here := i; w.term(&i) == isUnknown {
			w.mark(here)
		}
	}
}

// markLiteral notes a literal if it is unknown.
func (w *work) markLiteral(x word) {
	if x == opNone || w.of(x) != isUnknown {
		return
	}
	if slot := int32(x >> 1); w.states[slot].truth() == untouched {
		w.marks.addLane(w.laneOf[slot])
	} else {
		w.marks.addSlot(slot)
	}
}

func (w *work) needField(id query.FieldID) {
	if id < 64 {
		w.marks.fields |= 1 << id
	} else {
		w.answer.Needs = append(w.answer.Needs, query.Need{Field: id})
	}
}

func (w *work) need(n query.Need) {
	if n.Element == "" && n.Actor == "" {
		w.needField(n.Field)
	} else {
		w.answer.Needs = append(w.answer.Needs, n)
	}
}

// needsOfLane are those of a slot that no element satisfies.
func (w *work) needsOfLane(l int32) {
	w.needPresence(l)
	for i := range w.hits {
		if h := &w.hits[i]; h.lane == l && h.slot == loose {
			w.needsOfHit(h)
		}
	}
}

func (w *work) needPresence(l int32) {
	if id := w.router.syms.lanes[l].field; w.facts.Get(id).Presence != query.Known {
		w.needField(id)
	}
}

func (w *work) needsOfSlot(i int32) {
	s := &w.router.syms.slots[i]
	if s.atom != nil {
		w.marks.needs = s.atom.AppendNeeds(w.marks.needs[:0], w.facts, w.viewOf(s), w.now)
		for _, n := range w.marks.needs {
			w.need(n)
		}
		return
	}
	w.needPresence(s.lane)
	for k := range w.hits {
		switch h := &w.hits[k]; {
		case h.slot == i:
			w.needsOfHit(h)
		case h.slot == loose && h.lane == s.lane && !w.satisfies(h, i):
			w.needsOfHit(h)
		}
	}
}

// satisfies reports whether the element of a loose hit satisfies slot i nevertheless.
func (w *work) satisfies(h *hit, i int32) bool {
	return slices.ContainsFunc(w.hits, func(o hit) bool { return o.slot == i && o.coll == h.coll && o.item == h.item })
}

// needsOfHit asks for what leaves an element undecided: its attribution, its actor's role, its member.
func (w *work) needsOfHit(h *hit) {
	field := w.colls[h.coll].field
	e := &w.facts.Get(field).Items[h.item]
	unread := e.Editors == query.EditorsUnread
	switch {
	case h.undecided && unread:
		w.need(query.Need{Field: field, Element: e.Key})
	case h.undecided:
		w.need(query.Need{Field: field, Actor: e.Actor.ID})
	}
	switch {
	case h.slot != loose:
	case unread && (h.member == int32(query.MBy) || h.member == int32(query.MAt)):
		w.need(query.Need{Field: field, Element: e.Key})
	default:
		w.needField(field)
	}
}
