package forgejo

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// entity finds the entity of the path.
func (c *call) entity() (sim.Entity, bool) { return c.single().Entity(c.repo.ID, c.number("n")) }

func (c *call) getIssue() {
	e, ok := c.entity()
	if !ok {
		c.missing("")
		return
	}
	c.json(http.StatusOK, c.flavoured(c.issue(e)))
}

func (c *call) getPull() {
	e, ok := c.entity()
	if !ok || e.Kind != sim.ChangeProposal {
		c.missing("")
		return
	}
	c.json(http.StatusOK, c.pull(e, true))
}

// noIssue is what the lists below an entity answer when there is none: 500, not 404, and no
// word of why outside development (routers/api/v1/repo/issue_comment.go).
func (c *call) noIssue() {
	c.internal(fmt.Sprintf("issue does not exist [id: 0, repo_id: %d, index: %d]", c.repo.ID, c.number("n")))
}

// issueComments lists all comments of one entity; page and limit are ignored.
func (c *call) issueComments() {
	win, ok := c.window()
	if !ok {
		return
	}
	e, ok := c.entity()
	if !ok {
		c.noIssue()
		return
	}
	rows := []comment{}
	for _, m := range e.Comments {
		if win.has(m.Edited) {
			rows = append(rows, c.comment(e.Repo, e.Kind, e.Number, m))
		}
	}
	c.total(len(rows))
	c.json(http.StatusOK, rows)
}

func (c *call) getComment() {
	id := c.number("id")
	for _, m := range c.single().Comments(c.repo.ID) {
		if m.ID == id {
			c.json(http.StatusOK, c.comment(c.repo, m.Kind, m.Number, m.Comment))
			return
		}
	}
	c.missing("", fmt.Sprintf("comment does not exist [id: %d, issue_id: 0]", id))
}

func (c *call) issueLabels() {
	e, ok := c.entity()
	if !ok {
		c.missing("")
		return
	}
	c.json(http.StatusOK, c.labels(e))
}

// repoLabels is the repository's own catalogue, by name; as with comments, no page, no paging.
func (c *call) repoLabels() {
	all := c.w.Labels(c.repo.ID, false)
	rows := []label{}
	s := c.paged(len(all))
	for _, l := range all[s.from:s.to] {
		rows = append(rows, c.label(c.repo, l))
	}
	c.total(len(all))
	c.json(http.StatusOK, rows)
}

// milestones lists the open ones unless state says otherwise.
func (c *call) milestones() {
	all := slices.DeleteFunc(c.w.Milestones(c.repo.ID), func(m sim.Milestone) bool {
		switch c.q.Get("state") {
		case "all":
			return false
		case "closed":
			return !m.Closed
		}
		return m.Closed
	})
	p, s := c.paging(), c.paged(len(all))
	rows := []*milestone{}
	for _, m := range all[s.from:s.to] {
		rows = append(rows, c.stone(&m))
	}
	c.links(p, len(all))
	c.total(len(all))
	c.json(http.StatusOK, rows)
}

// reviews lists reviews and requests for them, by creation.
func (c *call) reviews() {
	e, ok := c.entity()
	if !ok || e.Kind != sim.ChangeProposal {
		c.missing("GetPullRequestByIndex", fmt.Sprintf("pull request does not exist [id: 0, issue_id: 0, head_repo_id: 0, base_repo_id: %d, head_branch: , base_branch: ]", c.repo.ID))
		return
	}
	rows := []review{}
	s := c.paged(len(e.Reviews))
	for _, r := range e.Reviews[s.from:s.to] {
		rows = append(rows, c.review(e, r))
	}
	c.total(len(e.Reviews))
	c.json(http.StatusOK, rows)
}

// commit resolves the ref of the path; one that does not exist is 404.
func (c *call) commit() (string, bool) {
	sha, ok := c.w.Commit(c.repo.ID, c.params["ref"])
	if !ok {
		c.missing("", fmt.Sprintf("object does not exist [id: %s, rel_path: ]", c.params["ref"]))
	}
	return sha, ok
}

// statuses lists every status of a commit, newest first; all of them when no page is asked for.
func (c *call) statuses() {
	sha, ok := c.commit()
	if !ok {
		return
	}
	all := c.w.Statuses(c.repo.ID, sha)
	// Order is by whole seconds, and what falls into one keeps the order of its ids.
	slices.SortFunc(all, func(a, b sim.Status) int { return cmp.Or(sec(b.At).Compare(sec(a.At)), cmp.Compare(a.ID, b.ID)) })
	p, part := c.paging(), c.paged(len(all))
	rows := []commitStatus{}
	for _, s := range all[part.from:part.to] {
		rows = append(rows, c.status(c.repo, sha, s))
	}
	c.links(p, len(all))
	c.total(len(all))
	c.json(http.StatusOK, rows)
}

// combinedStatus rolls up the newest status of each context. Without any, 1.24 answers an object
// of zero values and 1.27 "pending" (services/convert/status.go).
func (c *call) combinedStatus() {
	sha, ok := c.commit()
	if !ok {
		return
	}
	all := c.w.Checks(c.repo.ID, sha)
	modern := c.o.Flavour == Gitea127
	v := combinedStatus{}
	switch {
	case len(all) == 0 && !modern:
		c.json(http.StatusOK, v)
		return
	case len(all) == 0:
		v.State = "pending"
	default:
		v.Statuses = []commitStatus{}
	}
	v.SHA, v.Total, v.Repo = sha, len(all), c.repository(c.repo)
	if modern {
		v.Commit, v.URL = c.apiURL(c.repo)+"/commits/"+sha, c.apiURL(c.repo)+"/commits/"+sha+"/status"
	}
	for _, s := range all {
		v.Statuses = append(v.Statuses, c.status(c.repo, sha, s))
		if v.State == "" || worse(s.State, v.State) {
			v.State = s.State
		}
	}
	if v.State == "error" && !modern {
		v.State = "failure"
	}
	c.total(len(all))
	c.json(http.StatusOK, v)
}

// worse orders states from error down to success (modules/structs/commit_status.go).
func worse(a, b string) bool {
	order := []string{"error", "failure", "warning", "pending", "success", "skipped"}
	return slices.Index(order, a) < slices.Index(order, b)
}
