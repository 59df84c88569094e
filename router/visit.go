package router

import (
	"math/bits"
	"slices"
	"time"
)

// visit decides every query that may match. Literals that are true come before those that are unknown, and those before
// what is unknown as a whole: so the first visit of a direct query sees the truth of its anchoring term.
func (w *work) visit() {
	for _, want := range [...]uint8{isTrue, isUnknown} {
		for _, id := range w.found {
			ss := w.finds[id].segments
			for i := range ss {
				if s := &ss[i]; w.anchorTruth(s) == want {
					w.segment(s, want)
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

// anchorTruth is that of a direct segment's literal; other candidates are evaluated whole.
func (w *work) anchorTruth(s *segment) uint8 {
	if s.slot == noSlot {
		return isTrue
	}
	return w.truth[s.slot]
}

func (w *work) visitOpen(o *openGroup) {
	for i := range o.segments {
		switch s := &o.segments[i]; {
		case s.slot != noSlot && w.lanes[s.slot] == isUnknown:
			w.segment(s, isUnknown)
		case s.slot == noSlot && w.partly[o.group]:
			w.segment(s, isTrue)
		}
	}
}

func (w *work) segments(ss []segment) {
	for i := range ss {
		w.segment(&ss[i], isTrue)
	}
}

// segment decides the queries of s, whose anchor has the given truth.
func (w *work) segment(s *segment, anchor uint8) {
	most := anchor
	if s.guard != opNone {
		if most = min(most, w.of(s.guard)); most == isFalse {
			return
		}
	}
	truth := w.truth
	for i := range s.entries {
		e := &s.entries[i]
		c, bit := &w.cells[e.query>>6], uint64(1)<<(e.query&63)
		if c.seen&bit != 0 {
			continue
		}
		if c.seen == 0 {
			w.summary[e.query>>12] |= 1 << (e.query >> 6 & 63)
		}
		c.seen |= bit
		t := isTrue
		if isLiteral(e.rest) { // most are: the rest of the work inline
			if t = truth[e.rest>>1]; t == untouched {
				t = w.lanes[w.laneOf[e.rest>>1]]
			}
			if t == pendingTruth {
				t = w.evaluate(int32(e.rest >> 1))
			}
			if e.rest&1 != 0 {
				t = 4 - t
			}
		} else if e.rest != opNone {
			t = w.block(e.rest & lengthMax)
		}
		switch min(most, t) {
		case isTrue:
			c.match |= bit
		case isUnknown:
			c.undecided |= bit
		}
	}
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
