package jira

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

const stamp = "2006-01-02T15:04:05.000-0700"

func (c *call) when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.In(c.o.Zone).Format(stamp)
}

func (c *call) base() string { return "https://" + c.r.Host }

func (c *call) serverInfo() {
	kind := "Cloud"
	if c.o.DataCenter {
		kind = "Server"
	}
	c.json(http.StatusOK, map[string]any{"baseUrl": c.base(), "version": "1001.0.0", "deploymentType": kind, "serverTime": c.when(c.w.Now())})
}

func (c *call) person(a sim.Actor) any {
	if a.ID == 0 {
		return nil
	}
	u, _ := c.w.UserByID(a.ID)
	kind := "atlassian"
	if u.Bot {
		kind = "app"
	}
	switch {
	case c.o.DataCenter && a.Deleted:
		return map[string]any{"name": "unknown", "key": "unknown", "displayName": "unknown", "active": false}
	case c.o.DataCenter:
		return map[string]any{"name": u.Login, "key": AccountID(u.ID), "displayName": u.FullName, "active": true}
	case a.Deleted:
		return map[string]any{"accountId": "unknown", "accountType": "unknown", "displayName": "Former user", "active": false}
	}
	return map[string]any{"accountId": AccountID(u.ID), "accountType": kind, "displayName": cmp.Or(u.FullName, u.Login), "active": true}
}

func actorOf(u *sim.User) sim.Actor {
	return sim.Actor{ID: u.ID, Login: u.Login, Bot: u.Bot, Deleted: u.Deleted}
}

func (c *call) myself() { c.json(http.StatusOK, c.person(actorOf(c.doer))) }

func (c *call) user() {
	id := cmp.Or(c.query("accountId"), c.query("key"))
	u, ok := c.w.UserByID(userID(id))
	if !ok || u.Deleted {
		c.fail(http.StatusNotFound, "Specified user does not exist or you do not have required permissions")
		return
	}
	p, _ := c.person(actorOf(&u)).(map[string]any)
	if strings.Contains(c.query("expand"), "groups") {
		var items []any
		for _, g := range c.groups {
			if c.member(g, u.Login, 0) {
				gj := map[string]any{"name": g.name}
				if !c.o.DataCenter {
					gj["groupId"] = g.id
				}
				items = append(items, gj)
			}
		}
		p["groups"] = map[string]any{"size": len(items), "items": items}
	}
	c.json(http.StatusOK, p)
}

func (c *call) member(g *group, login string, depth int) bool {
	if in(g.members, login) {
		return true
	}
	return depth < 8 && slices.ContainsFunc(c.groups, func(o *group) bool { return in(g.nested, o.name) && c.member(o, login, depth+1) })
}

func (c *call) permissions() {
	r, ok := c.repo(cmp.Or(c.query("projectId"), c.query("projectKey")))
	if !ok {
		c.fail(http.StatusNotFound, "No project could be found")
		return
	}
	p := map[string]any{}
	for _, k := range []string{"BROWSE_PROJECTS", "ADMINISTER_PROJECTS"} {
		p[k] = map[string]any{"key": k, "havePermission": k == "BROWSE_PROJECTS" || c.doer != nil && c.role(r) >= sim.Admin}
	}
	c.json(http.StatusOK, map[string]any{"permissions": p})
}

func named(vs []Named) []any {
	out := []any{}
	for _, v := range vs {
		out = append(out, map[string]any{"id": v.ID, "name": v.Name})
	}
	return out
}

func (c *call) project() {
	r, ok := c.repo(c.params["p"])
	if !ok {
		c.fail(http.StatusNotFound, "No project could be found with key '"+c.params["p"]+"'.")
		return
	}
	key := ProjectKey(r.Name)
	p := map[string]any{"id": ProjectID(r.ID), "key": key, "name": r.Name, "archived": c.archived[key],
		"issueTypes": named(c.types), "components": named(c.component), "versions": named(c.version)}
	roles := map[string]any{}
	for _, r := range projectRoles() {
		roles[r.Name] = c.base() + "/rest/api/3/project/" + p["id"].(string) + "/role/" + r.ID
	}
	p["roles"] = roles
	if strings.Contains(c.query("expand"), "projectKeys") {
		keys := []string{key}
		for k, id := range c.formerKey {
			if id == ProjectID(r.ID) {
				keys = append(keys, k)
			}
		}
		p["projectKeys"] = keys
	}
	c.json(http.StatusOK, p)
}

func (c *call) statusJSON(s Status) map[string]any {
	k := categories[0]
	for _, x := range categories {
		if x.key == s.Category {
			k = x
		}
	}
	n, _ := strconv.Atoi(k.id)
	return map[string]any{"id": s.ID, "name": s.Name, "statusCategory": map[string]any{"id": n, "key": k.key, "name": k.name}}
}

func (c *call) projectStatuses() {
	if _, ok := c.repo(c.params["p"]); !ok {
		c.fail(http.StatusNotFound, "No project could be found")
		return
	}
	var ss, out []any
	for _, s := range c.statuses {
		ss = append(ss, c.statusJSON(s))
	}
	for _, t := range c.types {
		out = append(out, map[string]any{"id": t.ID, "name": t.Name, "statuses": ss})
	}
	c.json(http.StatusOK, out)
}

func (c *call) statusCategories() {
	var out []any
	for _, k := range categories {
		n, _ := strconv.Atoi(k.id)
		out = append(out, map[string]any{"id": n, "key": k.key, "name": k.name})
	}
	c.json(http.StatusOK, out)
}

func (c *call) priorities() { c.json(http.StatusOK, named(c.priority)) }

func (c *call) customFields() {
	out := []any{map[string]any{"id": "summary", "name": "Summary", "custom": false}}
	for _, f := range c.fields {
		t := map[string]string{"select": "option", "string": "string", "number": "number", "date": "date", "datetime": "datetime", "user": "user"}[f.Type]
		out = append(out, map[string]any{"id": fmt.Sprintf("customfield_%d", f.ID), "name": f.Name, "custom": true,
			"schema": map[string]any{"type": t, "custom": "com.atlassian.jira.plugin.system.customfieldtypes:" + f.Type, "customId": f.ID}})
	}
	c.json(http.StatusOK, out)
}

type search struct {
	JQL             string   `json:"jql"`
	NextPageToken   string   `json:"nextPageToken"`
	MaxResults      *int     `json:"maxResults"`
	StartAt         int      `json:"startAt"`
	Fields          []string `json:"fields"`
	ReconcileIssues []int64  `json:"reconcileIssues"`
}

// rows evaluates a JQL text; it answers 400 itself.
func (c *call) rows(jql string) ([]sim.Entity, bool) {
	if !c.plausible(jql) {
		return nil, false
	}
	q, err := parse(jql)
	if err != nil {
		c.fail(http.StatusBadRequest, "Error in the JQL Query: "+err.Error())
		return nil, false
	}
	if q.where == nil {
		c.fail(http.StatusBadRequest, "Unbounded JQL queries are not allowed here. Please add a search restriction to your query.")
		return nil, false
	}
	s := c.site()
	for _, e := range c.entities(c.w.Reader(c.w.Profile().Moves, 0)) {
		s.Keys[Key(&e)] = c.issueID(&e)
	}
	w, err := s.check(q)
	if err != nil {
		c.fail(http.StatusBadRequest, err.Error())
		return nil, false
	}
	var out []sim.Entity
	for _, e := range c.entities(c.w.Reader(c.w.Profile().Moves, c.cond.IndexLag)) {
		if x := c.extra[e.ID]; x != nil && !x.archived.IsZero() || in(c.quirks.Omitted, Key(&e)) {
			continue
		}
		if s.holds(w, c.record(&e)) {
			out = append(out, e)
		}
	}
	for _, o := range slices.Backward(q.order) {
		slices.SortStableFunc(out, func(a, b sim.Entity) int {
			n := map[string]int{"created": a.Created.Compare(b.Created), "updated": a.Updated.Compare(b.Updated)}[o.field]
			if o.desc {
				return -n
			}
			return n
		})
		if o.desc && o.field != "created" && o.field != "updated" {
			slices.Reverse(out)
		}
	}
	return out, true
}

var epoch = regexp.MustCompile(`[<>=] ?[0-9]{11,}`)

func (c *call) plausible(jql string) bool {
	c.asked = append(c.asked, jql)
	switch {
	case c.quirks.MaxJQL > 0 && len(jql) > c.quirks.MaxJQL:
		c.fail(http.StatusBadRequest, "The JQL query is too complex.")
	case c.quirks.EpochRefused && epoch.MatchString(jql):
		c.fail(http.StatusBadRequest, "Date value for field 'updated' is invalid.")
	default:
		return true
	}
	return false
}

func (c *call) pageSize(s *search, usual int) int {
	n := usual
	if s.MaxResults != nil && *s.MaxResults >= 0 {
		n = *s.MaxResults
	}
	most := 5000
	for _, f := range s.Fields {
		if f != "id" && f != "key" {
			most = 100
		}
	}
	if c.o.DataCenter {
		most = 1000
	}
	if c.o.PageCap > 0 {
		most = c.o.PageCap
	}
	return min(n, most)
}

// position is what a token holds: the query it belongs to and the last row given.
type position struct {
	JQL, Project string
	Number       int64
	Given        int
	Empty        bool
}

func (c *call) searchJQL() {
	var s search
	if !c.ask(&s) {
		return
	}
	var at position
	if s.NextPageToken != "" {
		b, err := base64.RawURLEncoding.DecodeString(s.NextPageToken)
		if err != nil || json.Unmarshal(b, &at) != nil || at.JQL != s.JQL || c.quirks.TokensExpire {
			c.fail(http.StatusBadRequest, "The nextPageToken is invalid or expired.")
			return
		}
	}
	all, ok := c.rows(s.JQL)
	if !ok {
		return
	}
	var left []sim.Entity
	for _, e := range all {
		p := ProjectKey(e.Repo.Name)
		if s.NextPageToken == "" || p > at.Project || p == at.Project && e.Number > at.Number {
			left = append(left, e)
		}
	}
	n := c.pageSize(&s, 50)
	out := map[string]any{}
	token := func(p position) {
		p.JQL = s.JQL
		b, _ := json.Marshal(p)
		out["nextPageToken"] = base64.RawURLEncoding.EncodeToString(b)
	}
	page := left[:min(n, len(left))]
	last := len(page) == len(left)
	if c.quirks.ShortWalk > 0 && at.Given+len(page) >= c.quirks.ShortWalk {
		page, last = page[:max(0, min(len(page), c.quirks.ShortWalk-at.Given))], true
	}
	if c.quirks.EmptyPages && !at.Empty {
		page, last = nil, false
	}
	if !last {
		next := position{Given: at.Given + len(page), Project: at.Project, Number: at.Number, Empty: c.quirks.EmptyPages && !at.Empty}
		if len(page) > 0 {
			next.Project, next.Number = ProjectKey(page[len(page)-1].Repo.Name), page[len(page)-1].Number
		}
		token(next)
		if c.quirks.TokenRepeats && s.NextPageToken != "" {
			out["nextPageToken"] = s.NextPageToken
		}
	} else if c.quirks.NullToken {
		out["nextPageToken"] = nil
	}
	if !c.quirks.NoIsLast {
		out["isLast"] = last
	}
	if len(c.quirks.Warnings) > 0 {
		var ws []any
		for _, w := range c.quirks.Warnings {
			ws = append(ws, map[string]any{"type": w, "message": w})
		}
		out["warnings"] = ws
	}
	out["issues"] = c.issues(page, s.Fields)
	c.json(http.StatusOK, out)
}

func (c *call) searchOffset() {
	var s search
	if !c.ask(&s) {
		return
	}
	all, ok := c.rows(s.JQL)
	if !ok {
		return
	}
	n := c.pageSize(&s, 50)
	from := min(max(s.StartAt, 0), len(all))
	c.json(http.StatusOK, map[string]any{"startAt": s.StartAt, "maxResults": n, "total": len(all), "issues": c.issues(all[from:min(from+n, len(all))], s.Fields)})
}

func (c *call) count() {
	var s search
	if !c.ask(&s) {
		return
	}
	all, ok := c.rows(s.JQL)
	if ok {
		c.json(http.StatusOK, map[string]any{"count": len(all)})
	}
}

func (c *call) jqlParse() {
	var q struct {
		Queries []string `json:"queries"`
	}
	if !c.ask(&q) {
		return
	}
	if c.quirks.ParseClosed {
		c.fail(http.StatusForbidden, "forbidden")
		return
	}
	s := c.site()
	var out []any
	for _, text := range q.Queries {
		row := map[string]any{"query": text}
		parsed, err := parse(text)
		if err == nil {
			_, err = s.check(parsed)
		}
		if err != nil {
			row["errors"] = []string{err.Error()}
		} else {
			row["structure"] = map[string]any{}
		}
		out = append(out, row)
	}
	c.json(http.StatusOK, map[string]any{"queries": out})
}

func (c *call) jqlMatch() {
	var q struct {
		IssueIDs []int64  `json:"issueIds"`
		JQLs     []string `json:"jqls"`
	}
	if !c.ask(&q) {
		return
	}
	if c.quirks.MatchClosed {
		c.fail(http.StatusForbidden, "forbidden")
		return
	}
	s := c.site()
	var out []any
	for _, text := range q.JQLs {
		ids, errs := []int64{}, []string{}
		for _, e := range c.entities(c.w.Reader(c.w.Profile().Moves, c.cond.IndexLag)) {
			id, _ := strconv.ParseInt(c.issueID(&e), 10, 64)
			if !in(q.IssueIDs, id) {
				continue
			}
			ok, err := s.Match(text, c.record(&e))
			if err != nil {
				errs = []string{err.Error()}
			}
			if ok {
				ids = append(ids, id)
			}
		}
		out = append(out, map[string]any{"matchedIssues": ids, "errors": errs})
	}
	c.json(http.StatusOK, map[string]any{"matches": out})
}

func (c *call) issues(es []sim.Entity, fields []string) []any {
	out := []any{}
	for i := range es {
		out = append(out, c.issue(&es[i], fields))
	}
	return out
}

func (c *call) issue(e *sim.Entity, fields []string) map[string]any {
	id := c.issueID(e)
	out := map[string]any{"id": id, "key": Key(e), "self": c.base() + "/rest/api/3/issue/" + id}
	if len(fields) == 0 {
		return out
	}
	all, shown := c.fieldsOf(e), map[string]any{}
	for _, f := range fields {
		if f == "*all" {
			shown = all
			break
		}
		if v, ok := all[f]; ok {
			shown[f] = v
		}
	}
	if b := c.quirks.Broken; b != "" {
		if _, ok := shown[b]; ok {
			shown[b] = []int{1}
		}
	}
	out["fields"] = shown
	return out
}

func one(vs []Named, id string) any {
	for _, v := range vs {
		if v.ID == id {
			return map[string]any{"id": v.ID, "name": v.Name}
		}
	}
	return nil
}

func many(vs []Named, ids []string) []any {
	out := []any{}
	for _, id := range ids {
		out = append(out, one(vs, id))
	}
	return out
}

func (c *call) fieldsOf(e *sim.Entity) map[string]any {
	r := c.record(e)
	labels := r.Labels
	if labels == nil {
		labels = []string{}
	}
	var assignee any
	if n := len(e.Assignees); n > 0 {
		assignee = c.person(e.Assignees[n-1])
	}
	var due any
	if r.Due != "" {
		due = r.Due
	}
	out := map[string]any{
		"summary": e.Title, "description": c.text(e.Body), "status": c.statusJSON(c.status(e)), "issuetype": one(c.types, r.Type), "priority": one(c.priority, r.Priority),
		"components": many(c.component, r.Components), "fixVersions": many(c.version, r.Versions), "labels": labels, "assignee": assignee,
		"creator": c.person(e.Author), "created": c.when(e.Created), "updated": c.when(e.Updated), "duedate": due, "resolutiondate": c.when(e.ClosedAt),
		"project": map[string]any{"id": r.Project, "key": ProjectKey(e.Repo.Name), "name": e.Repo.Name},
	}
	if x := c.extra[e.ID]; x != nil && !x.archived.IsZero() {
		out["archiveddate"] = c.when(x.archived)
	}
	if !c.o.DataCenter {
		at := e.ClosedAt
		if !e.Closed {
			at = e.Created
		}
		out["statuscategorychangedate"] = c.when(at)
	}
	if r.Parent != "" {
		for _, p := range c.entities(c.w.Reader(c.w.Profile().Moves, 0)) {
			if c.issueID(&p) == r.Parent {
				out["parent"] = map[string]any{"id": r.Parent, "key": Key(&p)}
			}
		}
	}
	for _, f := range c.fields {
		out[fmt.Sprintf("customfield_%d", f.ID)] = c.customJSON(f, r.Custom[f.ID])
	}
	return out
}

func (c *call) customJSON(f Custom, vs []string) any {
	if len(vs) == 0 {
		return nil
	}
	switch f.Type {
	case "number":
		n, _ := strconv.ParseFloat(vs[0], 64)
		return n
	case "datetime":
		t, err := time.Parse(time.RFC3339Nano, vs[0])
		if err != nil {
			return nil
		}
		return c.when(t)
	case "select":
		var out []any
		for _, id := range vs {
			for _, o := range f.Options {
				if o.ID == id {
					out = append(out, map[string]any{"id": o.ID, "value": o.Name})
				}
			}
		}
		return out
	case "user":
		u, _, _ := c.w.User(vs[0])
		return c.person(actorOf(&u))
	}
	return vs[0]
}

// text is a body: ADF on version 3, wiki text else. A line is a paragraph of its own.
func (c *call) text(s string) any {
	switch {
	case s == "":
		return nil
	case !c.v3:
		return s
	}
	content := []any{}
	for _, line := range strings.Split(s, "\n") {
		p := map[string]any{"type": "paragraph"}
		if line != "" {
			p["content"] = []any{map[string]any{"type": "text", "text": line}}
		}
		content = append(content, p)
	}
	return map[string]any{"type": "doc", "version": 1, "content": content}
}

// one entity by id or key, also one that was moved: the answer then has its new key.
func (c *call) entity(ref string) (sim.Entity, bool) {
	r := c.w.Reader(c.w.Profile().Moves, c.cond.ReplicaLag)
	for _, rp := range c.w.Repos() {
		if !c.browse(rp) {
			continue
		}
		es, _ := r.Select(rp.ID, sim.Where{Kind: sim.WorkItem}, nil, nil, 0, 1<<30)
		for _, e := range es {
			if c.issueID(&e) == ref || strings.EqualFold(Key(&e), ref) || c.gone[strings.ToUpper(ref)] == e.ID || c.former(&e, ref) {
				return e, true
			}
		}
	}
	return sim.Entity{}, false
}

// former: a key with one of the project's old keys leads to its issue.
func (c *call) former(e *sim.Entity, ref string) bool {
	i := strings.LastIndex(ref, "-")
	return i > 0 && c.formerKey[strings.ToUpper(ref[:i])] == ProjectID(e.Repo.ID) && ref[i+1:] == strconv.FormatInt(e.Number, 10)
}

func (c *call) issueGet() {
	e, ok := c.entity(c.params["i"])
	if !ok {
		c.fail(http.StatusNotFound, "Issue does not exist or you do not have permission to see it.")
		return
	}
	fields := []string{"*all"}
	if q := c.query("fields"); q != "" {
		fields = strings.Split(q, ",")
	}
	out := c.issue(&e, fields)
	if strings.Contains(c.query("expand"), "changelog") {
		hs := c.changelog(&e)
		out["changelog"] = map[string]any{"startAt": 0, "maxResults": len(hs), "total": len(hs), "histories": hs}
	}
	c.json(http.StatusOK, out)
}

func (c *call) bulkFetch() {
	var q struct {
		IDs    []string `json:"issueIdsOrKeys"`
		Fields []string `json:"fields"`
	}
	if !c.ask(&q) {
		return
	}
	if len(q.IDs) > 100 {
		c.fail(http.StatusBadRequest, "too many issues")
		return
	}
	var es []sim.Entity
	for _, id := range q.IDs {
		if e, ok := c.entity(id); ok {
			es = append(es, e)
		}
	}
	slices.SortFunc(es, func(a, b sim.Entity) int { return cmp.Compare(a.ID, b.ID) })
	es = slices.CompactFunc(es, func(a, b sim.Entity) bool { return a.ID == b.ID })
	c.json(http.StatusOK, map[string]any{"issues": c.issues(es, q.Fields), "issueErrors": []any{}})
}

func (c *call) changelog(e *sim.Entity) []any {
	out := []any{}
	for _, h := range c.history(e) {
		out = append(out, map[string]any{"id": strconv.FormatInt(h.id, 10), "author": c.person(h.by), "created": c.when(h.at), "items": []any{h.json}})
	}
	return out
}

func (c *call) bulkChangelog() {
	var q struct {
		IDs        []string `json:"issueIdsOrKeys"`
		Fields     []string `json:"fieldIds"`
		MaxResults int      `json:"maxResults"`
		Token      string   `json:"nextPageToken"`
	}
	if !c.ask(&q) {
		return
	}
	type row struct {
		issue string
		at    time.Time
		json  map[string]any
	}
	if len(q.IDs) > 1000 || len(q.Fields) > 10 {
		c.fail(http.StatusBadRequest, "too many")
		return
	}
	var rows []row
	for _, id := range q.IDs {
		e, ok := c.entity(id)
		if !ok {
			continue
		}
		for _, h := range c.history(&e) {
			if name, _ := h.json["fieldId"].(string); len(q.Fields) > 0 && !in(q.Fields, name) {
				continue
			}
			rows = append(rows, row{c.issueID(&e), h.at, map[string]any{"id": strconv.FormatInt(h.id, 10), "author": c.person(h.by), "created": h.at.UnixMilli(), "items": []any{h.json}}})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.issue, b.issue)) })
	from := atoi(q.Token, 0)
	n := q.MaxResults
	if n <= 0 || n > 1000 {
		n = 1000
	}
	if c.o.PageCap > 0 {
		n = min(n, c.o.PageCap)
	}
	to := min(from+n, len(rows))
	var ids []string
	by := map[string][]any{}
	for _, r := range rows[min(from, to):to] {
		if by[r.issue] == nil {
			ids = append(ids, r.issue)
		}
		by[r.issue] = append(by[r.issue], r.json)
	}
	logs := []any{}
	for _, id := range ids {
		logs = append(logs, map[string]any{"issueId": id, "changeHistories": by[id]})
	}
	out := map[string]any{"issueChangeLogs": logs}
	if to < len(rows) {
		out["nextPageToken"] = strconv.Itoa(to)
	}
	c.json(http.StatusOK, out)
}

func (c *call) comments() {
	e, ok := c.entity(c.params["i"])
	if !ok {
		c.fail(http.StatusNotFound, "Issue does not exist or you do not have permission to see it.")
		return
	}
	from, n := atoi(c.query("startAt"), 0), atoi(c.query("maxResults"), 50)
	if n > 100 {
		n = 100
	}
	out := []any{}
	for i, m := range e.Comments {
		if i >= from && len(out) < n {
			out = append(out, map[string]any{"id": strconv.FormatInt(m.ID, 10), "author": c.person(m.Author), "updateAuthor": c.person(m.Editor),
				"body": c.text(m.Body), "created": c.when(m.Created), "updated": c.when(m.Edited)})
		}
	}
	c.json(http.StatusOK, map[string]any{"startAt": from, "maxResults": n, "total": len(e.Comments), "comments": out})
}

// The roles of every project. Users is a named role without rights of its own.
func projectRoles() []Named {
	return []Named{{"10002", "Administrators"}, {"10001", "Developers"}, {"10000", "Users"}}
}

// mayRead answers for who may not: roles need Administer Projects.
func (c *call) mayRead() (sim.Repo, bool) {
	r, ok := c.repo(c.params["p"])
	switch {
	case !ok:
		c.fail(http.StatusNotFound, "No project could be found")
	case c.role(r) < sim.Admin:
		c.fail(http.StatusForbidden, "You do not have permission to administer this project.")
		return r, false
	}
	return r, ok
}

func (c *call) roleList() {
	if _, ok := c.mayRead(); !ok {
		return
	}
	out := map[string]any{}
	for _, r := range projectRoles() {
		out[r.Name] = c.base() + "/rest/api/3/project/" + c.params["p"] + "/role/" + r.ID
	}
	c.json(http.StatusOK, out)
}

func (c *call) roleGet() {
	rp, ok := c.mayRead()
	if !ok {
		return
	}
	i := slices.IndexFunc(projectRoles(), func(n Named) bool { return n.ID == c.params["r"] })
	if i < 0 {
		c.fail(http.StatusNotFound, "Cannot find any role")
		return
	}
	role := projectRoles()[i]
	actors := []any{}
	for _, u := range c.w.Users() {
		if u.Deleted || u.Org || roleName(c.w.Role(rp.ID, u.ID)) != role.Name || c.grouped(u.Login) {
			continue
		}
		actor := map[string]any{"accountId": AccountID(u.ID)}
		if c.o.DataCenter {
			actors = append(actors, map[string]any{"type": "atlassian-user-role-actor", "name": u.Login, "displayName": u.FullName})
			continue
		}
		actors = append(actors, map[string]any{"type": "atlassian-user-role-actor", "displayName": u.FullName, "actorUser": actor})
	}
	for _, g := range c.groups {
		if g.role != role.Name {
			continue
		}
		actor := map[string]any{"type": "atlassian-group-role-actor", "displayName": g.name, "name": g.name}
		if !c.o.DataCenter {
			actor["actorGroup"] = map[string]any{"name": g.name, "displayName": g.name, "groupId": g.id}
		}
		actors = append(actors, actor)
	}
	id, _ := strconv.Atoi(role.ID)
	c.json(http.StatusOK, map[string]any{"id": id, "name": role.Name, "actors": actors})
}

// grouped accounts have their role through a group alone.
func (c *call) grouped(login string) bool {
	return slices.ContainsFunc(c.groups, func(g *group) bool { return in(g.members, login) })
}

func roleName(r sim.Role) string {
	switch {
	case r >= sim.Admin:
		return "Administrators"
	case r >= sim.Write:
		return "Developers"
	}
	return "Users"
}
