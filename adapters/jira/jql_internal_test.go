package jira

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	face "github.com/fullsend-ai/discovery/internal/forgesim/jira"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

var (
	update  = flag.Bool("update", false, "write the golden files anew")
	jqlFile = flag.String("jql", "", "collect every JQL text that the tests make in this file, for make jql-check")
)

// noted are the JQL texts of all tests, for Atlassian's own parser.
var noted struct {
	mu    sync.Mutex
	texts map[string]bool
}

const mostNoted = 20000

func noteJQL(text string) {
	if *jqlFile == "" {
		return
	}
	noted.mu.Lock()
	defer noted.mu.Unlock()
	if noted.texts == nil {
		noted.texts = map[string]bool{}
	}
	if len(noted.texts) < mostNoted {
		noted.texts[text] = true
	}
}

// writeNoted appends, since the tests of the package run in one process and those of its outside too.
func writeNoted() error {
	if *jqlFile == "" {
		return nil
	}
	f, err := os.Create(*jqlFile)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	var all []string
	for t := range noted.texts {
		all = append(all, t)
	}
	slices.Sort(all)
	for _, t := range all {
		fmt.Fprintln(w, t)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// goldenQueries go through every field that is filtered, alone and together.
var goldenQueries = []string{
	`v1: state = open`,
	`v1: not state = open`,
	`v1: status_category in (todo, in_progress)`,
	`v1: status_category != done`,
	`v1: status = "bug"`,
	`v1: status != "docs"`,
	`v1: type in ("bug", "docs")`,
	`v1: priority = "blocked"`,
	`v1: priority != "blocked"`,
	`v1: priority is empty`,
	`v1: component in ("db", "db,cache")`,
	`v1: component not in ("db", "db,cache")`,
	`v1: fix_version starts with "b"`,
	`v1: not fix_version starts with "b"`,
	`v1: fix_version is not empty`,
	`v1: label = "bug"`,
	`v1: label in ("bug", "and", "it's")`,
	`v1: label = "a\"b\\c"`,
	`v1: label = "two words"`,
	`v1: not label = "bug"`,
	`v1: label is empty`,
	`v1: label is not empty`,
	`v1: any label(name = "bug" and by = "1")`,
	`v1: author = "557058:ab-c"`,
	`v1: author != "557058:ab-c"`,
	`v1: assignee is empty`,
	`v1: assignee in ("1", "2")`,
	`v1: due < 2026-01-31`,
	`v1: not due < 2026-01-31`,
	`v1: due = 2026-01-31`,
	`v1: due is empty`,
	`v1: created >= 2026-01-31T23:59:59Z`,
	`v1: not created < 2026-01-31T00:00:00Z`,
	`v1: updated < now - 14d`,
	`v1: cf[10021] >= 3`,
	`v1: cf[10021] = 2.5`,
	`v1: cf[10021] is not empty`,
	`v1: parent = "PROJ-7"`,
	`v1: title contains "boom" and state = open`,
	`v1: state = open and (label = "bug" or priority = "blocked") and not component = "db"`,
	`v1: state = open or title contains "boom"`,
}

func bindQuery(t testing.TB, cat *query.Catalogue, text string) *query.Bound {
	t.Helper()
	q, ds := query.Parse(text)
	require.False(t, ds.Failed(), "%s: %v", text, ds)
	b, ds := q.Bind(query.WorkItem, cat, query.Env{})
	require.NotNil(t, b, "%s: %v", text, ds)
	return b
}

// SPEC JI-8: what is sent for each test, in both polarities.
func TestGoldenJQL(t *testing.T) {
	words, site := fullVocabulary("number")
	site.Zone, site.Accounts = time.UTC, append(site.Accounts, "557058:ab-c")
	r := &renderer{words: words, folds: true, people: true}
	cat := Adapter{}.Catalogue(query.WorkItem)
	var b strings.Builder
	one := func(title string, texts ...string) {
		var ss []query.Source
		for i, text := range texts {
			ss = append(ss, query.Source{ID: fmt.Sprint("s", i), Query: bindQuery(t, cat, text)})
		}
		_, owed, jql := compile(ss, r, nil)
		fmt.Fprintf(&b, "%s\n", title)
		if jql == "" {
			b.WriteString("    (everything)\n")
		} else {
			fmt.Fprintf(&b, "    %s\n", jql)
			whole := (&plan{project: "project = 10000", where: jql}).sweep()
			noteJQL(whole)
			site.Projects = []face.Project{{ID: "10000", Key: "DO"}}
			_, err := site.Match(whole, &face.Issue{})
			require.NoError(t, err, whole)
		}
		for _, o := range owed {
			fmt.Fprintf(&b, "    owed: %s: %s\n", o.Leaf.Text, o.Why)
		}
	}
	for _, q := range goldenQueries {
		one(q, q)
	}
	one("all that ask for open issues", `v1: state = open and label = "bug"`, `v1: state = open and priority = "blocked"`, `v1: state = open and title contains "x"`)
	golden(t, "testdata/jql.txt", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, string(want), got)
}

// SPEC JI-8: a value means itself and nothing else, whatever it holds: reserved words, quotes, operators.
func TestValuesAreQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.StringN(1, 30, 200).Filter(isLabel).Draw(t, "label")
		jql := some(all(test("labels", "=", word(label)), test("project", "=", numeral("10000"))), empty("labels")).String()
		noteJQL(jql)
		site := &face.Site{Zone: time.UTC, Projects: []face.Project{{ID: "10000", Key: "DO"}}}
		for l, want := range map[string]bool{label: true, label + "x": false, "x" + label: false} {
			got, err := site.Match(jql, &face.Issue{Project: "10000", Labels: []string{l}})
			if err != nil || got != want {
				t.Fatalf("%s finds %q: %v, %v", jql, l, got, err)
			}
		}
	})
	for _, w := range []string{"DO", "IN", "AS", "INT", "SET", "IF", "or", `" OR project = "X`, `x) OR (y`, "ORDER BY"} {
		jql := test("labels", "in", word(w)).String()
		noteJQL(jql)
		if !isLabel(w) {
			continue
		}
		got, err := (&face.Site{Zone: time.UTC}).Match(jql, &face.Issue{Labels: []string{w}})
		require.NoError(t, err, jql)
		require.True(t, got, jql)
	}
}

// SPEC JI-9: a search that is too large is weakened until it fits, never cut.
func TestSearchFits(t *testing.T) {
	words, _ := fullVocabulary("number")
	r := &renderer{words: words, folds: true, people: true}
	cat := Adapter{}.Catalogue(query.WorkItem)
	var ss []query.Source
	for i := range 1000 {
		ss = append(ss, query.Source{ID: fmt.Sprint("s", i), Query: bindQuery(t, cat, fmt.Sprintf(`v1: state = open and label = "area-%d" and author = "712020:%d"`, i, i))})
	}
	search, owed, jql := compile(ss, r, nil)
	require.NoError(t, r.fits(search))
	require.LessOrEqual(t, len(jql), maxJQL)
	require.Contains(t, jql, "statusCategory", "what narrows all sources stands longest")
	require.NotEmpty(t, owed)
}

func BenchmarkCompile(b *testing.B) {
	words, _ := fullVocabulary("number")
	r := &renderer{words: words, folds: true, people: true}
	cat := Adapter{}.Catalogue(query.WorkItem)
	for _, n := range []int{1, 100, 1000} {
		var ss []query.Source
		for i := range n {
			q := fmt.Sprintf(`v1: state = open and label in ("area-%d", "team-%d") and priority != "blocked" and not label = "done-%d"`, i%200, i%17, i)
			ss = append(ss, query.Source{ID: fmt.Sprint("s", i), Query: bindQuery(b, cat, q)})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			length, weakened := 0, 0
			for b.Loop() {
				_, owed, jql := compile(ss, r, nil)
				length, weakened = len(jql), len(owed)
			}
			b.ReportMetric(float64(length), "jql-bytes")
			b.ReportMetric(float64(weakened), "weakened")
		})
	}
}

// SPEC JI-7: everything foreign is read without a fault, and what is read is bounded.
func FuzzDecodeIssue(f *testing.F) {
	f.Add([]byte(`{"id":"1","key":"P-1","fields":{"labels":["a"],"created":"2026-01-31T09:00:00.000+0000","creator":{"accountId":"x"},"description":{"type":"doc","content":[]}}}`))
	f.Add([]byte(`{"id":"1","key":"P-1","fields":{"labels":[null],"customfield_10021":[{"value":"x"},null],"status":{"id":1}}}`))
	s := &session{}
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := decodeIssue(b)
		if err != nil {
			return
		}
		it := s.item(i, querytest.Now)
		if it.Facts == nil || it.Ref.ID == "" {
			t.Fatal("an issue without facts or identity")
		}
		if st := it.Facts.Get(query.FState); st.Presence == query.Known && len(st.Values) != 1 {
			t.Fatalf("state %v", st.Values)
		}
	})
}

func FuzzPlainText(f *testing.F) {
	f.Add([]byte(`{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"/fs-fix"},{"type":"mention","attrs":{"text":"@a"}}]}]}`))
	f.Add([]byte(`"plain"`))
	f.Add([]byte(strings.Repeat(`{"type":"doc","content":[`, 100)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := plainText(b)
		if err == nil && len(s) > 2*len(b)+2 {
			t.Fatalf("%d bytes became %d", len(b), len(s))
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add([]byte(`{"w":"all","q":"x","o":7}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCursor(b, cursor{Walk: walkAll, Search: "x"})
		if err == nil && (c.Walk != walkAll || c.Search != "x" || c.Offset < 0) {
			t.Fatalf("%+v", c)
		}
	})
}
