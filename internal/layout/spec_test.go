package layout_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clauses are the ids that SPEC.md defines: bold, at the start of a paragraph, list item or table row.
func clauses(t *testing.T) map[string]int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "SPEC.md"))
	require.NoError(t, err)
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(?:- |\| )?\*\*([A-Z]{2}-\d+)\b`).FindAllStringSubmatch(string(b), -1) {
		ids[m[1]]++
	}
	require.NotEmpty(t, ids)
	return ids
}

func TestClauseIDsAreUnique(t *testing.T) {
	for id, n := range clauses(t) {
		assert.Equal(t, 1, n, "%s is defined more than once", id)
	}
}

// TestCitedClausesExist keeps tests and data files from citing what SPEC.md does not say.
func TestCitedClausesExist(t *testing.T) {
	ids := clauses(t)
	cite := regexp.MustCompile(`SPEC:? ((?:[A-Z]{2}-\d+(?:, | and |,| )?)+)`)
	one := regexp.MustCompile(`[A-Z]{2}-\d+`)
	missing := map[string][]string{}
	cited := 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != root && d.Name() != ".." {
			return filepath.SkipDir
		}
		if d.IsDir() || !(strings.HasSuffix(p, ".go") || strings.HasSuffix(p, ".txt")) {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, m := range cite.FindAllStringSubmatch(string(b), -1) {
			for _, id := range one.FindAllString(m[1], -1) {
				cited++
				if ids[id] == 0 {
					missing[id] = append(missing[id], p)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, cited, 20)
	var list []string
	for id, files := range missing {
		list = append(list, id+": "+files[0])
	}
	sort.Strings(list)
	assert.Empty(t, list, "cited and not in SPEC.md")
}
