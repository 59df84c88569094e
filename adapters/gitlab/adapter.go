package gitlab

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Provider is the name of this provider in scopes and identities.
const Provider = query.GitLab

// Adapter is GitLab. The zero value is ready.
type Adapter struct{}

var _ adapters.Adapter = Adapter{}

// Provider returns "gitlab".
func (Adapter) Provider() string { return Provider }

const settingCA = "ca_file"

// publicHost is where projects are when a connection names no server.
const publicHost = "https://gitlab.com"

// Settings are those of a GitLab connection.
func (Adapter) Settings() []adapters.Setting {
	return []adapters.Setting{
		{Name: settingCA, Doc: "a PEM file with the certificates of the authority that signed the server's; the system's are trusted besides"},
	}
}

// Container is a project by its whole path.
func (Adapter) Container() adapters.ContainerName {
	return adapters.ContainerName{Key: "project", Example: "group/project", Check: checkPath}
}

// Open asks the server who the credential is and which project is meant: four requests of class Identity at most.
func (Adapter) Open(ctx context.Context, c adapters.Config) (adapters.Session, error) {
	base, err := parseBase(cmp.Or(c.BaseURL, publicHost))
	if err != nil {
		return nil, configError(err)
	}
	if err := checkPath(c.Container); err != nil {
		return nil, configError(err)
	}
	if c.Kind != query.WorkItem && c.Kind != query.ChangeProposal {
		return nil, configError(fmt.Errorf("kind %q: want %s or %s", c.Kind, query.WorkItem, query.ChangeProposal))
	}
	if c.Token == nil || c.Budget == nil || c.Now == nil {
		return nil, configError(errors.New("token, budget and clock are required"))
	}
	client, err := trusting(c.HTTP, c.Settings[settingCA])
	if err != nil {
		return nil, configError(err)
	}
	s := &session{kind: c.Kind, base: base, configured: c.Container, agents: map[string]bool{}, now: c.Now, parallel: cmp.Or(c.Parallel, parallel)}
	for _, id := range c.Agents {
		s.agents[id] = true
	}
	s.api = api.New(api.Options{Base: base, HTTP: client, Token: c.Token, Budget: c.Budget, Now: c.Now, Verify: s.verify})
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func configError(err error) error {
	return &adapters.Error{Severity: adapters.ScopeFailure, Op: "open", Err: err}
}

// parseBase reads the instance's address; user info, query and fragment have no place in it.
func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("base_url is not a URL") // the parse error would quote it, credentials included
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("base_url: want https://host[:port][/path]")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("base_url: want https://host[:port][/path] and nothing else")
	}
	p := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api/v4")
	return &url.URL{Scheme: u.Scheme, Host: canonicalHost(u), Path: p}, nil
}

// canonicalHost is the lower-case host, with its port unless it is the scheme's own.
func canonicalHost(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return net.JoinHostPort(host, port)
}

// checkPath wants group[/subgroup…]/project. (An all-digit group is a path here, never an id.)
func checkPath(s string) error {
	parts := strings.Split(s, "/")
	plain := func(p string) bool {
		return p != "" && p != "." && p != ".." && p != "-" && !strings.ContainsAny(p, ":@?#%\\ \t\r\n")
	}
	if len(parts) < 2 || slices.ContainsFunc(parts, func(p string) bool { return !plain(p) }) {
		return fmt.Errorf("project %q: want group/project or group/subgroup/project", s)
	}
	return nil
}

// trusting is the client with a further authority, on a copy.
func trusting(c *http.Client, file string) (*http.Client, error) {
	if file == "" {
		return c, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", settingCA, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s %s holds no certificate in PEM", settingCA, file)
	}
	client := http.Client{}
	if c != nil {
		client = *c
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	t, ok := client.Transport.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("%s cannot be used with this HTTP client: its transport is a %T", settingCA, client.Transport)
	}
	t = t.Clone()
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.TLSClientConfig.RootCAs = pool
	client.Transport = t
	return &client, nil
}

// session is one project seen with one credential.
type session struct {
	api        *api.Client
	base       *url.URL
	kind       query.Kind
	configured string
	agents     map[string]bool
	parallel   int // requests of one call under way
	now        func() time.Time

	scope     scope.Scope
	projectID int64
	account   string // display name
	admin     bool   // of the instance: sees everything
	warnings  []string
	project   atomic.Pointer[api.Project] // as the provider described it last

	mu    sync.Mutex
	kinds map[int64]bool // accounts whose page was read: whether they are bots, which never changes
}

// merge reports whether the scope is of merge requests.
func (s *session) merge() bool { return s.kind == query.ChangeProposal }

// plural is the kind as paths name it.
func (s *session) plural() string {
	if s.merge() {
		return "merge_requests"
	}
	return "issues"
}

// mark stands between path and number.
func (s *session) mark() string {
	if s.merge() {
		return "!"
	}
	return "#"
}

// path is the project by its number, plus what follows: a name may lead elsewhere tomorrow.
func (s *session) path(format string, args ...any) string {
	return "projects/" + s.scope.Container + fmt.Sprintf(format, args...)
}

func (s *session) open(ctx context.Context) error {
	op := "open project " + s.configured
	p, _, err := s.api.Project(ctx, api.Request{Op: op, Class: adapters.Identity, Path: "projects/" + url.PathEscape(s.configured)})
	if err != nil {
		return err
	}
	if p.ID <= 0 || p.Path == "" {
		return protocol(op, "the answer has no project id or path")
	}
	s.projectID = p.ID
	s.scope.Provider, s.scope.Kind = Provider, s.kind
	s.scope.Tenant = s.base.Host + s.base.Path
	s.scope.Container = strconv.FormatInt(p.ID, 10)
	s.project.Store(&p)
	s.warnings, err = s.tokenWarnings(ctx)
	return err
}

// tokenWarnings asks the token what it may do. Tokens that are no personal, project or group token cannot say.
func (s *session) tokenWarnings(ctx context.Context) ([]string, error) {
	t, err := s.api.Token(ctx, api.Request{Op: "read the token's own description", Class: adapters.Identity, Item: true, Path: "personal_access_tokens/self"})
	var e *adapters.Error
	switch {
	case errors.As(err, &e) && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests, errors.Is(err, adapters.ErrProtocol):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var out []string
	if len(t.Scopes) > 0 && !slices.Contains(t.Scopes, "api") && !slices.Contains(t.Scopes, "read_api") {
		out = append(out, fmt.Sprintf("the token's scopes are %s: it needs read_api", strings.Join(t.Scopes, ", ")))
	}
	if !t.Expires.IsZero() && t.Expires.Sub(s.now()) < 14*24*time.Hour {
		out = append(out, "the token expires on "+t.Expires.Format(time.DateOnly))
	}
	return out, nil
}

// verify reads whose credential a new token is. The first one names the account of the scope; a later one of another
// account sees other things, so it ends the session.
func (s *session) verify(ctx context.Context, ask *api.Asker) error {
	const op = "read the credential's account"
	u, err := ask.User(ctx, api.Request{Op: op, Class: adapters.Identity, Path: "user"})
	if err != nil {
		return err
	}
	if u.ID <= 0 {
		return protocol(op, "the answer has no account id")
	}
	id := strconv.FormatInt(u.ID, 10)
	switch {
	case s.scope.Account == "":
		s.scope.Account, s.account, s.admin = id, u.Username, u.Admin
		if u.Known {
			s.learn(u)
		}
	case s.scope.Account != id:
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: op,
			Err: fmt.Errorf("%w: the token now belongs to another account (id %s instead of %s)", adapters.ErrUnauthorized, id, s.scope.Account)}
	}
	return nil
}

func protocol(op, what string) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: op, Status: http.StatusOK, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, what)}
}

// Scope returns the scope; its members are stable ids.
func (s *session) Scope() scope.Scope { return s.scope }

// learn keeps whether an account is a bot.
func (s *session) learn(u api.User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[int64]bool{}
	}
	s.kinds[u.ID] = u.Bot
}

// known tells whether an account is a bot, when that was read before.
func (s *session) known(id int64) (bot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bot, ok = s.kinds[id]
	return bot, ok
}

// isBot reads whether an account is a bot, once a session. Rows do not say; names do not count.
func (s *session) isBot(ctx context.Context, class adapters.Class, id int64) (bool, error) {
	if bot, ok := s.known(id); ok {
		return bot, nil
	}
	op := fmt.Sprintf("read account %d", id)
	u, err := s.api.User(ctx, api.Request{Op: op, Class: class, Item: true, Path: "users/" + strconv.FormatInt(id, 10)})
	if err != nil {
		return false, err
	}
	if u.ID != id || !u.Known {
		return false, &adapters.Error{Severity: adapters.ItemFailure, Op: op, Status: http.StatusOK,
			Err: fmt.Errorf("%w: the answer does not say whether the account is a bot", adapters.ErrProtocol)}
	}
	s.learn(u)
	return u.Bot, nil
}
