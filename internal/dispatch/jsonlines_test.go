package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
)

func now() time.Time { return noon }

func records(t testing.TB, ids ...string) []dispatch.Record {
	t.Helper()
	var out []dispatch.Record
	for _, id := range ids {
		r, err := dispatch.New(delivery(evidence()), frame)
		require.NoError(t, err)
		r.Key, r.Decision = "key "+id, id
		out = append(out, r)
	}
	return out
}

func lines(t testing.TB, rs []dispatch.Record) string {
	t.Helper()
	var b strings.Builder
	for i := range rs {
		l, err := dispatch.Line(&rs[i])
		require.NoError(t, err)
		b.Write(l)
	}
	return b.String()
}

func receipt(id string) coverage.Receipt {
	return coverage.Receipt{Key: "key " + id, Decision: id, Outcome: coverage.HandedOff, At: noon}
}

// SPEC RE-8: whole lines at the end of a file of the owner's; a receipt for each.
func TestToFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	d := dispatch.ToFile(path, now)
	assert.Equal(t, "json", d.Name())
	rs := records(t, "1", "2", "3")
	got, err := d.Start(t.Context(), rs[:2])
	require.NoError(t, err)
	assert.Equal(t, []coverage.Receipt{receipt("1"), receipt("2")}, got)
	got, err = d.Start(t.Context(), rs[2:])
	require.NoError(t, err)
	assert.Equal(t, []coverage.Receipt{receipt("3")}, got)
	got, err = d.Start(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, got)

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, lines(t, rs), string(b))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, os.Rename(path, path+".1"), "a file may be moved away between cycles")
	_, err = d.Start(t.Context(), rs[:1])
	require.NoError(t, err)
	b, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, lines(t, rs[:1]), string(b))
}

// SPEC RE-9: a crash at any byte of a write leaves a file that the next hand-over mends.
func TestToFileAfterCrash(t *testing.T) {
	first, second := records(t, "1"), records(t, "2")
	whole, torn := lines(t, first), lines(t, second)
	path := filepath.Join(t.TempDir(), "out.jsonl")
	for _, zeros := range []int{0, 7} {
		for cut := 0; cut < len(torn); cut += 1 + cut/7 {
			require.NoError(t, os.WriteFile(path, []byte(whole+torn[:cut]+strings.Repeat("\x00", zeros)), 0o600))
			got, err := dispatch.ToFile(path, now).Start(t.Context(), second)
			require.NoError(t, err)
			require.Len(t, got, 1)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, whole+torn, string(b), "cut at %d", cut)
		}
	}
}

// SPEC RE-9: what is not ours is refused, never altered.
func TestToFileOfSomebodyElse(t *testing.T) {
	for name, content := range map[string]string{
		"notes":     "buy milk",
		"json":      `{"a":1}`,
		"long line": strings.Repeat("x", dispatch.MaxLine+10),
		"second":    "ok\n{\"schema\":\"dispatch/v2\"",
	} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		got, err := dispatch.ToFile(path, now).Start(t.Context(), records(t, "1"))
		require.Error(t, err, name)
		assert.Empty(t, got, name)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, content, string(b), name)
	}
	got, err := dispatch.ToFile(t.TempDir(), now).Start(t.Context(), records(t, "1"))
	require.Error(t, err)
	assert.Empty(t, got)
	got, err = dispatch.ToFile(filepath.Join(t.TempDir(), "no", "such"), now).Start(t.Context(), records(t, "1"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Empty(t, got)
}

// SPEC RE-8: a full disk gives no receipt.
func TestToFullDevice(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this system has no device that is always full: %v", err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		t.Skipf("/dev/full is no device here: %v", err)
	}
	got, err := dispatch.ToWriter(f, now).Start(t.Context(), records(t, "1", "2"))
	require.ErrorContains(t, err, "no space left")
	assert.Empty(t, got)
}

// limited takes n bytes and then no more, as a full disk or a closed pipe does.
type limited struct {
	bytes.Buffer
	left int
	err  error
}

func (l *limited) Write(b []byte) (int, error) {
	n, _ := l.Buffer.Write(b[:min(len(b), l.left)])
	l.left -= n
	if n < len(b) {
		return n, l.err
	}
	return n, nil
}

// SPEC RE-8: a stream that fails at any byte gives receipts for whole lines alone, and what follows stands on its own
// line.
func TestToWriterThatFails(t *testing.T) {
	rs := records(t, "1", "2")
	text := lines(t, rs)
	one := len(lines(t, rs[:1]))
	for cut := 0; cut < len(text); cut += 1 + cut/9 {
		for _, fault := range []error{io.ErrClosedPipe, nil} {
			w := &limited{left: cut, err: fault}
			d := dispatch.ToWriter(w, now)
			got, err := d.Start(t.Context(), rs)
			require.Error(t, err)
			if fault != nil {
				require.ErrorIs(t, err, fault)
			}
			require.Len(t, got, map[bool]int{true: 1, false: 0}[cut >= one], "cut at %d", cut)

			w.left = 1 << 30
			rest := rs[len(got):]
			_, err = d.Start(t.Context(), rest)
			require.NoError(t, err)
			require.True(t, strings.HasSuffix("\n"+w.String(), "\n"+lines(t, rest)), "cut at %d", cut)
		}
	}
}

// A record that cannot be written down holds up no other.
func TestTooLargeRecord(t *testing.T) {
	rs := records(t, "1", "2", "3")
	rs[1].Entity.URL = strings.Repeat("x", dispatch.MaxLine)
	var w bytes.Buffer
	got, err := dispatch.ToWriter(&w, now).Start(t.Context(), rs)
	require.ErrorContains(t, err, "key 2")
	assert.Equal(t, []coverage.Receipt{receipt("1"), receipt("3")}, got)
	assert.Equal(t, 2, strings.Count(w.String(), "\n"))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got, err = dispatch.ToWriter(&w, now).Start(ended, rs)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, got)
}

// Pollers that share a file never tear each other's lines.
func TestToFileConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	v := schema(t)
	var wg sync.WaitGroup
	for p := range 4 {
		rs := records(t, fmt.Sprint(p))
		wg.Go(func() {
			d := dispatch.ToFile(path, now)
			for range 10 {
				if got, err := d.Start(t.Context(), rs); err != nil || len(got) != 1 {
					t.Errorf("%d receipts, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	all := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	require.Len(t, all, 40)
	for _, l := range all {
		require.Empty(t, validate(t, v, []byte(l)))
	}
}

type recorder struct{ name string }

func (r recorder) Name() string { return r.name }

func (r recorder) Start(_ context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	return make([]coverage.Receipt, len(rs)), nil
}

// SPEC RE-10 RE-11: who may start anything.
func TestGate(t *testing.T) {
	for _, r := range []struct {
		driver, spec string
		killed       bool
		want         error
	}{
		{"json", "v1-draft", false, nil},
		{"json", "v1", false, nil},
		{"exec", "v1", false, nil},
		{"exec", "v1-draft", false, dispatch.ErrDraft},
		{"gha-dispatch", "v1-draft", false, dispatch.ErrDraft},
		{"exec", "", false, dispatch.ErrDraft},
		{"json", "v1", true, dispatch.ErrKilled},
		{"json", "v1-draft", true, dispatch.ErrKilled},
		{"exec", "v1", true, dispatch.ErrKilled},
	} {
		d := dispatch.Gate(recorder{r.driver}, r.spec, r.killed)
		assert.Equal(t, r.driver, d.Name())
		got, err := d.Start(t.Context(), records(t, "1"))
		if r.want == nil {
			require.NoError(t, err)
			assert.Len(t, got, 1)
			continue
		}
		require.True(t, errors.Is(err, r.want), "%+v: %v", r, err)
		assert.Empty(t, got)
	}
}
