package trigger_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// Field report B073: one trigger that cannot be evaluated concerns its own harness alone, and is not a no.
func TestOneBrokenTrigger(t *testing.T) {
	var got []query.Verdict
	for _, src := range []string{`entity.state == "open"`, `entity.comment[7].text == "x"`, `entity.label.exists(l, l.name == "bug")`} {
		got = append(got, compile(t, src, issues).Eval(t.Context(), input(nil)).Verdict)
	}
	assert.Equal(t, []query.Verdict{query.True, query.VerdictUnknown, query.True}, got)
}

// Field report B074: a member below something missing is a mistake found at load, or reads as empty.
func TestNestedMembers(t *testing.T) {
	_, is := trigger.Compile(`has(entity.parent.fields.priority)`, jira)
	assert.NotEmpty(t, is, "a parent is a name and has no members")
	e := event(t, `{"source": {"system": "manual"}, "entity": {"kind": "work_item", "key": "P-1"}}`)
	for _, src := range []string{`has(event.transition.label.name)`, `event.transition.label.name == "x"`, `has(event.entity.linked_change_proposal.id)`} {
		got := compile(t, src, jira).Eval(t.Context(), trigger.Input{Event: e})
		assert.Equal(t, query.False, got.Verdict, src)
	}
	lone := query.NewCatalogue(query.GitHub, query.WorkItem, nil)
	f := &query.Facts{}
	f.SetKnown(query.FAuthor, query.UserValue(query.User{ID: "9", Login: "ghost", Deleted: true}))
	got := compile(t, `entity.author.login == "ghost" || entity.author.id == "9"`, lone).Eval(t.Context(), trigger.Input{Facts: f})
	assert.Equal(t, query.False, got.Verdict, "a deleted account equals nobody")
}

// Field report B075: null, absent and not read are three things; an upgrade of cel-go must keep this table.
func TestNullAbsentUnread(t *testing.T) {
	empty, unread := &query.Facts{}, &query.Facts{}
	empty.SetKnown(query.FMilestone)
	unread.Set(query.FMilestone, query.Fact{Why: "status 502"})
	for _, r := range []struct {
		src                   string
		empty, absent, unread query.Verdict
	}{
		{`entity.milestone == "v1"`, query.False, query.VerdictUnknown, query.VerdictUnknown},
		{`entity.milestone == null`, query.True, query.VerdictUnknown, query.VerdictUnknown},
		{`has(entity.milestone)`, query.False, query.VerdictUnknown, query.VerdictUnknown},
		{`entity.milestone.startsWith("v")`, query.False, query.VerdictUnknown, query.VerdictUnknown},
		{`entity.milestone in ["v1"]`, query.False, query.VerdictUnknown, query.VerdictUnknown},
		{`entity.milestone == "v1" || true`, query.True, query.True, query.True},
	} {
		p := compile(t, r.src, issues)
		for facts, want := range map[*query.Facts]query.Verdict{empty: r.empty, {}: r.absent, unread: r.unread} {
			assert.Equal(t, want, p.Eval(t.Context(), trigger.Input{Facts: facts}).Verdict, r.src)
		}
	}
}

// SPEC AU-17: a ledger keeps digests over upgrades. If this fails, what every trigger read is a change at the next
// cycle: that needs a reason, and a word in the notes of the release.
func TestDigestsStay(t *testing.T) {
	p := compile(t, `entity.state == "open" && entity.created < entity.updated && entity.author in entity.assignee || has(entity.label)`, issues)
	assert.Equal(t, map[string]uint64{
		"assignee": 0x9a419063ba2211e1, "author": 0x180d27961c76d8d7, "created": 0xcba3ba224528e639,
		"label": 0x12079c2944759989, "state": 0xe4b939826ffadffb,
	}, p.Eval(t.Context(), input(nil)).Reads)
}
