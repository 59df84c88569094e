// Package configtest has adapters that only describe themselves, for tests of what is checked without a provider.
package configtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/query"
)

// Registry has a forge and a tracker under the names of providers.
func Registry() config.Registry {
	return config.Registry{
		query.Forgejo: Adapter{Name: query.Forgejo, Key: "repo", Kinds: config.Kinds(),
			Extra: []adapters.Setting{{Name: "ca_file", Doc: "name a file with certificates"}}},
		query.GitHub: Adapter{Name: query.GitHub, Key: "repo", Kinds: config.Kinds(),
			Extra: []adapters.Setting{{Name: "app_id", Doc: "the app's id"}, {Name: "key_file", Doc: "the app's key"}}},
		query.Jira: Adapter{Name: query.Jira, Key: "project", Kinds: []query.Kind{query.WorkItem},
			Extra: []adapters.Setting{{Name: "email", Required: true, Doc: "add email: the account that the token belongs to"}}},
	}
}

// Adapter describes a provider and opens nothing.
type Adapter struct {
	Name  string
	Key   string
	Kinds []query.Kind
	Extra []adapters.Setting
}

// ErrOffline is what Open returns.
var ErrOffline = errors.New("this adapter only describes itself")

// Provider is its name.
func (a Adapter) Provider() string { return a.Name }

// Catalogue has one change walk that notices whatever moves the clock.
func (a Adapter) Catalogue(k query.Kind) *query.Catalogue {
	if !slices.Contains(a.Kinds, k) {
		return nil
	}
	return query.NewCatalogue(a.Name, k, func(f *query.Field) bool {
		if f.Clock == query.Moves || f.Clock == query.MovesPartly {
			f.Walks = []string{"changes"}
		}
		return true
	})
}

// Claims filters state only, exactly.
func (a Adapter) Claims(query.Kind) query.Filters {
	return query.FiltersFunc(func(l query.Leaf, _ query.WalkKind) query.Strength {
		if l.Field == query.FState {
			return query.Exact
		}
		return query.None
	})
}

// EditFloor names no editor's role.
func (a Adapter) EditFloor(query.FieldID) adapters.Role { return adapters.NoRole }

// Settings are its own connection keys.
func (a Adapter) Settings() []adapters.Setting { return a.Extra }

// Container is owner/name under repo, and a word else.
func (a Adapter) Container() adapters.ContainerName {
	n := adapters.ContainerName{Key: a.Key, Example: "PROJ", Check: func(s string) error {
		if strings.ContainsAny(s, " /.") {
			return fmt.Errorf("project %q: want a project key", s)
		}
		return nil
	}}
	if a.Key == "repo" {
		n.Example, n.Check = "owner/name", func(s string) error {
			if owner, name, ok := strings.Cut(s, "/"); !ok || strings.ContainsAny(owner+name, ":/") {
				return fmt.Errorf("repo %q: want owner/name", s)
			}
			return nil
		}
	}
	return n
}

// Open always fails.
func (a Adapter) Open(context.Context, adapters.Config) (adapters.Session, error) {
	return nil, ErrOffline
}
