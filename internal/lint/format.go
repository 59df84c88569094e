package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/fullsend-ai/discovery/internal/diag"
)

// Formats are the output formats.
func Formats() []string { return []string{"text", "json", "sarif", "github"} }

// Style is how a report is written.
type Style struct {
	Format  string // one of Formats
	Colour  bool   // text: ANSI colours
	Notes   bool   // text: infos too, not only their number
	Version string // sarif: the tool's version
}

// Write writes the report.
func (r Report) Write(w io.Writer, s Style) error {
	switch s.Format {
	case "text":
		return r.text(w, s)
	case "json":
		return r.json(w)
	case "sarif":
		return r.sarif(w, s.Version)
	case "github":
		return r.github(w)
	default:
		return fmt.Errorf("%w: unknown format %q; %s", ErrUsage, s.Format, diag.DidYouMean(s.Format, Formats()))
	}
}

func (r Report) text(w io.Writer, s Style) error {
	p := diag.TextPrinter{Colour: s.Colour}
	for _, d := range r.Diagnostics {
		if d.Severity == diag.Info && !s.Notes {
			continue
		}
		if err := p.Print(w, d); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Summary(s.Notes))
	return err
}

// Summary is the last line for people; notes says that infos were shown.
func (r Report) Summary(notes bool) string {
	s := fmt.Sprintf("%s, %s: %s, %s", count(r.Files, "file"), count(r.Sources, "source"),
		count(r.Diagnostics.Count(diag.Error), "error"), count(r.Diagnostics.Count(diag.Warning), "warning"))
	if n := r.Diagnostics.Count(diag.Info); n > 0 {
		s += ", " + count(n, "note")
		if !notes {
			s += " (--notes shows them)"
		}
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// jsonReport is the json format; fields are added, never changed.
type jsonReport struct {
	Version     int              `json:"version"`
	Files       int              `json:"files"`
	Sources     int              `json:"sources"`
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	Notes       int              `json:"notes"`
	Diagnostics diag.Diagnostics `json:"diagnostics"`
}

func (r Report) json(w io.Writer) error {
	ds := make(diag.Diagnostics, len(r.Diagnostics))
	for i, d := range r.Diagnostics {
		ds[i] = cleaned(d)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(jsonReport{
		Version: 1, Files: r.Files, Sources: r.Sources,
		Errors: ds.Count(diag.Error), Warnings: ds.Count(diag.Warning), Notes: ds.Count(diag.Info), Diagnostics: ds,
	})
}

// cleaned neutralises the file's own text: JSON escapes controls, but not marks that turn the direction of writing.
func cleaned(d diag.Diagnostic) diag.Diagnostic {
	d.File, d.Message, d.Suggest = diag.Clean(d.File), diag.Clean(d.Message), diag.Clean(d.Suggest)
	d.Snippet = diag.Clean(d.Snippet)
	return d
}

// github writes workflow commands. Its reader takes a line for a command, so every value is escaped as it asks.
func (r Report) github(w io.Writer) error {
	for _, d := range r.Diagnostics {
		level := map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Info: "notice"}[d.Severity]
		props := []string{"file=" + property(d.File)}
		if d.Line > 0 {
			props = append(props, fmt.Sprintf("line=%d", d.Line), fmt.Sprintf("col=%d", max(d.Col, 1)))
		}
		if d.EndLine == d.Line && d.EndCol > d.Col {
			props = append(props, fmt.Sprintf("endLine=%d", d.EndLine), fmt.Sprintf("endColumn=%d", d.EndCol))
		}
		props = append(props, "title="+property("query-lint "+d.Code))
		msg := diag.Clean(d.Message)
		if d.Suggest != "" {
			msg += "\n" + diag.Clean(d.Suggest)
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(props, ","), data(msg)); err != nil {
			return err
		}
	}
	return nil
}

func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(diag.Clean(s)))
}
