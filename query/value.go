package query

import "time"

// Kind is what an entity is: a work item (issue) or a change proposal (pull or merge request).
type Kind string

// The two kinds of entity.
const (
	WorkItem       Kind = "work_item"
	ChangeProposal Kind = "change_proposal"
)

// Type is the static type of a field, a member or a value.
type Type uint8

// The types of the language. TypeElements is the type of a field whose values are elements with members (label,
// comment, review, linked change proposal, title, body).
const (
	TypeNone Type = iota
	TypeBool
	TypeWord // one of a closed list, see Field.Words
	TypeName // free text compared as a whole, A–Z folded
	TypeRef  // git ref, compared exactly
	TypeUser
	TypeText // only contains and starts with
	TypeInstant
	TypeDate
	TypeNumber // custom fields only
	TypeElements
	TypeCustom // a custom field: typed by the literal it is compared with
)

// User is an account as the provider reports it.
type User struct {
	ID      string // stable id; "" when there is none (a deleted account)
	Login   string // display only; never evidence
	Bot     bool   // from provider metadata, never from the name
	Deleted bool   // a deleted account equals nobody
}

// Value is one value of a fact or one literal of a query. Which members are meaningful follows from Type.
type Value struct {
	Type Type
	Str  string    // word, name, ref, text
	Num  float64   // number
	Bool bool      // bool
	Time time.Time // instant in UTC; date as its UTC midnight
	User User      // user
	Key  string    // provider id of a name, where it has one; display only
}

// Word, Name, Ref, Text, Number, Bool, Instant, Date and UserValue make the value of that type.
func Word(s string) Value { return Value{Type: TypeWord, Str: s} }

// Name makes a name value.
func Name(s string) Value { return Value{Type: TypeName, Str: s} }

// Ref makes a git ref value.
func Ref(s string) Value { return Value{Type: TypeRef, Str: s} }

// Text makes a text value.
func Text(s string) Value { return Value{Type: TypeText, Str: s} }

// Number makes a number value.
func Number(n float64) Value { return Value{Type: TypeNumber, Num: n} }

// Bool makes a boolean value.
func Bool(b bool) Value { return Value{Type: TypeBool, Bool: b} }

// Instant makes an instant value; it is kept in UTC with millisecond grain.
func Instant(t time.Time) Value {
	return Value{Type: TypeInstant, Time: t.UTC().Truncate(time.Millisecond)}
}

// Date makes a date value from the calendar day of t in t's own zone.
func Date(t time.Time) Value {
	y, m, d := t.Date()
	return Value{Type: TypeDate, Time: time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

// UserValue makes a user value.
func UserValue(u User) Value { return Value{Type: TypeUser, User: u} }
