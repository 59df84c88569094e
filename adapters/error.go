package adapters

import (
	"errors"
	"fmt"
	"time"
)

// Severity of a failure: what it concerns decides what happens next.
type Severity uint8

// Item: this entity only; it is parked, the scan goes on. Scope: this scope (refused, revoked, not found); the range
// is incomplete and somebody must act. Moment: throttled, overloaded, cut off; try later.
const (
	ItemFailure Severity = iota
	ScopeFailure
	MomentFailure
)

func (s Severity) String() string {
	return [...]string{"item", "scope", "moment"}[s]
}

// Error is how every adapter fails.
type Error struct {
	Severity Severity
	Op       string        // what was tried, without secrets
	Status   int           // HTTP status; 0 when there was no answer
	After    time.Duration // the provider's word on when to come back; 0 when it said nothing
	Err      error
}

func (e *Error) Error() string {
	switch {
	case e.Status != 0 && e.Err != nil:
		return fmt.Sprintf("%s: status %d: %v", e.Op, e.Status, e.Err)
	case e.Status != 0:
		return fmt.Sprintf("%s: status %d", e.Op, e.Status)
	default:
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
}

func (e *Error) Unwrap() error { return e.Err }

// What callers match with errors.Is.
var (
	ErrCursor       = errors.New("cursor expired or listing drifted")
	ErrBudget       = errors.New("request budget of this cycle is spent")
	ErrThrottled    = errors.New("throttled by the provider")
	ErrNotFound     = errors.New("not found")
	ErrUnauthorized = errors.New("credential refused")
	ErrForbidden    = errors.New("credential lacks permission")
	ErrMoved        = errors.New("container is another one now")
	ErrProtocol     = errors.New("answer is not what the API promises")
	ErrTooLarge     = errors.New("answer exceeds the size cap")
	ErrCapped       = errors.New("the provider gives no more of this window") // in Page.Short: a shorter window may fit
	ErrUnavailable  = errors.New("provider is not available")                 // 5xx, cut off, no answer in time
)
