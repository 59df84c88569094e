package run_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// crowd is talk by many people, none of which bears on a label.
var crowd = []string{
	"comment on=it as=sam body=one", "comment on=it as=rob body=two", "comment on=it as=mira body=three", "comment on=it as=wanda body=four",
	"label on=it as=sam label=docs", "label on=it as=rob label=security",
}

// SPEC AU-9, AU-20: only what a verdict depends on is acquired: requests for roles, histories and comments in known worlds.
func TestOnlyWhatAVerdictDependsOnIsAcquired(t *testing.T) {
	for _, c := range []struct {
		name                       string
		harness                    string
		script                     []string
		roles, histories, comments int
		outcome                    string
	}{
		{name: "a member by one label", harness: coder, script: []string{bug}, roles: 1, histories: 1, outcome: coverage.Ran},
		{name: "closed: nobody's role matters", harness: coder, script: []string{bug, "close on=it as=olga"}, outcome: coverage.NotMember},
		{name: "no such label: nobody put it on", harness: coder, outcome: coverage.NotMember},
		{name: "a stranger's label", harness: coder, script: []string{"label on=it as=sam label=bug"}, roles: 1, histories: 1, outcome: coverage.NotMember},
		{name: "one of two commands", harness: fixer, script: []string{"comment on=it as=wes body=/fix"}, roles: 1, comments: 1, outcome: coverage.Ran},
		{name: "two commands of one person", harness: fixer, script: []string{"comment on=it as=wes body=/fix", "comment on=it as=wes body=/fix"}, roles: 1, comments: 1, outcome: coverage.Ran},
		{name: "a false trigger spares the roles", harness: `role: coder
trigger: 'entity.state == "closed"'
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open and label = "bug"'}]
`, script: []string{bug}, outcome: coverage.NotTriggered},
		{name: "no trigger spares everything", harness: `role: coder
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open and label = "bug"'}]
`, script: []string{bug}, outcome: coverage.NotTriggered},
		{name: "a listed account is never looked up", harness: fixer, script: []string{"comment on=it as=agent-rw body=/fix"}, comments: 1, outcome: coverage.NotMember},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.harness, append(c.script, crowd...)...)
			rep := r.run(nil)
			assert.Equal(t, c.outcome, rep.Outcome, rep.Why)
			got := r.world.Counters()
			assert.Equal(t, c.roles, got.ByRoute["permission"], "role reads")
			assert.Equal(t, c.histories, r.first("/timeline"), "histories")
			assert.Equal(t, c.comments, r.first("/issues/1/comments"), "comment lists")
			assert.Zero(t, got.ByClass[forgesim.ClassSearch], "no listing is ever asked")
		})
	}
}

// first counts how often a list of the entity was begun: the servers' lists are read page by page.
func (r *rig) first(path string) int {
	n := 0
	for _, h := range r.world.Hits() {
		if strings.Contains(h.URI, path) && (strings.Contains(h.URI, "page=1") || !strings.Contains(h.URI, "page=")) {
			n++
		}
	}
	return n
}

// SPEC AU-7, RU-2: role evidence is of one sandbox cycle: the next cycle asks again.
func TestRolesAreAskedForInEveryCycle(t *testing.T) {
	r := newRig(t, coder, bug)
	r.run(nil)
	r.run(nil)
	assert.Equal(t, 2, r.world.Counters().ByRoute["permission"])
}
