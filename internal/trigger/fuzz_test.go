package trigger_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`true`, `entity.label.exists(l, l.name == "bug")`, `event != null && event.transition.label.name == "x"`, `has(entity.milestone)`,
		`entity.cf_1 == []`, `entity.state@has`, `[1].map(x, x > 0, x)`, "\x00", `{"a": entity}.a.state == b"x"`, `entity.label[entity.comment[0]]`, `entity.type.matches("(")`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []*query.Catalogue{issues, jira} {
			p, is := trigger.Compile(s, c)
			if (p == nil) != (len(is) > 0) {
				t.Fatalf("program %v with issues %v", p, is)
			}
			for _, i := range is {
				if i.Offset < 0 || i.Offset > len(s) || i.Line < 1 || i.Column < 1 {
					t.Fatalf("place %+v lies outside", i)
				}
			}
			if p == nil {
				continue
			}
			p.CheckWithoutEvent()
			r := p.Eval(t.Context(), input(nil))
			if r.Verdict != query.VerdictUnknown && (r.Err != "" || len(r.Needs) > 0) {
				t.Fatalf("decided with %+v", r)
			}
		}
	})
}

func FuzzDecodeEvent(f *testing.F) {
	for _, s := range []string{labelled, `{}`, `null`, `{"entity":{"id":"\ud800"}}`, `{"actor":{"Role":"admin","role":"x"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := trigger.DecodeEvent(bytes.NewReader(b))
		if err != nil {
			return
		}
		if e.Actor.Role != "" || e.Actor.RoleVerified || e.Actor.BotRole != "" || e.Actor.IsEntityAuthor {
			t.Fatalf("claims were believed: %+v", e.Actor)
		}
	})
}

// SPEC AU-13: no verdict over less is overturned by knowing more.
func TestMoreKnowledgeOverturnsNothing(t *testing.T) {
	leaves := []string{
		`entity.locked`, `entity.state == "open"`, `has(entity.milestone)`, `entity.milestone.startsWith("v")`, `entity.title.contains("a")`,
		`entity.label.exists(l, l.name == "bug")`, `entity.label.all(l, l.by.id == "in1")`, `size(entity.label) == 1`, `entity.label.exists_one(l, l.name == "bug")`,
		`entity.label.filter(l, l.name == "bug").size() > 0`, `entity.label.map(l, l.name) == ["bug"]`, `entity.label[0].name == "bug"`,
		`entity.comment.exists(c, entity.label.exists(l, l.by == c.by))`, `has(entity.comment)`, `entity.assignee.exists(a, a.login == "bob")`, `entity.author in entity.assignee`,
		`event == null`, `entity.closed > entity.created`,
		// Conditions that do not look at the element: how many there are is all that counts.
		`entity.label.exists(l, true)`, `entity.label.all(l, false)`, `entity.label.exists(l, entity.locked)`, `entity.label.map(l, 1) == [1]`,
		`entity.label.exists_one(l, true)`, `entity.label.filter(l, true).size() == 1`, `entity.label.map(l, true, 1) == [1]`,
		`entity.assignee.all(a, 1 / 0 == 1)`, `entity.label.all(l, event.actor.id == l.by.id)`,
	}
	programs := map[string]*trigger.Program{}
	rapid.Check(t, func(t *rapid.T) {
		src := expression(t, leaves, 3)
		p := programs[src]
		if p == nil {
			var is []trigger.Issue
			if p, is = trigger.Compile(src, issues); p == nil {
				t.Fatal(src, is)
			}
			programs[src] = p
		}
		full := world(t)
		less := forget(t, full)
		before := p.Eval(t.Context(), trigger.Input{Ref: ref, Facts: less, View: byName})
		after := p.Eval(t.Context(), trigger.Input{Ref: ref, Facts: full, View: resolved})
		if before.Verdict != query.VerdictUnknown && after.Err == "" && before.Verdict != after.Verdict {
			t.Fatalf("%s: %v, then %v", src, before.Verdict, after.Verdict)
		}
		if before.Verdict == query.VerdictUnknown && before.Err == "" && len(before.Needs) == 0 {
			t.Fatalf("%s: unknown, and nothing would decide it", src)
		}
	})
}

func expression(t *rapid.T, leaves []string, depth int) string {
	op := rapid.IntRange(0, 4).Draw(t, "op")
	if depth == 0 || op == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	sub := func() string { return "(" + expression(t, leaves, depth-1) + ")" }
	switch op {
	case 1:
		return sub() + " && " + sub()
	case 2:
		return sub() + " || " + sub()
	case 3:
		return "!" + sub()
	}
	return sub() + " ? " + sub() + " : " + sub()
}

// world is complete but for its undecided writers, m0 and m1.
func world(t *rapid.T) *query.Facts {
	f := &query.Facts{}
	f.SetKnown(query.FLocked, query.Bool(rapid.Bool().Draw(t, "locked")))
	f.SetKnown(query.FState, query.Word(rapid.SampledFrom([]string{"open", "closed"}).Draw(t, "state")))
	f.SetKnown(query.FMilestone)
	if rapid.Bool().Draw(t, "milestone") {
		f.SetKnown(query.FMilestone, query.Name("v1"))
	}
	f.SetKnown(query.FAuthor, query.UserValue(query.User{ID: "in1"}))
	f.SetKnown(query.FAssignee, query.UserValue(query.User{ID: rapid.SampledFrom([]string{"in1", "in2"}).Draw(t, "assignee"), Login: "bob"}))
	f.SetKnown(query.FCreated, query.Instant(noon))
	f.SetKnown(query.FClosed, query.Instant(noon.Add(1)))
	writer := rapid.SampledFrom([]string{"in1", "out1", "m0", "m1"})
	f.SetItems(query.FTitle, text(writer.Draw(t, "title"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "text")))
	var labels, comments []query.Element
	for i := range rapid.IntRange(0, 3).Draw(t, "labels") {
		labels = append(labels, label(fmt.Sprint(i), rapid.SampledFrom([]string{"bug", "x"}).Draw(t, "name"), writer.Draw(t, "by")))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "comments") {
		comments = append(comments, comment(fmt.Sprint(i), writer.Draw(t, "by"), "", ""))
	}
	f.SetItems(query.FLabel, labels...)
	f.SetItems(query.FComment, comments...)
	return f
}

// resolved decides the writers whom byName does not: m0 in, m1 out.
func resolved(f query.FieldID, e *query.Element) query.Standing {
	if s := byName(f, e); s != query.Undecided {
		return s
	}
	if strings.HasSuffix(e.Actor.ID, "0") {
		return query.Admitted
	}
	return query.Excluded
}

func forget(t *rapid.T, f *query.Facts) *query.Facts {
	less := *f
	for _, id := range []query.FieldID{query.FLocked, query.FState, query.FMilestone, query.FAssignee, query.FTitle, query.FLabel, query.FComment, query.FAuthor} {
		fact := *f.Get(id)
		switch rapid.IntRange(0, 3).Draw(t, "forget") {
		case 0:
			less.Set(id, query.Fact{})
		case 1:
			if n := len(fact.Items); n > 0 && id != query.FTitle {
				less.Set(id, query.Fact{Presence: query.Partial, Items: fact.Items[:n-1]})
			}
		}
	}
	return &less
}
