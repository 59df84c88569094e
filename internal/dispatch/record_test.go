package dispatch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// SPEC RE-1: a record carries the delivery and its evidence unchanged.
func TestNew(t *testing.T) {
	r, err := dispatch.New(delivery(evidence()), frame)
	require.NoError(t, err)
	assert.Equal(t, evidence(), r.Evidence)
	assert.Equal(t, "dispatch/v1", r.Schema)
	assert.Equal(t, "v1-draft", r.Spec)
	assert.Equal(t, dispatch.Entity{Provider: "forgejo", Tenant: "h", Kind: "work_item", ID: "100", Key: "acme/widgets#7", URL: "https://h/acme/widgets/issues/7"}, r.Entity)
	assert.Equal(t, dispatch.Scope{Provider: "forgejo", Tenant: "h", Container: "17", Kind: "work_item", Account: "5"}, r.Scope)
	assert.Equal(t, noon, r.Time)

	line, err := dispatch.Line(&r)
	require.NoError(t, err)
	var back dispatch.Record
	require.NoError(t, json.Unmarshal(line, &back))
	assert.Equal(t, r, back)

	d := delivery(evidence())
	d.Evidence = []byte("{")
	_, err = dispatch.New(d, frame)
	require.ErrorContains(t, err, d.Key)
}

// SPEC RE-5.
func TestSubjectAndGroup(t *testing.T) {
	issue := scope.Identity{Provider: "github", Tenant: "h", Kind: query.WorkItem, ID: "100"}
	proposal := scope.Identity{Provider: "github", Tenant: "h", Kind: query.ChangeProposal, ID: "200"}
	assert.Equal(t, dispatch.Subject{System: "github", Kind: query.WorkItem, ID: "100"}, dispatch.SubjectOf(issue, ""))
	assert.Equal(t, dispatch.SubjectOf(proposal, ""), dispatch.SubjectOf(issue, "200"), "an issue and its proposal are one subject")
	assert.Equal(t, dispatch.Subject{System: "github", Kind: query.ChangeProposal, ID: "200"}, dispatch.SubjectOf(proposal, "300"))

	a := dispatch.Record{Harness: "a|b", Target: "c", Subject: dispatch.SubjectOf(issue, "")}
	b := dispatch.Record{Harness: "a", Target: "b|c", Subject: dispatch.SubjectOf(issue, "")}
	assert.NotEqual(t, a.Group(), b.Group())
	a.Harness, b.Target = "a", "c"
	assert.Equal(t, a.Group(), b.Group())
}

func TestTerms(t *testing.T) {
	c := query.NewCatalogue(query.Forgejo, query.WorkItem, nil)
	long := strings.Repeat("é", 200)
	got := dispatch.Terms(query.Support{Terms: []query.Term{
		{Test: "state = open", Field: query.FState, Values: []query.Value{query.Word("open")}},
		{Test: "a", Field: query.FAssignee, Values: []query.Value{query.UserValue(query.User{ID: "7"}), query.Bool(true), query.Number(1.5), query.Instant(noon), query.Date(noon), query.Text(long)}},
		{Test: "b", Field: query.FLabel, Elements: []query.Element{{Key: "1", Rev: "2", Actor: query.User{ID: "7", Login: "wren"}, At: noon}}},
		{Test: "c", Field: query.FChecks, Rev: "abc"},
	}}, c)
	require.Len(t, got, 4)
	assert.Equal(t, dispatch.Term{Test: "state = open", Field: "state", Values: []string{"open"}}, got[0])
	assert.Equal(t, []string{"id:7", "true", "1.5", "2026-03-01T12:00:00Z", "2026-03-01"}, got[1].Values[:5])
	assert.Equal(t, strings.Repeat("é", 128)+"…", got[1].Values[5])
	assert.Equal(t, []dispatch.Element{{Key: "1", Rev: "2", Actor: "7", Login: "wren", At: noon}}, got[2].Elements)
	assert.Equal(t, "abc", got[3].Rev)
}

// SPEC RE-3: an account of which nothing is proven is not passed over in silence.
func TestActors(t *testing.T) {
	b := admission.New(admission.Config{})
	b.Learn([]adapters.Finding{{Actor: query.User{ID: "7"}, Role: adapters.Write, Verified: true, Endpoint: "permission", At: noon}})
	got := dispatch.Actors(b, []string{"7", "8"})
	require.Len(t, got, 2)
	assert.Equal(t, "write", got[0].Role)
	assert.Equal(t, admission.Evidence{Actor: "8", Why: "not looked up"}, got[1])
}

// SPEC RE-7: nothing that a provider said can leave its line, its string or its place on a terminal.
func TestLineIsHarmless(t *testing.T) {
	r, err := dispatch.New(delivery(evidence()), frame)
	require.NoError(t, err)
	evil := "a\nb\r\x1b[31m\x00\u0085\u202e\u200b\u2028\U000e0041 ::error::x ##[error]y <script> \xff"
	r.Entity.Key, r.Queries[0].Support[0].Values = evil, []string{evil}
	r.Queries[0].Trace, err = json.Marshal(map[string]string{"title": evil})
	require.NoError(t, err)
	line, err := dispatch.Line(&r)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(line), "\n"))
	assert.True(t, strings.HasSuffix(string(line), "}\n"))
	for _, c := range strings.TrimSuffix(string(line), "\n") {
		assert.False(t, c < ' ' || c == 0x85 || c == 0x202e || c == 0x200b || c == 0x2028 || c == 0xe0041, "%U", c)
	}
	assert.NotContains(t, string(line), "##[")
	assert.True(t, strings.HasPrefix(string(line), "{"), "no runner command begins the line")
	var back dispatch.Record
	require.NoError(t, json.Unmarshal(line, &back))
	assert.Equal(t, strings.ToValidUTF8(evil, "\ufffd"), back.Entity.Key)
	back = dispatch.Record{}

	r.Queries[0].Trace = json.RawMessage(`"` + strings.Repeat("x", dispatch.MaxLine) + `"`)
	line, err = dispatch.Line(&r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &back))
	assert.Nil(t, back.Queries[0].Trace, "a trace that is too long is left out")
	assert.NotNil(t, r.Queries[0].Trace)

	r.Entity.Key = strings.Repeat("x", dispatch.MaxLine)
	_, err = dispatch.Line(&r)
	require.ErrorContains(t, err, r.Key)
}

func FuzzLine(f *testing.F) {
	f.Add("a\nb", "##[x")
	f.Add("\u202e", "#\\u0023[")
	f.Fuzz(func(t *testing.T, key, value string) {
		r, err := dispatch.New(delivery(evidence()), frame)
		require.NoError(t, err)
		r.Entity.Key, r.Queries[0].Query = key, value
		line, err := dispatch.Line(&r)
		if err != nil {
			return
		}
		var back dispatch.Record
		if json.Unmarshal(line, &back) != nil || strings.Count(string(line), "\n") != 1 {
			t.Fatalf("not one line of JSON: %q", line)
		}
		plain, _ := json.Marshal(r)
		var want dispatch.Record
		require.NoError(t, json.Unmarshal(plain, &want))
		require.Equal(t, want, back, "escaping changes nothing that is said")
	})
}
