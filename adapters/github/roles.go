package github

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

const permissionEndpoint = "collaborators/{login}/permission"

const mayNotRead = "the token may not read roles: its account must be able to push to the repository"

// permission is the answer of that endpoint. Its permission member calls maintain write and triage read, so it is not
// used.
type permission struct {
	RoleName string `json:"role_name"`
	User     *struct {
		ID          int64  `json:"id"`
		Login       string `json:"login"`
		Permissions *flags `json:"permissions"`
	} `json:"user"`
}

type flags struct {
	Admin    bool `json:"admin"`
	Maintain bool `json:"maintain"`
	Push     bool `json:"push"`
	Triage   bool `json:"triage"`
	Pull     bool `json:"pull"`
}

// Roles asks for each actor's role on the repository. The endpoint takes a login, which is not an identity: the account in
// the answer must be the actor, else the actor's current login is looked up by id. It answers only to those who can
// push: after the first refusal the others are not asked.
func (s *session) Roles(ctx context.Context, as []query.User) ([]adapters.Finding, error) {
	out := make([]adapters.Finding, len(as))
	var stop string // why nobody is asked any more
	for i, u := range as {
		out[i] = adapters.Finding{Actor: u, Endpoint: permissionEndpoint, At: s.now().UTC()}
		f := &out[i]
		if s.known(f) {
			continue
		}
		if stop != "" {
			f.Why = stop
			continue
		}
		err := s.role(ctx, f)
		if err == nil {
			continue
		}
		f.Role, f.Verified, f.Why = adapters.NoRole, false, err.Error()
		switch e := asError(err); {
		case ctx.Err() != nil:
			return out, &adapters.Error{Severity: adapters.MomentFailure, Op: "read roles", Err: ctx.Err()}
		case stops(err):
			stop = err.Error()
		case errors.Is(err, adapters.ErrForbidden):
			f.Why, stop = mayNotRead, mayNotRead
		case e.Severity == adapters.ScopeFailure:
			return out, err
		}
	}
	return out, nil
}

// known settles what the provider's metadata tell. Bots have no role on a repository; whoever trusts one names it in the
// configuration.
func (s *session) known(f *adapters.Finding) bool {
	u := f.Actor
	switch {
	case u.Deleted:
		f.Endpoint = "provider metadata: deleted account"
	case u.Bot:
		f.Endpoint = "provider metadata: bot"
	case strings.HasPrefix(u.ID, "mannequin:"), strings.HasPrefix(u.ID, "team:"):
		f.Endpoint = "provider metadata: no person"
	case u.ID == "" || u.Login == "":
		f.Why = "the actor has no id or no login"
		return true
	default:
		return false
	}
	f.Role, f.Verified = adapters.None, true
	return true
}

func (s *session) role(ctx context.Context, f *adapters.Finding) error {
	p, a, err := s.permission(ctx, f.Actor.Login)
	if errors.Is(err, adapters.ErrNotFound) || err == nil && p.id() != f.Actor.ID {
		login, lerr := s.loginOf(ctx, f.Actor.ID)
		switch {
		case lerr != nil:
			return fmt.Errorf("looking for the actor's current login: %w", lerr)
		case login == "":
			f.Why = fmt.Sprintf("login %q is not the actor's (any more), and no account with id %s is visible", f.Actor.Login, f.Actor.ID)
			return nil
		}
		p, a, err = s.permission(ctx, login)
	}
	switch {
	case err != nil:
		return err
	case p.id() != f.Actor.ID:
		f.Why = "the answer is about another account"
		return nil
	}
	role, ok := p.role()
	if !ok {
		f.Why = fmt.Sprintf("role %q is not known and comes without permissions", p.RoleName)
		return nil
	}
	f.Role, f.Verified = role, true
	if !a.Clock.IsZero() {
		f.At = a.Clock
	}
	return nil
}

func (s *session) permission(ctx context.Context, login string) (permission, api.Answer, error) {
	var p permission
	a, err := s.api.Get(ctx, api.Request{Op: "read role of " + login, Class: adapters.Roles, Item: true,
		Path: s.path("/collaborators/%s/permission", url.PathEscape(login))}, &p)
	return p, a, err
}

func (p *permission) id() string {
	if p.User == nil {
		return ""
	}
	return strconv.FormatInt(p.User.ID, 10)
}

// role reads the role's name, and for a name that an organisation made up the strongest permission that is set.
func (p *permission) role() (adapters.Role, bool) {
	switch p.RoleName {
	case "admin":
		return adapters.Admin, true
	case "maintain":
		return adapters.Maintain, true
	case "write":
		return adapters.Write, true
	case "triage":
		return adapters.Triage, true
	case "read":
		return adapters.ReadRole, true
	case "none":
		return adapters.None, true
	}
	if p.RoleName == "" || p.User == nil || p.User.Permissions == nil {
		return adapters.NoRole, false
	}
	switch f := p.User.Permissions; {
	case f.Admin:
		return adapters.Admin, true
	case f.Maintain:
		return adapters.Maintain, true
	case f.Push:
		return adapters.Write, true
	case f.Triage:
		return adapters.Triage, true
	case f.Pull:
		return adapters.ReadRole, true
	}
	return adapters.None, true
}

// loginOf looks an account up by id; "" when none is visible.
func (s *session) loginOf(ctx context.Context, id string) (string, error) {
	var u struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
	}
	_, err := s.api.Get(ctx, api.Request{Op: "look up account " + id, Class: adapters.Roles, Item: true, Path: "user/" + url.PathEscape(id)}, &u)
	switch {
	case errors.Is(err, adapters.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case strconv.FormatInt(u.ID, 10) != id:
		return "", nil
	}
	return u.Login, nil
}
