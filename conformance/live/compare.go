package live

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	sim "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Difference is something that the real server and the simulated one answer otherwise. Route is the request without ids;
// Path is where in the answer.
type Difference struct {
	Route, Path, Real, Simulated string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s  %s: real %s, simulated %s", d.Route, d.Path, d.Real, d.Simulated)
}

// story is the script that Compare plays on both servers, in the verbs of the case files.
//
//go:embed story.txt
var story string

// Compare plays one script on the live server and on a simulated one, lets the adapter ask everything that it ever asks,
// and compares every answer, ids and times aside. It returns each kind of difference once, and the routes that were asked.
func Compare(ctx context.Context, s Server) (diffs []Difference, routes []string, err error) {
	m, err := newMirror(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if err := m.play(ctx); err != nil {
		return nil, nil, err
	}
	for _, k := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		if err := m.ask(ctx, k); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", k, err)
		}
	}
	return m.differences(), slices.Sorted(maps.Keys(m.routes)), nil
}

// mirror sends every request to both servers.
type mirror struct {
	place  *conformance.Place
	stage  *stage
	world  *forgesim.World
	face   http.Handler
	names  []string
	ids    map[string]string // ids of the real server -> of the simulated one, by kind of thing
	mu     sync.Mutex
	seen   map[Difference]bool
	routes map[string]bool
}

func newMirror(ctx context.Context, s Server) (*mirror, error) {
	m := &mirror{seen: map[Difference]bool{}, routes: map[string]bool{}, ids: map[string]string{}}
	s.Wrap = func(_ conformance.Wish, real http.RoundTripper) http.RoundTripper { return both{m, real} }
	p, err := s.open(ctx, conformance.Wish{Case: "compare", Words: []string{"user"}}, suffix(), nil)
	if err != nil {
		return nil, err
	}
	m.place, m.stage = p, p.Stage.(*stage)
	var v struct{ Version string }
	if err := m.stage.c.do(ctx, "", get, "/version", nil, &v); err != nil {
		return nil, err
	}
	flavour := flavourOf(v.Version)
	m.world = forgesim.New(forgesim.Options{Profile: flavour.Profile(), Clock: time.Now})
	m.face = sim.New(m.world, sim.Options{Flavour: flavour, BaseURL: s.URL, Version: v.Version})
	script := conformance.PlaceScript
	for n, v := range m.stage.placeholders() {
		script = strings.ReplaceAll(script, "{"+n+"}", v)
	}
	for _, who := range people() {
		script = regexp.MustCompile(`(login|user)=`+who+`\b`).ReplaceAllString(script, "$1="+m.stage.login(who))
	}
	// The other repository is not made on the real server; its id must not shift what follows.
	var keep []string
	for _, l := range strings.Split(script, "\n") {
		if !strings.Contains(l, m.stage.repo("{other}")) {
			keep = append(keep, l)
		}
	}
	keep = append(keep, "set-role user="+m.stage.login("olga")+" role=owner") // she made the organisation
	for name, text := range m.stage.tokens {
		keep = append(keep, fmt.Sprintf("token text=%s user=%s", text, m.stage.login(map[string]string{"admin": "olga", "spare": "olga", "writer": "wes", "reader": "rea"}[name])))
	}
	return m, m.world.Run(ctx, strings.NewReader(strings.Join(keep, "\n")))
}

func flavourOf(version string) sim.Flavour {
	switch {
	case strings.Contains(version, "+gitea"):
		return sim.Forgejo
	case strings.HasPrefix(version, "1.24"):
		return sim.Gitea124
	}
	return sim.Gitea127
}

// play does the story on both, line by line.
func (m *mirror) play(ctx context.Context) error {
	for n, l := range strings.Split(story, "\n") {
		words, err := conformance.Words(l)
		if err != nil || len(words) == 0 {
			if err != nil {
				return fmt.Errorf("story line %d: %w", n+1, err)
			}
			continue
		}
		args := map[string]string{}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			args[k] = v
		}
		if err := m.stage.Do(ctx, words[0], args); err != nil {
			return fmt.Errorf("story line %d: %s: %w", n+1, l, err)
		}
		if words[0] == "advance" {
			continue
		}
		mine := maps.Clone(args)
		for _, k := range []string{"as", "user", "login", "to"} {
			if v, ok := mine[k]; ok && slices.Contains(people(), v) {
				mine[k] = m.stage.login(v)
			}
		}
		if v, ok := mine["assignees"]; ok {
			mine["assignees"] = m.stage.login(v)
		}
		if err := m.world.Do(ctx, words[0], mine); err != nil {
			return fmt.Errorf("story line %d, simulated: %s: %w", n+1, l, err)
		}
		if a := args["name"]; words[0] == "create" && a != "" {
			m.names = append(m.names, a)
		}
	}
	return nil
}

// ask lets the adapter send every request that it knows.
func (m *mirror) ask(ctx context.Context, k query.Kind) error {
	c := m.place.Config
	c.Kind, c.Budget = k, free{}
	c.Token = func(context.Context) (string, error) { return m.place.Token("admin") }
	a := forgejo.Adapter{}
	s, err := a.Open(ctx, c)
	if err != nil {
		return err
	}
	if _, err := s.Health(ctx); err != nil {
		return err
	}
	q, ds := query.Parse(`v1: any comment(command = "/go") and last_comment < now`)
	if ds.Failed() {
		return ds[0]
	}
	b, ds := q.Bind(k, a.Catalogue(k), query.Env{})
	if ds.Failed() {
		return ds[0]
	}
	p, _ := s.Compile(ctx, []query.Source{{ID: "compare/0", Query: b}})
	refs, users, err := m.list(ctx, s, p)
	if err != nil {
		return err
	}
	var all query.FieldSet
	for _, n := range a.Catalogue(k).Names() {
		if f, ok := a.Catalogue(k).Field(n); ok {
			all.Add(f.ID)
		}
	}
	items, err := s.Read(ctx, refs, all)
	if err != nil {
		return err
	}
	for i := range items {
		collect(users, items[i].Facts)
	}
	var us []query.User
	for _, u := range users {
		us = append(us, u)
	}
	slices.SortFunc(us, func(x, y query.User) int { return strings.Compare(x.ID, y.ID) })
	if _, err := s.Roles(ctx, us); err != nil {
		return err
	}
	_, err = s.(adapters.Prober).Probe(ctx, []int64{1, 2, 3, 4, 9999})
	return err
}

// list reads every walk from the beginning and from a while ago.
func (m *mirror) list(ctx context.Context, s adapters.Session, p adapters.Plan) ([]scope.Ref, map[string]query.User, error) {
	var refs []scope.Ref
	users := map[string]query.User{}
	seen := map[scope.Identity]bool{}
	for _, w := range p.Walks() {
		for _, since := range []time.Time{{}, time.Now().Add(-24 * time.Hour)} {
			for page, err := range s.Pages(ctx, p, w, adapters.Position{Since: since}) {
				if err != nil {
					return nil, nil, err
				}
				for i := range page.Items {
					collect(users, page.Items[i].Facts)
					if id := page.Items[i].Ref.Identity; !seen[id] {
						seen[id] = true
						refs = append(refs, page.Items[i].Ref)
					}
				}
			}
		}
	}
	return refs, users, nil
}

func collect(into map[string]query.User, f *query.Facts) {
	if f == nil {
		return
	}
	for _, field := range query.AllFields() {
		for _, e := range f.Get(field.ID).Items {
			if e.Actor.ID != "" {
				into[e.Actor.ID] = e.Actor
			}
		}
	}
}

type free struct{}

func (free) Wait(context.Context, adapters.Class, int) error { return nil }
func (free) Observe(adapters.Class, int, http.Header)        {}

// both asks the real server, and then the simulated one the same.
type both struct {
	m    *mirror
	real http.RoundTripper
}

var repoID = regexp.MustCompile(`/repositories/(\d+)`)

// RoundTrip implements http.RoundTripper. The adapter gets the real answer.
func (b both) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.real.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	route := b.route(r)
	if route == "" {
		return resp, nil
	}
	in := r.Clone(r.Context())
	in.URL.Path = b.m.translate(in.URL.Path)
	in.URL.RawPath = ""
	mine, err := forgesim.Transport(b.m.face).RoundTrip(in)
	if err != nil {
		return nil, fmt.Errorf("simulated: %w", err)
	}
	defer mine.Body.Close()
	simulated, err := io.ReadAll(mine.Body)
	if err != nil {
		return nil, err
	}
	b.m.compare(route, resp, body, mine, simulated)
	return resp, nil
}

var numbers = regexp.MustCompile(`/(\d+|[0-9a-f]{40})(/|$)`)

// route is the request without what differs from run to run. Teams are organisations' business, which the simulated
// forge knows nothing of.
func (b both) route(r *http.Request) string {
	p := strings.TrimPrefix(r.URL.Path, "/api/v1")
	if strings.HasPrefix(p, "/teams") || strings.HasSuffix(p, "/teams") {
		return ""
	}
	p = strings.ReplaceAll(p, b.m.stage.repo("{home}"), "{repo}")
	for range 2 {
		p = numbers.ReplaceAllString(p, "/{n}$2")
	}
	p = regexp.MustCompile(`collaborators/[^/]+`).ReplaceAllString(p, "collaborators/{login}")
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	b.m.routes[r.Method+" "+p] = true
	return r.Method + " " + p
}

// translate puts the simulated repository's id, and the simulated commits, where the real ones stand.
func (m *mirror) translate(p string) string {
	if repoID.MatchString(p) {
		if r, _, ok := m.world.Repo(m.stage.repo("{home}")); ok {
			return repoID.ReplaceAllString(p, "/repositories/"+strconv.FormatInt(r.ID, 10))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for real, mine := range m.ids {
		p = strings.ReplaceAll(p, real, mine)
	}
	return p
}

func (m *mirror) compare(route string, real *http.Response, realBody []byte, mine *http.Response, mineBody []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	add := func(path, a, b string) { m.seen[Difference{route, path, a, b}] = true }
	if real.StatusCode != mine.StatusCode {
		add("status", strconv.Itoa(real.StatusCode), strconv.Itoa(mine.StatusCode))
	}
	for _, h := range []string{"Content-Type", "X-Total-Count"} {
		a, b := strings.ReplaceAll(real.Header.Get(h), " ", ""), strings.ReplaceAll(mine.Header.Get(h), " ", "")
		if a != b {
			add("header "+h, strconv.Quote(a), strconv.Quote(b))
		}
	}
	for _, h := range []string{"Date", "Link"} {
		if a, b := real.Header.Get(h) != "", mine.Header.Get(h) != ""; a != b {
			add("header "+h, fmt.Sprintf("given: %v", a), fmt.Sprintf("given: %v", b))
		}
	}
	var a, b any
	if json.Unmarshal(realBody, &a) != nil || json.Unmarshal(mineBody, &b) != nil {
		if !bytes.Equal(bytes.TrimSpace(realBody), bytes.TrimSpace(mineBody)) {
			add("body", strconv.Quote(clip(realBody)), strconv.Quote(clip(mineBody)))
		}
		return
	}
	m.values(add, "", a, b)
}

func clip(b []byte) string { return string(b[:min(len(b), 80)]) }

// shaky are members whose values are the server's own; that they are there, and of what type, is compared.
var shaky = regexp.MustCompile(`(^|\.)(id|.*_id|.*_at|created|updated|sha|.*sha|html_url|url|.*_url|avatar_url|email|size|uuid|last_login|due_date|deadline|etag|target|language)$`)

// settings are members that follow from how a server is set up, or from what it computes in its own time.
var settings = regexp.MustCompile(`(^|\.)(has_actions|has_packages|watchers_count|mergeable|color)$`)

// values compares two answers and learns which real commit is which simulated one.
func (m *mirror) values(add func(path, a, b string), path string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			add(path, typeOf(a), typeOf(b))
			return
		}
		for _, k := range union(x, y) {
			va, inA := x[k]
			vb, inB := y[k]
			p := strings.TrimPrefix(path+"."+k, ".")
			switch {
			case inA && inB:
				m.values(add, p, va, vb)
			case inA:
				add(p, typeOf(va), "missing")
			default:
				add(p, "missing", typeOf(vb))
			}
		}
	case []any:
		y, ok := b.([]any)
		if !ok {
			add(path, typeOf(a), typeOf(b))
			return
		}
		if len(x) != len(y) {
			add(path+"[]", fmt.Sprintf("%d rows", len(x)), fmt.Sprintf("%d rows", len(y)))
		}
		for i := range min(len(x), len(y)) {
			m.values(add, path+"[]", x[i], y[i])
		}
	default:
		m.scalars(add, path, a, b)
	}
}

var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

func (m *mirror) scalars(add func(path, a, b string), path string, a, b any) {
	if s, ok := a.(string); ok && commit.MatchString(s) {
		if t, ok := b.(string); ok && commit.MatchString(t) {
			m.ids[s] = t
			return
		}
	}
	if path == "language" || strings.HasSuffix(path, ".language") || settings.MatchString(path) {
		return // guessed from the files, or set up
	}
	if typeOf(a) != typeOf(b) {
		add(path, typeOf(a), typeOf(b))
		return
	}
	a, b = anyCommit(a), anyCommit(b)
	if a != b && !shaky.MatchString(path) {
		add(path, fmt.Sprintf("%.60q", fmt.Sprint(a)), fmt.Sprintf("%.60q", fmt.Sprint(b)))
	}
}

var hexes = regexp.MustCompile(`[0-9a-f]{40}`)

// anyCommit takes commits out of texts that carry them.
func anyCommit(v any) any {
	if s, ok := v.(string); ok {
		return hexes.ReplaceAllString(s, "{commit}")
	}
	return v
}

func union(a, b map[string]any) []string {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	return slices.Sorted(maps.Keys(keys))
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if v == "" {
			return "empty text"
		}
		return "text"
	case float64:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "list"
	}
	return "object"
}

func (m *mirror) differences() []Difference {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.Collect(maps.Keys(m.seen))
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.String(), b.String()) })
	return out
}
