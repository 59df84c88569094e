package forgesim

import "time"

// Kind tells work items (issues) from change proposals (pull requests, merge requests).
type Kind string

// The two kinds of entity.
const (
	WorkItem       Kind = "work_item"
	ChangeProposal Kind = "change_proposal"
)

// Role is an actor's effective right on one repository.
type Role int8

// The roles, in ascending order.
const (
	None Role = iota
	Read
	Triage
	Write
	Maintain
	Admin
	Owner
)

func roleNames() []string {
	return []string{"none", "read", "triage", "write", "maintain", "admin", "owner"}
}

func (r Role) String() string {
	if names := roleNames(); int(r) < len(names) {
		return names[r]
	}
	return "none"
}

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	for i, n := range roleNames() {
		if n == s {
			return Role(i), nil
		}
	}
	return None, usage("role %q: want one of %v", s, roleNames())
}

// User is an account: a person, a bot or an organisation.
type User struct {
	ID                 int64
	Login, FullName    string
	Bot, Org, SiteRoot bool // SiteRoot: administrator of the whole instance
	Deleted, Blocked   bool
	Created            time.Time
}

// Actor is an account as it stands towards one repository at the moment of the snapshot.
type Actor struct {
	ID      int64
	Login   string
	Bot     bool
	Deleted bool
	Role    Role // the effective role now, not the one at the time of the act
}

// Token is one credential. Scopes nil means every scope; else names such as "read:issue".
type Token struct {
	Text   string
	User   User
	Scopes []string
}

// Repo is a container. Its ID survives renames and transfers.
type Repo struct {
	ID, OwnerID       int64
	Owner, Name       string
	Private, Archived bool
	DefaultBranch     string
	BaseSHA           string // head of the default branch, which never moves
	Created, Updated  time.Time
	OpenIssues        int
	OpenProposals     int
}

// FullName is "owner/name".
func (r Repo) FullName() string { return r.Owner + "/" + r.Name }

// Label is an entry of a catalogue. RepoID is 0 for a label of an organisation.
type Label struct {
	ID, RepoID, OrgID  int64
	Name, Color, About string
	Exclusive          bool
	Deleted            bool
}

// AppliedLabel is a label on an entity, and who put it there last.
type AppliedLabel struct {
	Label
	By Actor
	At time.Time
}

// Milestone is an entry of a repository's milestones.
type Milestone struct {
	ID, RepoID           int64
	Title, About         string
	Closed, Deleted      bool
	Created, Updated     time.Time
	ClosedAt, Due        time.Time
	OpenItems, DoneItems int
}

// Comment is a comment on an entity. Editor and Edited belong to the current revision; a
// comment that was never edited has Editor = Author and Edited = Created.
type Comment struct {
	ID              int64
	EntityID        int64
	Author, Editor  Actor
	Body            string
	Created, Edited time.Time
}

// ReviewState is the verdict of a review.
type ReviewState string

// The states of a review.
const (
	Approved         ReviewState = "approved"
	ChangesRequested ReviewState = "changes_requested"
	Commented        ReviewState = "commented"
	Requested        ReviewState = "requested" // asked and not answered
)

// Review is one review, or one request for it.
type Review struct {
	ID        int64
	Author    Actor
	State     ReviewState
	Body      string
	CommitID  string
	Stale     bool // the head moved since
	Dismissed bool
	At        time.Time
	Updated   time.Time
	Code      int // comments on lines that came with it
}

// EventType is the type of a timeline row that is no comment.
type EventType string

// The types of event.
const (
	EvLabeled          EventType = "labeled"
	EvUnlabeled        EventType = "unlabeled"
	EvAssigned         EventType = "assigned"
	EvUnassigned       EventType = "unassigned"
	EvMilestone        EventType = "milestone"
	EvRetitled         EventType = "retitled"
	EvClosed           EventType = "closed"
	EvReopened         EventType = "reopened"
	EvMerged           EventType = "merged"
	EvLocked           EventType = "locked"
	EvUnlocked         EventType = "unlocked"
	EvDue              EventType = "due"
	EvReviewRequested  EventType = "review_requested"
	EvReviewed         EventType = "reviewed"
	EvReviewDismissed  EventType = "review_dismissed"
	EvCodeComment      EventType = "code_comment"
	EvPushed           EventType = "pushed"
	EvRetargeted       EventType = "retargeted"
	EvCrossReferenced  EventType = "cross_referenced"
	EvCrossRefProposal EventType = "cross_referenced_by_proposal"
	EvCommitReference  EventType = "referenced_by_commit"
)

// Event is a row of an entity's history. Which members are set follows from its type.
type Event struct {
	ID       int64 // same number space as comments
	Type     EventType
	Actor    Actor
	At       time.Time
	Label    *Label // also when it was deleted since
	User     *Actor // assignee, reviewer
	Old, New string // titles, branches, dates, commits
	OldStone *Milestone
	NewStone *Milestone
	ReviewID int64
	Body     string
	FromRepo int64 // repository and number of what refers to this entity
	From     int64
}

// Status is one check of a commit.
type Status struct {
	ID      int64
	Context string
	State   string // success, failure, pending, error, warning
	Target  string
	About   string
	Creator Actor
	At      time.Time
}

// Entity is a work item or change proposal, as a plain value that shares nothing with the world.
type Entity struct {
	ID       int64 // instance-wide, of the entity
	ChangeID int64 // the id of the change proposal object, another number space; 0 for work items
	Number   int64
	Repo     Repo
	Kind     Kind

	Title, Body     string
	Author          Actor
	TitleBy, BodyBy Actor // who wrote the current text
	TitleAt, BodyAt time.Time

	Closed, Merged, Draft, Locked bool
	Confidential                  bool
	MovedTo                       int64 // the id of the entity that this one became, where it stays behind closed
	ClosedBy, MergedBy            *Actor
	Base, Head, HeadSHA           string
	HeadRepo                      int64
	MergeSHA                      string

	Labels    []AppliedLabel // by name, then id
	Assignees []Actor
	Reviewers []Actor // asked and not yet answered
	Milestone *Milestone
	Type      string    // issue type; "" none
	Links     []Link    // proposals that would close this work item
	Comments  []Comment // by creation
	Reviews   []Review
	Events    []Event
	Checks    []Status // the newest of each context on the head commit

	Created, Updated   time.Time // Updated by the profile's Moves
	ClosedAt, MergedAt time.Time
	Due                time.Time
	LastChange         time.Time // the newest change of any kind, also one that moves no clock
}

// Link is a change proposal that another entity names.
type Link struct{ RepoID, Number int64 }

// Fork reports whether the change proposal comes from another repository.
func (e Entity) Fork() bool { return e.Kind == ChangeProposal && e.HeadRepo != e.Repo.ID }
