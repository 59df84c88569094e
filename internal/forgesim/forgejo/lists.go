package forgejo

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// listIssues lists issues and pull requests (routers/api/v1/repo/issue.go, ListIssues).
func (c *call) listIssues() {
	win, ok := c.window()
	if !ok {
		return
	}
	people, ok := c.people("created_by", "assigned_by", "mentioned_by")
	if !ok {
		return
	}
	p := c.paging()
	es, total := c.listFor().Select(c.repo.ID, c.where(win), c.filter(people), c.issueOrder(), p.offset(), p.size)
	rows := make([]any, len(es))
	for i, e := range es {
		rows[i] = c.flavoured(c.issue(e))
	}
	c.links(p, total)
	c.total(total)
	c.json(http.StatusOK, rows)
}

// where is state, type and window. Any word but closed and all means open, also none.
func (c *call) where(win window) sim.Where {
	q := sim.Where{Since: win.since, Before: win.before}
	if state := c.q.Get("state"); state != "all" {
		closed := state == "closed"
		q.Closed = &closed
	}
	switch c.q.Get("type") {
	case "pulls":
		q.Kind = sim.ChangeProposal
	case "issues":
		q.Kind = sim.WorkItem
	}
	return q
}

// filter is what is left of the parameters; nil when nothing is.
func (c *call) filter(people []*sim.User) func(sim.Row) bool {
	labels, stones, word := c.labelIDs(), c.milestoneIDs(), c.keyword()
	if len(labels)+len(stones) == 0 && word == nil && !slices.ContainsFunc(people, func(u *sim.User) bool { return u != nil }) {
		return nil
	}
	return func(r sim.Row) bool {
		return !slices.ContainsFunc(labels, func(id int64) bool { return !r.Labeled(id) }) &&
			(len(stones) == 0 || slices.Contains(stones, r.Milestone())) &&
			(people[0] == nil || r.Author() == people[0].ID) &&
			(people[1] == nil || r.Assigned(people[1].ID)) &&
			(people[2] == nil || strings.Contains(strings.ToLower(r.Body()), "@"+strings.ToLower(people[2].Login))) &&
			(word == nil || word(r))
	}
}

// people resolves filters by login; one that nobody has is 404.
func (c *call) people(params ...string) ([]*sim.User, bool) {
	out := make([]*sim.User, len(params))
	for i, name := range params {
		login := c.q.Get(name)
		if login == "" {
			continue
		}
		u, _, ok := c.w.User(login)
		if !ok {
			c.missing("", fmt.Sprintf("user does not exist [uid: 0, name: %s]", login))
			return nil, false
		}
		out[i] = &u
	}
	return out, true
}

// labelIDs are the labels that a row must have all of. The documentation says "any"; the code
// requires each (go-gitea/gitea#33509). Names are split at commas, compared exactly and not trimmed;
// what is unknown is dropped without a word, so that unknown names alone filter nothing; two labels
// of one name are both required. Labels of the organisation count on Forgejo only.
func (c *call) labelIDs() []int64 {
	names := strings.Split(c.q.Get("labels"), ",")
	all := c.w.Labels(c.repo.ID, false)
	if c.o.Flavour == Forgejo {
		all = append(all, c.w.Labels(c.repo.ID, true)...)
	}
	var ids []int64
	for _, l := range all {
		if slices.Contains(names, l.Name) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// milestoneIDs are titles or ids, any of which will do; unknown ones are dropped, as above.
func (c *call) milestoneIDs() []int64 {
	var ids []int64
	all := c.w.Milestones(c.repo.ID)
	for _, s := range strings.Split(c.q.Get("milestones"), ",") {
		byTitle := slices.IndexFunc(all, func(m sim.Milestone) bool { return m.Title == s })
		byID := slices.IndexFunc(all, func(m sim.Milestone) bool { return strconv.FormatInt(m.ID, 10) == s })
		switch {
		case byTitle >= 0:
			ids = append(ids, all[byTitle].ID)
		case byID >= 0:
			ids = append(ids, all[byID].ID)
		}
	}
	return ids
}

// keyword is the test of q, nil without one: words are looked for in title and body, and a
// number finds that entity as well.
func (c *call) keyword() func(sim.Row) bool {
	q := strings.TrimSpace(c.q.Get("q"))
	if q == "" {
		return nil
	}
	number := int64(atoi(q))
	words := strings.Fields(strings.ToLower(q))
	return func(r sim.Row) bool {
		if r.Number() == number {
			return true
		}
		text := strings.ToLower(r.Title() + "\n" + r.Body())
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
}

// listFor reads as of now, or as late as the search index when there are keywords.
func (c *call) listFor() sim.Reader {
	q := strings.TrimSpace(c.q.Get("q"))
	if _, err := strconv.ParseInt(q, 10, 64); q == "" || err == nil {
		return c.list()
	}
	return c.w.Reader(c.moves, max(c.cond.IndexLag, c.o.SearchLag))
}

// issueOrder: Gitea knows one order and ignores sort; Forgejo has several
// (forgejo, routers/api/v1/repo/issue.go). nil is newest-created first, then greatest id.
func (c *call) issueOrder() sim.Order {
	if c.o.Flavour != Forgejo {
		return nil
	}
	asc, desc := func(f func(sim.Row) time.Time) sim.Order {
		return func(a, b sim.Row) int { return f(a).Truncate(time.Second).Compare(f(b).Truncate(time.Second)) }
	}, func(o sim.Order) sim.Order { return func(a, b sim.Row) int { return o(b, a) } }
	switch c.q.Get("sort") {
	case "oldest":
		return func(a, b sim.Row) int { return cmp.Or(asc(sim.Row.Created)(a, b), cmp.Compare(a.ID(), b.ID())) }
	case "recentupdate":
		return desc(asc(sim.Row.Updated))
	case "leastupdate":
		return func(a, b sim.Row) int {
			return cmp.Or(asc(sim.Row.Updated)(a, b), asc(sim.Row.Created)(a, b), cmp.Compare(a.ID(), b.ID()))
		}
	case "mostcomment":
		return func(a, b sim.Row) int { return cmp.Compare(b.CommentCount(), a.CommentCount()) }
	case "leastcomment":
		return func(a, b sim.Row) int { return cmp.Compare(a.CommentCount(), b.CommentCount()) }
	case "nearduedate":
		return func(a, b sim.Row) int { return cmp.Compare(dueOrder(a), dueOrder(b)) }
	case "farduedate":
		return func(a, b sim.Row) int { return b.Due().Compare(a.Due()) }
	}
	return nil
}

func dueOrder(r sim.Row) int64 {
	if r.Due().IsZero() {
		return math.MaxInt64
	}
	return r.Due().Unix()
}

// listPulls lists pull requests (routers/api/v1/repo/pull.go; models/issues/pull_list.go). The
// state is documented to default to open and does to all. Labels are ids, repeated, any of which
// will do, joined without DISTINCT: a row appears once for each of them that it has, and counts so.
func (c *call) listPulls() {
	labels, poster, ok := c.pullFilters()
	if !ok {
		return
	}
	stone, base := c.q.Get("milestone"), strings.TrimSpace(c.q.Get("base_branch"))
	if c.o.Flavour == Forgejo {
		base = "" // not known there
	}
	state := strings.TrimSpace(c.q.Get("state"))
	keep := func(r sim.Row) bool {
		return (state != "open" || !r.Closed()) && (state != "closed" || r.Closed()) &&
			(stone == "" || stone == "0" || strconv.FormatInt(r.Milestone(), 10) == stone) &&
			(base == "" || r.Base() == base) && (poster == nil || r.Author() == poster.ID)
	}
	es, _ := c.list().Select(c.repo.ID, sim.Where{Kind: sim.ChangeProposal}, keep, c.pullOrder(), 0, math.MaxInt32)
	if len(labels) > 0 {
		es = joined(es, labels)
	}
	p := c.paging()
	rows := []pull{}
	for _, e := range part(es, p) {
		rows = append(rows, c.pull(e, false))
	}
	c.links(p, len(es))
	c.total(len(es))
	c.json(http.StatusOK, rows)
}

func (c *call) pullFilters() (labels []int64, poster *sim.User, ok bool) {
	for _, s := range c.q["labels"] {
		id, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			c.internal(err.Error())
			return nil, nil, false
		}
		labels = append(labels, id)
	}
	if login := c.q.Get("poster"); login != "" {
		u, _, found := c.w.User(login)
		if !found {
			c.fail(http.StatusBadRequest, fmt.Sprintf("user does not exist [uid: 0, name: %s]", login))
			return nil, nil, false
		}
		poster = &u
	}
	return labels, poster, true
}

func joined(es []sim.Entity, labels []int64) []sim.Entity {
	var out []sim.Entity
	for _, e := range es {
		for _, l := range e.Labels {
			if slices.Contains(labels, l.ID) {
				out = append(out, e)
			}
		}
	}
	return out
}

func (c *call) pullOrder() sim.Order {
	at := func(f func(sim.Row) time.Time, a, b sim.Row) int {
		return f(a).Truncate(time.Second).Compare(f(b).Truncate(time.Second))
	}
	switch strings.TrimSpace(c.q.Get("sort")) {
	case "oldest":
		return func(a, b sim.Row) int { return cmp.Or(at(sim.Row.Created, a, b), cmp.Compare(a.ID(), b.ID())) }
	case "recentupdate":
		return func(a, b sim.Row) int { return at(sim.Row.Updated, b, a) }
	case "recentclose":
		return func(a, b sim.Row) int { return at(sim.Row.ClosedAt, b, a) }
	case "leastupdate":
		return func(a, b sim.Row) int {
			return cmp.Or(at(sim.Row.Updated, a, b), at(sim.Row.Created, a, b), cmp.Compare(a.ID(), b.ID()))
		}
	case "mostcomment":
		return func(a, b sim.Row) int { return cmp.Compare(b.CommentCount(), a.CommentCount()) }
	case "leastcomment":
		return func(a, b sim.Row) int { return cmp.Compare(a.CommentCount(), b.CommentCount()) }
	}
	return nil
}

// listRepoComments lists the comments of the repository by creation, filtered by the comment's
// own update time: the only feed that shows edits (routers/api/v1/repo/issue_comment.go,
// ListRepoIssueComments). Without page everything comes at once, whatever limit says; the total
// is of all pages, and there is no Link.
func (c *call) listRepoComments() {
	win, ok := c.window()
	if !ok {
		return
	}
	all := slices.DeleteFunc(c.list().Comments(c.repo.ID), func(m sim.RepoComment) bool { return !win.has(m.Edited) })
	rows := []comment{}
	for _, m := range c.paged(len(all)).cut(all) {
		rows = append(rows, c.comment(c.repo, m.Kind, m.Number, m.Comment))
	}
	c.total(len(all))
	c.json(http.StatusOK, rows)
}

// span is the part of a list of comments that a request asks for.
type span struct{ from, to int }

// paged: FindComments pages only when page is above 0 (models/issues/comment.go).
func (c *call) paged(n int) span {
	p := c.paging()
	if p.page <= 0 {
		return span{0, n}
	}
	from := min(p.offset(), n)
	return span{from, min(from+p.size, n)}
}

func (s span) cut(all []sim.RepoComment) []sim.RepoComment { return all[s.from:s.to] }
