package coverage

import (
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// Record is what the poller learned about one entity in one read. Records are committed with the page that showed the
// entity, or settled with the batch that read it.
type Record struct {
	Ref     scope.Ref
	Token   string    // the listing's change mark; "" keeps the stored one
	Updated time.Time // the provider's change clock of the entity; zero keeps the stored one
	ReadAt  time.Time // the provider's clock of the answer; an older read never overwrites a newer one

	// Pointer says that nothing was read: the row only asks for a look. Again is added, all else is kept.
	Pointer bool
	// Same says that the token is unchanged and settled and that every source is as it was judged: only the sighting
	// is recorded.
	Same bool
	// Gone says that the entity is proven to exist no more (or to be another one): its pairs leave, its appointments
	// are closed.
	Gone bool

	// Judged is the plan under which the lists below are complete: a source of the plan that is in neither list is a
	// proven non-match. Empty: nothing was judged (an unreadable entity), pairs stay as they are.
	Judged    string
	Match     []Candidate
	Undecided []string // sources

	Again    []Appointment // replaces all earlier appointments of the entity, except with Pointer
	RestsOn  []Actor       // whose roles the verdicts rest on; replaces the earlier ones
	Evidence []byte        // what `why` shows when the provider is away; opaque, capped
}

// Actor is somebody whose role was or has to be read.
type Actor struct {
	ID    string
	Login string
	Bot   bool
	Role  string // as last verified; "" when it was not
	At    time.Time
}

// Why an entity is to be looked at again. There is at most one appointment of a reason per entity.
const (
	WhyUndecided = "undecided" // facts or roles are missing
	WhyFailed    = "failed"    // a read failed
	WhyDue       = "due"       // time may change a verdict
	WhyRole      = "role"      // an actor's role changed
	WhySource    = "source"    // a source is new or changed
	WhyPointer   = "pointer"   // a feed named it
	WhyUnmet     = "unmet"     // a sweep did not return a known member
	WhyReceipt   = "receipt"   // a run asked for another look
)

// Appointment is "look at this entity again".
type Appointment struct {
	Why   string
	At    time.Time // on the provider's clock
	Since time.Time // when the reason first arose: its visible age
	Tries int
	Cause string   // what failed last, for people; groups retries that share a cause
	Needs []string // what is missing, opaque
}

// Candidate is one source that an entity matches, with the decision it would be asked about.
type Candidate struct {
	Source  string
	Version string // of the source: query, admission, trigger
	// Digests of the decision by opaque part. Two decisions of one version differ when any part differs; of two
	// versions, when a part that both have differs.
	Digests  map[string]uint64
	Evidence []byte // goes into the dispatch record; opaque JSON
	// Hold says that the entity is a member and that nothing is asked about it now (its trigger says no, or it has
	// none): the pair enters the match and nothing is emitted or closed.
	Hold bool
}

// Entity is what the ledger holds of one entity in one scope.
type Entity struct {
	Ref      scope.Ref
	Token    string
	Updated  time.Time
	ReadAt   time.Time
	Judged   string
	Turn     int // the sweep turn that met it last
	Gone     bool
	Again    []Appointment
	Pairs    map[string]Pair // by source; only sources that matched at some time or are undecided
	RestsOn  []string
	Evidence []byte
}

// Pair is one source and one entity.
type Pair struct {
	In        bool // in the match, as last decided
	Undecided bool
	Entries   int // how often it has entered the match
	Version   string
	Digests   map[string]uint64 // of the last decision
	Closed    []string          // ids of closed decisions, newest last, capped
	Pending   string            // id of the decision in the outbox, if any
}
