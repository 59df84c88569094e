package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/fullsend-ai/discovery/internal/demo"
	"github.com/fullsend-ai/discovery/internal/poll"
)

func newDemoCmd(e *env) *cobra.Command {
	format, entities, seed := "text", 2000, uint64(1)
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole path on a simulated forge: six harnesses, a world that changes, nothing missed",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return exit{poll.ExitUsage, fmt.Errorf("--format %q: use text or json", format)}
			}
			if entities < 1 {
				return exit{poll.ExitUsage, fmt.Errorf("--entities %d: at least one is needed", entities)}
			}
			log := slog.New(slog.NewTextHandler(io.Discard, nil))
			if e.verbose {
				log = e.logger()
			}
			_, err := demo.Run(c.Context(), demo.Options{Entities: entities, Seed: seed, Out: e.out, JSON: format == "json", Log: log})
			if errors.Is(err, demo.ErrDiffers) {
				return exit{poll.ExitIncomplete, err}
			}
			if err != nil {
				return exit{poll.ExitError, err}
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", format, "text, or json for one machine-readable last line")
	c.Flags().IntVar(&entities, "entities", entities, "how many issues and pull requests the simulated forge holds")
	c.Flags().Uint64Var(&seed, "seed", seed, "which world")
	return c
}
