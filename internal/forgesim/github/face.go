package github

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// Options of a face.
type Options struct {
	Quirks Quirks
	// Schema, when set, validates every query; see the function of that name.
	Schema *ast.Schema
	// Moves are the rules of "updated"; 0: the world's own.
	Moves sim.Moves
	// Apps are the installations that may make tokens.
	Apps []App
}

// App is an installation of a GitHub App. Its tokens are a bot's.
type App struct {
	ID, Installation int64
	Bot              string // login of its account, without [bot]
	// Verify checks the signed token of the App.
	Verify func(token string, now time.Time) error
}

// Face answers GraphQL at /graphql and /api/graphql, and REST at / and /api/v3. It is safe for concurrent use.
type Face struct {
	w     *sim.World
	o     Options
	moves sim.Moves
	front http.Handler

	mu      sync.Mutex
	quirks  Quirks
	budgets map[string]*budget // by token
	minted  map[string]time.Time
	points  int
	asked   []string // queries, as they came
}

type budget struct {
	used  int
	until time.Time
}

// New is the API, with the world's counters, faults and clock before it.
func New(w *sim.World, o Options) *Face {
	f := &Face{w: w, o: o, moves: o.Moves, quirks: o.Quirks, budgets: map[string]*budget{}, minted: map[string]time.Time{}}
	if f.moves == 0 {
		f.moves = w.Profile().Moves
	}
	f.front = w.Front(f.classify, http.HandlerFunc(f.serve))
	return f
}

// Switch changes the quirks.
func (f *Face) Switch(change func(*Quirks)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.quirks)
}

// Points are the points that queries have cost since the last ResetPoints.
func (f *Face) Points() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.points
}

// ResetPoints sets the points back to nothing, and forgets the queries.
func (f *Face) ResetPoints() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.points, f.asked = 0, nil
}

// Queries are the texts of the last 1,000 queries, oldest first.
func (f *Face) Queries() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// ServeHTTP answers one request.
func (f *Face) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			http.Error(rw, "cannot read", http.StatusBadRequest)
			return
		}
		q := parseQuestion(b)
		r = r.WithContext(context.WithValue(r.Context(), questionKey{}, q))
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	f.front.ServeHTTP(rw, r)
}

func isGraphQL(r *http.Request) bool {
	return r.Method == http.MethodPost && (r.URL.Path == "/graphql" || r.URL.Path == "/api/graphql")
}

// route is one REST operation. Its pattern is below the API's root; "{x}" is any one segment.
type route struct {
	method, pattern, name string
	class                 sim.Class
	do                    func(*call)
}

func routes() []route {
	const repo = "repos/{owner}/{repo}"
	return []route{
		{http.MethodGet, repo + "/collaborators/{login}/permission", "permission", sim.ClassRole, (*call).permission},
		{http.MethodGet, "user/{id}", "user.byid", sim.ClassRole, (*call).userByID},
		{http.MethodGet, repo + "/issues/comments", "comments.list", sim.ClassSearch, (*call).comments},
		{http.MethodGet, repo + "/issues/{n}", "issue.get", sim.ClassRead, (*call).issue},
		{http.MethodPost, "app/installations/{id}/access_tokens", "app.token", sim.ClassIdentity, (*call).appToken},
	}
}

func find(r *http.Request) (route, map[string]string, bool) {
	p := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3")
	segs := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for _, rt := range routes() {
		want := strings.Split(rt.pattern, "/")
		if rt.method != r.Method || len(want) != len(segs) {
			continue
		}
		params, ok := map[string]string{}, true
		for i, wd := range want {
			v, err := url.PathUnescape(segs[i])
			name, variable := strings.CutPrefix(wd, "{")
			switch {
			case err != nil || v == "":
				ok = false
			case variable:
				params[strings.TrimSuffix(name, "}")] = v
			case v != wd:
				ok = false
			}
		}
		if ok {
			return rt, params, true
		}
	}
	return route{}, nil, false
}

func (f *Face) classify(r *http.Request) sim.Route {
	if isGraphQL(r) {
		q, _ := r.Context().Value(questionKey{}).(*question)
		return q.route()
	}
	if rt, _, ok := find(r); ok {
		return sim.Route{Name: rt.name, Class: rt.class}
	}
	return sim.Route{Name: "unknown", Class: sim.ClassOther}
}

// call is one request under way.
type call struct {
	*Face
	quirks Quirks
	rw     http.ResponseWriter
	r      *http.Request
	params map[string]string
	cond   sim.Conditions
	token  string
	doer   sim.User
	legacy bool // old node ids
}

func (f *Face) serve(rw http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	c := &call{Face: f, quirks: f.quirks, rw: rw, r: r, cond: sim.ConditionsOf(r.Context())}
	c.quirks.CustomRoles = f.quirks.CustomRoles
	f.mu.Unlock()
	c.legacy = c.quirks.LegacyIDs && r.Header.Get("X-Github-Next-Global-ID") != "1"
	rw.Header().Set("X-GitHub-Media-Type", "github.v3; format=json")
	rt, params, rest := find(r)
	c.params = params
	switch {
	case rest && rt.name == "app.token":
		c.appToken()
		return
	case !isGraphQL(r) && !rest:
		c.fail(http.StatusNotFound, "Not Found")
		return
	case !c.authenticate():
		return
	case c.limited():
		return
	case c.quirks.HTML:
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write([]byte("<!DOCTYPE html><title>We'll be back soon</title>")) // a client that left needs no answer
		return
	case rest:
		c.spend("core", 1)
		rt.do(c)
		return
	}
	c.graphql()
}

func (c *call) json(status int, v any) {
	c.rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	c.rw.WriteHeader(status)
	_ = json.NewEncoder(c.rw).Encode(v) // plain values always encode; a client that left needs no answer
}

func (c *call) fail(status int, message string) {
	c.json(status, map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)})
}

// authenticate finds the caller. Neither API of this face answers anybody without a token.
func (c *call) authenticate() bool {
	_, text, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if c.cond.Anonymous || text == "" {
		c.fail(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
		return false
	}
	t, ok := c.w.Token(text)
	c.mu.Lock()
	until, minted := c.minted[text]
	c.mu.Unlock()
	if !ok || minted && !c.w.Now().Before(until) {
		c.fail(http.StatusUnauthorized, "Bad credentials")
		return false
	}
	c.token, c.doer = text, t.User
	return true
}

const (
	secondaryText = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	primaryText   = "API rate limit exceeded for user ID %d."
)

// limited answers with a limit when one is switched on.
func (c *call) limited() bool {
	c.mu.Lock()
	kind := c.quirks.Limit
	if c.Face.quirks.LimitCount <= 0 {
		kind = NoLimit
	}
	if kind != NoLimit {
		c.Face.quirks.LimitCount--
	}
	c.mu.Unlock()
	if kind == NoLimit {
		return false
	}
	if c.quirks.RetryAfter != "" {
		c.rw.Header().Set("Retry-After", c.quirks.RetryAfter)
	}
	errs := func(typ, text string) map[string]any {
		return map[string]any{"errors": []any{map[string]any{"type": typ, "message": text}}}
	}
	switch kind {
	case SecondaryForbidden:
		c.fail(http.StatusForbidden, secondaryText)
	case SecondaryOK:
		c.json(http.StatusOK, errs("RATE_LIMITED", secondaryText))
	case PrimaryOK:
		c.headers("graphql", &budget{used: c.budget(), until: c.w.Now().Add(20 * time.Minute)})
		c.json(http.StatusOK, errs("RATE_LIMITED", fmt.Sprintf(primaryText, c.doer.ID)))
	default:
		c.fail(http.StatusTooManyRequests, secondaryText)
	}
	return true
}

func (c *call) budget() int { return cmp.Or(c.quirks.Points, 5000) }

// spend takes points off the hour's budget and says so in the headers; false when there are none left.
func (c *call) spend(resource string, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.token + " " + resource
	now := c.w.Now()
	b := c.budgets[key]
	if b == nil || !now.Before(b.until) {
		b = &budget{until: now.Add(time.Hour)}
		c.budgets[key] = b
	}
	if b.used >= c.budget() {
		c.headers(resource, b)
		return false
	}
	b.used += n
	if resource == "graphql" {
		c.points += n
	}
	c.headers(resource, b)
	return true
}

func (c *call) headers(resource string, b *budget) {
	h := c.rw.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(c.budget()))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, c.budget()-b.used)))
	h.Set("X-RateLimit-Used", strconv.Itoa(b.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(b.until.Unix(), 10))
	h.Set("X-RateLimit-Resource", resource)
}

func (c *call) list() sim.Reader   { return c.w.Reader(c.moves, c.cond.IndexLag) }
func (c *call) single() sim.Reader { return c.w.Reader(c.moves, c.cond.ReplicaLag) }
