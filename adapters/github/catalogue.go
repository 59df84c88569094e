package github

import (
	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Catalogue is the fields of v1 that GitHub has, with the walks that notice a change of each. GitHub defines nowhere what
// moves updatedAt; a field whose change was not seen to move it says so and rests on the sweep.
func (Adapter) Catalogue(k query.Kind) *query.Catalogue {
	return query.NewCatalogue(Provider, k, func(f *query.Field) bool {
		f.Walks = []string{walkChanged}
		const unsure = "no test shows whether a change of it moves updatedAt; the sweep finds what did not"
		switch f.ID {
		case query.FAuthor, query.FAuthorKind, query.FCreated:
			f.Walks, f.Clock = nil, query.Fixed
		case query.FState, query.FMerged, query.FClosed, query.FAssignee, query.FReviewer, query.FReview:
			f.Clock = query.Moves
		case query.FIsFork:
			f.Walks, f.Clock = nil, query.Fixed
			f.Note = "the head lies in another repository than the base"
		case query.FChecks:
			f.Walks, f.Clock = nil, query.Unmoved
			f.Note = "the roll-up of the head commit; a check moves nothing, and the sweep finds it"
		case query.FLinked:
			f.Walks, f.Clock = nil, query.Unmoved
			f.Note = "the proposals that would close the issue; a link moves nothing, and the sweep finds it"
		case query.FTitle, query.FBody, query.FLocked, query.FType, query.FDraft, query.FBase, query.FHead:
			f.Clock, f.Note = query.MotionUnsure, unsure
		case query.FLabel:
			f.Clock = query.MovesPartly
			f.Note = "adding and removing one is noticed; renaming or deleting a label is not, and the sweep finds it"
		case query.FMilestone:
			f.Clock = query.MovesPartly
			f.Note = "setting one is noticed; renaming or deleting a milestone is not, and the sweep finds it"
		case query.FComment, query.FLastComment:
			f.Walks, f.Clock = []string{walkChanged, walkComments}, query.MovesPartly
			f.Note = "adding one moves the entity, editing one is noticed by a feed of its own; deleting one is not, and the sweep finds it"
		}
		return true
	})
}

// Claims are what a listing can filter: the state, and in sweeps alone. Their paging is by creation, which never changes,
// so a row that leaves the filter shifts no other; windows carry no filter, so that an entity is seen leaving a match.
func (Adapter) Claims(query.Kind) query.Filters {
	return query.FiltersFunc(func(l query.Leaf, w query.WalkKind) query.Strength {
		if w == query.Sweep && l.Member == 0 && (l.Field == query.FState || l.Field == query.FMerged) && l.Op == query.OpIn && len(l.Values) > 0 {
			return query.Exact
		}
		return query.None
	})
}

// EditFloor is no role at all: GitHub names who edited a body or comment, and its timeline who changed a title or
// dismissed a review.
func (Adapter) EditFloor(query.FieldID) adapters.Role { return adapters.NoRole }

// whyLocal says why a test is left to the local check.
func whyLocal(f query.FieldID) string {
	switch f {
	case query.FState, query.FMerged, query.FClosed:
		return "state: only sweeps filter it, and only when every source of the scope asks for it"
	case query.FLabel:
		return "labels: lists that filter by label come from an index that lags and was seen to lose rows, and several labels mean any of them"
	case query.FAssignee, query.FAuthor, query.FMilestone, query.FType:
		return "filters by people, milestone or type were seen to switch the listing to an index that was days old"
	case query.FTitle, query.FBody, query.FComment:
		return "text is searched in an index that lags, and a search gives up at 1,000 results without saying so"
	case query.FUpdated, query.FCreated:
		return "the walks use the change clock for their windows; listings have no filter on creation"
	}
	return "listings have no such filter"
}
