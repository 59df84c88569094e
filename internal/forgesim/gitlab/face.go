package gitlab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// Options of a face; the zero value is a GitLab at the root of its host.
type Options struct {
	Quirks Quirks
	Prefix string // path of the instance, "/gitlab"
	// Moves are the rules of "updated"; 0: the world's own.
	Moves sim.Moves
}

// Face answers the API at /api/v4. It is safe for concurrent use.
type Face struct {
	w      *sim.World
	o      Options
	moves  sim.Moves
	table  []route
	served http.Handler

	mu     sync.Mutex
	quirks Quirks
	used   map[string]*window // by token and limit
}

type window struct {
	start time.Time
	n     int
}

// New is the API, with the world's counters, faults and clock before it.
func New(w *sim.World, o Options) *Face {
	f := &Face{w: w, o: o, moves: o.Moves, quirks: o.Quirks, used: map[string]*window{}, table: routes()}
	if f.moves == 0 {
		f.moves = w.Profile().Moves
	}
	f.served = w.Front(f.classify, http.HandlerFunc(f.serve))
	return f
}

// Switch changes the quirks.
func (f *Face) Switch(change func(*Quirks)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.quirks)
}

func (f *Face) now() Quirks {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.quirks
}

// total is the name under which the world's faults know a count; the face shows it as GitLab's.
const total = "X-Total-Count"

// ServeHTTP answers one request.
func (f *Face) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.served.ServeHTTP(&renaming{ResponseWriter: rw}, r)
}

// renaming shows the count under GitLab's name.
type renaming struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *renaming) WriteHeader(status int) {
	h := r.Header()
	if v := h.Get(total); v != "" {
		h.Set("X-Total", v)
		h.Del(total)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap serves http.ResponseController.
func (r *renaming) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// route is one operation. Its pattern is below /api/v4; "{x}" is any one segment.
type route struct {
	pattern, name string
	class         sim.Class
	do            func(*call)
}

func routes() []route {
	const p = "projects/{id}"
	return []route{
		{"user", "user.self", sim.ClassIdentity, (*call).self},
		{"personal_access_tokens/self", "token.self", sim.ClassIdentity, (*call).tokenSelf},
		{"users", "users.list", sim.ClassRead, (*call).users},
		{"users/{user}", "user.get", sim.ClassRole, (*call).user},
		{p, "project.get", sim.ClassIdentity, (*call).project},
		{p + "/members/all/{user}", "member.all", sim.ClassRole, (*call).memberAll},
		{p + "/members/all", "members.all", sim.ClassRole, (*call).membersAll},
		{p + "/members/{user}", "member.direct", sim.ClassRole, (*call).memberDirect},
		{p + "/labels", "labels.list", sim.ClassRead, (*call).labels},
		{p + "/milestones", "milestones.list", sim.ClassRead, (*call).milestones},

		{p + "/issues", "issues.list", sim.ClassSearch, func(c *call) { c.list(sim.WorkItem) }},
		{p + "/issues/{n}", "issue.get", sim.ClassRead, func(c *call) { c.single(sim.WorkItem) }},
		{p + "/issues/{n}/notes", "issue.notes", sim.ClassRead, func(c *call) { c.notes(sim.WorkItem) }},
		{p + "/issues/{n}/resource_label_events", "issue.labelevents", sim.ClassRead, func(c *call) { c.labelEvents(sim.WorkItem) }},
		{p + "/issues/{n}/resource_state_events", "issue.stateevents", sim.ClassRead, func(c *call) { c.stateEvents(sim.WorkItem) }},
		{p + "/issues/{n}/closed_by", "issue.closedby", sim.ClassRead, (*call).closedBy},

		{p + "/merge_requests", "merges.list", sim.ClassSearch, func(c *call) { c.list(sim.ChangeProposal) }},
		{p + "/merge_requests/{n}", "merge.get", sim.ClassRead, func(c *call) { c.single(sim.ChangeProposal) }},
		{p + "/merge_requests/{n}/notes", "merge.notes", sim.ClassRead, func(c *call) { c.notes(sim.ChangeProposal) }},
		{p + "/merge_requests/{n}/resource_label_events", "merge.labelevents", sim.ClassRead, func(c *call) { c.labelEvents(sim.ChangeProposal) }},
		{p + "/merge_requests/{n}/resource_state_events", "merge.stateevents", sim.ClassRead, func(c *call) { c.stateEvents(sim.ChangeProposal) }},
		{p + "/merge_requests/{n}/approvals", "merge.approvals", sim.ClassRead, (*call).approvals},
		{p + "/merge_requests/{n}/reviewers", "merge.reviewers", sim.ClassRead, (*call).reviewers},
		{p + "/merge_requests/{n}/versions", "merge.versions", sim.ClassRead, (*call).versions},
	}
}

func (f *Face) find(r *http.Request) (route, map[string]string, bool) {
	p, ok := strings.CutPrefix(r.URL.EscapedPath(), f.o.Prefix+"/api/v4/")
	if !ok {
		return route{}, nil, false
	}
	segs := strings.Split(p, "/")
	for _, rt := range f.table {
		if params, ok := match(rt.pattern, segs); ok {
			return rt, params, true
		}
	}
	return route{}, nil, false
}

func match(pattern string, segs []string) (map[string]string, bool) {
	want := strings.Split(pattern, "/")
	if len(want) != len(segs) {
		return nil, false
	}
	params := map[string]string{}
	for i, wd := range want {
		if name, ok := strings.CutPrefix(wd, "{"); ok {
			v, err := url.PathUnescape(segs[i])
			if err != nil || v == "" {
				return nil, false
			}
			params[strings.TrimSuffix(name, "}")] = v
		} else if wd != segs[i] {
			return nil, false
		}
	}
	return params, true
}

func (f *Face) classify(r *http.Request) sim.Route {
	if rt, _, ok := f.find(r); ok {
		if rt.class == sim.ClassSearch && r.URL.Query().Has("iids[]") {
			return sim.Route{Name: strings.TrimSuffix(rt.name, "list") + "byiid", Class: sim.ClassRead} // entities that are named
		}
		return sim.Route{Name: rt.name, Class: rt.class}
	}
	return sim.Route{Name: "unknown", Class: sim.ClassOther}
}

// call is one request under way.
type call struct {
	*Face
	k      Quirks
	rw     http.ResponseWriter
	r      *http.Request
	q      url.Values
	params map[string]string
	cond   sim.Conditions
	doer   *sim.User // nil: anonymous
	repo   sim.Repo
	member sim.Membership // of the caller
}

func (f *Face) serve(rw http.ResponseWriter, r *http.Request) {
	c := &call{Face: f, k: f.now(), rw: rw, r: r, q: r.URL.Query(), cond: sim.ConditionsOf(r.Context())}
	rt, params, ok := f.find(r)
	if !ok {
		c.fail(http.StatusNotFound, "404 Not Found")
		return
	}
	c.params = params
	if !c.authenticate() || !c.within(rt) {
		return
	}
	if _, needs := params["id"]; needs && !c.openProject() {
		return
	}
	if r.Method != http.MethodGet {
		c.fail(http.StatusMethodNotAllowed, "405 Not Allowed") // this face only shows
		return
	}
	rt.do(c)
}

func (c *call) base() string { return "http://" + c.r.Host + c.o.Prefix + "/" }

func (c *call) json(v any) {
	c.rw.Header().Set("Content-Type", "application/json")
	c.rw.WriteHeader(http.StatusOK)
	_ = json.NewEncoder(c.rw).Encode(v) // plain structs always encode; a client that left needs no answer
}

func (c *call) fail(status int, message string) {
	c.rw.Header().Set("Content-Type", "application/json")
	c.rw.WriteHeader(status)
	_ = json.NewEncoder(c.rw).Encode(map[string]string{"message": message})
}

func (c *call) token() string {
	if t, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer "); ok {
		return t
	}
	return cmp.Or(c.r.Header.Get("PRIVATE-TOKEN"), c.q.Get("private_token"))
}

// authenticate finds the caller. A token that nobody has is 401 on every route, also where anonymous callers are welcome
// (lib/api/api_guard.rb).
func (c *call) authenticate() bool {
	text := c.token()
	if text == "" || c.cond.Anonymous {
		return true
	}
	t, ok := c.w.Token(text)
	if !ok || t.User.Blocked {
		c.rw.Header().Set("Content-Type", "application/json")
		c.rw.WriteHeader(http.StatusUnauthorized)
		_, _ = c.rw.Write([]byte(`{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}` + "\n"))
		return false
	}
	c.doer = &t.User
	return true
}

// within keeps the limits: the one of the user, told in headers, and those of single routes, which are told nowhere.
func (c *call) within(rt route) bool {
	if c.k.PerMinute > 0 {
		n, reset := c.spend("all")
		left := max(c.k.PerMinute-n, 0)
		over := n > c.k.PerMinute
		if !over || !c.k.SilentLimit {
			h := c.rw.Header()
			h.Set("RateLimit-Limit", strconv.Itoa(c.k.PerMinute))
			h.Set("RateLimit-Name", "throttle_authenticated_api")
			h.Set("RateLimit-Observed", strconv.Itoa(n))
			h.Set("RateLimit-Remaining", strconv.Itoa(left))
			h.Set("RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
			if over {
				h.Set("RateLimit-ResetTime", reset.Format(http.TimeFormat))
			}
		}
		if over {
			c.later(reset)
			return false
		}
	}
	if strings.HasPrefix(rt.pattern, "projects/{id}/members/all") && c.k.MembersPerMinute > 0 {
		if n, _ := c.spend("members"); n > c.k.MembersPerMinute {
			c.rw.Header().Set("Content-Type", "application/json")
			c.rw.WriteHeader(http.StatusTooManyRequests)
			_, _ = c.rw.Write([]byte(`{"message":{"error":"This endpoint has been requested too many times. Try again later."}}` + "\n"))
			return false
		}
	}
	return true
}

func (c *call) spend(what string) (n int, reset time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, now := what+" "+c.token(), c.w.Now()
	win := c.used[key]
	if win == nil || now.Sub(win.start) >= time.Minute || now.Before(win.start) {
		win = &window{start: now.Truncate(time.Minute)}
		c.used[key] = win
	}
	win.n++
	return win.n, win.start.Add(time.Minute)
}

// later is what the throttle before the application says, in plain text.
func (c *call) later(reset time.Time) {
	if !c.k.SilentLimit && !c.k.NoRetryAfter {
		c.rw.Header().Set("Retry-After", strconv.Itoa(max(int(reset.Sub(c.w.Now()).Seconds()), 1)))
	}
	c.rw.Header().Set("Content-Type", "text/plain")
	c.rw.WriteHeader(http.StatusTooManyRequests)
	_, _ = c.rw.Write([]byte("Retry later\n"))
}

// openProject finds the project of the path, by number or by full path, and what the caller may do there. A path that was
// given up redirects to the number; all digits without a slash are a number, never a name.
func (c *call) openProject() bool {
	id := c.params["id"]
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		r, ok := c.w.RepoByID(n)
		return c.enter(r, ok)
	}
	r, was, ok := c.w.Repo(id)
	if was == nil {
		return c.enter(r, ok)
	}
	if !c.sees(*was) {
		return c.enter(r, false)
	}
	if c.r.Method != http.MethodGet {
		c.fail(http.StatusMethodNotAllowed, "Non GET methods are not allowed for moved projects")
		return false
	}
	target := strings.Replace(c.r.URL.EscapedPath(), url.PathEscape(id), strconv.FormatInt(was.ID, 10), 1)
	if c.r.URL.RawQuery != "" {
		target += "?" + c.r.URL.RawQuery
	}
	http.Redirect(c.rw, c.r, target, http.StatusMovedPermanently)
	return false
}

func (c *call) sees(r sim.Repo) bool {
	c.member = sim.Membership{}
	if c.doer != nil {
		c.member = c.w.Member(r.ID, c.doer.ID)
	}
	return !r.Private || c.member.Role >= sim.Read || c.root()
}

func (c *call) root() bool { return c.doer != nil && c.doer.SiteRoot }

func (c *call) enter(r sim.Repo, ok bool) bool {
	if !ok || !c.sees(r) {
		c.fail(http.StatusNotFound, "404 Project Not Found")
		return false
	}
	c.repo = r
	return true
}

func (c *call) doerID() int64 {
	if c.doer == nil {
		return 0
	}
	return c.doer.ID
}

// signedIn refuses anonymous callers.
func (c *call) signedIn() bool {
	if c.doer == nil {
		c.fail(http.StatusUnauthorized, "401 Unauthorized")
		return false
	}
	return true
}

// number reads a number of the path; what is none counts as 0, which nothing has.
func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.params[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// bad answers as the parameter checks do.
func (c *call) bad(format string, args ...any) {
	c.rw.Header().Set("Content-Type", "application/json")
	c.rw.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(c.rw).Encode(map[string]string{"error": fmt.Sprintf(format, args...)})
}

func has[T comparable](xs []T, x T) bool { return slices.Contains(xs, x) }
