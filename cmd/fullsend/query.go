package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/explore"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/query"
)

func newQueryCmd(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "query",
		Short: "The query language: its fields, what a query asks of a provider, how it judges given facts",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newQueryFieldsCmd(e), newQueryExplainCmd(e), newQueryEvalCmd(e))
	return c
}

// about are the flags that say what a query is about.
type about struct {
	provider, kind, self string
	format               string
}

func (a *about) register(c *cobra.Command, formats []string) {
	f := c.Flags()
	f.StringVar(&a.provider, "provider", "", strings.Join(explore.Providers(), ", "))
	f.StringVar(&a.kind, "kind", "", "work_item or change_proposal")
	f.StringVar(&a.format, "format", formats[0], strings.Join(formats, ", "))
	for name, values := range map[string][]string{"provider": explore.Providers(), "kind": {string(query.WorkItem), string(query.ChangeProposal)}, "format": formats} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// check refuses values that nothing has.
func (a *about) check(formats []string) error {
	for _, x := range []struct {
		flag, value string
		known       []string
	}{
		{"provider", a.provider, explore.Providers()},
		{"kind", a.kind, []string{string(query.WorkItem), string(query.ChangeProposal)}},
		{"format", a.format, formats},
	} {
		if x.value != "" && !slices.Contains(x.known, x.value) {
			return exit{poll.ExitUsage, fmt.Errorf("--%s %q: %s", x.flag, x.value, diag.DidYouMean(x.value, x.known))}
		}
	}
	return nil
}

func newQueryFieldsCmd(e *env) *cobra.Command {
	a := &about{}
	c := &cobra.Command{
		Use:     "fields",
		Short:   "Print the fields that queries may test, with type, emptiness and what notices a change",
		Example: "  fullsend query fields --provider forgejo --kind work_item",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.check(explore.FieldFormats()); err != nil {
				return err
			}
			rows := explore.Fields(setup.Registry(), explore.Filter{Provider: a.provider, Kind: query.Kind(a.kind)})
			return explore.WriteFields(e.out, rows, a.format)
		},
	}
	a.register(c, explore.FieldFormats())
	return c
}

var plainFormats = []string{"text", "json"}

func newQueryExplainCmd(e *env) *cobra.Command {
	a := &about{}
	every := 24 * time.Hour
	c := &cobra.Command{
		Use:   "explain QUERY --provider PROVIDER",
		Short: "Show a query's canonical form, its fields, and what the provider's search can and cannot do for it",
		Long: `Show a query's canonical form, its fields and what notices a change of each, its anchors, and the search that the
provider would be asked, for change walks and for sweeps: each test with whether it is filtered there, and why not.

The exit code is 0, 1 when the query is refused, 2 when the command was called wrongly.`,
		Example: `  fullsend query explain --provider forgejo 'v1: state = open and label = "bug"'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.check(plainFormats); err != nil {
				return err
			}
			if a.provider == "" {
				return exit{poll.ExitUsage, fmt.Errorf("--provider is missing: use one of %s", strings.Join(explore.Providers(), ", "))}
			}
			x, ds, err := explore.Explain(a.question(args[0]), time.Now(), every)
			if perr := a.complain(e, ds, err); perr != nil {
				return perr
			}
			if a.format == "json" {
				return writeJSON(e.out, x)
			}
			return x.Write(e.out)
		},
	}
	a.register(c, plainFormats)
	c.Flags().StringVar(&a.self, "self", "", "the stable id of the account that self stands for")
	c.Flags().DurationVar(&every, "reconcile-every", every, "how often a complete sweep is made: a test over now is filtered for that long")
	return c
}

func (a *about) question(text string) explore.Question {
	return explore.Question{Query: text, Provider: a.provider, Kind: query.Kind(a.kind), Self: strings.TrimPrefix(a.self, "id:"), Registry: setup.Registry()}
}

// complain prints diagnostics and turns a refusal into exit code 1.
func (a *about) complain(e *env, ds diag.Diagnostics, err error) error {
	if perr := (diag.TextPrinter{Colour: e.colour()}).PrintAll(e.err, ds); perr != nil {
		return perr
	}
	if errors.Is(err, explore.ErrRefused) {
		return exit{code: poll.ExitError}
	}
	return err
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func newQueryEvalCmd(e *env) *cobra.Command {
	a := &about{}
	var facts, now string
	c := &cobra.Command{
		Use:   "eval QUERY --facts FILE",
		Short: "Judge the facts of a file by a query, with a trace of every step",
		Long: `Judge the facts of a JSON file (- for standard input) by a query: the verdict, until when it holds, what would decide
it when it is unknown, what supports it when it is true, and a trace of every step. docs/facts.md has the format.

The exit code is 0 whatever the verdict, 1 when the query is refused or the file cannot be read, 2 when the command was
called wrongly.`,
		Example: `  echo '{"facts": {"state": "open", "label": [{"name": "bug", "by": "7:alice"}]}}' |
    fullsend query eval --provider forgejo --facts - 'v1: state = open and label = "bug"'`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.check(plainFormats); err != nil {
				return err
			}
			if facts == "" {
				return exit{poll.ExitUsage, errors.New("--facts is missing: name a JSON file, or - for standard input")}
			}
			return a.eval(e, args[0], facts, now)
		},
	}
	a.register(c, plainFormats)
	c.Flags().StringVar(&facts, "facts", "", "JSON file with the facts; - is standard input")
	c.Flags().StringVar(&now, "now", "", "the instant of the evaluation, as 2026-01-31T09:00:00Z (default: the file's now, else the present)")
	c.Flags().StringVar(&a.self, "self", "", "the stable id of the account that self stands for")
	return c
}

func (a *about) eval(e *env, text, facts, now string) error {
	file, err := readFacts(e, facts)
	if err != nil {
		return exit{poll.ExitError, fmt.Errorf("%s: %w", facts, err)}
	}
	a.fill(file)
	if a.provider == "" {
		return exit{poll.ExitUsage, errors.New("neither --provider nor the facts file names a provider")}
	}
	at := file.Now
	if now != "" {
		if at, err = time.Parse(time.RFC3339Nano, now); err != nil {
			return exit{poll.ExitUsage, fmt.Errorf("--now %q: write an instant with a zone, as 2026-01-31T09:00:00Z", now)}
		}
	}
	if at.IsZero() {
		at = time.Now()
	}
	b, ds, err := a.question(text).Bind()
	if perr := a.complain(e, ds, err); perr != nil {
		return perr
	}
	known, err := file.Facts(b.Catalogue())
	if err != nil {
		return exit{poll.ExitError, fmt.Errorf("%s: %w", facts, err)}
	}
	j := explore.Judge(b, known, file.View(), at.UTC())
	if a.format == "json" {
		return writeJSON(e.out, j)
	}
	return j.Write(e.out)
}

// fill takes from the file what no flag says.
func (a *about) fill(f *explore.File) {
	if a.provider == "" {
		a.provider = f.Provider
	}
	if a.kind == "" {
		a.kind = string(f.Kind)
	}
	if a.self == "" {
		a.self = f.Self
	}
}

func readFacts(e *env, name string) (*explore.File, error) {
	if name == "-" {
		return explore.ReadFacts(e.in)
	}
	f, err := os.Open(name)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, err
	}
	defer f.Close()
	return explore.ReadFacts(f)
}
