package trigger_test

import (
	"testing"

	"github.com/fullsend-ai/discovery/internal/trigger"
)

const typical = `entity.state == "open" && entity.label.exists(l, l.name == "bug") && (event == null || event.transition.kind == "opened")`

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		trigger.Compile(typical, issues)
	}
}

func BenchmarkEval(b *testing.B) {
	p, in := compile(b, typical, issues), input(nil)
	for b.Loop() {
		p.Eval(b.Context(), in)
	}
}
