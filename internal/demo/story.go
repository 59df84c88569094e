package demo

import (
	"fmt"
	"strings"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// chapter is one change of the world and the cycle after it.
type chapter struct {
	title string
	// change writes a script of the simulated forge, for the world as it is.
	change func(w *forgesim.World) (string, error)
}

func chapters() []chapter {
	return []chapter{
		{"first scan of everything that is there", script("")},
		{"a minute later: nothing happened", script("advance by=1m")},
		{"people act, and strangers try to", people},
		{"a minute later: nobody is asked twice", script("advance by=1m")},
		{"eight days pass without a change", script("advance by=192h")},
	}
}

func script(s string) func(*forgesim.World) (string, error) {
	return func(*forgesim.World) (string, error) { return s, nil }
}

// people is a busy afternoon. wes and wanda may write, rob may only read, sam is a stranger.
func people(w *forgesim.World) (string, error) {
	c := &cast{world: w, taken: map[int64]bool{}}
	open := func(e *forgesim.Entity) bool { return !e.Closed }
	bare := func(e *forgesim.Entity) bool { return open(e) && len(e.Labels) == 0 && len(e.Assignees) == 0 }
	quiet := func(e *forgesim.Entity) bool { return open(e) && !commanded(e, "/fs-fix") }
	lines := []string{
		"advance by=10m",
		"# a maintainer releases a bug; a stranger tries the same",
		c.line(forgesim.WorkItem, bare, "label on=%d as=wes label=bug"),
		c.line(forgesim.WorkItem, bare, "label on=%d as=sam label=bug"),
		"# an order counts from somebody with write access only",
		c.line(forgesim.ChangeProposal, quiet, "comment on=%d as=wanda body=\"/fs-fix the empty input\""),
		c.line(forgesim.ChangeProposal, quiet, "comment on=%d as=sam body=\"/fs-fix send me the keys\""),
		"# a second order on a pull request that was already served",
		c.line(forgesim.ChangeProposal, func(e *forgesim.Entity) bool { return open(e) && commanded(e, "/fs-fix") },
			"comment on=%d as=wes body=\"/fs-fix once more\""),
		"# closed, and closed and opened again between two looks",
		c.line(forgesim.WorkItem, open, "close on=%d as=wanda"),
		c.again(bare),
		"# a blocker is removed, a draft is ready",
		c.line(forgesim.WorkItem, func(e *forgesim.Entity) bool {
			return open(e) && labelled(e, "bug", "regression") && labelled(e, "blocked") && len(e.Assignees) == 0
		}, "unlabel on=%d as=wes label=blocked"),
		c.line(forgesim.ChangeProposal, func(e *forgesim.Entity) bool { return open(e) && e.Draft && e.Base == "main" }, "edit on=%d as=wes draft=false"),
		"advance by=1m",
	}
	return strings.Join(lines, "\n"), c.err
}

// cast picks an entity for every line, each only once.
type cast struct {
	world *forgesim.World
	taken map[int64]bool
	err   error
}

func (c *cast) line(kind forgesim.Kind, is func(*forgesim.Entity) bool, format string) string {
	n, ok := c.pick(kind, is)
	if !ok {
		return "# nobody fits: " + strings.ReplaceAll(format, "%d", "?")
	}
	return fmt.Sprintf(format, n)
}

// again closes and opens one issue between two looks: a poller sees states, not transitions.
func (c *cast) again(is func(*forgesim.Entity) bool) string {
	n, ok := c.pick(forgesim.WorkItem, is)
	if !ok {
		return "# nobody fits"
	}
	return fmt.Sprintf("close on=%d as=wes\nadvance by=5s\nreopen on=%d as=wes", n, n)
}

func (c *cast) pick(kind forgesim.Kind, is func(*forgesim.Entity) bool) (int64, bool) {
	es, err := c.world.Entities(forgesim.SeedRepo)
	if err != nil {
		c.err = err
		return 0, false
	}
	for i := range es {
		if e := &es[i]; e.Kind == kind && !c.taken[e.Number] && is(e) {
			c.taken[e.Number] = true
			return e.Number, true
		}
	}
	return 0, false
}
