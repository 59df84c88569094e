package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/diag"
)

// Page is what is drawn.
type Page struct {
	coverage.Snapshot
	Version string
	Holder  *Holder  // nil when nobody holds the ledger
	Drivers []Driver // of a watching poller
}

// Holder is the poller that holds the ledger.
type Holder struct {
	PID     int
	Mode    string
	Started time.Time
	Problem string // why the configuration on disk is not at work
}

// Driver is the schedule of one input driver.
type Driver struct {
	Name          string
	Every         time.Duration
	Next, Running time.Time
}

//go:embed page.html
var page string

// Write writes the page. It loads nothing, runs nothing, and shows what providers sent as text only.
func Write(w io.Writer, p *Page) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"time": stamp, "ago": func(t time.Time) string { return ago(p.At, t) }, "clean": diag.Clean, "short": short,
		"outbox": outbox, "lines": func(s coverage.ScopeSnapshot) *timeline { return draw(&s, p.At) },
		"agenda": func(s coverage.ScopeSnapshot) []reason { return agenda(&s, p.At) }, "bytes": size,
		"retired": retired, "complete": func(c coverage.Cycle) bool { return c.Complete.Equal(c.Ended) },
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("status page: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("status page: %w", err)
	}
	return nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := now.Sub(t); d >= 0 {
		return short(d) + " ago"
	}
	return "in " + short(t.Sub(now))
}

// short is a duration with its two largest units.
func short(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d >= time.Second:
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Millisecond).String()
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

func retired(s coverage.ScopeSnapshot) (n int) {
	for _, x := range s.Sources {
		if !x.Retired.IsZero() {
			n++
		}
	}
	return n
}

// count is one state of the outbox.
type count struct {
	Name, Class, Title string
	N                  int
}

func outbox(o coverage.OutboxSnapshot) []count {
	return []count{
		{"ready", "", "to be handed over next", o.Ready},
		{"waiting", "", "for their next try", o.Waiting},
		{"claimed", "", "with a driver", o.Claimed},
		{"lost", warn(o.Lost), "with a driver, and nothing was heard of them", o.Lost},
		{"held", "", "their source is not in the plan", o.Held},
		{"dead", bad(o.Dead), "tried again slowly", o.Dead},
	}
}

func warn(n int) string { return when(n > 0, "warn") }

func bad(n int) string { return when(n > 0, "bad") }

func when(b bool, s string) string {
	if b {
		return s
	}
	return ""
}

// reason is one row of the agenda.
type reason struct {
	coverage.AgendaSnapshot
	Width int // of its bar, in percent of the longest
	Age   string
}

func agenda(s *coverage.ScopeSnapshot, now time.Time) []reason {
	most := 1
	for _, a := range s.Agenda {
		most = max(most, a.Count)
	}
	var out []reason
	for _, a := range s.Agenda {
		out = append(out, reason{a, max(1, a.Count*100/most), ago(now, a.Oldest)})
	}
	return out
}
