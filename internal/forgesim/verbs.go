package forgesim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Verb is one word of the script language. Keys in brackets are optional.
type Verb struct {
	Name, Keys, Does string
	do               func(*World, args) error
}

// Verbs is the script language, in the order of its description.
func Verbs() []Verb {
	return slices.Concat(placeVerbs(), entityVerbs(), talkVerbs(), trafficVerbs())
}

func placeVerbs() []Verb {
	return []Verb{
		{"user", "login [name] [bot] [org] [root]", "adds an account: a bot, an organisation, the administrator of the instance", doUser},
		{"rename-user", "login to", "changes a login; the old one redirects", func(w *World, a args) error { return w.RenameUser(a["login"], a["to"]) }},
		{"delete-user", "login", "deletes an account; what it wrote is left without an author", func(w *World, a args) error { return w.DeleteUser(a["login"]) }},
		{"token", "text user [scopes]", "makes a credential of an account, with all scopes or those listed", func(w *World, a args) error { return w.AddToken(a["text"], a["user"], a.list("scopes")...) }},
		{"revoke-token", "text", "ends a credential", func(w *World, a args) error { return w.RevokeToken(a["text"]) }},
		{"repo", "repo [private]", "makes a repository owner/name, from then on the home of bare numbers", doRepo},
		{"rename-repo", "repo to", "renames within the owner; the old name redirects", func(w *World, a args) error { return w.RenameRepo(a["repo"], a["to"]) }},
		{"transfer", "repo to", "gives a repository to another owner; id and roles stay", func(w *World, a args) error { return w.Transfer(a["repo"], a["to"]) }},
		{"recreate-repo", "repo", "puts a new, empty repository under a name that is or was taken", func(w *World, a args) error { _, err := w.RecreateRepo(a["repo"]); return err }},
		{"delete-repo", "repo", "deletes a repository", func(w *World, a args) error { return w.DeleteRepo(a["repo"]) }},
		{"hide-repo", "[repo] [off]", "makes a repository private, or public again", func(w *World, a args) error { return w.setPrivate(a) }},
		{"set-role", "[repo] user role", "sets none, read, triage, write, maintain, admin or owner", doRole},
		{"create-label", "[repo] label [color] [org]", "adds to the catalogue of the repository or of its organisation; names may repeat", func(w *World, a args) error {
			org, err := a.flag("org")
			if err != nil {
				return err
			}
			_, err = w.AddLabel(a["repo"], a["label"], a["color"], org)
			return err
		}},
		{"rename-label", "[repo] label to", "renames; a label is a name or id:N", func(w *World, a args) error { return w.RenameLabel(a["repo"], a["label"], a["to"]) }},
		{"delete-label", "[repo] label", "deletes a label, also from every entity", func(w *World, a args) error { return w.DeleteLabel(a["repo"], a["label"]) }},
		{"create-milestone", "[repo] milestone [due]", "adds a milestone", func(w *World, a args) error {
			due, err := parseTime("due", a["due"])
			if err != nil {
				return err
			}
			_, err = w.AddMilestone(a["repo"], a["milestone"], due)
			return err
		}},
		{"rename-milestone", "[repo] milestone to", "renames", func(w *World, a args) error { return w.RenameMilestone(a["repo"], a["milestone"], a["to"]) }},
		{"close-milestone", "[repo] milestone", "closes; entities keep it", func(w *World, a args) error { return w.CloseMilestone(a["repo"], a["milestone"]) }},
		{"delete-milestone", "[repo] milestone", "deletes, also from every entity", func(w *World, a args) error { return w.DeleteMilestone(a["repo"], a["milestone"]) }},
	}
}

func entityVerbs() []Verb {
	return []Verb{
		{"create", "as title [repo] [kind] [body] [labels] [assignees] [milestone] [due] [draft] [base] [head] [head-repo] [name]", "opens an issue, or with kind=change_proposal a pull request; name is an alias for later lines", doCreate},
		{"edit", "on as [title] [body] [base] [draft] [locked] [due]", "edits what is given; due=none takes it away", doEdit},
		{"delete", "on", "deletes an entity for good", func(w *World, a args) error { return w.Delete(a["on"]) }},
		{"label", "on as label", "applies a label", func(w *World, a args) error { return w.Label(a["on"], a["as"], a["label"]) }},
		{"unlabel", "on as label", "takes a label off", func(w *World, a args) error { return w.Unlabel(a["on"], a["as"], a["label"]) }},
		{"assign", "on as user", "adds an assignee", func(w *World, a args) error { return w.Assign(a["on"], a["as"], a["user"]) }},
		{"unassign", "on as user", "takes an assignee off", func(w *World, a args) error { return w.Unassign(a["on"], a["as"], a["user"]) }},
		{"milestone", "on as [milestone]", "sets the milestone; without one takes it off", func(w *World, a args) error { return w.SetMilestone(a["on"], a["as"], a["milestone"]) }},
		{"close", "on as", "closes", func(w *World, a args) error { return w.Close(a["on"], a["as"]) }},
		{"reopen", "on as", "opens again", func(w *World, a args) error { return w.Reopen(a["on"], a["as"]) }},
		{"merge", "on as", "merges a change proposal", func(w *World, a args) error { return w.Merge(a["on"], a["as"]) }},
		{"push", "on as [sha]", "moves the head of a change proposal", func(w *World, a args) error { return w.Push(a["on"], a["as"], a["sha"]) }},
		{"status", "on as context state", "reports a check on the head commit: success, failure, pending, error or warning", doStatus},
		{"mention", "on as from", "lets another entity refer to this one", func(w *World, a args) error { return w.Mention(a["on"], a["as"], a["from"]) }},
		{"type", "on as [type]", "sets the issue type; without one takes it off", func(w *World, a args) error { return w.SetType(a["on"], a["as"], a["type"]) }},
		{"link", "on as to [off]", "lets a change proposal close this work item when it is merged, or no longer", func(w *World, a args) error {
			off, err := a.flag("off")
			if err != nil {
				return err
			}
			return w.Link(a["on"], a["as"], a["to"], !off)
		}},
		{"move", "on as to [name]", "transfers a work item to another repository, where it gets a new number and id", func(w *World, a args) error {
			_, err := w.Move(a["on"], a["as"], a["to"], a["name"])
			return err
		}},
		{"react", "on as", "adds a reaction", func(w *World, a args) error { return w.React(a["on"], a["as"]) }},
		{"set-updated", "on at", "writes the update time itself, also backwards, where the provider allows it", func(w *World, a args) error {
			at, err := parseTime("at", a["at"])
			if err != nil {
				return err
			}
			return w.SetUpdated(a["on"], at)
		}},
	}
}

func talkVerbs() []Verb {
	return []Verb{
		{"comment", "on as body [name]", "adds a comment; name is an alias for later lines", func(w *World, a args) error { _, err := w.Comment(a["on"], a["as"], a["body"], a["name"]); return err }},
		{"edit-comment", "comment as body", "gives a comment, by alias or id, another text", func(w *World, a args) error { return w.EditComment(a["comment"], a["as"], a["body"]) }},
		{"delete-comment", "comment", "deletes a comment", func(w *World, a args) error { return w.DeleteComment(a["comment"]) }},
		{"request-review", "on as user", "asks for a review", func(w *World, a args) error { return w.RequestReview(a["on"], a["as"], a["user"]) }},
		{"review", "on as state [body]", "reviews the head: approved, changes_requested or commented", func(w *World, a args) error {
			return w.Review(a["on"], a["as"], ReviewState(a["state"]), a["body"])
		}},
		{"dismiss-review", "on as user [body]", "dismisses somebody's newest verdict", func(w *World, a args) error { return w.DismissReview(a["on"], a["as"], a["user"], a["body"]) }},
		{"code-comment", "on as body", "comments on a line of the change", func(w *World, a args) error { return w.CodeComment(a["on"], a["as"], a["body"]) }},
	}
}

func trafficVerbs() []Verb {
	return []Verb{
		{"advance", "by", "lets time pass; by=-5m steps the clock back", func(w *World, a args) error {
			d, err := a.span("by")
			if err == nil {
				w.Advance(d)
			}
			return err
		}},
		{"set-clock", "at", "sets the clock", func(w *World, a args) error {
			at, err := parseTime("at", a["at"])
			if err == nil {
				w.SetClock(at)
			}
			return err
		}},
		{"fault", "kind [route] [skip] [count] [status] [retry-after] [by] [n]", "switches a fault on", doFault},
		{"clear-faults", "[kind]", "switches the faults of a kind off, or everything with all pending after", func(w *World, a args) error { w.ClearFaults(a["kind"]); return nil }},
		{"after", "route do [n]", "does a line of script right after the n-th request to a route from now on", func(w *World, a args) error {
			n, err := a.number("n", 1)
			if err != nil {
				return err
			}
			return w.After(a["route"], n, a["do"])
		}},
		{"seed", "n [seed]", "fills the world with a plausible project of n entities, see World.Seed", func(w *World, a args) error {
			n, err := a.number("n", 0)
			if err != nil {
				return err
			}
			seed, err := a.number("seed", 1)
			if err != nil {
				return err
			}
			return w.Seed(n, uint64(seed))
		}},
	}
}

// Can reports whether the world knows a verb.
func (w *World) Can(verb string) bool {
	return slices.ContainsFunc(Verbs(), func(v Verb) bool { return v.Name == verb })
}

// Do does one verb. Missing and unknown keys are errors, and then nothing has happened.
func (w *World) Do(ctx context.Context, verb string, with map[string]string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	vs := Verbs()
	i := slices.IndexFunc(vs, func(v Verb) bool { return v.Name == verb })
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrVerb, verb)
	}
	if err := vs[i].check(with); err != nil {
		return err
	}
	return vs[i].do(w, with)
}

func (v Verb) check(with map[string]string) error {
	keys := strings.Fields(v.Keys)
	for k := range with {
		if !slices.Contains(keys, k) && !slices.Contains(keys, "["+k+"]") {
			return usage("%s has no key %q: %s", v.Name, k, v.Keys)
		}
	}
	for _, k := range keys {
		if _, ok := with[k]; !ok && k[0] != '[' {
			return usage("%s needs %q: %s", v.Name, k, v.Keys)
		}
	}
	return nil
}

// args are the keys of one verb.
type args map[string]string

func (a args) list(key string) []string {
	if a[key] == "" {
		return nil
	}
	return strings.Split(a[key], ",")
}

func (a args) flag(key string) (bool, error) {
	if a[key] == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(a[key])
	if err != nil {
		return false, usage("%s: %q is neither true nor false", key, a[key])
	}
	return b, nil
}

func (a args) number(key string, otherwise int) (int, error) {
	if a[key] == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(a[key])
	if err != nil {
		return 0, usage("%s: %q is no number", key, a[key])
	}
	return n, nil
}

// span reads a duration; besides Go's units a whole number of days: 14d.
func (a args) span(key string) (time.Duration, error) {
	if a[key] == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(a[key], "d"); ok {
		if n, err := strconv.Atoi(days); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(a[key])
	if err != nil {
		return 0, usage("%s: %q is no duration", key, a[key])
	}
	return d, nil
}

// given is a pointer to a text that was given, else nil.
func (a args) given(key string) *string {
	if v, ok := a[key]; ok {
		return &v
	}
	return nil
}

func (a args) givenFlag(key string) (*bool, error) {
	if _, ok := a[key]; !ok {
		return nil, nil
	}
	b, err := a.flag(key)
	return &b, err
}

func doUser(w *World, a args) error {
	u := User{Login: a["login"], FullName: a["name"]}
	for key, to := range map[string]*bool{"bot": &u.Bot, "org": &u.Org, "root": &u.SiteRoot} {
		b, err := a.flag(key)
		if err != nil {
			return err
		}
		*to = b
	}
	_, err := w.AddUser(u)
	return err
}

func doRepo(w *World, a args) error {
	private, err := a.flag("private")
	if err != nil {
		return err
	}
	_, err = w.AddRepo(a["repo"], private)
	return err
}

func (w *World) setPrivate(a args) error {
	off, err := a.flag("off")
	if err != nil {
		return err
	}
	return w.SetPrivate(a["repo"], !off)
}

func doRole(w *World, a args) error {
	role, err := ParseRole(a["role"])
	if err != nil {
		return err
	}
	return w.SetRole(a["repo"], a["user"], role)
}

func doCreate(w *World, a args) error {
	due, err := parseTime("due", a["due"])
	if err != nil {
		return err
	}
	draft, err := a.flag("draft")
	if err != nil {
		return err
	}
	_, err = w.Create(a["as"], NewEntity{
		Repo: a["repo"], Kind: Kind(a["kind"]), Title: a["title"], Body: a["body"],
		Labels: a.list("labels"), Assignees: a.list("assignees"), Milestone: a["milestone"], Due: due, Draft: draft,
		Base: a["base"], Head: a["head"], HeadRepo: a["head-repo"], Name: a["name"],
	})
	return err
}

func doEdit(w *World, a args) (err error) {
	c := Edit{Title: a.given("title"), Body: a.given("body"), Base: a.given("base")}
	if c.Draft, err = a.givenFlag("draft"); err != nil {
		return err
	}
	if c.Locked, err = a.givenFlag("locked"); err != nil {
		return err
	}
	if _, ok := a["due"]; ok {
		due, err := parseTime("due", a["due"])
		if err != nil {
			return err
		}
		c.Due = &due
	}
	return w.Edit(a["on"], a["as"], c)
}

func doStatus(w *World, a args) error {
	e, err := w.Entity(a["on"])
	if err != nil {
		return err
	}
	if e.Kind != ChangeProposal {
		return usage("%s is no change proposal", a["on"])
	}
	return w.ReportStatus(e.Repo.FullName(), e.HeadSHA, a["as"], Status{Context: a["context"], State: a["state"]})
}

func doFault(w *World, a args) (err error) {
	f := Fault{Kind: a["kind"], Route: a["route"], RetryAfter: a["retry-after"]}
	for key, to := range map[string]*int{"skip": &f.Skip, "count": &f.Count, "status": &f.Status, "n": &f.N} {
		if *to, err = a.number(key, 0); err != nil {
			return err
		}
	}
	if f.By, err = a.span("by"); err != nil {
		return err
	}
	if f.Kind == "status" && (f.Status < 200 || f.Status > 599) {
		return usage("status: %d", f.Status)
	}
	return w.AddFault(f)
}
