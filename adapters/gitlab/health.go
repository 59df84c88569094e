package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
)

// Health asks for the project by its number: one request, whose answer shows whether it was given to a signed-in caller.
// Only when the name has changed does a second one look at who has the old name.
func (s *session) Health(ctx context.Context) (adapters.Health, error) {
	p, a, err := s.readProject(ctx)
	if err != nil {
		return adapters.Health{}, s.explainLoss(ctx, err)
	}
	h := adapters.Health{Clock: a.Clock, Account: s.account, Place: p.Path, CanRoles: true, Warnings: slices.Clone(s.warnings)}
	if h.Clock.IsZero() {
		h.Clock = s.now().UTC()
		h.Warnings = append(h.Warnings, "the server sends no Date header: its clock is taken to be this machine's")
	}
	if err := s.unit(p); err != nil {
		return adapters.Health{}, err
	}
	if !strings.EqualFold(p.Path, s.configured) {
		w, err := s.renamed(ctx, p)
		if err != nil {
			return adapters.Health{}, err
		}
		h.Warnings = append(h.Warnings, w)
	}
	if !s.seesMembers(p) {
		h.Warnings = append(h.Warnings, fmt.Sprintf("account %s is no member of %s: members by way of a private group are hidden from it, "+
			"so that who is not shown as a member is taken for unknown, and what they wrote stays undecided", s.account, p.Path))
	}
	if !s.seesAll(p) {
		h.Warnings = append(h.Warnings, fmt.Sprintf("account %s may not see the confidential issues of %s: it needs Planner or more", s.account, p.Path))
	}
	return h, nil
}

// seesMembers reports whether everybody's membership is shown to the credential: groups that were invited are hidden from
// who belongs neither to them nor to the project (doc/api/project_members.md).
func (s *session) seesMembers(p *api.Project) bool { return s.admin || p.Level >= levelGuest }

// readProject reads the container by id and remembers its current name. An answer that does not say what the caller may do was
// given to nobody in particular (lib/api/projects.rb).
func (s *session) readProject(ctx context.Context) (*api.Project, api.Answer, error) {
	op := "verify project " + s.scope.Container
	p, a, err := s.api.Project(ctx, api.Request{Op: op, Class: adapters.Identity, Path: s.path("")})
	switch {
	case err != nil:
		return nil, a, err
	case p.ID != s.projectID:
		return nil, a, protocol(op, fmt.Sprintf("the answer is about project %d", p.ID))
	case p.Path == "":
		return nil, a, protocol(op, "the answer has no path")
	case !p.Told:
		return nil, a, &adapters.Error{Severity: adapters.ScopeFailure, Op: op, Status: http.StatusOK,
			Err: fmt.Errorf("%w: the answer is one for anonymous callers", adapters.ErrUnauthorized)}
	}
	s.project.Store(&p)
	return &p, a, nil
}

// unit refuses a project whose issues or merge requests are switched off: its listing would be empty for ever.
func (s *session) unit(p *api.Project) error {
	on := p.Issues
	if s.merge() {
		on = p.Merge
	}
	if on {
		return nil
	}
	return &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify project " + p.Path,
		Err: fmt.Errorf("%w: %s are switched off there, or hidden from the account", adapters.ErrNotFound, strings.ReplaceAll(s.plural(), "_", " "))}
}

// renamed decides what a changed name means: the same project under a new name is fine, unless the configured name is
// another project's by now; then nobody can know which one is meant.
func (s *session) renamed(ctx context.Context, p *api.Project) (string, error) {
	id, err := s.idOf(ctx, s.configured)
	var e *adapters.Error
	switch {
	case errors.Is(err, adapters.ErrNotFound), errors.As(err, &e) && e.Severity == adapters.ScopeFailure && errors.Is(err, adapters.ErrForbidden):
	case err != nil:
		return "", err
	case id != s.projectID:
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify project " + s.configured,
			Err: fmt.Errorf("%w: project %d is called %s now, and %s is project %d", adapters.ErrMoved, s.projectID, p.Path, s.configured, id)}
	}
	return fmt.Sprintf("project %s is called %s now: change the configuration", s.configured, p.Path), nil
}

// explainLoss tells a deleted and re-created project from one that is only out of sight.
func (s *session) explainLoss(ctx context.Context, err error) error {
	if !errors.Is(err, adapters.ErrNotFound) {
		return err
	}
	id, other := s.idOf(ctx, s.configured)
	if other == nil && id != s.projectID {
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify project " + s.configured,
			Err: fmt.Errorf("%w: project %d is gone, and %s is project %d", adapters.ErrMoved, s.projectID, s.configured, id)}
	}
	return err
}

func (s *session) idOf(ctx context.Context, path string) (int64, error) {
	p, _, err := s.api.Project(ctx, api.Request{Op: "look up project " + path, Class: adapters.Identity, Path: "projects/" + url.PathEscape(path)})
	return p.ID, err
}

// at is the provider's clock of an answer, or this machine's when it sent none.
func (s *session) at(a api.Answer) time.Time {
	if a.Clock.IsZero() {
		return s.now().UTC().Truncate(time.Second)
	}
	return a.Clock
}
