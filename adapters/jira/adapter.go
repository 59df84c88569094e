package jira

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Provider is the name of this provider in scopes and identities, for Cloud and Data Center.
const Provider = query.Jira

// Adapter is Jira. The zero value is ready.
type Adapter struct{}

var _ adapters.Adapter = Adapter{}

// Provider returns "jira".
func (Adapter) Provider() string { return Provider }

// The settings of a connection.
const (
	setEmail = "email"
	setCloud = "cloud_id"
)

// Settings returns the account's e-mail address and the cloud id; both are optional.
func (Adapter) Settings() []adapters.Setting {
	return []adapters.Setting{
		{Name: setEmail, Doc: "the account's e-mail address, for API tokens of Jira Cloud; without it the token is sent as bearer"},
		{Name: setCloud, Doc: "the site's cloud id, for scoped tokens: requests then go through api.atlassian.com"},
	}
}

// Container is a project by its key.
func (Adapter) Container() adapters.ContainerName {
	return adapters.ContainerName{Key: "project", Example: "PROJ", Check: checkKey}
}

func checkKey(s string) error {
	if !projectKey.MatchString(s) {
		return fmt.Errorf("project %q: want a project key", s)
	}
	return nil
}

// Open asks the server which Jira it is, who the credential is and which project is meant: six requests of class Identity
// at most.
func (Adapter) Open(ctx context.Context, c adapters.Config) (adapters.Session, error) {
	if c.Kind != query.WorkItem {
		return nil, configError(fmt.Errorf("kind %q: Jira has %s only", c.Kind, query.WorkItem))
	}
	if c.Token == nil || c.Budget == nil || c.Now == nil {
		return nil, configError(errors.New("token, budget and clock are required"))
	}
	if err := checkKey(c.Container); err != nil {
		return nil, configError(err)
	}
	base, cloud, err := parseBase(c.BaseURL, c.Settings[setCloud])
	if err != nil {
		return nil, configError(err)
	}
	s := &session{configured: c.Container, base: base, cloud: cloud, agents: map[string]bool{}, now: c.Now, valid: map[string]bool{}}
	for _, id := range c.Agents {
		s.agents[id] = true
	}
	s.api, err = api.New(api.Options{Base: base, HTTP: c.HTTP, Email: c.Settings[setEmail], Token: c.Token, Budget: c.Budget, Now: c.Now,
		Verify: s.verify, Parallel: c.Parallel})
	if err != nil {
		return nil, configError(errors.New("base_url cannot be used"))
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func configError(err error) error {
	return &adapters.Error{Severity: adapters.ScopeFailure, Op: "open", Err: err}
}

var (
	projectKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,254}$`)
	cloudID    = regexp.MustCompile(`^[A-Za-z0-9-]{8,64}$`)
)

const gateway = "api.atlassian.com"

// parseBase reads the address of a site, of a Data Center with its context path, or of the gateway with a cloud id.
func parseBase(s, cloud string) (base *url.URL, id string, err error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, "", errors.New("base_url is not a URL") // the parse error would quote it, credentials included
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, "", errors.New("base_url: want https://host[:port][/path]")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, "", errors.New("base_url: want https://host[:port][/path] and nothing else")
	case cloud != "" && !cloudID.MatchString(cloud):
		return nil, "", errors.New("cloud_id: want the id that https://<site>/_edge/tenant_info shows")
	}
	path := strings.TrimRight(u.Path, "/")
	for _, known := range []string{"/rest/api/2", "/rest/api/3", "/rest/api/latest", "/rest/api", "/rest"} {
		path = strings.TrimSuffix(path, known)
	}
	host := canonicalHost(u)
	if rest, ok := strings.CutPrefix(path, "/ex/jira/"); ok {
		switch {
		case !cloudID.MatchString(rest):
			return nil, "", errors.New("base_url: want https://api.atlassian.com/ex/jira/<cloud id>")
		case cloud != "" && cloud != rest:
			return nil, "", errors.New("cloud_id is another one than that of base_url")
		}
		cloud = rest
	} else if cloud != "" { // scoped tokens work on the gateway only
		if strings.HasSuffix(host, ".atlassian.net") {
			host = gateway
		}
		path = "/ex/jira/" + cloud
	}
	return &url.URL{Scheme: u.Scheme, Host: host, Path: path + "/"}, cloud, nil
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

// session is one project seen with one credential.
type session struct {
	api        *api.Client
	configured string
	base       *url.URL // of the API
	pages      string   // address of the site's pages
	cloud      string   // cloud id; "" on Data Center
	dc         bool
	agents     map[string]bool
	now        func() time.Time

	scope   scope.Scope
	account string // display name
	repo    atomic.Pointer[project]

	mu      sync.Mutex
	words   vocabulary
	valid   map[string]bool        // JQL texts that the server took
	probed  time.Time              // when the rule of labels was asked for in vain
	folds   *bool                  // labels are compared without case; nil: not known
	roles   map[string]projectRole // by id, of this cycle
	rolesAt time.Time
	counts  string // what approximate-count said against the last sweep
}

// project is what the API says of one.
type project struct {
	ID         string   `json:"id"`
	Key        string   `json:"key"`
	Name       string   `json:"name"`
	Archived   bool     `json:"archived"`
	Keys       []string `json:"projectKeys"`
	Types      []named  `json:"issueTypes"`
	Components []named  `json:"components"`
	Versions   []named  `json:"versions"`
	// Roles are the addresses of the project's roles, by name.
	Roles map[string]string `json:"roles"`
}

type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// path is below the API's base. Version 3 gives texts as ADF; Data Center has version 2 alone.
func (s *session) path(format string, args ...any) string {
	v := "rest/api/3/"
	if s.dc {
		v = "rest/api/2/"
	}
	return v + fmt.Sprintf(format, args...)
}

func (s *session) open(ctx context.Context) error {
	var info struct {
		BaseURL string `json:"baseUrl"`
		Type    string `json:"deploymentType"`
	}
	if _, err := s.api.Do(ctx, api.Request{Op: "read server information", Class: adapters.Identity, Path: "rest/api/2/serverInfo"}, &info); err != nil {
		return err
	}
	switch info.Type {
	case "Cloud":
	case "Server", "DataCenter", "Data Center":
		s.dc = true
	default:
		return protocol("read server information", fmt.Sprintf("deployment type %q is not known", api.Clip(info.Type)))
	}
	s.pages = strings.TrimRight(info.BaseURL, "/")
	if u, err := url.Parse(s.pages); err != nil || u.Host == "" {
		s.pages = strings.TrimRight(s.base.String(), "/")
	}
	if err := s.tenant(ctx); err != nil {
		return err
	}
	p, err := s.readProject(ctx, s.configured, false)
	if err != nil {
		return err
	}
	s.scope.Provider, s.scope.Kind, s.scope.Container = Provider, query.WorkItem, p.ID
	return s.remember(p)
}

// tenant: ids of issues are unique on one site only. Cloud's site is known by its cloud id, whatever it is called.
func (s *session) tenant(ctx context.Context) error {
	if s.dc {
		s.scope.Tenant = s.base.Host + strings.TrimRight(s.base.Path, "/")
		return nil
	}
	if s.cloud == "" {
		var t struct {
			CloudID string `json:"cloudId"`
		}
		if _, err := s.api.Do(ctx, api.Request{Op: "read the site's cloud id", Class: adapters.Identity, Path: "_edge/tenant_info", Site: true}, &t); err != nil {
			return err
		}
		if !cloudID.MatchString(t.CloudID) {
			return protocol("read the site's cloud id", "there is none in the answer")
		}
		s.cloud = t.CloudID
	}
	s.scope.Tenant = s.cloud
	return nil
}

func (s *session) readProject(ctx context.Context, ref string, keys bool) (*project, error) {
	r := api.Request{Op: "read project " + ref, Class: adapters.Identity, Path: s.path("project/%s", url.PathEscape(ref))}
	if keys {
		r.Query = url.Values{"expand": {"projectKeys"}}
	}
	var p project
	if _, err := s.api.Do(ctx, r, &p); err != nil {
		return nil, err
	}
	if _, err := strconv.ParseInt(p.ID, 10, 64); err != nil || p.Key == "" {
		return nil, protocol(r.Op, "the answer has no project id or key")
	}
	return &p, nil
}

// remember takes a project's current name and values. An archived one has no issues in any search.
func (s *session) remember(p *project) error {
	if p.Archived {
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: "read project " + p.Key, Err: fmt.Errorf("%w: the project is archived", adapters.ErrNotFound)}
	}
	s.repo.Store(p)
	return nil
}

// account is a person as the API shows one: by account id on Cloud, by key on Data Center.
type account struct {
	AccountID string `json:"accountId"`
	Type      string `json:"accountType"`
	Key       string `json:"key"`
	Name      string `json:"name"`
	Display   string `json:"displayName"`
	Active    *bool  `json:"active"`
	Groups    *struct {
		Items []group `json:"items"`
	} `json:"groups"`
}

type group struct {
	ID   string `json:"groupId"`
	Name string `json:"name"`
}

func (a *account) id() string {
	if a.AccountID != "" {
		return a.AccountID
	}
	return a.Key
}

// verify reads whose credential a new token is. The first one names the account of the scope; a later one of another
// account sees other things, so it ends the session.
func (s *session) verify(ctx context.Context, ask api.Asker) (string, error) {
	var a account
	const op = "read the credential's account"
	if _, err := ask.Do(ctx, api.Request{Op: op, Class: adapters.Identity, Path: "rest/api/2/myself"}, &a); err != nil {
		return "", err
	}
	id := a.id()
	switch {
	case id == "" || id == "unknown":
		return "", protocol(op, "the answer has no account id")
	case s.scope.Account == "":
		s.scope.Account, s.account = id, a.Display
	case s.scope.Account != id:
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: op,
			Err: fmt.Errorf("%w: the token now belongs to another account (id %s instead of %s)", adapters.ErrUnauthorized, id, s.scope.Account)}
	}
	return id, nil
}

func protocol(op, what string) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: op, Status: http.StatusOK, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, what)}
}

// Scope returns the scope; its members are stable ids.
func (s *session) Scope() scope.Scope { return s.scope }
