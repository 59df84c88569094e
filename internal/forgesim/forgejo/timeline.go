package forgejo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// timeline lists comments and events by creation (routers/api/v1/repo/issue_comment.go,
// ListIssueCommentsAndTimeline). Rows that the caller may not see, and comments on code, are
// dropped after paging: a short page, even an empty one, need not be the last. X-Total-Count is the
// length of this page, there is no Link, and a page without rows is null. Without page it is
// everything at once.
func (c *call) timeline() {
	win, ok := c.window()
	if !ok {
		return
	}
	e, ok := c.entity()
	if !ok {
		c.noIssue()
		return
	}
	all := slices.DeleteFunc(c.history(e), func(r timelineRow) bool { return !win.has(r.Updated) })
	s := c.paged(len(all))
	var rows []timelineRow
	for _, r := range all[s.from:s.to] {
		if !r.missing {
			rows = append(rows, r)
		}
	}
	c.total(len(rows))
	c.json(http.StatusOK, rows)
}

// history is every row that the server's table has. The rows of a deleted label are gone from
// it (models/issues/label.go, DeleteLabel).
func (c *call) history(e sim.Entity) []timelineRow {
	var all []timelineRow
	for _, m := range e.Comments {
		r := c.row(e, m.ID, "comment", m.Author)
		r.Body, r.Created, r.Updated = m.Body, sec(m.Created), sec(m.Edited)
		all = append(all, r)
	}
	for _, ev := range e.Events {
		if ev.Label != nil && ev.Label.Deleted {
			continue
		}
		r := c.row(e, ev.ID, rowType(ev), ev.Actor)
		r.Created, r.Updated = sec(ev.At), sec(ev.At)
		c.fill(&r, e, ev)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b timelineRow) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return all
}

func (c *call) row(e sim.Entity, id int64, typ string, by sim.Actor) timelineRow {
	r := timelineRow{ID: id, Type: typ, User: c.account(by.ID, nil), RefAction: "none"}
	r.HTMLURL, r.PullURL, r.IssueURL = c.commentURLs(e.Repo, e.Kind, e.Number, id)
	return r
}

// rowType names a row as models/issues/comment.go (commentStrings) does.
func rowType(ev sim.Event) string {
	if ev.Type == sim.EvDue {
		switch {
		case ev.Old == "":
			return "added_deadline"
		case ev.New == "":
			return "removed_deadline"
		}
		return "modified_deadline"
	}
	return map[sim.EventType]string{
		sim.EvLabeled: "label", sim.EvUnlabeled: "label", sim.EvAssigned: "assignees", sim.EvUnassigned: "assignees",
		sim.EvMilestone: "milestone", sim.EvRetitled: "change_title", sim.EvClosed: "close", sim.EvReopened: "reopen",
		sim.EvMerged: "merge_pull", sim.EvLocked: "lock", sim.EvUnlocked: "unlock", sim.EvReviewRequested: "review_request",
		sim.EvReviewed: "review", sim.EvReviewDismissed: "dismiss_review", sim.EvCodeComment: "code", sim.EvPushed: "pull_push",
		sim.EvRetargeted: "change_target_branch", sim.EvCrossReferenced: "issue_ref", sim.EvCrossRefProposal: "pull_ref",
		sim.EvCommitReference: "commit_ref",
	}[ev.Type]
}

// fill sets what belongs to the type of the row.
func (c *call) fill(r *timelineRow, e sim.Entity, ev sim.Event) {
	r.Body, r.ReviewID = ev.Body, ev.ReviewID
	if ev.User != nil {
		r.Assignee = c.account(ev.User.ID, nil)
	}
	if ev.Label != nil {
		l := c.label(e.Repo, *ev.Label)
		r.Label = &l
	}
	switch ev.Type {
	case sim.EvLabeled:
		r.Body = "1" // "" is a removal (models/issues/issue_label.go)
	case sim.EvUnassigned:
		r.RemovedAssignee = true
	case sim.EvMilestone:
		r.OldMilestone, r.Milestone = c.stone(ev.OldStone), c.stone(ev.NewStone)
	case sim.EvRetitled:
		r.OldTitle, r.NewTitle = ev.Old, ev.New
	case sim.EvRetargeted:
		r.OldRef, r.NewRef = ev.Old, ev.New
	case sim.EvDue:
		r.Body = deadline(ev)
	case sim.EvPushed:
		r.Body = pushed(ev.New)
	case sim.EvCodeComment:
		r.missing = true
	case sim.EvLocked, sim.EvUnlocked:
		r.User = c.account(e.Repo.OwnerID, nil) // not who did it (routers/api/v1/repo/issue_lock.go)
	case sim.EvCommitReference:
		r.RefCommit = ev.New
		r.Body = fmt.Sprintf("<a href=\"/%s/commit/%s\">Merge pull request &#39;%s&#39; (#%d) from %s into %s</a>",
			path(e.Repo), ev.New, html.EscapeString(e.Title), e.Number, e.Head, e.Base)
	case sim.EvCrossReferenced, sim.EvCrossRefProposal:
		c.refer(r, ev)
	}
}

func deadline(ev sim.Event) string {
	switch {
	case ev.Old == "":
		return ev.New
	case ev.New == "":
		return ev.Old
	}
	return ev.New + "|" + ev.Old
}

func pushed(sha string) string {
	b, err := json.Marshal(struct {
		Force   bool     `json:"is_force_push"`
		Commits []string `json:"commit_ids"`
	}{false, []string{sha}})
	if err != nil {
		return ""
	}
	return string(b)
}

// refer shows the entity that a reference comes from, unless it lies where the caller may not read.
func (c *call) refer(r *timelineRow, ev sim.Event) {
	from, ok := c.single().Entity(ev.FromRepo, ev.From)
	if !ok || c.w.Role(ev.FromRepo, c.doerID()) < sim.Read {
		r.missing = true
		return
	}
	r.RefIssue = c.flavoured(c.issue(from))
}
