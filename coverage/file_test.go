package coverage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/fullsend-ai/discovery/coverage"
)

func filled(t testing.TB, path string, entities int) {
	s, err := coverage.OpenFile(context.Background(), path, coverage.FileOptions{NoSync: true})
	require.NoError(t, err)
	b := newBed(t, s, src, "review/1")
	var rs []coverage.Record
	for i := range entities {
		r := b.rec(i, 'A', src)
		r.Again = []coverage.Appointment{{Why: coverage.WhyDue, At: t0.Add(time.Duration(i) * time.Hour)}}
		r.RestsOn = []coverage.Actor{{ID: "ann", Login: "ann", Role: "write", At: t0}}
		rs = append(rs, r)
	}
	b.turn(rs...)
	b.tail("a gap")
	require.NoError(t, s.Close())
}

// SPEC CO-2
func TestFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 1)
	mode := func() os.FileMode {
		fi, err := os.Stat(path)
		require.NoError(t, err)
		return fi.Mode().Perm()
	}
	require.Equal(t, os.FileMode(0o600), mode())
	require.NoError(t, os.Chmod(path, 0o644))
	require.NoError(t, openFile(t, path).Close())
	require.Equal(t, os.FileMode(0o600), mode(), "narrowed")
	es, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, es, 1, "nothing is left beside it")
}

// Scenario B111, SPEC CO-4
func TestHeldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	first := openFile(t, path)
	_, err := coverage.OpenFile(context.Background(), path, coverage.FileOptions{})
	require.ErrorIs(t, err, coverage.ErrHeld)
	host, _ := os.Hostname()
	var held *coverage.HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, os.Getpid(), held.Holder.PID)
	for _, word := range []string{fmt.Sprint("pid ", os.Getpid()), host, "(test)", path} {
		require.ErrorContains(t, err, word)
	}
	_, _, err = coverage.Compact(context.Background(), path)
	require.ErrorIs(t, err, coverage.ErrHeld)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = coverage.OpenFile(ctx, path, coverage.FileOptions{Wait: time.Hour})
	require.ErrorIs(t, err, context.Canceled)

	got := make(chan error)
	go func() {
		s, err := coverage.OpenFile(context.Background(), path, coverage.FileOptions{Wait: time.Minute})
		if err == nil {
			err = s.Close()
		}
		got <- err
	}()
	require.NoError(t, first.Close())
	require.NoError(t, <-got, "who waits gets it")
}

// SPEC CO-3, CO-5
func TestNewerSchema(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		ctx := context.Background()
		newBed(t, s, src)
		put(t, s, "meta", "schema", "2")
		_, err := coverage.Open(ctx, s, coverage.Options{})
		require.ErrorIs(t, err, coverage.ErrNewer)
		require.ErrorContains(t, err, "poll state")
		put(t, s, "meta", "schema", "x")
		_, err = coverage.Open(ctx, s, coverage.Options{})
		require.ErrorIs(t, err, coverage.ErrDamaged)
		require.NoError(t, s.Update(ctx, func(tx coverage.Tx) error { return tx.Delete("meta", "schema") }))
		_, err = coverage.Open(ctx, s, coverage.Options{})
		require.ErrorIs(t, err, coverage.ErrDamaged, "values without a version")
	})
}

func TestReadOnly(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	_, err := coverage.OpenFile(ctx, path, coverage.FileOptions{ReadOnly: true})
	require.ErrorIs(t, err, os.ErrNotExist)
	filled(t, path, 3)
	s, err := coverage.OpenFile(ctx, path, coverage.FileOptions{ReadOnly: true})
	require.NoError(t, err)
	defer s.Close()
	l, err := coverage.Open(ctx, s, coverage.Options{})
	require.NoError(t, err)
	snap, err := l.Snapshot(ctx, t0)
	require.NoError(t, err)
	require.Equal(t, 3, snap.Scopes[0].Entities)
	require.Positive(t, snap.Size)
	_, err = l.Settle(ctx, scopA, []coverage.Record{{Ref: ref(1), ReadAt: t0, Gone: true}})
	require.Error(t, err)
}

// Scenario B109, SPEC CO-6: a cut file is damage, wherever it is cut, and never the end of the process.
func TestCutFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 2000)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, keep := range []int{1, 100, 4095, 4096, 8192, 12288, len(whole) / 4, len(whole) / 2, len(whole) * 3 / 4} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			require.NoError(t, os.WriteFile(path, whole[:keep], 0o600))
			err := useAll(path)
			require.ErrorIs(t, err, coverage.ErrDamaged)
			require.ErrorContains(t, err, "poll state")
			left, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, whole[:keep], left, "it stays as it is")
		})
	}
}

func TestFileCutWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 3000)
	s := openFile(t, path)
	require.NoError(t, os.Truncate(path, 16384))
	_, err := coverage.Check(context.Background(), s)
	require.ErrorIs(t, err, coverage.ErrDamaged)
	require.ErrorIs(t, s.View(context.Background(), func(coverage.Tx) error { return nil }), coverage.ErrDamaged, "it stays refused")
}

// useAll opens a ledger file and reads everything in it.
func useAll(path string) error {
	ctx := context.Background()
	s, err := coverage.OpenFile(ctx, path, coverage.FileOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := coverage.Open(ctx, s, coverage.Options{}); err != nil {
		return err
	}
	r, err := coverage.Check(ctx, s)
	if err != nil {
		return err
	}
	if !r.OK() {
		return fmt.Errorf("%w: poll state check: %s", coverage.ErrDamaged, r.Problems[0])
	}
	return nil
}

func TestZeroedPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 40)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	found := 0
	for page := 0; page*4096 < len(whole); page++ {
		b := bytes.Clone(whole)
		clear(b[page*4096 : (page+1)*4096])
		p := filepath.Join(t.TempDir(), "ledger.db")
		require.NoError(t, os.WriteFile(p, b, 0o600))
		if err := useAll(p); err != nil { // free pages may be zero
			require.ErrorIs(t, err, coverage.ErrDamaged, "page %d", page)
			found++
		}
	}
	require.Greater(t, found, 3)
}

// SPEC CO-7: no store notices a byte that flips inside a value; the ledger does, in every value.
func TestFlippedBytes(t *testing.T) {
	ctx := context.Background()
	var values []string
	{
		s := coverage.NewMemory()
		b := newBed(t, s, src)
		r := b.rec(1, 'A', src)
		r.Again = []coverage.Appointment{{Why: coverage.WhyDue, At: t0}}
		r.RestsOn = []coverage.Actor{{ID: "ann", At: t0}}
		b.page(b.task(coverage.Turn, coverage.Policy{}), coverage.Progress{Met: []int64{1}}, r)
		b.tail("gap")
		var out bytes.Buffer
		require.NoError(t, coverage.Export(ctx, s, &out))
		for _, l := range strings.Split(out.String(), "\n") {
			if strings.Contains(l, `"b":`) && !strings.Contains(l, `"k":"schema"`) {
				values = append(values, l)
			}
		}
		require.GreaterOrEqual(t, len(values), 14, "every bucket is in the test")
		for _, line := range values {
			var v struct {
				B, K string
				V    []byte
			}
			require.NoError(t, json.Unmarshal([]byte(line), &v))
			for i := range v.V {
				bad := bytes.Clone(v.V)
				bad[i] ^= 4
				require.NoError(t, s.Update(ctx, func(tx coverage.Tx) error { return tx.Put(v.B, v.K, bad) }))
				rep, err := coverage.Check(ctx, s)
				require.NoError(t, err)
				require.False(t, rep.OK(), "byte %d of %s %q", i, v.B, v.K)
			}
			require.NoError(t, s.Update(ctx, func(tx coverage.Tx) error { return tx.Put(v.B, v.K, v.V) }))
		}
		b.check()
	}
}

func TestFlippedFrontierStopsEverything(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 1)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := 0; ; { // every copy of the value, the live one among them
		j := bytes.Index(raw[i:], []byte(`"frontier":"2026`))
		if j < 0 {
			break
		}
		i += j + 15
		raw[i] = '7' // 2027: all coverage up to then would be believed
	}
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	s := openFile(t, path)
	l, err := coverage.Open(ctx, s, coverage.Options{})
	require.NoError(t, err)
	require.ErrorIs(t, l.Begin(ctx, scopA, plan("p1", src, "review/1"), t0.Add(time.Minute)), coverage.ErrDamaged)
	_, err = l.Next(ctx, scopA, t0, coverage.Policy{})
	require.ErrorIs(t, err, coverage.ErrDamaged)
	require.ErrorContains(t, err, "poll state")
}

func TestNotALedger(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("no ledger\n"), 2000), 0o600))
	_, err := coverage.OpenFile(context.Background(), text, coverage.FileOptions{})
	require.ErrorIs(t, err, coverage.ErrDamaged)

	_, err = coverage.OpenFile(context.Background(), filepath.Join(dir, "none", "ledger.db"), coverage.FileOptions{})
	require.Error(t, err)
	require.NotErrorIs(t, err, coverage.ErrDamaged, "a missing directory is no damage")
}

func TestExportImport(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 300)
	s := openFile(t, path)
	var out bytes.Buffer
	require.NoError(t, coverage.Export(ctx, s, &out))

	m := coverage.NewMemory()
	require.NoError(t, coverage.Import(ctx, m, bytes.NewReader(out.Bytes())))
	var again bytes.Buffer
	require.NoError(t, coverage.Export(ctx, m, &again))
	require.Equal(t, out.String(), again.String())
	require.ErrorIs(t, coverage.Import(ctx, m, bytes.NewReader(out.Bytes())), coverage.ErrNotEmpty)

	for name, c := range map[string]struct {
		text string
		want error
	}{
		"cut":     {out.String()[:out.Len()*2/3], coverage.ErrDamaged},
		"no end":  {strings.Join(strings.Split(out.String(), "\n")[:50], "\n"), coverage.ErrDamaged},
		"altered": {strings.Replace(out.String(), `"k":"schema","v":"MQ=="`, `"k":"schema","v":"MQ0="`, 1), coverage.ErrDamaged},
		"newer":   {strings.Replace(out.String(), `"schema":1`, `"schema":9`, 1), coverage.ErrNewer},
		"format":  {strings.Replace(out.String(), `export/v1`, `export/v7`, 1), coverage.ErrDamaged},
		"empty":   {"", coverage.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			m := coverage.NewMemory()
			require.NotEqual(t, out.String(), c.text)
			require.ErrorIs(t, coverage.Import(ctx, m, strings.NewReader(c.text)), c.want)
			_, err := coverage.Open(ctx, m, coverage.Options{})
			if name != "empty" && name != "newer" && name != "format" {
				require.ErrorIs(t, err, coverage.ErrDamaged, "half an import is no ledger")
			}
		})
	}
}

func TestCompact(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	filled(t, path, 3000)
	s := openFile(t, path)
	l, err := coverage.Open(ctx, s, coverage.Options{})
	require.NoError(t, err)
	var rs []coverage.Record
	for i := range 2900 {
		rs = append(rs, coverage.Record{Ref: ref(i), ReadAt: t0.Add(time.Hour), Gone: true})
	}
	_, err = l.Settle(ctx, scopA, rs)
	require.NoError(t, err)
	var want, got bytes.Buffer
	require.NoError(t, coverage.Export(ctx, s, &want))
	require.NoError(t, s.Close())

	before, after, err := coverage.Compact(ctx, path)
	require.NoError(t, err)
	require.Less(t, after, before)
	fi, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
	s = openFile(t, path)
	require.NoError(t, coverage.Export(ctx, s, &got))
	require.Equal(t, want.String(), got.String())

	_, _, err = coverage.Compact(ctx, path+".none")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// SPEC CO-8: what does not fit on the disk was not done.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	for n := range 12 {
		s := &faulty{Store: coverage.NewMemory()}
		b := newBed(t, s, src)
		turn := b.task(coverage.Turn, coverage.Policy{})
		s.failPut = n + 1
		_, err := b.CommitPage(ctx, turn, coverage.Progress{Next: []byte("c"), Met: []int64{1}}, []coverage.Record{b.rec(1, 'A', src)})
		if err == nil {
			require.Greater(t, n, 4)
			return
		}
		require.ErrorIs(t, err, errNoSpace)
		s.failPut = 0
		require.Zero(t, turn.Pages)
		require.Empty(t, b.claim(1))
		require.Zero(t, b.entity(1).Ref)
		require.Nil(t, b.task(coverage.Turn, coverage.Policy{}).Cursor)
		require.Equal(t, 1, b.page(turn, coverage.Progress{}, b.rec(1, 'A', src)).Emitted, "and is done when there is room")
		b.check()
	}
	t.Fatal("the commit never got through")
}

// faulty is a store that fails as told.
type faulty struct {
	coverage.Store
	failPut int // the nth write of a transaction finds no space
	crashAt int // the nth update ends the process: before its commit, or after it
	after   bool
	updates int
}

var (
	errNoSpace = errors.New("no space left on device")
	errCrash   = errors.New("crash")
)

func (f *faulty) View(ctx context.Context, fn func(coverage.Tx) error) error {
	if f.crashAt != 0 && f.updates >= f.crashAt {
		return errCrash
	}
	return f.Store.View(ctx, fn)
}

func (f *faulty) Update(ctx context.Context, fn func(coverage.Tx) error) error {
	if f.crashAt != 0 && f.updates >= f.crashAt {
		return errCrash
	}
	f.updates++
	crash := f.updates == f.crashAt
	err := f.Store.Update(ctx, func(tx coverage.Tx) error {
		if err := fn(&faultyTx{Tx: tx, f: f}); err != nil {
			return err
		}
		if crash && !f.after {
			return errCrash
		}
		return nil
	})
	if crash {
		return errCrash
	}
	return err
}

type faultyTx struct {
	coverage.Tx
	f *faulty
	n int
}

func (t *faultyTx) Put(bucket, key string, v []byte) error {
	if t.n++; t.n == t.f.failPut {
		return errNoSpace
	}
	return t.Tx.Put(bucket, key, v)
}

func TestForeignDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := bolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucket([]byte("entity"))
		if err != nil {
			return err
		}
		return b.Put([]byte("k"), []byte("v"))
	}))
	require.NoError(t, db.Close())
	_, err = coverage.Open(context.Background(), openFile(t, path), coverage.Options{})
	require.ErrorIs(t, err, coverage.ErrDamaged)
}
