package jira

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// Set sets a field that only Jira has, as an account: status, type, priority by name, components and versions by names
// joined with commas, parent by reference, cf[N] by value. "" takes it away.
func (f *Face) Set(ref, as, field, value string) error {
	e, err := f.w.Entity(ref)
	if err != nil {
		return err
	}
	u, _, ok := f.w.User(as)
	if !ok {
		return fmt.Errorf("%w: user %q", sim.ErrNotFound, as)
	}
	f.mu.Lock()
	stored, shown, err := f.stored(field, value)
	if err == nil {
		x := f.extraOf(e.ID)
		from, fromString := x.set[field], f.shown(field, x.set[field])
		x.set[field] = stored
		x.changes = append(x.changes, change{id: len(x.changes) + 1, at: f.w.Now(), by: sim.Actor{ID: u.ID, Login: u.Login, Bot: u.Bot},
			field: field, from: from, to: stored, fromString: fromString, toString: shown})
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.w.Touch(ref, as, sim.TypeSet)
}

func (f *Face) stored(field, v string) (id, shown string, err error) {
	if v == "" {
		return "", "", nil
	}
	pick := func(vs []Named, names []string) (string, string, error) {
		var ids []string
		for _, n := range names {
			i := slices.IndexFunc(vs, func(x Named) bool { return x.Name == n })
			if i < 0 {
				return "", "", fmt.Errorf("%w: %s %q", sim.ErrNotFound, field, n)
			}
			ids = append(ids, vs[i].ID)
		}
		return strings.Join(ids, ","), strings.Join(names, ", "), nil
	}
	switch field {
	case "status":
		for _, s := range f.statuses {
			if s.Name == v {
				return s.ID, v, nil
			}
		}
		return "", "", fmt.Errorf("%w: status %q", sim.ErrNotFound, v)
	case "type":
		return pick(f.types, []string{v})
	case "priority":
		return pick(f.priority, []string{v})
	case "components":
		return pick(f.component, strings.Split(v, ","))
	case "versions":
		return pick(f.version, strings.Split(v, ","))
	case "parent":
		p, err := f.w.Entity(v)
		return strconv.FormatInt(p.ID, 10), v, err
	}
	for _, c := range f.fields {
		if field == fmt.Sprintf("cf[%d]", c.ID) {
			if c.Type == "select" {
				return pick(c.Options, strings.Split(v, ","))
			}
			return v, v, nil
		}
	}
	return "", "", fmt.Errorf("%w: field %q", sim.ErrNotFound, field)
}

func (f *Face) shown(field, stored string) string {
	if field == "status" {
		for _, s := range f.statuses {
			if s.ID == stored {
				return s.Name
			}
		}
	}
	return stored
}

func (f *Face) extraOf(id int64) *extra {
	if f.extra[id] == nil {
		f.extra[id] = &extra{set: map[string]string{}}
	}
	return f.extra[id]
}

// Archive archives an issue, or brings it back: it leaves every search, and nothing else.
func (f *Face) Archive(ref string, on bool) error {
	e, err := f.w.Entity(ref)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.extraOf(e.ID)
	x.archived = time.Time{}
	if on {
		x.archived = f.w.Now()
	}
	return nil
}

// ArchiveProject archives a project by its key, or brings it back.
func (f *Face) ArchiveProject(key string, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.archived[key] = on
}

// RenameKey remembers a key that a project had, by the repository's full name; the caller renames the repository.
func (f *Face) RenameKey(old string, repo int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.formerKey[strings.ToUpper(old)] = ProjectID(repo)
}

// Move moves an issue to another project. Its id stays, its key is another, its labels go along.
func (f *Face) Move(ref, as, to string) (string, error) {
	e, err := f.w.Entity(ref)
	if err != nil {
		return "", err
	}
	key := Key(&e)
	now, err := f.w.Move(ref, as, to, "")
	if err != nil {
		return "", err
	}
	n, err := f.w.Entity(now)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	f.origin[n.ID] = f.root(e.ID)
	f.gone[key] = n.ID
	if x := f.extra[e.ID]; x != nil {
		f.extra[n.ID] = x
	}
	f.mu.Unlock()
	return now, f.w.Touch(now, as, sim.TypeSet)
}

// RenameStatus gives a status another name. No issue is touched.
func (f *Face) RenameStatus(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.statuses {
		if f.statuses[i].Name == from {
			f.statuses[i].Name = to
		}
	}
}

// Group makes a group, which may hold a project role (Administrators, Developers, Users or any other).
func (f *Face) Group(name, role string, members, nested []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.groups = append(f.groups, &group{id: "g-" + strconv.Itoa(len(f.groups)+1), name: name, role: role, members: members, nested: nested})
}

func (f *Face) root(id int64) int64 {
	for f.origin[id] != 0 {
		id = f.origin[id]
	}
	return id
}

// IssueID is the id of an entity as issue.
func (f *Face) IssueID(e *sim.Entity) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.issueID(e)
}

func (f *Face) issueID(e *sim.Entity) string { return strconv.FormatInt(20000+f.root(e.ID), 10) }

// status is the issue's: what was set, where that fits the world's open or closed.
func (f *Face) status(e *sim.Entity) Status {
	if x := f.extra[e.ID]; x != nil {
		for _, s := range f.statuses {
			if s.ID == x.set["status"] && (s.Category == "done") == e.Closed {
				return s
			}
		}
	}
	if e.Closed {
		return f.statuses[2]
	}
	return f.statuses[0]
}

// record is an issue as JQL sees it.
func (f *Face) record(e *sim.Entity) *Issue {
	x := f.extra[e.ID]
	if x == nil {
		x = &extra{set: map[string]string{}}
	}
	i := &Issue{ID: f.issueID(e), Key: Key(e), Project: ProjectID(e.Repo.ID), Status: f.status(e).ID, Type: cmp.Or(x.set["type"], f.types[0].ID),
		Priority: x.set["priority"], Components: split(x.set["components"]), Versions: split(x.set["versions"]), Creator: account(e.Author),
		Created: e.Created, Updated: e.Updated, Resolved: e.ClosedAt, Summary: e.Title, Description: e.Body, Custom: map[int][]string{}, Pulls: len(e.Links)}
	for _, l := range e.Labels {
		i.Labels = append(i.Labels, l.Name)
	}
	if n := len(e.Assignees); n > 0 {
		i.Assignee = account(e.Assignees[n-1])
	}
	if !e.Due.IsZero() {
		i.Due = e.Due.Format(time.DateOnly)
	}
	if p := x.set["parent"]; p != "" {
		n, _ := strconv.ParseInt(p, 10, 64)
		i.Parent = strconv.FormatInt(20000+f.root(n), 10)
	}
	for _, c := range f.fields {
		if v := x.set[fmt.Sprintf("cf[%d]", c.ID)]; v != "" {
			i.Custom[c.ID] = split(v)
		}
	}
	return i
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func account(a sim.Actor) string {
	if a.Deleted || a.ID == 0 {
		return "unknown"
	}
	return AccountID(a.ID)
}

// site is the vocabulary as the caller sees it.
func (c *call) site() *Site {
	s := &Site{Now: c.w.Now(), Zone: c.o.Zone, FoldLabel: !c.o.CaseSensitive, Statuses: c.statuses, Types: c.types, Priority: c.priority,
		Component: c.component, Version: c.version, Fields: c.fields, Keys: map[string]string{}, Anonymous: c.doer == nil, Accounts: []string{"unknown"}}
	if c.doer != nil {
		s.Caller = AccountID(c.doer.ID)
	}
	for _, r := range c.w.Repos() {
		if c.browse(r) {
			s.Projects = append(s.Projects, Project{ProjectID(r.ID), ProjectKey(r.Name), r.Name})
		}
	}
	for _, u := range c.w.Users() {
		if !u.Deleted {
			s.Accounts = append(s.Accounts, AccountID(u.ID))
		}
	}
	return s
}

// entities are the work items that the caller may see, as a reader of that lag sees them.
func (c *call) entities(r sim.Reader) []sim.Entity {
	var out []sim.Entity
	for _, rp := range c.w.Repos() {
		if !c.browse(rp) || c.archived[ProjectKey(rp.Name)] {
			continue
		}
		es, _ := r.Select(rp.ID, sim.Where{Kind: sim.WorkItem}, nil, nil, 0, 1<<30)
		out = append(out, es...)
	}
	slices.SortFunc(out, func(a, b sim.Entity) int {
		return cmp.Or(cmp.Compare(ProjectKey(a.Repo.Name), ProjectKey(b.Repo.Name)), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// item is one entry of a changelog.
type item struct {
	at   time.Time
	by   sim.Actor
	id   int64
	json map[string]any
}

// history is the changelog, oldest first. What was set when the issue was made has no entry; label entries hold whole sets.
func (f *Face) history(e *sim.Entity) []item {
	var out []item
	add := func(at time.Time, by sim.Actor, field, from, to, fromString, toString any) {
		out = append(out, item{at, by, int64(len(out) + 1), map[string]any{"field": field, "fieldId": field, "fieldtype": "jira", "from": from, "fromString": fromString, "to": to, "toString": toString}})
	}
	var labels []string
	var assignee sim.Actor
	birth := true // the entries that the world wrote when the issue was made
	for _, ev := range e.Events {
		birth = birth && ev.At.Equal(e.Created) && ev.Actor.ID == e.Author.ID &&
			(ev.Type == sim.EvLabeled && !slices.Contains(labels, ev.Label.Name) || ev.Type == sim.EvAssigned)
		born := birth
		switch ev.Type {
		case sim.EvLabeled, sim.EvUnlabeled:
			if ev.Label == nil {
				continue
			}
			before := strings.Join(labels, " ")
			labels = slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == ev.Label.Name })
			if ev.Type == sim.EvLabeled {
				labels = append(labels, ev.Label.Name)
			}
			if !born {
				add(ev.At, ev.Actor, "labels", nil, nil, before, strings.Join(labels, " "))
			}
		case sim.EvAssigned:
			if !born && ev.User != nil {
				add(ev.At, ev.Actor, "assignee", account(assignee), account(*ev.User), assignee.Login, ev.User.Login)
			}
			if ev.User != nil {
				assignee = *ev.User
			}
		case sim.EvRetitled:
			add(ev.At, ev.Actor, "summary", nil, nil, ev.Old, ev.New)
		case sim.EvClosed:
			add(ev.At, ev.Actor, "status", "10100", "10102", "To Do", "Done")
		case sim.EvReopened:
			add(ev.At, ev.Actor, "status", "10102", "10100", "Done", "To Do")
		}
	}
	for _, l := range e.Labels { // a move took the history away; who applied it is still known
		if !slices.Contains(labels, l.Name) && (l.By.ID != e.Author.ID || !l.At.Equal(e.Created)) {
			before := strings.Join(labels, " ")
			labels = append(labels, l.Name)
			add(l.At, l.By, "labels", nil, nil, before, strings.Join(labels, " "))
		}
	}
	if !e.BodyAt.Equal(e.Created) || e.BodyBy.ID != e.Author.ID {
		add(e.BodyAt, e.BodyBy, "description", nil, nil, "", e.Body)
	}
	if x := f.extra[e.ID]; x != nil {
		for _, ch := range x.changes {
			add(ch.at, ch.by, ch.field, ch.from, ch.to, ch.fromString, ch.toString)
		}
	}
	slices.SortStableFunc(out, func(a, b item) int { return a.at.Compare(b.at) })
	for i := range out {
		out[i].id = e.ID*1000 + int64(i) + 1
	}
	return out
}
