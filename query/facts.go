package query

import "time"

// Presence says how much of a fact is known.
type Presence uint8

// A fact that is absent from Facts is Unknown. Partial: the values or elements given are true, others may exist.
// Known: complete, and possibly empty.
const (
	Unknown Presence = iota
	Partial
	Known
)

// Fact is one field of an entity at one moment. A plain fact has Values (none when it is known empty, one, or several
// where the field has several); an element fact has Items. Title and body are element facts with one item, whose
// member is text.
type Fact struct {
	Presence Presence
	Values   []Value
	Items    []Element
	Why      string // why it is not Known, for people
	Rev      string // what revision the value belongs to: the head commit for checks; else ""
}

// Editors says what is known about who wrote the current revision of an element.
type Editors uint8

// EditorsUnread: attribution was not read; the element is undecided and needs a read of its field. EditorsNamed:
// Actor wrote the current revision (no Actor: nobody did, it is never admitted). EditorsPossible: the provider does not
// name the editor of an edited element; Actor is its author, and everybody whom the provider lets edit it counts.
const (
	EditorsUnread Editors = iota
	EditorsNamed
	EditorsPossible
)

// Element is one title, body, comment, review, label application or link: a fact that some actor wrote.
type Element struct {
	Key     string // stable within entity and field
	Rev     string // changes with every revision of the element's content or attribution
	Actor   User   // who wrote it; the member by
	Editors Editors
	At      time.Time // when the current revision was written; the member at. Zero: not known
	Members []Member  // all members but by and at, ascending by ID
}

// Member is one member of an element.
type Member struct {
	ID   FieldID
	Fact Fact
}

// Member returns the fact of a member other than by and at; absent is Unknown.
func (e *Element) Member(id FieldID) Fact {
	for i := range e.Members {
		if e.Members[i].ID == id {
			return e.Members[i].Fact
		}
	}
	return Fact{}
}

// Facts is what is known of one entity at one moment. The zero value knows nothing. It is not safe for concurrent use
// while it is written.
type Facts struct {
	v1     [fieldsEnd]Fact
	custom []Member // ascending by ID
}

// Get returns a fact; absent is Unknown.
func (f *Facts) Get(id FieldID) *Fact {
	if id < fieldsEnd {
		return &f.v1[id]
	}
	for i := range f.custom {
		if f.custom[i].ID == id {
			return &f.custom[i].Fact
		}
	}
	return &unknownFact
}

var unknownFact = Fact{} // read only

// Set sets a fact.
func (f *Facts) Set(id FieldID, fact Fact) {
	if id < fieldsEnd {
		f.v1[id] = fact
		return
	}
	for i := range f.custom {
		if f.custom[i].ID == id {
			f.custom[i].Fact = fact
			return
		}
	}
	f.custom = append(f.custom, Member{ID: id, Fact: fact})
}

// SetKnown sets a plain fact that is known; without values it is known empty.
func (f *Facts) SetKnown(id FieldID, vs ...Value) { f.Set(id, Fact{Presence: Known, Values: vs}) }

// SetItems sets an element fact that is completely known.
func (f *Facts) SetItems(id FieldID, es ...Element) { f.Set(id, Fact{Presence: Known, Items: es}) }

// Merge copies every fact of g that is at least as present as f's own into f: a later read completes an earlier one.
func (f *Facts) Merge(g *Facts) {
	for id := FieldID(1); id < fieldsEnd; id++ {
		if g.v1[id].Presence != Unknown && g.v1[id].Presence >= f.v1[id].Presence {
			f.v1[id] = g.v1[id]
		}
	}
	for _, m := range g.custom {
		if m.Fact.Presence >= f.Get(m.ID).Presence {
			f.Set(m.ID, m.Fact)
		}
	}
}

// Standing is what admission says of an element.
type Standing uint8

// Undecided elements may be there or not; admitted ones are there; excluded ones are not.
const (
	Undecided Standing = iota
	Admitted
	Excluded
)

// View tells the standing of an element under one admission threshold. It must be pure and must not keep e. Plain facts
// never pass through it.
type View func(field FieldID, e *Element) Standing

// Everyone is the view that admits all elements; it is for tools that look at a query without an authority to ask.
func Everyone(FieldID, *Element) Standing { return Admitted }
