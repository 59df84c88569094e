package coverage_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

// SPEC CO-45: what is forgotten is forgotten whole, and nothing else is.
func TestResetForgetsOneScope(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		ctx := context.Background()
		b := newBed(t, s, src, "review/1")
		b.settle(b.rec(1, 'A', src), b.rec(2, 'A', src))
		b.sc = scopB
		b.begin()
		b.settle(b.rec(3, 'A', src))
		ok, err := b.Reset(ctx, scopA)
		require.NoError(t, err)
		assert.True(t, ok)
		snap, err := b.Snapshot(ctx, t0)
		require.NoError(t, err)
		require.Len(t, snap.Scopes, 1)
		assert.Equal(t, scopB, snap.Scopes[0].Scope)
		assert.Equal(t, 1, snap.Scopes[0].Entities)
		assert.Equal(t, 1, snap.Outbox.Ready)
		r, err := coverage.Check(ctx, s)
		require.NoError(t, err)
		assert.Empty(t, r.Problems)
		ok, err = b.Reset(ctx, scopA)
		require.NoError(t, err)
		assert.False(t, ok)
		b.sc = scopA
		b.begin()
		assert.Equal(t, 1, b.settle(b.rec(1, 'A', src)).Emitted, "it begins anew")
	})
}

// SPEC CO-44
func TestCyclesAreRemembered(t *testing.T) {
	ctx := context.Background()
	l, err := coverage.Open(ctx, coverage.NewMemory(), coverage.Options{})
	require.NoError(t, err)
	old := coverage.Cycle{Driver: "old", Began: t0.Add(-40 * 24 * time.Hour), Ended: t0.Add(-40 * 24 * time.Hour)}
	one := coverage.Cycle{Driver: "a b", Began: t0, Ended: t0.Add(time.Second), Fails: 2, NotBefore: t0.Add(time.Minute)}
	require.NoError(t, l.NoteCycle(ctx, old))
	require.NoError(t, l.NoteCycle(ctx, one))
	one.Fails = 3
	require.NoError(t, l.NoteCycle(ctx, one))
	got, err := l.Cycles(ctx)
	require.NoError(t, err)
	assert.Equal(t, []coverage.Cycle{one}, got)
	snap, err := l.Snapshot(ctx, t0)
	require.NoError(t, err)
	assert.Equal(t, got, snap.Cycles)
}

// SPEC CO-47: a name that leads to another container than before stops the scope, until the old one is forgotten or has another name.
func TestANameThatLeadsElsewhere(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.plan.Name = "acme/Widgets"
	b.begin()
	old := b.sc
	b.sc.Account = "6" // another token: the same container
	b.begin()
	b.sc.Container = "99"
	err := b.Begin(context.Background(), b.sc, b.plan, b.now)
	require.ErrorIs(t, err, coverage.ErrName)
	require.NotErrorIs(t, err, coverage.ErrDamaged)
	require.ErrorContains(t, err, "poll state reset --scope '"+old.Key()+"'")
	_, err = b.Next(context.Background(), b.sc, b.now, coverage.Policy{})
	require.ErrorIs(t, err, coverage.ErrUnknownScope, "nothing is begun")
	other := b.sc
	other.Kind = "change_proposal"
	require.NoError(t, b.Begin(context.Background(), other, b.plan, b.now), "another kind is another matter")

	t.Run("forgotten", func(t *testing.T) {
		c := newBed(t, coverage.NewMemory(), src)
		c.plan.Name = "acme/widgets"
		c.begin()
		_, err := c.Reset(context.Background(), c.sc)
		require.NoError(t, err)
		c.sc.Container = "99"
		c.begin()
	})
	t.Run("renamed", func(t *testing.T) {
		c := newBed(t, coverage.NewMemory(), src)
		c.plan.Name = "acme/widgets"
		c.begin()
		c.plan.Name = "acme/gadgets"
		c.begin()
		c.plan.Name, c.sc.Container = "acme/widgets", "99"
		c.begin()
	})
}
