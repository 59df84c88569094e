package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
)

func newSimCmd(e *env) *cobra.Command {
	sim := &cobra.Command{
		Use:   "sim",
		Short: "The simulated forge, for trying things out without credentials",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	sim.AddCommand(newSimServeCmd(e))
	return sim
}

// simFlags say which world is served.
type simFlags struct {
	listen, flavour, script string
	entities                int
	seed                    uint64
}

func newSimServeCmd(e *env) *cobra.Command {
	f := &simFlags{}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a simulated Forgejo or Gitea on the loopback interface until interrupted",
		Example: `  fullsend sim serve --listen 127.0.0.1:3000 &
  FULLSEND_FORGE_TOKEN=` + forgesim.AdminToken + ` fullsend poll --fullsend-dir my/.fullsend`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serveSim(c.Context(), e, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:0", "address; port 0 takes a free one")
	fl.StringVar(&f.flavour, "flavour", string(forgejo.Gitea124), "gitea-1.24, gitea-1.27 or forgejo")
	fl.IntVar(&f.entities, "entities", 2000, "how many issues and pull requests it holds")
	fl.Uint64Var(&f.seed, "seed", 1, "which world")
	fl.StringVar(&f.script, "script", "", "a script that changes the world before it is served, one verb a line")
	return c
}

func serveSim(ctx context.Context, e *env, f *simFlags) error {
	flavour := forgejo.Flavour(f.flavour)
	if flavour != forgejo.Gitea124 && flavour != forgejo.Gitea127 && flavour != forgejo.Forgejo {
		return exit{poll.ExitUsage, fmt.Errorf("--flavour %q: use %s, %s or %s", f.flavour, forgejo.Gitea124, forgejo.Gitea127, forgejo.Forgejo)}
	}
	w := forgesim.New(forgesim.Options{Profile: flavour.Profile()})
	if err := w.Seed(f.entities, f.seed); err != nil {
		return exit{poll.ExitError, err}
	}
	if f.script != "" {
		if err := runScript(ctx, w, f.script); err != nil {
			return exit{poll.ExitError, err}
		}
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return exit{poll.ExitError, fmt.Errorf("listen: %w", err)}
	}
	srv := &http.Server{Handler: forgejo.New(w, forgejo.Options{Flavour: flavour}), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(e.out, "serving %s with %d entities in %s at http://%s\ntokens: %s (may read roles), %s (may not), %s (a stranger)\n",
		flavour, f.entities, forgesim.SeedRepo, l.Addr(), forgesim.AdminToken, forgesim.WriteToken, forgesim.StrangerToken)
	stopped := context.AfterFunc(ctx, func() { srv.Close() })
	defer stopped()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return exit{poll.ExitError, err}
	}
	return nil
}

func runScript(ctx context.Context, w *forgesim.World, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := w.Run(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
