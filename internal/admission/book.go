package admission

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Config is what a book takes from trusted configuration and from the adapter.
type Config struct {
	// Accounts are bots and agents by stable id, with the role that the configuration gives them. NoRole lists an
	// account as an agent without admitting anything it writes. A listed account is never looked up: the list decides.
	Accounts map[string]adapters.Role
	// EditFloor is the adapter's, see adapters.Adapter. Nil: nothing is known, possible editors are never admitted.
	EditFloor func(query.FieldID) adapters.Role
}

// Book is the role evidence of one scope container for one cycle (for one sandbox cycle in a bound run). Nothing in it
// is evidence for another container or a later cycle: make a new one. It is safe for concurrent use.
type Book struct {
	accounts map[string]adapters.Role
	floor    func(query.FieldID) adapters.Role
	learn    sync.Mutex // serializes writers; readers take the snapshot
	known    atomic.Pointer[findings]
}

// findings by stable actor id. Never altered once published.
type findings map[string]adapters.Finding

// New makes a book that knows the configured accounts and nobody's role.
func New(c Config) *Book {
	b := &Book{accounts: maps.Clone(c.Accounts), floor: c.EditFloor}
	if b.floor == nil {
		b.floor = func(query.FieldID) adapters.Role { return adapters.NoRole }
	}
	b.known.Store(&findings{})
	return b
}

// View is the standing of elements under one threshold by what the book knows now. The view is pure: what is learned
// later changes new views only, so that one evaluation never sees two states. Calling the view does not allocate. A
// threshold below triage, the platform's lowest, counts as triage.
func (b *Book) View(threshold adapters.Role) query.View {
	s := b.snapshot(threshold)
	return func(field query.FieldID, e *query.Element) query.Standing {
		st, _ := s.element(field, e)
		return st
	}
}

// Why tells people the reason of an element's standing under a threshold by what the book knows now.
func (b *Book) Why(field query.FieldID, e *query.Element, threshold adapters.Role) string {
	s := b.snapshot(threshold)
	_, r := s.element(field, e)
	return s.tell(r, field, &e.Actor)
}

// Authorize is the standing of an actor itself, for the actor of an event. It looks at the stable id and the account
// type alone.
func (b *Book) Authorize(u query.User, threshold adapters.Role) (query.Standing, string) {
	s := b.snapshot(threshold)
	st, r := s.actor(&u)
	return st, s.tell(r, 0, &u)
}

// Learn adds findings. Of one actor the newest verified finding counts; an unverified one is kept only where nothing
// was verified. A finding without stable id is no evidence and is dropped; one with an unknown role is unverified.
func (b *Book) Learn(fs []adapters.Finding) {
	if len(fs) == 0 {
		return
	}
	b.learn.Lock()
	defer b.learn.Unlock()
	next := maps.Clone(*b.known.Load())
	for _, f := range fs {
		if f.Actor.ID == "" {
			continue
		}
		f = sound(f)
		old, ok := next[f.Actor.ID]
		if ok && old.Verified && (!f.Verified || f.At.Before(old.At)) {
			continue
		}
		next[f.Actor.ID] = f
	}
	b.known.Store(&next)
}

// sound makes a finding unverified when its role says nothing: fail closed.
func sound(f adapters.Finding) adapters.Finding {
	if f.Verified && (f.Role == adapters.NoRole || f.Role > adapters.Admin) {
		f.Verified, f.Why = false, "the answer names no role that is known"
	}
	if !f.Verified {
		f.Role = adapters.NoRole
		f.Why = cmp.Or(f.Why, "the answer gave no reason")
	}
	return f
}

// Missing is which actors of the needs must still be looked up, by stable id, each once. Bots, listed accounts and
// actors that were asked about in this cycle (verified or not) are not missing. users, see Users, adds logins and
// account types; an actor that it does not have is returned with its id alone.
func (b *Book) Missing(needs []query.Need, users map[string]query.User) []query.User {
	known := *b.known.Load()
	var out []query.User
	for _, n := range needs {
		if n.Actor == "" {
			continue
		}
		if _, ok := b.accounts[n.Actor]; ok {
			continue
		}
		if _, ok := known[n.Actor]; ok {
			continue
		}
		u, ok := users[n.Actor]
		if !ok {
			u = query.User{ID: n.Actor}
		}
		if u.Bot || u.Deleted {
			continue
		}
		out = append(out, u)
	}
	slices.SortFunc(out, func(x, y query.User) int { return strings.Compare(x.ID, y.ID) })
	return slices.CompactFunc(out, func(x, y query.User) bool { return x.ID == y.ID })
}

// Users collects the writers of all elements of some facts by stable id. When answers disagree on whether an account
// is a bot or deleted, it is.
func Users(fs ...*query.Facts) map[string]query.User {
	out := map[string]query.User{}
	for _, f := range fs {
		if f == nil {
			continue
		}
		for id := query.FieldID(1); id <= query.FLinked; id++ {
			for i := range f.Get(id).Items {
				collect(out, &f.Get(id).Items[i].Actor)
			}
		}
	}
	return out
}

func collect(out map[string]query.User, u *query.User) {
	if u.ID == "" {
		return
	}
	old := out[u.ID]
	out[u.ID] = query.User{
		ID:      u.ID,
		Login:   cmp.Or(old.Login, u.Login),
		Bot:     old.Bot || u.Bot,
		Deleted: old.Deleted || u.Deleted,
	}
}
