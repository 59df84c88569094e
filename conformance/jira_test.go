package conformance_test

import (
	"testing"

	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/conformance/simulated"
	"github.com/fullsend-ai/discovery/internal/forgesim/jira"
)

// SPEC CF-90: the adapter of Jira passes on the simulated forge, as Cloud and as Data Center.
func TestJira(t *testing.T) {
	t.Run("cloud", func(t *testing.T) { conformance.Run(t, simulated.Target(simulated.Jira(jira.Options{}))) })
	t.Run("data-center", func(t *testing.T) {
		conformance.Run(t, simulated.Target(simulated.Jira(jira.Options{DataCenter: true})))
	})
}
