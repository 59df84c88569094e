package jira

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

var _ adapters.NameLister = (*session)(nil)

// Names lists the project's statuses, types, components and versions, and the site's priorities. Labels are words on
// issues, of which there is no list for one project.
func (s *session) Names(ctx context.Context, f query.FieldID) (names []string, ok bool, err error) {
	words, err := s.learn(ctx, query.Fields(f))
	if err != nil {
		return nil, true, err
	}
	if !words.known.Has(f) {
		return nil, false, nil
	}
	for _, n := range words.of(f) {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), true, nil
}

// Uses counts nothing: Jira's counts are estimates.
func (s *session) Uses(context.Context, query.FieldID, string) (n int, ok bool, err error) {
	return 0, false, nil
}

// Account looks an account up by its id, or by its key on Data Center: queries name no other.
func (s *session) Account(ctx context.Context, id string) (query.User, error) {
	q := url.Values{"accountId": {id}}
	if s.dc {
		q = url.Values{"key": {id}}
	}
	var a account
	op := "look up account " + api.Clip(id)
	if _, err := s.api.Do(ctx, api.Request{Op: op, Class: adapters.Read, Path: s.path("user"), Query: q, Item: true}, &a); err != nil {
		return query.User{}, err
	}
	if a.id() != id {
		return query.User{}, &adapters.Error{Severity: adapters.ItemFailure, Op: op, Err: fmt.Errorf("%w: the answer is about another account", adapters.ErrNotFound)}
	}
	return user(&a), nil
}
