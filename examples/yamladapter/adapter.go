package yamladapter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Provider is the name in scopes and identities.
const Provider = "yaml"

// The walks.
const (
	walkChanged = "changed"
	walkAll     = "all"
)

// Adapter reads folders of YAML issues. The zero value is ready.
type Adapter struct{}

var _ adapters.Adapter = Adapter{}

// Provider returns "yaml".
func (Adapter) Provider() string { return Provider }

// Settings returns none.
func (Adapter) Settings() []adapters.Setting { return nil }

// Container is a folder; any path may be one.
func (Adapter) Container() adapters.ContainerName {
	return adapters.ContainerName{Key: "folder", Example: "path/to/issues"}
}

// Catalogue is what a file says. Every change of it is a change of the file, so the walk over changed files notices all
// of it. There are no change proposals.
func (Adapter) Catalogue(k query.Kind) *query.Catalogue {
	return query.NewCatalogue(Provider, k, func(f *query.Field) bool {
		switch f.ID {
		case query.FAuthor, query.FCreated:
			f.Clock = query.Fixed
			return k == query.WorkItem
		case query.FState, query.FAuthorKind, query.FAssignee, query.FMilestone, query.FUpdated, query.FClosed, query.FDue,
			query.FLastComment, query.FLocked, query.FTitle, query.FBody, query.FLabel, query.FComment:
			f.Clock, f.Walks = query.Moves, []string{walkChanged}
			return k == query.WorkItem
		}
		return false
	})
}

// Claims are none.
func (Adapter) Claims(query.Kind) query.Filters {
	return query.FiltersFunc(func(query.Leaf, query.WalkKind) query.Strength { return query.None })
}

// EditFloor is no role: every element names who wrote its current text.
func (Adapter) EditFloor(query.FieldID) adapters.Role { return adapters.NoRole }

// Open reads who is who and which container is meant. BaseURL is file:///path, Container a folder below it.
func (Adapter) Open(_ context.Context, c adapters.Config) (adapters.Session, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "file" || !filepath.IsAbs(u.Path) {
		return nil, failure(adapters.ScopeFailure, "open", errors.New("base_url: want file:///path"))
	}
	if c.Kind != query.WorkItem {
		return nil, failure(adapters.ScopeFailure, "open", fmt.Errorf("kind %q: files are work items", c.Kind))
	}
	if c.Budget == nil || c.Now == nil {
		return nil, failure(adapters.ScopeFailure, "open", errors.New("budget and clock are required"))
	}
	if c.Token != nil { // a folder needs no credential; one that is configured and cannot be had is a mistake all the same
		if _, err := c.Token(context.Background()); err != nil {
			return nil, failure(adapters.ScopeFailure, "open", fmt.Errorf("reading the credential: %w", err))
		}
	}
	if !filepath.IsLocal(c.Container) || strings.ContainsAny(c.Container, "\\?*[") {
		return nil, failure(adapters.ScopeFailure, "open", fmt.Errorf("folder %q: want a folder below base_url", c.Container))
	}
	s := &session{c: c, root: filepath.Clean(u.Path), configured: c.Container}
	s.place.Store(&c.Container)
	who, err := s.people()
	if err != nil {
		return nil, err
	}
	box, err := s.container(c.Container)
	if err != nil {
		return nil, err
	}
	s.scope = scope.Scope{Provider: Provider, Tenant: s.root, Container: box.ID, Kind: c.Kind, Account: who.Me}
	return s, nil
}

func failure(sev adapters.Severity, op string, err error) *adapters.Error {
	return &adapters.Error{Severity: sev, Op: op, Err: err}
}
