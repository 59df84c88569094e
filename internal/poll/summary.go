package poll

import (
	"errors"
	"log/slog"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/scope"
)

// Summary is what one cycle did in one scope.
type Summary struct {
	Driver     string                 `json:"driver"`
	Scope      string                 `json:"scope"`
	Kind       string                 `json:"kind"`
	Scanned    int                    `json:"scanned"`   // rows seen
	Evaluated  int                    `json:"evaluated"` // query evaluations
	Matched    int                    `json:"matched"`   // pairs that entered the match
	Left       int                    `json:"left"`
	Unknown    int                    `json:"unknown"` // entities left undecided by this cycle
	Emitted    int                    `json:"emitted"`
	Missed     int                    `json:"missed"` // found by the sweep although windows had claimed them
	Outside    int                    `json:"outside"`
	Requests   map[adapters.Class]int `json:"requests"`
	Backoff    int                    `json:"backoff"`
	Incomplete []string               `json:"incomplete,omitempty"` // why the scope is not complete, for people
	Warnings   []string               `json:"warnings,omitempty"`
	Refused    []adapters.Refusal     `json:"refused,omitempty"`
	Read       bool                   `json:"read"`      // something of the scope could be read
	Throttled  bool                   `json:"throttled"` // a passing condition kept it from being read
	Took       time.Duration          `json:"-"`

	In         scope.Scope `json:"-"`          // zero when the scope could not be opened
	Dispatched int         `json:"dispatched"` // candidates of the scope that the output driver took; counted by the caller of Deliver
	Failed     int         `json:"failed"`     // those that it did not take
}

func (s *Summary) add(o coverage.Outcome) {
	s.Matched += o.Entered
	s.Left += o.Left
	s.Emitted += o.Emitted
	s.Missed += o.Missed
}

func (s *Summary) incomplete(why string) {
	for _, w := range s.Incomplete {
		if w == why {
			return
		}
	}
	s.Incomplete = append(s.Incomplete, why)
}

func (s *Summary) fail(err error) {
	var ae *adapters.Error
	if errors.As(err, &ae) && ae.Severity == adapters.MomentFailure {
		s.Throttled = true
	}
	s.incomplete(err.Error())
}

// Complete reports whether nothing of the scope is owed because something failed or was refused.
func (s *Summary) Complete() bool { return len(s.Incomplete) == 0 && len(s.Refused) == 0 }

// Attrs is the summary line: the ten members that every cycle and scope has, in this order, and then what helps people.
func (s *Summary) Attrs() []slog.Attr {
	n := 0
	for _, c := range s.Requests {
		n += c
	}
	return []slog.Attr{
		slog.String("driver", s.Driver), slog.String("scope", s.Scope+" "+s.Kind),
		slog.Int("scanned", s.Scanned), slog.Int("matched", s.Matched), slog.Int("unknown", s.Unknown),
		slog.Int("emitted", s.Emitted), slog.Int("dispatched", s.Dispatched), slog.Int("failed", s.Failed),
		slog.Int("backoff", s.Backoff), slog.Int("requests", n),
		slog.Int("search_requests", s.Requests[adapters.Search]), slog.Int("incomplete", len(s.Incomplete)+len(s.Refused)),
		slog.Int("evaluated", s.Evaluated),
		slog.Duration("took", s.Took.Round(time.Millisecond)),
	}
}

// The exit codes of a cycle, DESIGN §9.
const (
	ExitComplete   = 0
	ExitError      = 1
	ExitUsage      = 2
	ExitIncomplete = 3
	ExitTryLater   = 75
)

// ExitCode says what a cycle over these scopes ends with: 75 when everything was throttled, 1 when no scope could be
// read, 3 when something is owed, else 0.
func ExitCode(sums []Summary) int {
	read, throttled, complete := 0, 0, 0
	for i := range sums {
		switch {
		case sums[i].Read:
			read++
		case sums[i].Throttled:
			throttled++
		}
		if sums[i].Complete() {
			complete++
		}
	}
	switch {
	case complete == len(sums):
		return ExitComplete
	case read > 0:
		return ExitIncomplete
	case throttled == len(sums):
		return ExitTryLater
	default:
		return ExitError
	}
}
