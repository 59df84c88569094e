package conformance_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/conformance"
)

// SPEC CF-90: the cases can be read, are enough, and cite clauses that exist.
func TestCases(t *testing.T) {
	cs, err := conformance.Cases()
	require.NoError(t, err)
	files, groups, titles := map[string]bool{}, map[string]int{}, map[string]string{}
	clauses := clauses(t)
	cited := map[string]bool{}
	for _, c := range cs {
		file := strings.TrimSuffix(c.Name, "/"+string(c.Kind))
		if !files[file] {
			files[file] = true
			groups[c.Group()]++
		}
		if was, ok := titles[c.Title]; ok && was != file {
			t.Errorf("%s and %s have one title", was, file)
		}
		titles[c.Title] = file
		for _, cl := range c.Clauses {
			assert.True(t, clauses[cl], "%s cites %s, which does not exist", c.Name, cl)
			cited[cl] = true
		}
	}
	assert.GreaterOrEqual(t, len(files), 120)
	for _, g := range []string{"identity", "search", "claims", "walks", "caps", "faults", "people", "reading", "cost", "plan"} {
		assert.GreaterOrEqual(t, groups[g], 5, g)
	}
	for cl := range clauses {
		if cl < "CF-9" && !cited[cl] && cl != "CF-44" { // the last is held everywhere, and by no case alone
			t.Errorf("no case is about %s", cl)
		}
	}
}

// clauses are those of the area, wherever they stand: in the parts or merged.
func clauses(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range []string{"../SPEC.md"} {
		b, err := os.ReadFile(filepath.FromSlash(f))
		if err != nil {
			continue
		}
		for _, m := range regexp.MustCompile(`\*\*(CF-\d+)\*\*`).FindAllStringSubmatch(string(b), -1) {
			out[m[1]] = true
		}
	}
	require.NotEmpty(t, out)
	return out
}

const good = `# A title
clause: CF-1
kills: a fault

Because.

-- setup --
create as=wes title=one name=a

-- queries --
code: v1: state = open

-- steps --
cycle
expect emitted code:a
`

// SPEC CF-90: what is wrong with a case file is said, with its line.
func TestParseRefuses(t *testing.T) {
	_, err := conformance.Parse("group/good", good)
	require.NoError(t, err)
	for name, r := range map[string]struct{ old, new, want string }{
		"no title":         {"# A title", "A title", ":1: the first line is the title"},
		"no clause":        {"clause: CF-1\n", "", "names no clause"},
		"no fault":         {"kills: a fault\n", "", "what fault it kills"},
		"no reason":        {"Because.\n", "", "explains nothing"},
		"cannot fail":      {"expect emitted code:a\n", "", "cannot fail"},
		"header":           {"clause: CF-1", "clauses: CF-1", `:2: header "clauses" is not known`},
		"header shape":     {"clause: CF-1", "clause CF-1", ":2: header"},
		"profile":          {"kills: a fault", "kills: a fault\nprofile: some", "want core or extended"},
		"kind":             {"kills: a fault", "kills: a fault\nkind: issue", "want work_item"},
		"span":             {"kills: a fault", "kills: a fault\nsweep: often", "header sweep"},
		"agents":           {"kills: a fault", "kills: a fault\nagents: robo=king", "header agents"},
		"section":          {"-- steps --", "-- step --", `:13: section "step"`},
		"query":            {"code: v1: state = open", "code", ":11: query"},
		"threshold":        {"code: v1", "code king: v1", ":11: unknown role"},
		"quote":            {"title=one", `title="one`, ":8: unclosed quote"},
		"expectation":      {"expect emitted", "expect emited", ":15: expect: want one of"},
		"trial":            {"cycle\n", "try harder\n", ":14: try: want one of"},
		"repeat":           {"cycle\n", "repeat often cycle\n", ":14: repeat"},
		"match":            {"-- steps --", "-- matches --\nv1: state = open\n-- steps --", "want query => entities"},
		"match of nothing": {"-- steps --", "-- matches --\nv1: state = open =>\n-- steps --", "write none"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, good, r.old)
			_, err := conformance.Parse("group/bad", strings.Replace(good, r.old, r.new, 1))
			require.ErrorContains(t, err, r.want)
			assert.ErrorContains(t, err, "group/bad.txt")
		})
	}
}

// No text makes the parser panic.
func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("# x\n-- steps --\nrepeat 3 expect emitted code:e3..1\n")
	f.Fuzz(func(t *testing.T, text string) {
		cs, err := conformance.Parse("group/fuzz", text)
		if err == nil && len(cs) == 0 {
			t.Error("neither a case nor an error")
		}
	})
}
