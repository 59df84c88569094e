package jira

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
)

// Health asks who the credential is, what has the project's id, and what the credential may do there: three requests, and
// two more when the project's key has changed.
func (s *session) Health(ctx context.Context) (adapters.Health, error) {
	var me account
	const op = "verify the credential"
	a, err := s.api.Do(ctx, api.Request{Op: op, Class: adapters.Identity, Path: s.path("myself")}, &me)
	if err != nil {
		return adapters.Health{}, err
	}
	if me.id() != s.scope.Account {
		return adapters.Health{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: op,
			Err: fmt.Errorf("%w: the answer is for account %q instead of %q", adapters.ErrUnauthorized, api.Clip(me.id()), s.scope.Account)}
	}
	h := adapters.Health{Clock: a.Clock, Account: s.account}
	if h.Clock.IsZero() {
		h.Clock = s.api.Clock()
		h.Warnings = append(h.Warnings, "the server sends no Date header: its clock is taken to be this machine's")
	}
	p, err := s.sameProject(ctx)
	if err != nil {
		return adapters.Health{}, err
	}
	if err := s.remember(p); err != nil {
		return adapters.Health{}, err
	}
	h.Place = p.Key
	if !strings.EqualFold(p.Key, s.configured) {
		h.Warnings = append(h.Warnings, fmt.Sprintf("project %s is called %s now: change the configuration", s.configured, p.Key))
	}
	if h.CanRoles, err = s.administers(ctx); err != nil {
		return adapters.Health{}, err
	}
	if !h.CanRoles {
		h.Warnings = append(h.Warnings, fmt.Sprintf("%s may not administer %s and so may not read roles: "+
			"nobody's labels, comments or texts can be admitted, so nothing that needs them will match", s.account, p.Key))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles = nil
	if s.counts != "" {
		h.Warnings = append(h.Warnings, s.counts)
	}
	return h, nil
}

// sameProject reads the project by its id, and when its key is another one, asks what the configured key is now.
func (s *session) sameProject(ctx context.Context) (*project, error) {
	p, err := s.readProject(ctx, s.scope.Container, false)
	if err == nil && p.ID != s.scope.Container {
		return nil, protocol("read project "+s.scope.Container, "the answer is about project "+p.ID)
	}
	if err == nil && strings.EqualFold(p.Key, s.configured) {
		return p, nil
	}
	if err != nil && !errors.Is(err, adapters.ErrNotFound) {
		return nil, err
	}
	other, oerr := s.readProject(ctx, s.configured, false)
	switch {
	case oerr == nil && other.ID != s.scope.Container:
		return nil, &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify project " + s.configured,
			Err: fmt.Errorf("%w: %s is project %s now, not %s", adapters.ErrMoved, s.configured, other.ID, s.scope.Container)}
	case err != nil:
		return nil, err
	case oerr != nil && !errors.Is(oerr, adapters.ErrNotFound):
		return nil, oerr
	}
	return p, nil
}

func (s *session) administers(ctx context.Context) (bool, error) {
	var m struct {
		Permissions map[string]struct {
			Have bool `json:"havePermission"`
		} `json:"permissions"`
	}
	q := url.Values{"projectId": {s.scope.Container}, "permissions": {"BROWSE_PROJECTS,ADMINISTER_PROJECTS"}}
	op := "read the credential's permissions"
	if _, err := s.api.Do(ctx, api.Request{Op: op, Class: adapters.Identity, Path: s.path("mypermissions"), Query: q}, &m); err != nil {
		return false, err
	}
	if b, ok := m.Permissions["BROWSE_PROJECTS"]; ok && !b.Have {
		return false, &adapters.Error{Severity: adapters.ScopeFailure, Op: op, Err: fmt.Errorf("%w: it may not browse the project", adapters.ErrForbidden)}
	}
	return m.Permissions["ADMINISTER_PROJECTS"].Have, nil
}

// sameKeys reports whether a key is or was the project's.
func (p *project) sameKeys(key string) bool {
	return strings.EqualFold(p.Key, key) || slices.ContainsFunc(p.Keys, func(k string) bool { return strings.EqualFold(k, key) })
}
