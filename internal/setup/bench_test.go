package setup_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/setup"
)

// BenchmarkLoad reads a folder of ten thousand harnesses, or of few over a thousand scopes.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []struct{ harnesses, scopes int }{{10_000, 1}, {10, 1_000}} {
		b.Run(fmt.Sprintf("harnesses=%d/scopes=%d", n.harnesses, n.scopes), func(b *testing.B) {
			dir := b.TempDir()
			text := "version: \"1\"\npoll:\n  input_drivers:\n    - {type: entity-source, name: code, provider: forgejo,\n       connection: {base_url: \"http://forge.example\", token_env: TOKEN}, scopes: [\n"
			for i := range n.scopes {
				text += fmt.Sprintf("      {repo: acme/r%d, kinds: [work_item]},\n", i)
			}
			require.NoError(b, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text+"    ]}\n"), 0o600))
			require.NoError(b, os.Mkdir(filepath.Join(dir, "harness"), 0o700))
			for i := range n.harnesses {
				text := fmt.Sprintf("role: coder\nentity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open and milestone = \"m-%d\"'}]\ntrigger: \"entity.locked == false && entity.author != null && %d > 0\"\n", i, i+1)
				require.NoError(b, os.WriteFile(filepath.Join(dir, "harness", fmt.Sprintf("h%d.yaml", i)), []byte(text), 0o600))
			}
			b.ReportAllocs()
			for b.Loop() {
				s, err := setup.Load(setup.Options{
					Dir: dir, HTTP: http.DefaultClient, Now: time.Now, Registry: setup.Registry(),
					Getenv: func(string) (string, bool) { return "t", true },
				})
				require.NoError(b, err)
				require.Len(b, s.Targets, n.scopes, "%v", s.Diagnostics)
				require.Len(b, s.Targets[0].Harnesses, n.harnesses)
			}
		})
	}
}
