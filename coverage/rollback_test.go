package coverage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

// keeping is a store that keeps a copy of what it held before its nth update.
type keeping struct {
	coverage.Store
	n       int
	updates int
	before  coverage.Store
}

func (k *keeping) Update(ctx context.Context, f func(coverage.Tx) error) error {
	if k.updates++; k.updates == k.n {
		var all bytes.Buffer
		k.before = coverage.NewMemory()
		if err := errors.Join(coverage.Export(ctx, k.Store, &all), coverage.Import(ctx, k.before, &all)); k.updates > 1 && err != nil {
			return err
		}
	}
	return k.Store.Update(ctx, f)
}

// Scenario B115: a ledger that comes back one transaction old, whatever was handed over since, loses nothing, and what
// comes again has the same decision.
func TestOneTransactionOld(t *testing.T) {
	want, updates := undisturbed(t)
	again := 0
	for n := 1; n < updates; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			got := map[string]bool{}
			k := &keeping{Store: coverage.NewMemory(), n: n}
			var s coverage.Store = &faulty{Store: k, crashAt: n + 1}
			for step := range worldSteps {
				for attempt := 0; ; attempt++ {
					err := cycle(s, worldAt(step, attempt), step == worldSteps-1, func(d coverage.Delivery) error {
						if got[d.Key+d.Decision] {
							again++
						}
						got[d.Key+d.Decision] = true
						return nil
					})
					if err == nil {
						break
					}
					require.ErrorIs(t, err, errCrash)
					require.NotNil(t, k.before)
					s, k.before = k.before, nil
				}
			}
			require.Nil(t, k.before, "it never came back")
			require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
			r, err := coverage.Check(context.Background(), s)
			require.NoError(t, err)
			require.Empty(t, r.Problems)
		})
	}
	require.Positive(t, again, "nothing came again")
}

// Scenario B114: a ledger file in which a hundred items change all the time levels off; compacting makes it no larger, and
// nothing that it knew is emitted again.
func TestFileLevelsOff(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s, err := coverage.OpenFile(ctx, path, coverage.FileOptions{NoSync: true})
	require.NoError(t, err)
	b := newBed(t, s, src)
	var early, late int64
	const cycles = 300
	records := func(i int) []coverage.Record {
		rs := make([]coverage.Record, 100)
		for n := range rs {
			rs[n] = b.rec(n+1, uint64(i), src)
		}
		return rs
	}
	for i := range cycles {
		b.tick(time.Minute)
		b.tail("", records(i)...)
		var ran []coverage.Receipt
		for _, d := range b.claim(100) {
			ran = append(ran, coverage.Receipt{Key: d.Key, Decision: d.Decision, Outcome: coverage.Ran, At: b.now})
		}
		require.Len(t, ran, 100)
		require.NoError(t, b.Done(ctx, b.now, ran...))
		snap, err := b.Snapshot(ctx, b.now)
		require.NoError(t, err)
		if late = snap.Size; i == cycles/4 {
			early = late
		}
	}
	require.LessOrEqual(t, late, early+early/10)
	require.NoError(t, s.Close())
	before, after, err := coverage.Compact(ctx, path)
	require.NoError(t, err)
	require.Equal(t, late, before)
	require.Less(t, after, before)
	b.store = openFile(t, path)
	b.reopen()
	b.tick(time.Minute)
	b.tail("", records(cycles-1)...)
	require.Empty(t, b.claim(100))
}

// Scenario B105: the record of a failure is itself what is due again, whoever dies right after it was written.
func TestAFailureIsDueAgainAfterARestart(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, src)
		b.settle(b.rec(1, 'A', src))
		first := b.claim(1)[0]
		b.done(first, coverage.Failed)
		b.reopen()
		require.Empty(t, b.claim(1))
		b.tick(time.Minute)
		again := b.claim(1)
		require.Len(t, again, 1)
		require.Equal(t, first.Decision, again[0].Decision)
		require.Equal(t, 1, again[0].Tries)
	})
}
