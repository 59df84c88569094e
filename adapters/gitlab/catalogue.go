package gitlab

import (
	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Catalogue is the fields of v1 that GitLab has, with the walks that notice a change of each. What no walk notices, only the
// sweep sees: a renamed or deleted label, a renamed or deleted milestone, a deleted comment, a pipeline, a push, a link.
func (Adapter) Catalogue(k query.Kind) *query.Catalogue {
	changes := walkIssues
	if k == query.ChangeProposal {
		changes = walkMerges
	}
	return query.NewCatalogue(Provider, k, func(f *query.Field) bool {
		f.Walks = []string{changes}
		describe(f, k)
		return true
	})
}

func describe(f *query.Field, k query.Kind) {
	unnoticed := func(note string) { f.Walks, f.Clock, f.Note = nil, query.Unmoved, note }
	partly := func(note string) { f.Clock, f.Note = query.MovesPartly, note }
	switch f.ID {
	case query.FAuthor, query.FAuthorKind, query.FCreated:
		f.Walks, f.Clock = nil, query.Fixed
	case query.FState:
		f.Note = "a merge request that is locked, which happens while it is merged, is open"
	case query.FClosed:
		f.Note = "for a merged merge request the time of the merge"
	case query.FLocked, query.FTitle, query.FBody:
		f.Clock = query.Moves
	case query.FType:
		f.Note = `issue, incident, test_case or task; what has left the list of issues for work items of its own is not seen`
	case query.FLabel:
		partly("adding and removing one is noticed; renaming or deleting a label is not, and the sweep finds it")
	case query.FMilestone:
		partly("setting one is noticed; renaming or deleting a milestone is not, and the sweep finds it")
	case query.FComment, query.FLastComment:
		partly("adding or editing one is noticed; deleting one is not, and the sweep finds it; a remark on a line is a comment, too")
	case query.FAssignee, query.FReviewer:
		if k == query.ChangeProposal {
			partly("some servers are reported not to move the clock when assignees or reviewers of a merge request change; the sweep finds it")
		}
	case query.FReview:
		partly("approvals (at once where the server writes its note at once), requests for changes and remarks are noticed; a push, which makes them old, is not")
	case query.FHead:
		f.Note = "whoever proposes the change names it: do not trust what it says; a push to it is not noticed"
	case query.FIsFork:
		f.Note = "the head lies in another project than the base, or in one that was deleted since"
	case query.FChecks:
		unnoticed("the state of the newest pipeline, when it is of the head commit; missing when it is of an older one, or was skipped")
	case query.FLinked:
		unnoticed("merge requests of the same project that close the issue when they are merged")
	}
}

// Claims are none: nothing is filtered at the provider. See whyLocal for each field.
func (Adapter) Claims(query.Kind) query.Filters {
	return query.FiltersFunc(func(query.Leaf, query.WalkKind) query.Strength { return query.None })
}

// EditFloor says who may edit what another wrote without being named. Comments: maintainers
// (app/policies/note_policy.rb: admin_note). Titles and bodies: their assignees, whatever their role
// (app/policies/issuable_policy.rb: assignee_or_author enables update_issue), so nobody is ruled out; but their editors are
// named by the system notes, see texts.
func (Adapter) EditFloor(f query.FieldID) adapters.Role {
	switch f {
	case query.FTitle, query.FBody:
		return adapters.None
	case query.FComment:
		return adapters.Maintain
	}
	return adapters.NoRole
}

// whyLocal says why a test is left to the local check.
func whyLocal(f query.FieldID) string {
	switch f {
	case query.FState, query.FMerged, query.FClosed:
		return "state takes one word, a merge request that is being merged is in none of the usual ones, and what is closed must be seen leaving"
	case query.FLabel:
		return "labels: one name that does not exist empties the whole answer, a repeated one too, None and Any replace the filter, and letter case counts"
	case query.FMilestone:
		return "milestone: one name only, compared exactly, and None, Any, Upcoming and Started mean something else"
	case query.FAssignee, query.FReviewer:
		return "several names mean assigned to all of them, or are an error, and a login may belong to another account by now"
	case query.FAuthor, query.FAuthorKind:
		return "author_id takes one account only, and a login may belong to another account by now"
	case query.FTitle, query.FBody, query.FComment:
		return "the text search is limited by itself and splits words as it likes"
	case query.FUpdated, query.FCreated:
		return "the walks use these clocks for their place"
	}
	return "the list has no such filter that several rules could share: there is no or"
}
