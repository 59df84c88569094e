package coverage_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/scope"
)

// B093, SPEC CO-48: of scopes that find the same entities for the same source at the same time, one delivers each, also while rows
// are being claimed.
func TestFoundTwiceAtOnce(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		const entities = 50
		ctx := context.Background()
		b := newBed(t, s, src)
		scopes := []scope.Scope{scopA, scopB}
		require.NoError(t, b.Begin(ctx, scopB, b.plan, b.now))
		var wg sync.WaitGroup
		errs := make([]error, len(scopes))
		for i, sc := range scopes {
			wg.Go(func() {
				for n := range entities {
					if _, err := b.Settle(ctx, sc, []coverage.Record{b.rec(n, 'A', src)}); err != nil {
						errs[i] = err
					}
				}
			})
		}
		got := map[string]int{}
		claim := func() bool {
			ds := b.claimLong()
			for _, d := range ds {
				got[d.Key+" "+d.Decision]++
				b.done(d, coverage.Ran)
			}
			return len(ds) > 0
		}
		for range entities {
			claim()
		}
		wg.Wait()
		for claim() {
		}
		for _, err := range errs {
			require.NoError(t, err)
		}
		require.Len(t, got, entities)
		for key, times := range got {
			require.Equal(t, 1, times, key)
		}
		b.check()
	})
}

// B077, SPEC CO-48: an entity that moved to another scope, or is seen with another account, is not a new entry: what was decided
// counts there, whichever scope learns of it first.
func TestAnEntityThatMoves(t *testing.T) {
	gone := func(b *bed) {
		b.tick(time.Minute)
		b.settle(coverage.Record{Ref: ref(1), Gone: true, ReadAt: b.now})
	}
	there := func(b *bed, digest uint64) coverage.Outcome {
		b.sc = scopB
		b.begin()
		b.tick(time.Minute)
		return b.settle(b.rec(1, digest, src))
	}
	for name, tt := range map[string]struct {
		before  func(b *bed)
		digest  uint64
		emitted int
		claimed int
	}{
		"answered":                   {func(b *bed) { b.answer() }, 'A', 0, 0},
		"answered, changed":          {func(b *bed) { b.answer() }, 'B', 1, 1},
		"answered, gone there first": {func(b *bed) { b.answer(); gone(b) }, 'A', 0, 0},
		"left, gone there":           {func(b *bed) { b.answer(); b.tick(time.Minute); b.settle(b.rec(1, 'A')); gone(b) }, 'A', 1, 1},
		"waits":                      {func(*bed) {}, 'A', 0, 1},
		"waits, changed":             {func(*bed) {}, 'B', 1, 1},
		"waits, gone there first":    {gone, 'A', 1, 1},
		"a driver has it":            {func(b *bed) { b.claim(1) }, 'A', 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, coverage.NewMemory(), src)
			b.settle(b.rec(1, 'A', src))
			tt.before(b)
			require.Equal(t, tt.emitted, there(b, tt.digest).Emitted)
			ds := b.claim(9)
			require.Len(t, ds, tt.claimed)
			for _, d := range ds {
				require.Equal(t, scopB, d.Scope)
				b.done(d, coverage.Ran)
			}
			b.check()
			b.sc = scopA // which still sees it
			b.begin()
			b.tick(time.Minute)
			require.Equal(t, nothing, b.settle(b.rec(1, tt.digest, src)))
			b.check()
		})
	}
}

// SPEC CO-41, CO-45: where a pair is goes with it.
func TestPairsOfAForgottenScope(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	_, err := b.Reset(context.Background(), b.sc)
	require.NoError(t, err)
	b.check()
	b.begin()
	require.Equal(t, 1, b.settle(b.rec(1, 'A', src)).Emitted)
	b.check()
}

// answer hands over what waits, and takes the outcome.
func (b *bed) answer() {
	for _, d := range b.claim(9) {
		b.done(d, coverage.Ran)
	}
}

// SPEC CO-48, CO-40: two scopes that meet the same entities in any order, lose them, retire and come back: an answered decision is never
// handed over again, and what is stored agrees with itself.
func TestPairsOfTwoScopes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBed(t, coverage.NewMemory(), src)
		answered, held := map[string]bool{}, []coverage.Delivery{}
		plan, none := b.plan, b.plan
		none.Hash, none.Sources = "p0", nil
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			b.tick(time.Minute)
			b.sc = rapid.SampledFrom([]scope.Scope{scopA, scopB}).Draw(rt, "scope")
			b.plan = plan
			b.begin()
			n := rapid.IntRange(1, 2).Draw(rt, "entity")
			digest := rapid.Uint64Range(1, 3).Draw(rt, "digest")
			switch rapid.IntRange(0, 7).Draw(rt, "what") {
			case 0, 1, 2:
				b.settle(b.rec(n, digest, src))
			case 3:
				b.settle(b.rec(n, digest))
			case 4:
				b.settle(coverage.Record{Ref: ref(n), Gone: true, ReadAt: b.now})
			case 5:
				b.plan = none
				b.begin()
			case 6:
				for _, d := range b.claimLong() {
					require.False(rt, answered[d.Decision], "%s again", d.Key)
					held = append(held, d)
				}
			default:
				for _, d := range held {
					b.done(d, coverage.Ran)
					answered[d.Decision] = true
				}
				held = nil
			}
			b.check()
		}
	})
}
