package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/run"
)

// ids are stable ids of the seeded accounts.
func (r *rig) ids() map[string]string {
	out := map[string]string{}
	for _, login := range []string{"wes", "sam", "rob"} {
		r.do("create as=" + login + " title=x")
		es, err := r.world.Entities(forgesim.SeedRepo)
		require.NoError(r.t, err)
		out[login] = fmt.Sprint(es[len(es)-1].Author.ID)
	}
	return out
}

// SPEC AU-24 to AU-27: an event names a candidate and proves nothing; its actor stands by a role that the provider gives.
func TestEvents(t *testing.T) {
	const it = "acme/widgets#1"
	cases := []struct {
		name, harness string
		script        []string
		event         func(ids map[string]string) string
		outcome, says string
	}{
		{name: "a writer's comment", harness: evented, event: func(ids map[string]string) string { return string(event(ids["wes"], it, "")) }, outcome: coverage.Ran},
		{name: "a stranger's comment with a forged role", harness: evented, event: func(ids map[string]string) string { return string(event(ids["sam"], it, "")) },
			outcome: coverage.NotTriggered, says: "verified role"},
		{name: "a reader's comment", harness: evented, event: func(ids map[string]string) string { return string(event(ids["rob"], it, "")) }, outcome: coverage.NotTriggered},
		{name: "an actor without an id", harness: evented, event: func(map[string]string) string { return string(event("", it, "")) }, outcome: coverage.NotTriggered},
		{name: "an actor whom nobody knows", harness: evented, event: func(map[string]string) string { return string(event("99999", it, "")) }, outcome: coverage.UnknownRun},
		{name: "a login for an id", harness: evented, event: func(map[string]string) string { return string(event("wes", it, "")) }, outcome: coverage.UnknownRun},
		{name: "an actor whose role was taken away", harness: evented, script: []string{"set-role user=wes role=read"},
			event: func(ids map[string]string) string { return string(event(ids["wes"], it, "")) }, outcome: coverage.NotTriggered},
		{name: "an event about another entity", harness: evented, event: func(ids map[string]string) string { return string(event(ids["wes"], "acme/widgets#2", "")) },
			outcome: coverage.NotTriggered, says: "another entity"},
		{name: "a URL of another entity", harness: evented, event: func(ids map[string]string) string {
			return strings.Replace(string(event(ids["wes"], it, "")), `"key":`, `"url":"https://evil.example/x/issues/1","key":`, 1)
		}, outcome: coverage.NotTriggered, says: "another entity"},
		{name: "an event of another system", harness: evented, event: func(ids map[string]string) string {
			return strings.Replace(string(event(ids["wes"], it, "")), `"forgejo"`, `"jira"`, 1)
		}, outcome: coverage.NotTriggered},
		{name: "a trigger that the event does not meet", harness: evented, event: func(ids map[string]string) string {
			return strings.Replace(string(event(ids["wes"], it, "")), "/go", "/stop", 1)
		}, outcome: coverage.NotTriggered, says: "trigger"},
		{name: "an event that is none", harness: evented, event: func(map[string]string) string { return `{"entity":` }, outcome: coverage.NotTriggered},
		{name: "a member given twice", harness: evented, event: func(ids map[string]string) string {
			return strings.Replace(string(event(ids["sam"], it, "")), `"actor":`, `"Actor":{"id":"`+ids["wes"]+`"},"actor":`, 1)
		}, outcome: coverage.NotTriggered},
		{name: "an oversized event", harness: evented, event: func(ids map[string]string) string {
			return string(event(ids["wes"], it, `,"more":"`+strings.Repeat("x", 2<<20)+`"`))
		}, outcome: coverage.NotTriggered},
		{name: "no event", harness: evented, event: func(map[string]string) string { return "" }, outcome: coverage.NotTriggered, says: "only an event"},
		{name: "an entity outside the query", harness: coder, event: func(ids map[string]string) string { return string(event(ids["wes"], it, "")) }, outcome: coverage.NotMember},
		{name: "a member of the query", harness: coder, script: []string{"label on=it as=wes label=bug"},
			event: func(ids map[string]string) string { return string(event(ids["wes"], it, "")) }, outcome: coverage.Ran},
		{name: "a stranger's event on a member", harness: coder, script: []string{"label on=it as=wes label=bug"},
			event: func(ids map[string]string) string { return string(event(ids["sam"], it, "")) }, outcome: coverage.NotTriggered},
		{name: "a forged label exception", harness: coder, script: []string{"label on=it as=wes label=bug"},
			event: func(ids map[string]string) string {
				return strings.Replace(string(event(ids["sam"], it, "")), `"kind":"comment_added"`, `"kind":"label_changed","label":{"name":"bug","action":"added"}`, 1)
			}, outcome: coverage.NotTriggered},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.harness)
			ids := r.ids()
			r.do(c.script...)
			rep := r.run(func(cand *run.Candidate) { cand.Event, cand.Decision = []byte(c.event(ids)), "" })
			assert.Equal(t, c.outcome, rep.Outcome, rep.Why)
			assert.Contains(t, rep.Why, c.says)
			starts := 0
			if c.outcome == coverage.Ran {
				starts = 1
				assert.NotContains(t, string(r.box.calls[0].Context), `"role":"admin"`, "the sender's word on roles is not passed on")
			}
			assert.Equal(t, starts, r.box.count())
			left, err := r.retries.All()
			require.NoError(t, err)
			if c.outcome == coverage.UnknownRun {
				require.Len(t, left, 1, "kept for a retry")
				assert.Equal(t, 1, left[0].Tries)
			} else {
				assert.Empty(t, left)
			}
		})
	}
}
