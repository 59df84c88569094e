package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/conformance/live"
	"github.com/fullsend-ai/discovery/conformance/simulated"
	files "github.com/fullsend-ai/discovery/examples/yamladapter/stage"
	sim "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// conformanceOptions are the flags of the command.
type conformanceOptions struct {
	adapter, stage, pattern, format string
	url, tokenEnv                   string
	parallel                        int
	list, compare                   bool
}

func newConformanceCmd(e *env) *cobra.Command {
	o := conformanceOptions{adapter: "forgejo", stage: "sim", format: "text"}
	c := &cobra.Command{
		Use:   "conformance",
		Short: "Try an adapter: does it lose, invent or misattribute anything?",
		Long: "Plays the conformance suite's cases over the real polling cycle and an adapter.\n" +
			"Exit 0: nothing failed. Exit 3: a case failed, or a core case was not played.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.format != "text" && o.format != "json" {
				return exit{poll.ExitUsage, fmt.Errorf("--format %q: use text or json", o.format)}
			}
			if o.list {
				return listCases(e.out, o.pattern)
			}
			if o.compare {
				return compareServers(c.Context(), e, o)
			}
			return runConformance(c.Context(), e, o)
		},
	}
	c.Flags().StringVar(&o.adapter, "adapter", o.adapter, "which adapter: forgejo, github or yaml (the example)")
	c.Flags().StringVar(&o.stage, "stage", o.stage, "which world: sim (also sim:gitea-1.24, sim:gitea-1.27, sim:forgejo), or gitea for a live server that may be filled and thrown away")
	c.Flags().StringVar(&o.url, "url", "", "address of the live server")
	c.Flags().StringVar(&o.tokenEnv, "admin-token-env", "FULLSEND_ADMIN_TOKEN", "environment variable with the token of the live server's administrator")
	c.Flags().IntVar(&o.parallel, "parallel", 1, "how many cases are played at once")
	c.Flags().StringVar(&o.pattern, "case", "", "only cases that match a pattern, such as faults or 'walks/*'")
	c.Flags().StringVar(&o.format, "format", o.format, "text, or json for the report")
	c.Flags().BoolVar(&o.compare, "compare", false, "play one story on the live server and on the simulated one and print what they answer otherwise")
	c.Flags().BoolVar(&o.list, "list", false, "list the cases and what each is there for")
	return c
}

func runConformance(ctx context.Context, e *env, o conformanceOptions) error {
	tg, err := conformanceTarget(e, o)
	if err != nil {
		return exit{poll.ExitUsage, err}
	}
	tg.Match, tg.Version, tg.Parallel = o.pattern, version, o.parallel
	start := time.Now()
	res := conformance.Report(ctx, tg)
	res.Stage = o.stage
	if o.format == "json" {
		err = res.WriteJSON(e.out)
	} else {
		err = res.WriteText(e.out)
	}
	if err != nil {
		return exit{poll.ExitError, fmt.Errorf("write the report: %w", err)}
	}
	e.logger().Debug("conformance", "took", time.Since(start).Round(time.Millisecond))
	if res.Core == conformance.NotConformant || res.Extended == conformance.NotConformant {
		return exit{poll.ExitIncomplete, nil}
	}
	return nil
}

// conformanceTarget is the adapter over the stage that the flags name.
func conformanceTarget(e *env, o conformanceOptions) (conformance.Target, error) {
	switch {
	case o.adapter == "yaml" && o.stage == "sim":
		return files.Target(), nil
	case o.adapter == "github" && o.stage == "sim":
		return simulated.Target(simulated.GitHub()), nil
	case o.adapter != "forgejo" && o.stage == "sim":
		return conformance.Target{}, fmt.Errorf("--adapter %q: this build has forgejo, github and yaml", o.adapter)
	case o.adapter != "forgejo":
		return conformance.Target{}, fmt.Errorf("--stage %q: adapter %s has the stage sim", o.stage, o.adapter)
	case o.stage == "gitea":
		s, err := liveServer(e, o)
		return live.Target(s), err
	}
	flavours := map[string]sim.Flavour{"sim": sim.Gitea127}
	for _, f := range []sim.Flavour{sim.Gitea124, sim.Gitea127, sim.Forgejo} {
		flavours["sim:"+string(f)] = f
	}
	f, ok := flavours[o.stage]
	if !ok {
		return conformance.Target{}, fmt.Errorf("--stage %q: use sim, sim:gitea-1.24, sim:gitea-1.27, sim:forgejo or gitea", o.stage)
	}
	return simulated.Target(simulated.Forgejo(f)), nil
}

func liveServer(e *env, o conformanceOptions) (live.Server, error) {
	token, ok := e.getenv(o.tokenEnv)
	if o.url == "" || !ok || token == "" {
		return live.Server{}, fmt.Errorf("a live server needs --url and %s, the token of an administrator of a server that may be thrown away", o.tokenEnv)
	}
	return live.Server{URL: o.url, Token: strings.TrimSpace(token)}, nil
}

// compareServers prints every kind of difference between the live server and the simulated one.
func compareServers(ctx context.Context, e *env, o conformanceOptions) error {
	s, err := liveServer(e, o)
	if err != nil {
		return exit{poll.ExitUsage, err}
	}
	diffs, routes, err := live.Compare(ctx, s)
	if err != nil {
		return exit{poll.ExitError, err}
	}
	for _, d := range diffs {
		fmt.Fprintln(e.out, d)
	}
	fmt.Fprintf(e.out, "%d routes asked, %d differences\n", len(routes), len(diffs))
	if len(diffs) > 0 {
		return exit{poll.ExitIncomplete, nil}
	}
	return nil
}

// listCases prints one line a case.
func listCases(out io.Writer, pattern string) error {
	cs, err := conformance.Cases()
	if err != nil {
		return exit{poll.ExitError, err}
	}
	if cs, err = conformance.Pick(cs, pattern); err != nil {
		return exit{poll.ExitUsage, err}
	}
	t := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for _, c := range cs {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Name, c.Profile, strings.Join(c.Clauses, " "), c.Title)
	}
	if err := t.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
		return exit{poll.ExitError, err}
	}
	return nil
}
