package forgejo

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// ghostID and ghostName stand for an account that is deleted (models/user/user_system.go).
const (
	ghostID   = -1
	ghostName = "Ghost"
)

// sec is a time as the servers keep it: whole seconds.
func sec(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC().Truncate(time.Second)
}

// opt is a time that may be absent.
func opt(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	s := sec(t)
	return &s
}

// due is the end of a day: a deadline is stored so (routers/api/v1/repo/issue.go).
func due(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	y, m, d := t.Date()
	s := time.Date(y, m, d, 23, 59, 59, 0, time.UTC)
	return &s
}

// account shows an account to a viewer; the zero viewer sees no address
// (services/convert/user.go).
func (c *call) account(id int64, viewer *sim.User) *user {
	u, ok := c.w.UserByID(id)
	if !ok || u.Deleted {
		return &user{
			ID: ghostID, Login: ghostName, Username: ghostName, Email: "ghost@" + c.noReply(),
			AvatarURL: c.base() + "assets/img/avatar_default.png", HTMLURL: c.base() + ghostName,
			Created: time.Unix(0, 0).UTC(), Visibility: "public",
		}
	}
	v := &user{
		ID: u.ID, Login: u.Login, Username: u.Login, FullName: u.FullName,
		Email:     strings.ToLower(u.Login) + "@" + c.noReply(),
		AvatarURL: fmt.Sprintf("%savatars/%032x", c.base(), u.ID), HTMLURL: c.base() + url.PathEscape(u.Login),
		Created: sec(u.Created), Visibility: "public",
	}
	if viewer != nil && u.Org {
		v.Email = ""
	} else if viewer != nil {
		v.Email = strings.ToLower(u.Login) + "@example.org"
	}
	if viewer != nil && (viewer.ID == u.ID || viewer.SiteRoot) {
		v.IsAdmin, v.Active, v.LastLogin = u.SiteRoot, true, time.Unix(0, 0).UTC()
	}
	return v
}

// noReply is the domain of addresses that are hidden.
func (c *call) noReply() string {
	u, err := url.Parse(c.base())
	if err != nil {
		return "noreply.localhost"
	}
	return "noreply." + u.Hostname()
}

// accounts shows actors without a viewer; none is null, not an empty list.
func (c *call) accounts(as []sim.Actor) []*user {
	var out []*user
	for _, a := range as {
		out = append(out, c.account(a.ID, nil))
	}
	return out
}

func (c *call) repoURL(r sim.Repo) string { return c.base() + path(r) }

func (c *call) apiURL(r sim.Repo) string { return c.base() + "api/v1/repos/" + path(r) }

func path(r sim.Repo) string { return url.PathEscape(r.Owner) + "/" + url.PathEscape(r.Name) }

func (c *call) htmlURL(r sim.Repo, k sim.Kind, number int64) string {
	kind := "issues"
	if k == sim.ChangeProposal {
		kind = "pulls"
	}
	return c.repoURL(r) + "/" + kind + "/" + strconv.FormatInt(number, 10)
}

func (c *call) label(r sim.Repo, l sim.Label) label {
	at := fmt.Sprintf("%s/labels/%d", c.apiURL(r), l.ID)
	if l.OrgID != 0 {
		at = fmt.Sprintf("%sapi/v1/orgs/%s/labels/%d", c.base(), url.PathEscape(r.Owner), l.ID)
	}
	return label{ID: l.ID, Name: l.Name, Exclusive: l.Exclusive, Color: strings.TrimPrefix(l.Color, "#"), Description: l.About, URL: at}
}

func (c *call) labels(e sim.Entity) []label {
	out := []label{}
	for _, l := range e.Labels {
		out = append(out, c.label(e.Repo, l.Label))
	}
	return out
}

func (c *call) stone(m *sim.Milestone) *milestone {
	if m == nil || m.Deleted {
		return nil
	}
	v := &milestone{
		ID: m.ID, Title: m.Title, Description: m.About, State: openState(m.Closed), Open: m.OpenItems, Closed: m.DoneItems,
		Created: sec(m.Created), Updated: opt(m.Updated), Due: due(m.Due),
	}
	if m.Closed {
		v.ClosedAt = opt(m.ClosedAt)
	}
	return v
}

func openState(closed bool) string {
	if closed {
		return "closed"
	}
	return "open"
}

// issue shows an entity as the issue list and the issue read do.
func (c *call) issue(e sim.Entity) issue {
	v := issue{
		ID: e.ID, URL: fmt.Sprintf("%s/issues/%d", c.apiURL(e.Repo), e.Number), HTMLURL: c.htmlURL(e.Repo, e.Kind, e.Number),
		Number: e.Number, User: c.account(e.Author.ID, c.doer), Title: e.Title, Body: e.Body, Assets: []struct{}{},
		Labels: c.labels(e), Milestone: c.stone(e.Milestone), Assignees: c.accounts(e.Assignees),
		State: openState(e.Closed), Locked: e.Locked, Comments: conversation(e),
		Created: sec(e.Created), Updated: sec(e.Updated), Closed: opt(e.ClosedAt), Due: due(e.Due),
		Repo: &repoMeta{e.Repo.ID, e.Repo.Name, e.Repo.Owner, e.Repo.FullName()},
	}
	if len(v.Assignees) > 0 {
		v.Assignee = v.Assignees[0]
	}
	if e.Kind == sim.ChangeProposal {
		v.Pull = &pullMeta{Merged: e.Merged, MergedAt: opt(e.MergedAt), Draft: e.Draft, HTMLURL: v.HTMLURL}
	}
	return v
}

// flavoured adds what a newer server sends besides.
func (c *call) flavoured(v issue) any {
	if c.o.Flavour == Gitea127 {
		return issue27{issue: v}
	}
	return v
}

// conversation counts comments and reviews as of the newest comment: the stored number is counted
// anew when a comment comes, not when a review does (models/issues/comment.go, updateCommentInfos
// and ConversationCountedCommentType).
func conversation(e sim.Entity) int {
	n, newest := len(e.Comments), int64(0)
	for _, m := range e.Comments {
		newest = max(newest, m.ID)
	}
	for _, ev := range e.Events {
		if ev.Type == sim.EvCodeComment {
			newest = max(newest, ev.ID)
		}
	}
	for _, ev := range e.Events {
		if ev.Type == sim.EvReviewed && ev.ID < newest {
			n++
		}
	}
	return n
}

// comment names the author only: no server says who edited it (services/convert/issue_comment.go).
func (c *call) comment(r sim.Repo, k sim.Kind, number int64, m sim.Comment) comment {
	v := comment{
		ID: m.ID, User: c.account(m.Author.ID, nil), Body: m.Body, Assets: []struct{}{},
		Created: sec(m.Created), Updated: sec(m.Edited),
	}
	v.HTMLURL, v.PullURL, v.IssueURL = c.commentURLs(r, k, number, m.ID)
	return v
}

// commentURLs: the API gives web addresses, and only the one that fits the kind.
func (c *call) commentURLs(r sim.Repo, k sim.Kind, number, id int64) (html, pull, issue string) {
	at := c.htmlURL(r, k, number)
	html = fmt.Sprintf("%s#issuecomment-%d", at, id)
	if k == sim.ChangeProposal {
		return html, at, ""
	}
	return html, "", at
}

// mode is the access mode that a role amounts to: there is nothing between read and write, nor
// between write and admin.
func mode(r sim.Role) string {
	switch {
	case r >= sim.Owner:
		return "owner"
	case r >= sim.Admin:
		return "admin"
	case r >= sim.Write:
		return "write"
	case r >= sim.Read:
		return "read"
	}
	return "none"
}

func (c *call) repository(r sim.Repo) *repository {
	role := c.w.Role(r.ID, c.doerID())
	host := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(c.base(), "http://"), "https://"), "/")
	ssh, _, _ := strings.Cut(host, ":")
	var viewer *sim.User
	if role > sim.None {
		viewer = &sim.User{} // signed in is what counts; private members stay hidden
	}
	return &repository{
		ID: r.ID, Owner: c.account(r.OwnerID, viewer), Name: r.Name, FullName: r.FullName(), Private: r.Private, Archived: r.Archived,
		LanguagesURL: c.apiURL(r) + "/languages", HTMLURL: c.repoURL(r), URL: c.apiURL(r), Size: 24,
		SSHURL: "git@" + ssh + ":" + path(r) + ".git", CloneURL: c.repoURL(r) + ".git", Watchers: 1,
		OpenIssues: r.OpenIssues, OpenPulls: r.OpenProposals, DefaultBranch: r.DefaultBranch,
		Created: sec(r.Created), Updated: sec(r.Updated), ArchivedAt: time.Unix(0, 0).UTC(),
		Permissions: rights{Admin: role >= sim.Admin, Push: role >= sim.Write, Pull: role >= sim.Read},
		HasIssues:   true, InternalTracker: tracker{true, true, true}, HasWiki: true, HasPulls: true, HasProjects: true,
		ProjectsMode: "all", HasReleases: true, HasPackages: true, HasActions: true,
		AllowMerge: true, AllowRebase: true, AllowRebaseFF: true, AllowSquash: true, AllowFF: true, AllowUpdate: true,
		MergeStyle: "merge", ObjectFormat: "sha1", Topics: []string{}, Licenses: []string{},
	}
}

// pull shows a change proposal; the list differs from the single read in what it leaves null
// (services/convert/pull.go).
func (c *call) pull(e sim.Entity, single bool) pull {
	at := c.htmlURL(e.Repo, e.Kind, e.Number)
	i := c.issue(e)
	v := pull{
		ID: e.ChangeID, URL: at, Number: e.Number, User: i.User, Title: e.Title, Body: e.Body, Labels: i.Labels,
		Milestone: i.Milestone, Assignee: i.Assignee, Assignees: i.Assignees, Reviewers: c.latestReviewers(e),
		State: i.State, Draft: e.Draft, Locked: e.Locked, Comments: i.Comments, ReviewComments: reviewComments(e),
		HTMLURL: at, DiffURL: at + ".diff", PatchURL: at + ".patch", Mergeable: !e.Draft, Merged: e.Merged, MergedAt: opt(e.MergedAt),
		Base:      branch{Label: e.Base, Ref: e.Base, SHA: e.Repo.BaseSHA, RepoID: e.Repo.ID, Repo: c.repository(e.Repo)},
		Head:      branch{Label: e.Head, Ref: e.Head, SHA: e.HeadSHA, RepoID: -1},
		MergeBase: e.Repo.BaseSHA, Due: i.Due, Created: opt(e.Created), Updated: opt(e.Updated), Closed: i.Closed,
	}
	if head, ok := c.w.RepoByID(e.HeadRepo); ok {
		v.Head.RepoID, v.Head.Repo = head.ID, c.repository(head)
	} else {
		v.Head.Ref = fmt.Sprintf("refs/pull/%d/head", e.Number)
	}
	if e.Merged {
		v.MergeSHA = &e.MergeSHA
	}
	if single {
		if e.Merged {
			v.MergedBy = c.account(e.MergedBy.ID, nil)
		}
		one, none := 1, 0
		v.Additions, v.Deletions, v.ChangedFiles = &one, &none, &one
		v.ReviewerTeams = []struct{}{}
		v.Reviewers = append([]*user{}, v.Reviewers...)
		v.Assignees = append([]*user{}, v.Assignees...)
	}
	return v
}

// latestReviewers are called requested, although whoever has given a verdict is among them
// (models/issues/pull_list.go, LoadReviews).
func (c *call) latestReviewers(e sim.Entity) []*user {
	var ids []int64
	for _, r := range slices.Backward(e.Reviews) {
		if r.State != sim.Commented && !r.Dismissed && !slices.Contains(ids, r.Author.ID) {
			ids = append(ids, r.Author.ID)
		}
	}
	slices.Reverse(ids)
	var out []*user
	for _, id := range ids {
		out = append(out, c.account(id, nil))
	}
	return out
}

// reviewComments counts the rows of reviews, not the comments on code (GetReviewCommentsCount).
func reviewComments(e sim.Entity) int {
	n := 0
	for _, ev := range e.Events {
		if ev.Type == sim.EvReviewed {
			n++
		}
	}
	return n
}

func (c *call) review(e sim.Entity, r sim.Review) review {
	states := map[sim.ReviewState]string{
		sim.Approved: "APPROVED", sim.ChangesRequested: "REQUEST_CHANGES", sim.Commented: "COMMENT", sim.Requested: "REQUEST_REVIEW",
	}
	at := c.htmlURL(e.Repo, e.Kind, e.Number)
	v := review{
		ID: r.ID, User: c.account(r.Author.ID, c.doer), State: states[r.State], Body: r.Body, CommitID: r.CommitID, Stale: r.Stale,
		Official: official(e, r), Dismissed: r.Dismissed, Comments: r.Code, Submitted: sec(r.At), Updated: sec(cmp.Or(r.Updated, r.At)), PullURL: at,
	}
	for _, ev := range e.Events {
		if ev.Type == sim.EvReviewed && ev.ReviewID == r.ID {
			v.HTMLURL = fmt.Sprintf("%s#issuecomment-%d", at, ev.ID)
		}
	}
	return v
}

// official: the newest verdict of somebody who may write, and a request to such a person
// (models/issues/review.go, IsOfficialReviewer). Dismissing a verdict leaves the mark on it (measured on Gitea 1.24.6).
func official(e sim.Entity, r sim.Review) bool {
	if r.State == sim.Commented || r.Author.Role < sim.Write {
		return false
	}
	for _, o := range slices.Backward(e.Reviews) {
		if o.Author.ID == r.Author.ID && o.State != sim.Commented {
			return o.ID == r.ID
		}
	}
	return false
}

func (c *call) status(r sim.Repo, sha string, s sim.Status) commitStatus {
	return commitStatus{
		ID: s.ID, Status: s.State, TargetURL: s.Target, Description: s.About, URL: c.apiURL(r) + "/statuses/" + sha, Context: s.Context,
		Creator: c.account(s.Creator.ID, nil), Created: sec(s.At), Updated: sec(s.At),
	}
}
