package jira

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

const roleEndpoint = "project/{id}/role/{role}"

// Roles reads the project's roles and who has them, once for a call, and asks for the groups of those who could have a role
// through one: Jira gives all groups of an account, nested ones too, and they are compared by id. Roles can be read by who
// administers the project; to anybody else every actor is unverified. Throttling and a spent budget are errors.
func (s *session) Roles(ctx context.Context, as []query.User) ([]adapters.Finding, error) {
	out := make([]adapters.Finding, len(as))
	var asked []int
	for i, u := range as {
		out[i] = adapters.Finding{Actor: u, Endpoint: roleEndpoint, At: s.api.Clock()}
		switch {
		case u.Deleted:
			out[i].Role, out[i].Verified, out[i].Endpoint = adapters.None, true, "provider metadata: deleted or unknown account"
		case u.ID == "" || u.ID == "unknown":
			out[i].Why = "the actor has no account id"
		default:
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		return out, nil
	}
	for n, i := range asked {
		err := s.role(ctx, &out[i])
		if err == nil {
			continue
		}
		out[i].Why = whyUnverified(err)
		if errors.Is(err, adapters.ErrForbidden) || passing(ctx, err) != nil { // the others would hear the same
			for _, k := range asked[n:] {
				out[k].Why = whyUnverified(err)
			}
			return out, passing(ctx, err)
		}
	}
	return out, nil
}

func whyUnverified(err error) string {
	if errors.Is(err, adapters.ErrForbidden) {
		return "the token may not read roles: its account must administer the project"
	}
	return err.Error()
}

// passing keeps the errors that say nothing about an actor.
func passing(ctx context.Context, err error) error {
	if stops(err) || ctx.Err() != nil || errors.Is(err, adapters.ErrUnauthorized) {
		return err
	}
	return nil
}

// projectRole is one role of the project with who has it.
type projectRole struct {
	role   adapters.Role
	people map[string]bool // account ids; on Data Center names
	groups map[string]bool // group ids; on Data Center names
}

// roleNamed maps the names of roles: any other named role is read.
func roleNamed(name string) adapters.Role {
	switch strings.ToLower(name) {
	case "administrators", "administrator":
		return adapters.Admin
	case "developers", "developer":
		return adapters.Write
	}
	return adapters.ReadRole
}

// rolesFor is how long the roles that were read serve further calls: a cycle begins with Health, which forgets them.
const rolesFor = 10 * time.Second

// roleNames are the ids of the project's roles, the strongest first. They come with the project, as of this cycle's Health.
func (s *session) roleNames(ctx context.Context) ([]named, error) {
	urls := s.repo.Load().Roles
	if len(urls) == 0 {
		if _, err := s.api.Do(ctx, api.Request{Op: "read the project's roles", Class: adapters.Roles, Path: s.path("project/%s/role", s.scope.Container), Item: true}, &urls); err != nil {
			return nil, err
		}
	}
	var out []named
	for name, u := range urls {
		id := path.Base(u)
		if !digits(id) {
			return nil, protocol("read the project's roles", "a role has no id")
		}
		out = append(out, named{ID: id, Name: name})
	}
	slices.SortFunc(out, func(a, b named) int {
		return cmp.Or(int(roleNamed(b.Name))-int(roleNamed(a.Name)), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// who reads who has a role, once for a cycle.
func (s *session) who(ctx context.Context, n named) (projectRole, error) {
	s.mu.Lock()
	if age := s.now().Sub(s.rolesAt); s.roles == nil || age < 0 || age >= rolesFor {
		s.roles, s.rolesAt = map[string]projectRole{}, s.now()
	}
	r, ok := s.roles[n.ID]
	s.mu.Unlock()
	if ok {
		return r, nil
	}
	r, err := s.readRole(ctx, n.Name, n.ID)
	if err == nil {
		s.mu.Lock()
		if s.roles != nil {
			s.roles[n.ID] = r
		}
		s.mu.Unlock()
	}
	return r, err
}

func (s *session) readRole(ctx context.Context, name, id string) (projectRole, error) {
	var body struct {
		Actors []*struct {
			Type string `json:"type"`
			Name string `json:"name"`
			User *struct {
				AccountID string `json:"accountId"`
			} `json:"actorUser"`
			Group *group `json:"actorGroup"`
		} `json:"actors"`
	}
	op := "read role " + api.Clip(name)
	r := projectRole{role: roleNamed(name), people: map[string]bool{}, groups: map[string]bool{}}
	if _, err := s.api.Do(ctx, api.Request{Op: op, Class: adapters.Roles, Path: s.path("project/%s/role/%s", s.scope.Container, id), Item: true}, &body); err != nil {
		return r, err
	}
	for _, a := range body.Actors {
		switch {
		case a == nil:
			return r, protocol(op, "an actor is null in the answer")
		case a.Type == "atlassian-user-role-actor" && a.User != nil && a.User.AccountID != "":
			r.people[a.User.AccountID] = true
		case a.Type == "atlassian-user-role-actor" && s.dc && a.Name != "":
			r.people[a.Name] = true
		case a.Type == "atlassian-group-role-actor" && a.Group != nil && a.Group.ID != "":
			r.groups[a.Group.ID] = true
		case a.Type == "atlassian-group-role-actor" && s.dc && a.Name != "":
			r.groups[a.Name] = true
		}
	}
	return r, nil
}

// role finds the strongest role of an actor. Weaker roles are not read once one is found, and groups are asked for only
// where they could make it stronger.
func (s *session) role(ctx context.Context, f *adapters.Finding) error {
	names, err := s.roleNames(ctx)
	if err != nil {
		return err
	}
	found := adapters.External
	var groups map[string]bool
	for _, n := range names {
		if roleNamed(n.Name) <= found {
			break
		}
		r, err := s.who(ctx, n)
		if err != nil {
			return err
		}
		if r.people[s.roleName(f.Actor)] {
			found = r.role
			break
		}
		if len(r.groups) == 0 {
			continue
		}
		if groups == nil {
			if groups, err = s.groupsOf(ctx, f.Actor); err != nil {
				return err
			}
			f.Endpoint = roleEndpoint + " and user?expand=groups"
		}
		for g := range r.groups {
			if groups[g] {
				found = max(found, r.role)
			}
		}
	}
	f.Role, f.Verified = found, true
	return nil
}

// roleName is what roles call an account: its id, or its name on Data Center.
func (s *session) roleName(u query.User) string {
	if s.dc {
		return u.Login
	}
	return u.ID
}

func (s *session) groupsOf(ctx context.Context, u query.User) (map[string]bool, error) {
	q := url.Values{"expand": {"groups"}}
	if s.dc {
		q.Set("key", u.ID)
	} else {
		q.Set("accountId", u.ID)
	}
	var a account
	const op = "read an actor's groups"
	if _, err := s.api.Do(ctx, api.Request{Op: op, Class: adapters.Roles, Path: s.path("user"), Query: q, Item: true}, &a); err != nil {
		return nil, err
	}
	switch {
	case a.id() != u.ID:
		return nil, protocol(op, fmt.Sprintf("the answer is about account %q", api.Clip(a.id())))
	case a.Groups == nil:
		return nil, protocol(op, "there are no groups in the answer")
	}
	out := map[string]bool{}
	for _, g := range a.Groups.Items {
		if s.dc {
			out[g.Name] = true
		} else {
			out[g.ID] = true
		}
	}
	return out, nil
}
