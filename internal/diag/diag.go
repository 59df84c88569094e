package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says what a diagnostic does to the thing that it is about.
type Severity uint8

// An Error refuses the part of the file it points at; a Warning and an Info do not.
const (
	Error Severity = iota
	Warning
	Info
)

// String is the word used in every output format.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	default:
		return "info"
	}
}

// MarshalText makes JSON carry the word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rule is one kind of diagnostic. Its code is stable: it is never given to another kind.
type Rule struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"` // one line, lower case
}

// Pos is a place in a file; lines and columns count from 1, columns in code points. The zero Pos is no place.
type Pos struct {
	File      string
	Line, Col int
}

// String is file:line:col, as far as it is known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}

// Diagnostic is one thing that is wrong with a file. Lines and columns count from 1, columns in code points; the end is
// exclusive and may be absent (0), as may be all of them for a file that could not be read. Message and Snippet hold
// the file's own text: printers neutralise it.
type Diagnostic struct {
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"`
	Col      int      `json:"column,omitempty"`
	EndLine  int      `json:"end_line,omitempty"`
	EndCol   int      `json:"end_column,omitempty"`
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Suggest  string   `json:"suggest,omitempty"`
	Snippet  string   `json:"snippet,omitempty"` // the line as it stands in the file; secrets are blanked
	Harness  string   `json:"harness,omitempty"` // whose file it is, where that is known
	Fix      *Edit    `json:"-"`                 // a change that is safe to make; nil when there is none
}

// Edit replaces the bytes [Start, End) of the file.
type Edit struct {
	Start, End int
	Text       string
}

// Error makes a diagnostic usable as an error.
func (d Diagnostic) Error() string {
	s := fmt.Sprintf("%s: %s", d.Pos(), Clean(d.Message))
	if d.Suggest != "" {
		s += "; " + Clean(d.Suggest)
	}
	return s + " [" + d.Code + "]"
}

// Pos is where the diagnostic begins.
func (d Diagnostic) Pos() Pos { return Pos{File: Clean(d.File), Line: d.Line, Col: d.Col} }

// InFile makes a diagnostic about a whole file or directory.
func InFile(r Rule, file, suggest, format string, args ...any) Diagnostic {
	return Diagnostic{File: file, Code: r.Code, Severity: r.Severity, Message: fmt.Sprintf(format, args...), Suggest: suggest}
}

// Diagnostics of any number of files.
type Diagnostics []Diagnostic

// Failed reports whether any of them is an error.
func (ds Diagnostics) Failed() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Count returns how many have the severity.
func (ds Diagnostics) Count(s Severity) int {
	n := 0
	for _, d := range ds {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// Sort orders by file and place, and what is at one place by severity and code.
func (ds Diagnostics) Sort() {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}
