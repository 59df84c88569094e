package router

import (
	"maps"
	"slices"

	"github.com/fullsend-ai/discovery/query"
)

// symbols are the interned parts of queries: what is equal has one number and is evaluated once per entity. They grow
// while a router is built and are never altered after.
type symbols struct {
	groups  []*group
	groupOf map[groupKey]int32
	values  []value
	lanes   []lane
	laneOf  map[laneKey]int32
	slots   []slot
	ofValue map[valueKey]int32
	ofAtom  map[atomKey]int32
	anyOf   map[laneKey]int32 // by the lane of the whole collection and the view: "it has an element"
	wholeOf map[query.FieldID]int32
}

// group is a plain field, or one member of a collection, in which equality is tested.
type group struct {
	field  query.FieldID
	member query.FieldID // 0: a plain field
	table  table
}

type groupKey struct{ field, member query.FieldID }

// value is one literal of a group.
type value struct {
	group int32
	few   bool // of a type with few values: a word or a truth value, which many entities share
}

// lane is a group under one view. Its slots share what holds for literals that no value equals.
type lane struct {
	group int32 // whole: the collection as such
	view  query.ViewID
	field query.FieldID
}

const whole = -1

type laneKey struct {
	group int32
	view  query.ViewID
}

// slot is one atom under one view, or one literal of it.
type slot struct {
	kind  slotKind
	lane  int32 // noLane: lazy alone
	value int32 // literal
	view  query.ViewID
	atom  *query.Atom // quantifier and lazy
	// anchors of a quantifier: literals of which an element must have one for the condition to hold. None: any may.
	anchors []int32
	// of a lazy comparison of a plain field with now, which is decided without asking the atom where it can be.
	clock query.TimeTest
}

const noLane = -1

type slotKind uint8

const (
	literal    slotKind = iota // equality with one literal
	element                    // the collection has an element
	quantifier                 // any other quantifier
	lazy                       // any other test on a plain fact: evaluated when a query asks for it
)

type valueKey struct {
	value int32
	view  query.ViewID
}

type atomKey struct {
	key  string
	view query.ViewID
}

func newSymbols() *symbols {
	return &symbols{
		groupOf: map[groupKey]int32{}, laneOf: map[laneKey]int32{}, ofValue: map[valueKey]int32{},
		ofAtom: map[atomKey]int32{}, anyOf: map[laneKey]int32{}, wholeOf: map[query.FieldID]int32{},
	}
}

// clone lets a successor grow without altering s.
func (s *symbols) clone() *symbols {
	c := &symbols{
		groups: slices.Clone(s.groups), groupOf: maps.Clone(s.groupOf),
		values: slices.Clip(s.values), lanes: slices.Clip(s.lanes), laneOf: maps.Clone(s.laneOf),
		slots: slices.Clip(s.slots), ofValue: maps.Clone(s.ofValue), ofAtom: maps.Clone(s.ofAtom),
		anyOf: maps.Clone(s.anyOf), wholeOf: maps.Clone(s.wholeOf),
	}
	for i, g := range c.groups {
		c.groups[i] = &group{field: g.field, member: g.member, table: g.table.clone()}
	}
	return c
}

func (s *symbols) group(field, member query.FieldID) int32 {
	k := groupKey{field, member}
	g, ok := s.groupOf[k]
	if !ok {
		g = int32(len(s.groups))
		s.groups = append(s.groups, &group{field: field, member: member})
		if member != 0 {
			s.whole(field)
		}
		s.groupOf[k] = g
	}
	return g
}

// literal is the id of a literal of the leaf's field or member.
func (s *symbols) literal(group int32, want *query.Value) int32 {
	id := s.groups[group].table.intern(want, int32(len(s.values)))
	if int(id) == len(s.values) {
		s.values = append(s.values, value{group: group, few: want.Type == query.TypeWord || want.Type == query.TypeBool})
	}
	return id
}

// literals are the ids of all literals of the leaves; none when one of them is "has an element".
func (s *symbols) literals(leaves []query.Leaf) []int32 {
	var ids []int32
	for _, l := range leaves {
		if l.AnyElement() {
			return nil
		}
		g := s.group(l.Field, l.Member)
		for i := range l.Values {
			ids = append(ids, s.literal(g, &l.Values[i]))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// view is the view that tells results of the group apart: none for plain facts.
func (s *symbols) view(group int32, v query.ViewID) query.ViewID {
	if s.groups[group].member == 0 {
		return 0
	}
	return v
}

func (s *symbols) lane(group int32, v query.ViewID) int32 {
	return s.addLane(laneKey{group, v}, lane{group: group, view: v, field: s.groups[group].field})
}

// whole is the lane of a collection as such. Its view is of no matter: presence is the same for all.
func (s *symbols) whole(field query.FieldID) int32 {
	l, ok := s.wholeOf[field]
	if !ok {
		l = int32(len(s.lanes))
		s.lanes = append(s.lanes, lane{group: whole, field: field})
		s.wholeOf[field] = l
	}
	return l
}

func (s *symbols) addLane(k laneKey, l lane) int32 {
	i, ok := s.laneOf[k]
	if !ok {
		i = int32(len(s.lanes))
		s.lanes = append(s.lanes, l)
		s.laneOf[k] = i
	}
	return i
}

func (s *symbols) literalSlot(value int32, v query.ViewID) int32 {
	g := s.values[value].group
	v = s.view(g, v)
	k := valueKey{value, v}
	i, ok := s.ofValue[k]
	if !ok {
		i = s.addSlot(slot{kind: literal, lane: s.lane(g, v), value: value, view: v})
		s.ofValue[k] = i
	}
	return i
}

func (s *symbols) elementSlot(field query.FieldID, v query.ViewID) int32 {
	l := s.whole(field)
	k := laneKey{l, v}
	i, ok := s.anyOf[k]
	if !ok {
		i = s.addSlot(slot{kind: element, lane: l, view: v})
		s.anyOf[k] = i
	}
	return i
}

func (s *symbols) atomSlot(a *query.Atom, v query.ViewID) int32 {
	plain := !a.Quantifier()
	if plain {
		v = 0
	}
	k := atomKey{a.Key(), v}
	i, ok := s.ofAtom[k]
	if !ok {
		n := slot{kind: lazy, lane: noLane, view: v, atom: a}
		if !plain {
			n.kind, n.lane, n.anchors = quantifier, s.whole(a.Field()), s.literals(a.Necessary())
		}
		if ts := a.TimeTests(); plain && len(ts) == 1 && ts[0].Op != query.OpIn {
			n.clock = ts[0]
		}
		i = s.addSlot(n)
		s.ofAtom[k] = i
	}
	return i
}

func (s *symbols) addSlot(n slot) int32 {
	s.slots = append(s.slots, n)
	return int32(len(s.slots) - 1)
}
