package jira

import (
	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Catalogue is the fields of v1 that Jira has, with the walks that notice a change of each; nil for change proposals.
// What moves "updated" was read in server-era code and seen on Cloud; what Cloud documents nowhere rests on the sweep too.
func (Adapter) Catalogue(k query.Kind) *query.Catalogue {
	if k != query.WorkItem {
		return nil
	}
	return query.NewCatalogue(Provider, k, func(f *query.Field) bool {
		f.Walks = []string{walkChanged}
		switch f.ID {
		case query.FAuthor, query.FAuthorKind, query.FCreated:
			f.Walks, f.Clock = nil, query.Fixed
		case query.FStatus, query.FStatusCategory, query.FType, query.FPriority:
			f.Clock = query.MovesPartly
			f.Note = "setting it is noticed; renaming the value, or giving a status another category, is not, and the sweep finds it"
		case query.FAssignee:
			f.Many = false
		case query.FTitle, query.FBody:
			f.Clock, f.Note = query.Moves, "an edit is an entry of the changelog, with its author"
		case query.FLabel:
			f.Clock = query.Moves
			f.Note = "a label is a word on the issue; there is nothing to rename. Set at creation it is the creator's"
		case query.FComment, query.FLastComment:
			f.Clock = query.MovesPartly
			f.Note = "adding and editing one is noticed; deleting one is not documented to be, and the sweep finds it"
		case query.FParent:
			f.Clock = query.MovesPartly
			f.Note = "setting it is noticed; the parent's key changes when it is moved, and the sweep finds that"
		case query.FLinked:
			f.Walks, f.Clock = nil, query.Unmoved
			f.Note = "from the site's development information, on Cloud alone; only is empty can be asked, and the sweep finds a change"
		}
		return true
	})
}

// EditFloor is no role at all: the changelog names who changed a text, a comment who edited it last.
func (Adapter) EditFloor(query.FieldID) adapters.Role { return adapters.NoRole }

// Claims are what every Jira can filter in sweeps, whatever its values are called: state and category by the categories'
// ids, days and instants of creation and change with a day to spare on either side, and emptiness. A session claims more,
// once it has the ids of names and the rule of labels.
func (Adapter) Claims(k query.Kind) query.Filters {
	return query.FiltersFunc(func(l query.Leaf, w query.WalkKind) query.Strength {
		if k != query.WorkItem || w != query.Sweep {
			return query.None
		}
		return staticClaim(l)
	})
}

func staticClaim(l query.Leaf) query.Strength {
	switch l.Field {
	case query.FState, query.FStatusCategory:
		if l.Op == query.OpIn && l.Member == 0 && len(l.Values) > 0 {
			return query.Exact
		}
	case query.FCreated, query.FUpdated:
		if ordered(l.Op) {
			return query.Superset
		}
	case query.FDue:
		switch {
		case l.Op == query.OpEmpty:
			return query.Exact
		case ordered(l.Op), l.Op == query.OpIn && l.Positive && len(l.Values) > 0:
			return query.Superset
		}
	case query.FPriority, query.FComponent, query.FFixVersion:
		if l.Op == query.OpEmpty {
			return query.Exact
		}
	case query.FAssignee:
		// An account that was deleted is nobody in the language, and is still assigned in Jira.
		if l.Op == query.OpEmpty && !l.Positive {
			return query.Superset
		}
	case query.FLabel:
		if l.AnyElement() {
			return query.Exact
		}
	}
	return query.None
}

func ordered(op query.Op) bool {
	return op == query.OpLt || op == query.OpLe || op == query.OpGt || op == query.OpGe
}

// whyLocal says why a test is left to the local check.
func whyLocal(l query.Leaf, labels string) string {
	switch l.Field {
	case query.FLabel:
		if l.Member == query.MName && l.Op == query.OpIn {
			return labels
		}
		return "labels: JQL compares whole labels, and knows neither who set them nor when"
	case query.FTitle, query.FBody, query.FComment:
		return "text: JQL searches words in an index of the site's language, which cannot be held against an exact test"
	case query.FParent:
		return "parent: a key that is gone would make the whole search fail"
	case query.FAuthor, query.FAssignee:
		return "accounts are filtered on Cloud only, and never negated: a deleted account keeps its id there"
	case query.FClosed, query.FLastComment, query.FAuthorKind:
		return "JQL has no such field"
	case query.FStatus, query.FType, query.FPriority, query.FComponent, query.FFixVersion:
		return "no value has such a name"
	}
	if _, ok := l.Field.Custom(); ok {
		return "custom fields are filtered when they hold numbers, days or instants"
	}
	return "JQL has no such test"
}
