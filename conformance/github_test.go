package conformance_test

import (
	"testing"

	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/conformance/simulated"
)

// SPEC CF-90: the adapter of GitHub passes on the simulated forge.
func TestGitHub(t *testing.T) { conformance.Run(t, simulated.Target(simulated.GitHub())) }
