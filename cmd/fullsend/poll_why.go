package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
)

func newPollWhyCmd(e *env, f *pollFlags) *cobra.Command {
	var q poll.Question
	asJSON := false
	c := &cobra.Command{
		Use:   "why ENTITY",
		Short: "Show why an entity was picked up, or not: each literal, value, writer, role, verdict, and the next look",
		Long: `Read an entity live, with every fact that the harnesses' queries and triggers name, and show for each harness how its
verdict comes about: every test with the value that it saw, every element with its writer and why it counts or not, the
trigger, what the ledger remembers, when it is looked at next, and whether its last change is covered. Nothing is changed.

ENTITY is a URL, owner/name#7, #7, PROJ-7, or a canonical identity. When several entities fit, they are listed.

Exit codes: 0 answered; 1 no such entity, or it could not be read at all; 2 usage, or several entities fit; 3 something
could not be read or decided, and is named.`,
		Example: `  fullsend poll why acme/widgets#7
  fullsend poll why https://forge.example/acme/widgets/issues/7 --harness triage --json
  fullsend poll why '#7' --offline`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q.Ref = strings.TrimSpace(args[0])
			return runWhy(c.Context(), e, f, q, asJSON)
		},
	}
	fl := c.Flags()
	fl.StringVar(&q.Harness, "harness", "", "only this harness")
	fl.BoolVar(&q.Offline, "offline", false, "ask the ledger alone: the last decision's evidence")
	fl.BoolVar(&asJSON, "json", false, "print JSON of schema why/v1")
	return c
}

func runWhy(ctx context.Context, e *env, f *pollFlags, q poll.Question, asJSON bool) error {
	var w *poll.Why
	err := f.reading(ctx, opWhy, asked{Dir: absolute(f.dir), Question: q}, &w, func() (err error) {
		w, err = f.whyHere(ctx, e, q)
		return err
	})
	if w == nil {
		return ledgerOr(err)
	}
	if asJSON {
		enc := json.NewEncoder(e.out)
		enc.SetIndent("", "  ")
		if werr := enc.Encode(w); werr != nil {
			return werr
		}
	} else if werr := printWhy(e.out, w); werr != nil {
		return werr
	}
	return err
}

// ledgerOr gives an error of the ledger its exit code.
func ledgerOr(err error) error {
	var x exit
	if errors.As(err, &x) {
		return err
	}
	return ledgerExit(err)
}

// whyHere answers without a poller.
func (f *pollFlags) whyHere(ctx context.Context, e *env, q poll.Question) (*poll.Why, error) {
	opt := poll.Options{Log: e.logger()}
	if !q.Offline {
		s, err := f.load(e)
		if err != nil {
			return nil, err
		}
		opt.Targets = s.Targets
	}
	led, closeLedger, err := f.readOnly(ctx)
	switch {
	case err == nil:
		defer closeLedger() //nolint:errcheck // it was read only
		opt.Ledger = led
	case errors.Is(err, fs.ErrNotExist):
		e.logger().Warn("there is no ledger yet: nothing is known but what the provider says now", "state", f.state)
	default:
		return nil, err
	}
	return answered(poll.New(opt).Why(ctx, q, time.Now()))
}

// answered gives an answer, or a question that has none, its exit code.
func answered(w *poll.Why, err error) (*poll.Why, error) {
	switch {
	case errors.Is(err, poll.ErrAmbiguous), errors.Is(err, poll.ErrNoHarness):
		return nil, exit{poll.ExitUsage, err}
	case errors.Is(err, coverage.ErrHeld):
		return nil, err
	case err != nil:
		return nil, exit{poll.ExitError, err}
	}
	for i := range w.Scopes {
		if w.Scopes[i].Problem != "" && w.Scopes[i].State != "gone" {
			return w, exit{code: poll.ExitIncomplete}
		}
	}
	if len(w.Problems) > 0 {
		return w, exit{code: poll.ExitIncomplete}
	}
	return w, nil
}

func printWhy(w io.Writer, y *poll.Why) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", diag.Clean(orElse(y.Entity.Key, y.Entity.Identity)), diag.Clean(y.Entity.URL))
	fmt.Fprintf(&b, "identity %s\n", diag.Clean(y.Entity.Identity))
	if y.Offline {
		b.WriteString("from the ledger alone: nothing was read\n")
	}
	for _, p := range y.Problems {
		fmt.Fprintf(&b, "not asked: %s\n", diag.Clean(p))
	}
	for i := range y.Scopes {
		whyScope(&b, &y.Scopes[i])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func whyScope(b *strings.Builder, s *poll.WhyScope) {
	name := s.Scope
	if s.Container != "" {
		name = fmt.Sprintf("%s (driver %s), %s", s.Container, s.Driver, s.Scope)
	}
	fmt.Fprintf(b, "\nscope %s\n  %s, read at %s, last changed %s\n", diag.Clean(name), s.State, stamp(s.ReadAt), stamp(s.Updated))
	if s.Problem != "" {
		fmt.Fprintf(b, "  %s\n", diag.Clean(s.Problem))
	}
	whyCoverage(b, &s.Coverage)
	for i := range s.Harnesses {
		whyHarness(b, &s.Harnesses[i])
	}
	if len(s.Harnesses) == 0 {
		b.WriteString("\n  no harness has matched it, or has left it undecided\n")
	}
	if len(s.Actors) > 0 {
		b.WriteString("\n  accounts\n")
	}
	for _, a := range s.Actors {
		who := orElse(a.Login, "id:"+a.Actor)
		role := orElse(a.Role, "no verified role")
		fmt.Fprintf(b, "    %s (id:%s): %s%s\n", diag.Clean(who), diag.Clean(a.Actor), role, note(orElse(a.Why, a.Source)))
	}
}

func note(s string) string {
	if s == "" {
		return ""
	}
	return ", " + diag.Clean(s)
}

func whyCoverage(b *strings.Builder, c *poll.WhyCoverage) {
	if c.Known {
		fmt.Fprintf(b, "  known to the ledger, as read at %s\n", stamp(c.ReadAt))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(b, "  %s\n", diag.Clean(n))
	}
	for _, x := range c.Walks {
		if x.Active {
			fmt.Fprintf(b, "  %s covers every change before %s, %d gaps\n", x.Name, stamp(x.Provisional), len(x.Gaps))
		}
	}
	for _, a := range c.Again {
		fmt.Fprintf(b, "  next look at %s (%s since %s, %d tries)%s\n", stamp(a.At), a.Why, stamp(a.Since), a.Tries, note(a.Cause))
	}
	if len(c.Again) == 0 && c.Known && !c.Next.IsZero() {
		fmt.Fprintf(b, "  next look when it changes, or with the sweep at %s\n", stamp(c.Next))
	}
	if c.Cycle != nil {
		fmt.Fprintf(b, "  last cycle of %s ended %s\n", c.Cycle.Driver, stamp(c.Cycle.Ended))
	}
}

func whyHarness(b *strings.Builder, h *poll.WhyHarness) {
	fmt.Fprintf(b, "\n  %s: %s", h.Harness, h.Verdict)
	if h.Admission != "" {
		fmt.Fprintf(b, "  (role %s: what counts was written by %s or above)", orElse(h.Role, "none"), h.Admission)
	}
	b.WriteString("\n")
	for _, r := range h.Refused {
		fmt.Fprintf(b, "    refused: %s\n", diag.Clean(r))
	}
	for _, q := range h.Queries {
		for line := range strings.Lines(q.String()) {
			b.WriteString("    " + line)
		}
	}
	if t := h.Trigger; t != nil {
		if t.Expression == "" {
			fmt.Fprintf(b, "    %s\n", t.Why)
		} else {
			fmt.Fprintf(b, "    trigger %s: %s%s\n", diag.Clean(t.Expression), t.Verdict, note(t.Why))
		}
	}
	if p := h.Pair; p != nil {
		state := "not in the match"
		switch {
		case p.Undecided:
			state = "undecided"
		case p.In:
			state = "in the match"
		}
		fmt.Fprintf(b, "    ledger: %s, entered %d times, %d decisions answered\n", state, p.Entries, len(p.Closed))
	}
	if d := h.Delivery; d != nil {
		state := "waits to be handed over"
		switch {
		case d.Dead:
			state = "DEAD letter, tried again at " + stamp(d.NotBefore)
		case !d.Lease.IsZero():
			state = "with the driver until " + stamp(d.Lease)
		case d.Tries > 0:
			state = "tried again at " + stamp(d.NotBefore)
		}
		fmt.Fprintf(b, "    decision %s of %s: %s, %d tries%s\n", d.Decision, stamp(d.Created), state, d.Tries, note(d.Why))
	}
	if len(h.Queries) == 0 && len(h.Last) > 0 {
		whyLast(b, h.Last)
	}
}

// whyLast prints the evidence that the ledger remembers.
func whyLast(b *strings.Builder, raw json.RawMessage) {
	var ev dispatch.Evidence
	if json.Unmarshal(raw, &ev) != nil {
		return
	}
	fmt.Fprintf(b, "    last matched as read at %s, elements needed %s\n", stamp(ev.ReadAt), ev.Admission)
	for _, q := range ev.Queries {
		fmt.Fprintf(b, "    %s\n", diag.Clean(q.Query))
		for _, t := range q.Support {
			fmt.Fprintf(b, "      %s", diag.Clean(t.Test))
			if len(t.Values) > 0 {
				fmt.Fprintf(b, "  [%s]", diag.Clean(strings.Join(t.Values, ", ")))
			}
			b.WriteString("\n")
			for _, el := range t.Elements {
				fmt.Fprintf(b, "        %s by %s (id:%s)\n", diag.Clean(el.Key), diag.Clean(el.Login), diag.Clean(el.Actor))
			}
		}
	}
	for _, a := range ev.Actors {
		fmt.Fprintf(b, "      %s (id:%s): %s%s\n", diag.Clean(a.Login), diag.Clean(a.Actor), orElse(a.Role, "no verified role"), note(orElse(a.Why, a.Source)))
	}
}
