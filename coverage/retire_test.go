package coverage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/scope"
)

// SPEC CO-11: what waits for a source that left the configuration stays inside, and comes out when it returns.
func TestRetire(t *testing.T) {
	ctx := context.Background()
	w := worldAt(1, 0)
	s := coverage.NewMemory()
	require.NoError(t, cycle(s, w, true, func(coverage.Delivery) error { return nil }))
	w = worldAt(2, 0)
	l, err := coverage.Open(ctx, s, coverage.Options{})
	require.NoError(t, err)
	require.NoError(t, l.Begin(ctx, scopA, plan("p1", src), w.now))
	r := w.record(worldStart + 2)
	_, err = l.Settle(ctx, scopA, []coverage.Record{r})
	require.NoError(t, err)
	require.NoError(t, l.Retire(ctx, func(sc scope.Scope, source string) bool { return sc == scopA && source == src }))
	require.NoError(t, l.Retire(ctx, func(_ scope.Scope, source string) bool { return source != src }))
	ds, err := l.Claim(ctx, w.now, 10, 1)
	require.NoError(t, err)
	assert.Empty(t, ds)
	require.NoError(t, l.Begin(ctx, scopA, plan("p1", src), w.now))
	ds, err = l.Claim(ctx, w.now, 10, 1)
	require.NoError(t, err)
	assert.Len(t, ds, 1)
}
