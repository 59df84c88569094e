package github

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// Health asks for the repository by its node and for whatever has the configured name: one request, one point. The API
// answers nobody in particular with 401, so an answer given to nobody cannot pass.
func (s *session) Health(ctx context.Context) (adapters.Health, error) {
	owner, name, _ := strings.Cut(s.configured, "/")
	op := "verify repository " + s.configured
	var q healthQuery
	a, err := s.api.Query(ctx, api.Request{Op: op, Class: adapters.Identity}, &q,
		map[string]any{"id": githubv4.ID(s.nodeID), "owner": githubv4.String(owner), "name": githubv4.String(name)})
	if err != nil {
		return adapters.Health{}, err
	}
	switch {
	case q.Configured != nil && q.Configured.DatabaseID != s.repoID:
		return adapters.Health{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: op,
			Err: fmt.Errorf("%w: %s is repository %d now, not %d", adapters.ErrMoved, s.configured, q.Configured.DatabaseID, s.repoID)}
	case q.Node == nil:
		return adapters.Health{}, absent(op, a.Errors)
	case q.Node.Repository.DatabaseID != s.repoID:
		return adapters.Health{}, protocol(op, fmt.Sprintf("the answer is about repository %d", q.Node.Repository.DatabaseID))
	}
	r := &q.Node.Repository
	if err := s.remember(op, r); err != nil {
		return adapters.Health{}, err
	}
	if err := s.usable(r); err != nil {
		return adapters.Health{}, err
	}
	h := adapters.Health{Clock: a.Clock, Account: s.account, Place: r.NameWithOwner, CanRoles: s.mayPush(r)}
	if h.Clock.IsZero() {
		h.Clock = s.now().UTC().Truncate(time.Second)
		h.Warnings = append(h.Warnings, "the server sends no Date header: its clock is taken to be this machine's")
	}
	if !strings.EqualFold(r.NameWithOwner, s.configured) {
		h.Warnings = append(h.Warnings, fmt.Sprintf("repository %s is called %s now: change the configuration", s.configured, r.NameWithOwner))
	}
	if !h.CanRoles {
		h.Warnings = append(h.Warnings, fmt.Sprintf("%s may not push to %s and so may not read roles: "+
			"nobody's labels, comments or texts can be admitted, so nothing that needs them will match", s.account, r.NameWithOwner))
	}
	return h, nil
}

// mayPush is GitHub's condition for reading other people's roles. What an App may do is not in viewerPermission; it is
// told by the first role that is asked for.
func (s *session) mayPush(r *repository) bool {
	if s.app || s.scope.Account == unnamed {
		return true
	}
	if r.ViewerPermission == nil {
		return false
	}
	switch *r.ViewerPermission {
	case "ADMIN", "MAINTAIN", "WRITE":
		return true
	}
	return false
}

// usable refuses a repository whose issues are switched off: their listing would be empty for ever.
func (s *session) usable(r *repository) error {
	why := ""
	switch {
	case r.IsDisabled:
		why = "the repository is disabled"
	case s.kind == query.WorkItem && !r.HasIssuesEnabled:
		why = "issues are switched off there"
	default:
		return nil
	}
	return &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify repository " + r.NameWithOwner, Err: fmt.Errorf("%w: %s", adapters.ErrNotFound, why)}
}

// at is the provider's clock of an answer, or this machine's when it sent none.
func (s *session) at(a api.Answer) time.Time {
	if a.Clock.IsZero() {
		return s.now().UTC().Truncate(time.Second)
	}
	return a.Clock
}
