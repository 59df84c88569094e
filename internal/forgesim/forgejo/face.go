package forgejo

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// Flavour is the server that the face plays.
type Flavour string

// The flavours.
const (
	Gitea124 Flavour = "gitea-1.24"
	Gitea127 Flavour = "gitea-1.27"
	Forgejo  Flavour = "forgejo"
)

// Options of a face; the zero value is Gitea 1.24 with its default settings.
type Options struct {
	Flavour Flavour
	// BaseURL is the server's configured address, which it puts into links whatever the
	// request says; empty: the request's host.
	BaseURL string
	// MaxItems caps and DefaultItems sets the length of a page ([api] MAX_RESPONSE_ITEMS and
	// DEFAULT_PAGING_NUM); 0: 50 and 30.
	MaxItems, DefaultItems int
	// Version replaces what /version reports.
	Version string
	// SearchLag is how late keyword searches are, which are answered by an index that is fed
	// asynchronously: 10 of 10 fresh issues were missing on a Gitea 1.27.3, for 0.2 to 1.6 s
	// (modules/indexer/issues/indexer.go says why). 0: 1.6 s; negative: none.
	SearchLag time.Duration
}

// Profile is the world profile that fits a flavour.
func (f Flavour) Profile() forgesim.Profile {
	if f == Forgejo {
		return forgesim.Forgejo()
	}
	return forgesim.Gitea()
}

// Face answers the API of one flavour from a world.
type face struct {
	w     *forgesim.World
	o     Options
	moves forgesim.Moves
	table []route
}

// New is the API, at /api/v1, with the world's counters, faults and clock before it.
func New(w *forgesim.World, o Options) http.Handler {
	o.Flavour = cmp.Or(o.Flavour, Gitea124)
	o.MaxItems, o.DefaultItems = cmp.Or(o.MaxItems, 50), cmp.Or(o.DefaultItems, 30)
	o.SearchLag = cmp.Or(o.SearchLag, 1600*time.Millisecond)
	o.Version = cmp.Or(o.Version, map[Flavour]string{Gitea124: "1.24.6", Gitea127: "1.27.3", Forgejo: "16.0.0+gitea-1.22.0"}[o.Flavour])
	f := &face{w: w, o: o, moves: o.Flavour.Profile().Moves, table: routes()}
	return w.Front(f.classify, f)
}

// route is one operation. Its pattern is below /api/v1; "{x}" is any one segment.
type route struct {
	method, pattern, name string
	class                 forgesim.Class
	scope                 string // token scope it needs; "" none
	do                    func(*call)
}

func (f *face) find(r *http.Request) (route, map[string]string, bool) {
	p, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v1/")
	if !ok {
		return route{}, nil, false
	}
	segs := strings.Split(p, "/")
	for _, rt := range f.table {
		if rt.method != r.Method {
			continue
		}
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

func (f *face) classify(r *http.Request) forgesim.Route {
	if rt, _, ok := f.find(r); ok {
		return forgesim.Route{Name: rt.name, Class: rt.class}
	}
	return forgesim.Route{Name: "unknown", Class: forgesim.ClassOther}
}

// ServeHTTP answers one request.
func (f *face) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("X-Content-Type-Options", "nosniff")
	rw.Header().Set("X-Frame-Options", "SAMEORIGIN")
	rw.Header().Set("Cache-Control", "max-age=0, private, must-revalidate, no-transform")
	rt, params, ok := f.find(r)
	if !ok {
		http.NotFound(rw, r)
		return
	}
	c := &call{face: f, rw: rw, r: r, params: params, q: r.URL.Query(), cond: forgesim.ConditionsOf(r.Context())}
	if !c.authenticate(rt) {
		return
	}
	if params["owner"] != "" && params["repo"] != "" && !c.openRepo() {
		return
	}
	rt.do(c)
}

// call is one request under way.
type call struct {
	*face
	rw     http.ResponseWriter
	r      *http.Request
	q      url.Values
	params map[string]string
	cond   forgesim.Conditions
	doer   *forgesim.User // nil: anonymous
	repo   forgesim.Repo
	role   forgesim.Role // of the caller
}

func (c *call) base() string {
	if c.o.BaseURL != "" {
		return strings.TrimSuffix(c.o.BaseURL, "/") + "/"
	}
	return "http://" + c.r.Host + "/"
}

func (c *call) json(status int, v any) {
	c.rw.Header().Set("Content-Type", "application/json;charset=utf-8")
	c.rw.WriteHeader(status)
	_ = json.NewEncoder(c.rw).Encode(v) // plain structs always encode; a client that left needs no answer
}

func (c *call) fail(status int, message string) {
	c.json(status, apiError{message, c.base() + "api/swagger"})
}

// internal is the error of something the server did not expect; production hides the message
// from everybody but administrators of the instance.
func (c *call) internal(message string) {
	if c.doer == nil || !c.doer.SiteRoot {
		message = ""
	}
	c.fail(http.StatusInternalServerError, message)
}

func (c *call) missing(message string, errs ...string) {
	if c.o.Flavour == Gitea127 {
		c.fail(http.StatusNotFound, cmp.Or(message, "not found"))
		return
	}
	c.json(http.StatusNotFound, notFound{errs, cmp.Or(message, "The target couldn't be found."), c.base() + "api/swagger"})
}

// token reads a credential from where the servers take one.
func (c *call) token() string {
	kind, rest, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	switch {
	case kind == "token" || strings.EqualFold(kind, "bearer"):
		return strings.TrimSpace(rest)
	case strings.EqualFold(kind, "basic"):
		name, pass, _ := c.r.BasicAuth()
		if pass == "" || pass == "x-oauth-basic" {
			return name
		}
		return pass
	}
	return cmp.Or(c.q.Get("token"), c.q.Get("access_token"))
}

// authenticate finds the caller. A token that nobody has is 401 on every route, also where
// anonymous callers are welcome (services/auth/oauth2.go; AuthShared).
func (c *call) authenticate(rt route) bool {
	text := c.token()
	if text == "" || c.cond.Anonymous {
		return true
	}
	t, ok := c.w.Token(text)
	if !ok {
		c.fail(http.StatusUnauthorized, "user does not exist [uid: 0, name: ]")
		return false
	}
	if rt.scope != "" && t.Scopes != nil && !inScope(t.Scopes, rt) {
		need := level(rt) + ":" + rt.scope
		c.fail(http.StatusForbidden, "token does not have at least one of required scope(s), required=["+need+"], token scope="+strings.Join(t.Scopes, ","))
		return false
	}
	c.doer = &t.User
	return true
}

func level(rt route) string {
	if rt.method == http.MethodGet {
		return "read"
	}
	return "write"
}

func inScope(scopes []string, rt route) bool {
	for _, s := range scopes {
		if s == "all" || s == "write:"+rt.scope || s == "read:"+rt.scope && level(rt) == "read" {
			return true
		}
	}
	return false
}

// openRepo finds the repository of the path and what the caller may do there. An old path of
// a renamed account is 307, of a renamed repository 301; both keep the query
// (services/context/context_response.go, repo.go).
func (c *call) openRepo() bool {
	owner, name := c.params["owner"], c.params["repo"]
	o, was, ok := c.w.User(owner)
	if was != nil {
		c.redirect(owner, was.Login, http.StatusTemporaryRedirect)
		return false
	}
	if !ok {
		c.missing("GetUserByName", "user redirect does not exist [name: "+strings.ToLower(owner)+"]")
		return false
	}
	r, moved, ok := c.w.Repo(o.Login + "/" + name)
	if moved != nil {
		c.redirect(owner+"/"+name, moved.FullName(), http.StatusMovedPermanently)
		return false
	}
	if !ok {
		c.missing("")
		return false
	}
	return c.enter(r)
}

func (c *call) enter(r forgesim.Repo) bool {
	c.repo, c.role = r, c.w.Role(r.ID, c.doerID())
	if c.role < forgesim.Read {
		c.missing("")
		return false
	}
	return true
}

func (c *call) redirect(from, to string, status int) {
	target := strings.Replace(c.r.URL.EscapedPath(), from, to, 1)
	if c.r.URL.RawQuery != "" {
		target += "?" + c.r.URL.RawQuery
	}
	http.Redirect(c.rw, c.r, target, status)
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
		c.fail(http.StatusUnauthorized, "token is required")
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

// list reads entities as a listing shows them, single as a direct read shows them.
func (c *call) list() forgesim.Reader   { return c.w.Reader(c.moves, c.cond.IndexLag) }
func (c *call) single() forgesim.Reader { return c.w.Reader(c.moves, c.cond.ReplicaLag) }
