package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Provider is the name of this provider in scopes and identities, for Forgejo and Gitea alike.
const Provider = "forgejo"

// Adapter is Forgejo and Gitea. The zero value is ready.
type Adapter struct{}

var _ adapters.Adapter = Adapter{}

// Provider returns "forgejo".
func (Adapter) Provider() string { return Provider }

// Settings returns none: base_url and token_env are all that a connection has.
func (Adapter) Settings() []adapters.Setting { return nil }

// Container is a repository.
func (Adapter) Container() adapters.ContainerName {
	return adapters.ContainerName{Key: "repo", Example: "owner/name", Check: func(s string) error { _, _, err := parseContainer(s); return err }}
}

// Open asks the server who it is, who the credential is and which repository is meant: five requests of class Identity
// at most.
func (Adapter) Open(ctx context.Context, c adapters.Config) (adapters.Session, error) {
	base, err := parseBase(c.BaseURL)
	if err != nil {
		return nil, configError(err)
	}
	owner, name, err := parseContainer(c.Container)
	if err != nil {
		return nil, configError(err)
	}
	if c.Kind != query.WorkItem && c.Kind != query.ChangeProposal {
		return nil, configError(fmt.Errorf("kind %q: want %s or %s", c.Kind, query.WorkItem, query.ChangeProposal))
	}
	if c.Token == nil || c.Budget == nil || c.Now == nil {
		return nil, configError(errors.New("token, budget and clock are required"))
	}
	s := &session{kind: c.Kind, base: base, configured: c.Container, agents: map[string]bool{}, now: c.Now, parallel: c.Parallel}
	for _, id := range c.Agents {
		s.agents[id] = true
	}
	s.api = api.New(api.Options{Base: base, HTTP: c.HTTP, Token: c.Token, Budget: c.Budget, Now: c.Now, Verify: s.verify})
	if err := s.open(ctx, owner, name); err != nil {
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
	p := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api/v1")
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

func parseContainer(s string) (owner, name string, err error) {
	owner, name, ok := strings.Cut(s, "/")
	if !ok || !plainSegment(owner) || !plainSegment(name) {
		return "", "", fmt.Errorf("repo %q: want owner/name", s)
	}
	return owner, name, nil
}

func plainSegment(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/:@?#%\\ \t\r\n")
}

// session is one repository seen with one credential.
type session struct {
	api        *api.Client
	base       *url.URL
	kind       query.Kind
	configured string
	agents     map[string]bool
	parallel   int // requests of one call under way; 0: the usual
	now        func() time.Time

	scope    scope.Scope
	repoID   int64
	account  string                     // display name
	limit    int                        // rows per page
	server   string                     // version
	warnings []string                   // found when it was opened
	repo     atomic.Pointer[repository] // as the provider described it last
}

// repository is what the session remembers of its container.
type repository struct {
	owner, name string
	created     time.Time
	admin       bool // the credential may read roles
	issues      bool
	pulls       bool
	migrated    bool
	host        string // of its web address, which may differ from base_url's
}

func (r *repository) full() string { return r.owner + "/" + r.name }

// path is the container's current path below /api/v1, plus what follows.
func (s *session) path(format string, args ...any) string {
	r := s.repo.Load()
	return "repos/" + url.PathEscape(r.owner) + "/" + url.PathEscape(r.name) + fmt.Sprintf(format, args...)
}

func (s *session) open(ctx context.Context, owner, name string) error {
	var v api.Version
	if _, err := s.api.Get(ctx, api.Request{Op: "read server version", Class: adapters.Identity, Path: "version"}, &v); err != nil {
		return err
	}
	s.server = v.Version
	limit, err := s.pageLimit(ctx)
	if err != nil {
		return err
	}
	s.limit = limit
	var r gitea.Repository
	op := "open repository " + owner + "/" + name
	if _, err := s.api.Get(ctx, api.Request{Op: op, Class: adapters.Identity,
		Path: "repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name)}, &r); err != nil {
		return err
	}
	if r.ID <= 0 {
		return protocol(op, "the answer has no repository id")
	}
	s.repoID = r.ID
	s.scope.Provider, s.scope.Kind = Provider, s.kind
	s.scope.Tenant = s.base.Host + s.base.Path
	s.scope.Container = strconv.FormatInt(r.ID, 10)
	if err := s.remember(op, &r); err != nil || !s.repo.Load().admin {
		return err
	}
	ts, err := s.readTeams(ctx, adapters.Identity)
	if err != nil && passing(err) != nil {
		return err
	}
	s.warnings = s.editors(ts)
	return nil
}

// pageLimit is the server's cap on rows, at most 50: a larger request would be cut silently.
func (s *session) pageLimit(ctx context.Context) (int, error) {
	const usual = 50
	var st api.Settings
	_, err := s.api.Get(ctx, api.Request{Op: "read server limits", Class: adapters.Identity, Path: "settings/api"}, &st)
	switch {
	case errors.Is(err, adapters.ErrNotFound), errors.Is(err, adapters.ErrForbidden):
		return usual, nil // the listing notices a smaller cap by itself
	case err != nil:
		return 0, err
	case st.MaxItems < 2:
		return usual, nil
	}
	return min(usual, st.MaxItems), nil
}

// verify reads whose credential a new token is. The first one names the account of the scope; a later one of another
// account sees other things, so it ends the session.
func (s *session) verify(ctx context.Context, ask api.Asker) error {
	var u api.User
	const op = "read the credential's account"
	if _, err := ask.Get(ctx, api.Request{Op: op, Class: adapters.Identity, Path: "user"}, &u); err != nil {
		return err
	}
	if u.ID <= 0 {
		return protocol(op, "the answer has no account id")
	}
	id := strconv.FormatInt(u.ID, 10)
	switch {
	case s.scope.Account == "":
		s.scope.Account, s.account = id, u.UserName
	case s.scope.Account != id:
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: op,
			Err: fmt.Errorf("%w: the token now belongs to another account (id %s instead of %s)", adapters.ErrUnauthorized, id, s.scope.Account)}
	}
	return nil
}

func (s *session) remember(op string, r *gitea.Repository) error {
	owner, name, ok := strings.Cut(r.FullName, "/")
	if !ok || owner == "" || name == "" {
		return protocol(op, "the answer has no full_name")
	}
	var host string
	if u, err := url.Parse(r.HTMLURL); err == nil && u.Host != "" {
		host = canonicalHost(u)
	}
	s.repo.Store(&repository{host: host, owner: owner, name: name, created: r.Created, issues: r.HasIssues, pulls: r.HasPullRequests,
		admin: r.Permissions != nil && r.Permissions.Admin, migrated: r.OriginalURL != ""})
	return nil
}

func protocol(op, what string) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: op, Status: http.StatusOK, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, what)}
}

// Scope returns the scope; its members are stable ids.
func (s *session) Scope() scope.Scope { return s.scope }
