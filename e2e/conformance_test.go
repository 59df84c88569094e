package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConformance plays the conformance suite on a real server, and one story on it and on the simulated one, whose
// answers must be the same.
func TestConformance(t *testing.T) {
	server, _ := startServer(t)
	bin := buildFullsend(t)
	fullsend := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), bin, append([]string{"conformance", "--url", server.URL}, args...)...)
		cmd.Env = append(os.Environ(), "FULLSEND_ADMIN_TOKEN="+server.Admin.Token)
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	t.Run("the simulated server answers like the real one", func(t *testing.T) {
		out, err := fullsend("--compare")
		assert.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), " 0 differences")
	})
	groups := []string{"identity", "search", "claims", "people", "reading", "cost", "plan", "caps", "faults", "walks"}
	if testing.Short() {
		groups = []string{"identity", "plan"}
		t.Logf("short: of the groups only %v are played; make e2e-full plays all", groups)
	}
	for _, group := range groups {
		t.Run(group, func(t *testing.T) {
			out, err := fullsend("--stage", "gitea", "--case", group, "--parallel", "6", "--format", "json")
			var res struct {
				Core   string
				Passed []string
				Failed []struct{ Case, Why, Story string }
			}
			require.NoError(t, json.Unmarshal(out, &res), "%s", out)
			for _, f := range res.Failed {
				t.Errorf("%s: %s\n%s", f.Case, f.Why, f.Story)
			}
			assert.NoError(t, err)
			assert.Equal(t, "partial", res.Core)
			assert.NotEmpty(t, res.Passed)
		})
	}
}
