package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/poll"
)

func newPollStateCmd(e *env, f *pollFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Check, compact, carry away, bring back or reset the ledger",
		Long: `The ledger is a cache of the truth at the provider: losing it costs reads and may repeat candidates, never a match.
None of these commands works on a ledger that a poller holds (exit 75). Exit 1 when the ledger is damaged.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newStateCheckCmd(e, f), newStateCompactCmd(e, f), newStateExportCmd(e, f), newStateImportCmd(e, f), newStateResetCmd(e, f))
	return c
}

func newStateCheckCmd(e *env, f *pollFlags) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "check", Short: "Read every value of the ledger and say what is wrong with it", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.check(c.Context(), e, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func (f *pollFlags) check(ctx context.Context, e *env, asJSON bool) error {
	store, err := coverage.OpenFile(ctx, f.state, coverage.FileOptions{Wait: f.wait, ReadOnly: true, Version: version})
	if err != nil {
		return ledgerExit(err)
	}
	defer store.Close() //nolint:errcheck // it was read only
	r, err := coverage.Check(ctx, store)
	if asJSON {
		enc := json.NewEncoder(e.out)
		enc.SetIndent("", "  ")
		if jerr := enc.Encode(r); jerr != nil {
			return jerr
		}
	} else {
		fmt.Fprintf(e.out, "%s: schema %d, %d scopes, %d entities, %d outbox rows, %d values read\n",
			f.state, r.Schema, r.Scopes, r.Entities, r.Outbox, r.Values)
		for _, p := range r.Problems {
			fmt.Fprintf(e.out, "  %s\n", diag.Clean(p))
		}
		if r.More > 0 {
			fmt.Fprintf(e.out, "  and %d more\n", r.More)
		}
	}
	switch {
	case errors.Is(err, coverage.ErrNewer):
		return ledgerExit(err)
	case err != nil || !r.OK():
		return exit{poll.ExitError, fmt.Errorf("%s: %w: bring back an export with `poll state import`, or begin anew with `poll state reset`", f.state, coverage.ErrDamaged)}
	}
	if !asJSON {
		fmt.Fprintln(e.out, "nothing is wrong")
	}
	return nil
}

func newStateCompactCmd(e *env, f *pollFlags) *cobra.Command {
	return &cobra.Command{
		Use: "compact", Short: "Rewrite the ledger file without its free pages", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			before, after, err := coverage.Compact(c.Context(), f.state)
			if err != nil {
				return ledgerExit(err)
			}
			fmt.Fprintf(e.out, "%s: %d bytes, were %d\n", f.state, after, before)
			return nil
		},
	}
}

func newStateExportCmd(e *env, f *pollFlags) *cobra.Command {
	to := "-"
	c := &cobra.Command{
		Use: "export", Short: "Write the whole ledger as JSON lines", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.export(c.Context(), e, to) },
	}
	c.Flags().StringVar(&to, "out", "-", "the file, which must not be there yet; - is standard output")
	return c
}

func (f *pollFlags) export(ctx context.Context, e *env, to string) (err error) {
	store, err := coverage.OpenFile(ctx, f.state, coverage.FileOptions{Wait: f.wait, ReadOnly: true, Version: version})
	if err != nil {
		return ledgerExit(err)
	}
	defer store.Close() //nolint:errcheck // it was read only
	if to == "-" {
		return exitWith(coverage.Export(ctx, store, e.out))
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return exit{poll.ExitError, err}
	}
	err = coverage.Export(ctx, store, out)
	err = errors.Join(err, out.Sync(), out.Close())
	if err != nil {
		os.Remove(to)
	}
	return exitWith(err)
}

func exitWith(err error) error {
	if err == nil {
		return nil
	}
	return exit{poll.ExitError, err}
}

func newStateImportCmd(e *env, f *pollFlags) *cobra.Command {
	from, yes := "-", false
	c := &cobra.Command{
		Use: "import", Short: "Bring back what export wrote; a ledger that is there is moved aside", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.bringBack(c.Context(), e, from, yes) },
	}
	c.Flags().StringVar(&from, "in", "-", "the file; - is standard input")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask before a ledger that is there is moved aside")
	return c
}

// bringBack reads the export into a new file first: a ledger that is there stays until the export is proven whole.
func (f *pollFlags) bringBack(ctx context.Context, e *env, from string, yes bool) error {
	in := e.in
	if from != "-" {
		file, err := os.Open(from)
		if err != nil {
			return exit{poll.ExitError, err}
		}
		defer file.Close()
		in = file
	}
	there, err := f.free(ctx)
	if err != nil {
		return err
	}
	if there {
		if err := e.confirm(yes, fmt.Sprintf("move %s aside and replace it by the export?", f.state)); err != nil {
			return err
		}
	}
	tmp := f.state + ".import"
	os.Remove(tmp) // of an import that was cut off
	if err := importInto(ctx, tmp, in); err != nil {
		os.Remove(tmp)
		return ledgerExit(err)
	}
	if there {
		aside, err := f.aside()
		if err != nil {
			os.Remove(tmp)
			return err
		}
		fmt.Fprintf(e.out, "the ledger that was there is %s\n", aside)
	}
	if err := os.Rename(tmp, f.state); err != nil {
		return exit{poll.ExitError, err}
	}
	fmt.Fprintf(e.out, "%s is there again; what happened since the export is read again, and may be handed over again\n", f.state)
	return nil
}

func importInto(ctx context.Context, path string, in io.Reader) error {
	store, err := coverage.OpenFile(ctx, path, coverage.FileOptions{Version: version})
	if err != nil {
		return err
	}
	err = coverage.Import(ctx, store, in)
	if err == nil {
		var r coverage.Report
		if r, err = coverage.Check(ctx, store); err == nil && !r.OK() {
			err = fmt.Errorf("%w: the export: %s", coverage.ErrDamaged, r.Problems[0])
		}
	}
	return errors.Join(err, store.Close())
}

// free makes sure that nobody holds the ledger, and reports whether there is one. A damaged one is there, too.
func (f *pollFlags) free(ctx context.Context) (there bool, err error) {
	if _, err := os.Stat(f.state); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	store, err := coverage.OpenFile(ctx, f.state, coverage.FileOptions{Wait: f.wait, Version: version})
	switch {
	case err == nil:
		return true, store.Close()
	case errors.Is(err, coverage.ErrDamaged):
		return true, nil
	}
	return true, ledgerExit(err)
}

// aside moves the ledger file away.
func (f *pollFlags) aside() (string, error) {
	to := f.state + "." + time.Now().UTC().Format("20060102T150405.000Z")
	if err := os.Rename(f.state, to); err != nil {
		return "", exit{poll.ExitError, err}
	}
	return to, nil
}

func newStateResetCmd(e *env, f *pollFlags) *cobra.Command {
	sc, yes := "", false
	c := &cobra.Command{
		Use: "reset", Short: "Begin anew: with everything, or with one scope", Args: cobra.NoArgs,
		Long: `Forget what was covered and decided. The next cycle reads everything again, and may hand over again what was answered.
The whole ledger is moved aside, not deleted; a damaged one can be reset, too. With --scope only that scope is forgotten.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if sc != "" {
				return f.resetScope(c.Context(), e, sc, yes)
			}
			return f.reset(c.Context(), e, yes)
		},
	}
	c.Flags().StringVar(&sc, "scope", "", "only this scope: as status shows it, or a part of that which fits no other")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (f *pollFlags) reset(ctx context.Context, e *env, yes bool) error {
	there, err := f.free(ctx)
	if err != nil {
		return err
	}
	if !there {
		return exit{poll.ExitError, fmt.Errorf("%s: there is no ledger", f.state)}
	}
	if err := e.confirm(yes, fmt.Sprintf("move %s aside and begin anew?", f.state)); err != nil {
		return err
	}
	aside, err := f.aside()
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "the ledger is %s now; the next cycle reads everything, and may hand over again what was answered\n", aside)
	return nil
}

func (f *pollFlags) resetScope(ctx context.Context, e *env, text string, yes bool) error {
	if _, err := os.Stat(f.state); err != nil {
		return exit{poll.ExitError, err}
	}
	led, closeLedger, err := f.ledger(ctx, e)
	if err != nil {
		return err
	}
	defer closeLedger() //nolint:errcheck // the reset was synced by itself
	snap, err := led.Snapshot(ctx, time.Now())
	if err != nil {
		return ledgerExit(err)
	}
	var fit []coverage.ScopeSnapshot
	for _, s := range snap.Scopes {
		if key := s.Scope.Key(); key == text {
			fit = []coverage.ScopeSnapshot{s}
			break
		} else if strings.Contains(key, text) {
			fit = append(fit, s)
		}
	}
	if len(fit) != 1 {
		var keys []string
		for _, s := range snap.Scopes {
			keys = append(keys, s.Scope.Key())
		}
		return exit{poll.ExitUsage, fmt.Errorf("--scope %q fits %d scopes; give one of: %s", text, len(fit), strings.Join(keys, ", "))}
	}
	sc := fit[0].Scope
	if err := e.confirm(yes, fmt.Sprintf("forget %s with %d entities, %d of them members?", sc.Key(), fit[0].Entities, fit[0].Members)); err != nil {
		return err
	}
	if _, err := led.Reset(ctx, sc); err != nil {
		return ledgerExit(err)
	}
	fmt.Fprintf(e.out, "%s is forgotten; the next cycle reads it as for the first time\n", sc.Key())
	return nil
}

// confirm asks on a terminal; elsewhere --yes must have been given.
func (e *env) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if f, ok := e.in.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return exit{poll.ExitUsage, fmt.Errorf("%s Say so with --yes", diag.Clean(question))}
	}
	fmt.Fprintf(e.err, "%s [y/N] ", diag.Clean(question))
	line, err := bufio.NewReader(e.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	return exit{poll.ExitUsage, errors.New("not done")}
}
