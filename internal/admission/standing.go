package admission

import (
	"fmt"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// snapshot is a book at one moment under one threshold.
type snapshot struct {
	known     findings
	accounts  map[string]adapters.Role
	floor     func(query.FieldID) adapters.Role
	threshold adapters.Role
}

func (b *Book) snapshot(threshold adapters.Role) *snapshot {
	return &snapshot{
		known:     *b.known.Load(),
		accounts:  b.accounts,
		floor:     b.floor,
		threshold: max(threshold, adapters.Triage),
	}
}

// reason of a standing; people read it through tell.
type reason uint8

const (
	unread     reason = iota // attribution was not read
	nobody                   // no writer, or a deleted account
	listed                   // the configured role decides
	stray                    // a bot that is not listed
	unasked                  // nobody asked for the role
	unverified               // asked in vain
	verified                 // the verified role decides
	possible                 // the editor is not named and may stand below the threshold
)

// element is the standing of an element by the author of its current revision.
func (s *snapshot) element(field query.FieldID, e *query.Element) (query.Standing, reason) {
	if e.Editors != query.EditorsNamed && e.Editors != query.EditorsPossible {
		return query.Undecided, unread
	}
	st, r := s.actor(&e.Actor)
	// The author alone proves nothing about a text that somebody below the threshold may have rewritten.
	if e.Editors == query.EditorsPossible && st == query.Admitted && s.floor(field) < s.threshold {
		return query.Undecided, possible
	}
	return st, r
}

// actor is the standing of an account. Names never matter: only the stable id and the provider's account type do.
func (s *snapshot) actor(u *query.User) (query.Standing, reason) {
	if u.ID == "" || u.Deleted {
		return query.Excluded, nobody
	}
	if role, ok := s.accounts[u.ID]; ok {
		return s.atLeast(role), listed
	}
	f, ok := s.known[u.ID]
	switch {
	case u.Bot || f.Actor.Bot:
		return query.Excluded, stray
	case !ok:
		return query.Undecided, unasked
	case f.Actor.Deleted:
		return query.Excluded, nobody
	case !f.Verified:
		return query.Undecided, unverified
	}
	return s.atLeast(f.Role), verified
}

func (s *snapshot) atLeast(r adapters.Role) query.Standing {
	if r >= s.threshold && r <= adapters.Admin {
		return query.Admitted
	}
	return query.Excluded
}

func (s *snapshot) tell(r reason, field query.FieldID, u *query.User) string {
	f := s.known[u.ID]
	switch r {
	case unread:
		return "who wrote it was not read"
	case nobody:
		return "nobody wrote it who still has an account"
	case listed:
		if s.accounts[u.ID] == adapters.NoRole {
			return "a listed account without a configured role"
		}
		return fmt.Sprintf("configured role %v, %v is needed", s.accounts[u.ID], s.threshold)
	case stray:
		return "a bot that the configuration does not list by id"
	case unasked:
		return "the role of its writer was not looked up"
	case unverified:
		return fmt.Sprintf("the role of its writer could not be verified: %s", f.Why)
	case possible:
		if s.floor(field) == adapters.NoRole {
			return "it was edited, and the provider does not say by whom"
		}
		return fmt.Sprintf("it was edited, the provider does not say by whom, and %v may edit it while %v is needed", s.floor(field), s.threshold)
	default:
		return fmt.Sprintf("verified role %v, %v is needed", f.Role, s.threshold)
	}
}
