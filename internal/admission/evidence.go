package admission

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Evidence is what a dispatch record says of one actor: which role, and who said so when.
type Evidence struct {
	Actor    string    `json:"actor"` // stable id
	Login    string    `json:"login,omitempty"`
	Bot      bool      `json:"bot,omitempty"`
	Role     string    `json:"role,omitempty"` // "" where none is proven
	Verified bool      `json:"verified"`
	Source   string    `json:"source"` // the endpoint that answered, or "configuration"
	Why      string    `json:"why,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Configured is the source of evidence that trusted configuration gives.
const Configured = "configuration"

// Evidence is what the book holds on an actor; false when it holds nothing.
func (b *Book) Evidence(actor string) (Evidence, bool) {
	f, ok := (*b.known.Load())[actor]
	if role, listed := b.accounts[actor]; listed {
		return Evidence{
			Actor: actor, Login: f.Actor.Login, Bot: f.Actor.Bot,
			Role: role.String(), Verified: role != adapters.NoRole, Source: Configured,
		}, true
	}
	if !ok {
		return Evidence{}, false
	}
	return Evidence{
		Actor: actor, Login: f.Actor.Login, Bot: f.Actor.Bot,
		Role: f.Role.String(), Verified: f.Verified, Source: f.Endpoint, Why: f.Why, At: f.At,
	}, true
}

// Finding is the finding that counts for an actor.
func (b *Book) Finding(actor string) (adapters.Finding, bool) {
	f, ok := (*b.known.Load())[actor]
	return f, ok
}

// Cause is one reason for which roles could not be verified, with everybody it concerns: retries are held per cause.
type Cause struct {
	Endpoint string
	Why      string
	Actors   []query.User // by stable id
}

// String names the cause, the same in every cycle in which it lasts.
func (c Cause) String() string {
	if c.Endpoint == "" {
		return "role: " + c.Why
	}
	return "role: " + c.Endpoint + ": " + c.Why
}

// CauseOf is why an actor's role is not verified although it was asked for; false when that is not so.
func (b *Book) CauseOf(actor string) (Cause, bool) {
	f, ok := (*b.known.Load())[actor]
	if !ok || f.Verified {
		return Cause{}, false
	}
	return Cause{Endpoint: f.Endpoint, Why: f.Why, Actors: []query.User{f.Actor}}, true
}

// Causes groups all actors whose role could not be verified, in a stable order.
func (b *Book) Causes() []Cause {
	known := *b.known.Load()
	groups := map[string]*Cause{}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		f := known[id]
		if f.Verified {
			continue
		}
		c := Cause{Endpoint: f.Endpoint, Why: f.Why}
		g, ok := groups[c.String()]
		if !ok {
			g = &c
			groups[c.String()] = g
		}
		g.Actors = append(g.Actors, f.Actor)
	}
	out := make([]Cause, 0, len(groups))
	for _, g := range groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(x, y Cause) int { return strings.Compare(x.String(), y.String()) })
	return out
}
