package gitlab

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

var _ adapters.NameLister = (*session)(nil)

// Names lists labels and milestones, those of the groups above too, and milestones that are closed.
func (s *session) Names(ctx context.Context, f query.FieldID) ([]string, bool, error) {
	r := api.Request{Op: "list names of " + s.place(), Class: adapters.Read, Item: true}
	switch f {
	case query.FLabel:
		r.Path, r.Query = s.path("/labels"), url.Values{"include_ancestor_groups": {"true"}}
	case query.FMilestone:
		r.Path, r.Query = s.path("/milestones"), url.Values{"include_ancestors": {"true"}}
	default:
		return nil, false, nil
	}
	names, err := s.api.Titles(ctx, r)
	slices.Sort(names)
	return slices.Compact(names), true, err
}

// Uses counts rows of the listing with the label or milestone. Some names cannot be asked for: those that the filter takes
// for something else, and those with a comma.
func (s *session) Uses(ctx context.Context, f query.FieldID, name string) (int, bool, error) {
	param := map[query.FieldID]string{query.FLabel: "labels", query.FMilestone: "milestone"}[f]
	special := slices.ContainsFunc([]string{"none", "any", "upcoming", "started", "#upcoming", "#started"}, func(w string) bool { return strings.EqualFold(w, name) })
	if param == "" || special || strings.Contains(name, ",") {
		return 0, false, nil
	}
	l := s.listing(s.changesWalk(), cursor{Limit: 1, Plain: true})
	r := l.request(0, 1, 1, "")
	r.Op, r.Class, r.Item = "count a name", adapters.Read, true
	r.Query.Set(param, name)
	n, err := s.api.Count(ctx, r)
	return n, err == nil && n >= 0, err
}

// Account looks an account up by its login.
func (s *session) Account(ctx context.Context, login string) (query.User, error) {
	r := api.Request{Op: "look up an account", Class: adapters.Read, Item: true, Path: "users", Query: url.Values{"username": {login}}}
	us, err := s.api.Users(ctx, r)
	if err != nil {
		return query.User{}, err
	}
	for i := range us {
		if strings.EqualFold(us[i].Username, login) {
			return s.user(&us[i]), nil
		}
	}
	return query.User{}, &adapters.Error{Severity: adapters.ItemFailure, Op: r.Op, Err: adapters.ErrNotFound}
}
