package stage_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/examples/yamladapter/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// SPEC CF-90: the adapter that docs/adapters.md walks through passes.
func TestYAML(t *testing.T) { conformance.Run(t, stage.Target()) }
