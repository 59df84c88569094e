package layout_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What docs/field-reports.md names is there.
func TestFieldReportsAreHeld(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "field-reports.md"))
	require.NoError(t, err)
	held := func(glob, pattern string) bool {
		files, err := filepath.Glob(filepath.Join(root, glob))
		require.NoError(t, err)
		for _, f := range files {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			if regexp.MustCompile(pattern).Match(b) {
				return true
			}
		}
		return false
	}
	n := 0
	for _, m := range regexp.MustCompile("`([a-z/]+):(Test\\w+)`|story (B\\d+)|`(cases/[a-z/-]+|[a-z0-9/-]+\\.txt)`").FindAllStringSubmatch(string(text), -1) {
		n++
		switch {
		case m[2] != "":
			assert.True(t, held(m[1]+"/*_test.go", `(?m)^func `+m[2]+`\(`), m[0])
		case m[3] != "":
			assert.True(t, held("internal/chaos/testdata/scenarios*.txt", `(?m)^== `+m[3]+`: `), m[0])
		case strings.HasPrefix(m[4], "cases/"):
			assert.FileExists(t, filepath.Join(root, "conformance", m[4]+".txt"))
		default:
			assert.FileExists(t, filepath.Join(root, m[4]))
		}
	}
	assert.Greater(t, n, 100)
}
