package layout_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/fullsend-ai/discovery/"

// allowed says what a package (by its first path elements) may import of this module, besides packages below itself and
// the small ones that everybody may use. A package that is not listed must not exist.
var allowed = map[string][]string{
	"query":              {},
	"scope":              {"query"},
	"adapters":           {"query", "scope"},
	"coverage":           {"scope"},
	"router":             {"query"},
	"internal/admission": {"adapters", "query", "scope"},
	"internal/trigger":   {"query", "scope"},
	"internal/diag":      {},
	"internal/yamlpos":   {"internal/diag"},
	"internal/config":    {"adapters", "query", "internal/admission", "internal/diag", "internal/yamlpos"},
	"internal/harness":   {"adapters", "query", "internal/admission", "internal/config", "internal/diag", "internal/trigger", "internal/yamlpos"},
	"internal/explore":   {"adapters", "query", "internal/diag", "internal/yamlpos"},
	"internal/lint":      {"adapters", "query", "internal/admission", "internal/config", "internal/diag", "internal/harness", "internal/trigger", "internal/yamlpos"},
	"internal/dispatch":  {"coverage", "query", "scope", "internal/admission", "internal/diag"},
	"internal/acquire":   {"query", "scope", "internal/trigger"},
	"internal/sandbox":   {},
	"internal/poll":      {"adapters", "coverage", "query", "router", "scope", "internal/acquire", "internal/admission", "internal/dispatch", "internal/trigger"},
	"internal/run":       {"adapters", "coverage", "query", "router", "scope", "internal/acquire", "internal/admission", "internal/diag", "internal/dispatch", "internal/sandbox", "internal/trigger"},
	"internal/forgesim":  {},
	"internal/layout":    {},
	"conformance":        {"adapters", "coverage", "query", "scope", "internal/dispatch", "internal/forgesim", "internal/poll", "internal/trigger"},
	"internal/watch":     {"coverage"},
	"internal/control":   {},
	"internal/report":    {"coverage", "scope", "internal/diag"},
	"internal/setup":     {"*"}, // builds engines for commands and demos
	"internal/chaos":     {"*"}, // the simulation plays everything
	"internal/demo":      {"*"},
	"examples":           {"*"},
	"cmd":                {"*"},
}

// TestImportDirection reads every non-test file: tests may look anywhere, the product may not. SPEC AD-1.
func TestImportDirection(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(p, root+string(filepath.Separator)))
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != root || d.Name() == "testdata" || isNested(rel)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") || strings.Contains(rel, "test/") {
			return nil
		}
		files++
		check(t, rel, p)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 50, "the walk must have seen the product")
}

// isNested reports the folders that are modules of their own.
func isNested(rel string) bool { return rel == "e2e" || rel == "bench" }

func check(t *testing.T, rel, file string) {
	owner := room(path.Dir(rel))
	rules, ok := allowed[owner]
	if !ok {
		t.Errorf("%s: package %s is not in the plan of the house: add it to this test with what it may import", rel, owner)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	for _, im := range f.Imports {
		p, err := strconv.Unquote(im.Path.Value)
		require.NoError(t, err)
		if !strings.HasPrefix(p, module) {
			continue
		}
		to := room(strings.TrimPrefix(p, module))
		if to != owner && !permits(rules, to) {
			t.Errorf("%s imports %s: %s may import only %v", rel, p, owner, rules)
		}
	}
}

// room is the part of a path that the plan speaks of.
func room(dir string) string {
	parts := strings.Split(dir, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func permits(rules []string, to string) bool {
	for _, r := range rules {
		if r == "*" || r == to {
			return true
		}
	}
	return false
}
