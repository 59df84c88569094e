package chaos_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/chaos"
)

func bench(t testing.TB) *chaos.Bench {
	t.Helper()
	b, err := chaos.NewBench()
	require.NoError(t, err)
	return b
}

func TestSeeds(t *testing.T) {
	b := bench(t)
	n := uint64(200)
	if testing.Short() {
		n = 25
	}
	for seed := range n {
		st := chaos.New(seed)
		if err := chaos.Play(b, st, chaos.Rules{}, nil); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, chaos.Shrink(b, st, chaos.Rules{}, err))
		}
	}
}

// The seeds that once found something.
func TestSeedsThatFoundSomething(t *testing.T) {
	b := bench(t)
	for _, seed := range []uint64{
		5070, 11335, 13703, 14989, 18183, 19139, 26638, 27726, 45923, 54935, 56518, 59277, 59412, 60892, 62216, 63035,
		67092, 72193, 76783, 79336, 80224, 99051, 104153, 104213, 109419, 110270, 111240, 111814, 120747, 123799, 127322,
		128010, 131064, 131614, 133197, 136805, 137874, 137931, 141263, 157466, 157870, 160460, 166174, 173370, 174327, 178162, 182463,
		189199, 193368, 194640, 198356,
	} {
		if err := chaos.Play(b, chaos.New(seed), chaos.Rules{}, nil); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// A seed is a story, and a story always plays the same way, down to every decision.
func TestReplay(t *testing.T) {
	b := bench(t)
	for seed := range uint64(8) {
		require.Equal(t, chaos.New(seed).String(), chaos.New(seed).String())
		var first, second bytes.Buffer
		require.NoError(t, chaos.Play(b, chaos.New(seed), chaos.Rules{}, &first))
		require.NoError(t, chaos.Play(b, chaos.New(seed), chaos.Rules{}, &second))
		assert.Equal(t, first.String(), second.String(), "seed %d", seed)
	}
}

func BenchmarkSeeds(b *testing.B) {
	bench := bench(b)
	for i := range b.N {
		_ = chaos.Play(bench, chaos.New(uint64(i+5000)), chaos.Rules{}, nil) // what it finds is for the tests
	}
}
