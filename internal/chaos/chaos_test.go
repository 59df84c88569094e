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
