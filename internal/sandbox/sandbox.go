package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Names of the drivers.
const (
	Bwrap   = "bwrap"
	Command = "command"
	None    = "none"
)

// Names lists the drivers.
func Names() []string { return []string{Bwrap, Command, None} }

// SkipCode is the exit code by which a pre-script says that there is nothing to do.
const SkipCode = 78

// Spec is one command to start. Everything in it is data: no shell reads any of it.
type Spec struct {
	Command   []string
	Env       map[string]string // the whole environment
	Work      string            // a folder of its own: the only place that it may write to
	Context   []byte            // what it is about, as a file that it can read; FULLSEND_CONTEXT names it
	Network   bool
	ReadOnly  []string // further folders and files that it may read, absolute
	Grace     time.Duration
	Limit     time.Duration // 0: none
	Out, Errs io.Writer
}

// Result is how the command ended.
type Result struct {
	Code    int
	Stopped bool // by the context or the limit
}

// Driver starts one command and waits for its end. An error says that the command could not be started or that its end
// could not be seen; an exit code is no error. When ctx ends, what was started is stopped, all of it.
type Driver interface {
	Name() string
	Run(ctx context.Context, s Spec) (Result, error)
}

// ErrSpec is matched by refusals to start.
var ErrSpec = errors.New("command cannot be started")

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check refuses what no program could be given as it stands.
func (s *Spec) Check() error {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return fmt.Errorf("%w: no command is configured: write run: {command: [program, argument]} into config.yaml", ErrSpec)
	}
	for _, a := range s.Command {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("%w: an argument holds NUL", ErrSpec)
		}
	}
	for k, v := range s.Env {
		if !variable.MatchString(k) {
			return fmt.Errorf("%w: %q is no name of a variable", ErrSpec, k)
		}
		if strings.ContainsRune(v, 0) {
			return fmt.Errorf("%w: variable %s holds NUL", ErrSpec, k)
		}
		if loader(k) {
			return fmt.Errorf("%w: variable %s changes what a program loads", ErrSpec, k)
		}
	}
	return nil
}

// loader tells variables by which a program is made to run other code than its own.
func loader(name string) bool {
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_") ||
		slices.Contains([]string{"BASH_ENV", "ENV", "GCONV_PATH", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT"}, name)
}
