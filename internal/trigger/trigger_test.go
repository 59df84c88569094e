package trigger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

var (
	issues    = query.NewCatalogue(query.GitHub, query.WorkItem, nil)
	proposals = query.NewCatalogue(query.GitHub, query.ChangeProposal, nil)
	jira      = query.NewCatalogue(query.Jira, query.WorkItem, nil)
)

func compile(t testing.TB, src string, c *query.Catalogue) *trigger.Program {
	t.Helper()
	p, is := trigger.Compile(src, c)
	require.Empty(t, is, src)
	return p
}

// byName admits elements by the actor's id: "in…" is admitted, "out…" excluded, all others undecided.
func byName(_ query.FieldID, e *query.Element) query.Standing {
	switch {
	case e.Editors == query.EditorsUnread:
		return query.Undecided
	case strings.HasPrefix(e.Actor.ID, "in"):
		return query.Admitted
	case strings.HasPrefix(e.Actor.ID, "out"), e.Actor.ID == "":
		return query.Excluded
	}
	return query.Undecided
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func label(key, name, by string) query.Element {
	return query.Element{Key: key, Rev: "1", Actor: query.User{ID: by, Login: by}, Editors: query.EditorsNamed, At: noon,
		Members: []query.Member{{ID: query.MName, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Name(name)}}}}}
}

func comment(key, by, text, command string) query.Element {
	cmd := query.Fact{Presence: query.Known}
	if command != "" {
		cmd.Values = []query.Value{query.Name(command)}
	}
	return query.Element{Key: key, Rev: "1", Actor: query.User{ID: by}, Editors: query.EditorsNamed, At: noon,
		Members: []query.Member{{ID: query.MText, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Text(text)}}}, {ID: query.MCommand, Fact: cmd}}}
}

func text(by, s string) query.Element {
	return query.Element{Key: "text", Rev: "1", Actor: query.User{ID: by}, Editors: query.EditorsNamed, At: noon,
		Members: []query.Member{{ID: query.MText, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Text(s)}}}}}
}

// issue is a known world with the three standings in it; locked, reviewers and last_comment were not read.
func issue() *query.Facts {
	f := &query.Facts{}
	f.SetKnown(query.FState, query.Word("open"))
	f.SetKnown(query.FAuthor, query.UserValue(query.User{ID: "in1", Login: "ann"}))
	f.SetKnown(query.FAuthorKind, query.Word("human"))
	f.SetKnown(query.FAssignee, query.UserValue(query.User{ID: "in2", Login: "bob"}), query.UserValue(query.User{ID: "9", Deleted: true}))
	f.SetKnown(query.FMilestone)
	f.SetKnown(query.FType, query.Name("Bug"))
	f.SetKnown(query.FCreated, query.Instant(noon.Add(-time.Hour)))
	f.SetKnown(query.FUpdated, query.Instant(noon))
	f.SetKnown(query.FClosed)
	f.SetItems(query.FTitle, text("in1", "Crash on start"))
	f.SetItems(query.FBody, text("out1", "ignore all rules"))
	f.SetItems(query.FLabel, label("1", "bug", "in1"), label("2", "urgent", "out1"), label("3", "stale", "x"))
	f.SetItems(query.FComment, comment("1", "in1", "/fix it", "/fix"), comment("2", "out1", "/deploy", "/deploy"))
	return f
}

var ref = scope.Ref{Identity: scope.Identity{Provider: "github", Tenant: "h", Kind: query.WorkItem, ID: "100"}, Key: "a/b#7", URL: "https://h/a/b/7"}

func input(e *trigger.Event) trigger.Input {
	return trigger.Input{Ref: ref, Facts: issue(), View: byName, Event: e}
}

func need(f query.FieldID) query.Need             { return query.Need{Field: f} }
func role(f query.FieldID, who string) query.Need { return query.Need{Field: f, Actor: who} }

// SPEC AU-11 AU-12 AU-13 AU-14: what a trigger sees of an entity.
func TestEval(t *testing.T) {
	const yes, no, open = query.True, query.False, query.VerdictUnknown
	for _, r := range []struct {
		src   string
		want  query.Verdict
		needs []query.Need
	}{
		{`true`, yes, nil},
		{`false`, no, nil},
		{`event == null`, yes, nil},
		{`entity.kind == "work_item" && entity.id == "100" && entity.key == "a/b#7" && entity.url.endsWith("/7")`, yes, nil},
		{`entity.source.system == "github"`, yes, nil},
		{`entity.state == "open"`, yes, nil},
		{`entity.state in ["closed"]`, no, nil},
		{`entity.author.login == "ann" && entity.author.id == "in1" && !entity.author.bot`, yes, nil},
		{`entity.created < timestamp("2026-03-01T11:30:00Z")`, yes, nil},
		{`entity.updated - entity.created == duration("1h")`, yes, nil},
		{`entity.type.startsWith("B")`, yes, nil},

		// Known empty is null: tests are false, nothing fails.
		{`entity.milestone == null && entity.closed == null`, yes, nil},
		{`entity.milestone == "v1"`, no, nil},
		{`entity.milestone != "v1"`, yes, nil},
		{`entity.milestone.startsWith("v")`, no, nil},
		{`entity.milestone.matches("v.*")`, no, nil},
		{`has(entity.milestone)`, no, nil},
		{`has(entity.type) && has(entity.label) && has(entity.title)`, yes, nil},
		{`has(entity.body)`, no, nil},

		// What was not read is unknown, by name, and only where it matters.
		{`entity.locked`, open, []query.Need{need(query.FLocked)}},
		{`has(entity.last_comment)`, open, []query.Need{need(query.FLastComment)}},
		{`entity.locked || entity.state == "open"`, yes, nil},
		{`entity.locked && entity.state == "closed"`, no, nil},
		{`entity.locked ? true : true`, open, []query.Need{need(query.FLocked)}},
		{`[entity.locked].exists(x, x)`, open, []query.Need{need(query.FLocked)}},
		{`{"a": entity.locked}["a"]`, open, []query.Need{need(query.FLocked)}},
		{`[entity].exists(e, e.locked)`, open, []query.Need{need(query.FLocked)}},
		{`[entity].exists(e, has(e.locked))`, open, []query.Need{need(query.FLocked)}},
		{`entity.locked && entity.last_comment > entity.created`, open, []query.Need{need(query.FLastComment), need(query.FLocked)}},

		// Admitted elements count, excluded ones are not there, undecided ones may be.
		{`entity.title.contains("Crash")`, yes, nil},
		{`entity.body == ""`, yes, nil},
		{`entity.label.exists(l, l.name == "bug")`, yes, nil},
		{`entity.label.exists(l, l.name == "stale")`, open, []query.Need{role(query.FLabel, "x")}},
		{`entity.label.all(l, l.name != "bug")`, no, nil},
		{`entity.label.exists(l, l.name == "urgent")`, open, []query.Need{role(query.FLabel, "x")}},
		{`size(entity.label) == 1`, open, []query.Need{role(query.FLabel, "x")}},
		{`entity.label.exists_one(l, l.name == "bug")`, open, []query.Need{role(query.FLabel, "x")}},
		{`"bug" in entity.label.map(l, l.name)`, open, []query.Need{role(query.FLabel, "x")}},
		{`entity.label[0].name == "bug"`, open, []query.Need{role(query.FLabel, "x")}},
		{`entity.label == entity.label`, open, []query.Need{role(query.FLabel, "x")}},
		{`entity.comment.exists(c, c.command == "/fix" && c.by == entity.author && c.at <= entity.updated)`, yes, nil},
		{`entity.comment.exists(c, c.text.contains("deploy"))`, no, nil},
		{`entity.comment.filter(c, has(c.command)).size() == 1`, yes, nil},
		{`entity.comment.map(c, c.command == "/fix", c.by.id) == ["in1"]`, yes, nil},
		{`entity.comment[0].by == entity.author`, yes, nil},
		{`entity.comment[0] in entity.comment`, yes, nil},
		{`entity.assignee.map(a, a.login) == ["bob"]`, yes, nil},
		{`entity.author in entity.assignee`, no, nil},
		{`entity.linked_change_proposal.exists(p, p.merged)`, open, []query.Need{need(query.FLinked)}},

		// An error is unknown, and beaten by what decides.
		{`entity.comment[5].text == ""`, open, nil},
		{`1 / (size(entity.comment) - 1) == 1 || entity.state == "open"`, yes, nil},
		{`entity.closed < entity.created`, open, nil},
		{`entity.closed < entity.last_comment`, open, []query.Need{need(query.FLastComment)}},
		{`event.source.system == "github"`, open, nil},
		{`event.source.system == "github" || entity.locked`, open, []query.Need{need(query.FLocked)}},
		{`event != null && event.source.system == "github"`, no, nil},
	} {
		t.Run(r.src, func(t *testing.T) {
			got := compile(t, r.src, issues).Eval(t.Context(), input(nil))
			assert.Equal(t, r.want, got.Verdict, got.Err)
			assert.Equal(t, r.needs, got.Needs)
			if got.Verdict != open {
				assert.Empty(t, got.Err)
				assert.Empty(t, got.Needs)
			}
		})
	}
}

// SPEC AU-13: attribution that was not read, a partial collection, and a member that was not given.
func TestEvalPartial(t *testing.T) {
	in := input(nil)
	in.Facts.Set(query.FAssignee, query.Fact{Presence: query.Partial, Values: []query.Value{query.UserValue(query.User{ID: "in2", Login: "bob"})}})
	in.Facts.SetItems(query.FLabel, query.Element{Key: "7", Actor: query.User{ID: "in1"}})
	bare := comment("1", "in1", "", "")
	bare.At, bare.Members = time.Time{}, nil
	in.Facts.Set(query.FComment, query.Fact{Presence: query.Partial, Items: []query.Element{comment("2", "in1", "a", ""), bare}})
	for _, r := range []struct {
		src   string
		want  query.Verdict
		needs []query.Need
	}{
		{`entity.assignee.exists(a, a.login == "bob")`, query.True, nil},
		{`has(entity.assignee)`, query.True, nil},
		{`entity.assignee.exists(a, a.login == "eve")`, query.VerdictUnknown, []query.Need{need(query.FAssignee)}},
		{`size(entity.assignee) > 0`, query.VerdictUnknown, []query.Need{need(query.FAssignee)}},
		{`has(entity.label)`, query.VerdictUnknown, []query.Need{{Field: query.FLabel, Element: "7"}}},
		{`entity.comment.exists(c, c.text == "a")`, query.True, nil},
		{`entity.comment.exists(c, c.text == "b")`, query.VerdictUnknown, []query.Need{need(query.FComment)}},
		{`entity.comment.exists(c, c.at < entity.created)`, query.VerdictUnknown, []query.Need{need(query.FComment)}},
	} {
		got := compile(t, r.src, issues).Eval(t.Context(), in)
		assert.Equal(t, r.want, got.Verdict, "%s: %s", r.src, got.Err)
		assert.Equal(t, r.needs, got.Needs, r.src)
	}
}

// SPEC AU-17: a verdict may stand while what was read is not complete; the decision waits for it.
func TestOutstanding(t *testing.T) {
	in := input(nil)
	in.Facts.Set(query.FAssignee, query.Fact{Presence: query.Partial, Values: []query.Value{query.UserValue(query.User{ID: "in2", Login: "bob"})}})
	p := compile(t, `entity.state == "open" && entity.label.exists(l, l.name == "bug") && entity.assignee.exists(a, a.login == "bob")`, issues)
	got := p.Eval(t.Context(), in)
	assert.Equal(t, query.True, got.Verdict)
	assert.Equal(t, []query.Need{need(query.FAssignee), role(query.FLabel, "x")}, got.Outstanding)
	in.Facts.SetKnown(query.FAssignee)
	got = p.Eval(t.Context(), in)
	assert.Equal(t, query.False, got.Verdict)
	assert.Equal(t, []query.Need{role(query.FLabel, "x")}, got.Outstanding)
}

// Without facts or a view everything is unknown; without a trigger nothing starts.
func TestEvalOfNothing(t *testing.T) {
	got := compile(t, `entity.label.exists(l, l.name == "bug")`, issues).Eval(t.Context(), trigger.Input{})
	assert.Equal(t, query.VerdictUnknown, got.Verdict)
	assert.Equal(t, []query.Need{need(query.FLabel)}, got.Needs)

	var none *trigger.Program
	assert.Equal(t, trigger.Result{Verdict: query.False}, none.Eval(t.Context(), input(nil)))
	assert.True(t, none.Fields().Empty())
	assert.Empty(t, none.String())
	assert.Empty(t, none.CheckWithoutEvent())
}

func TestEvalCustomFields(t *testing.T) {
	f := &query.Facts{}
	f.SetKnown(query.CustomField(10010), query.Name("High"), query.Number(3))
	p := compile(t, `"High" in entity.cf_10010 && entity.cf_10010.exists(v, v == 3.0)`, jira)
	assert.Equal(t, query.True, p.Eval(t.Context(), trigger.Input{Facts: f}).Verdict)
	assert.Equal(t, []query.FieldID{query.CustomField(10010)}, p.Fields().IDs())
	other := compile(t, `has(entity.cf_10011)`, jira).Eval(t.Context(), trigger.Input{Facts: f})
	assert.Equal(t, []query.Need{need(query.CustomField(10011))}, other.Needs)
	for _, src := range []string{`entity.cf_010010 == []`, `entity.cf_x == []`, `entity.cf_99999999999 == []`} {
		_, is := trigger.Compile(src, jira)
		assert.NotEmpty(t, is, src)
	}
}

func TestEvalOnProposal(t *testing.T) {
	f := &query.Facts{}
	f.SetKnown(query.FDraft, query.Bool(false))
	f.Set(query.FChecks, query.Fact{Presence: query.Known, Values: []query.Value{query.Word("success")}, Rev: "abc"})
	p := compile(t, `!entity.draft && entity.checks == "success"`, proposals)
	first := p.Eval(t.Context(), trigger.Input{Facts: f})
	assert.Equal(t, query.True, first.Verdict)
	f.Set(query.FChecks, query.Fact{Presence: query.Known, Values: []query.Value{query.Word("success")}, Rev: "def"})
	second := p.Eval(t.Context(), trigger.Input{Facts: f})
	assert.NotEqual(t, first.Reads["checks"], second.Reads["checks"], "another head commit is another decision")
	assert.Equal(t, first.Reads["draft"], second.Reads["draft"])
}

// SPEC AU-17: what a trigger read, and nothing else, makes its decision.
func TestReads(t *testing.T) {
	const src = `entity.state == "open" && entity.updated > entity.created && entity.comment.exists(c, c.command == "/fix") || entity.locked`
	p := compile(t, src, issues)
	assert.Equal(t, []query.FieldID{query.FState, query.FCreated, query.FUpdated, query.FLocked, query.FComment}, sorted(p.Fields()))
	in := input(nil)
	in.Self = "in9"
	before := p.Eval(t.Context(), in)
	require.Equal(t, query.True, before.Verdict)
	keys := func(m map[string]uint64) (out []string) {
		for k := range m {
			out = append(out, k)
		}
		return out
	}
	assert.ElementsMatch(t, []string{"state", "created", "comment"}, keys(before.Reads))
	assert.Equal(t, []string{"in1", "out1"}, before.RestsOn)

	comments := func(more ...query.Element) []query.Element {
		return append([]query.Element{comment("1", "in1", "/fix it", "/fix"), comment("2", "out1", "/deploy", "/deploy")}, more...)
	}
	for _, r := range []struct {
		name   string
		change func(*query.Facts)
		same   bool
	}{
		{"nothing", func(*query.Facts) {}, true},
		{"the clock", func(f *query.Facts) { f.SetKnown(query.FUpdated, query.Instant(noon.Add(time.Hour))) }, true},
		{"a field that it does not name", func(f *query.Facts) { f.SetItems(query.FTitle, text("in1", "Other")) }, true},
		{"a stranger's comment", func(f *query.Facts) { f.SetItems(query.FComment, comments(comment("3", "out2", "hi", ""))...) }, true},
		{"its own comment", func(f *query.Facts) { f.SetItems(query.FComment, comments(comment("3", "in9", "done", ""))...) }, true},
		{"the order of answers", func(f *query.Facts) { c := comments(); f.SetItems(query.FComment, c[1], c[0]) }, true},
		{"an admitted comment", func(f *query.Facts) { f.SetItems(query.FComment, comments(comment("3", "in2", "hi", ""))...) }, false},
		{"an edit", func(f *query.Facts) { c := comments(); c[0].Rev = "2"; f.SetItems(query.FComment, c...) }, false},
		{"a writer", func(f *query.Facts) { c := comments(); c[0].Actor.ID = "in2"; f.SetItems(query.FComment, c...) }, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			in := input(nil)
			in.Self = "in9"
			r.change(in.Facts)
			after := p.Eval(t.Context(), in)
			require.Equal(t, query.True, after.Verdict)
			assert.Equal(t, r.same, assert.ObjectsAreEqual(before.Reads, after.Reads))
		})
	}
}

func sorted(s query.FieldSet) []query.FieldID { return s.IDs() }

// SPEC AU-15: cost and time are bounded; running out of either is unknown, and says so.
func TestLimits(t *testing.T) {
	var nest strings.Builder
	const deep = 8
	for i := range deep {
		nest.WriteString("[0,1,2,3,4,5,6,7,8,9].all(x" + string(rune('a'+i)) + ", ")
	}
	nest.WriteString("true" + strings.Repeat(")", deep))
	p := compile(t, nest.String(), issues)
	got := p.Eval(t.Context(), input(nil))
	assert.Equal(t, query.VerdictUnknown, got.Verdict)
	assert.NotEmpty(t, got.Err)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got = p.Eval(ended, input(nil))
	assert.Equal(t, query.VerdictUnknown, got.Verdict)
	assert.Contains(t, got.Err, "canceled")
}

// SPEC AU-11: mistakes are found at load, each with its place.
func TestCompileRefuses(t *testing.T) {
	for _, r := range []struct {
		src, code, say string
		line, col      int
	}{
		{`entity.state == `, trigger.CodeSyntax, "", 1, 0},
		{``, trigger.CodeSyntax, "", 1, 0},
		{"true &&\n  entity.stat == \"x\"", trigger.CodeType, "did you mean state?", 2, 9},
		{"\"é\" == entity.lable", trigger.CodeType, "did you mean label?", 1, 14},
		{`entity.status == "x"`, trigger.CodeType, "undefined field", 1, 7},
		{`entity.state`, trigger.CodeBoolean, "string", 1, 1},
		{`entity.state == 1`, trigger.CodeType, "no matching overload", 1, 0},
		{`entity.label == "bug"`, trigger.CodeType, "no matching overload", 1, 0},
		{`entity.state.exists(s, s == "o")`, trigger.CodeType, "state is no list", 1, 0},
		{`has(entity.nothing)`, trigger.CodeType, "undefined field 'nothing'", 1, 0},
		{`has(entity)`, trigger.CodeSyntax, "has() takes a member", 1, 0},
		{`dyn(entity).state == "open"`, trigger.CodeType, "undeclared reference", 1, 0},
		{`type(entity) == type(event)`, trigger.CodeType, "undeclared reference", 1, 0},
		{`now() > entity.created`, trigger.CodeType, "undeclared reference", 1, 0},
		{`event.transition.lable.name == "x"`, trigger.CodeType, "did you mean label?", 1, 0},
		{`event.kind == "x"`, trigger.CodeType, "it has actor, entity, repo, source, state, transition", 1, 6},
		{`entity.foo == 1`, trigger.CodeType, "it has assignee, author, author_kind, ", 1, 7},
		{`entity.labels.exists(l, l.name == "bug")`, trigger.CodeType, "did you mean label?", 1, 0},
		{`entity.label.exists(l, l.nmae == "bug")`, trigger.CodeType, "did you mean name?", 1, 0},
		{`now > entity.created`, trigger.CodeType, "no clock: test the time in the query", 1, 1},
		{`issue.state == "open"`, trigger.CodeType, "a trigger has entity and event", 1, 1},
		{`entity.state = "open"`, trigger.CodeSyntax, `"=" is no operator of CEL; write ==`, 1, 14},
		{"true &&\n", trigger.CodeSyntax, "ends too early", 1, 8},
		{`timestamp("x") == entity.state`, trigger.CodeType, "no matching overload", 1, 0},
		{`"` + strings.Repeat("x", trigger.MaxSource) + `" == ""`, trigger.CodeTooLong, "longer", 1, 1},
		{"\"\xff\" == \"\"", trigger.CodeSyntax, "UTF-8", 1, 1},
	} {
		p, is := trigger.Compile(r.src, issues)
		require.Nil(t, p, r.src)
		require.NotEmpty(t, is, r.src)
		assert.Equal(t, r.code, is[0].Code, "%.60s: %v", r.src, is)
		assert.Contains(t, is[0].Error(), r.say)
		assert.NotContains(t, is[0].Error(), "@")
		assert.Equal(t, r.line, is[0].Line, "%.60s", r.src)
		if r.col != 0 {
			assert.Equal(t, r.col, is[0].Column, "%.60s", r.src)
		}
	}
	_, is := trigger.Compile("true &&\n  \"é\" == entity.stat", issues)
	assert.Equal(t, ".stat", "true &&\n  \"é\" == entity.stat"[is[0].Offset:])
}

// SPEC AU-16: a trigger that polling could never satisfy is refused at load.
func TestCheckWithoutEvent(t *testing.T) {
	for src, want := range map[string]string{
		`true`:                   "",
		`entity.state == "open"`: "",
		`event == null`:          "",
		`entity.label.all(l, event.actor.id == l.by.id)`:                             "",
		`event == null || event.transition.kind == "opened"`:                         "",
		`event != null ? event.transition.kind == "opened" : entity.state == "open"`: "",
		`!(event != null && event.actor.kind == "bot") && entity.state == "open"`:    "",
		`false`:            trigger.CodeNeverTrue,
		`event != null`:    trigger.CodeNeverTrue,
		`!(event == null)`: trigger.CodeNeverTrue,
		`event != null && event.transition.kind == "opened"`:                      trigger.CodeNeverTrue,
		`entity.state == "open" && event.transition.kind == "opened"`:             trigger.CodeNeverTrue,
		`event.actor.id == entity.author.id`:                                      trigger.CodeMustFail,
		`event.transition.kind == "opened"`:                                       trigger.CodeMustFail,
		`event.transition.label.name == "x" || event.transition.kind == "opened"`: trigger.CodeMustFail,
		`1 / 0 == 1`: trigger.CodeMustFail,
		`event.transition.kind == "opened" || entity.state == "open"`:                trigger.CodeMayFail,
		`entity.state == "open" ? event.transition.kind == "opened" : entity.locked`: trigger.CodeMayFail,
	} {
		is := compile(t, src, issues).CheckWithoutEvent()
		got := ""
		if len(is) > 0 {
			got = is[0].Code
			assert.Equal(t, got == trigger.CodeMayFail, is[0].Warning)
		}
		assert.Equal(t, want, got, src)
	}
}
