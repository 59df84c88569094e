package coverage_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if runAsChild() || runAsFull() {
		return
	}
	goleak.VerifyTestMain(m)
}
