package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/diag"
)

func newPollStatusCmd(e *env, f *pollFlags) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what is covered, what is owed, and what waits to be handed over",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			snap, err := snapshot(c.Context(), f)
			if err != nil {
				return ledgerExit(err)
			}
			if asJSON {
				enc := json.NewEncoder(e.out)
				enc.SetIndent("", "  ")
				return enc.Encode(snap)
			}
			return printStatus(e.out, &snap)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the whole snapshot as JSON")
	return c
}

// snapshot reads the file without writing to it.
func snapshot(ctx context.Context, f *pollFlags) (coverage.Snapshot, error) {
	store, err := coverage.OpenFile(ctx, f.state, coverage.FileOptions{Wait: f.wait, ReadOnly: true, Version: version})
	if err != nil {
		return coverage.Snapshot{}, err
	}
	defer store.Close()
	l, err := coverage.Open(ctx, store, coverage.Options{})
	if err != nil {
		return coverage.Snapshot{}, err
	}
	return l.Snapshot(ctx, time.Now())
}

func printStatus(w io.Writer, s *coverage.Snapshot) error {
	fmt.Fprintf(w, "ledger of schema %d, %d bytes, at %s\n", s.Schema, s.Size, stamp(s.At))
	for i := range s.Scopes {
		printScope(w, &s.Scopes[i])
	}
	o := &s.Outbox
	_, err := fmt.Fprintf(w, "\noutbox: %d ready, %d waiting, %d claimed, %d lost, %d held, %d dead\n",
		o.Ready, o.Waiting, o.Claimed, o.Lost, o.Held, o.Dead)
	for _, d := range o.Letters {
		fmt.Fprintf(w, "  dead: %s for %s, %d tries: %s\n", diag.Clean(d.Ref.Key), d.Source, d.Tries, diag.Clean(d.Why))
	}
	return err
}

func printScope(w io.Writer, s *coverage.ScopeSnapshot) {
	fmt.Fprintf(w, "\n%s\n  plan %s, %d sources, %d entities, %d members, %d actors looked at\n",
		diag.Clean(s.Scope.Key()), s.Plan, len(s.Sources), s.Entities, s.Members, s.Actors)
	if s.Alarm != nil {
		fmt.Fprintf(w, "  ALARM since %s: %s\n", stamp(s.Alarm.Since), diag.Clean(s.Alarm.Why))
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "  walk\tcovered to\tfinal to\tlag\tgaps\tnote")
	for _, x := range s.Walks {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%d\t%s\n", x.Name, stamp(x.Frontier), stamp(x.Provisional), x.Lag, len(x.Gaps), diag.Clean(x.Why))
	}
	for _, x := range s.Sweeps {
		fmt.Fprintf(t, "  %s\tturn %d\t%s\t\t\t%s\n", x.Name, x.Turn, stamp(x.LastEnd), sweepNote(&x))
	}
	t.Flush()
	for _, a := range s.Agenda {
		fmt.Fprintf(w, "  agenda: %d %s, %d due, oldest since %s, next %s\n", a.Count, a.Why, a.Due, stamp(a.Oldest), stamp(a.Next))
	}
}

func sweepNote(x *coverage.SweepSnapshot) string {
	var notes []string
	if x.Reading != nil {
		notes = append(notes, fmt.Sprintf("reading: %d pages, %d entities", x.Reading.Pages, x.Reading.Entities))
	}
	if x.Owed > 0 {
		notes = append(notes, fmt.Sprintf("%d sources are owed a turn", x.Owed))
	}
	if x.Audit.Missed > 0 {
		notes = append(notes, fmt.Sprintf("%d found that windows had missed", x.Audit.Missed))
	}
	if x.Why != "" {
		notes = append(notes, diag.Clean(x.Why))
	}
	return strings.Join(notes, "; ")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
