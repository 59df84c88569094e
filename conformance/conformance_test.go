package conformance_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/conformance/simulated"
	api "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// SPEC CF-90: the adapter of Forgejo and Gitea passes on every flavour of the simulated forge.
func TestForgejo(t *testing.T) {
	flavours := []api.Flavour{api.Gitea127}
	if !testing.Short() {
		flavours = append(flavours, api.Gitea124, api.Forgejo)
	}
	for _, f := range flavours {
		t.Run(string(f), func(t *testing.T) { conformance.Run(t, simulated.Target(simulated.Forgejo(f))) })
	}
}
