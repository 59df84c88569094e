package coverage

import (
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// Plan is what a cycle asks in one scope, as far as the ledger must know it.
type Plan struct {
	// Name is how the configuration calls the container; "" binds nothing. See ErrName.
	Name    string
	Hash    string
	Sources []Source
	Walks   []Walk
}

// Source is one source of a plan. Version changes with everything that can change its verdicts; Body is opaque and is
// given back by Sources, so that the poller can compare a new version with its old one. Reuse says that the new version
// implies the stored one under the same admission: what was covered for it stays covered.
type Source struct {
	ID      string
	Version string
	Body    []byte
	Reuse   bool
}

// Walk is a walk of the session.
type Walk struct {
	Name  string
	Sweep bool
	Lag   time.Duration
	Grain time.Duration
	Dense bool
	// Pointers: it only shows which entities to look at, and never proves that an entity did not change.
	Pointers bool
}

// Policy is how often things are owed.
type Policy struct {
	SweepEvery   time.Duration
	RecheckEvery time.Duration
	Full         bool // owe a sweep now
}

// TaskKind is what a task reads.
type TaskKind uint8

// Tail: the open window of a change walk. Gap: a closed range that an earlier scan left incomplete. Turn: one turn of
// the sweep. Probe: the numbers that a finished turn did not meet.
const (
	Tail TaskKind = iota
	Gap
	Turn
	Probe
)

func (k TaskKind) String() string { return [...]string{"tail", "gap", "turn", "probe"}[k] }

// Task is one thing to read. A task that was begun and not closed is given again with its cursor.
type Task struct {
	Scope    scope.Scope
	Kind     TaskKind
	Walk     string
	From     time.Time // read from here on: the lag is already taken off; zero for sweeps
	To       time.Time // exclusive end; zero is open
	Started  time.Time // provider's clock before the first page; closing a tail moves the frontier here
	Cursor   []byte
	End      bool // the last page is committed: only Close is owed. Reading it again from Cursor is right, too
	Turn     int
	Pages    int
	Entities int
	Short    string  // why it can no longer be covered; the first reason
	Capped   bool    // the provider gives no more of this range
	Numbers  []int64 // Probe
	Tries    int

	last  int64     // Probe: the highest number of the batch
	local time.Time // Tail: our own clock at Started
}

// Progress is what one page adds to a task.
type Progress struct {
	Next  []byte // the cursor behind the page; nil at the end
	Rows  int
	Short string // why the page cannot support "covered"; "" when it can
	// Capped: it is short because the provider gives no more of a range of this length.
	Capped bool
	Met    []int64 // numbers met in the scope (dense sweeps and probes)
	Other  []int64 // numbers that are of the other kind or gone, for ever
}

// Failure ends a task early.
type Failure struct {
	Reset bool          // the cursor no longer holds: begin at From again
	Scope bool          // the scope is refused: alarm, no retry within the cycle
	After time.Duration // provider's word
	Why   string
}

// Outcome counts what a commit did.
type Outcome struct {
	Entered  int // pairs that entered the match
	Left     int
	Emitted  int // outbox rows written
	Canceled int // outbox rows withdrawn because the pair left before hand-off
	Stale    int // records older than what is stored: ignored
	Missed   int // entities that a sweep found and that the windows had claimed to cover
	// Divided: the range was cut off, and its halves are due at once.
	Divided bool
}

// Delivery is one outbox row: a decision on its way to a driver.
type Delivery struct {
	Key       string // source and identity
	Decision  string // id of the decision
	Scope     scope.Scope
	Source    string
	Ref       scope.Ref
	Entries   int
	Evidence  []byte
	Created   time.Time
	Tries     int
	NotBefore time.Time
	Lease     time.Time // claimed until
	Dead      bool      // listed, retried slowly
	Why       string    // last failure
}

// Outcomes of a delivery, as receipts tell them.
const (
	HandedOff    = "handed_off"    // the driver took it durably (json)
	Ran          = "ran"           // closes
	Skipped      = "skipped"       // closes (pre-script 78)
	NotMember    = "not_member"    // closes; asked again when facts were younger than the lag
	NotTriggered = "not_triggered" // offered again when what the trigger read changes
	UnknownRun   = "unknown"       // retried with backoff
	Failed       = "failed"        // retried with backoff, then dead-lettered
	Lost         = "lost"          // lease over without a receipt
)

// Receipt says what became of a delivery.
type Receipt struct {
	Key      string    `json:"key"`
	Decision string    `json:"decision"`
	Outcome  string    `json:"outcome"`
	At       time.Time `json:"at"`
	Why      string    `json:"why,omitempty"`
	// Read is the decision as it stood when the run started, where the run could tell: an entity may have changed after
	// the decision was made. What was read is answered too.
	Read *ReadState `json:"read,omitempty"`
}

// ReadState is the digests of a decision, see Candidate, as a run read them.
type ReadState struct {
	Version string            `json:"version"`
	Digests map[string]uint64 `json:"digests"`
}
