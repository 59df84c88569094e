package chaos

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// look is one entity at one moment, as the plain evaluation sees it.
type look struct {
	e     *forgesim.Entity
	now   time.Time
	robot int64 // an account that configuration trusts
	self  int64 // the account as which the harness writes; 0: none
}

// counts reports that a writer has a say. The simulated forge answers like Gitea, which reports triage as read: both
// thresholds therefore begin at write here.
func (l *look) counts(a forgesim.Actor) bool {
	return !a.Deleted && a.ID != 0 && (a.ID == l.robot || a.Role >= forgesim.Write)
}

// rule is a query in plain Go. It shares no code with the engine.
type rule interface {
	text() string
	holds(l *look) bool
	// support is what a decision rests on when the rule is true (false, where want is not set).
	support(l *look, want bool) []string
}

type (
	all  []rule
	some []rule
	not  struct{ r rule }
	// fact is a test of a plain fact; value is what it read, "" when the decision leaves it out.
	fact struct {
		src   string
		test  func(l *look) bool
		value func(l *look) string
	}
	// written is a test of elements; pick gives those that count and satisfy it: who wrote it, and its id with its revision.
	written struct {
		src  string
		pick func(l *look) []element
	}
)

type element struct {
	by  int64
	key string
}

func (a all) text() string     { return joined(a, " and ") }
func (s some) text() string    { return joined(s, " or ") }
func (n not) text() string     { return "not (" + n.r.text() + ")" }
func (f fact) text() string    { return f.src }
func (a written) text() string { return a.src }

func joined[R ~[]rule](rs R, word string) string {
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = "(" + r.text() + ")"
	}
	return strings.Join(parts, word)
}

func (a all) holds(l *look) bool {
	return !slices.ContainsFunc(a, func(r rule) bool { return !r.holds(l) })
}
func (s some) holds(l *look) bool {
	return slices.ContainsFunc(s, func(r rule) bool { return r.holds(l) })
}
func (n not) holds(l *look) bool     { return !n.r.holds(l) }
func (f fact) holds(l *look) bool    { return f.test(l) }
func (a written) holds(l *look) bool { return len(a.pick(l)) > 0 }

func (a all) support(l *look, want bool) []string  { return supports(a, l, want) }
func (s some) support(l *look, want bool) []string { return supports(s, l, want) }
func (n not) support(l *look, want bool) []string  { return n.r.support(l, !want) }

// supports: every part with that truth counts.
func supports[R ~[]rule](rs R, l *look, want bool) []string {
	var out []string
	for _, r := range rs {
		if r.holds(l) == want {
			out = append(out, r.support(l, want)...)
		}
	}
	return out
}

func (f fact) support(l *look, want bool) []string {
	if f.value == nil {
		return nil
	}
	return []string{fmt.Sprint(f.src, " is ", want, ": ", f.value(l))}
}

func (a written) support(l *look, want bool) []string {
	if !want {
		return nil
	}
	var out []string
	for _, e := range a.pick(l) {
		if e.by != l.self {
			out = append(out, a.src+":"+e.key)
		}
	}
	return append(out, a.src)
}

// signature is the identity of a decision: two of one rule are the same when this is.
func signature(r rule, l *look) string {
	s := r.support(l, true)
	sort.Strings(s)
	return strings.Join(slices.Compact(s), "\n")
}

// The parts of which random queries are made.

func state(want string) rule {
	return fact{"state = " + want, func(l *look) bool { return l.e.Closed == (want == "closed") },
		func(l *look) string { return fmt.Sprint(l.e.Closed) }}
}

func unassigned() rule {
	return fact{"assignee is empty", func(l *look) bool { return len(l.e.Assignees) == 0 }, assignees}
}

func assignees(l *look) string {
	var ids []int64
	for _, a := range l.e.Assignees {
		ids = append(ids, a.ID)
	}
	slices.Sort(ids)
	return fmt.Sprint(ids)
}

func milestone(title string) rule {
	return fact{fmt.Sprintf("milestone = %q", title), func(l *look) bool { return l.e.Milestone != nil && l.e.Milestone.Title == title }, stone}
}

func noMilestone() rule {
	return fact{"milestone is empty", func(l *look) bool { return l.e.Milestone == nil }, stone}
}

func stone(l *look) string {
	if l.e.Milestone == nil {
		return ""
	}
	return l.e.Milestone.Title
}

func author(login string) rule {
	return fact{fmt.Sprintf("author = %q", login), func(l *look) bool { return !l.e.Author.Deleted && l.e.Author.Login == login },
		func(l *look) string { return fmt.Sprint(l.e.Author.ID, l.e.Author.Deleted) }}
}

func locked() rule {
	return fact{"locked", func(l *look) bool { return l.e.Locked }, func(l *look) string { return fmt.Sprint(l.e.Locked) }}
}

func older(span string) rule {
	return fact{"created < now - " + span, func(l *look) bool { return l.e.Created.Before(l.now.Add(-duration(span))) },
		func(l *look) string { return fmt.Sprint(l.e.Created.Unix()) }}
}

func quiet(span string) rule {
	return fact{"updated < now - " + span, func(l *look) bool { return l.e.Updated.Before(l.now.Add(-duration(span))) }, nil}
}

func justClosed(span string) rule {
	return fact{"closed >= now - " + span, func(l *look) bool { return l.e.Closed && !l.e.ClosedAt.Before(l.now.Add(-duration(span))) },
		func(l *look) string { return fmt.Sprint(l.e.ClosedAt.Unix()) }}
}

func unanswered(span string) rule {
	newest := func(l *look) time.Time {
		t := l.e.Created
		for _, c := range l.e.Comments {
			if c.Author.ID != l.robot && c.Edited.After(t) {
				t = c.Edited
			}
		}
		return t
	}
	return fact{"last_comment < now - " + span, func(l *look) bool { return newest(l).Before(l.now.Add(-duration(span))) },
		func(l *look) string { return fmt.Sprint(newest(l).Unix()) }}
}

func draft() rule {
	return fact{"draft", func(l *look) bool { return l.e.Draft }, func(l *look) string { return fmt.Sprint(l.e.Draft) }}
}

func merged() rule {
	return fact{"merged", func(l *look) bool { return l.e.Merged }, func(l *look) string { return fmt.Sprint(l.e.Merged) }}
}

func base(ref string) rule {
	return fact{fmt.Sprintf("base = %q", ref), func(l *look) bool { return l.e.Base == ref }, func(l *look) string { return l.e.Base }}
}

func checked() rule {
	return fact{"checks = success", func(l *look) bool { return checks(l) == "success" },
		func(l *look) string { return checks(l) + " of " + l.e.HeadSHA }}
}

func checks(l *look) string {
	if len(l.e.Checks) == 0 {
		return "missing"
	}
	worst := "success"
	for _, c := range l.e.Checks {
		switch {
		case c.State == "failure":
			return c.State
		case c.State == "pending":
			worst = c.State
		}
	}
	return worst
}

func unreviewed() rule {
	return fact{"reviewer is empty", func(l *look) bool { return len(l.e.Reviewers) == 0 }, func(l *look) string {
		var ids []int64
		for _, a := range l.e.Reviewers {
			ids = append(ids, a.ID)
		}
		slices.Sort(ids)
		return fmt.Sprint(ids)
	}}
}

func label(names ...string) rule {
	src := fmt.Sprintf("label = %q", names[0])
	if len(names) > 1 {
		src = "label in (" + `"` + strings.Join(names, `", "`) + `")`
	}
	return written{src, func(l *look) []element {
		var out []element
		for _, a := range l.e.Labels {
			if slices.Contains(names, a.Name) && l.counts(a.By) {
				out = append(out, element{a.By.ID, applied(&a)})
			}
		}
		return out
	}}
}

func applied(a *forgesim.AppliedLabel) string {
	return fmt.Sprint(a.ID, " ", a.By.ID, " ", a.At.Unix())
}

func unlabelled() rule {
	return not{written{"not label is empty", func(l *look) []element {
		var out []element
		for _, a := range l.e.Labels {
			if l.counts(a.By) {
				out = append(out, element{a.By.ID, applied(&a)})
			}
		}
		return out
	}}}
}

func commanded(command, within string) rule {
	src := fmt.Sprintf("any comment(command = %q)", command)
	if within != "" {
		src = fmt.Sprintf("any comment(command = %q and at >= now - %s)", command, within)
	}
	return written{src, func(l *look) []element {
		return comments(l, func(c *forgesim.Comment) bool {
			line, _, _ := strings.Cut(c.Body, "\n")
			words := strings.Fields(line)
			return len(words) > 0 && words[0] == command && (within == "" || !c.Edited.Before(l.now.Add(-duration(within))))
		})
	}}
}

func said(word string) rule {
	return written{fmt.Sprintf("any comment(text contains %q)", word), func(l *look) []element {
		return comments(l, func(c *forgesim.Comment) bool { return strings.Contains(c.Body, word) })
	}}
}

func comments(l *look, is func(*forgesim.Comment) bool) []element {
	var out []element
	for i := range l.e.Comments {
		c := &l.e.Comments[i]
		if l.counts(c.Author) && is(c) {
			out = append(out, element{c.Author.ID, fmt.Sprint(c.ID, " ", c.Edited.Unix(), " ", c.Body)})
		}
	}
	return out
}

func titled(word string) rule {
	return written{fmt.Sprintf("title contains %q", word), func(l *look) []element {
		if !l.counts(l.e.Author) || !strings.Contains(l.e.Title, word) {
			return nil
		}
		return []element{{l.e.Author.ID, l.e.Title}}
	}}
}

func described(word string) rule {
	return written{fmt.Sprintf("body contains %q", word), func(l *look) []element {
		if !l.counts(l.e.Author) || !strings.Contains(l.e.Body, word) {
			return nil
		}
		return []element{{l.e.Author.ID, l.e.Body}}
	}}
}

func approved() rule {
	return written{"any review(state = approved)", func(l *look) []element {
		newest := map[int64]*forgesim.Review{}
		for i := range l.e.Reviews {
			if r := &l.e.Reviews[i]; r.State != forgesim.Requested && !r.Author.Deleted {
				newest[r.Author.ID] = r
			}
		}
		var out []element
		for _, r := range newest {
			if r.State == forgesim.Approved && !r.Dismissed && l.counts(r.Author) {
				out = append(out, element{r.Author.ID, fmt.Sprint(r.ID)})
			}
		}
		return out
	}}
}

// duration reads a span of the query language.
func duration(span string) time.Duration {
	if n, ok := strings.CutSuffix(span, "min"); ok {
		span = n + "m"
	}
	d, err := time.ParseDuration(span)
	if err != nil {
		panic(err) // a span of this file
	}
	return d
}
