package forgesim

import "time"

// A Change is a kind of change to an entity. Every mutation of a World records exactly which
// change it was; whether the entity's "updated" moves with it is the provider's business, see Moves.
type Change uint8

// The kinds of change.
const (
	Created Change = iota
	TitleEdited
	BodyEdited
	Labeled
	Unlabeled
	LabelRenamed
	LabelDeleted
	CommentAdded
	CommentEdited
	CommentDeleted
	Closed
	Reopened
	Merged
	Assigned
	Unassigned
	MilestoneSet
	MilestoneRenamed
	MilestoneClosed
	MilestoneDeleted
	ReviewRequested
	ReviewSubmitted
	ReviewDismissed
	CodeCommented
	Pushed
	Retargeted
	LockChanged
	DueSet
	Mentioned
	StatusReported
	Reacted
	AccountDeleted // an assignee is gone
	TypeSet
	LinkChanged
	Transferred
	ConfidentialSet
	// UpdatedSet is a direct write of "updated" by a caller, forwards or backwards.
	UpdatedSet
	numChanges
)

// Moves says which changes move the "updated" of an entity. It is a set of Change.
type Moves uint64

// MovesOf is the set of the given changes.
func MovesOf(cs ...Change) Moves {
	var m Moves
	for _, c := range cs {
		m |= 1 << c
	}
	return m
}

// Has reports whether a change moves "updated".
func (m Moves) Has(c Change) bool { return m&(1<<c) != 0 }

// Without is m less the given changes.
func (m Moves) Without(cs ...Change) Moves { return m &^ MovesOf(cs...) }

// allMoves is every change there is.
const allMoves Moves = 1<<numChanges - 1

// GiteaMoves is measured on Gitea 1.27.3 and read in go-gitea/gitea, models/issues/comment.go
// (updateCommentInfos): every timeline row moves the entity; what writes no row does not.
func GiteaMoves() Moves {
	return allMoves.Without(
		LabelRenamed, LabelDeleted,
		MilestoneRenamed, MilestoneClosed, MilestoneDeleted,
		CommentEdited, CommentDeleted,
		StatusReported, Reacted, AccountDeleted, TypeSet, LinkChanged, Transferred,
		UpdatedSet, // PATCH updated_at is ignored
	)
}

// ForgejoMoves is GiteaMoves, except that Forgejo's PATCH accepts updated_at
// (forgejo, routers/api/v1/repo/issue.go, SetIssueUpdateDate), also backwards.
func ForgejoMoves() Moves { return GiteaMoves() | MovesOf(UpdatedSet) }

// GitHubMoves is what reports of users show, for nothing is documented (github/docs#3406): comments that are deleted
// move nothing (neomjs/neo#10092), nor do labels and milestones that are renamed or deleted (martinthomson/i-d-template#229,
// actions/stale#855), links (neomjs/neo#10093), or statuses. Of titles, bodies, locks and types no test is known; here they move it,
// and a world that wants the worst takes them out.
func GitHubMoves() Moves {
	return allMoves.Without(
		LabelRenamed, LabelDeleted,
		MilestoneRenamed, MilestoneClosed, MilestoneDeleted,
		CommentDeleted, StatusReported, Reacted, Mentioned, AccountDeleted,
		LinkChanged, Transferred, UpdatedSet,
	)
}

// A Profile is what a world takes from the provider that it plays.
type Profile struct {
	Name  string
	Moves Moves
	// DraftByTitle: a draft is a title with a work-in-progress prefix; there is no flag of its own.
	DraftByTitle bool
	// SharedNumbers: work items and change proposals of a repository are numbered together.
	SharedNumbers bool
	// MovedStay: a work item that is transferred stays behind, closed, with the id of its successor.
	MovedStay bool
}

// Gitea is the profile of Gitea 1.24 to 1.27.
func Gitea() Profile {
	return Profile{Name: "gitea", Moves: GiteaMoves(), DraftByTitle: true, SharedNumbers: true}
}

// Forgejo is the profile of Forgejo.
func Forgejo() Profile {
	return Profile{Name: "forgejo", Moves: ForgejoMoves(), DraftByTitle: true, SharedNumbers: true}
}

// GitHub is the profile of GitHub.
func GitHub() Profile {
	return Profile{Name: "github", Moves: GitHubMoves(), SharedNumbers: true}
}

// GitLabMoves follows GitLab's own source where it is known: renaming or deleting a label or a milestone writes nothing to the
// entity (app/services/labels/update_service.rb, app/models/label_link.rb); a note that is written or edited touches its
// entity (app/models/note.rb, touch_noteable), one that is deleted does not; neither do pipelines. Whether a push moves it
// is reported both ways (apache/devlake PR 8959); here it does not, nor does a reaction (#15562).
func GitLabMoves() Moves {
	return allMoves.Without(
		LabelRenamed, LabelDeleted,
		MilestoneRenamed, MilestoneClosed, MilestoneDeleted,
		CommentDeleted, StatusReported, Reacted, AccountDeleted, LinkChanged, Pushed,
	)
}

// GitLab is the profile of GitLab. Updated times can be set by owners (lib/api/issues.rb, updated_at), also backwards.
func GitLab() Profile {
	return Profile{Name: "gitlab", Moves: GitLabMoves(), MovedStay: true}
}

// touch is the last change of one kind.
type touch struct {
	kind Change
	seq  uint64
	at   time.Time
}

// latest is the time of the newest change that moves the clock: newest in the order of
// events, which differs from the greatest time when a clock steps back.
func latest(ts []touch, m Moves) time.Time {
	var best touch
	for _, t := range ts {
		if m.Has(t.kind) && t.seq >= best.seq {
			best = t
		}
	}
	return best.at
}
