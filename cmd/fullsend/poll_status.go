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
	"github.com/fullsend-ai/discovery/internal/poll"
)

func newPollStatusCmd(e *env, f *pollFlags) *cobra.Command {
	asJSON, html := false, ""
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what is covered, what is owed, and what waits to be handed over",
		Args:  cobra.MaximumNArgs(1),
		Example: `  fullsend poll status
  fullsend poll status --json | jq '.scopes[].walks'
  fullsend poll status --html status.html`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if html != "-" {
					return exit{poll.ExitUsage, fmt.Errorf("unexpected argument %q", args[0])}
				}
				html = args[0]
			}
			v, err := f.status(c.Context())
			switch {
			case err != nil:
				return ledgerOr(err)
			case html != "":
				return writeHTML(e, v, html)
			case asJSON:
				enc := json.NewEncoder(e.out)
				enc.SetIndent("", "  ")
				return enc.Encode(v)
			}
			return printStatus(e.out, v)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the whole snapshot as JSON")
	c.Flags().StringVar(&html, "html", "", "write one self-contained page to the file that follows, else to standard output")
	c.Flags().Lookup("html").NoOptDefVal = "-"
	return c
}

// status asks the poller that holds the ledger, or reads the file.
func (f *pollFlags) status(ctx context.Context) (*statusView, error) {
	v := &statusView{}
	err := f.reading(ctx, opStatus, asked{}, v, func() (err error) {
		v.Snapshot, err = snapshot(ctx, f)
		return err
	})
	return v, err
}

// snapshot reads the file without writing to it.
func snapshot(ctx context.Context, f *pollFlags) (coverage.Snapshot, error) {
	l, closeLedger, err := f.readOnly(ctx)
	if err != nil {
		return coverage.Snapshot{}, err
	}
	defer closeLedger() //nolint:errcheck // it was read only
	return l.Snapshot(ctx, time.Now())
}

func printStatus(w io.Writer, s *statusView) error {
	fmt.Fprintf(w, "ledger of schema %d, %d bytes, at %s\n", s.Schema, s.Size, stamp(s.At))
	printPoller(w, s)
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

// printPoller says who polls, and how old the last cycles are.
func printPoller(w io.Writer, s *statusView) {
	if p := s.Poller; p != nil {
		fmt.Fprintf(w, "held by pid %d (%s, %s) since %s\n", p.PID, p.Mode, p.Version, stamp(p.Started))
		if p.Config != "" {
			fmt.Fprintf(w, "CONFIGURATION cannot be used, nothing is handed over: %s\n", diag.Clean(p.Config))
		}
	}
	for _, c := range s.Cycles {
		fmt.Fprintf(w, "driver %s: last cycle ended %s, %s; %d queries evaluated for %d rows", c.Driver, stamp(c.Ended), age(s.At, c.Ended),
			c.Evaluated, c.Scanned)
		if !c.Complete.Equal(c.Ended) {
			fmt.Fprintf(w, "; last complete one %s, %s", stamp(c.Complete), age(s.At, c.Complete))
		}
		if c.Fails > 0 {
			fmt.Fprintf(w, "; FAILED %d times in a row, not before %s", c.Fails, stamp(c.NotBefore))
		}
		fmt.Fprintln(w)
	}
	if s.Poller == nil {
		return
	}
	for _, d := range s.Poller.Drivers {
		if !d.Running.IsZero() {
			fmt.Fprintf(w, "driver %s: a cycle runs since %s\n", d.Name, stamp(d.Running))
		} else {
			fmt.Fprintf(w, "driver %s: next cycle %s, every %s\n", d.Name, stamp(d.Next), d.Every)
		}
	}
}

func age(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return now.Sub(t).Round(time.Second).String() + " ago"
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
		why := a.Why
		if why == coverage.WhyDue {
			why = "wait for an instant"
		}
		fmt.Fprintf(w, "  agenda: %d %s, %d due now, oldest since %s, next %s\n", a.Count, why, a.Due, stamp(a.Oldest), stamp(a.Next))
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
