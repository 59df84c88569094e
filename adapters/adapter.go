package adapters

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Adapter is one provider, statically: it does no I/O, and lint uses it offline. Its claims are those of the weakest
// supported server; a session may claim more.
type Adapter interface {
	Provider() string
	// Catalogue is the fields that the provider has for a kind, each with the walks that notice a change of it.
	Catalogue(k query.Kind) *query.Catalogue
	// Claims are the static filter claims, see query.Filters.
	Claims(k query.Kind) query.Filters
	// EditFloor is the lowest role that the provider lets edit what another account wrote in that field; NoRole when
	// the provider names the editor. It decides what possible editors are worth, see query.EditorsPossible.
	EditFloor(f query.FieldID) Role
	// Settings are the keys that a connection may carry besides base_url and token_env; any other key is an error.
	Settings() []Setting
	// Container says how a configured scope names its container.
	Container() ContainerName
	// Open resolves names to ids, checks the credential and reads limits and the kind of server.
	Open(ctx context.Context, c Config) (Session, error)
}

// Setting is one key of a connection.
type Setting struct {
	Name     string
	Required bool
	Doc      string // one line
}

// Config is everything that a session needs; all of it comes from trusted configuration.
type Config struct {
	BaseURL   string
	Container string // as configured: acme/widgets, PROJ
	Kind      query.Kind
	Settings  map[string]string
	// Token gives the credential at each use; it may change (tokens rotate, installations expire). It is never logged.
	Token func(context.Context) (string, error)
	// HTTP carries every request. It must not follow redirects to another host with credentials; sessions enforce
	// that on a copy.
	HTTP *http.Client
	// Budget is asked before every request and told of every answer; one per credential.
	Budget Budget
	// Agents are stable ids of accounts that are no persons although the provider does not say so (last_comment).
	Agents []string
	// Parallel is how many requests of one call may be under way at once; 0 leaves it to the adapter.
	Parallel int
	// Now is the local clock, for waiting and time-outs only; facts use the provider's.
	Now func() time.Time
}

// Class of a request, for budgets and counters.
type Class string

// The classes: Search lists the scope (the one combined search), Read follows up on entities, Roles reads evidence
// about actors, Identity checks server, account and container.
const (
	Search   Class = "search"
	Read     Class = "read"
	Roles    Class = "roles"
	Identity Class = "identity"
)

// Budget paces one credential. Wait returns when a request of that class and cost may be sent, or with an error of
// class Moment (matching ErrBudget when the cycle's share is spent). Observe learns from an answer.
type Budget interface {
	Wait(ctx context.Context, c Class, cost int) error
	Observe(c Class, status int, h http.Header)
}

// Session is one scope seen with one credential. It is safe for concurrent use. Every method returns errors that match
// *Error.
type Session interface {
	Scope() scope.Scope
	// Health asks the provider, each cycle, whether the container is still the one that was opened (renamed is fine,
	// moved away or re-created is not) and whether the credential is still the account, and returns the provider's
	// clock as read before anything else of the cycle.
	Health(ctx context.Context) (Health, error)
	// Compile makes the scope's one search for all sources. A source that the provider cannot serve is refused by
	// name; the others are compiled.
	Compile(ctx context.Context, ss []query.Source) (Plan, []Refusal)
	// Pages lists a walk from a position on. It yields pages until the walk is complete, or an error last. A clean end
	// claims "all of it", unless a page was Short.
	Pages(ctx context.Context, p Plan, w Walk, at Position) iter.Seq2[Page, error]
	// Read reads entities from the authoritative endpoint, with every element of the named fields and their
	// attribution. It returns one item per ref, in order; what cannot be read of an item is said by the item.
	Read(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]Item, error)
	// Roles asks for the current role of each actor in this scope's container; one finding per actor, in order. An
	// actor whose role cannot be read has an unverified finding, not an error.
	Roles(ctx context.Context, as []query.User) ([]Finding, error)
	// Find resolves what a person typed: a URL, owner/name#7, PROJ-7. ErrNotFound when there is no such entity in
	// the scope.
	Find(ctx context.Context, ref string) (scope.Ref, error)
}

// Prober is implemented by sessions whose entities are densely numbered: it asks for numbers that a turn of the sweep
// did not meet.
type Prober interface {
	// Probe returns one item per number, in order: Present (the sweep missed it), Gone (proven: deleted, or of the
	// other kind, for ever) or Unreadable.
	Probe(ctx context.Context, numbers []int64) ([]Item, error)
}

// Health is what the provider says of itself, the credential and the container.
type Health struct {
	Clock    time.Time // the provider's clock, before the cycle reads anything
	Account  string    // display name of the account
	Place    string    // the container's current name
	Warnings []string  // for people, each cycle: a token that may not read roles, a rename
	CanRoles bool      // the credential may read roles
}

// ContainerName is how a configured scope names its container.
type ContainerName struct {
	Key     string             // of the member that names it: repo, project
	Example string             // as people write it: owner/name, PROJ
	Check   func(string) error // why a text cannot be such a name, without asking anybody; nil: any but an empty one can
}

// Walk is one way in which the session enumerates its scope.
type Walk struct {
	Name  string
	Kind  query.WalkKind
	Lag   time.Duration // how long a change may stay unseen by this walk; at least Grain plus a request's time
	Grain time.Duration // of the change clock
	// WholePages: one page holds all results of an entity, so it may be routed before the walk ends.
	WholePages bool
	// Pointers: rows only say "look at this entity again"; their facts are not used.
	Pointers bool
	// Dense: items carry numbers from 1 without holes but for deletions and the other kind; see Prober.
	Dense bool
}

// Position is where a walk begins: everything that changed at or after Since (zero: everything), from the opaque
// Cursor on. A cursor may expire: ErrCursor means start at Since again.
type Position struct {
	Since  time.Time
	Until  time.Time // exclusive; zero is open. A walk that cannot bound it reads on.
	Cursor []byte
}

// Page is one page of a walk. Items are in the walk's order.
type Page struct {
	Items []Item
	Next  []byte    // the cursor behind this page; nil at the end
	Clock time.Time // the provider's clock of the answer
	// Short is why the page cannot support "covered": a null row, a cap, a warning; nil when it can. One that wraps
	// ErrCapped has the window read again in halves, which needs a walk that minds Position.Until.
	Short *Error
	Other []int64 // numbers met that are of the other kind (dense walks)
	Total int     // what the provider says the walk holds; 0 when it does not say
}

// ItemState says what is proven about an item.
type ItemState uint8

// Present: its facts are given. Gone: proven to exist no more, or to be another entity now, by a container that is
// readable. Unreadable: proves nothing.
const (
	Present ItemState = iota
	Gone
	Unreadable
)

// Item is one entity as one answer shows it.
type Item struct {
	Ref     scope.Ref
	Place   scope.Place
	State   ItemState
	Err     *Error // why it is Gone or Unreadable
	Number  int64  // dense walks
	Token   string // the listing's change mark: a hash of all that the row shows; "" when the answer is no listing row
	Updated time.Time
	Facts   *query.Facts // nil for pointers
	ReadAt  time.Time    // the provider's clock of the answer
}

// Plan is a compiled search.
type Plan interface {
	// Walks that this plan needs: at least one Changes and one Sweep.
	Walks() []Walk
	// Render shows the search of a walk as it is sent, for people.
	Render(w Walk) string
	// Weakened lists what the search leaves to the local check.
	Weakened() []query.Weakening
	// Cost is the planned cost of an idle cycle, of a changed entity and of a sweep, in requests, for people.
	Cost() []string
}

// Refusal is one source that the adapter cannot serve.
type Refusal struct {
	Source string
	Field  string
	Span   query.Span
	Why    string
}

// Finding is role evidence: who answered, when and what.
type Finding struct {
	Actor    query.User
	Role     Role
	Verified bool
	Endpoint string // who answered
	Why      string // why it is not verified
	At       time.Time
}
