package conformance_test

import (
	"testing"

	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/conformance/simulated"
	api "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
)

// SPEC CF-90: the adapter of GitLab passes on servers that page by key and on those that do not.
func TestGitLab(t *testing.T) {
	servers := map[string]api.Quirks{"18.3": {}}
	if !testing.Short() {
		servers["17"] = api.Quirks{NoKeyset: true, NoApprovalTimes: true, WholeSeconds: true}
	}
	for name, q := range servers {
		t.Run(name, func(t *testing.T) { conformance.Run(t, simulated.Target(simulated.GitLab(q))) })
	}
}
