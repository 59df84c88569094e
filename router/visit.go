package router

import (
	"math/bits"
	"slices"
	"time"
)

// way is how a query was found.
type way uint8

const (
	met     way = iota // its anchor is true, or is part of what is to be evaluated
	doubted            // its anchor is direct and a literal of it unknown
	opened             // its anchor is direct and unknown because no literal of it was met and not all is known
)

// visit decides every query that may match. Literals that are true come before those that are unknown, and those before
// what is unknown as a whole: so the first visit of a direct query sees the truth of its anchoring term.
func (w *work) visit() {
	for _, how := range [...]way{met, doubted} {
		for _, id := range w.found {
			ss := w.finds[id].segments
			for i := range ss {
				if s := &ss[i]; w.anchored(s, how) {
					w.segment(s, how)
				}
			}
		}
	}
	for i := range w.index.open {
		w.visitOpen(&w.index.open[i])
	}
	for i := range w.elements {
		e := &w.elements[i]
		if fact := w.facts.Get(e.field); len(fact.Items) > 0 || w.lanes[w.router.syms.wholeOf[e.field]] == isUnknown {
			w.segments(e.segments)
		}
	}
	w.segments(w.scan)
}

func (w *work) anchored(s *segment, how way) bool {
	switch {
	case s.slot == noSlot:
		return how == met
	case how == met:
		return w.states[s.slot].truth() == isTrue
	}
	return w.states[s.slot].truth() == isUnknown
}

func (w *work) visitOpen(o *openGroup) {
	for i := range o.segments {
		switch s := &o.segments[i]; {
		case s.slot != noSlot && w.lanes[s.slot] == isUnknown && w.bare[o.group]:
			w.bareSegment(s)
		case s.slot != noSlot && w.lanes[s.slot] == isUnknown:
			w.segment(s, opened)
		case s.slot == noSlot && w.partly[o.group]:
			w.segment(s, met)
		}
	}
}

func (w *work) segments(ss []segment) {
	for i := range ss {
		w.segment(&ss[i], met)
	}
}

// segment decides the queries of s.
func (w *work) segment(s *segment, how way) {
	most := isTrue
	if how != met {
		most = isUnknown
	}
	if s.guard != opNone {
		if most = min(most, w.of(s.guard)); most == isFalse {
			return
		}
	}
	w.decide(s, s.entries, how, most, false)
}

// bareSegment decides the queries of s, of whose lane nothing is known: most by list.
func (w *work) bareSegment(s *segment) {
	if s.guard != opNone && w.of(s.guard) == isFalse {
		return
	}
	listed := false
	for _, l := range s.list {
		c := &w.cells[l.cell]
		fresh := l.queries &^ c.seen
		if fresh == 0 {
			continue
		}
		if c.seen == 0 {
			w.summary[l.cell>>6] |= 1 << (l.cell & 63)
		}
		c.seen |= fresh
		c.undecided |= fresh
		listed = true
	}
	w.decide(s, s.others, opened, isUnknown, listed)
}

// decide decides queries of s of which anchor and guard leave most. marked: some query of s is undecided already.
func (w *work) decide(s *segment, entries []entry, how way, most uint8, marked bool) {
	for i := range entries {
		e := &entries[i]
		c, bit := &w.cells[e.query>>6], uint64(1)<<(e.query&63)
		if c.seen&bit != 0 {
			continue
		}
		if c.seen == 0 {
			w.summary[e.query>>12] |= 1 << (e.query >> 6 & 63)
		}
		c.seen |= bit
		var t uint8
		if e.first == opNone && isLiteral(e.rest) { // most are
			t = min(most, w.of(e.rest))
		} else {
			t = w.entry(e, most)
		}
		switch t {
		case isTrue:
			c.match |= bit
		case isUnknown:
			c.undecided |= bit
			if how == doubted || e.rest&opMask == opAnd {
				c.walk |= bit
				continue
			}
			marked = true
			w.markLiteral(e.first)
			w.markLiteral(e.rest)
		}
	}
	if marked {
		w.markLiteral(s.guard)
		if how == opened {
			w.marks.addLane(s.slot)
		}
	}
}

// entry decides one query of which anchor and guard leave most.
func (w *work) entry(e *entry, most uint8) uint8 {
	if e.first != opNone {
		if most = min(most, w.of(e.first)); most == isFalse {
			return isFalse
		}
	}
	switch {
	case isLiteral(e.rest):
		return min(most, w.of(e.rest))
	case e.rest != opNone:
		return min(most, w.block(e.rest&lengthMax))
	}
	return most
}

// collect writes the answer.
func (w *work) collect() {
	a := w.answer
	for si, sum := range w.summary {
		for ; sum != 0; sum &= sum - 1 {
			ci := si<<6 | bits.TrailingZeros64(sum)
			c := &w.cells[ci]
			a.Evaluated += bits.OnesCount64(c.seen)
			a.Match = appendBits(a.Match, ci<<6, c.match)
			a.Undecided = appendBits(a.Undecided, ci<<6, c.undecided)
			for walk := c.walk; walk != 0; walk &= walk - 1 {
				w.mark(w.whole[ci<<6+bits.TrailingZeros64(walk)])
			}
			*c = cell{}
		}
		w.summary[si] = 0
	}
	if len(a.Undecided) > 0 {
		w.collectNeeds()
	}
	if w.horizon != never {
		a.Until = time.UnixMilli(w.horizon).UTC()
	}
	if len(a.RestsOn) > 1 {
		slices.Sort(a.RestsOn)
		a.RestsOn = slices.Compact(a.RestsOn)
	}
}

func appendBits(out []int, base int, set uint64) []int {
	for ; set != 0; set &= set - 1 {
		out = append(out, base+bits.TrailingZeros64(set))
	}
	return out
}
