package conformance

import (
	"fmt"
	"strings"
)

// Failure is a rule that an adapter broke, as a case showed it.
type Failure struct {
	Case     *Case
	Line     int
	Step     string
	Expected string
	Got      string
	Notes    []string // what points at the reason
	Requests []string // the last ones, oldest first
}

// Error is the whole story, for people.
func (f *Failure) Error() string {
	var b strings.Builder
	c := f.Case
	fmt.Fprintf(&b, "%s: %s\n", c.Name, c.Title)
	fmt.Fprintf(&b, "  clause    %s\n", strings.Join(c.Clauses, ", "))
	for i, l := range strings.Split(c.Explain, "\n") {
		head := "            "
		if i == 0 {
			head = "  the rule  "
		}
		fmt.Fprintln(&b, strings.TrimRight(head+strings.TrimSpace(l), " "))
	}
	fmt.Fprintf(&b, "  kills     %s\n", c.Kills)
	if f.Step != "" {
		fmt.Fprintf(&b, "  line %-4d %s\n", f.Line, f.Step)
	}
	fmt.Fprintf(&b, "  expected  %s\n  got       %s\n", f.Expected, f.Got)
	for i, n := range f.Notes {
		if i == notes {
			fmt.Fprintf(&b, "  note      … and %d more\n", len(f.Notes)-i)
			break
		}
		fmt.Fprintf(&b, "  note      %s\n", n)
	}
	if len(f.Requests) > 0 {
		fmt.Fprintf(&b, "  the last requests:\n")
		for _, r := range f.Requests {
			fmt.Fprintf(&b, "    %s\n", r)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// notes is how many notes a failure shows.
const notes = 8

// shown is how many requests a failure shows.
const shown = 8

// fail makes the verdict of the line at hand.
func (p *player) fail(expected, got string, hints ...string) error {
	f := &Failure{Case: p.c, Line: p.at.no, Step: p.at.text, Expected: expected, Got: got, Notes: hints}
	if p.wire != nil {
		f.Requests = p.wire.last(shown)
	}
	return f
}
