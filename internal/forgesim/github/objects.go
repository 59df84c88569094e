package github

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

func (x *execution) root() *object {
	return &object{"Query", func(name string, a args) any {
		switch name {
		case "viewer":
			return x.account(x.doer.ID)
		case "repository":
			return x.repositoryNamed(a.text("owner")+"/"+a.text("name"), a["followRenames"] != false)
		case "node":
			return x.node(a.text("id"))
		case "nodes":
			var out []any
			for _, id := range a.texts("ids") {
				out = append(out, x.node(id))
			}
			if x.heavy {
				return x.crush(out)
			}
			return out
		case "__type":
			return x.schemaType(a.text("name"))
		}
		return noValue{}
	}}
}

// crush is a page that was too much: every node is null, with an error each.
func (x *execution) crush(rows []any) []any {
	out := make([]any, len(rows))
	for i := range out {
		out[i] = absence{"RESOURCE_LIMITS_EXCEEDED", "Resource limits for this query exceeded."}
	}
	return out
}

func (x *execution) schemaType(name string) any {
	if name != "Issue" {
		return nil
	}
	names := []string{"id", "number", "title"}
	if !x.quirks.NoIssueTypes {
		names = append(names, "issueType")
	}
	var fs []any
	for _, n := range names {
		fs = append(fs, &object{"__Field", func(f string, _ args) any {
			if f == "name" {
				return n
			}
			return noValue{}
		}})
	}
	return &object{"__Type", func(f string, _ args) any {
		if f == "fields" {
			return fs
		}
		return noValue{}
	}}
}

func (x *execution) repositoryNamed(full string, follow bool) any {
	r, was, ok := x.w.Repo(full)
	if !ok && was != nil && follow {
		r, ok = *was, true
	}
	if !ok || x.w.Role(r.ID, x.doer.ID) < sim.Read {
		return absence{"NOT_FOUND", fmt.Sprintf("Could not resolve to a Repository with the name '%s'.", full)}
	}
	return x.repository(r)
}

func (x *execution) node(id string) any {
	lost := absence{"NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'.", id)}
	typ, parts, ok := parseNodeID(id)
	if !ok || len(parts) == 0 {
		return lost
	}
	r, ok := x.w.RepoByID(parts[0])
	if !ok || x.w.Role(r.ID, x.doer.ID) < sim.Read {
		return lost
	}
	switch {
	case typ == "R" || typ == "Repository":
		return x.repository(r)
	case len(parts) == 3:
		if fate := x.w.Fate(r.ID, parts[1]); fate.To != nil {
			return lost // whether old ids resolve is not known; here they do not
		}
		e, ok := x.single().Entity(r.ID, parts[1])
		if !ok || e.ID != parts[2] || slices.Contains(x.quirks.Flagged, e.Number) {
			return lost
		}
		if slices.Contains(x.quirks.NullNodes, e.Number) {
			return x.nullNode()
		}
		return x.entity(e)
	}
	return lost
}

func (x *execution) nullNode() any {
	if x.quirks.NullQuiet {
		return nil
	}
	return absence{"INTERNAL", "Something went wrong while executing your query."}
}

func (x *execution) repository(r sim.Repo) *object {
	return &object{"Repository", func(name string, a args) any {
		switch name {
		case "id":
			return nodeID(x.legacy, "Repository", "R", r.ID)
		case "databaseId":
			return r.ID
		case "nameWithOwner":
			return r.FullName()
		case "url":
			return x.pages() + "/" + r.FullName()
		case "viewerPermission":
			return viewerPermission(x.w.Role(r.ID, x.doer.ID))
		case "hasIssuesEnabled":
			return true
		case "isDisabled":
			return false
		case "issues":
			return x.entities(r, sim.WorkItem, a)
		case "pullRequests":
			return x.entities(r, sim.ChangeProposal, a)
		case "issueOrPullRequest":
			n := a.number("number")
			e, ok := x.single().Entity(r.ID, n)
			if !ok || slices.Contains(x.quirks.Flagged, n) {
				return absence{"NOT_FOUND", fmt.Sprintf("Could not resolve to an issue or pull request with the number of %d.", n)}
			}
			return x.entity(e)
		}
		return noValue{}
	}}
}

func viewerPermission(r sim.Role) any {
	if r < sim.Read {
		return nil
	}
	return map[sim.Role]string{sim.Read: "READ", sim.Triage: "TRIAGE", sim.Write: "WRITE", sim.Maintain: "MAINTAIN"}[r] + map[bool]string{true: "ADMIN"}[r >= sim.Admin]
}

// account is an actor; nil for a deleted one, which is called ghost on the pages and null here
// (WordPress/props-bot-action#198). A bot's login has no suffix here (anthropics/claude-code-action#1616).
func (x *execution) account(id int64) *object {
	u, ok := x.w.UserByID(id)
	if !ok || u.Deleted {
		return nil
	}
	typ := accountType(u.Bot, u.Org)
	return &object{typ, func(name string, _ args) any {
		switch name {
		case "id":
			return nodeID(x.legacy, typ, typ[:1], u.ID)
		case "databaseId":
			return u.ID
		case "login":
			return u.Login
		}
		return noValue{}
	}}
}

func (c *call) entityID(e sim.Entity) string {
	if e.Kind == sim.ChangeProposal {
		return nodeID(c.legacy, "PullRequest", "PR", e.Repo.ID, e.Number, e.ID)
	}
	return nodeID(c.legacy, "Issue", "I", e.Repo.ID, e.Number, e.ID)
}

// databaseID is the entity's own: pull requests have ids of another space than issues.
func databaseID(e sim.Entity) int64 {
	if e.Kind == sim.ChangeProposal {
		return e.ChangeID
	}
	return e.ID
}

func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return instant(t)
}

func (x *execution) entity(e sim.Entity) *object {
	typ, page := "Issue", "issues"
	if e.Kind == sim.ChangeProposal {
		typ, page = "PullRequest", "pull"
	}
	edited := !e.BodyAt.Equal(e.Created)
	return &object{typ, func(name string, a args) any {
		switch name {
		case "id":
			return x.entityID(e)
		case "fullDatabaseId":
			return strconv.FormatInt(databaseID(e), 10)
		case "number":
			return e.Number
		case "url":
			return fmt.Sprintf("%s/%s/%s/%d", x.pages(), e.Repo.FullName(), page, e.Number)
		case "title":
			return e.Title
		case "body":
			return e.Body
		case "state":
			return state(e)
		case "createdAt":
			return instant(e.Created)
		case "updatedAt":
			return instant(e.Updated)
		case "closedAt":
			return orNull(e.ClosedAt)
		case "lastEditedAt":
			if !edited {
				return nil
			}
			return instant(e.BodyAt)
		case "editor":
			if !edited {
				return nil
			}
			return x.account(e.BodyBy.ID)
		case "locked":
			return e.Locked
		case "author":
			return x.account(e.Author.ID)
		case "milestone":
			return x.milestone(e)
		case "repository":
			return x.repository(e.Repo)
		case "labels":
			return x.connection("LabelConnection", a, x.labels(e))
		case "assignees":
			return x.connection("UserConnection", a, x.people(e.Assignees))
		case "comments":
			return x.connection("IssueCommentConnection", a, x.remarks(e))
		case "timelineItems":
			return x.connection("IssueTimelineItemsConnection", a, x.timeline(e, a.texts("itemTypes")))
		case "userContentEdits":
			return x.connection("UserContentEditConnection", a, x.edits(e))
		}
		if e.Kind == sim.ChangeProposal {
			return x.pullField(e, name, a)
		}
		return x.issueField(e, name, a)
	}}
}

func state(e sim.Entity) string {
	switch {
	case e.Merged:
		return "MERGED"
	case e.Closed:
		return "CLOSED"
	}
	return "OPEN"
}

func (x *execution) issueField(e sim.Entity, name string, a args) any {
	switch name {
	case "issueType":
		if e.Type == "" {
			return nil
		}
		return &object{"IssueType", func(f string, _ args) any {
			switch f {
			case "id":
				return "IT_" + e.Type
			case "name":
				return e.Type
			}
			return noValue{}
		}}
	case "closedByPullRequestsReferences":
		var out []any
		for _, l := range e.Links {
			p, ok := x.single().Entity(l.RepoID, l.Number)
			switch {
			case !ok || p.Closed && a["includeClosedPrs"] != true:
			case x.w.Role(l.RepoID, x.doer.ID) < sim.Read:
				out = append(out, nil)
			default:
				out = append(out, x.entity(p))
			}
		}
		return x.connection("PullRequestConnection", a, out)
	}
	return noValue{}
}

func (x *execution) pullField(e sim.Entity, name string, a args) any {
	switch name {
	case "merged":
		return e.Merged
	case "isDraft":
		return e.Draft
	case "isCrossRepository":
		return e.Fork()
	case "baseRefName":
		return e.Base
	case "headRefName":
		return e.Head
	case "headRefOid":
		return e.HeadSHA
	case "reviews":
		return x.connection("PullRequestReviewConnection", a, x.reviews(e))
	case "reviewRequests":
		var out []any
		for _, who := range e.Reviewers {
			out = append(out, &object{"ReviewRequest", func(f string, _ args) any {
				if f == "requestedReviewer" {
					return x.account(who.ID)
				}
				return noValue{}
			}})
		}
		return x.connection("ReviewRequestConnection", a, out)
	case "commits":
		return x.connection("PullRequestCommitConnection", a, []any{&object{"PullRequestCommit", func(f string, _ args) any {
			if f == "commit" {
				return x.commit(e)
			}
			return noValue{}
		}}})
	}
	return noValue{}
}

// commit is the head, with the roll-up of its newest checks: one failure is a failure, one that runs is pending.
func (x *execution) commit(e sim.Entity) *object {
	return &object{"Commit", func(f string, _ args) any {
		switch f {
		case "oid":
			return e.HeadSHA
		case "statusCheckRollup":
			if len(e.Checks) == 0 {
				return nil
			}
			return &object{"StatusCheckRollup", func(f string, _ args) any {
				if f == "state" {
					return rollup(e.Checks)
				}
				return noValue{}
			}}
		}
		return noValue{}
	}}
}

func rollup(cs []sim.Status) string {
	out := "SUCCESS"
	for _, s := range cs {
		switch s.State {
		case "failure", "error":
			return "FAILURE"
		case "pending":
			out = "PENDING"
		}
	}
	return out
}

func (x *execution) milestone(e sim.Entity) any {
	m := e.Milestone
	if m == nil || m.Deleted {
		return nil
	}
	return &object{"Milestone", func(f string, _ args) any {
		switch f {
		case "id":
			return nodeID(x.legacy, "Milestone", "MI", m.ID)
		case "title":
			return m.Title
		}
		return noValue{}
	}}
}

func (x *execution) label(l sim.Label) *object {
	return &object{"Label", func(f string, _ args) any {
		switch f {
		case "id":
			return nodeID(x.legacy, "Label", "LA", l.ID)
		case "name":
			return l.Name
		}
		return noValue{}
	}}
}

func (x *execution) labels(e sim.Entity) []any {
	var out []any
	for _, l := range e.Labels {
		out = append(out, x.label(l.Label))
	}
	return out
}

func (x *execution) people(as []sim.Actor) []any {
	var out []any
	for _, a := range as {
		if o := x.account(a.ID); o != nil {
			out = append(out, o)
		}
	}
	return out
}

func (x *execution) remarks(e sim.Entity) []any {
	var out []any
	for _, m := range e.Comments {
		edited := !m.Edited.Equal(m.Created)
		out = append(out, &object{"IssueComment", func(f string, _ args) any {
			switch f {
			case "id":
				return nodeID(x.legacy, "IssueComment", "IC", m.ID)
			case "fullDatabaseId":
				return strconv.FormatInt(m.ID, 10)
			case "createdAt":
				return instant(m.Created)
			case "lastEditedAt":
				if !edited {
					return nil
				}
				return instant(m.Edited)
			case "author":
				return x.account(m.Author.ID)
			case "editor":
				if !edited {
					return nil
				}
				return x.account(m.Editor.ID)
			case "body":
				return m.Body
			}
			return noValue{}
		}})
	}
	return out
}

// edits is the history of the body, as far as the world keeps it: the last revision. The first one is in it, too.
func (x *execution) edits(e sim.Entity) []any {
	if e.BodyAt.Equal(e.Created) {
		return nil
	}
	one := func(n int64, at time.Time, by int64) *object {
		return &object{"UserContentEdit", func(f string, _ args) any {
			switch f {
			case "id":
				return nodeID(x.legacy, "UserContentEdit", "UCE", e.ID, n)
			case "editedAt":
				return instant(at)
			case "editor":
				return x.account(by)
			}
			return noValue{}
		}}
	}
	return []any{one(e.BodyAt.Unix(), e.BodyAt, e.BodyBy.ID), one(e.Created.Unix(), e.Created, e.Author.ID)}
}

func (x *execution) reviewID(id int64) string {
	return nodeID(x.legacy, "PullRequestReview", "PRR", id)
}

func (x *execution) reviews(e sim.Entity) []any {
	var out []any
	for _, r := range e.Reviews {
		if r.State == sim.Requested {
			continue
		}
		st := map[sim.ReviewState]string{sim.Approved: "APPROVED", sim.ChangesRequested: "CHANGES_REQUESTED", sim.Commented: "COMMENTED"}[r.State]
		if r.Dismissed {
			st = "DISMISSED"
		}
		out = append(out, &object{"PullRequestReview", func(f string, _ args) any {
			switch f {
			case "id":
				return x.reviewID(r.ID)
			case "fullDatabaseId":
				return strconv.FormatInt(r.ID, 10)
			case "state":
				return st
			case "createdAt", "submittedAt":
				return instant(r.At)
			case "author":
				return x.account(r.Author.ID)
			case "commit":
				return &object{"Commit", func(f string, _ args) any {
					if f == "oid" {
						return r.CommitID
					}
					return noValue{}
				}}
			}
			return noValue{}
		}})
	}
	return out
}

// timeline are the events of the types asked for. A label's event holds the live label, so a renamed one shows its new name;
// the events of a deleted one are left out (not known; the field is not nullable).
func (x *execution) timeline(e sim.Entity, types []string) []any {
	var out []any
	for _, ev := range e.Events {
		typ, kind := "", ""
		switch ev.Type {
		case sim.EvLabeled:
			typ, kind = "LabeledEvent", "LABELED_EVENT"
		case sim.EvUnlabeled:
			typ, kind = "UnlabeledEvent", "UNLABELED_EVENT"
		case sim.EvRetitled:
			typ, kind = "RenamedTitleEvent", "RENAMED_TITLE_EVENT"
		case sim.EvReviewDismissed:
			typ, kind = "ReviewDismissedEvent", "REVIEW_DISMISSED_EVENT"
		}
		if !slices.Contains(types, kind) || ev.Label != nil && ev.Label.Deleted {
			continue
		}
		out = append(out, x.event(typ, ev))
	}
	return out
}

func (x *execution) event(typ string, ev sim.Event) *object {
	return &object{typ, func(f string, _ args) any {
		switch f {
		case "id":
			return nodeID(x.legacy, typ, "EV", ev.ID)
		case "createdAt":
			return instant(ev.At)
		case "actor":
			return x.account(ev.Actor.ID)
		case "label":
			if ev.Label != nil {
				return x.label(*ev.Label)
			}
		case "currentTitle":
			return ev.New
		case "review":
			return &object{"PullRequestReview", func(f string, _ args) any {
				if f == "id" {
					return x.reviewID(ev.ReviewID)
				}
				return noValue{}
			}}
		}
		return noValue{}
	}}
}
