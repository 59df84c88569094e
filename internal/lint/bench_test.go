package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/lint"
)

// BenchmarkRun lints folders of growing size; the time per file must not grow with them.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("harnesses=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			require.NoError(b, os.Mkdir(filepath.Join(dir, "harness"), 0o755))
			require.NoError(b, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(`version: "1"
poll:
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: https://forge.example, token_env: FORGE_TOKEN}
      scopes: [{repo: acme/widgets}]
`), 0o644))
			for i := range n {
				require.NoError(b, os.WriteFile(filepath.Join(dir, "harness", fmt.Sprintf("h%05d.yaml", i)), fmt.Appendf(nil, `agent: agents/triage.md
doc: what this harness is for, in a sentence
model: some-model
role: triage
env:
  runner: {A: 1, B: two}
trigger: event == null || event.transition.kind == "opened"
entity_sources:
  - version: 1
    from: code
    kind: work_item
    query: >-
      v1: state = open and label in ("area/%d", "bug") and not label = "blocked"
          and any comment(command = "/fs-fix" and at >= now - 14d)
`, i), 0o644))
			}
			b.ResetTimer()
			for range b.N {
				rep, err := lint.Run(b.Context(), lint.Options{Paths: []string{dir}, Registry: configtest.Registry()})
				require.NoError(b, err)
				require.Zero(b, rep.Exit())
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/file")
		})
	}
}
