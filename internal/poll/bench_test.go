package poll_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"code.gitea.io/sdk/gitea"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// endless serves a listing of any length from one row that the simulated forge once gave: its cost is a copy. All else
// is answered by the forge.
type endless struct {
	forge http.RoundTripper
	now   func() time.Time
	rows  int
	row   [][]byte // between the pieces stand its number and, behind a quote, its times
	mark  [][]byte // the same of a member
}

func (s *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/issues") {
		return s.forge.RoundTrip(r)
	}
	q := r.URL.Query()
	page, _ := strconv.Atoi(q.Get("page"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	total := s.rows
	if q.Get("since") != "" {
		total = 0 // nothing changes
	}
	var b bytes.Buffer
	b.WriteByte('[')
	for i := (page - 1) * limit; i < min(page*limit, total); i++ {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		s.write(&b, s.rows-i) // newest first
	}
	b.WriteByte(']')
	h := http.Header{"Content-Type": {"application/json"}, "X-Total-Count": {strconv.Itoa(total)}, "Date": {s.now().UTC().Format(http.TimeFormat)}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(&b), Request: r, ContentLength: int64(b.Len())}, nil
}

// write writes the row of a number.
func (s *endless) write(b *bytes.Buffer, n int) {
	row := s.row
	if n%100 == 0 {
		row = s.mark
	}
	created := time.Unix(1_600_000_000+int64(n), 0).UTC()
	for i, piece := range row {
		b.Write(piece)
		switch {
		case i == len(row)-1:
		case i == 0 || piece[len(piece)-1] != '"':
			b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(n), 10))
		default:
			b.Write(created.AppendFormat(b.AvailableBuffer(), time.RFC3339))
		}
	}
}

// bench is one scope over an endless listing.
type bench struct {
	server *endless
	client *http.Client
	url    string
	store  counting
	engine *poll.Engine
	world  *forgesim.World
}

// counting counts commits.
type counting struct {
	coverage.Store
	updates, written atomic.Int64
}

func (c *counting) Update(ctx context.Context, f func(coverage.Tx) error) error {
	err := c.Store.Update(ctx, f)
	c.updates.Add(1)
	if err == nil {
		c.written.Add(1)
	}
	return err
}

func newBench(t testing.TB, rows int) *bench {
	t.Helper()
	w := forgesim.New(forgesim.Options{Profile: face.Gitea124.Profile()})
	require.NoError(t, w.Run(context.Background(), strings.NewReader(`
user login=acme org=true
user login=agent
user login=olga
repo repo=acme/widgets
set-role user=agent role=admin
set-role user=olga role=admin
token text=sim-admin user=agent
create-milestone milestone=1.2
create as=olga title="report fails on empty input" body="`+strings.Repeat("word ", 120)+`"
create as=olga title="report fails on empty input" body="`+strings.Repeat("word ", 120)+`" milestone=1.2
advance by=24h`)))
	real := forgesim.Transport(face.New(w, face.Options{}))
	b := &bench{world: w, url: "http://forge.example", server: &endless{forge: real, now: w.Now, rows: rows}}
	b.server.mark, b.server.row = rowOf(t, real, 2), rowOf(t, real, 1)
	b.client = &http.Client{Transport: b.server}
	store, err := coverage.OpenFile(context.Background(), filepath.Join(t.TempDir(), "ledger.db"), coverage.FileOptions{Version: "bench"})
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	b.store.Store = store
	led, err := coverage.Open(context.Background(), &b.store, coverage.Options{Now: w.Now})
	require.NoError(t, err)
	b.engine = poll.New(poll.Options{Ledger: led, Targets: []poll.Target{b.target(t)}, Log: slog.New(slog.DiscardHandler)})
	return b
}

// rowOf is an issue as the forge lists it, cut where its number and its times stand.
func rowOf(t testing.TB, forge http.RoundTripper, number int) [][]byte {
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://forge.example/api/v1/repos/acme/widgets/issues/%d", number), nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "token sim-admin")
	resp, err := forge.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	const cut = "\x00"
	s := strings.TrimSpace(string(b))
	one := strconv.Itoa(number)
	rest, ok := strings.CutPrefix(s, `{"id":`+one+",")
	require.True(t, ok, s)
	s = `{"id":` + cut + "," + rest
	for _, f := range []string{`/issues/` + one + `"`, `"number":` + one + ","} {
		require.Contains(t, s, f)
		s = strings.ReplaceAll(s, f, strings.Replace(f, one, cut, 1))
	}
	for _, f := range []string{"created_at", "updated_at"} {
		i := strings.LastIndex(s, `"`+f+`":"`) + len(f) + 4
		s = s[:i] + cut + s[i+len("2006-01-02T15:04:05Z"):]
	}
	var pieces [][]byte
	for p := range strings.SplitSeq(s, cut) {
		pieces = append(pieces, []byte(p))
	}
	return pieces
}

func (b *bench) target(t testing.TB) poll.Target {
	a := forgejo.Adapter{}
	q, ds := query.Parse(`v1: state = open and milestone = "1.2"`)
	require.Empty(t, ds)
	cat := a.Catalogue(query.WorkItem)
	bound, ds := q.Bind(query.WorkItem, cat, query.Env{})
	require.False(t, ds.Failed(), ds)
	p, issues := trigger.Compile("true", cat)
	require.Empty(t, issues)
	meter := poll.NewMeter(b.world.Now, 0, 0)
	lane := meter.Lane()
	return poll.Target{
		Driver: "code", Adapter: a, Meter: meter, Lane: lane,
		Config: adapters.Config{BaseURL: b.url, Container: "acme/widgets", Kind: query.WorkItem,
			Token: func(context.Context) (string, error) { return "sim-admin", nil }, HTTP: b.client, Budget: lane, Now: b.world.Now},
		Harnesses: []poll.Harness{{Name: "fix", Role: "coder", Threshold: adapters.Write, Queries: []*query.Bound{bound}, Trigger: p}},
		Policy:    coverage.Policy{SweepEvery: 24 * time.Hour, RecheckEvery: 6 * time.Hour},
	}
}

func (b *bench) cycle(t testing.TB) poll.Summary {
	sums, err := b.engine.Cycle(context.Background())
	require.NoError(t, err)
	require.True(t, sums[0].Complete(), sums[0].Incomplete)
	return sums[0]
}

// SPEC CO-46: one commit a page; what else is written does not grow with pages.
func TestOneCommitPerPage(t *testing.T) {
	const pages = 40
	small, large := newBench(t, 50), newBench(t, 50*pages)
	a, b := small.cycle(t), large.cycle(t)
	require.Equal(t, 50*pages, b.Scanned)
	assert.EqualValues(t, b.Requests[adapters.Search]-a.Requests[adapters.Search], large.store.written.Load()-small.store.written.Load())
	assert.LessOrEqual(t, small.store.updates.Load(), int64(12), "begin, page, close and what follows, of an empty window and a sweep of one page")
}

// SPEC PO-16: an idle cycle asks for the changes and for who it is, and for nothing else.
func TestIdleCycle(t *testing.T) {
	b := newBench(t, 500)
	b.cycle(t)
	b.world.Advance(time.Minute)
	before := b.store.written.Load()
	s := b.cycle(t)
	assert.Equal(t, 1, s.Requests[adapters.Search])
	assert.LessOrEqual(t, s.Requests[adapters.Identity], 1)
	assert.Zero(t, s.Requests[adapters.Read]+s.Requests[adapters.Roles])
	assert.LessOrEqual(t, b.store.written.Load()-before, int64(2), "the page, and the frontier")
}

// apart serves the listing from a process of its own, over HTTP, so that its time and memory are not the poller's.
func (b *bench) apart(t testing.TB, rows int) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^TestServe$", "-test.timeout", "1h")
	cmd.Env = append(os.Environ(), fmt.Sprintf("POLL_BENCH_ROWS=%d", rows))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() }) //nolint:errcheck // it ends with its input
	_, err = fmt.Fscan(out, &b.url)
	require.NoError(t, err)
	b.client = &http.Client{}
}

// TestServe is the other process of apart; as a test it has nothing to do.
func TestServe(t *testing.T) {
	rows, _ := strconv.Atoi(os.Getenv("POLL_BENCH_ROWS"))
	if rows == 0 {
		t.Skip("it serves BenchmarkSweep")
	}
	b := newBench(t, rows)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "http", r.Host
		resp, err := b.server.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body) //nolint:errcheck // the client goes away
	}))
	fmt.Println(srv.URL)
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // until the parent ends
	srv.Close()
}

// BenchmarkSweep sweeps a scope from nothing over HTTP, into a ledger file that is synced page by page. Beside it, the
// same answers through a client that pages and decodes. cpu-ratio is the processor time of the sweep over that of the client;
// peak-MB is the resident set at its highest, the mapped ledger file included.
//
//	go test -run '^$' -bench Sweep -benchtime 1x ./internal/poll
func BenchmarkSweep(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			ballast := make([]byte, 12<<20) // as the command has it
			defer runtime.KeepAlive(ballast)
			for b.Loop() {
				bed := newBench(b, n)
				bed.apart(b, n)
				bare := usageOf(func() { bed.bare(b, n) })
				runtime.GC()
				resetPeak()
				heap := uint64(0)
				bed.engine = poll.New(poll.Options{Ledger: mustOpen(b, &bed.store), Targets: []poll.Target{bed.target(b)}, Log: slog.New(slog.DiscardHandler),
					Progress: func(_, _ string, done, _ int) {
						if done%5000 == 0 {
							var m runtime.MemStats
							runtime.ReadMemStats(&m)
							heap = max(heap, m.HeapInuse)
						}
					}})
				var s poll.Summary
				whole := usageOf(func() { s = bed.cycle(b) })
				require.Equal(b, n, s.Scanned)
				require.Equal(b, n/100, s.Emitted)
				b.ReportMetric(whole.user.Seconds(), "user-s")
				b.ReportMetric(whole.system.Seconds(), "system-s")
				b.ReportMetric(bare.all().Seconds(), "bare-cpu-s")
				b.ReportMetric(whole.all().Seconds()/bare.all().Seconds(), "cpu-ratio")
				b.ReportMetric(float64(heap)/1e6, "heap-MB")
				b.ReportMetric(peak()/1e6, "peak-MB")
				b.ReportMetric(float64(bed.store.written.Load()), "commits")
			}
		})
	}
}

func mustOpen(t testing.TB, s coverage.Store) *coverage.Ledger {
	l, err := coverage.Open(context.Background(), s, coverage.Options{})
	require.NoError(t, err)
	return l
}

// bare pages through the same listing with the servers' own client.
func (b *bench) bare(t testing.TB, want int) {
	c, err := gitea.NewClient(b.url, gitea.SetToken("sim-admin"), gitea.SetHTTPClient(b.client), gitea.SetGiteaVersion("1.24.0"))
	require.NoError(t, err)
	seen := 0
	for page := 1; ; page++ {
		issues, _, err := c.ListRepoIssues("acme", "widgets", gitea.ListIssueOption{ListOptions: gitea.ListOptions{Page: page, PageSize: 50}, State: gitea.StateAll})
		require.NoError(t, err)
		seen += len(issues)
		if len(issues) < 50 {
			break
		}
	}
	require.Equal(t, want, seen)
}

// usage is processor time of the process.
type usage struct{ user, system time.Duration }

func (u usage) all() time.Duration { return u.user + u.system }

// usageOf is the processor time of the process during f, the garbage collector's included.
func usageOf(f func()) usage {
	used := func() (u usage) {
		var r syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
			u = usage{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())}
		}
		return u
	}
	runtime.GC()
	before := used()
	f()
	after := used()
	return usage{after.user - before.user, after.system - before.system}
}

// resetPeak and peak measure the resident set where the system tells it.
func resetPeak() { os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200) } //nolint:errcheck // peak is then that of the process

func peak() float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb * 1024
		}
	}
	return 0
}
