package coverage

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// SPEC CO-3: a ledger of an earlier version is taken forward in one transaction, step by step, or not at all.
func TestMigrate(t *testing.T) {
	ctx := context.Background()
	s := NewMemory()
	_, err := Open(ctx, s, Options{})
	require.NoError(t, err)
	var ran []int
	note := func(n int) func(Tx) error {
		return func(tx Tx) error { ran = append(ran, n); return tx.Put(bMeta, "note", []byte{byte(n)}) }
	}
	version := func() string {
		var v string
		require.NoError(t, s.View(ctx, func(tx Tx) error { v = string(tx.Get(bMeta, "schema")); return nil }))
		return v
	}
	cause := errors.New("cause")
	require.ErrorIs(t, migrate(ctx, s, []func(Tx) error{note(1), func(Tx) error { return cause }}), cause)
	require.Equal(t, "1", version())

	ran = nil
	require.NoError(t, migrate(ctx, s, []func(Tx) error{note(1), note(2)}))
	require.Equal(t, []int{1, 2}, ran)
	require.Equal(t, "3", version())
	require.NoError(t, migrate(ctx, s, []func(Tx) error{note(1), note(2)}))
	require.Len(t, ran, 2, "once")
	require.NoError(t, migrate(ctx, s, []func(Tx) error{note(1), note(2), note(3)}))
	require.Equal(t, []int{1, 2, 3}, ran)

	_, err = Open(ctx, s, Options{})
	require.ErrorIs(t, err, ErrNewer, "the ledger of this program is older")
	require.Equal(t, len(migrations())+1, Schema)
}
