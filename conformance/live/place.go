package live

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/query"
)

// Server is a running Gitea or Forgejo.
type Server struct {
	URL   string // https://host[:port][/path]
	Token string // of a site administrator, with all scopes
	// Wrap, when set, sees the adapter's requests on their way.
	Wrap func(conformance.Wish, http.RoundTripper) http.RoundTripper
}

// Target is the forgejo adapter over a live server. Every case has accounts and repositories of its own. Faults are put
// between the adapter and the server; the clock cannot be moved, so cases that need days are not played.
func Target(s Server) conformance.Target {
	var n atomic.Int64
	run := suffix()
	crowd := &crowd{tag: run}
	return conformance.Target{
		Adapter: forgejo.Adapter{},
		Partial: true,
		Retry:   []time.Duration{time.Second, 3 * time.Second, 6 * time.Second},
		Open: func(ctx context.Context, w conformance.Wish) (*conformance.Place, error) {
			return s.open(ctx, w, fmt.Sprintf("%s%d", run, n.Add(1)), crowd)
		},
	}
}

// maxProposals is how many pull requests a case may make.
const maxProposals = 20

// suffix tells the accounts of one run from those of another.
func suffix() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:]) + "x"
}

func (s Server) open(ctx context.Context, w conformance.Wish, tag string, shared *crowd) (*conformance.Place, error) {
	if w.Kind == query.ChangeProposal && w.Makes > maxProposals {
		return nil, fmt.Errorf("%w: %d pull requests, each with a branch of its own, take a live server minutes", conformance.ErrUnable, w.Makes)
	}
	for h := range w.Hints {
		return nil, fmt.Errorf("%w: hint %s", conformance.ErrUnable, h)
	}
	base, err := url.Parse(strings.TrimSuffix(s.URL, "/"))
	if err != nil {
		return nil, err
	}
	st := &stage{
		c:   &client{base: base.String(), token: s.Token, http: &http.Client{Timeout: time.Minute}},
		tag: tag, labels: map[string]map[string]int64{}, stones: map[string]map[string]int64{}, names: map[string]entity{}, remarks: map[string]remark{},
		numbers: map[string]int64{}, heads: map[string]head{}, tokens: map[string]string{}, logins: map[string]string{},
		world: forgesim.New(forgesim.Options{Clock: time.Now}),
	}
	for _, v := range []string{"user", "rename-user", "delete-user"} {
		if shared == nil || slices.Contains(w.Words, v) {
			shared = &crowd{tag: tag} // what happens to these accounts is nobody else's business
		}
	}
	st.crowd = shared
	if err := shared.make(ctx, st); err != nil {
		return nil, fmt.Errorf("make the people: %w", err)
	}
	if err := st.make(ctx, slices.Contains(w.Words, "{other}")); err != nil {
		return nil, fmt.Errorf("make the place: %w", err)
	}
	transport := forgesim.Transport(st.world.Front(classify, &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: base.Scheme, Host: base.Host}) },
		ErrorLog: nil,
	}))
	if s.Wrap != nil {
		transport = s.Wrap(w, transport)
	}
	return &conformance.Place{
		Stage:    st,
		Config:   adapters.Config{BaseURL: base.String(), Container: st.repo("{home}"), Now: time.Now, HTTP: &http.Client{Transport: transport}},
		Token:    st.credential,
		Names:    st.placeholders(),
		ID:       st.id,
		After:    true,
		RealTime: true,
	}, nil
}

// classify tells what a request is for, as faults name it.
func classify(r *http.Request) forgesim.Route {
	p := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	seg := strings.Split(p, "/")
	class := forgesim.ClassRead
	switch {
	case seg[0] == "version" || seg[0] == "settings":
		class = forgesim.ClassServer
	case seg[0] == "user" || seg[0] == "repositories" || seg[0] == "repos" && len(seg) == 3:
		class = forgesim.ClassIdentity
	case seg[0] == "users" || seg[0] == "teams" || len(seg) > 3 && (seg[3] == "collaborators" || seg[3] == "teams"):
		class = forgesim.ClassRole
	case len(seg) == 4 && seg[3] == "issues" || len(seg) == 5 && seg[4] == "comments":
		class = forgesim.ClassSearch
	}
	return forgesim.Route{Name: p, Class: class}
}

// stage drives one case's place.
type stage struct {
	c     *client
	tag   string
	crowd *crowd
	world *forgesim.World // for its faults alone

	mu      sync.Mutex
	labels  map[string]map[string]int64 // repository -> name -> id
	stones  map[string]map[string]int64
	names   map[string]entity // by alias
	remarks map[string]remark // comments by alias
	numbers map[string]int64  // entities made, by repository
	heads   map[string]head   // of pull requests, by alias
	tokens  map[string]string // by name, or by the text that the case gave it
	logins  map[string]string // renamed accounts
	home    string
	files   int
}

// head is a branch, and the repository that it is in.
type head struct{ repo, branch, by string }

// crowd is the people of the places. They are made once; most cases share them.
type crowd struct {
	tag    string
	once   sync.Once
	err    error
	tokens map[string]string
}

func (c *crowd) make(ctx context.Context, s *stage) error {
	c.once.Do(func() { c.err = c.fill(ctx, s) })
	if c.err == nil {
		maps.Copy(s.tokens, c.tokens)
	}
	return c.err
}

func (c *crowd) fill(ctx context.Context, s *stage) error {
	for _, who := range people() {
		if err := s.user(ctx, map[string]string{"login": who}); err != nil {
			return err
		}
	}
	for name, who := range map[string]string{"admin": "olga", "spare": "olga", "writer": "wes", "reader": "rea"} {
		if err := s.newToken(ctx, name, who); err != nil {
			return err
		}
	}
	c.tokens = maps.Clone(s.tokens)
	return nil
}

func people() []string {
	return []string{"olga", "wes", "wanda", "lena", "rea", "stella", "sam", "robo"}
}

type entity struct {
	repo   string
	number int64
	pull   bool
}

type remark struct {
	repo string
	id   int64
}

// login is what an account of the case files is called here.
func (s *stage) login(name string) string {
	if strings.HasSuffix(name, "-"+s.crowd.tag) {
		return name
	}
	return name + "-" + s.crowd.tag
}

// repo is a repository by its placeholder or full name.
func (s *stage) repo(name string) string {
	switch name {
	case "":
		return s.home
	case "{home}":
		return "acme-" + s.tag + "/widgets"
	case "{other}":
		return "acme-" + s.tag + "/gadgets"
	}
	return name
}

func (s *stage) placeholders() map[string]string {
	out := map[string]string{"org": "acme-" + s.tag, "home": s.repo("{home}"), "other": s.repo("{other}")}
	for _, who := range people() {
		out[who] = s.login(who)
	}
	return out
}

func (s *stage) id(ctx context.Context, login string) (string, error) {
	var u struct{ ID int64 }
	if err := s.c.do(ctx, "", http.MethodGet, at("/users/%s", s.login(login)), nil, &u); err != nil {
		return "", err
	}
	return strconv.FormatInt(u.ID, 10), nil
}

func (s *stage) credential(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "none" {
		return "", nil
	}
	t, ok := s.tokens[name]
	if !ok {
		return "", fmt.Errorf("there is no credential %q", name)
	}
	return t, nil
}

// make fills the place as conformance.PlaceScript says.
func (s *stage) make(ctx context.Context, other bool) error {
	script := conformance.PlaceScript
	for n, v := range map[string]string{"org": "acme-" + s.tag, "home": s.repo("{home}"), "other": s.repo("{other}")} {
		script = strings.ReplaceAll(script, "{"+n+"}", v)
	}
	for _, l := range strings.Split(script, "\n") {
		words := strings.Fields(l)
		if len(words) == 0 || strings.HasPrefix(l, "#") || words[0] == "user" || !other && strings.Contains(l, s.repo("{other}")) {
			continue
		}
		args := map[string]string{}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			args[k] = v
		}
		if err := s.Do(ctx, words[0], args); err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
	}
	return nil
}
