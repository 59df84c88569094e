package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// This file is an independent, plain statement of who should receive what. It shares no code with the product: it
// knows only what the test itself did to the server.

// item is an issue or a pull request as the test made it.
type item struct {
	number int
	ids    []int64 // the ids under which the server knows it
	kind   string
	open   bool
	draft  bool
	base   string
	labels map[string]applied
	notes  map[int64]note
	gone   bool
}

type applied struct {
	by  string
	rev int // which application: a label that was removed and given again is a new one
}

type note struct{ by, text string }

// world is everything the test has made.
type world struct {
	items  map[int]*item
	rights map[string]string // login → what the permission endpoint says
	revs   int
}

func newWorld(rights map[string]string) *world {
	return &world{items: map[int]*item{}, rights: rights}
}

// trusted says whether an account is above every threshold: Gitea has nothing between read and write.
func (w *world) trusted(login string) bool {
	switch w.rights[login] {
	case "write", "admin", "owner":
		return true
	}
	return false
}

func (w *world) label(n int, name, by string) {
	w.revs++
	w.items[n].labels[name] = applied{by, w.revs}
}

func (w *world) unlabel(n int, name string) { delete(w.items[n].labels, name) }

// rule is a harness restated: what it decides about an item, or "" where the item is none of its business.
type rule struct {
	harness
	decide func(w *world, it *item) string
}

// rules are the five harnesses of the test.
func rules() []rule {
	return []rule{
		{harness{"triage", "triage", []source{{workItem, `v1: state = open and label is empty`}}},
			func(w *world, it *item) string {
				for _, l := range it.labels {
					if w.trusted(l.by) {
						return ""
					}
				}
				return yes(it.kind == workItem && it.open)
			}},
		{harness{"code", "coder", []source{{workItem, `v1: state = open and label = "bug" and not label = "blocked"`}}},
			func(w *world, it *item) string {
				bug, blocked := it.labels["bug"], it.labels["blocked"]
				if it.kind != workItem || !it.open || !w.trusted(bug.by) || w.trusted(blocked.by) {
					return ""
				}
				return fmt.Sprint("bug ", bug.rev)
			}},
		{harness{"fix", "coder", []source{{changeProposal, `v1: any comment(command = "/fs-fix")`}}},
			func(w *world, it *item) string {
				if it.kind != changeProposal {
					return ""
				}
				return strings.Join(w.commands(it, "/fs-fix"), "; ")
			}},
		{harness{"review", "review", []source{{changeProposal, `v1: state = open and not draft and base = "main"`}}},
			func(_ *world, it *item) string {
				return yes(it.kind == changeProposal && it.open && !it.draft && it.base == "main")
			}},
		{harness{"retro", "retro", []source{{changeProposal, `v1: state = closed`}}},
			func(_ *world, it *item) string { return yes(it.kind == changeProposal && !it.open) }},
	}
}

func harnesses() []harness {
	var hs []harness
	for _, r := range rules() {
		hs = append(hs, r.harness)
	}
	return hs
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// commands lists the trusted comments that begin with the command.
func (w *world) commands(it *item, command string) []string {
	var found []string
	for id, c := range it.notes {
		first, _, _ := strings.Cut(c.text, "\n")
		if f := strings.Fields(first); len(f) > 0 && f[0] == command && w.trusted(c.by) {
			found = append(found, fmt.Sprint(id, " ", c.text))
		}
	}
	slices.Sort(found)
	return found
}

// memory is what has been sent so far, by the rule that a pair is sent when it enters the match, or when it is decided
// on grounds on which it was never sent before.
type memory struct {
	member map[string]bool
	sent   map[string]map[string]bool
}

func newMemory() *memory {
	return &memory{member: map[string]bool{}, sent: map[string]map[string]bool{}}
}

// due returns, sorted, what the next poll must send, and remembers it as sent.
func (m *memory) due(w *world) []string {
	due := []string{}
	for _, r := range rules() {
		for n, it := range w.items {
			pair, why := receipt(r.name, n), ""
			if !it.gone {
				why = r.decide(w, it)
			}
			if why == "" {
				m.member[pair] = false
				continue
			}
			if m.sent[pair] == nil {
				m.sent[pair] = map[string]bool{}
			}
			if !m.member[pair] || !m.sent[pair][why] {
				due = append(due, pair)
			}
			m.member[pair], m.sent[pair][why] = true, true
		}
	}
	slices.Sort(due)
	return due
}
