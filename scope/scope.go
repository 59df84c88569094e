package scope

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/fullsend-ai/discovery/query"
)

// Scope is where one combined search looks. It comes from trusted configuration only; neither a query nor a
// combination of queries can widen it. All members are stable ids: a scope survives renames and token rotation, and a
// different account is a different scope, since it may see other things.
type Scope struct {
	Provider  string     `json:"provider"`  // github, gitlab, forgejo, jira
	Tenant    string     `json:"tenant"`    // host, site or cloud id
	Container string     `json:"container"` // repository or project id
	Kind      query.Kind `json:"kind"`      // work items or change proposals
	Account   string     `json:"account"`   // id of the effective credential's account or installation; never a token
}

// Key is the ledger key of s. Two scopes have one key only when they are equal.
func (s Scope) Key() string {
	return join(s.Provider, s.Tenant, s.Container, string(s.Kind), s.Account)
}

// String is Key, for logs.
func (s Scope) String() string { return s.Key() }

// Identity is what an entity is, for ever: id spaces of kinds collide, so the kind is part of it; numbers, keys, paths
// and node ids are aliases and not.
type Identity struct {
	Provider string     `json:"provider"`
	Tenant   string     `json:"tenant"`
	Kind     query.Kind `json:"kind"`
	ID       string     `json:"id"`
}

// String is the canonical text of the identity; ParseIdentity reads it.
func (id Identity) String() string { return join(id.Provider, id.Tenant, string(id.Kind), id.ID) }

// ErrIdentity is returned for a text that is no canonical identity.
var ErrIdentity = errors.New("not a canonical identity (provider|tenant|kind|id)")

// ParseIdentity reads the text that String writes.
func ParseIdentity(s string) (Identity, error) {
	p, err := split(s, 4)
	if err != nil {
		return Identity{}, fmt.Errorf("%q: %w", s, ErrIdentity)
	}
	id := Identity{Provider: p[0], Tenant: p[1], Kind: query.Kind(p[2]), ID: p[3]}
	if id.Kind != query.WorkItem && id.Kind != query.ChangeProposal || id.Provider == "" || id.ID == "" {
		return Identity{}, fmt.Errorf("%q: %w", s, ErrIdentity)
	}
	return id, nil
}

// Ref is an identity with what is needed to ask for it and to show it.
type Ref struct {
	Identity
	Alias string `json:"alias"` // the adapter's own handle (a number, a key, a node id); opaque, may go stale
	Key   string `json:"key"`   // as people write it: owner/name#7, PROJ-7
	URL   string `json:"url"`
}

// Place is where a result says it lives. An empty member was not given.
type Place struct {
	Tenant    string
	Container string
	Kind      query.Kind
}

// ErrOutside: the result proves that it belongs elsewhere; it is not routed. ErrUnproven: its place cannot be read; it
// is not routed and leaves the range incomplete.
var (
	ErrOutside  = errors.New("outside the scope")
	ErrUnproven = errors.New("scope of the result cannot be proven")
)

// Check is the scope guard: nil only when every part of p is given and is s's own.
func (s Scope) Check(p Place) error {
	for _, c := range []struct{ name, got, want string }{
		{"tenant", p.Tenant, s.Tenant},
		{"container", p.Container, s.Container},
		{"kind", string(p.Kind), string(s.Kind)},
	} {
		if c.got == "" {
			return fmt.Errorf("%w: no %s given", ErrUnproven, c.name)
		}
		if c.got != c.want {
			return fmt.Errorf("%w: %s is %q, the scope's is %q", ErrOutside, c.name, c.got, c.want)
		}
	}
	return nil
}

// join and split keep parts apart by percent-encoding the separator inside them.
func join(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "|")
}

func split(s string, n int) ([]string, error) {
	parts := strings.Split(s, "|")
	if len(parts) != n {
		return nil, fmt.Errorf("%d parts, want %d", len(parts), n)
	}
	for i, p := range parts {
		u, err := url.PathUnescape(p)
		if err != nil {
			return nil, err
		}
		parts[i] = u
	}
	return parts, nil
}
