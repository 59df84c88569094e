package poll

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
)

// Folding follows the answer's lists; that it says what looking at every harness says is tried here.
func TestFoldEqualsLookingAtEveryHarness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		comp := &compiled{}
		target := &target{Target: &Target{}, comp: comp}
		j := newJudge(&run{t: target, refused: map[string]bool{}})
		for h := range rapid.IntRange(1, 6).Draw(t, "harnesses") {
			target.Harnesses = append(target.Harnesses, Harness{})
			for range rapid.IntRange(1, 3).Draw(t, "sources") {
				id := fmt.Sprint(len(comp.sources))
				comp.sources = append(comp.sources, query.Source{ID: id, Query: &query.Bound{}})
				comp.harnessOf = append(comp.harnessOf, h)
				j.run.refused[id] = rapid.IntRange(0, 4).Draw(t, "refused") == 0
			}
		}
		match, unknown := map[int][]*query.Bound{}, map[int]bool{}
		for i := range comp.sources {
			switch h := comp.harnessOf[i]; rapid.SampledFrom([]query.Verdict{query.True, query.False, query.VerdictUnknown}).Draw(t, "verdict") {
			case query.True:
				j.answer.Match = append(j.answer.Match, i)
				if !j.run.refused[comp.sources[i].ID] {
					match[h] = append(match[h], comp.sources[i].Query)
				}
			case query.VerdictUnknown:
				j.answer.Undecided = append(j.answer.Undecided, i)
				unknown[h] = true
			}
		}
		for range 2 { // the memory is used again
			folds := j.fold()
			for h := range target.Harnesses {
				if len(match[h]) == 0 && !unknown[h] {
					continue
				}
				if assert.NotEmpty(t, folds) {
					assert.Equal(t, h, folds[0].harness)
					assert.Equal(t, match[h], append([]*query.Bound(nil), folds[0].match...))
					folds = folds[1:]
				}
			}
			assert.Empty(t, folds)
		}
	})
}
