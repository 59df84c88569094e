package query_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fullsend-ai/discovery/query"
)

// SPEC FA-8
func TestImplies(t *testing.T) {
	const yes, no = true, false
	cases := []struct {
		newText, oldText string
		implies          bool
	}{
		{`state = open`, `state = open`, yes},
		{`state = open and label = "bug"`, `label = "BUG" and state = open`, yes},
		{`state = open and label = "bug"`, `state = open`, yes},
		{`state = open`, `state = open and label = "bug"`, no},
		{`state = open`, `state = open or label = "bug"`, yes},
		{`state = open or label = "bug"`, `state = open`, no},
		{`(state = open and label = "a") or (state = open and label = "b")`, `state = open`, yes},
		{`label = "a"`, `label in ("b", "a")`, yes},
		{`label in ("b", "a")`, `label = "a"`, no},
		{`label not in ("b", "a")`, `label != "a"`, yes},
		{`label != "a"`, `label not in ("b", "a")`, no},
		{`label = "area/x"`, `label starts with "area/"`, yes},
		{`label starts with "area/x"`, `label starts with "AREA/"`, yes},
		{`label starts with "area/"`, `label starts with "area/x"`, no},
		{`label = "a"`, `label is not empty`, yes},
		{`label is empty`, `label != "a"`, yes},
		{`label != "a"`, `label is empty`, no},
		{`title starts with "fix it"`, `title contains "FIX"`, yes},
		{`title contains "fix"`, `title contains "fix it"`, no},
		{`milestone = "m1"`, `milestone is not empty`, yes},
		{`milestone != "m1"`, `milestone is not empty`, no},
		{`milestone = "m1"`, `assignee is not empty`, no},
		{`not (state = open or label = "a")`, `not state = open`, yes},
		{`not state = open`, `not (state = open or label = "a")`, no},
		{`assignee = "alice"`, `assignee in ("Alice", "bob")`, yes},
		{`assignee = "id:1"`, `assignee = "1"`, no},
		{`updated < now - 2d`, `updated < now - 1d`, yes},
		{`updated < now - 1d`, `updated < now - 2d`, no},
		{`updated > now - 1d`, `updated >= now - 2d`, yes},
		{`updated <= now - 2d`, `updated < now - 1d`, yes},
		{`updated <= now - 1d`, `updated < now - 1d`, no},
		{`updated < 2025-01-01T00:00:00Z`, `updated <= 2025-01-01T00:00:00Z`, yes},
		{`updated < 2025-01-01T00:00:00Z`, `updated < now`, no},
		{`updated < last_comment`, `updated <= last_comment`, yes},
		{`updated < last_comment`, `updated < closed`, no},
		{`due = 2025-01-01`, `due < 2025-01-02`, yes},
		{`due = now`, `due <= now`, yes},
		{`due = now`, `due < now + 1h`, no}, // both may be the same day
		{`due <= now`, `due < now + 12h`, no},
		{`any comment(by = "alice" and command = "/fs-fix")`, `any comment(command = "/fs-fix")`, yes},
		{`any comment(command = "/fs-fix")`, `any comment(by = "alice" and command = "/fs-fix")`, no},
		{`no comment(command = "/fs-fix")`, `no comment(by = "alice" and command = "/fs-fix")`, yes},
		{`no comment(by = "alice" and command = "/fs-fix")`, `no comment(command = "/fs-fix")`, no},
		{`any comment(by = self and command = "/fs-fix")`, `any comment(command = "/fs-fix")`, no}, // only the first admits self
		{`any comment(by = self and command = "/fs-fix")`, `any comment(by = self)`, yes},
		{`no comment(command = "/fs-fix")`, `no comment(by = self and command = "/fs-fix")`, no},
	}
	cat := query.NewCatalogue(query.GitLab, query.WorkItem, nil)
	for _, c := range cases {
		t.Run(c.newText+" => "+c.oldText, func(t *testing.T) {
			a, b := bindText(t, "v1: "+c.newText, cat, "5"), bindText(t, "v1: "+c.oldText, cat, "5")
			assert.Equal(t, c.implies, query.Implies(a, b))
			assert.True(t, query.Implies(a, a))
		})
	}
}

func TestQueriesOfOtherKindsImplyNothing(t *testing.T) {
	a := bindText(t, "v1: state = open", query.NewCatalogue(query.GitLab, query.WorkItem, nil), "")
	b := bindText(t, "v1: state = open", query.NewCatalogue(query.GitLab, query.ChangeProposal, nil), "")
	assert.False(t, query.Implies(a, b))
}

// SPEC FA-7
func TestNecessaryChoosesTheMostSelectiveBranch(t *testing.T) {
	cases := []struct {
		text    string
		anchors []string
	}{
		{`state = open and label in ("a", "b") and not label = "c"`, []string{`any label(name in ("a", "b"))`}},
		{`state = open`, []string{`state = open`}},
		{`not state = open`, nil},
		{`not state != open`, []string{`state = open`}},
		{`label = "a" or author = "alice"`, []string{`any label(name = "a")`, `author = "alice"`}},
		{`label = "a" or updated < now - 1d`, nil},
		{`(label = "a" or label = "b") and (label = "a" or state = open)`, []string{`any label(name = "a")`, `any label(name = "b")`}},
		{`label != "a"`, nil},
		{`label is empty`, nil},
		{`label is not empty`, []string{`label is not empty`}},
		{`any comment(by != "alice")`, []string{`comment is not empty`}},
		{`any comment(by = self and text contains "x")`, []string{`any comment(by = "id:5")`}},
		{`any comment(command = "/a" or by = "alice")`, []string{`any comment(command = "/a")`, `any comment(by = "alice")`}},
		{`title contains "x"`, nil},
		{`title contains "x" and locked`, []string{`locked = true`}},
		{`updated < now - 1d`, nil},
		{`due = now`, nil},
		{`due = 2025-01-01`, []string{`due = 2025-01-01`}},
		{`not (label != "a" or state != open)`, []string{`any label(name = "a")`}},
		{`label = "a" or label = "a"`, []string{`any label(name = "a")`}},
	}
	cat := query.NewCatalogue(query.GitLab, query.WorkItem, nil)
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			b := bindText(t, "v1: "+c.text, cat, "5")
			var got []string
			for _, l := range b.Necessary() {
				got = append(got, l.String())
			}
			assert.Equal(t, c.anchors, got)
			assert.Equal(t, len(c.anchors) > 0, b.Anchored())
		})
	}
}
