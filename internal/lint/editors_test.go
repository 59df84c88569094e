package lint_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/lint"
)

func fromRoot(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", name))
	require.NoError(t, err)
	return raw
}

var fence = regexp.MustCompile("(?s)```(json|yaml)\n(.*?)```")

// What the page offers for copying is at least well formed.
func TestEditorsPage(t *testing.T) {
	page := string(fromRoot(t, "docs/editors.md"))
	blocks := fence.FindAllStringSubmatch(page, -1)
	require.Greater(t, len(blocks), 5)
	for _, b := range blocks {
		var v any
		if b[1] == "json" {
			require.NoError(t, json.Unmarshal([]byte(b[2]), &v), b[2])
		} else {
			require.NoError(t, yaml.Unmarshal([]byte(b[2]), &v), b[2])
		}
	}
}

// The problem matcher of the page reads every line that begins a message.
func TestProblemMatcher(t *testing.T) {
	m := regexp.MustCompile(`"regexp": (".*"),`).FindStringSubmatch(string(fromRoot(t, "docs/editors.md")))
	require.NotNil(t, m)
	var pattern string
	require.NoError(t, json.Unmarshal([]byte(m[1]), &pattern))
	re := regexp.MustCompile(pattern)
	var b bytes.Buffer
	require.NoError(t, sample.Write(&b, lint.Style{Format: "text", Notes: true}))
	matched := 0
	for _, line := range strings.Split(b.String(), "\n") {
		if g := re.FindStringSubmatch(line); g != nil {
			require.NotEmpty(t, g[6], line)
			matched++
		}
	}
	require.Equal(t, 3, matched, "all messages with a place: %s", b.String())
}

func TestHook(t *testing.T) {
	var hooks []struct {
		ID, Entry, Language, Files string
		Pass                       *bool `yaml:"pass_filenames"`
	}
	require.NoError(t, yaml.Unmarshal(fromRoot(t, ".pre-commit-hooks.yaml"), &hooks))
	require.Len(t, hooks, 1)
	require.Equal(t, "fullsend query-lint", hooks[0].Entry)
	require.NotNil(t, hooks[0].Pass)
	re := regexp.MustCompile(hooks[0].Files)
	for file, want := range map[string]bool{".fullsend/harness/a.yaml": true, ".fullsend/config.yaml": true, ".fullsend/x.yml": true, "docs/a.yaml": false, ".fullsend/README.md": false} {
		require.Equal(t, want, re.MatchString(file), file)
	}
	require.Contains(t, string(fromRoot(t, "docs/editors.md")), "id: "+hooks[0].ID)
}
