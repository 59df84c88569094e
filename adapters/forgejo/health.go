package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// Health asks for the repository by its id: one request, which needs a signed-in credential, so that an answer given to
// nobody in particular cannot pass. Only when the name has changed does a second one look at who has the old name.
func (s *session) Health(ctx context.Context) (adapters.Health, error) {
	r, a, err := s.readRepository(ctx)
	if err != nil {
		return adapters.Health{}, s.explainLoss(ctx, err)
	}
	h := adapters.Health{Clock: a.Clock, Account: s.account, Place: r.full(), CanRoles: r.admin, Warnings: slices.Clone(s.warnings)}
	if h.Clock.IsZero() {
		h.Clock = s.now().UTC()
		h.Warnings = append(h.Warnings, "the server sends no Date header: its clock is taken to be this machine's")
	}
	if err := s.unit(r); err != nil {
		return adapters.Health{}, err
	}
	if !strings.EqualFold(r.full(), s.configured) {
		w, err := s.renamed(ctx, r)
		if err != nil {
			return adapters.Health{}, err
		}
		h.Warnings = append(h.Warnings, w)
	}
	if !r.admin {
		h.Warnings = append(h.Warnings, fmt.Sprintf("account %s is no administrator of %s and may not read roles: "+
			"nobody's labels, comments or texts can be admitted, so nothing that needs them will match", s.account, r.full()))
	}
	if r.migrated {
		h.Warnings = append(h.Warnings, "the repository was migrated: what is older than it has no provable author and is never admitted")
	}
	return h, nil
}

// readRepository reads the container by id and remembers its current name.
func (s *session) readRepository(ctx context.Context) (*repository, api.Answer, error) {
	var r gitea.Repository
	op := "verify repository " + s.scope.Container
	a, err := s.api.Get(ctx, api.Request{Op: op, Class: adapters.Identity, Path: "repositories/" + s.scope.Container}, &r)
	if err != nil {
		return nil, a, err
	}
	if r.ID != s.repoID {
		return nil, a, protocol(op, fmt.Sprintf("the answer is about repository %d", r.ID))
	}
	if err := s.remember(op, &r); err != nil {
		return nil, a, err
	}
	return s.repo.Load(), a, nil
}

// unit refuses a repository whose issues or pull requests are switched off: its listing would be empty for ever.
func (s *session) unit(r *repository) error {
	what, on := "issues", r.issues
	if s.kind == query.ChangeProposal {
		what, on = "pull requests", r.pulls
	}
	if on {
		return nil
	}
	return &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify repository " + r.full(),
		Err: fmt.Errorf("%w: %s are switched off there", adapters.ErrNotFound, what)}
}

// renamed decides what a changed name means: the same repository under a new name is fine, unless the configured name
// is another repository's by now; then nobody can know which one is meant.
func (s *session) renamed(ctx context.Context, r *repository) (string, error) {
	id, err := s.idOf(ctx, s.configured)
	var e *adapters.Error
	switch {
	case errors.Is(err, adapters.ErrNotFound), errors.As(err, &e) && e.Severity == adapters.ScopeFailure && errors.Is(err, adapters.ErrForbidden):
	case err != nil:
		return "", err
	case id != s.repoID:
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify repository " + s.configured,
			Err: fmt.Errorf("%w: repository %d is called %s now, and %s is repository %d", adapters.ErrMoved, s.repoID, r.full(), s.configured, id)}
	}
	return fmt.Sprintf("repository %s is called %s now: change the configuration", s.configured, r.full()), nil
}

// explainLoss tells a deleted and re-created repository from one that is only out of sight.
func (s *session) explainLoss(ctx context.Context, err error) error {
	if !errors.Is(err, adapters.ErrNotFound) {
		return err
	}
	id, other := s.idOf(ctx, s.configured)
	if other == nil && id != s.repoID {
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: "verify repository " + s.configured,
			Err: fmt.Errorf("%w: repository %d is gone, and %s is repository %d", adapters.ErrMoved, s.repoID, s.configured, id)}
	}
	return err
}

func (s *session) idOf(ctx context.Context, full string) (int64, error) {
	owner, name, err := parseContainer(full)
	if err != nil {
		return 0, configError(err)
	}
	var r gitea.Repository
	_, err = s.api.Get(ctx, api.Request{Op: "look up repository " + full, Class: adapters.Identity,
		Path: "repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name)}, &r)
	return r.ID, err
}

// at is the provider's clock of an answer, or this machine's when it sent none.
func (s *session) at(a api.Answer) time.Time {
	if a.Clock.IsZero() {
		return s.now().UTC().Truncate(time.Second)
	}
	return a.Clock
}
