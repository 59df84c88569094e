package explore

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/query"
)

// Judgement is how a query judges the facts of a file.
type Judgement struct {
	query.Trace
	Support []Supporting `json:"support,omitempty"`
}

// Supporting is one true test with what satisfies it.
type Supporting struct {
	Test     string   `json:"test"`
	Field    string   `json:"field"`
	Elements []string `json:"elements,omitempty"`
	Rev      string   `json:"rev,omitempty"`
}

// Judge evaluates and explains.
func Judge(b *query.Bound, f *query.Facts, v query.View, now time.Time) Judgement {
	j := Judgement{Trace: b.Explain(f, v, now)}
	for _, t := range b.Support(f, v, now).Terms {
		s := Supporting{Test: t.Test, Rev: t.Rev}
		if field, ok := b.Catalogue().ByID(t.Field); ok {
			s.Field = field.Name
		}
		for _, e := range t.Elements {
			s.Elements = append(s.Elements, e.Key)
		}
		j.Support = append(j.Support, s)
	}
	return j
}

// Write writes the judgement for people: the verdict, what it rests on, and every step.
func (j Judgement) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "at %s\n", j.Now.Format("2006-01-02T15:04:05.999Z07:00"))
	b.WriteString(j.Trace.String())
	if len(j.Support) > 0 {
		b.WriteString("supported by\n")
		for _, s := range j.Support {
			fmt.Fprintf(&b, "  %s", s.Test)
			if len(s.Elements) > 0 {
				fmt.Fprintf(&b, "  [%s]", strings.Join(quoted(s.Elements), ", "))
			}
			if s.Rev != "" {
				fmt.Fprintf(&b, " at %q", s.Rev)
			}
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func quoted(ss []string) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = fmt.Sprintf("%q", s)
	}
	return out
}
