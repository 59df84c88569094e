package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/scope"
)

// Find resolves a URL, group/project#7 or group/project!7, a number of the scope's kind, or a canonical identity. The server
// cannot be asked by id, so an identity is looked for in the whole listing.
func (s *session) Find(ctx context.Context, ref string) (scope.Ref, error) {
	ref = strings.TrimSpace(ref)
	if id, err := scope.ParseIdentity(ref); err == nil {
		return s.findIdentity(ctx, id)
	}
	path, n, err := s.parseRef(ref)
	if err != nil {
		return scope.Ref{}, findError(ref, err)
	}
	if err := s.inScope(ctx, path); err != nil {
		return scope.Ref{}, err
	}
	e, _, err := s.getEntity(ctx, adapters.Read, n)
	switch {
	case err != nil:
		return scope.Ref{}, err
	case s.placeOf(e).Container != s.scope.Container:
		return scope.Ref{}, findError(ref, scope.ErrUnproven)
	case e.MovedTo > 0:
		return scope.Ref{}, findError(ref, fmt.Errorf("%w: it was moved to another project", adapters.ErrNotFound))
	}
	return s.ref(e), nil
}

func findError(ref string, err error) error {
	return &adapters.Error{Severity: adapters.ItemFailure, Op: fmt.Sprintf("find %q", ref), Err: err}
}

// parseRef splits what a person typed into a project ("" is the scope's own) and a number. Issues and merge requests are
// numbered apart, so that the mark of the other kind names another entity.
func (s *session) parseRef(ref string) (path string, n int64, err error) {
	number := ref
	if strings.Contains(ref, "://") {
		if path, number, err = s.parseURL(ref); err != nil {
			return "", 0, err
		}
	} else if i := strings.LastIndexAny(ref, "#!"); i >= 0 {
		if ref[i:i+1] != s.mark() {
			return "", 0, fmt.Errorf("%w: %q is of the other kind", adapters.ErrNotFound, ref)
		}
		path, number = ref[:i], ref[i+1:]
	}
	n, err = strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 {
		return "", 0, fmt.Errorf("%w: want a URL, group/project%s7 or %s7", adapters.ErrNotFound, s.mark(), s.mark())
	}
	return path, n, nil
}

// parseURL reads …/group/project/-/issues/7 and …/-/merge_requests/7 of this instance; work_items is another name of issues.
func (s *session) parseURL(ref string) (path, number string, err error) {
	u, err := url.Parse(ref)
	if err != nil {
		return "", "", fmt.Errorf("%w: not a URL", adapters.ErrNotFound)
	}
	web, err := url.Parse(s.project.Load().WebURL)
	if host := canonicalHost(u); host != s.base.Host && (err != nil || host != canonicalHost(web)) {
		return "", "", fmt.Errorf("%w: %s is another server than %s", adapters.ErrNotFound, host, s.base.Host)
	}
	parts := strings.Split(strings.Trim(strings.TrimPrefix(u.Path, s.base.Path+"/"), "/"), "/")
	kinds := []string{"issues", "work_items"}
	if s.merge() {
		kinds = []string{"merge_requests"}
	}
	for i := len(parts) - 2; i >= 2; i-- {
		if slices.Contains(kinds, parts[i]) {
			return strings.TrimSuffix(strings.Join(parts[:i], "/"), "/-"), parts[i+1], nil
		}
	}
	return "", "", fmt.Errorf("%w: the URL names no entity of this kind", adapters.ErrNotFound)
}

// inScope checks that a project's path, perhaps an old one, is the scope's.
func (s *session) inScope(ctx context.Context, path string) error {
	if path == "" || strings.EqualFold(path, s.place()) {
		return nil
	}
	if err := checkPath(path); err != nil {
		return findError(path, fmt.Errorf("%w: %w", adapters.ErrNotFound, err))
	}
	id, err := s.idOf(ctx, path)
	if err == nil && id == s.projectID {
		return nil
	}
	if err != nil && !errors.Is(err, adapters.ErrNotFound) && asError(err).Severity != adapters.ScopeFailure {
		return err
	}
	return findError(path, fmt.Errorf("%w: not the project %s", adapters.ErrNotFound, s.place()))
}

func (s *session) findIdentity(ctx context.Context, id scope.Identity) (scope.Ref, error) {
	if id.Provider != Provider || id.Tenant != s.scope.Tenant || id.Kind != s.kind {
		return scope.Ref{}, findError(id.String(), fmt.Errorf("%w: it belongs to another scope", adapters.ErrNotFound))
	}
	for p, err := range s.Pages(ctx, nil, s.changesWalk(), adapters.Position{}) {
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

var _ adapters.Prober = (*session)(nil)
