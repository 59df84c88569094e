package spool_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/coverage/spool"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) *spool.Spool {
	var n atomic.Uint64
	s, err := spool.Open(dir, func() time.Time { return t0.Add(time.Duration(n.Load())) }, func() uint64 { return n.Add(1) })
	require.NoError(t, err)
	return s
}

func receipt(key string) coverage.Receipt {
	return coverage.Receipt{Key: key, Decision: "d", Outcome: coverage.Ran, At: t0, Why: "w"}
}

func ingest(t *testing.T, s *spool.Spool) (keys []string, bad []spool.Malformed) {
	n, bad, err := s.Ingest(func(r coverage.Receipt) error { keys = append(keys, r.Key); return nil })
	require.NoError(t, err)
	require.Len(t, keys, n)
	return keys, bad
}

// SPEC CO-42
func TestReceiptsComeInOrderAndOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir)
	for _, k := range []string{"a", "b", "c"} {
		require.NoError(t, s.Write(receipt(k)))
	}
	fi, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), fi.Mode().Perm())
	es, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range es {
		fi, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
	}

	var got []coverage.Receipt
	down := errors.New("ledger is away")
	n, _, err := s.Ingest(func(r coverage.Receipt) error {
		if r.Key == "b" {
			return down
		}
		got = append(got, r)
		return nil
	})
	require.ErrorIs(t, err, down)
	require.Equal(t, 1, n)
	require.Equal(t, []coverage.Receipt{receipt("a")}, got)
	keys, bad := ingest(t, open(t, dir))
	require.Equal(t, []string{"b", "c"}, keys, "what was not taken stays")
	require.Empty(t, bad)
	keys, _ = ingest(t, s)
	require.Empty(t, keys)
}

func TestWhatIsNoReceiptIsSetAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for name, text := range map[string]string{
		"1.receipt.json":   `{"key":"k","outcome":"ran","at":"2026-03-01T12:00:00Z"`,
		"2.receipt.json":   ``,
		"3.receipt.json":   `{"key":"","outcome":"ran","at":"2026-03-01T12:00:00Z"}`,
		"4.receipt.json":   `{"key":"k","outcome":"magic","at":"2026-03-01T12:00:00Z"}`,
		"5.receipt.json":   `{"key":"k","outcome":"ran"}`,
		"6.receipt.json":   `{"key":"` + strings.Repeat("k", 70<<10) + `","outcome":"ran","at":"2026-03-01T12:00:00Z"}`,
		".7.receipt.json":  `half written`,
		"notes.txt":        `not ours`,
		"90.receipt.json":  `{"key":"good","outcome":"ran","at":"2026-03-01T12:00:00Z"}`,
		"91.receipt.jsonx": `not ours`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(`{"key":"linked","outcome":"ran","at":"2026-03-01T12:00:00Z"}`), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "8.receipt.json")))

	keys, bad := ingest(t, s)
	require.Equal(t, []string{"good"}, keys)
	require.Len(t, bad, 7)
	require.Equal(t, "1.receipt.json", bad[0].Name)
	require.Error(t, bad[0].Err)
	aside, err := os.ReadDir(filepath.Join(dir, "malformed"))
	require.NoError(t, err)
	require.Len(t, aside, 7, "kept for people")
	_, bad = ingest(t, s)
	require.Empty(t, bad, "told once")
}

func TestWritersDoNotDisturbEachOther(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var wg sync.WaitGroup
	var failed atomic.Int32
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if s.Write(receipt("k")) != nil {
					failed.Add(1)
				}
			}
		})
	}
	var keys []string
	for len(keys) < 20 {
		some, bad := ingest(t, s)
		require.Empty(t, bad, "never half a file")
		keys = append(keys, some...)
	}
	wg.Wait()
	require.Zero(t, failed.Load())
	rest, _ := ingest(t, s)
	require.Len(t, append(keys, rest...), 40)
}

func TestWriteRefusesWhatIngestWouldSetAside(t *testing.T) {
	s := open(t, t.TempDir())
	for _, r := range []coverage.Receipt{{}, {Key: "k", Outcome: coverage.Ran}, {Key: "k", Outcome: "magic", At: t0}} {
		require.Error(t, s.Write(r))
	}
	keys, _ := ingest(t, s)
	require.Empty(t, keys)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"key":"k","outcome":"ran","at":"2026-03-01T12:00:00Z"}`))
	f.Add([]byte(`{"key":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := spool.Parse(b)
		if err == nil && (r.Key == "" || r.At.IsZero() || r.Outcome == "") {
			t.Fatalf("taken for a receipt: %q", b)
		}
	})
}
