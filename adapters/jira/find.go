package jira

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

var issueKeyText = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*)-([0-9]{1,18})$`)

// Find resolves PROJ-7, the address of an issue, or a canonical identity. Old keys lead to the issue that had them; what is
// found is verified to be of this project, and its key is the current one.
func (s *session) Find(ctx context.Context, ref string) (scope.Ref, error) {
	ref = strings.TrimSpace(ref)
	ask := ref
	if id, err := scope.ParseIdentity(ref); err == nil {
		if id.Provider != Provider || id.Tenant != s.scope.Tenant || id.Kind != query.WorkItem || !digits(id.ID) {
			return scope.Ref{}, findError(ref, fmt.Errorf("%w: it belongs to another scope", adapters.ErrNotFound))
		}
		ask = id.ID
	} else if strings.Contains(ref, "://") {
		if ask, err = s.keyOfURL(ref); err != nil {
			return scope.Ref{}, findError(ref, err)
		}
	}
	if !digits(ask) || ask == ref {
		if !issueKeyText.MatchString(ask) {
			return scope.Ref{}, findError(ref, fmt.Errorf("%w: want a URL or a key like PROJ-7", adapters.ErrNotFound))
		}
	}
	var raw json.RawMessage
	_, err := s.api.Do(ctx, api.Request{Op: "find " + api.Clip(ask), Class: adapters.Read, Path: s.path("issue/%s", url.PathEscape(ask)), Item: true,
		Query: url.Values{"fields": {"project,summary"}}}, &raw)
	if err != nil {
		var e *adapters.Error
		if errors.Is(err, api.ErrQuery) && errors.As(err, &e) {
			return scope.Ref{}, findError(ref, fmt.Errorf("%w: %w", adapters.ErrNotFound, e.Err))
		}
		return scope.Ref{}, err
	}
	i, err := decodeIssue(raw)
	if err != nil {
		return scope.Ref{}, protocol("find "+api.Clip(ask), err.Error())
	}
	if p := s.place(i); p.Container != s.scope.Container {
		return scope.Ref{}, findError(ref, fmt.Errorf("%w: %s is not in project %s", adapters.ErrNotFound, i.Key, s.repo.Load().Key))
	}
	return s.ref(i), nil
}

func findError(ref string, err error) error {
	return &adapters.Error{Severity: adapters.ItemFailure, Op: fmt.Sprintf("find %q", api.Clip(ref)), Err: err}
}

// keyOfURL reads …/browse/PROJ-7 and …?selectedIssue=PROJ-7 of this site.
func (s *session) keyOfURL(ref string) (string, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return "", fmt.Errorf("%w: not a URL", adapters.ErrNotFound)
	}
	pages, err := url.Parse(s.pages)
	if h := canonicalHost(u); h != s.base.Host && (err != nil || h != canonicalHost(pages)) {
		return "", fmt.Errorf("%w: %s is another server", adapters.ErrNotFound, api.Clip(h))
	}
	if k := u.Query().Get("selectedIssue"); issueKeyText.MatchString(k) {
		return k, nil
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i := len(parts) - 1; i > 0; i-- {
		if (parts[i-1] == "browse" || parts[i-1] == "issues" || parts[i-1] == "issue") && issueKeyText.MatchString(parts[i]) {
			return parts[i], nil
		}
	}
	return "", fmt.Errorf("%w: the URL names no issue", adapters.ErrNotFound)
}
