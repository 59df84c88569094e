package query

import "time"

// Verdict is the three-valued answer of an evaluation.
type Verdict int8

// The zero Verdict is Unknown: missing data never counts as a non-match.
const (
	False Verdict = iota - 1
	VerdictUnknown
	True
)

// Need is what would decide an unknown verdict: a field of the entity to read (Actor and Element empty), the
// attribution of an element's field to read (Element set), or an actor's role to verify (Actor set).
type Need struct {
	Field   FieldID
	Element string
	Actor   string // stable id
}

// Result of an evaluation. It holds for every way in which what is undecided may be resolved, until Until.
type Result struct {
	Verdict Verdict
	Needs   []Need    // only when the verdict is unknown; sorted, unique
	Until   time.Time // the first instant at which it may flip by time alone; zero: never
	RestsOn []string  // actors (stable ids, sorted, unique) whose role the verdict may rest on, admitted or excluded
}

// Support is what makes a true verdict true.
type Support struct {
	Terms []Term
}

// Term is one true test of a query with what satisfies it.
type Term struct {
	Test     string // canonical text of the test, stable across edits of the rest of the query
	Field    FieldID
	Values   []Value // of a plain fact
	Rev      string  // head commit, where checks or on_head was read
	Elements []Element
}

// Source is one declared query as everything below the poller knows it: the ID is opaque, View is its admission
// threshold's view. Reads are fields that decide beside the query: walks must notice their changes, too.
type Source struct {
	ID    string
	Query *Bound
	View  ViewID
	Reads FieldSet
}

// ViewID names a view; there is one per admission threshold, not one per harness.
type ViewID uint8
