package gitlab

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// one finds the entity of the path. What is confidential is "not found" for who may not see it, as if it were not there.
func (c *call) one(kind sim.Kind) (sim.Entity, bool) {
	if !c.open(kind) {
		return sim.Entity{}, false
	}
	e, ok := c.lookup(kind, c.number("n"))
	involved := e.Author.ID == c.doerID() || slices.ContainsFunc(e.Assignees, func(a sim.Actor) bool { return a.ID == c.doerID() })
	if !ok || e.Confidential && !c.seesConfidential() && (c.doer == nil || !involved) {
		c.fail(http.StatusNotFound, "404 Not found")
		return e, false
	}
	return e, true
}

// lookup finds an entity by kind and number: issues and merge requests are numbered apart.
func (c *call) lookup(kind sim.Kind, n int64) (sim.Entity, bool) {
	es, _ := c.w.Reader(c.moves, c.cond.ReplicaLag).Select(c.repo.ID, sim.Where{Kind: kind}, func(r sim.Row) bool { return r.Number() == n }, nil, 0, 1)
	if len(es) == 0 {
		return sim.Entity{}, false
	}
	return es[0], true
}

func (c *call) single(kind sim.Kind) {
	if e, ok := c.one(kind); ok {
		c.json(c.entity(kind, e, false, true)) // with_labels_details is a parameter of lists alone
	}
}

// note is lib/api/entities/note.rb.
type note struct {
	ID           int64      `json:"id"`
	Type         *string    `json:"type"`
	Body         string     `json:"body"`
	Author       *userBasic `json:"author"`
	Created      *string    `json:"created_at"`
	Updated      *string    `json:"updated_at"`
	System       bool       `json:"system"`
	NoteableID   int64      `json:"noteable_id"`
	NoteableType string     `json:"noteable_type"`
	ProjectID    int64      `json:"project_id"`
	Resolvable   bool       `json:"resolvable"`
	Confidential bool       `json:"confidential"`
	Internal     bool       `json:"internal"`
	NoteableIID  int64      `json:"noteable_iid"`
	at           time.Time
}

// talk is what people wrote: comments, and the texts of reviews.
func (c *call) talk(e sim.Entity) []note {
	var out []note
	for _, m := range e.Comments {
		out = append(out, c.note(e, m.ID, "", m.Body, m.Author.ID, m.Created, m.Edited))
	}
	for _, ev := range e.Events {
		if ev.Type != sim.EvReviewed {
			continue
		}
		i := slices.IndexFunc(e.Reviews, func(r sim.Review) bool { return r.ID == ev.ReviewID })
		switch {
		case i < 0:
		case e.Reviews[i].State == sim.Commented:
			out = append(out, c.note(e, ev.ID, "DiffNote", cmp.Or(e.Reviews[i].Body, "A remark on this line."), ev.Actor.ID, ev.At, ev.At))
		case e.Reviews[i].Body != "":
			out = append(out, c.note(e, ev.ID, "", e.Reviews[i].Body, ev.Actor.ID, ev.At, ev.At))
		}
	}
	return out
}

func (c *call) note(e sim.Entity, id int64, typ, body string, by int64, created, edited time.Time) note {
	n := note{ID: id, Body: body, Author: c.basic(by), Created: stamp(created), Updated: stamp(edited), NoteableID: e.ID, NoteableType: "Issue",
		ProjectID: e.Repo.ID, NoteableIID: e.Number, at: created}
	if e.Kind == sim.ChangeProposal {
		n.NoteableType = "MergeRequest"
	}
	if typ != "" {
		n.Type, n.Resolvable = &typ, true
	}
	return n
}

// synthetic keeps ids of notes that the world has no number for apart.
const synthetic = 5_000_000_000

// chronicle is the system notes (app/services/system_notes). Labels, milestones and states have events of their own and,
// labels and milestones, no notes.
func (c *call) chronicle(e sim.Entity) []note {
	var out []note
	add := func(id int64, body string, by int64, at time.Time) {
		n := c.note(e, id, "", body, by, at, at)
		n.System = true
		out = append(out, n)
	}
	for _, ev := range e.Events {
		if body := c.words(e, ev); body != "" {
			add(synthetic+ev.ID, body, ev.Actor.ID, ev.At)
		}
	}
	if e.BodyAt.After(e.Created) { // the world remembers the last edit only
		add(2*synthetic+e.ID, "changed the description", e.BodyBy.ID, e.BodyAt)
	}
	if u, _, ok := c.w.User(c.k.StrangeNoteBy); ok && c.k.StrangeNote == e.Number {
		add(3*synthetic+e.ID, "transmogrified the flux", u.ID, e.Updated)
	}
	return out
}

func (c *call) words(e sim.Entity, ev sim.Event) string {
	subject := "issue"
	if e.Kind == sim.ChangeProposal {
		subject = "merge request"
	}
	user := ""
	if ev.User != nil {
		user = "@" + c.basic(ev.User.ID).Username
	}
	switch ev.Type {
	case sim.EvAssigned:
		return "assigned to " + user
	case sim.EvUnassigned:
		return "unassigned " + user
	case sim.EvRetitled:
		return "changed title from **{-" + ev.Old + "-}** to **{+" + ev.New + "+}**"
	case sim.EvClosed, sim.EvReopened, sim.EvMerged:
		return string(ev.Type)
	case sim.EvLocked, sim.EvUnlocked:
		return string(ev.Type) + " this " + subject
	case sim.EvDue:
		if ev.New == "" {
			return "removed due date"
		}
		return "changed due date to " + ev.New
	case sim.EvReviewRequested:
		return "requested review from " + user
	case sim.EvPushed:
		if ev.Old != "" {
			return "added 1 commit\n\n<ul><li>" + ev.New[:8] + " - work</li></ul>"
		}
	case sim.EvRetargeted:
		return "changed target branch from `" + ev.Old + "` to `" + ev.New + "`"
	case sim.EvCrossReferenced, sim.EvCrossRefProposal:
		return "mentioned in #" + fmt.Sprint(ev.From)
	case sim.EvReviewed:
		return c.reviewWords(e, ev)
	case sim.EvReviewDismissed:
		return "unapproved this merge request"
	}
	return ""
}

func (c *call) reviewWords(e sim.Entity, ev sim.Event) string {
	for _, r := range e.Reviews {
		if r.ID == ev.ReviewID {
			return map[sim.ReviewState]string{sim.Approved: "approved this merge request", sim.ChangesRequested: "requested changes",
				sim.Commented: "left review comments"}[r.State]
		}
	}
	return ""
}

// notes lists comments and system notes (lib/api/notes.rb), newest first unless asked otherwise.
func (c *call) notes(kind sim.Kind) {
	if !c.signedIn() {
		return
	}
	e, ok := c.one(kind)
	if !ok {
		return
	}
	var all []note
	filter := c.q.Get("activity_filter")
	if filter != "only_activity" {
		all = append(all, c.talk(e)...)
	}
	if filter != "only_comments" {
		all = append(all, c.chronicle(e)...)
	}
	slices.SortStableFunc(all, func(a, b note) int {
		n := cmp.Or(micro(a.at).Compare(micro(b.at)), cmp.Compare(a.ID, b.ID))
		if c.q.Get("sort") != "asc" {
			n = -n
		}
		return n
	})
	part, ok := cut(c, all)
	if !ok {
		return
	}
	if has(c.k.NoteDrops, e.Number) && len(part) > 0 {
		part = part[1:]
	}
	c.json(part)
}

type labelEvent struct {
	ID       int64      `json:"id"`
	User     *userBasic `json:"user"`
	Created  *string    `json:"created_at"`
	Type     string     `json:"resource_type"`
	Resource int64      `json:"resource_id"`
	Label    *label     `json:"label"`
	Action   string     `json:"action"`
}

// labelEvents lists who put labels on and took them off, oldest first. The label is null when it was deleted since, and has its
// name of now; the user is null when the account was deleted (doc/api/resource_label_events.md).
func (c *call) labelEvents(kind sim.Kind) {
	e, ok := c.one(kind)
	if !ok {
		return
	}
	rows := []labelEvent{}
	for _, ev := range e.Events {
		action := map[sim.EventType]string{sim.EvLabeled: "add", sim.EvUnlabeled: "remove"}[ev.Type]
		if action == "" {
			continue
		}
		row := labelEvent{ID: ev.ID, Created: stamp(ev.At), Type: resource(kind), Resource: e.ID, Action: action}
		if !ev.Actor.Deleted {
			row.User = c.basic(ev.Actor.ID)
		}
		if !ev.Label.Deleted {
			l := labelBasic(*ev.Label)
			row.Label = &l
		}
		rows = append(rows, row)
	}
	paged(c, rows)
}

func resource(kind sim.Kind) string {
	if kind == sim.ChangeProposal {
		return "MergeRequest"
	}
	return "Issue"
}

// stateEvents lists closings, reopenings and merges; the opening is not one (doc/api/resource_state_events.md).
func (c *call) stateEvents(kind sim.Kind) {
	e, ok := c.one(kind)
	if !ok {
		return
	}
	rows := []map[string]any{}
	for _, ev := range e.Events {
		if ev.Type == sim.EvClosed || ev.Type == sim.EvReopened || ev.Type == sim.EvMerged {
			rows = append(rows, map[string]any{"id": ev.ID, "user": c.basic(ev.Actor.ID), "created_at": stamp(ev.At), "resource_type": resource(kind),
				"resource_id": e.ID, "state": string(ev.Type)})
		}
	}
	paged(c, rows)
}

// closedBy lists the merge requests of the same project that close an issue (lib/api/issues.rb).
func (c *call) closedBy() {
	e, ok := c.one(sim.WorkItem)
	if !ok {
		return
	}
	rows := []any{}
	for _, l := range e.Links {
		if m, ok := c.lookup(sim.ChangeProposal, l.Number); ok && l.RepoID == c.repo.ID {
			rows = append(rows, c.entity(sim.ChangeProposal, m, false, false))
		}
	}
	paged(c, rows)
}

// standing is everybody's newest decision: an approval or a request for changes that was not taken back.
func standing(e sim.Entity) []sim.Review {
	var out []sim.Review
	for _, r := range slices.Backward(e.Reviews) {
		if r.State == sim.Commented || r.State == sim.Requested || slices.ContainsFunc(out, func(o sim.Review) bool { return o.Author.ID == r.Author.ID }) {
			continue
		}
		out = append(out, r)
	}
	slices.Reverse(out)
	return slices.DeleteFunc(out, func(r sim.Review) bool { return r.Dismissed || r.Author.Deleted })
}

// approvals is lib/api/entities/merge_request_approvals.rb.
func (c *call) approvals() {
	e, ok := c.one(sim.ChangeProposal)
	if !ok {
		return
	}
	by := []map[string]any{}
	for _, r := range standing(e) {
		if r.State != sim.Approved {
			continue
		}
		row := map[string]any{"user": c.basic(r.Author.ID)}
		if !c.k.NoApprovalTimes {
			row["approved_at"] = stamp(r.At)
		}
		by = append(by, row)
	}
	c.json(map[string]any{"user_has_approved": false, "user_can_approve": true, "approved": len(by) > 0, "approved_by": by})
}

type reviewer struct {
	User    *userBasic `json:"user"`
	State   string     `json:"state"`
	Created *string    `json:"created_at"`
}

// reviewerStates are those whose review is asked for, and those who asked for changes, who become reviewers by it.
func (c *call) reviewerStates(e sim.Entity) []reviewer {
	out := []reviewer{}
	for _, r := range e.Reviews {
		if r.State == sim.Requested && !r.Author.Deleted {
			out = append(out, reviewer{c.basic(r.Author.ID), "unreviewed", stamp(r.At)})
		}
	}
	for _, r := range standing(e) {
		u := c.basic(r.Author.ID)
		if slices.ContainsFunc(out, func(o reviewer) bool { return o.User.ID == u.ID }) {
			continue
		}
		state := map[sim.ReviewState]string{sim.Approved: "approved", sim.ChangesRequested: "requested_changes"}[r.State]
		out = append(out, reviewer{u, state, stamp(r.At)})
	}
	return out
}

func (c *call) reviewers() {
	if e, ok := c.one(sim.ChangeProposal); ok {
		paged(c, c.reviewerStates(e))
	}
}

// versions are the pushes, newest first (doc/api/merge_requests.md).
func (c *call) versions() {
	e, ok := c.one(sim.ChangeProposal)
	if !ok {
		return
	}
	rows := []map[string]any{}
	for _, ev := range slices.Backward(e.Events) {
		if ev.Type == sim.EvPushed {
			rows = append(rows, map[string]any{"id": ev.ID, "head_commit_sha": ev.New, "base_commit_sha": e.Repo.BaseSHA, "start_commit_sha": e.Repo.BaseSHA,
				"created_at": stamp(ev.At), "merge_request_id": e.ID, "state": "collected", "real_size": "1"})
		}
	}
	paged(c, rows)
}

func (c *call) labels() {
	rows := []label{}
	for _, l := range append(c.w.Labels(c.repo.ID, false), c.w.Labels(c.repo.ID, true)...) {
		rows = append(rows, labelBasic(l))
	}
	paged(c, rows)
}

func (c *call) milestones() {
	rows := []*milestone{}
	for _, m := range c.w.Milestones(c.repo.ID) {
		if state := c.q.Get("state"); state == "" || (state == "closed") == m.Closed {
			rows = append(rows, c.stone(&m))
		}
	}
	paged(c, rows)
}
