package forgejo

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"code.gitea.io/sdk/gitea"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

var _ adapters.NameLister = (*session)(nil)

// Names lists labels, those of the organisation too, or milestones, closed ones too.
func (s *session) Names(ctx context.Context, f query.FieldID) ([]string, bool, error) {
	switch f {
	case query.FLabel:
		label := func(l *gitea.Label) string { return l.Name }
		own, err := listNames(ctx, s, s.path("/labels"), nil, label)
		if err != nil {
			return nil, true, err
		}
		shared, err := listNames(ctx, s, "orgs/"+url.PathEscape(s.repo.Load().owner)+"/labels", nil, label)
		if err != nil && passing(err) != nil {
			return nil, true, err
		}
		return unique(append(own, shared...)), true, nil
	case query.FMilestone:
		names, err := listNames(ctx, s, s.path("/milestones"), url.Values{"state": {"all"}}, func(m *gitea.Milestone) string { return m.Title })
		return unique(names), true, err
	}
	return nil, false, nil
}

// mostNamePages ends a listing that never does.
const mostNamePages = 200

// listNames pages through a list until a page brings nothing.
func listNames[T any](ctx context.Context, s *session, path string, q url.Values, name func(*T) string) (names []string, err error) {
	params := url.Values{"limit": {strconv.Itoa(s.limit)}}
	for k, v := range q {
		params[k] = v
	}
	for page := 1; page <= mostNamePages; page++ {
		params.Set("page", strconv.Itoa(page))
		var rows []*T
		a, err := s.api.Get(ctx, api.Request{Op: "list names of " + s.repo.Load().full(), Class: adapters.Read, Item: true, Path: path, Query: params, Null: true}, &rows)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r != nil {
				names = append(names, name(r))
			}
		}
		if len(rows) == 0 || a.Total >= 0 && len(names) >= a.Total {
			return names, nil
		}
	}
	return names, nil
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// Uses counts rows of the listing with the label or milestone. A name with a comma cannot be asked for.
func (s *session) Uses(ctx context.Context, f query.FieldID, name string) (int, bool, error) {
	param := map[query.FieldID]string{query.FLabel: "labels", query.FMilestone: "milestones"}[f]
	if param == "" || strings.Contains(name, ",") {
		return 0, false, nil
	}
	r := s.issuesRequest(walkIssues, 0, 1, 1)
	r.Op, r.Class, r.Item = "count a name", adapters.Read, true
	r.Query.Set(param, name)
	var rows []*api.Issue
	a, err := s.api.Get(ctx, r, &rows)
	return a.Total, err == nil && a.Total >= 0, err
}

// Account looks an account up by its login.
func (s *session) Account(ctx context.Context, login string) (query.User, error) {
	var u api.User
	_, err := s.api.Get(ctx, api.Request{Op: "look up an account", Class: adapters.Read, Item: true, Path: "users/" + url.PathEscape(login)}, &u)
	if err != nil {
		return query.User{}, err
	}
	if got := user(&u); strings.EqualFold(got.Login, login) {
		return got, nil
	}
	return query.User{}, &adapters.Error{Severity: adapters.ItemFailure, Op: "look up an account", Err: adapters.ErrNotFound}
}
