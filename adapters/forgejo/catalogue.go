package forgejo

import (
	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Catalogue is the fields of v1 that Forgejo and Gitea have, with the walks that notice a change of each. What no walk
// notices, only the sweep sees: a renamed or deleted label, a renamed or deleted milestone, a deleted comment, a commit
// status. (Measured on Gitea 1.24.6 and 1.27.3; models/issues/comment.go: every timeline row moves the clock, and what
// writes none does not.)
func (Adapter) Catalogue(k query.Kind) *query.Catalogue {
	return query.NewCatalogue(Provider, k, func(f *query.Field) bool {
		f.Walks = []string{walkIssues}
		switch f.ID {
		case query.FAuthor, query.FAuthorKind, query.FCreated:
			f.Walks, f.Clock = nil, query.Fixed
		case query.FIsFork:
			f.Note = "the head lies in another repository than the base, or in one that was deleted since"
		case query.FChecks:
			f.Walks, f.Clock = nil, query.Unmoved
			f.Note = "the roll-up of the newest status of each context on the head commit; a warning counts as a failure"
		case query.FLocked, query.FTitle, query.FBody:
			f.Clock = query.Moves
		case query.FLabel:
			f.Clock = query.MovesPartly
			f.Note = "adding and removing one is noticed; renaming or deleting a label is not, and the sweep finds it"
		case query.FMilestone:
			f.Clock = query.MovesPartly
			f.Note = "setting one is noticed; renaming or deleting a milestone is not, and the sweep finds it"
		case query.FComment, query.FLastComment:
			f.Walks, f.Clock = []string{walkIssues, walkComments}, query.MovesPartly
			f.Note = "adding one moves the entity, editing one is noticed by a feed of its own; deleting one is not, and the sweep finds it"
		case query.FReviewer:
			f.Note = `whose review is asked for and not yet given; a team is "owner/team"`
		}
		return true
	})
}

// Claims are none: nothing is filtered at the provider. See whyLocal for each field.
func (Adapter) Claims(query.Kind) query.Filters {
	return query.FiltersFunc(func(query.Leaf, query.WalkKind) query.Strength { return query.None })
}

// EditFloor is write for what others may edit without being named: titles, bodies and comments, and dismissed reviews. A
// team with write on a single unit may edit too and does not show as write in the permission answer; Health warns where
// there is one.
func (Adapter) EditFloor(f query.FieldID) adapters.Role {
	switch f {
	case query.FTitle, query.FBody, query.FComment, query.FReview:
		return adapters.Write
	}
	return adapters.NoRole
}

// whyLocal says why a test is left to the local check.
func whyLocal(f query.FieldID) string {
	const drift = "it can change while pages are read, and with offset paging a row that leaves the list shifts the rest out of sight"
	switch f {
	case query.FState, query.FMerged, query.FClosed:
		return "state: " + drift
	case query.FLabel:
		return "labels: unknown names are ignored, two labels of one name are both required, labels of the organisation are not looked up: the filter loses and invents rows"
	case query.FMilestone:
		return "milestones: unknown names are ignored, and " + drift
	case query.FAssignee:
		return "assigned_by: an unknown login is an error for the whole search, and " + drift
	case query.FAuthor:
		return "created_by takes a login, which may belong to another account by now, and an unknown one is an error for the whole search"
	case query.FTitle, query.FBody, query.FComment:
		return "the text search has an index of its own that lags, and it splits words as it likes"
	case query.FUpdated, query.FCreated:
		return "the walks use the change clock for their windows; there is no filter on creation"
	}
	return "the issue list has no such filter"
}
