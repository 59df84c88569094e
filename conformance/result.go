package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ResultSchema names the form of a Result.
const ResultSchema = "conformance/v1"

// The verdicts. Partial: nothing failed, and not everything was played.
const (
	Conformant    = "conformant"
	NotConformant = "not conformant"
	Partial       = "partial"
)

// Result is the outcome of a run, as `fullsend conformance --format json` prints it.
type Result struct {
	Schema   string    `json:"schema"`
	Adapter  string    `json:"adapter"`
	Version  string    `json:"version,omitempty"`
	Stage    string    `json:"stage,omitempty"`
	Core     string    `json:"core"`     // verdict
	Extended string    `json:"extended"` // verdict
	Passed   []string  `json:"passed"`
	Failed   []Failed  `json:"failed"`
	Skipped  []Skipped `json:"skipped"`
	Missing  []string  `json:"missing_fields,omitempty"`  // fields of v1 that the provider has and the catalogue has not
	Untested []string  `json:"untested_claims,omitempty"` // filters that the adapter claims and no case tests
}

// Failed is a case that was not passed.
type Failed struct {
	Case    string   `json:"case,omitempty"`
	Profile string   `json:"profile,omitempty"`
	Clauses []string `json:"clauses,omitempty"`
	Line    int      `json:"line,omitempty"`
	Why     string   `json:"why"`
	Story   string   `json:"story,omitempty"`
}

// Skipped is a case that was not played.
type Skipped struct {
	Case    string `json:"case"`
	Profile string `json:"profile"`
	Why     string `json:"why"`
	// Unplayed: the stage could not play it. Else it does not apply to this provider.
	Unplayed bool `json:"unplayed"`
}

func (r *Result) add(c *Case, err error) {
	var s skip
	var f *Failure
	switch {
	case err == nil:
		r.Passed = append(r.Passed, c.Name)
	case errors.As(err, &s):
		r.Skipped = append(r.Skipped, Skipped{Case: c.Name, Profile: c.Profile, Why: s.why, Unplayed: s.fault})
	case errors.As(err, &f):
		r.Failed = append(r.Failed, Failed{Case: c.Name, Profile: c.Profile, Clauses: c.Clauses, Line: f.Line,
			Why: fmt.Sprintf("expected %s, got %s", f.Expected, f.Got), Story: f.Error()})
	default:
		r.Failed = append(r.Failed, Failed{Case: c.Name, Profile: c.Profile, Clauses: c.Clauses, Why: err.Error()})
	}
}

// judge draws the verdicts. A skipped core case is as good as a failed one, unless the run is known to be partial.
func (r *Result) judge(partial bool) {
	core, extended := Conformant, Conformant
	lower := func(v *string, to string) {
		if *v != NotConformant {
			*v = to
		}
	}
	for _, s := range r.Skipped {
		switch {
		case !s.Unplayed:
		case s.Profile == Core && !partial:
			core = NotConformant
		case s.Profile == Core:
			lower(&core, Partial)
		default:
			lower(&extended, Partial)
		}
	}
	if partial {
		lower(&core, Partial)
		lower(&extended, Partial)
	}
	for _, f := range r.Failed {
		if f.Profile == Extended {
			extended = NotConformant
		} else {
			core = NotConformant
		}
	}
	if len(r.Missing)+len(r.Untested) > 0 {
		core = NotConformant
	}
	if core == NotConformant {
		extended = NotConformant
	}
	r.Core, r.Extended = core, extended
}

// WriteJSON writes the report.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// skips lists what was not played, cases with one reason together.
func (r *Result) skips(b *strings.Builder) {
	at := map[string]int{}
	var why []Skipped
	var names [][]string
	for _, s := range r.Skipped {
		key := fmt.Sprint(s.Unplayed, s.Profile, s.Why)
		i, ok := at[key]
		if !ok {
			i = len(why)
			at[key], why, names = i, append(why, s), append(names, nil)
		}
		names[i] = append(names[i], s.Case)
	}
	for i, s := range why {
		note := "does not apply"
		if s.Unplayed {
			note = "NOT PLAYED"
		}
		list := names[i]
		more := ""
		if len(list) > 6 {
			list, more = list[:6], fmt.Sprintf(" and %d more", len(names[i])-6)
		}
		fmt.Fprintf(b, "skipped (%s): %s: %s: %s%s\n", s.Profile, note, s.Why, strings.Join(list, ", "), more)
	}
}

// WriteText writes the failures in full, what was skipped and why, and the verdict.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Failed {
		if f.Story != "" {
			fmt.Fprintf(&b, "FAILED %s\n\n", f.Story)
			continue
		}
		fmt.Fprintf(&b, "FAILED %s: %s\n\n", f.Case, f.Why)
	}
	r.skips(&b)
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "missing: v1 gives %s to %s, and the catalogue lacks it\n", m, r.Adapter)
	}
	for _, u := range r.Untested {
		fmt.Fprintf(&b, "untested: the claim to filter %s is tested by no case\n", u)
	}
	fmt.Fprintf(&b, "%s %s: %d passed, %d failed, %d skipped; core: %s; extended: %s\n",
		r.Adapter, r.Version, len(r.Passed), len(r.Failed), len(r.Skipped), r.Core, r.Extended)
	_, err := io.WriteString(w, b.String())
	return err
}
