package query_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
)

func bind(t *testing.T, provider string, k query.Kind, src string) *query.Bound {
	t.Helper()
	q, ds := query.Parse(src)
	require.Empty(t, ds)
	b, ds := q.Bind(k, query.NewCatalogue(provider, k, nil), query.Env{Self: "7"})
	require.NotNil(t, b, "%s: %v", src, ds)
	return b
}

// SPEC QL-6, QL-7: what a query means once it is bound, and the text that its parts go by.
func TestBindDesugars(t *testing.T) {
	for _, c := range []struct {
		src, outline, text string
		provider           string
		kind               query.Kind
	}{
		{src: `locked`, outline: `locked = true`, text: `locked = true`},
		{src: `state = "OPEN"`, outline: `state = open`, text: `state = open`},
		{src: `state != closed`, outline: `not state = closed`, text: `state != closed`},
		{src: `assignee not in ("a", self)`, outline: `not assignee = "a" "id:7"`, text: `assignee not in ("a", self)`},
		{src: `author = "id:12"`, outline: `author = "id:12"`, text: `author = "id:12"`},
		{src: `label = 'bug'`, outline: `any label[name = "bug"]`, text: `label = "bug"`},
		{src: `label != "bug"`, outline: `no label[name = "bug"]`, text: `label != "bug"`},
		{src: `label not in ("a","b")`, outline: `no label[name = "a" "b"]`, text: `label not in ("a", "b")`},
		{src: `label starts with "a"`, outline: `any label[name starts with "a"]`, text: `label starts with "a"`},
		{src: `label is empty`, outline: `no label[and[]]`, text: `label is empty`},
		{src: `comment is not empty`, outline: `any comment[and[]]`, text: `comment is not empty`},
		{src: `title contains "x"`, outline: `any title[text contains "x"]`, text: `title contains "x"`},
		{src: `body not starts with "x"`, outline: `no body[text starts with "x"]`, text: `body not starts with "x"`},
		{src: `any comment(by = self)`, outline: `any comment[by = "id:7"] of 7`, text: `any comment(by = self)`},
		{src: `no comment(text contains "x" and by in (SELF))`, outline: `no comment[and[text contains "x" by = "id:7"]] of 7`, text: `no comment(text contains "x" and by in (self))`},
		{src: `any comment(by = self or text contains "x")`, outline: `any comment[or[by = "id:7" text contains "x"]]`, text: `any comment(by = self or text contains "x")`},
		{src: `any comment(not by = self)`, outline: `any comment[not[by = "id:7"]]`, text: `any comment(not by = self)`},
		{src: `any comment(by in (self, "a"))`, outline: `any comment[by = "id:7" "a"]`, text: `any comment(by in (self, "a"))`},
		{src: `any comment(by = "id:7")`, outline: `any comment[by = "id:7"]`, text: `any comment(by = "id:7")`},
		{src: `any label(at > now-90min)`, outline: `any label[at > now - 1h30m0s]`, text: `any label(at > now - 90min)`},
		{src: `closed is not empty`, outline: `not closed is empty`, text: `closed is not empty`},
		{src: `not (locked or label = "a")`, outline: `not[or[locked = true any label[name = "a"]]]`, text: `not (locked = true or label = "a")`},
		{src: `author = "x[bot]"`, outline: `author = "x[bot]"`, text: `author = "x[bot]"`},
		{src: `due >= now + 1d`, outline: `due >= now + 24h0m0s`, text: `due >= now + 1d`, provider: query.Forgejo},
		{src: `assignee = "712020:ab"`, outline: `assignee = "id:712020:ab"`, text: `assignee = "712020:ab"`, provider: query.Jira},
		{src: `cf[007] = -1.50`, outline: `cf[7] = -1.5`, text: `cf[7] = -1.5`, provider: query.Jira},
		{src: `linked_change_proposal is empty`, outline: `no linked_change_proposal[and[]]`, text: `linked_change_proposal is empty`, provider: query.Jira},
		{src: `any review(on_head and state = approved)`, outline: `any review[and[on_head = true state = approved]]`,
			text: `any review(on_head = true and state = approved)`, kind: query.ChangeProposal},
	} {
		t.Run(c.src, func(t *testing.T) {
			provider, kind := c.provider, c.kind
			if provider == "" {
				provider = query.GitHub
			}
			if kind == "" {
				kind = query.WorkItem
			}
			b := bind(t, provider, kind, "v1: "+c.src)
			assert.Equal(t, c.outline, query.Outline(b))
			assert.Equal(t, c.text, query.Rendered(b))
			assert.Equal(t, kind, b.Kind())
			assert.Equal(t, provider, b.Catalogue().Provider())
			assert.Equal(t, "v1", b.Query().Version())
		})
	}
}

func TestBoundFields(t *testing.T) {
	b := bind(t, query.Jira, query.WorkItem, `v1: label = "a" and any comment(at > last_comment and command is empty) and cf[5] < created and due = now`)
	assert.Equal(t, query.Fields(query.FLabel, query.FComment, query.FLastComment, query.CustomField(5), query.FCreated, query.FDue), b.Fields())
}

// Warnings refuse nothing, errors do; both come from one call, each once.
func TestBindReportsWhatParseFound(t *testing.T) {
	q, parsed := query.Parse(`v1: state = open and updated < now - 3q and lable = "x"`)
	require.Len(t, parsed, 1)
	b, ds := q.Bind(query.WorkItem, query.NewCatalogue(query.GitHub, query.WorkItem, nil), query.Env{})
	assert.Nil(t, b)
	require.Len(t, ds, 2)
	assert.Equal(t, parsed[0], ds[0])
	assert.Equal(t, "Q201", ds[1].Code)
}

func TestCatalogueIsACopy(t *testing.T) {
	query.NewCatalogue(query.GitHub, query.WorkItem, func(f *query.Field) bool {
		f.Note = "altered"
		for i := range f.Words {
			f.Words[i] = "altered"
		}
		for _, m := range f.Members {
			m.Name = "altered"
		}
		return f.ID != query.FLocked
	})
	for _, f := range query.AllFields() {
		assert.NotEqual(t, "altered", f.Note)
		assert.NotContains(t, f.Words, "altered")
		for _, m := range f.Members {
			assert.NotEqual(t, "altered", m.Name)
		}
	}
}

func TestCatalogueEdits(t *testing.T) {
	c := query.NewCatalogue(query.Jira, query.WorkItem, func(f *query.Field) bool {
		f.Walks = []string{"changes"}
		return f.ID != query.FPriority
	})
	_, ok := c.Field("priority")
	assert.False(t, ok)
	assert.NotContains(t, c.Names(), "priority")
	f, ok := c.Field("CF[012]")
	require.True(t, ok)
	assert.Equal(t, query.CustomField(12), f.ID)
	assert.Equal(t, "cf[12]", f.Name)
	assert.Equal(t, []string{"changes"}, f.Walks)
	f, ok = c.ByID(query.FState)
	require.True(t, ok)
	assert.Equal(t, "state", f.Name)
	_, ok = query.NewCatalogue(query.GitHub, query.WorkItem, nil).ByID(query.CustomField(1))
	assert.False(t, ok)
}

// The catalogue is part of the protocol: a change of it shows in this file. SPEC QL-5
func TestCatalogueListing(t *testing.T) {
	const golden = "testdata/v1/catalogue.txt"
	var out strings.Builder
	for _, f := range query.AllFields() {
		fmt.Fprintln(&out, listing(f))
		for _, m := range f.Members {
			fmt.Fprintln(&out, "  "+listing(m))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())
}

func listing(f *query.Field) string {
	types := []string{"", "bool", "word", "name", "ref", "user", "text", "instant", "date", "number", "elements", "custom"}
	parts := []string{f.Name, types[f.Type]}
	if f.Many {
		parts = append(parts, "several")
	}
	if len(f.Words) > 0 {
		parts = append(parts, strings.Join(f.Words, "|"))
	}
	parts = append(parts, []string{"never-empty", "may-be-empty", "emptiness-not-testable"}[f.Empty])
	if len(f.Kinds) == 0 {
		return strings.Join(parts, " ")
	}
	for _, k := range f.Kinds {
		parts = append(parts, string(k))
	}
	parts = append(parts, strings.Join(f.Providers, "+"))
	if f.Element {
		parts = append(parts, "element")
	} else {
		parts = append(parts, "fact")
	}
	return strings.Join(append(parts, "clock:"+[]string{"moves", "partly", "unmoved", "fixed", "unsure"}[f.Clock]), " ")
}
