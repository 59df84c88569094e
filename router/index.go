package router

import (
	"cmp"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/query"
)

// index is what routing reads: built once, never altered.
type index struct {
	code    []word
	whole   []word // by query: the header of its whole conjunction, as an index into code
	laneOf  []int32
	initial []state // by slot: what is known of it before an entity is looked at
	live    []bool  // by slot: some query has it
	clocks  []clock
	plains  []plainField
	colls   []collection
	finds   []find // by literal
	// Queries by what makes them candidates besides a literal.
	open     []openGroup
	elements []elementAnchor
	scan     []segment // unanchored
}

// find is what a literal that an entity has leads to.
type find struct {
	slots    []int32   // by view of the collection, noSlot where no query asks; one for plain fields
	segments []segment // queries anchored here
	quants   []int32   // quantifiers whose condition may hold for an element that has it
}

const noSlot = -1

// clock is a comparison of a plain field with now that can be decided without asking its atom, where the field is known
// to be one instant.
type clock struct {
	offset int64 // milliseconds
	plain  int32
	op     query.Op
}

// segment is queries with the same guard and the same way to be found.
type segment struct {
	slot    int32 // direct: the literal's slot, or in open groups the lane; noSlot: candidates are evaluated whole
	guard   word  // opNone: none
	entries []entry
	// Of an open group, direct: the queries of which nothing is left that is not in the anchor's lane, by list. Where no
	// literal of the lane was met, all of them are as unknown as the lane, and only others are to be looked at.
	list   []listed
	others []entry
}

// listed is queries among the 64 of a cell.
type listed struct {
	cell    int32
	queries uint64
}

// entry is a query with what is left to decide once anchor and guard are known.
type entry struct {
	query uint32
	first word // a literal; opNone: nothing
	rest  word // a literal; opNone: nothing; opAnd|at: the block at that place of the code
}

// plainField is a plain field that is read: for equality (group) or for its turns of time.
type plainField struct {
	field query.FieldID
	group int32 // noGroup: not tested for equality
	lane  int32
	clock []clockwork
}

const noGroup = -1

// collection is an element field that is read.
type collection struct {
	field   query.FieldID
	lane    int32
	views   []query.ViewID
	any     []int32 // by view: slot of "has an element", noSlot
	always  []int32 // quantifiers that any element may satisfy
	members []member
	clock   []clockwork
}

// member is a member of a collection's elements in which equality is tested.
type member struct {
	member query.FieldID
	group  int32
	lanes  []int32 // by view, noLane where no query asks
	quants []int32 // quantifiers that an element may satisfy whose member is not known
}

// openGroup lists the queries that become candidates when not all is known of a group.
type openGroup struct {
	group    int32
	segments []segment
}

// elementAnchor lists the queries that become candidates when a collection may have an element.
type elementAnchor struct {
	field    query.FieldID
	segments []segment
}

// assembly makes an index of forms.
type assembly struct {
	*index
	syms  *symbols
	forms []*form
	found []pending
}

// pending is an entry before it is filed: under a literal, an open group, a collection, or nothing.
type pending struct {
	shelf shelf
	at    int32
	slot  int32
	guard word
	entry entry
}

type shelf uint8

const (
	shelfLiteral shelf = iota
	shelfOpen
	shelfElements
	shelfScan
)

func assemble(syms *symbols, forms []*form) *index {
	a := &assembly{index: &index{live: make([]bool, len(syms.slots))}, syms: syms, forms: forms}
	a.finds = make([]find, len(syms.values))
	a.laneOf = make([]int32, len(syms.slots))
	a.initial = make([]state, len(syms.slots))
	for i := range syms.slots {
		a.laneOf[i] = syms.slots[i].lane
		if syms.slots[i].kind == lazy {
			a.initial[i] = stateOf(pendingTruth, 0)
		} else {
			a.initial[i] = stateOf(untouched, syms.slots[i].lane)
		}
	}
	a.writeCode()
	a.file()
	a.readers()
	return a.index
}

// writeCode lays the forms' terms out and notes which slots are in use.
func (a *assembly) writeCode() {
	n := 0
	for _, f := range a.forms {
		for _, t := range f.terms {
			n += len(t)
		}
	}
	a.code = make([]word, 0, 2*n+2*len(a.forms))
	a.whole = make([]word, len(a.forms))
	for q, f := range a.forms {
		a.whole[q] = a.block(f.terms, -1, -1)
	}
	for _, w := range a.code {
		if isLiteral(w) {
			a.live[w>>1] = true
		}
	}
}

// block writes a conjunction of all terms but two and returns where.
func (a *assembly) block(terms [][]word, skip, guard int) word {
	at := len(a.code)
	a.code = append(a.code, opAnd)
	for i, t := range terms {
		if i != skip && i != guard {
			a.code = append(a.code, t...)
		}
	}
	a.code[at] |= word(len(a.code) - at - 1)
	return word(at)
}

// file puts every query where an entity that may match it finds it.
func (a *assembly) file() {
	popular := a.popular()
	a.found = make([]pending, 0, 3*len(a.forms))
	for q, f := range a.forms {
		guard, guardWord := a.guardOf(f, popular)
		p := pending{slot: noSlot, guard: guardWord}
		p.entry.query = uint32(q)
		p.entry.first, p.entry.rest = a.rest(f, guard)
		a.post(f, p)
	}
	slices.SortFunc(a.found, func(x, y pending) int {
		return cmp.Or(cmp.Compare(x.shelf, y.shelf), cmp.Compare(x.at, y.at), cmp.Compare(x.slot, y.slot),
			cmp.Compare(x.guard, y.guard), cmp.Compare(x.entry.query, y.entry.query))
	})
	a.shelve()
}

// popular counts in how many queries a guard stands.
func (a *assembly) popular() []int32 {
	n := make([]int32, 2*len(a.syms.slots))
	for _, f := range a.forms {
		for _, g := range f.guards {
			n[f.terms[g][0]]++
		}
	}
	return n
}

// guardOf chooses the literal that most other queries share, so that one look rules out many of them.
func (a *assembly) guardOf(f *form, popular []int32) (term int, w word) {
	term, w = -1, opNone
	for _, g := range f.guards {
		lit := f.terms[g][0]
		if g != f.direct && (term < 0 || popular[lit] > popular[w]) {
			term, w = g, lit
		}
	}
	return term, w
}

// rest is what is left of a query behind its guard and, where it is direct, its anchor.
func (a *assembly) rest(f *form, guard int) (first, rest word) {
	var left []int
	for i := range f.terms {
		if i != f.direct && i != guard {
			left = append(left, i)
		}
	}
	lits := 0
	for lits < len(left) && len(f.terms[left[lits]]) == 1 && isLiteral(f.terms[left[lits]][0]) {
		lits++
	}
	switch {
	case len(left) == 0:
		return opNone, opNone
	case lits == 1 && len(left) == 1:
		return opNone, f.terms[left[0]][0]
	case lits == 2 && len(left) == 2:
		return f.terms[left[0]][0], f.terms[left[1]][0]
	case lits == 0:
		return opNone, opAnd | a.block(f.terms, f.direct, guard)
	}
	return f.terms[left[0]][0], opAnd | a.block(f.terms, f.direct, guard)
}

func (a *assembly) post(f *form, p pending) {
	if f.unanchored() {
		p.shelf = shelfScan
		a.found = append(a.found, p)
		return
	}
	for _, id := range f.anchors {
		p.shelf, p.at = shelfLiteral, id
		if f.direct >= 0 {
			p.slot = a.syms.literalSlot(id, f.source.View)
		}
		a.found = append(a.found, p)
	}
	for i, id := range f.anchors {
		g := a.syms.values[id].group
		if slices.ContainsFunc(f.anchors[:i], func(o int32) bool { return a.syms.values[o].group == g }) {
			continue
		}
		p.shelf, p.at = shelfOpen, g
		if f.direct >= 0 {
			p.slot = a.syms.lane(g, a.syms.view(g, f.source.View))
		}
		a.found = append(a.found, p)
	}
	p.slot = noSlot
	for _, id := range f.elements {
		p.shelf, p.at = shelfElements, int32(id)
		a.found = append(a.found, p)
	}
}

// shelve cuts the sorted entries into segments that lie behind each other.
func (a *assembly) shelve() {
	entries := make([]entry, len(a.found))
	for i := range a.found {
		entries[i] = a.found[i].entry
	}
	for from := 0; from < len(a.found); {
		p, to := &a.found[from], from+1
		for to < len(a.found) && sameSegment(p, &a.found[to]) {
			to++
		}
		a.place(p, segment{slot: p.slot, guard: p.guard, entries: entries[from:to:to]})
		from = to
	}
	a.found = nil
}

func sameSegment(x, y *pending) bool {
	return x.shelf == y.shelf && x.at == y.at && x.slot == y.slot && x.guard == y.guard
}

func (a *assembly) place(p *pending, s segment) {
	switch p.shelf {
	case shelfLiteral:
		a.finds[p.at].segments = append(a.finds[p.at].segments, s)
	case shelfOpen:
		if n := len(a.open); n == 0 || a.open[n-1].group != p.at {
			a.open = append(a.open, openGroup{group: p.at})
		}
		o := &a.open[len(a.open)-1]
		if s.slot != noSlot {
			a.list(&s)
		}
		o.segments = append(o.segments, s)
	case shelfElements:
		if n := len(a.elements); n == 0 || a.elements[n-1].field != query.FieldID(p.at) {
			a.elements = append(a.elements, elementAnchor{field: query.FieldID(p.at)})
		}
		e := &a.elements[len(a.elements)-1]
		e.segments = append(e.segments, s)
	case shelfScan:
		a.scan = append(a.scan, s)
	}
}

// list parts the entries of an open group, which are in order of queries.
func (a *assembly) list(s *segment) {
	for _, e := range s.entries {
		if !a.inLane(e.first, s.slot) || !a.inLane(e.rest, s.slot) {
			s.others = append(s.others, e)
			continue
		}
		cell := int32(e.query >> 6)
		if n := len(s.list); n == 0 || s.list[n-1].cell != cell {
			s.list = append(s.list, listed{cell: cell})
		}
		s.list[len(s.list)-1].queries |= 1 << (e.query & 63)
	}
}

// inLane reports whether nothing is left, or a literal of the lane.
func (a *assembly) inLane(w word, lane int32) bool {
	return w == opNone || isLiteral(w) && a.syms.slots[w>>1].kind == literal && a.laneOf[w>>1] == lane
}

// readers lists what is to be read of an entity: what live slots and anchors need, and nothing else.
func (a *assembly) readers() {
	for i := range a.syms.groups {
		a.reader(int32(i))
	}
	for i := range a.syms.slots {
		if a.live[i] {
			a.readSlot(int32(i))
		}
	}
	for i := range a.elements {
		a.collection(a.elements[i].field)
	}
	for i := range a.plains {
		sortClocks(a.plains[i].clock)
	}
	for i := range a.colls {
		sortClocks(a.colls[i].clock)
	}
}

// reader reads a group in which a live query is anchored.
func (a *assembly) reader(g int32) {
	if !slices.ContainsFunc(a.open, func(o openGroup) bool { return o.group == g }) {
		return
	}
	if grp := a.syms.groups[g]; grp.member == 0 {
		a.plain(grp.field).group = g
	} else {
		a.memberOf(a.collection(grp.field), g)
	}
}

func (a *assembly) readSlot(i int32) {
	s := &a.syms.slots[i]
	switch s.kind {
	case literal:
		a.readLiteral(i, s)
	case element:
		c := a.collection(a.syms.lanes[s.lane].field)
		a.viewOf(c, s.view, func(c *collection) *[]int32 { return &c.any })[0] = i
	case quantifier:
		a.readQuantifier(i, s)
	case lazy:
		a.readClock(i, s)
	}
}

func (a *assembly) readClock(i int32, s *slot) {
	a.turns(s.atom)
	if s.clock.Field == 0 {
		return
	}
	a.plain(s.clock.Field)
	at := slices.IndexFunc(a.plains, func(p plainField) bool { return p.field == s.clock.Field })
	a.clocks = append(a.clocks, clock{int64(s.clock.Offset / time.Millisecond), int32(at), s.clock.Op})
	a.initial[i] = stateOf(dueTruth, int32(len(a.clocks)-1))
}

func (a *assembly) readLiteral(i int32, s *slot) {
	g := a.syms.values[s.value].group
	grp := a.syms.groups[g]
	if grp.member == 0 {
		p := a.plain(grp.field)
		p.group, p.lane = g, s.lane
		a.finds[s.value].slots = []int32{i}
		return
	}
	c := a.collection(grp.field)
	v := viewIndex(c, s.view)
	m := a.memberOf(c, g)
	m.lanes = grow(m.lanes, v, noLane)
	m.lanes[v] = s.lane
	f := &a.finds[s.value]
	f.slots = grow(f.slots, v, noSlot)
	f.slots[v] = i
}

// readQuantifier files a quantifier under the literals that an element must have for its condition to hold.
func (a *assembly) readQuantifier(i int32, s *slot) {
	a.turns(s.atom)
	c := a.collection(s.atom.Field())
	viewIndex(c, s.view)
	if len(s.anchors) == 0 {
		c.always = append(c.always, i)
		return
	}
	for _, id := range s.anchors {
		a.finds[id].quants = append(a.finds[id].quants, i)
		m := a.memberOf(c, a.syms.values[id].group)
		if n := len(m.quants); n == 0 || m.quants[n-1] != i {
			m.quants = append(m.quants, i)
		}
	}
}

func grow(xs []int32, i int, fill int32) []int32 {
	for len(xs) <= i {
		xs = append(xs, fill)
	}
	return xs
}

// viewOf gives the place of a view in one of the collection's lists by view.
func (a *assembly) viewOf(c *collection, v query.ViewID, list func(*collection) *[]int32) []int32 {
	i := viewIndex(c, v)
	l := list(c)
	*l = grow(*l, i, noSlot)
	return (*l)[i:]
}

func viewIndex(c *collection, v query.ViewID) int {
	i := slices.Index(c.views, v)
	if i < 0 {
		i = len(c.views)
		c.views = append(c.views, v)
	}
	return i
}

func (a *assembly) plain(id query.FieldID) *plainField {
	i := slices.IndexFunc(a.plains, func(p plainField) bool { return p.field == id })
	if i < 0 {
		i = len(a.plains)
		a.plains = append(a.plains, plainField{field: id, group: noGroup, lane: noLane})
	}
	return &a.plains[i]
}

func (a *assembly) collection(id query.FieldID) *collection {
	i := slices.IndexFunc(a.colls, func(c collection) bool { return c.field == id })
	if i < 0 {
		i = len(a.colls)
		a.colls = append(a.colls, collection{field: id, lane: a.syms.whole(id)})
	}
	return &a.colls[i]
}

func (a *assembly) memberOf(c *collection, g int32) *member {
	i := slices.IndexFunc(c.members, func(m member) bool { return m.group == g })
	if i < 0 {
		i = len(c.members)
		c.members = append(c.members, member{member: a.syms.groups[g].member, group: g})
	}
	return &c.members[i]
}

// turns files an atom's comparisons with now.
func (a *assembly) turns(x *query.Atom) {
	if !x.Timed() {
		return
	}
	for _, t := range x.TimeTests() {
		var list *[]clockwork
		if t.Member == 0 {
			list = &a.plain(t.Field).clock
		} else {
			list = &a.collection(t.Field).clock
		}
		i := slices.IndexFunc(*list, func(c clockwork) bool { return c.member == t.Member && c.op == t.Op })
		if i < 0 {
			i = len(*list)
			*list = append(*list, clockwork{member: t.Member, op: t.Op})
		}
		c := &(*list)[i]
		c.offsets = append(c.offsets, int64(t.Offset/time.Millisecond))
	}
}

func sortClocks(cs []clockwork) {
	for i := range cs {
		slices.Sort(cs[i].offsets)
		cs[i].offsets = slices.Compact(cs[i].offsets)
	}
}
