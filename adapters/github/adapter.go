package github

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

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/adapters/github/internal/app"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Provider is the name of this provider in scopes and identities, for github.com, GitHub Enterprise Cloud and Server.
const Provider = query.GitHub

// Adapter is GitHub. The zero value is ready.
type Adapter struct{}

var _ adapters.Adapter = Adapter{}

// Provider returns "github".
func (Adapter) Provider() string { return Provider }

// The settings of a connection through a GitHub App; all three or none.
const (
	setApp          = "app_id"
	setInstallation = "installation_id"
	setKey          = "private_key_file"
)

// Settings returns those of a GitHub App; without them token_env names the credential.
func (Adapter) Settings() []adapters.Setting {
	return []adapters.Setting{
		{Name: setApp, Doc: "the id of the GitHub App, with installation_id and private_key_file"},
		{Name: setInstallation, Doc: "the id of the App's installation"},
		{Name: setKey, Doc: "path of the App's private key in PEM"},
	}
}

// Container is a repository.
func (Adapter) Container() adapters.ContainerName {
	return adapters.ContainerName{Key: "repo", Example: "owner/name", Check: func(s string) error { _, _, err := parseContainer(s); return err }}
}

// Open asks who the credential is and which repository is meant, and a server of one's own whether it has issue types:
// three requests of class Identity at most, and one for an App's token.
func (Adapter) Open(ctx context.Context, c adapters.Config) (adapters.Session, error) {
	host, err := parseBase(c.BaseURL)
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
	if c.Budget == nil || c.Now == nil {
		return nil, configError(errors.New("budget and clock are required"))
	}
	s := &session{kind: c.Kind, host: host, configured: c.Container, agents: map[string]bool{}, now: c.Now, typed: true}
	for _, id := range c.Agents {
		s.agents[id] = true
	}
	s.list.reset(maxListed)
	s.read.reset(maxRead)
	o := api.Options{REST: host.rest, GraphQL: host.graphql, HTTP: c.HTTP, Budget: c.Budget, Now: c.Now}
	inst, err := installation(c, host)
	switch {
	case err != nil:
		return nil, configError(err)
	case inst != nil:
		o.Credential, s.app = inst, true
		s.account = fmt.Sprintf("App %d", inst.AppID)
		s.scope.Account = fmt.Sprintf("app:%d/installation:%d", inst.AppID, inst.ID)
	case c.Token == nil:
		return nil, configError(errors.New("a token is required"))
	default:
		o.Credential, o.Verify = app.Static(c.Token), s.verify
	}
	s.api = api.New(o)
	if err := s.open(ctx, owner, name); err != nil {
		return nil, err
	}
	return s, nil
}

// installation reads the settings of an App; nil when there are none.
func installation(c adapters.Config, h host) (*app.Installation, error) {
	if c.Settings[setApp] == "" && c.Settings[setInstallation] == "" && c.Settings[setKey] == "" {
		return nil, nil //nolint:nilnil // no App is no error
	}
	number := func(key string) (int64, error) {
		n, err := strconv.ParseInt(c.Settings[key], 10, 64)
		if err != nil || n <= 0 {
			return 0, fmt.Errorf("%s: want a positive number; an App needs %s, %s and %s", key, setApp, setInstallation, setKey)
		}
		return n, nil
	}
	id, err := number(setApp)
	if err != nil {
		return nil, err
	}
	inst, err := number(setInstallation)
	if err != nil {
		return nil, err
	}
	if c.Settings[setKey] == "" {
		return nil, fmt.Errorf("%s: an App needs its private key", setKey)
	}
	return &app.Installation{REST: h.rest, HTTP: c.HTTP, Budget: c.Budget, Now: c.Now, AppID: id, ID: inst, KeyFile: c.Settings[setKey]}, nil
}

func configError(err error) error {
	return &adapters.Error{Severity: adapters.ScopeFailure, Op: "open", Err: err}
}

// host is where one GitHub answers.
type host struct {
	name          string // of its pages, canonical: the tenant
	rest, graphql *url.URL
	own           bool // GitHub Enterprise Server
}

// parseBase reads the instance's address. github.com and its tenants under ghe.com have an API host of their own; a
// server of one's own has the API below /api.
func parseBase(s string) (host, error) {
	const want = "base_url: want https://host[:port] and nothing else"
	if s == "" {
		s = "https://github.com"
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return host{}, errors.New("base_url is not a URL") // the parse error would quote it, credentials included
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return host{}, errors.New(want)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return host{}, errors.New(want)
	}
	path := strings.TrimRight(u.Path, "/")
	for _, known := range []string{"/api/v3", "/api/graphql", "/api"} {
		path = strings.TrimSuffix(path, known)
	}
	if path != "" {
		return host{}, errors.New(want)
	}
	name := canonicalHost(u)
	if bare := strings.TrimPrefix(name, "api."); bare == "github.com" || strings.HasSuffix(bare, ".ghe.com") {
		if u.Scheme != "https" {
			return host{}, errors.New("base_url: this host is reached by https only")
		}
		at := &url.URL{Scheme: "https", Host: "api." + bare, Path: "/"}
		return host{name: bare, rest: at, graphql: at.JoinPath("graphql")}, nil
	}
	at := &url.URL{Scheme: u.Scheme, Host: name, Path: "/"}
	return host{name: name, rest: at.JoinPath("api", "v3"), graphql: at.JoinPath("api", "graphql"), own: true}, nil
}

// canonicalHost is the lower-case host, with its port unless it is the scheme's own.
func canonicalHost(u *url.URL) string {
	name, port := strings.ToLower(u.Hostname()), u.Port()
	if port == "" || port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return net.JoinHostPort(name, port)
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
	host       host
	kind       query.Kind
	configured string
	agents     map[string]bool
	now        func() time.Time
	app        bool // the credential is an App's installation
	typed      bool // the server has issue types

	scope   scope.Scope
	repoID  int64
	nodeID  string                     // of the repository
	account string                     // display name
	repo    atomic.Pointer[repository] // as the provider described it last

	list, read size
}

func (s *session) open(ctx context.Context, owner, name string) error {
	var q openQuery
	op := "open repository " + owner + "/" + name
	a, err := s.api.Query(ctx, api.Request{Op: op, Class: adapters.Identity}, &q,
		map[string]any{"owner": githubv4.String(owner), "name": githubv4.String(name)})
	if err != nil {
		return err
	}
	if q.Repository == nil {
		return absent(op, a.Errors)
	}
	if q.Repository.DatabaseID <= 0 || q.Repository.ID == "" {
		return protocol(op, "the answer has no repository id")
	}
	s.repoID, s.nodeID = q.Repository.DatabaseID, q.Repository.ID
	s.scope.Provider, s.scope.Kind, s.scope.Tenant = Provider, s.kind, s.host.name
	s.scope.Container = strconv.FormatInt(s.repoID, 10)
	if err := s.remember(op, q.Repository); err != nil {
		return err
	}
	if s.host.own && s.kind == query.WorkItem {
		return s.learnTypes(ctx)
	}
	return nil
}

// learnTypes asks a server of one's own whether its schema has issue types: one that has not refuses every query that
// names them.
func (s *session) learnTypes(ctx context.Context) error {
	var q typeQuery
	if _, err := s.api.Query(ctx, api.Request{Op: "read the server's schema", Class: adapters.Identity}, &q, nil); err != nil {
		return err
	}
	s.typed = false
	if q.Type == nil {
		return protocol("read the server's schema", "it has no issues")
	}
	for _, f := range q.Type.Fields {
		s.typed = s.typed || f.Name == "issueType"
	}
	return nil
}

// verify reads whose credential a new token is. The first one names the account of the scope; a later one of another
// account sees other things, so it ends the session. The token that Actions gives to a workflow belongs to no account that
// it may name.
func (s *session) verify(ctx context.Context, ask api.Asker) error {
	var q viewerQuery
	const op = "read the credential's account"
	a, err := ask.Query(ctx, api.Request{Op: op, Class: adapters.Identity}, &q, nil)
	id, login := strconv.FormatInt(q.Viewer.DatabaseID, 10), q.Viewer.Login
	switch {
	case errors.Is(err, adapters.ErrForbidden), len(a.Errors) > 0 && a.Errors[0].Forbidden():
		id, login = unnamed, "the installation"
	case err != nil:
		return err
	case q.Viewer.DatabaseID <= 0:
		return protocol(op, "the answer has no account id")
	}
	switch {
	case s.scope.Account == "":
		s.scope.Account, s.account = id, login
	case s.scope.Account != id:
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: op,
			Err: fmt.Errorf("%w: the token now belongs to another account (id %s instead of %s)", adapters.ErrUnauthorized, id, s.scope.Account)}
	}
	return nil
}

func (s *session) remember(op string, r *repository) error {
	if _, _, err := parseContainer(r.NameWithOwner); err != nil {
		return protocol(op, "the answer has no name")
	}
	c := *r
	s.repo.Store(&c)
	return nil
}

// path is the container's current path below the REST root, plus what follows.
func (s *session) path(format string, args ...any) string {
	owner, name, _ := strings.Cut(s.repo.Load().NameWithOwner, "/")
	return "repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name) + fmt.Sprintf(format, args...)
}

// absent says why an object that was asked for is null.
func absent(op string, errs []api.GraphQLError) error {
	e := &adapters.Error{Severity: adapters.MomentFailure, Op: op, Status: http.StatusOK, Err: fmt.Errorf("%w: null without an error", adapters.ErrProtocol)}
	for i := range errs {
		switch g := &errs[i]; {
		case g.NotFound():
			e.Severity, e.Err = adapters.ScopeFailure, fmt.Errorf("%w: %s", adapters.ErrNotFound, g.Text())
		case g.Forbidden():
			e.Severity, e.Err = adapters.ScopeFailure, fmt.Errorf("%w: %s", adapters.ErrForbidden, g.Text())
		default:
			e.Err = fmt.Errorf("%w: %s", adapters.ErrProtocol, g.Text())
		}
		return e
	}
	return e
}

func protocol(op, what string) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: op, Status: http.StatusOK, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, what)}
}

// Scope returns the scope; its members are stable ids.
func (s *session) Scope() scope.Scope { return s.scope }

// unnamed is the account of an installation's token that came from outside and may not name itself.
const unnamed = "installation"
