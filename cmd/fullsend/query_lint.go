package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/lint"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/setup"
)

func newQueryLintCmd(e *env) *cobra.Command {
	var (
		dir              string
		style            = lint.Style{Version: version}
		list, fix, quiet bool
		online           bool
	)
	c := &cobra.Command{
		Use:   "query-lint [PATH...]",
		Short: "Check harness files, their source queries and config.yaml",
		Long: `Check harness files, their source queries and config.yaml.

PATH is a .fullsend folder, a repository that has one, a folder of harness files, a single file, or - for a harness on
standard input. The exit code is 0 when nothing is refused, 1 when something is, 2 when the command was called wrongly.`,
		Example: `  fullsend query-lint
  fullsend query-lint .fullsend/harness/triage.yaml --notes
  fullsend query-lint --format sarif > lint.sarif`,
		RunE: func(c *cobra.Command, paths []string) error {
			if list {
				return listRules(e)
			}
			if fix && slices.Contains(paths, "-") {
				return exit{poll.ExitUsage, errors.New("--fix cannot change standard input")}
			}
			style.Colour = style.Format == "text" && lintColour(e)
			o := lint.Options{Paths: paths, Dir: dir, Stdin: e.in, Registry: setup.Registry()}
			if online {
				o.Open = setup.Opener(setup.Options{Getenv: e.getenv, HTTP: setup.Client(), Now: time.Now, Registry: o.Registry})
			}
			rep, err := lint.Run(c.Context(), o)
			if err != nil {
				return exit{poll.ExitUsage, err}
			}
			if fix {
				n, err := rep.Fix()
				if n > 0 {
					fmt.Fprintf(e.err, "fullsend: places changed: %d\n", n)
				}
				if err != nil {
					return exit{poll.ExitError, err}
				}
				if n > 0 {
					if rep, err = lint.Run(c.Context(), o); err != nil {
						return exit{poll.ExitUsage, err}
					}
				}
			}
			if !quiet || rep.Exit() != 0 {
				if err := rep.Write(e.out, style); err != nil {
					return err
				}
			}
			if code := rep.Exit(); code != 0 {
				return exit{code: code}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "fullsend-dir", ".fullsend", "the folder that holds config.yaml and harness/")
	f.StringVar(&style.Format, "format", "text", "text, json, sarif or github")
	f.BoolVar(&style.Notes, "notes", false, "show notes too: what queries cost")
	f.BoolVar(&list, "list", false, "list every diagnostic and end")
	f.BoolVar(&fix, "fix", false, "make the changes that are safe")
	f.BoolVar(&online, "online", false, "ask the providers too: names that do not exist or differ, tokens that may not read roles")
	f.BoolVarP(&quiet, "quiet", "q", false, "print nothing when nothing is refused")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(lint.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func listRules(e *env) error {
	for _, r := range lint.Rules() {
		if _, err := fmt.Fprintf(e.out, "%s  %-7s  %s\n", r.Code, r.Severity, diag.Clean(r.Title)); err != nil {
			return err
		}
	}
	return nil
}

// lintColour: only a terminal gets colours, and not when its user asked for none (https://no-color.org).
func lintColour(e *env) bool {
	if v, ok := e.getenv("NO_COLOR"); ok && v != "" {
		return false
	}
	f, ok := e.outFile()
	return ok && term.IsTerminal(int(f.Fd()))
}
