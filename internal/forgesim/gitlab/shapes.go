package gitlab

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// stamp is an instant as GitLab prints it: to the millisecond.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &s
}

func day(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.DateOnly)
	return &s
}

// userBasic is lib/api/entities/user_basic.rb.
type userBasic struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Locked   bool   `json:"locked"`
	Avatar   any    `json:"avatar_url"`
	WebURL   string `json:"web_url"`
}

// ghostID is far from every account of a world.
const ghostID = 4_000_001

// basic shows an account; what a deleted one wrote belongs to the ghost.
func (c *call) basic(id int64) *userBasic {
	u, ok := c.w.UserByID(id)
	if !ok || u.Deleted {
		return &userBasic{ID: ghostID, Username: "ghost", Name: "Ghost User", State: "active", WebURL: c.base() + "ghost"}
	}
	v := &userBasic{ID: u.ID, Username: u.Login, Name: u.Login, State: "active", WebURL: c.base() + u.Login}
	if u.FullName != "" {
		v.Name = u.FullName
	}
	if u.Blocked {
		v.State = "blocked"
	}
	return v
}

func (c *call) basics(as []sim.Actor) []*userBasic {
	out := []*userBasic{}
	for _, a := range as {
		out = append(out, c.basic(a.ID))
	}
	return out
}

type label struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description"`
	HTML        string  `json:"description_html"`
	TextColor   string  `json:"text_color"`
	Color       string  `json:"color"`
}

func labelBasic(l sim.Label) label {
	return label{ID: l.ID, Name: l.Name, TextColor: "#FFFFFF", Color: "#" + strings.TrimPrefix(l.Color, "#")}
}

type milestone struct {
	ID        int64   `json:"id"`
	IID       int64   `json:"iid"`
	ProjectID int64   `json:"project_id"`
	Title     string  `json:"title"`
	About     string  `json:"description"`
	State     string  `json:"state"`
	Created   *string `json:"created_at"`
	Updated   *string `json:"updated_at"`
	Due       *string `json:"due_date"`
	Start     *string `json:"start_date"`
	Expired   bool    `json:"expired"`
	WebURL    string  `json:"web_url"`
}

func (c *call) stone(m *sim.Milestone) *milestone {
	if m == nil || m.Deleted {
		return nil
	}
	v := &milestone{ID: m.ID, IID: m.ID, ProjectID: m.RepoID, Title: m.Title, About: m.About, State: "active", Created: stamp(m.Created),
		Updated: stamp(m.Updated), Due: day(m.Due), WebURL: fmt.Sprintf("%s%s/-/milestones/%d", c.base(), path(c.repo), m.ID)}
	if m.Closed {
		v.State = "closed"
	}
	return v
}

func path(r sim.Repo) string { return url.PathEscape(r.Owner) + "/" + url.PathEscape(r.Name) }

// entity shows an issue (lib/api/entities/issue.rb, issue_basic.rb) or merge request (merge_request_basic.rb,
// merge_request.rb).
func (c *call) entity(kind sim.Kind, e sim.Entity, details, single bool) map[string]any {
	mark, plural := "#", "issues"
	if kind == sim.ChangeProposal {
		mark, plural = "!", "merge_requests"
	}
	n := strconv.FormatInt(e.Number, 10)
	v := map[string]any{
		"id": e.ID, "iid": e.Number, "project_id": e.Repo.ID, "title": title(e), "description": e.Body, "state": "opened",
		"created_at": stamp(e.Created), "updated_at": stamp(e.Updated), "closed_at": nil, "closed_by": nil,
		"labels": c.labelsOf(e, details), "milestone": c.stone(e.Milestone), "assignees": c.basics(e.Assignees), "assignee": nil,
		"author": c.basic(e.Author.ID), "user_notes_count": len(c.talk(e)), "upvotes": 0, "downvotes": 0, "discussion_locked": nil,
		"web_url":                fmt.Sprintf("%s%s/-/%s/%s", c.base(), path(e.Repo), plural, n),
		"references":             map[string]string{"short": mark + n, "relative": mark + n, "full": e.Repo.FullName() + mark + n},
		"time_stats":             map[string]any{"time_estimate": 0, "total_time_spent": 0, "human_time_estimate": nil, "human_total_time_spent": nil},
		"task_completion_status": map[string]int{"count": 0, "completed_count": 0},
	}
	if len(e.Assignees) > 0 {
		v["assignee"] = c.basic(e.Assignees[0].ID)
	}
	if e.Locked {
		v["discussion_locked"] = true
	}
	if e.Closed && !e.Merged {
		v["state"], v["closed_at"], v["closed_by"] = "closed", stamp(e.ClosedAt), c.basic(e.ClosedBy.ID)
	}
	if kind == sim.ChangeProposal {
		c.merge(v, e, single)
	} else {
		c.issue(v, e)
	}
	if has(c.k.NoID, e.Number) {
		delete(v, "id")
	}
	return v
}

// title carries the draft mark, which is where GitLab keeps it.
func title(e sim.Entity) string {
	if e.Draft {
		return "Draft: " + e.Title
	}
	return e.Title
}

func (c *call) labelsOf(e sim.Entity, details bool) any {
	ls := slices.Clone(e.Labels)
	slices.SortStableFunc(ls, func(a, b sim.AppliedLabel) int { return strings.Compare(a.Name, b.Name) })
	if details {
		out := []label{}
		for _, l := range ls {
			out = append(out, labelBasic(l.Label))
		}
		return out
	}
	out := []string{}
	for _, l := range ls {
		out = append(out, l.Name)
	}
	return out
}

func (c *call) issue(v map[string]any, e sim.Entity) {
	typ := e.Type
	if typ == "" {
		typ = "issue"
	}
	v["due_date"], v["confidential"], v["issue_type"], v["type"] = day(e.Due), e.Confidential, typ, strings.ToUpper(typ)
	v["moved_to_id"], v["merge_requests_count"], v["has_tasks"], v["severity"], v["service_desk_reply_to"] = nil, len(e.Links), false, "UNKNOWN", nil
	v["_links"] = map[string]any{"self": fmt.Sprintf("%sapi/v4/projects/%d/issues/%d", c.base(), e.Repo.ID, e.Number)}
	if e.MovedTo != 0 {
		v["moved_to_id"] = e.MovedTo
	}
}

func (c *call) merge(v map[string]any, e sim.Entity, single bool) {
	switch {
	case e.Merged:
		v["state"], v["merged_at"], v["merged_by"] = "merged", stamp(e.MergedAt), c.basic(e.MergedBy.ID)
	case has(c.k.LockedMerges, e.Number):
		v["state"] = "locked"
	}
	if !e.Merged {
		v["merged_at"], v["merged_by"] = nil, nil
	}
	v["draft"], v["work_in_progress"] = e.Draft, e.Draft
	v["source_branch"], v["target_branch"], v["sha"] = e.Head, e.Base, e.HeadSHA
	v["target_project_id"], v["source_project_id"] = e.Repo.ID, nil
	if head, ok := c.w.RepoByID(e.HeadRepo); ok {
		v["source_project_id"] = head.ID
	}
	v["merge_status"], v["detailed_merge_status"], v["has_conflicts"], v["blocking_discussions_resolved"] = "can_be_merged", "mergeable", false, true
	v["merge_commit_sha"], v["squash_commit_sha"], v["squash"], v["reference"] = nil, nil, false, "!"+strconv.FormatInt(e.Number, 10)
	if e.Merged {
		v["merge_commit_sha"] = e.MergeSHA
	}
	asked := []*userBasic{}
	for _, r := range c.reviewerStates(e) {
		asked = append(asked, r.User)
	}
	v["reviewers"] = asked
	if single {
		v["changes_count"], v["user"] = "1", map[string]bool{"can_merge": false}
		if !c.k.HiddenPipelines {
			v["head_pipeline"] = c.pipeline(e)
		}
	}
}

// pipeline rolls the checks of the head commit up, as a pipeline of their jobs would.
func (c *call) pipeline(e sim.Entity) any {
	if len(e.Checks) == 0 {
		return nil
	}
	status, newest := "success", time.Time{}
	for _, s := range e.Checks {
		switch s.State {
		case "failure", "error", "warning":
			status = "failed"
		case "pending":
			if status == "success" {
				status = "running"
			}
		}
		if newest.IsZero() || s.At.Before(newest) {
			newest = s.At
		}
	}
	p := map[string]any{"id": e.ID, "iid": e.Number, "project_id": e.Repo.ID, "sha": e.HeadSHA, "ref": e.Head, "status": status, "source": "merge_request_event",
		"created_at": stamp(newest), "updated_at": stamp(newest), "web_url": fmt.Sprintf("%s%s/-/pipelines/%d", c.base(), path(e.Repo), e.ID)}
	if c.k.MergedResults {
		p["sha"], p["ref"] = strings.Repeat("0", 8)+e.HeadSHA[8:], fmt.Sprintf("refs/merge-requests/%d/merge", e.Number)
	}
	return p
}
