package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Target is an adapter under test and the world that it looks at.
type Target struct {
	Adapter adapters.Adapter
	// Version is what the report says of the adapter; free text.
	Version string
	// Open makes a place for one case. Every case has its own: what another case did must not be visible in its home
	// container. ErrUnable, wrapped, skips the case with that reason.
	Open func(ctx context.Context, w Wish) (*Place, error)
	// Retry are the waits after which a cycle that lost something is run once more: providers are eventually
	// consistent. None where the world is exact, as a simulated one is.
	Retry []time.Duration
	// Partial says that the stage is known to lack things, as a live server lacks faults: a core case that it cannot
	// play leaves the verdict open instead of spoiling it.
	Partial bool
	// Without names what the provider has no notion of, by verb, step or hint, each with the reason: files have no
	// credentials to rotate. Cases about it do not apply, and the report says so in the author's words.
	Without map[string]string
	// Parallel is how many cases are played at once; 0 is one. The order of the report stays.
	Parallel int
	// Progress, when set, is told of every case that was played. It must be safe for concurrent use.
	Progress func(name string, passed bool)
	// Match, when set, picks cases by a glob over "group/name".
	Match string
}

// Wish is what a case asks of its place.
type Wish struct {
	Case  string // "group/name"
	Kind  query.Kind
	Hints map[string]string // from the header "stage"; an unknown one is ErrUnable
	Makes int               // how many entities it makes
	Words []string          // the verbs, steps and {placeholders} that the case uses, sorted
}

// Place is a container for one case, with people around it, see PlaceScript.
type Place struct {
	Stage Stage
	// Config opens the adapter. The suite fills in Kind, Budget and, where a case asks for other credentials, Token;
	// it listens at HTTP.
	Config adapters.Config
	// Token gives the text of a credential by its name in the case files: admin, writer, reader, none.
	Token func(name string) (string, error)
	// Names replaces {name} in scripts and queries: home and other are the containers, org their owner, a login what
	// the account of that name is called here. A name that is not listed stands for itself.
	Names map[string]string
	// ID gives the stable id of an account, for the configuration of agents.
	ID func(ctx context.Context, login string) (string, error)
	// Trouble, when set, is what went wrong in the world behind the suite's back (scripts of the verb after).
	Trouble func() error
	// After says that the suite does the verb after itself, behind a page (route search) or a read (route read) that the
	// engine has taken, since there is no way to do it between two requests.
	After bool
	// RealTime says that time only passes by itself: cases that wait for rechecks or budgets are not played.
	RealTime bool
	Close    func()
}

// Stage changes the provider's world. Its verbs and their keys are those of the case files, see README.md; a stage may
// know any part of them.
type Stage interface {
	// Do does one verb. ErrUnable, wrapped, says that this stage cannot do it this way; any other error fails the case.
	Do(ctx context.Context, verb string, args map[string]string) error
	// Can reports whether the stage knows a verb at all, or "fault KIND".
	Can(verb string) bool
	// Key is how people write the entity that a script calls name: what the adapter puts into scope.Ref.Key. It fails
	// while there is no such entity.
	Key(name string) (string, error)
}

// ErrUnable says that a stage or place cannot do what a case needs. The case is skipped, and the report says why.
var ErrUnable = errors.New("the stage cannot do this")
