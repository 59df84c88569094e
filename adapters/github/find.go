package github

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/scope"
)

// Find resolves a URL, owner/name#7, #7 or a canonical identity. GitHub cannot be asked by a numeric id, so an identity is
// looked for in the whole listing.
func (s *session) Find(ctx context.Context, ref string) (scope.Ref, error) {
	ref = strings.TrimSpace(ref)
	if id, err := scope.ParseIdentity(ref); err == nil {
		return s.findIdentity(ctx, id)
	}
	full, n, err := s.parseRef(ref)
	if err != nil {
		return scope.Ref{}, findError(ref, err)
	}
	if err := s.inScope(ctx, full); err != nil {
		return scope.Ref{}, err
	}
	items, err := s.resolve(ctx, adapters.Read, []int64{n})
	switch {
	case err != nil:
		return scope.Ref{}, err
	case items[0].State == adapters.Gone:
		return scope.Ref{}, findError(ref, fmt.Errorf("%w: %w", adapters.ErrNotFound, items[0].Err))
	case items[0].State != adapters.Present:
		return scope.Ref{}, items[0].Err
	}
	return items[0].Ref, nil
}

func findError(ref string, err error) error {
	return &adapters.Error{Severity: adapters.ItemFailure, Op: fmt.Sprintf("find %q", ref), Err: err}
}

// parseRef splits what a person typed into a repository ("" is the scope's own) and a number.
func (s *session) parseRef(ref string) (full string, n int64, err error) {
	number := ref
	if strings.Contains(ref, "://") {
		full, number, err = s.parseURL(ref)
		if err != nil {
			return "", 0, err
		}
	} else if before, after, ok := strings.Cut(ref, "#"); ok {
		full, number = before, after
	}
	n, err = strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > 1<<31-1 { // GraphQL's Int ends there
		return "", 0, fmt.Errorf("%w: want a URL, owner/name#7 or #7", adapters.ErrNotFound)
	}
	return full, n, nil
}

// parseURL reads …/owner/name/issues/7 and …/pull/7 of this host, and the addresses that its APIs give.
func (s *session) parseURL(ref string) (full, number string, err error) {
	u, err := url.Parse(ref)
	if err != nil {
		return "", "", fmt.Errorf("%w: not a URL", adapters.ErrNotFound)
	}
	if h := canonicalHost(u); h != s.host.name && h != canonicalHost(s.host.rest) {
		return "", "", fmt.Errorf("%w: %s is another server than %s", adapters.ErrNotFound, h, s.host.name)
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i := len(parts) - 2; i >= 2; i-- {
		if parts[i] == "issues" || parts[i] == "pull" || parts[i] == "pulls" {
			return parts[i-2] + "/" + parts[i-1], parts[i+1], nil
		}
	}
	return "", "", fmt.Errorf("%w: the URL names no issue or pull request", adapters.ErrNotFound)
}

// inScope checks that a repository's name, perhaps an old one, is the scope's.
func (s *session) inScope(ctx context.Context, full string) error {
	if full == "" || strings.EqualFold(full, s.repo.Load().NameWithOwner) {
		return nil
	}
	owner, name, err := parseContainer(full)
	if err != nil {
		return findError(full, fmt.Errorf("%w: %w", adapters.ErrNotFound, err))
	}
	var q openQuery
	a, err := s.api.Query(ctx, api.Request{Op: "look up repository " + full, Class: adapters.Identity, Item: true}, &q,
		map[string]any{"owner": githubv4.String(owner), "name": githubv4.String(name)})
	switch {
	case err != nil:
		return err
	case q.Repository != nil && q.Repository.DatabaseID == s.repoID:
		return nil
	case q.Repository == nil && (len(a.Errors) == 0 || !a.Errors[0].NotFound()):
		return absent("look up repository "+full, a.Errors)
	}
	return findError(full, fmt.Errorf("%w: not the repository %s", adapters.ErrNotFound, s.repo.Load().NameWithOwner))
}

func (s *session) findIdentity(ctx context.Context, id scope.Identity) (scope.Ref, error) {
	if id.Provider != Provider || id.Tenant != s.scope.Tenant || id.Kind != s.kind {
		return scope.Ref{}, findError(id.String(), fmt.Errorf("%w: it belongs to another scope", adapters.ErrNotFound))
	}
	for p, err := range s.Pages(ctx, nil, changedWalk(), adapters.Position{}) {
		if err != nil {
			return scope.Ref{}, err
		}
		for _, it := range p.Items {
			if it.Ref.Identity == id && it.Place.Container == s.scope.Container {
				return it.Ref, nil
			}
		}
	}
	return scope.Ref{}, findError(id.String(), adapters.ErrNotFound)
}
