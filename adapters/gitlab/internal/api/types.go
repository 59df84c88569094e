package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/xanzy/go-gitlab"
)

// User is an account as rows show it: not whether it is a bot.
type User struct {
	ID             int64
	Username, Name string
	State          string // active, blocked, …
	Bot, Known     bool   // Bot is told by the account's own page only, then Known
	Admin          bool
}

// Label is a label with its id, which survives renames.
type Label struct {
	ID   int64
	Name string
}

// Named is something with an id and a title.
type Named struct {
	ID    int64
	Title string
}

// Entity is an issue or merge request, as lists and single reads show it.
type Entity struct {
	ID, IID, ProjectID int64
	Title, Body, State string
	Author             *User
	Assignees          []User
	Labels             []Label
	BadLabel           bool // a label came without its id
	Milestone          *Named
	Created, Updated   time.Time
	Closed, Merged     time.Time // zero: not
	Due                time.Time // midnight UTC; zero: none
	Locked             bool
	Confidential       bool
	Type               string // issue, incident, …
	MovedTo            int64  // the global id of the issue that this one became; 0: none
	WebURL, Full       string // Full is "group/project#7" or "group/project!7"
	Notes              int    // comments, without system notes

	// Of merge requests.
	Draft          bool
	Source, Target string // branches
	SourceProject  int64  // 0: gone
	TargetProject  int64
	SHA            string
	Reviewers      []User
	PipelineTold   bool // single reads: false when the credential may not see pipelines
	Pipeline       *Pipeline
}

// Pipeline is the newest pipeline of a merge request.
type Pipeline struct {
	Status, SHA, Ref string
	Created          time.Time
}

// Note is a comment or, with System, a row that the server wrote about a change.
type Note struct {
	ID               int64
	Type             string // DiffNote for remarks on lines
	Body             string
	Author           User
	System           bool
	Created, Updated time.Time
}

// LabelEvent is one label put on or taken off. Label 0 is one that was deleted since; User 0 is unknown.
type LabelEvent struct {
	ID, Label int64
	Action    string // add or remove
	User      User
	At        time.Time
}

// Approval is one that stands. At is zero on servers that do not tell.
type Approval struct {
	User User
	At   time.Time
}

// Reviewer is somebody whose review is asked for, with what came of it.
type Reviewer struct {
	User  User
	State string // unreviewed, review_started, reviewed, requested_changes, approved, unapproved
}

// Version is one push to a merge request.
type Version struct {
	ID      int64
	SHA     string
	Created time.Time
}

// Member is an account's membership, the strongest of direct, inherited and invited ones.
type Member struct {
	ID      int64
	State   string // of the account
	Level   int
	Expires time.Time // the day; zero: never
	Await   bool      // not accepted yet
}

// Project is a container.
type Project struct {
	ID            int64
	Path          string // group/project
	Created       time.Time
	WebURL        string
	Told          bool // the answer was given to a signed-in caller
	Level         int  // of that caller
	Issues, Merge bool
	Shared        bool // with groups
}

// TokenInfo is what a token says of itself.
type TokenInfo struct {
	Name    string
	Scopes  []string
	Expires time.Time
}

// errShape says that an object lacks what makes it one.
var errShape = errors.New("an object without an id")

// guard runs the library's decoder, which panics on some shapes (an issue without an id, labels of two kinds).
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errShape, p)
		}
	}()
	return f()
}

// head is what must be there before the library is let near an object, and what it would lose.
type head struct {
	ID           *int64          `json:"id"`
	IID          *int64          `json:"iid"`
	ProjectID    *int64          `json:"project_id"`
	Labels       json.RawMessage `json:"labels"`
	HeadPipeline json.RawMessage `json:"head_pipeline"`
	TypeUpper    *string         `json:"type"`
	MovedTo      *int64          `json:"moved_to_id"`
}

// labels reads labels with details; names alone leave a mark, for a name is no identity.
func (h *head) labels() (ls []Label, bad bool) {
	var rows []*struct {
		ID   int64   `json:"id"`
		Name *string `json:"name"`
	}
	if len(h.Labels) == 0 || json.Unmarshal(h.Labels, &rows) != nil {
		return nil, string(h.Labels) != "[]"
	}
	for _, r := range rows {
		if r == nil || r.ID <= 0 || r.Name == nil {
			bad = true
			continue
		}
		ls = append(ls, Label{r.ID, *r.Name})
	}
	return ls, bad
}

// without drops members that are read apart, so that the library cannot stumble over them.
func without(raw []byte, names ...string) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	for _, n := range names {
		delete(m, n)
	}
	return json.Marshal(m)
}

// entity reads one issue or merge request; nil without an error is a row that is none.
func entity(raw []byte, merge bool) (*Entity, error) {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, err
	}
	if h.ID == nil || *h.ID <= 0 || h.IID == nil || *h.IID <= 0 {
		return nil, nil
	}
	body, err := without(raw, "labels", "head_pipeline", "pipeline", "changes", "epic", "iteration", "external_id", "time_stats")
	if err != nil {
		return nil, err
	}
	e := &Entity{}
	if merge {
		err = e.fromMergeRequest(body)
	} else {
		err = e.fromIssue(body)
	}
	if err != nil {
		return nil, err
	}
	e.ID, e.IID = *h.ID, *h.IID // not through the library's floats
	if h.ProjectID != nil {
		e.ProjectID = *h.ProjectID
	}
	if h.MovedTo != nil {
		e.MovedTo = *h.MovedTo
	}
	e.Labels, e.BadLabel = h.labels()
	if merge {
		e.PipelineTold = h.HeadPipeline != nil
		e.Pipeline, err = pipeline(h.HeadPipeline)
	}
	return e, err
}

func pipeline(raw json.RawMessage) (*Pipeline, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var p struct {
		Status  string     `json:"status"`
		SHA     string     `json:"sha"`
		Ref     string     `json:"ref"`
		Created *time.Time `json:"created_at"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	return &Pipeline{p.Status, p.SHA, p.Ref, instant(p.Created)}, nil
}

func (e *Entity) fromIssue(raw []byte) error {
	var i gitlab.Issue
	if err := guard(func() error { return json.Unmarshal(raw, &i) }); err != nil {
		return err
	}
	e.common(i.Title, i.Description, i.State, i.WebURL, i.References, i.Milestone, i.CreatedAt, i.UpdatedAt, i.ClosedAt)
	if a := i.Author; a != nil {
		e.Author = &User{ID: int64(a.ID), Username: a.Username, Name: a.Name, State: a.State}
	}
	for _, a := range i.Assignees {
		if a != nil {
			e.Assignees = append(e.Assignees, User{ID: int64(a.ID), Username: a.Username, Name: a.Name, State: a.State})
		}
	}
	if i.DueDate != nil {
		e.Due = time.Time(*i.DueDate)
	}
	e.Locked, e.Confidential, e.Notes = i.DiscussionLocked, i.Confidential, i.UserNotesCount
	if i.IssueType != nil {
		e.Type = *i.IssueType
	}
	return nil
}

func (e *Entity) fromMergeRequest(raw []byte) error {
	var m gitlab.MergeRequest
	if err := guard(func() error { return json.Unmarshal(raw, &m) }); err != nil {
		return err
	}
	e.common(m.Title, m.Description, m.State, m.WebURL, m.References, m.Milestone, m.CreatedAt, m.UpdatedAt, m.ClosedAt)
	e.Merged = instant(m.MergedAt)
	if m.Author != nil {
		u := user(m.Author)
		e.Author = &u
	}
	e.Assignees, e.Reviewers = users(m.Assignees), users(m.Reviewers)
	e.Locked, e.Notes, e.Draft = m.DiscussionLocked, m.UserNotesCount, m.Draft || m.WorkInProgress
	e.Source, e.Target, e.SHA = m.SourceBranch, m.TargetBranch, m.SHA
	e.SourceProject, e.TargetProject = int64(m.SourceProjectID), int64(m.TargetProjectID)
	return nil
}

func (e *Entity) common(title, body, state, web string, refs *gitlab.IssueReferences, m *gitlab.Milestone, created, updated, closed *time.Time) {
	e.Title, e.Body, e.State, e.WebURL = title, body, state, web
	if refs != nil {
		e.Full = refs.Full
	}
	if m != nil {
		e.Milestone = &Named{int64(m.ID), m.Title}
	}
	e.Created, e.Updated, e.Closed = instant(created), instant(updated), instant(closed)
}

func instant(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func user(u *gitlab.BasicUser) User {
	if u == nil {
		return User{}
	}
	return User{ID: int64(u.ID), Username: u.Username, Name: u.Name, State: u.State}
}

func users(us []*gitlab.BasicUser) []User {
	var out []User
	for _, u := range us {
		if u != nil {
			out = append(out, user(u))
		}
	}
	return out
}

// UnmarshalJSON reads a note.
func (n *Note) UnmarshalJSON(raw []byte) error {
	var g gitlab.Note
	if raw, err := without(raw, "position", "resolved_by", "attachment"); err != nil {
		return err
	} else if err := guard(func() error { return json.Unmarshal(raw, &g) }); err != nil {
		return err
	}
	*n = Note{ID: int64(g.ID), Type: string(g.Type), Body: g.Body, System: g.System, Created: instant(g.CreatedAt), Updated: instant(g.UpdatedAt),
		Author: User{ID: int64(g.Author.ID), Username: g.Author.Username, Name: g.Author.Name, State: g.Author.State}}
	return nil
}

// UnmarshalJSON reads a label event.
func (e *LabelEvent) UnmarshalJSON(raw []byte) error {
	var g gitlab.LabelEvent
	if err := guard(func() error { return json.Unmarshal(raw, &g) }); err != nil {
		return err
	}
	*e = LabelEvent{ID: int64(g.ID), Label: int64(g.Label.ID), Action: g.Action, At: instant(g.CreatedAt),
		User: User{ID: int64(g.User.ID), Username: g.User.Username, Name: g.User.Name, State: g.User.State}}
	return nil
}

// UnmarshalJSON reads an approval. (The library does not know when it was given.)
func (a *Approval) UnmarshalJSON(raw []byte) error {
	var g struct {
		User *gitlab.BasicUser `json:"user"`
		At   *time.Time        `json:"approved_at"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	*a = Approval{user(g.User), instant(g.At)}
	return nil
}

// UnmarshalJSON reads a reviewer.
func (r *Reviewer) UnmarshalJSON(raw []byte) error {
	var g gitlab.MergeRequestReviewer
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	*r = Reviewer{user(g.User), g.State}
	return nil
}

// UnmarshalJSON reads a version.
func (v *Version) UnmarshalJSON(raw []byte) error {
	var g gitlab.MergeRequestDiffVersion
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	*v = Version{int64(g.ID), g.HeadCommitSHA, instant(g.CreatedAt)}
	return nil
}

// UnmarshalJSON reads a membership.
func (m *Member) UnmarshalJSON(raw []byte) error {
	var g struct {
		gitlab.ProjectMember
		Membership string `json:"membership_state"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	*m = Member{ID: int64(g.ID), State: g.State, Level: int(g.AccessLevel), Await: g.Membership != "" && g.Membership != "active"}
	if g.ExpiresAt != nil {
		m.Expires = time.Time(*g.ExpiresAt)
	}
	return nil
}

// UnmarshalJSON reads an account from its own page.
func (u *User) UnmarshalJSON(raw []byte) error {
	var g struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
		Name     string `json:"name"`
		State    string `json:"state"`
		Bot      *bool  `json:"bot"`
		Admin    bool   `json:"is_admin"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	*u = User{ID: g.ID, Username: g.Username, Name: g.Name, State: g.State, Known: g.Bot != nil, Admin: g.Admin}
	u.Bot = g.Bot != nil && *g.Bot
	return nil
}

// UnmarshalJSON reads a project.
func (p *Project) UnmarshalJSON(raw []byte) error {
	var g struct {
		ID          int64               `json:"id"`
		Path        string              `json:"path_with_namespace"`
		Created     *time.Time          `json:"created_at"`
		WebURL      string              `json:"web_url"`
		Permissions *gitlab.Permissions `json:"permissions"`
		Issues      *bool               `json:"issues_enabled"`
		Merge       *bool               `json:"merge_requests_enabled"`
		Shared      []json.RawMessage   `json:"shared_with_groups"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	*p = Project{ID: g.ID, Path: g.Path, Created: instant(g.Created), WebURL: g.WebURL, Told: g.Permissions != nil,
		Issues: g.Issues == nil || *g.Issues, Merge: g.Merge == nil || *g.Merge, Shared: len(g.Shared) > 0}
	if g.Permissions != nil {
		if a := g.Permissions.ProjectAccess; a != nil {
			p.Level = max(p.Level, int(a.AccessLevel))
		}
		if a := g.Permissions.GroupAccess; a != nil {
			p.Level = max(p.Level, int(a.AccessLevel))
		}
	}
	return nil
}

// UnmarshalJSON reads what a token says of itself.
func (t *TokenInfo) UnmarshalJSON(raw []byte) error {
	var g gitlab.PersonalAccessToken
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	*t = TokenInfo{Name: g.Name, Scopes: g.Scopes}
	if g.ExpiresAt != nil {
		t.Expires = time.Time(*g.ExpiresAt)
	}
	return nil
}
