package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

const permissionEndpoint = "collaborators/{login}/permission"

// Roles asks for each actor's permission on the repository. The endpoint takes a login, which is not an identity: the
// account in the answer must be the actor, else the actor's current login is looked up by id. It answers only to
// administrators of the repository: after the first refusal the others are not asked. Who has less than write there may
// have it through a team, see membership. Throttling and a spent budget are errors: they say nothing about an actor.
func (s *session) Roles(ctx context.Context, as []query.User) ([]adapters.Finding, error) {
	b := s.batch()
	out := make([]adapters.Finding, len(as))
	var refused atomic.Bool
	teams := &membership{s: s}
	err := b.each(ctx, len(as), func(ctx context.Context, i int) error {
		f, err := b.role(ctx, as[i], &refused, teams)
		out[i] = f
		return err
	})
	if err == nil {
		err = b.waiting() // not asked is no answer
	}
	return out, err
}

func (b *batch) role(ctx context.Context, u query.User, refused *atomic.Bool, teams *membership) (adapters.Finding, error) {
	f := adapters.Finding{Actor: u, Endpoint: permissionEndpoint, At: b.s.now().UTC()}
	unverified := func(why string) adapters.Finding {
		f.Why = why
		return f
	}
	switch {
	case u.Deleted:
		f.Role, f.Verified, f.Endpoint = adapters.None, true, "provider metadata: deleted account"
		return f, nil
	case u.ID == strconv.Itoa(actionsID):
		f.Role, f.Verified, f.Endpoint = adapters.None, true, "provider metadata: system account"
		return f, nil
	case u.ID == "" || u.Login == "":
		return unverified("the actor has no id or no login"), nil
	case refused.Load() && u.ID != b.s.scope.Account:
		return unverified(mayNotRead), nil
	}
	if err := b.waiting(); err != nil {
		return unverified(err.Error()), nil
	}
	p, a, err := b.s.permission(ctx, u.Login)
	if errors.Is(err, adapters.ErrNotFound) || err == nil && idOf(p.User) != u.ID {
		login, lerr := b.s.loginOf(ctx, u.ID)
		switch {
		case lerr != nil:
			return unverified("looking for the actor's current login: " + lerr.Error()), lerr
		case login == "":
			return unverified(fmt.Sprintf("login %q is not the actor's (any more), and no account with id %s is visible", u.Login, u.ID)), nil
		}
		p, a, err = b.s.permission(ctx, login)
	}
	switch {
	case errors.Is(err, adapters.ErrForbidden):
		refused.Store(true)
		return unverified(mayNotRead), nil
	case err != nil:
		return unverified(err.Error()), err
	case idOf(p.User) != u.ID:
		return unverified("the answer is about another account"), nil
	}
	f.At = b.s.at(a)
	role, ok := roleOf(string(p.Permission))
	if !ok {
		return unverified(fmt.Sprintf("permission %q is not known", p.Permission)), nil
	}
	f.Role, f.Verified = role, true
	if role < adapters.Write {
		endpoint, err := teams.writer(ctx, u, p.User.UserName)
		if err != nil {
			f.Role, f.Verified = adapters.NoRole, false
			return unverified("looking at the teams of the repository: " + err.Error()), err
		}
		if endpoint != "" {
			f.Role, f.Endpoint = adapters.Write, endpoint
		}
	}
	return f, nil
}

const mayNotRead = "the token may not read roles: its account must be an administrator of the repository"

func idOf(u *api.User) string {
	if u == nil {
		return ""
	}
	return strconv.FormatInt(u.ID, 10)
}

// roleOf maps the servers' access modes.
func roleOf(mode string) (adapters.Role, bool) {
	switch mode {
	case "owner", "admin":
		return adapters.Admin, true
	case "write":
		return adapters.Write, true
	case "read":
		return adapters.ReadRole, true
	case "none":
		return adapters.None, true
	}
	return adapters.NoRole, false
}

func (s *session) permission(ctx context.Context, login string) (api.Permission, api.Answer, error) {
	var p api.Permission
	a, err := s.api.Get(ctx, api.Request{Op: "read role of " + login, Class: adapters.Roles, Item: true,
		Path: s.path("/collaborators/%s/permission", url.PathEscape(login))}, &p)
	return p, a, err
}

// loginOf looks an account up by id; "" when none is visible.
func (s *session) loginOf(ctx context.Context, id string) (string, error) {
	var us api.Users
	_, err := s.api.Get(ctx, api.Request{Op: "look up account " + id, Class: adapters.Roles, Item: true,
		Path: "users/search", Query: url.Values{"uid": {id}}}, &us)
	if err != nil && (errors.Is(err, adapters.ErrNotFound) || errors.Is(err, adapters.ErrForbidden)) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, u := range us.Data {
		if idOf(u) == id {
			return u.UserName, nil
		}
	}
	return "", nil
}
