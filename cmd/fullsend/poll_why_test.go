package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

func (r *rig) why(args ...string) (poll.Why, outcome) {
	r.t.Helper()
	o := r.poll(append([]string{"why", "--json"}, args...)...)
	var w poll.Why
	if o.out != "" {
		require.NoError(r.t, json.Unmarshal([]byte(o.out), &w), o.out)
		require.Len(r.t, w.Scopes, 1)
	}
	return w, o
}

// SPEC PO-10, PO-11: the question says the same as the cycle, by every name of the entity, and changes nothing.
func TestWhySaysWhatTheCycleDecides(t *testing.T) {
	r := newRig(t)
	r.harness("said", "triage", `state = open and any comment(command = "/fs-fix")`)
	r.do("create as=olga title=Here labels=bug name=in\ncreate as=tariq title=There name=out\n" +
		"label on=out as=tariq label=bug\ncomment on=in as=tariq body=\"/fs-fix\"")
	// Without a ledger: nothing is known but what the provider says.
	w, o := r.why("acme/widgets#121")
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.err, "there is no ledger yet")
	assert.Contains(t, w.Scopes[0].Coverage.Notes[0], "never polled")
	_, err := os.Stat(r.state())
	require.ErrorIs(t, err, os.ErrNotExist)

	first := r.poll()
	require.Equal(t, poll.ExitComplete, first.code, first.err)
	file, err := os.ReadFile(r.state())
	require.NoError(t, err)
	w, o = r.why("acme/widgets#121")
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	s := w.Scopes[0]
	require.Len(t, s.Harnesses, 2)
	bugs, said := s.Harnesses[0], s.Harnesses[1]
	assert.Equal(t, query.True, bugs.Verdict)
	assert.True(t, bugs.Pair.In)
	assert.Len(t, bugs.Pair.Closed, 1, "handed over")
	assert.Equal(t, query.False, said.Verdict, "tariq may only read")
	comment := said.Queries[0].Root.Steps[1]
	require.Len(t, comment.Elements, 1)
	assert.Equal(t, "excluded", comment.Elements[0].Standing)
	assert.Contains(t, comment.Elements[0].Why, "verified role read")
	assert.Equal(t, query.True, comment.Elements[0].Truth)
	assert.True(t, s.Coverage.Known)
	assert.NotEmpty(t, s.Coverage.Walks)
	assert.NotNil(t, s.Coverage.Cycle)
	text := r.poll("why", "acme/widgets#121").out
	for _, want := range []string{"bugs: true", "said: false", `by "tariq", excluded: verified role read, triage is needed`, "in the match, entered 1 times"} {
		assert.Contains(t, text, want)
	}

	for _, name := range []string{"#121", w.Entity.URL, w.Entity.Identity, "ACME/Widgets#121"} {
		x, o := r.why(name)
		require.Equal(t, poll.ExitComplete, o.code, o.err)
		assert.Equal(t, w.Entity, x.Entity, name)
	}
	x, _ := r.why("#121", "--harness", "bugs")
	require.Len(t, x.Scopes[0].Harnesses, 1)
	kept, err := os.ReadFile(r.state())
	require.NoError(t, err)
	assert.Equal(t, file, kept, "asking leaves no trace")

	// Offline: the last match with what made it true.
	r.token = ""
	x, o = r.why("acme/widgets#121", "--offline")
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, "stored", x.Scopes[0].State)
	require.Len(t, x.Scopes[0].Harnesses, 1)
	assert.Contains(t, string(x.Scopes[0].Harnesses[0].Last), `"label = \"bug\""`)
	assert.Contains(t, r.poll("why", "#121", "--offline").out, "last matched as read at")
}

// SPEC PO-11: an entity that the ledger has not seen.
func TestWhyNotCoveredYet(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	r.do("advance by=1h\ncreate as=olga title=Fresh labels=bug")
	w, o := r.why("#121")
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	c := w.Scopes[0].Coverage
	assert.False(t, c.Known)
	require.Len(t, c.Notes, 2)
	assert.Contains(t, c.Notes[0], "not covered yet, next sweep at 20")
	assert.Contains(t, c.Notes[1], "the next window shows it")
	assert.False(t, c.Next.IsZero())
	assert.Equal(t, query.True, w.Scopes[0].Harnesses[0].Verdict)
}

// SPEC PO-12: what cannot be answered is said, with the code that says whose fault it is.
func TestWhyRefuses(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	tests := []struct {
		args []string
		code int
		says string
	}{
		{[]string{"acme/widgets#99999"}, poll.ExitError, "no configured scope has the entity"},
		{[]string{"other/place#1"}, poll.ExitError, "no configured scope has the entity"},
		{[]string{"nonsense"}, poll.ExitError, "no configured scope has the entity"},
		{[]string{strings.Repeat("x", 5000)}, poll.ExitError, "at most"},
		{[]string{"#1", "--harness", "nobody"}, poll.ExitUsage, "no such harness"},
		{[]string{}, poll.ExitUsage, "accepts 1 arg"},
	}
	for _, tt := range tests {
		_, o := r.why(tt.args...)
		assert.Equal(t, tt.code, o.code, "%v %s", tt.args, o.err)
		assert.Contains(t, o.err, tt.says)
	}
	// Two repositories, one number.
	r.do("repo repo=acme/gadgets\nset-role repo=acme/gadgets user=olga role=admin\ncreate as=olga repo=acme/gadgets title=Twin")
	r.write("config.yaml", strings.Replace(r.config(), "scopes: [", "scopes: [{repo: acme/gadgets, kinds: [work_item]}, ", 1))
	_, o := r.why("#1")
	assert.Equal(t, poll.ExitUsage, o.code, o.err)
	assert.Contains(t, o.err, "several entities fit")
	assert.Contains(t, o.err, "acme/gadgets#1")
	assert.Contains(t, o.err, "acme/widgets#1")

	// Roles that cannot be read: undecided, and said why.
	r = newRig(t)
	r.token = "sim-write"
	r.do("create as=olga title=Here labels=bug")
	w, o := r.why("#121")
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.Equal(t, query.VerdictUnknown, w.Scopes[0].Harnesses[0].Verdict)
	assert.NotEmpty(t, w.Scopes[0].Problem)

	// The provider is away: the ledger answers, and says that it is not now.
	r = newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	key := strings.TrimPrefix(r.bugs()[0], "bugs ")
	r.do("fault kind=status status=502")
	w, o = r.why(key)
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.True(t, w.Offline)
	assert.Contains(t, w.Problems[0], "502")
}

func (r *rig) config() string {
	b, err := os.ReadFile(r.dir + "/.fullsend/config.yaml")
	require.NoError(r.t, err)
	return string(b)
}
