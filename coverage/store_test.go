package coverage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/coverage"
)

// SPEC CO-1: one contract for every store.
func TestStoreContract(t *testing.T) {
	ctx := context.Background()
	for name, f := range map[string]func(t *testing.T, s coverage.Store){
		"absent keys and buckets": func(t *testing.T, s coverage.Store) {
			require.NoError(t, s.View(ctx, func(tx coverage.Tx) error {
				require.Nil(t, tx.Get("none", "k"))
				tx.Ascend("none", "", func(string, []byte) bool { t.Fatal("called"); return true })
				return nil
			}))
			require.NoError(t, s.Update(ctx, func(tx coverage.Tx) error { return tx.Delete("none", "k") }))
		},
		"all of an update": func(t *testing.T, s coverage.Store) {
			put(t, s, "b", "k1", "v1")
			require.NoError(t, s.Update(ctx, func(tx coverage.Tx) error {
				require.NoError(t, tx.Put("b", "k1", []byte("v2")))
				require.NoError(t, tx.Put("c", "k", []byte("w")))
				require.Equal(t, "v2", string(tx.Get("b", "k1")))
				return tx.Delete("b", "absent")
			}))
			require.Equal(t, []string{"k1=v2"}, all(t, s, "b", ""))
			require.Equal(t, []string{"k=w"}, all(t, s, "c", ""))
		},
		"none of a failed update": func(t *testing.T, s coverage.Store) {
			put(t, s, "b", "k1", "v1")
			cause := errors.New("cause")
			err := s.Update(ctx, func(tx coverage.Tx) error {
				require.NoError(t, tx.Put("b", "k1", []byte("v2")))
				require.NoError(t, tx.Put("b", "k2", []byte("v2")))
				require.NoError(t, tx.Delete("b", "k1"))
				require.NoError(t, tx.Put("new", "k", []byte("v")))
				return cause
			})
			require.ErrorIs(t, err, cause)
			require.Equal(t, []string{"k1=v1"}, all(t, s, "b", ""))
			require.Empty(t, all(t, s, "new", ""))
		},
		"none of an update that panics": func(t *testing.T, s coverage.Store) {
			put(t, s, "b", "k1", "v1")
			require.PanicsWithValue(t, "mine", func() {
				_ = s.Update(ctx, func(tx coverage.Tx) error {
					_ = tx.Put("b", "k1", []byte("v2"))
					panic("mine")
				})
			})
			require.Equal(t, []string{"k1=v1"}, all(t, s, "b", ""))
			put(t, s, "b", "k2", "v2") // the store goes on
		},
		"no writes in a view": func(t *testing.T, s coverage.Store) {
			put(t, s, "b", "k", "v")
			require.NoError(t, s.View(ctx, func(tx coverage.Tx) error {
				require.Error(t, tx.Put("b", "k", nil))
				require.Error(t, tx.Delete("b", "k"))
				return nil
			}))
		},
		"ascending from anywhere": func(t *testing.T, s coverage.Store) {
			for _, k := range []string{"b", "a\x00b", "a", "aa", "é"} {
				put(t, s, "o", k, k)
			}
			require.Equal(t, []string{"a=a", "a\x00b=a\x00b", "aa=aa", "b=b", "é=é"}, all(t, s, "o", ""))
			require.Equal(t, []string{"aa=aa", "b=b", "é=é"}, all(t, s, "o", "a\x01"))
			require.Empty(t, all(t, s, "o", "\xff"))
		},
		"an ended context": func(t *testing.T, s coverage.Store) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			f := func(coverage.Tx) error { t.Fatal("called"); return nil }
			require.ErrorIs(t, s.View(ctx, f), context.Canceled)
			require.ErrorIs(t, s.Update(ctx, f), context.Canceled)
		},
		"nothing after close": func(t *testing.T, s coverage.Store) {
			require.NoError(t, s.Close())
			require.Error(t, s.View(ctx, func(coverage.Tx) error { return nil }))
			require.Error(t, s.Update(ctx, func(coverage.Tx) error { return nil }))
		},
		"as a plain map": asMap,
	} {
		t.Run(name, func(t *testing.T) { stores(t, f) })
	}
}

// asMap compares a store with a map under random updates, a part of which fail.
func asMap(t *testing.T, s coverage.Store) {
	ctx := context.Background()
	want := map[string]string{}
	rapid.Check(t, func(rt *rapid.T) {
		fail := rapid.IntRange(0, 3).Draw(rt, "fail") == 0
		n := rapid.IntRange(1, 400).Draw(rt, "n")
		seed := rapid.IntRange(0, 1000).Draw(rt, "seed")
		next := map[string]string{}
		for k, v := range want {
			next[k] = v
		}
		cause := errors.New("cause")
		err := s.Update(ctx, func(tx coverage.Tx) error {
			for i := range n {
				k := fmt.Sprintf("%04d", (i*7919+seed*31)%1500)
				if (i+seed)%3 == 0 {
					delete(next, k)
					if err := tx.Delete("m", k); err != nil {
						return err
					}
					continue
				}
				next[k] = fmt.Sprint(seed, i)
				if err := tx.Put("m", k, []byte(next[k])); err != nil {
					return err
				}
			}
			if fail {
				return cause
			}
			return nil
		})
		if fail {
			require.ErrorIs(rt, err, cause)
		} else {
			require.NoError(rt, err)
			want = next
		}
		var exp []string
		for k, v := range want {
			exp = append(exp, k+"="+v)
		}
		slices.Sort(exp)
		if got := all(t, s, "m", ""); !slices.Equal(exp, got) {
			rt.Fatalf("got %d keys, want %d", len(got), len(exp))
		}
	})
}

func put(t testing.TB, s coverage.Store, bucket, key, value string) {
	require.NoError(t, s.Update(context.Background(), func(tx coverage.Tx) error { return tx.Put(bucket, key, []byte(value)) }))
}

func all(t testing.TB, s coverage.Store, bucket, from string) []string {
	var out []string
	require.NoError(t, s.View(context.Background(), func(tx coverage.Tx) error {
		tx.Ascend(bucket, from, func(k string, v []byte) bool { out = append(out, k+"="+string(v)); return true })
		return nil
	}))
	return out
}
