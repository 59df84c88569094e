package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

func newPollPlanCmd(e *env, f *pollFlags) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show the one search of every scope, what it leaves to the local check and why, and what it costs",
		Example: `  fullsend poll plan
  fullsend poll plan --json | jq '.scopes[].searches'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var p plans
			ok, err := f.ask(c.Context(), opPlan, asked{Dir: absolute(f.dir)}, &p)
			if !ok {
				return runPlan(c.Context(), e, f, asJSON)
			}
			if werr := p.print(e, asJSON); werr != nil {
				return werr
			}
			if asJSON && p.View == nil && err == nil {
				return exit{poll.ExitError, errors.New("the poller that holds the ledger is of a version that gives no plan as JSON")}
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON of schema plan/v1")
	return c
}

// print shows what a poller answered.
func (p *plans) print(e *env, asJSON bool) error {
	if !asJSON {
		_, err := io.WriteString(e.out, p.Text)
		return err
	}
	if _, err := io.WriteString(e.err, p.Log); err != nil || p.View == nil {
		return err
	}
	return encodePlan(e.out, p.View)
}

func runPlan(ctx context.Context, e *env, f *pollFlags, asJSON bool) error {
	views, err := compilePlans(ctx, e, f)
	if views == nil {
		return err
	}
	if !asJSON {
		printPlans(e.out, views)
	} else if werr := encodePlan(e.out, viewOf(views)); werr != nil {
		return werr
	}
	return err
}

// compilePlans plans what the folder says. The error may be an exit code beside the plans; without plans nothing could
// be loaded.
func compilePlans(ctx context.Context, e *env, f *pollFlags) ([]poll.PlanView, error) {
	s, err := f.load(e)
	if err != nil {
		return nil, err
	}
	views := poll.New(poll.Options{Targets: s.Targets, Log: e.logger()}).Plans(ctx)
	read, refused := 0, s.Diagnostics.Failed()
	for i := range views {
		if views[i].Err == nil {
			read++
		}
		refused = refused || views[i].Err != nil || len(views[i].Refused) > 0
	}
	switch {
	case read == 0 && len(views) > 0:
		return views, exit{code: poll.ExitError}
	case refused:
		return views, exit{code: poll.ExitIncomplete}
	}
	return views, nil
}

func printPlans(w io.Writer, views []poll.PlanView) {
	for i := range views {
		printPlan(w, &views[i])
	}
}

func printPlan(w io.Writer, p *poll.PlanView) {
	fmt.Fprintf(w, "%s %s (%s)\n", diag.Clean(p.Container), p.Kind, p.Driver)
	if p.Err != nil {
		fmt.Fprintf(w, "  cannot be planned: %s\n\n", diag.Clean(p.Err.Error()))
		return
	}
	fmt.Fprintf(w, "  plan %s for %d sources of %d harnesses\n", p.Hash, p.Sources, p.Harnesses)
	for _, s := range p.Searches {
		fmt.Fprintf(w, "  %-8s %s\n", s.Walk, diag.Clean(s.Text))
	}
	printWeakened(w, p.Weakened)
	if len(p.Unanchored) > 0 {
		fmt.Fprintf(w, "  evaluated for every entity, since no single test is necessary: %s\n", diag.Clean(strings.Join(p.Unanchored, ", ")))
	}
	for _, c := range p.Cost {
		fmt.Fprintf(w, "  cost, %s\n", diag.Clean(c))
	}
	for _, r := range p.Refused {
		fmt.Fprintf(w, "  REFUSED %s: %s\n", diag.Clean(r.Source), diag.Clean(r.Why))
	}
	for _, x := range p.Warnings {
		fmt.Fprintf(w, "  note: %s\n", diag.Clean(x))
	}
	fmt.Fprintln(w)
}

// printWeakened shows what the search leaves to the local check: each test once, under its reason, with the sources that
// have it.
func printWeakened(w io.Writer, ws []query.Weakening) {
	sources := map[string]map[string][]string{} // reason, test, sources
	var reasons []string
	tests := map[string][]string{}
	for _, x := range ws {
		text := leafText(&x)
		if text == "" {
			text = "everything"
		}
		if sources[x.Why] == nil {
			sources[x.Why] = map[string][]string{}
			reasons = append(reasons, x.Why)
		}
		if sources[x.Why][text] == nil {
			tests[x.Why] = append(tests[x.Why], text)
		}
		sources[x.Why][text] = append(sources[x.Why][text], x.Source)
	}
	if len(reasons) > 0 {
		fmt.Fprintln(w, "  left to the local check:")
	}
	for _, why := range reasons {
		fmt.Fprintf(w, "    %s\n", diag.Clean(why))
		for _, t := range tests[why] {
			fmt.Fprintf(w, "      %s (%s)\n", diag.Clean(t), diag.Clean(some(sources[why][t])))
		}
	}
}

// some names the first few of many.
func some(names []string) string {
	const shown = 4
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
