package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/run"
)

// Scenarios that field reports of other projects suggest, by the numbers of docs/facts.md: acting on stale results (I),
// and authorization, bots and untrusted input (J). What the gate's attack table holds already is not repeated.
func TestScenarios(t *testing.T) {
	const labelOrCommand = `role: coder
trigger: "true"
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open and (label = "bug" or any comment(command = "/fix"))'}]
`
	for _, c := range []struct {
		name    string
		harness string
		script  []string
		config  string
		outcome string
		says    string
	}{
		{name: "B142 the search says open, the entity says merged", harness: coder, script: []string{bug, "close on=it as=olga"}, outcome: coverage.NotMember},
		{name: "B144 deleted between discovery and recheck", harness: coder, script: []string{bug, "delete on=it"}, outcome: coverage.NotMember},
		{name: "B146 closed while it was queued, parked or resumed", harness: coder, script: []string{bug, "advance by=216h", "close on=it as=olga"}, outcome: coverage.NotMember},
		{name: "B148 closed with a trigger label", harness: labelOrCommand, script: []string{bug, "close on=it as=olga"}, outcome: coverage.NotMember},
		{name: "B148 closed with a trigger comment", harness: labelOrCommand, script: []string{"comment on=it as=wes body=/fix", "close on=it as=olga"}, outcome: coverage.NotMember},
		{name: "B148 open with a trigger comment", harness: labelOrCommand, script: []string{"comment on=it as=wes body=/fix"}, outcome: coverage.Ran},
		{name: "B156 an outsider's comment on a trusted issue", harness: fixer, script: []string{"label on=it as=wes label=bug", `comment on=it as=sam body="/fix http://evil.example/a.zip"`}, outcome: coverage.NotMember},
		{name: "B157 a reader's trigger comment", harness: fixer, script: []string{"comment on=it as=rob body=/fix"}, outcome: coverage.NotMember},
		{name: "B158 effective permission counts, whatever the association", harness: fixer, script: []string{"set-role user=sam role=write", "comment on=it as=sam body=/fix"}, outcome: coverage.Ran},
		{name: "B161 no answer on a role is no permission", harness: fixer, script: []string{"comment on=it as=wes body=/fix", "fault kind=status status=404 route=permission"}, outcome: coverage.UnknownRun},
		{name: "B163 an endpoint that is not open to the credential is named", harness: fixer, script: []string{"comment on=it as=wes body=/fix", "fault kind=status status=403 route=permission"}, outcome: coverage.UnknownRun, says: "permission"},
		{name: "B164 a deleted account is nobody, and stops nothing", harness: fixer,
			script: []string{"comment on=it as=rob body=/fix", "delete-user login=rob", "comment on=it as=wes body=/fix"}, outcome: coverage.Ran},
		{name: "B164 a deleted account is never trusted", harness: fixer, script: []string{"comment on=it as=wes body=/fix", "delete-user login=wes"}, outcome: coverage.NotMember},
		{name: "B165 a label that our own bot set triggers another harness", harness: coder, config: "bot", script: []string{"label on=it as=agent label=bug"}, outcome: coverage.Ran},
		{name: "B165 a bot without a configured role triggers nothing", harness: coder, script: []string{"label on=it as=agent label=bug"}, outcome: coverage.NotMember},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.harness, c.script...)
			if c.config == "bot" {
				r.write("config.yaml", strings.Replace(r.read("config.yaml"), `{h: "id:3"}`, `{other: {id: "id:2", role: write}}`, 1))
			} else {
				r.write("config.yaml", strings.Replace(r.read("config.yaml"), `{h: "id:3"}`, `{h: "id:2"}`, 1))
			}
			rep := r.run(nil)
			assert.Equal(t, c.outcome, rep.Outcome, rep.Why)
			assert.Contains(t, rep.Why, c.says)
			want := 0
			if c.outcome == coverage.Ran {
				want = 1
			}
			assert.Equal(t, want, r.box.count())
		})
	}
}

// B149: what was seen is never undone by a slower, older answer. SPEC RU-3
func TestAnOlderAnswerNeverReplacesANewerOne(t *testing.T) {
	r := newRig(t, coder, bug, "advance by=1h", "unlabel on=it as=wes label=bug", "advance by=1m")
	es, err := r.world.Entities("acme/widgets")
	require.NoError(t, err)
	r.do("fault kind=replica-lag by=30m")
	rep := r.run(func(c *run.Candidate) { c.Updated = es[0].Updated })
	assert.Equal(t, coverage.UnknownRun, rep.Outcome, rep.Why)
	assert.Contains(t, rep.Why, "replica lags")
	assert.Zero(t, r.box.count())
	r.do("clear-faults")
	assert.Equal(t, coverage.NotMember, r.run(func(c *run.Candidate) { c.Updated = es[0].Updated }).Outcome)
}

// B159: missing evidence is tried again, and then decided: never a quiet no. SPEC RU-8
func TestMissingEvidenceIsTriedAgain(t *testing.T) {
	r := newRig(t, fixer, "comment on=it as=wes body=/fix", "fault kind=status status=500 route=issue.comments")
	byHand := func(c *run.Candidate) { c.Key, c.Decision = "", "" }
	rep := r.run(byHand)
	require.Equal(t, coverage.UnknownRun, rep.Outcome)
	due, err := r.retries.Due()
	require.NoError(t, err)
	require.Empty(t, due, "after a minute, not at once")
	r.now = r.now.Add(time.Minute)
	due, err = r.retries.Due()
	require.NoError(t, err)
	require.Len(t, due, 1)
	assert.Equal(t, 1, due[0].Tries)
	assert.NotEmpty(t, due[0].Why)
	r.do("clear-faults")
	got, err := r.retries.Get(due[0].Name)
	require.NoError(t, err)
	rep = r.run(func(c *run.Candidate) { *c = got.Candidate })
	assert.Equal(t, coverage.Ran, rep.Outcome, rep.Why)
	all, err := r.retries.All()
	require.NoError(t, err)
	assert.Empty(t, all)
	require.NotEmpty(t, r.receipts)
	assert.NotNil(t, r.receipts[len(r.receipts)-1].Read, "a poller need not ask about this state again")
}
