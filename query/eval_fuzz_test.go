package query_test

import (
	"testing"

	"pgregory.net/rapid"
)

// The property tests, driven by the fuzzer's bytes.

func FuzzEvalIsStable(f *testing.F) { f.Fuzz(rapid.MakeFuzz(noResolutionOverturns)) }
func FuzzEvalHorizon(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(holdsUntilItsHorizon)) }
func FuzzEvalComposes(f *testing.F) { f.Fuzz(rapid.MakeFuzz(composesWhatEvalSays)) }
func FuzzUpperAdmissible(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { searchIsAdmissible(t) }))
}
