package jira

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// issue is one row. Every field is decoded by itself, so that one of an odd shape takes nothing else along.
type issue struct {
	ID  string
	Key string

	summary, description string
	hasSummary, hasBody  bool
	status               *status
	kind, priority       *named
	components, versions []*named
	labels               []*string
	assignee, creator    *account
	created, updated     time.Time
	categoryAt           time.Time
	due                  *time.Time
	parent               *issueKey
	project              *named
	archived             bool
	custom               map[uint32]json.RawMessage
	got                  map[string]bool // fields that came and were read
	broken               []string        // fields that could not be read
}

type issueKey struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

type status struct {
	named
	Category struct {
		Key string `json:"key"`
	} `json:"statusCategory"`
}

// standing are the fields that every row has.
func standing() []string {
	return []string{"project", "summary", "description", "status", "issuetype", "priority", "components", "fixVersions", "labels", "assignee", "creator",
		"created", "updated", "duedate", "parent", "statuscategorychangedate", "archiveddate"}
}

// listed are the fields that are asked for; without any, a search gives ids alone.
func listed(fs query.FieldSet) []string {
	out := standing()
	for _, id := range fs.IDs() {
		if n, ok := id.Custom(); ok {
			out = append(out, fmt.Sprintf("customfield_%d", n))
		}
	}
	return out
}

// decodeIssue reads a row; without id, key or fields it is none.
func decodeIssue(raw json.RawMessage) (*issue, error) {
	var head struct {
		ID     string                     `json:"id"`
		Key    string                     `json:"key"`
		Fields map[string]json.RawMessage `json:"fields"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, errors.New("it is no issue")
	}
	if !digits(head.ID) || head.Key == "" || head.Fields == nil {
		return nil, errors.New("it has no id, no key or no fields")
	}
	i := &issue{ID: head.ID, Key: head.Key, custom: map[uint32]json.RawMessage{}, got: map[string]bool{}}
	i.decode(head.Fields)
	slices.Sort(i.broken)
	return i, nil
}

func (i *issue) decode(fields map[string]json.RawMessage) {
	var archived json.RawMessage
	var description json.RawMessage
	var created, updated, category, due *string
	into := map[string]any{"summary": &i.summary, "description": &description, "status": &i.status, "issuetype": &i.kind, "priority": &i.priority,
		"components": &i.components, "fixVersions": &i.versions, "labels": &i.labels, "assignee": &i.assignee, "creator": &i.creator, "created": &created,
		"updated": &updated, "statuscategorychangedate": &category, "duedate": &due, "parent": &i.parent, "project": &i.project, "archiveddate": &archived}
	for name, raw := range fields {
		if digits, ok := strings.CutPrefix(name, "customfield_"); ok {
			if n, err := strconv.ParseUint(digits, 10, 32); err == nil {
				i.custom[uint32(n)] = raw
			}
			continue
		}
		to, ok := into[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, to); err != nil {
			i.broken = append(i.broken, name)
			continue
		}
		i.got[name] = true
	}
	i.archived = len(archived) > 0 && string(archived) != "null"
	text, err := plainText(description)
	i.description = text
	i.check("description", err)
	for name, s := range map[string]*string{"created": created, "updated": updated, "statuscategorychangedate": category} {
		t, err := parseStamp(s)
		i.check(name, err)
		switch name {
		case "created":
			i.created = t
		case "updated":
			i.updated = t
		default:
			i.categoryAt = t
		}
	}
	if due != nil {
		t, err := time.Parse(time.DateOnly, *due)
		i.check("duedate", err)
		i.due = &t
	}
}

func (i *issue) check(name string, err error) {
	if err != nil && i.got[name] {
		i.broken = append(i.broken, name)
		delete(i.got, name)
	}
}

// parseStamp reads Jira's time stamps, whose zone has no colon.
func parseStamp(s *string) (time.Time, error) {
	if s == nil || *s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05.000-0700", "2006-01-02T15:04:05-0700", time.RFC3339Nano} {
		if t, err := time.Parse(layout, *s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("no time stamp")
}

// user maps an account. One that is unknown or that nobody names is deleted: it equals nobody. Apps are bots.
func user(a *account) query.User {
	if a == nil || a.id() == "" || a.AccountID == "unknown" || a.Type == "unknown" || a.AccountID == "" && a.Key == "unknown" {
		return query.User{Deleted: true}
	}
	login := a.Name
	if login == "" {
		login = a.Display
	}
	return query.User{ID: a.id(), Login: login, Bot: a.Type == "app"}
}

func kindOfAuthor(u query.User) string {
	if u.Bot {
		return "bot"
	}
	return "human"
}

// number is the issue's within its project.
func (i *issue) number() int64 {
	n, err := strconv.ParseInt(i.Key[strings.LastIndex(i.Key, "-")+1:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (s *session) place(i *issue) scope.Place {
	p := scope.Place{Tenant: s.scope.Tenant, Kind: query.WorkItem}
	if i.project != nil && digits(i.project.ID) {
		p.Container = i.project.ID
	}
	return p
}

func (s *session) ref(i *issue) scope.Ref {
	return scope.Ref{
		Identity: scope.Identity{Provider: Provider, Tenant: s.scope.Tenant, Kind: query.WorkItem, ID: i.ID},
		Alias:    i.ID, Key: i.Key, URL: s.pages + "/browse/" + i.Key,
	}
}

func (s *session) item(i *issue, at time.Time) adapters.Item {
	return adapters.Item{Ref: s.ref(i), Place: s.place(i), Number: i.number(), Updated: i.updated, Facts: s.facts(i), ReadAt: at}
}

// facts are what a row shows. What did not come, or could not be read, is unknown.
func (s *session) facts(i *issue) *query.Facts {
	f := new(query.Facts)
	if st := i.status; st != nil && st.Name != "" {
		v := query.Name(st.Name)
		v.Key = st.ID
		f.SetKnown(query.FStatus, v)
		s.setCategory(f, i)
	}
	if i.kind != nil && i.kind.Name != "" {
		f.SetKnown(query.FType, nameOf(i.kind))
	}
	if i.got["priority"] {
		f.SetKnown(query.FPriority, namesOf(i.priority)...)
	}
	setNames(f, query.FComponent, i, "components", i.components)
	setNames(f, query.FFixVersion, i, "fixVersions", i.versions)
	if i.got["creator"] {
		u := user(i.creator)
		f.SetKnown(query.FAuthor, query.UserValue(u))
		f.SetKnown(query.FAuthorKind, query.Word(kindOfAuthor(u)))
	}
	if i.got["assignee"] {
		f.SetKnown(query.FAssignee)
		if i.assignee != nil {
			f.SetKnown(query.FAssignee, query.UserValue(user(i.assignee)))
		}
	}
	if !i.created.IsZero() {
		f.SetKnown(query.FCreated, query.Instant(i.created))
	}
	if !i.updated.IsZero() {
		f.SetKnown(query.FUpdated, query.Instant(i.updated))
	}
	if i.due != nil && i.got["duedate"] {
		f.SetKnown(query.FDue, query.Date(*i.due))
	} else if i.got["duedate"] {
		f.SetKnown(query.FDue)
	}
	s.setParent(f, i)
	s.setElements(f, i)
	s.setCustom(f, i)
	return f
}

// setCategory: closed is done, and when it became so is when its category last changed. Data Center does not say when.
func (s *session) setCategory(f *query.Facts, i *issue) {
	word, ok := map[string]string{"new": "todo", "undefined": "todo", "": "todo", "indeterminate": "in_progress", "done": "done"}[i.status.Category.Key]
	if !ok {
		f.Set(query.FStatusCategory, query.Fact{Why: "the status is in a category that is not known"})
		return
	}
	f.SetKnown(query.FStatusCategory, query.Word(word))
	if word != "done" {
		f.SetKnown(query.FState, query.Word("open"))
		f.SetKnown(query.FClosed)
		return
	}
	f.SetKnown(query.FState, query.Word("closed"))
	if !i.categoryAt.IsZero() {
		f.SetKnown(query.FClosed, query.Instant(i.categoryAt))
	}
}

func nameOf(n *named) query.Value {
	v := query.Name(n.Name)
	v.Key = n.ID
	return v
}

func namesOf(n *named) []query.Value {
	if n == nil {
		return nil
	}
	return []query.Value{nameOf(n)}
}

func setNames(f *query.Facts, id query.FieldID, i *issue, field string, ns []*named) {
	if !i.got[field] {
		return
	}
	fact := query.Fact{Presence: query.Known}
	for _, n := range ns {
		if n == nil || n.Name == "" {
			fact.Presence, fact.Why = query.Partial, "one of them is null in the answer"
			continue
		}
		fact.Values = append(fact.Values, nameOf(n))
	}
	f.Set(id, fact)
}

// setParent: the field does not come at all where there is no parent.
func (s *session) setParent(f *query.Facts, i *issue) {
	switch {
	case i.parent != nil && i.parent.Key != "":
		v := query.Name(i.parent.Key)
		v.Key = i.parent.ID
		f.SetKnown(query.FParent, v)
	case i.parent == nil && !slices.Contains(i.broken, "parent"):
		f.SetKnown(query.FParent)
	}
}

// setElements: a row shows texts and labels, and not who wrote them; the texts are the author's as long as nothing was
// touched since (an edit moves the clock, which has milliseconds). Labels are always looked up: they steer agents.
func (s *session) setElements(f *query.Facts, i *issue) {
	e := query.Element{Editors: query.EditorsUnread}
	text := func(key, text string) query.Element {
		t := e
		if i.got["creator"] && !i.created.IsZero() && i.updated.Equal(i.created) {
			t.Editors, t.Actor, t.At = query.EditorsNamed, user(i.creator), i.created
		}
		t.Key, t.Rev = key, digest(text)
		t.Members = []query.Member{{ID: query.MText, Fact: known(query.Text(text))}}
		return t
	}
	if i.got["summary"] {
		f.SetItems(query.FTitle, text("title", i.summary))
	}
	if i.got["description"] {
		f.SetItems(query.FBody, text("body", i.description))
	}
	if !i.got["labels"] {
		return
	}
	fact := query.Fact{Presence: query.Known}
	for _, l := range i.labels {
		if l == nil || *l == "" {
			fact.Presence, fact.Why = query.Partial, "a label is null in the answer"
			continue
		}
		t := e
		t.Key = *l
		t.Members = []query.Member{{ID: query.MName, Fact: known(query.Name(*l))}}
		fact.Items = append(fact.Items, t)
	}
	f.Set(query.FLabel, fact)
}

func known(vs ...query.Value) query.Fact { return query.Fact{Presence: query.Known, Values: vs} }

// setCustom maps custom fields by the site's schema; a field that came and has no schema is read by its shape.
func (s *session) setCustom(f *query.Facts, i *issue) {
	s.mu.Lock()
	custom := s.words.custom
	s.mu.Unlock()
	for n, raw := range i.custom {
		kind := custom[n].Schema.Type
		if kind == "array" {
			kind = custom[n].Schema.Items
		}
		vs, err := customValues(raw, kind)
		if err != nil {
			f.Set(query.CustomField(n), query.Fact{Why: err.Error()})
			continue
		}
		f.SetKnown(query.CustomField(n), vs...)
	}
}

// customValues reads null, one value or a list of them.
func customValues(raw json.RawMessage, kind string) ([]query.Value, error) {
	if s := strings.TrimSpace(string(raw)); s == "" || s == "null" {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var out []query.Value
	for _, r := range list {
		v, err := customValue(r, kind)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func customValue(raw json.RawMessage, kind string) (query.Value, error) {
	var n float64
	var b bool
	var text string
	var o struct {
		account
		Value string `json:"value"`
	}
	switch {
	case string(raw) == "null":
		return query.Value{}, errors.New("a value is null in the answer")
	case json.Unmarshal(raw, &n) == nil:
		return query.Number(n), nil
	case json.Unmarshal(raw, &b) == nil:
		return query.Bool(b), nil
	case json.Unmarshal(raw, &text) == nil:
		return customText(text, kind)
	}
	if doc, err := plainText(raw); err == nil {
		return query.Name(doc), nil
	}
	if json.Unmarshal(raw, &o) != nil {
		return query.Value{}, errors.New("a value has a shape that is not known")
	}
	switch {
	case kind == "user" || o.AccountID != "":
		return query.UserValue(user(&o.account)), nil
	case o.Value != "":
		return query.Name(o.Value), nil
	case o.Name != "":
		return query.Name(o.Name), nil
	}
	return query.Value{}, errors.New("a value has neither value nor name")
}

func customText(text, kind string) (query.Value, error) {
	switch kind {
	case "date":
		t, err := time.Parse(time.DateOnly, text)
		return query.Date(t), err
	case "datetime":
		t, err := parseStamp(&text)
		return query.Instant(t), err
	}
	return query.Name(text), nil
}
