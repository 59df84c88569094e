package run

import (
	"context"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/sandbox"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// Harness is one harness as one scope's run sees it.
type Harness struct {
	Name, Role string
	Self       string // stable id of the account as which it writes; "" when none is configured
	Revision   string // of the file
	Version    string // of its queries over this scope, as the poller names it
	Sourced    bool   // it declares sources: membership is needed
	Refused    bool   // one of its sources cannot be used: "not a member" cannot be told
	Queries    []*query.Bound
	Threshold  adapters.Role
	Trigger    *trigger.Program // nil: nothing ever starts it by itself
}

// Target is one configured container and kind in which the entity may be.
type Target struct {
	Driver  string
	Adapter adapters.Adapter
	Config  adapters.Config
	Bots    map[string]adapters.Role // accounts by stable id whose role is configured
	Harness Harness
}

// Bound is what trusted configuration says at one moment. It is read anew for every sandbox cycle.
type Bound struct {
	Killed  bool
	Repo    string // target repository
	Targets []Target
	Sandbox Sandbox
}

// Sandbox is what is started when everything is proven, from trusted configuration alone.
type Sandbox struct {
	Driver    sandbox.Driver
	Command   []string
	PreScript []string // started first; its exit code 78 skips the run
	Env       map[string]string
	Network   bool
	ReadOnly  []string
	Limit     time.Duration
	Grace     time.Duration
}

// Candidate is what asks for a run. Nothing in it is believed: it only says where to look.
type Candidate struct {
	Ref      string    `json:"ref"`                // as people write it
	Identity string    `json:"identity,omitempty"` // canonical; when given, only that entity will do
	Key      string    `json:"key,omitempty"`      // of the delivery, for the receipt
	Decision string    `json:"decision,omitempty"` // likewise
	Entries  int       `json:"entries,omitempty"`  // how often the pair had entered the match; 0 is not known
	Updated  time.Time `json:"updated,omitzero"`   // an answer older than this is a lagging replica's
	Event    []byte    `json:"event,omitempty"`    // a NormalizedEvent as it was received; empty for none
	Retry    string    `json:"retry,omitempty"`    // name of its entry in the store of retries
}

// Loader reads the trusted configuration for one harness.
type Loader func(ctx context.Context) (*Bound, error)
