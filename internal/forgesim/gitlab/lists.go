package gitlab

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// list lists issues or merge requests of a project (lib/api/issues.rb, lib/api/merge_requests.rb).
func (c *call) list(kind sim.Kind) {
	if !c.open(kind) {
		return
	}
	keep, since, ok := c.filter(kind)
	if !ok {
		return
	}
	order, ok := c.order()
	if !ok {
		return
	}
	reader := c.w.Reader(c.moves, c.lag(kind))
	where := sim.Where{Kind: kind, Since: since}
	if c.q.Get("pagination") == "keyset" {
		if kind == sim.ChangeProposal || c.k.KeysetRefused {
			c.fail(http.StatusMethodNotAllowed, "Keyset pagination is not yet available for this type of request")
			return
		}
		if !c.k.NoKeyset && order.keyset {
			c.keyset(kind, reader, where, keep, order)
			return
		}
		// An order that cannot be paged by key falls back to pages by number without a word.
	}
	p, ok := c.paging()
	if !ok {
		return
	}
	es, n := reader.Select(c.repo.ID, where, keep, order.by, p.offset(), p.size)
	c.head(p, n)
	c.json(c.rows(kind, es))
}

// open refuses a list that is switched off, or that the caller may not see: guests of a private project see no merge
// requests (app/policies/project_policy.rb).
func (c *call) open(kind sim.Kind) bool {
	off := c.k.IssuesOff
	if kind == sim.ChangeProposal {
		off = c.k.MergesOff || c.repo.Private && c.member.Role < sim.Triage && !c.root()
	}
	if off {
		c.fail(http.StatusForbidden, "403 Forbidden")
	}
	return !off
}

func (c *call) lag(kind sim.Kind) time.Duration {
	lag := max(c.cond.IndexLag, c.cond.ReplicaLag)
	if kind == sim.ChangeProposal && c.q.Get("with_labels_details") != "true" {
		lag = max(lag, c.k.StaleList)
	}
	return lag
}

func (c *call) rows(kind sim.Kind, es []sim.Entity) []any {
	details := c.q.Get("with_labels_details") == "true" && !c.k.NoLabelDetails
	rows := make([]any, len(es))
	for i := range es {
		rows[i] = c.entity(kind, es[i], details, false)
	}
	return rows
}

// ordering is order_by and sort. Ties are broken by id, descending (app/models/concerns/issuable.rb, sort_by_attribute).
type ordering struct {
	name   string
	at     func(sim.Row) time.Time
	asc    bool
	keyset bool
	by     sim.Order
}

func (c *call) order() (ordering, bool) {
	o := ordering{name: cmp.Or(last(c.q["order_by"]), "created_at"), asc: last(c.q["sort"]) == "asc", keyset: true}
	switch o.name {
	case "created_at":
		o.at = sim.Row.Created
	case "updated_at":
		o.at = sim.Row.Updated
	case "due_date":
		o.at = sim.Row.Due
	case "priority", "label_priority", "milestone_due", "popularity", "title", "relative_position", "weight":
		o.at, o.keyset = sim.Row.Created, false // their own order does not matter here
	default:
		c.bad("order_by does not have a valid value")
		return o, false
	}
	o.by = func(a, b sim.Row) int {
		n := micro(o.at(a)).Compare(micro(o.at(b)))
		if !o.asc {
			n = -n
		}
		return cmp.Or(n, cmp.Compare(b.ID(), a.ID()))
	}
	return o, true
}

// last is what a Rails server keeps of a parameter that comes twice.
func last(vs []string) string {
	if len(vs) == 0 {
		return ""
	}
	return vs[len(vs)-1]
}

// micro is a time as the database keeps it.
func micro(t time.Time) time.Time { return t.Truncate(time.Microsecond) }

// key is a place in a list by key.
type key struct {
	At time.Time `json:"at"`
	ID int64     `json:"id,string"`
}

// keyset pages by key: a cursor in the Link header, and none of the headers of pages by number.
func (c *call) keyset(kind sim.Kind, reader sim.Reader, where sim.Where, keep func(sim.Row) bool, o ordering) {
	p, ok := c.paging()
	if !ok {
		return
	}
	var from *key
	if text := c.q.Get("cursor"); text != "" {
		raw, err := base64.URLEncoding.DecodeString(text)
		from = new(key)
		if err != nil || json.Unmarshal(raw, from) != nil || c.k.CursorExpired {
			c.bad("cursor is invalid")
			return
		}
	}
	behind := func(r sim.Row) bool {
		if !keep(r) {
			return false
		}
		if from == nil {
			return true
		}
		n := micro(o.at(r)).Compare(from.At)
		if !o.asc {
			n = -n
		}
		return n > 0 || n == 0 && r.ID() < from.ID
	}
	var ends []key // of the page's rows, as the rows themselves are shown without microseconds
	es, n := reader.Select(c.repo.ID, where, behind, o.by, 0, p.size)
	for _, e := range es {
		ends = append(ends, key{micro(o.of(e)), e.ID})
	}
	if n > len(es) {
		raw, err := json.Marshal(ends[len(ends)-1])
		if err != nil {
			panic(err) // a time and a number
		}
		q := c.r.URL.Query()
		q.Set("cursor", base64.URLEncoding.EncodeToString(raw))
		u := *c.r.URL
		u.RawQuery = q.Encode()
		c.rw.Header().Set("Link", fmt.Sprintf("<http://%s%s>; rel=\"next\"", c.r.Host, u.RequestURI()))
	}
	c.json(c.rows(kind, es))
}

func (o ordering) of(e sim.Entity) time.Time {
	switch o.name {
	case "updated_at":
		return e.Updated
	case "due_date":
		return e.Due
	}
	return e.Created
}

// filter is what is left of the parameters. since is a cheap bound in whole seconds on the update time.
func (c *call) filter(kind sim.Kind) (keep func(sim.Row) bool, since int64, ok bool) {
	var tests []func(sim.Row) bool
	add := func(t func(sim.Row) bool) { tests = append(tests, t) }
	since, ok = c.bounds(add)
	if !ok || !c.state(kind, add) || !c.people(add) || !c.names(add) {
		return nil, 0, false
	}
	if iids := c.q["iids[]"]; len(iids) > 0 {
		add(func(r sim.Row) bool { return has(iids, strconv.FormatInt(r.Number(), 10)) })
	}
	if q := strings.ToLower(c.q.Get("search")); q != "" {
		add(func(r sim.Row) bool { return strings.Contains(strings.ToLower(r.Title()+"\n"+r.Body()), q) })
	}
	if kind == sim.WorkItem && !c.seesConfidential() {
		me := c.doerID()
		add(func(r sim.Row) bool { return !r.Confidential() || me != 0 && r.Involves(me) })
	}
	return func(r sim.Row) bool {
		return !slices.ContainsFunc(tests, func(t func(sim.Row) bool) bool { return !t(r) })
	}, since, true
}

// seesConfidential: from Planner on (doc/user/project/issues/confidential_issues.md), which the world does not know: Triage.
func (c *call) seesConfidential() bool { return c.member.Role >= sim.Triage || c.root() }

// bounds are created_ and updated_, after and before, inclusive on both ends (lib/api/issues.rb).
func (c *call) bounds(add func(func(sim.Row) bool)) (since int64, ok bool) {
	for _, name := range []string{"created_after", "created_before", "updated_after", "updated_before"} {
		text := c.q.Get(name)
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			c.bad("%s is invalid", name)
			return 0, false
		}
		if c.k.WholeSeconds {
			t = t.Truncate(time.Second)
		}
		at := sim.Row.Created
		if strings.HasPrefix(name, "updated") {
			at = sim.Row.Updated
		}
		if strings.HasSuffix(name, "after") {
			add(func(r sim.Row) bool { return !micro(at(r)).Before(t) })
		} else {
			add(func(r sim.Row) bool { return !micro(at(r)).After(t) })
		}
		if name == "updated_after" {
			since = t.Unix()
		}
	}
	return since, true
}

// state: all by default; locked is a state of its own, so that opened, closed and merged are not everything.
func (c *call) state(kind sim.Kind, add func(func(sim.Row) bool)) bool {
	state := c.q.Get("state")
	merged := map[int64]bool{}
	if kind == sim.ChangeProposal && (state == "merged" || state == "closed") {
		es, _ := c.w.Reader(c.moves, 0).Select(c.repo.ID, sim.Where{Kind: kind}, nil, nil, 0, math.MaxInt32)
		for _, e := range es {
			merged[e.Number] = e.Merged
		}
	}
	locked := func(r sim.Row) bool { return kind == sim.ChangeProposal && has(c.k.LockedMerges, r.Number()) }
	switch state {
	case "", "all":
	case "opened":
		add(func(r sim.Row) bool { return !r.Closed() && !locked(r) })
	case "closed":
		add(func(r sim.Row) bool { return r.Closed() && !merged[r.Number()] })
	case "merged":
		add(func(r sim.Row) bool { return merged[r.Number()] })
	case "locked":
		add(locked)
	default:
		c.bad("state does not have a valid value")
		return false
	}
	return true
}

func (c *call) people(add func(func(sim.Row) bool)) bool {
	if id := c.q.Get("author_id"); id != "" {
		add(func(r sim.Row) bool { return strconv.FormatInt(r.Author(), 10) == id })
	}
	if login := c.q.Get("author_username"); login != "" {
		u, _, ok := c.w.User(login)
		add(func(r sim.Row) bool { return ok && r.Author() == u.ID })
	}
	names := c.q["assignee_username[]"]
	if one := c.q.Get("assignee_username"); one != "" {
		names = append(names, one)
	}
	if len(names) > 1 {
		c.bad("assignee_username allows one value, but found %d: %s", len(names), strings.Join(names, ", "))
		return false
	}
	for _, login := range names {
		u, _, ok := c.w.User(login)
		add(func(r sim.Row) bool { return ok && r.Assigned(u.ID) })
	}
	return true
}

// names are labels and milestone. Positive labels are all required; one that nobody has, or one that is repeated, empties the
// answer; None and Any replace the whole filter wherever they stand (app/finders/issuables/label_filter.rb).
func (c *call) names(add func(func(sim.Row) bool)) bool {
	all := append(c.w.Labels(c.repo.ID, false), c.w.Labels(c.repo.ID, true)...)
	ids := func(name string) (out []int64) {
		for _, l := range all {
			if l.Name == name {
				out = append(out, l.ID)
			}
		}
		return out
	}
	labeled := func(r sim.Row, of []int64) bool { return slices.ContainsFunc(of, r.Labeled) }
	any := func(r sim.Row) bool {
		return slices.ContainsFunc(all, func(l sim.Label) bool { return r.Labeled(l.ID) })
	}
	wanted := split(c.q.Get("labels"))
	wild := func(word string) bool {
		return slices.ContainsFunc(wanted, func(n string) bool { return strings.EqualFold(n, word) })
	}
	switch {
	case wild("none"):
		add(func(r sim.Row) bool { return !any(r) })
	case wild("any"):
		add(any)
	default:
		seen := map[string]bool{}
		for _, name := range wanted {
			of := ids(name)
			if len(of) == 0 || seen[name] {
				of = nil
			}
			seen[name] = true
			add(func(r sim.Row) bool { return labeled(r, of) })
		}
		if len(seen) < len(wanted) {
			add(func(sim.Row) bool { return false })
		}
	}
	for _, name := range split(c.q.Get("not[labels]")) {
		of := ids(name)
		add(func(r sim.Row) bool { return !labeled(r, of) })
	}
	if title := c.q.Get("milestone"); title != "" {
		stones := c.w.Milestones(c.repo.ID)
		add(func(r sim.Row) bool {
			return slices.ContainsFunc(stones, func(m sim.Milestone) bool { return m.ID == r.Milestone() && m.Title == title })
		})
	}
	return true
}

// split is how a list of names is read: at commas, trimmed.
func split(s string) (out []string) {
	for _, p := range strings.Split(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}
