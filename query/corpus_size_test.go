package query_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The corpus is what other implementations are held against: it has at least 300 cases, each file names its clauses, and no
// name stands for two cases of a file. SPEC QL-11
func TestCorpusIsWhole(t *testing.T) {
	files, err := filepath.Glob("testdata/v1/*-*.txt")
	require.NoError(t, err)
	cases := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(raw), "\n")
		assert.Contains(t, first, "SPEC ", file)
		names := map[string]bool{}
		for _, line := range strings.Split(string(raw), "\n") {
			switch name, isCase := strings.CutPrefix(line, "case "); {
			case isCase:
				assert.False(t, names[name], "%s: %s stands twice", file, name)
				names[name] = true
				cases++
			case strings.HasPrefix(line, "query: "), strings.HasPrefix(line, "quoted: "):
				cases++
			}
		}
	}
	assert.GreaterOrEqual(t, cases, 300)
}
