package jira

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Site is what a JQL text is evaluated against: the vocabulary of values, and the caller.
type Site struct {
	Now       time.Time
	Zone      *time.Location // of the calling account's profile
	Caller    string         // account id
	FoldLabel bool           // labels are compared without case
	Statuses  []Status
	Types     []Named
	Priority  []Named
	Component []Named
	Version   []Named
	Projects  []Project
	Fields    []Custom
	Accounts  []string
	Keys      map[string]string // issue ids by key
	Anonymous bool
}

// Named is a value with an id.
type Named struct{ ID, Name string }

// Project is a project as JQL sees it.
type Project struct{ ID, Key, Name string }

// Status is a workflow status with its category: new, indeterminate or done.
type Status struct{ ID, Name, Category string }

// Custom is a custom field. Type is string, select, number, date, datetime or user.
type Custom struct {
	ID   int
	Name string
	Type string
	// Options of a select; an unknown one is an error in JQL.
	Options []Named
}

// Issue is what JQL may ask of one issue. Empty values are empty fields.
type Issue struct {
	ID, Key, Project             string
	Status, Type, Priority       string // ids
	Components, Versions, Labels []string
	Assignee, Creator            string
	Created, Updated, Resolved   time.Time
	Due                          string // yyyy-mm-dd
	Parent                       string // id
	Summary, Description         string
	Custom                       map[int][]string // select: ids; instants: RFC 3339
	Pulls                        int
}

type category struct{ id, key, name string }

var categories = []category{{"1", "undefined", "No Category"}, {"2", "new", "To Do"}, {"4", "indeterminate", "In Progress"}, {"3", "done", "Done"}}

// Match parses a JQL text, checks it, and evaluates it. The error is Jira's 400.
func (s *Site) Match(jql string, i *Issue) (bool, error) {
	q, err := parse(jql)
	if err != nil {
		return false, err
	}
	w, err := s.check(q)
	if err != nil {
		return false, err
	}
	return w == nil || s.holds(w, i), nil
}

// check validates every field, operator and value, and pushes negations to the leaves.
func (s *Site) check(q *query) (*node, error) {
	for _, o := range q.order {
		if !slices.Contains([]string{"id", "key", "issuekey", "created", "updated"}, o.field) {
			return nil, bad("not able to sort using field '%s'", o.field)
		}
	}
	if q.where == nil {
		return nil, nil //nolint:nilnil // no restriction
	}
	w := pushNot(q.where, false)
	return w, s.checkNode(w)
}

func (s *Site) checkNode(n *node) error {
	for _, t := range n.terms {
		if err := s.checkNode(t); err != nil {
			return err
		}
	}
	if n.op != "leaf" {
		return nil
	}
	k, err := s.kindOf(n.field)
	if err != nil {
		return err
	}
	if s.Anonymous && k == "user" {
		return bad("Field '%s' does not exist or this field cannot be viewed by anonymous users.", n.field)
	}
	order := n.cmp == "<" || n.cmp == "<=" || n.cmp == ">" || n.cmp == ">="
	switch {
	case (n.cmp == "~" || n.cmp == "!~") != (k == "text") && n.cmp != "is" && n.cmp != "is not",
		order && k != "instant" && k != "date" && k != "number":
		return bad("The operator '%s' is not supported by the '%s' field.", n.cmp, n.field)
	}
	for _, v := range n.values {
		if _, err := s.resolve(n.field, k, v); err != nil {
			return err
		}
	}
	return nil
}

var cfField = regexp.MustCompile(`^cf\[([0-9]+)\]$`)

func (s *Site) custom(field string) (Custom, bool) {
	m := cfField.FindStringSubmatch(field)
	if m == nil {
		return Custom{}, false
	}
	n, _ := strconv.Atoi(m[1])
	i := slices.IndexFunc(s.Fields, func(c Custom) bool { return c.ID == n })
	if i < 0 {
		return Custom{}, false
	}
	return s.Fields[i], true
}

func (s *Site) kindOf(field string) (string, error) {
	switch field {
	case "project", "status", "statuscategory", "issuetype", "type", "priority", "component", "fixversion":
		return "named", nil
	case "labels":
		return "labels", nil
	case "assignee", "creator":
		return "user", nil
	case "created", "updated", "resolved", "resolutiondate":
		return "instant", nil
	case "due", "duedate":
		return "date", nil
	case "summary", "description":
		return "text", nil
	case "id", "key", "issuekey", "issue", "parent":
		return "key", nil
	case "development[pullrequests].all":
		return "number", nil
	}
	c, ok := s.custom(field)
	if !ok {
		return "", bad("Field '%s' does not exist or you do not have permission to view it.", field)
	}
	return map[string]string{"string": "text", "select": "option", "number": "number", "date": "date", "datetime": "instant", "user": "user"}[c.Type], nil
}

// resolve gives the index value of an operand: an id, a folded label, a number, milliseconds or a day.
func (s *Site) resolve(field, kind string, v value) (string, error) {
	if v.empty {
		return "", nil
	}
	if v.call {
		if kind == "user" && strings.EqualFold(v.text, "currentUser") {
			return s.Caller, nil
		}
		return "", bad("Unable to find JQL function '%s()'.", v.text)
	}
	none := bad("The value '%s' does not exist for the field '%s'.", v.text, field)
	switch kind {
	case "named":
		return lookUp(s.vocabulary(field), v, none)
	case "option":
		c, _ := s.custom(field)
		return lookUp(c.Options, v, none)
	case "labels":
		if strings.ContainsAny(v.text, " \t\n\r") {
			return "", bad("The label '%s' contains spaces which is invalid.", v.text)
		}
		return s.label(v.text), nil
	case "user":
		if !slices.Contains(s.Accounts, v.text) {
			return "", none
		}
	case "number":
		if _, err := strconv.ParseFloat(v.text, 64); err != nil {
			return "", bad("The value '%s' for the field '%s' is not a number.", v.text, field)
		}
	case "instant", "date":
		t, err := s.instant(v)
		if err != nil {
			return "", bad("Date value '%s' for field '%s' is invalid. Valid formats include: 'yyyy/MM/dd HH:mm', 'yyyy-MM-dd HH:mm', 'yyyy/MM/dd', 'yyyy-MM-dd', or a period format e.g. '-5d', '4w 2d'.", v.text, field)
		}
		if kind == "date" {
			return t.In(s.Zone).Format(time.DateOnly), nil
		}
		return strconv.FormatInt(t.UnixMilli(), 10), nil
	case "key":
		for k, id := range s.Keys {
			if strings.EqualFold(k, v.text) || id == v.text {
				return id, nil
			}
		}
		return "", bad("An issue with key '%s' does not exist for field '%s'.", v.text, field)
	}
	return v.text, nil
}

func (s *Site) label(l string) string {
	if s.FoldLabel {
		return strings.ToLower(l)
	}
	return l
}

func (s *Site) vocabulary(field string) []Named {
	switch field {
	case "project":
		var out []Named
		for _, p := range s.Projects {
			out = append(out, Named{p.ID, p.Key}, Named{p.ID, p.Name})
		}
		return out
	case "statuscategory":
		var out []Named
		for _, c := range categories {
			out = append(out, Named{c.id, c.key}, Named{c.id, c.name})
		}
		return out
	case "status":
		var out []Named
		for _, x := range s.Statuses {
			out = append(out, Named{x.ID, x.Name})
		}
		return out
	case "issuetype", "type":
		return s.Types
	case "priority":
		return s.Priority
	case "component":
		return s.Component
	}
	return s.Version
}

// lookUp finds a value: digits without quotes as an id first, everything else as a name first.
func lookUp(vs []Named, v value, none error) (string, error) {
	byID := func(n Named) bool { return n.ID == v.text }
	byName := func(n Named) bool { return strings.EqualFold(n.Name, v.text) }
	first, then := byName, byID
	if v.number {
		first, then = byID, byName
	}
	for _, is := range []func(Named) bool{first, then} {
		if i := slices.IndexFunc(vs, is); i >= 0 {
			return vs[i].ID, nil
		}
	}
	return "", none
}

var period = regexp.MustCompile(`^([+-]?)([0-9]+)([wdhm]?)$`)

// instant reads a date: digits alone are milliseconds, the rest is in the caller's zone and has no seconds.
func (s *Site) instant(v value) (time.Time, error) {
	if v.number && len(v.text) > 8 {
		ms, err := strconv.ParseInt(v.text, 10, 64)
		return time.UnixMilli(ms), err
	}
	if m := period.FindStringSubmatch(v.text); m != nil {
		n, err := strconv.Atoi(m[2])
		unit := map[string]time.Duration{"w": 168 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "": time.Minute}[m[3]]
		if m[1] == "-" {
			n = -n
		}
		return s.Now.Add(time.Duration(n) * unit), err
	}
	for _, layout := range []string{"2006/01/02 15:04", "2006-01-02 15:04", "2006/01/02", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, v.text, s.Zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, bad("no date")
}

func (s *Site) holds(n *node, i *Issue) bool {
	switch n.op {
	case "and":
		return !slices.ContainsFunc(n.terms, func(t *node) bool { return !s.holds(t, i) })
	case "or":
		return slices.ContainsFunc(n.terms, func(t *node) bool { return s.holds(t, i) })
	}
	kind, err := s.kindOf(n.field)
	if err != nil {
		return false
	}
	have := s.values(n.field, i)
	if len(have) == 0 { // the table of empty fields: only EMPTY itself is true
		empty := slices.ContainsFunc(n.values, func(v value) bool { return v.empty })
		return empty && (n.cmp == "is" || n.cmp == "=" || n.cmp == "in")
	}
	any := func(is func(h, want string) bool) bool {
		return slices.ContainsFunc(n.values, func(v value) bool {
			want, err := s.resolve(n.field, kind, v)
			return err == nil && !v.empty && slices.ContainsFunc(have, func(h string) bool { return is(h, want) })
		})
	}
	compare := func(h, want string) int {
		if kind == "date" {
			return cmp.Compare(h, want)
		}
		a, _ := strconv.ParseFloat(h, 64)
		b, _ := strconv.ParseFloat(want, 64)
		return cmp.Compare(a, b)
	}
	equal := func(h, want string) bool {
		if kind == "number" {
			return compare(h, want) == 0
		}
		return h == want
	}
	switch n.cmp {
	case "=", "in", "is":
		return any(equal)
	case "!=", "not in", "is not":
		return !any(equal)
	case "<":
		return any(func(h, w string) bool { return compare(h, w) < 0 })
	case "<=":
		return any(func(h, w string) bool { return compare(h, w) <= 0 })
	case ">":
		return any(func(h, w string) bool { return compare(h, w) > 0 })
	case ">=":
		return any(func(h, w string) bool { return compare(h, w) >= 0 })
	case "~":
		return any(func(h, w string) bool { return strings.Contains(strings.ToLower(h), strings.ToLower(w)) })
	}
	return !any(func(h, w string) bool { return strings.Contains(strings.ToLower(h), strings.ToLower(w)) })
}

// values are what the index holds of a field; none for an empty one.
func (s *Site) values(field string, i *Issue) []string {
	one := func(v string) []string {
		if v == "" {
			return nil
		}
		return []string{v}
	}
	ms := func(t time.Time) []string {
		if t.IsZero() {
			return nil
		}
		return []string{strconv.FormatInt(t.UnixMilli(), 10)}
	}
	switch field {
	case "project":
		return one(i.Project)
	case "status":
		return one(i.Status)
	case "statuscategory":
		for _, st := range s.Statuses {
			for _, c := range categories {
				if st.ID == i.Status && (c.key == st.Category || st.Category == "" && c.key == "undefined") {
					return one(c.id)
				}
			}
		}
		return one("1")
	case "issuetype", "type":
		return one(i.Type)
	case "priority":
		return one(i.Priority)
	case "component":
		return i.Components
	case "fixversion":
		return i.Versions
	case "labels":
		var out []string
		for _, l := range i.Labels {
			out = append(out, s.label(l))
		}
		return out
	case "assignee":
		return one(i.Assignee)
	case "creator":
		return one(i.Creator)
	case "created":
		return ms(i.Created)
	case "updated":
		return ms(i.Updated)
	case "resolved", "resolutiondate":
		return ms(i.Resolved)
	case "due", "duedate":
		return one(i.Due)
	case "summary":
		return one(i.Summary)
	case "description":
		return one(i.Description)
	case "id", "key", "issuekey", "issue":
		return one(i.ID)
	case "parent":
		return one(i.Parent)
	case "development[pullrequests].all":
		if i.Pulls == 0 {
			return nil
		}
		return one(strconv.Itoa(i.Pulls))
	}
	c, ok := s.custom(field)
	if !ok {
		return nil
	}
	vs := i.Custom[c.ID]
	if c.Type != "datetime" {
		return vs
	}
	var out []string
	for _, v := range vs {
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			out = append(out, ms(t)...)
		}
	}
	return out
}
