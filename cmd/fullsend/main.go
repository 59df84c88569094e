// Command fullsend finds work for coding agents: one combined search per scope, routed to every matching harness.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := execute(ctx, os.Args[1:], &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.LookupEnv})
	stop()
	os.Exit(code)
}

// env is what a command may touch of the process around it.
type env struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	getenv func(string) (string, bool)

	spec    string // replaces, in tests, what dispatch.Declared says; "" does not
	program string // what runs are started as; "" is this program

	verbose bool
	logJSON bool

	log   *slog.Logger
	logMu sync.Mutex
}

// logger writes to standard error; records go to standard output and are never mixed with it. It is the same one for
// everybody, so that lines are whole.
func (e *env) logger() *slog.Logger {
	e.logMu.Lock()
	defer e.logMu.Unlock()
	if e.log == nil {
		e.log = e.newLogger(e.err)
	}
	return e.log
}

// logTo sends what is logged from now on to w.
func (e *env) logTo(w io.Writer) {
	e.logMu.Lock()
	defer e.logMu.Unlock()
	e.log = e.newLogger(w)
}

func (e *env) newLogger(w io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if e.verbose {
		level = slog.LevelDebug
	}
	opt := &slog.HandlerOptions{Level: level}
	if e.logJSON {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// colour is for terminals only, and not where NO_COLOR asks for none (no-color.org).
func (e *env) colour() bool {
	if v, ok := e.getenv("NO_COLOR"); ok && v != "" {
		return false
	}
	f, ok := e.err.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// exit ends a command with a code; an empty message has been printed already.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// execute runs the command line and returns the exit code of DESIGN's table.
func execute(ctx context.Context, args []string, e *env) int {
	out := &watched{to: e.out}
	e.out = out
	root := newRootCmd(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var x exit
	var file *fs.PathError
	switch {
	case err == nil && out.failed != nil:
		// What was asked for was not said, whatever else went well.
		fmt.Fprintln(e.err, "fullsend: standard output:", diag.Clean(out.failed.Error()))
		return poll.ExitError
	case err == nil:
		return poll.ExitComplete
	case errors.As(err, &x):
		if x.err != nil {
			fmt.Fprintln(e.err, "fullsend:", diag.Clean(x.err.Error()))
		}
		return x.code
	case errors.As(err, &file):
		fmt.Fprintln(e.err, "fullsend:", diag.Clean(err.Error()))
		return poll.ExitError
	default:
		// What cobra refuses is how the command was called.
		fmt.Fprintln(e.err, "fullsend:", diag.Clean(err.Error()))
		return poll.ExitUsage
	}
}

// watched remembers whether the last write got through: text is printed by many hands, and few of them look.
type watched struct {
	to     io.Writer
	failed error
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.failed = err
	return n, err
}

// outFile is standard output where it is a file.
func (e *env) outFile() (*os.File, bool) {
	to := e.out
	if w, ok := to.(*watched); ok {
		to = w.to
	}
	f, ok := to.(*os.File)
	return f, ok
}

func newRootCmd(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:           "fullsend",
		Short:         "Find work for coding agents: one search per scope, routed to every matching harness",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.PersistentFlags().BoolVarP(&e.verbose, "verbose", "v", false, "log debug messages")
	root.PersistentFlags().BoolVar(&e.logJSON, "log-json", false, "log JSON lines instead of text")
	root.AddCommand(newPollCmd(e), newRunCmd(e), newDispatchCmd(e), newQueryLintCmd(e), newQueryCmd(e), newSimCmd(e), newDemoCmd(e), newConformanceCmd(e), newVersionCmd(e))
	nameCommands(root)
	return root
}

// nameCommands lets every command that has commands below it say which one was probably meant.
func nameCommands(c *cobra.Command) {
	if !c.HasSubCommands() {
		return
	}
	var names []string
	for _, sub := range c.Commands() {
		nameCommands(sub)
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("unknown command %q for %q; %s", args[0], c.CommandPath(), diag.DidYouMean(args[0], names))
	}
}
