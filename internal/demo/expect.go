package demo

import (
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// expectation is one example harness in plain Go over the world itself. It shares no code with the engine, so that a
// mistake in one shows as a difference from the other.
type expectation struct {
	harness string
	kind    forgesim.Kind
	match   func(e *forgesim.Entity, now time.Time) bool
}

// counts reports that a writer has a say. Write is the role from which on a writer counts. The simulated forge answers like Gitea, which reports triage as
// read: both thresholds of the examples therefore begin at write here.
func counts(a forgesim.Actor) bool { return !a.Bot && !a.Deleted && a.Role >= forgesim.Write }

func labelled(e *forgesim.Entity, names ...string) bool {
	for _, l := range e.Labels {
		for _, n := range names {
			if strings.EqualFold(l.Name, n) && counts(l.By) {
				return true
			}
		}
	}
	return false
}

func anyLabel(e *forgesim.Entity) bool {
	for _, l := range e.Labels {
		if counts(l.By) {
			return true
		}
	}
	return false
}

func commanded(e *forgesim.Entity, command string) bool {
	for _, c := range e.Comments {
		line, _, _ := strings.Cut(c.Body, "\n")
		if f := strings.Fields(line); len(f) > 0 && strings.EqualFold(f[0], command) && counts(c.Author) {
			return true
		}
	}
	return false
}

// expectations are the harnesses of examples/.fullsend, in the order of their names.
func expectations() []expectation {
	secure := func(e *forgesim.Entity, _ time.Time) bool { return !e.Closed && labelled(e, "security") }
	return []expectation{
		{"code", forgesim.WorkItem, func(e *forgesim.Entity, _ time.Time) bool {
			return !e.Closed && labelled(e, "bug", "regression") && !labelled(e, "blocked") && len(e.Assignees) == 0
		}},
		{"fix", forgesim.ChangeProposal, func(e *forgesim.Entity, _ time.Time) bool {
			return !e.Closed && commanded(e, "/fs-fix")
		}},
		{"retro", forgesim.WorkItem, func(e *forgesim.Entity, now time.Time) bool {
			return e.Closed && !e.ClosedAt.Truncate(time.Second).Before(now.Add(-7*24*time.Hour))
		}},
		{"review", forgesim.ChangeProposal, func(e *forgesim.Entity, _ time.Time) bool {
			return !e.Closed && !e.Draft && e.Base == "main"
		}},
		{"security", forgesim.WorkItem, secure},
		{"security", forgesim.ChangeProposal, secure},
		{"triage", forgesim.WorkItem, func(e *forgesim.Entity, _ time.Time) bool {
			return !e.Closed && !anyLabel(e)
		}},
	}
}
