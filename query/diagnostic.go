package query

import "fmt"

// Span is a half-open range of bytes in the query's text.
type Span struct{ Start, End int }

// Severity of a diagnostic.
type Severity uint8

// An error refuses the source; a warning does not.
const (
	Error Severity = iota
	Warning
)

// Diagnostic is one thing that is wrong with a query, where, and what to write instead.
type Diagnostic struct {
	Code     string // stable, see docs/lint
	Severity Severity
	Span     Span
	Message  string // lower case, names the offending value
	Suggest  string // the way out; may be empty
}

// Error makes a diagnostic usable as an error.
func (d Diagnostic) Error() string {
	if d.Suggest == "" {
		return fmt.Sprintf("%d: %s [%s]", d.Span.Start+1, d.Message, d.Code)
	}
	return fmt.Sprintf("%d: %s; %s [%s]", d.Span.Start+1, d.Message, d.Suggest, d.Code)
}

// Diagnostics of one query, in order of position.
type Diagnostics []Diagnostic

// Failed reports whether any diagnostic refuses the query.
func (ds Diagnostics) Failed() bool {
	for _, d := range ds {
		if d.Severity == Error {
			return true
		}
	}
	return false
}
