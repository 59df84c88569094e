package query

import (
	"math/bits"
	"slices"
)

// FieldID names one field of the catalogue. The ids of v1 fields and members are fixed; a custom field's id is
// derived from its number, see CustomField.
type FieldID uint32

// The fields of v1. The order is part of nothing but this list; ids are never persisted.
const (
	FState FieldID = iota + 1
	FMerged
	FStatus
	FPriority
	FStatusCategory
	FType
	FAuthor
	FAuthorKind
	FAssignee
	FReviewer
	FMilestone
	FComponent
	FFixVersion
	FParent
	FCreated
	FUpdated
	FClosed
	FLastComment
	FDue
	FDraft
	FIsFork
	FBase
	FHead
	FChecks
	FLocked
	FTitle
	FBody
	FLabel
	FComment
	FReview
	FLinked // linked_change_proposal
	fieldsEnd
)

// The members of element fields. One id serves every collection; its type is the collection's, see Field.Members.
const (
	MName FieldID = iota + 40
	MBy
	MAt
	MText
	MCommand
	MState
	MOnHead
	MMerged
)

const customBase FieldID = 1 << 10

// CustomField returns the id of cf[n].
func CustomField(n uint32) FieldID { return customBase + FieldID(n) }

// Custom reports whether id is a custom field, and its number.
func (id FieldID) Custom() (n uint32, ok bool) {
	if id < customBase {
		return 0, false
	}
	return uint32(id - customBase), true
}

// FieldSet is a set of fields. The zero value is empty.
type FieldSet struct {
	bits   uint64
	custom []FieldID // sorted
}

// Fields makes a set.
func Fields(ids ...FieldID) FieldSet {
	var s FieldSet
	for _, id := range ids {
		s.Add(id)
	}
	return s
}

// Add adds id. It does not alter other sets that s was copied from.
func (s *FieldSet) Add(id FieldID) {
	if id < 64 {
		s.bits |= 1 << id
		return
	}
	i, ok := slices.BinarySearch(s.custom, id)
	if ok {
		return
	}
	s.custom = slices.Insert(slices.Clone(s.custom), i, id)
}

// Has reports whether id is in s.
func (s FieldSet) Has(id FieldID) bool {
	if id < 64 {
		return s.bits&(1<<id) != 0
	}
	_, ok := slices.BinarySearch(s.custom, id)
	return ok
}

// Union returns the union of s and t.
func (s FieldSet) Union(t FieldSet) FieldSet {
	u := FieldSet{bits: s.bits | t.bits, custom: s.custom}
	for _, id := range t.custom {
		u.Add(id)
	}
	return u
}

// Empty reports whether s has no field.
func (s FieldSet) Empty() bool { return s.bits == 0 && len(s.custom) == 0 }

// IDs returns the fields in ascending order.
func (s FieldSet) IDs() []FieldID {
	ids := make([]FieldID, 0, bits.OnesCount64(s.bits)+len(s.custom))
	for b := s.bits; b != 0; b &= b - 1 {
		ids = append(ids, FieldID(bits.TrailingZeros64(b)))
	}
	return append(ids, s.custom...)
}
