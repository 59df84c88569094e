package harness

import (
	"fmt"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
	"github.com/fullsend-ai/discovery/query"
)

// Folder is where harness files are found without registration.
const Folder = "harness"

// Example is a whole source in one line, for messages.
const Example = `{version: 1, from: code, kind: work_item, query: "v1: state = open"}`

// SourceVersion is the only version of a source declaration that is read.
const SourceVersion = 1

// Set is all harnesses of one .fullsend folder, ordered by name, with everything that is wrong with them.
type Set struct {
	Harnesses   []*Harness
	Diagnostics diag.Diagnostics
}

// Get returns the harness of that name that is not broken.
func (s *Set) Get(name string) (*Harness, bool) {
	for _, h := range s.Harnesses {
		if h.Name == name && !h.Broken {
			return h, true
		}
	}
	return nil, false
}

// Harness is the part of a harness file that discovery needs. A broken one was refused by a diagnostic: it is listed so
// that it can be named, and must not run.
type Harness struct {
	Name    string // the file's name without its ending
	File    string // as messages name it
	Role    string // "" when the file has none
	Floor   adapters.Role
	Minimum adapters.Role // the admission threshold: the floor, or what the harness raises it to
	Trigger *string       // CEL; nil: never started automatically
	Sources []*Source
	Broken  bool

	TriggerPos diag.Pos

	text    *yamlpos.Text
	trigger yamlpos.Scalar
}

// Source is one declared query. A refused one was refused by a diagnostic: it matches nothing, and the harness may
// lack members because of it, so that "not a member" cannot be told of the harness.
type Source struct {
	Harness *Harness
	Index   int // from 0
	From    string
	Kind    query.Kind
	Query   *query.Query // nil when the declaration has none
	Refused bool

	Driver *config.InputDriver // set by Bind
	Bound  *query.Bound        // set by Bind; nil when refused

	Pos, FromPos, KindPos, QueryPos diag.Pos

	text   *yamlpos.Text
	query  yamlpos.Scalar
	parsed query.Diagnostics
	from   [2]int
	kind   [2]int
}

// ID names the source in the set. It changes when sources are reordered in the file.
func (s *Source) ID() string { return fmt.Sprintf("%s/%d", s.Harness.Name, s.Index+1) }

// Text is the query as written, decoded from YAML.
func (s *Source) Text() string { return s.query.Text() }

// At makes a diagnostic about a span of the query, in the place of the file where it is written.
func (s *Source) At(r diag.Rule, at query.Span, message, suggest string) diag.Diagnostic {
	from, to := s.query.Span(at.Start, at.End)
	d := s.text.Diag(r, from, to, message, suggest)
	d.Harness = s.Harness.Name
	return d
}

// Place turns a diagnostic of the query into one of the file.
func (s *Source) Place(d query.Diagnostic) diag.Diagnostic {
	r := diag.Rule{Code: d.Code, Severity: diag.Error}
	if d.Severity == query.Warning {
		r.Severity = diag.Warning
	}
	placed := s.At(r, d.Span, d.Message, d.Suggest)
	placed.Fix = s.respelled(d.Span)
	return placed
}

// respelled mends operators of other languages that have one meaning in this one.
func (s *Source) respelled(at query.Span) *diag.Edit {
	text := s.Text()
	ours, ok := map[string]string{"==": "=", "<>": "!=", "&&": "and", "||": "or"}[text[at.Start:at.End]]
	if !ok {
		return nil
	}
	if from, to := s.query.Span(at.Start, at.End); string(s.text.Bytes()[from:to]) == text[at.Start:at.End] {
		return &diag.Edit{Start: from, End: to, Text: spaced(text, at, ours)}
	}
	return nil // written otherwise in the file, with an escape
}

// spaced keeps a word apart from what stands beside it.
func spaced(text string, at query.Span, word string) string {
	if word[0] < 'a' {
		return word
	}
	isSpace := func(i int) bool { return i < 0 || i >= len(text) || strings.ContainsRune(" \t\r\n()", rune(text[i])) }
	if !isSpace(at.Start - 1) {
		word = " " + word
	}
	if !isSpace(at.End) {
		word += " "
	}
	return word
}

// AtTrigger makes a diagnostic about the bytes [start, end) of the trigger.
func (h *Harness) AtTrigger(r diag.Rule, start, end int, message, suggest string) diag.Diagnostic {
	from, to := h.trigger.Span(start, end)
	d := h.text.Diag(r, from, to, message, suggest)
	d.Harness = h.Name
	return d
}

// Bytes is the file as it was read, for naming its revision; nil when it could not be parsed. It must not be changed.
func (h *Harness) Bytes() []byte {
	if h.text == nil {
		return nil
	}
	return h.text.Bytes()
}

// Refused reports whether any source is.
func (h *Harness) Refused() bool {
	for _, s := range h.Sources {
		if s.Refused {
			return true
		}
	}
	return false
}

// FloorOf is the platform's admission floor of a role: triage and review observe, all others mutate, and so does a role
// that is unknown or missing.
func FloorOf(role string) adapters.Role {
	switch role {
	case "triage", "review":
		return adapters.Triage
	default:
		return adapters.Write
	}
}
