package adapters

import (
	"context"

	"github.com/fullsend-ai/discovery/query"
)

// NameLister is implemented by sessions that can say which names exist in their container, for query-lint --online. It
// serves people: nothing that is decided about an entity rests on it.
type NameLister interface {
	// Names lists the names that values of the field, or of its member name, may have: labels, milestones. ok is false
	// for a field whose names the provider does not list.
	Names(ctx context.Context, f query.FieldID) (names []string, ok bool, err error)
	// Uses counts the entities of the session's kind, closed ones too, that carry the name. ok is false where the
	// provider cannot count them.
	Uses(ctx context.Context, f query.FieldID, name string) (n int, ok bool, err error)
	// Account looks an account up by its login. An error that matches ErrNotFound says that there is none.
	Account(ctx context.Context, login string) (query.User, error)
}
