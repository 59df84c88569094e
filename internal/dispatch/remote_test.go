package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
)

// ciFace is a small CI: it takes starts, and shows, finds and cancels runs, in the shapes of both providers.
type ciFace struct {
	mu      sync.Mutex
	starts  []map[string]any
	status  string // of every run
	silent  bool   // does not tell the id of a run
	broken  int    // status of every answer
	cut     bool   // starts, and drops the connection
	headers http.Header
	paths   []string
}

func (f *ciFace) set(change func(*ciFace)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *ciFace) count() (n int) {
	f.set(func(f *ciFace) { n = len(f.starts) })
	return n
}

func (f *ciFace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.headers, f.paths = r.Header.Clone(), append(f.paths, r.Method+" "+r.URL.EscapedPath())
	if f.broken != 0 {
		w.WriteHeader(f.broken)
		return
	}
	p := r.URL.Path
	switch {
	case r.Method == http.MethodPost && (strings.HasSuffix(p, "/dispatches") || strings.HasSuffix(p, "/pipeline")):
		var body map[string]any
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &body)
		f.starts = append(f.starts, body)
		if f.cut {
			panic(http.ErrAbortHandler)
		}
		if f.silent {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		fmt.Fprintf(w, `{"workflow_run_id":%d,"id":%d}`, 700+len(f.starts), 700+len(f.starts))
	case strings.HasSuffix(p, "/runs"):
		var runs []map[string]any
		for i, s := range f.starts {
			runs = append(runs, map[string]any{"id": 701 + i, "display_title": "agent " + fmt.Sprint(s["inputs"].(map[string]any)["fullsend_decision"])})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"workflow_runs": runs})
	case strings.HasSuffix(p, "/pipelines"):
		var runs []map[string]any
		for i := range f.starts {
			runs = append(runs, map[string]any{"id": 701 + i})
		}
		_ = json.NewEncoder(w).Encode(runs)
	case strings.HasSuffix(p, "/variables"):
		_ = json.NewEncoder(w).Encode(f.starts[0]["variables"])
	case strings.HasSuffix(p, "/cancel"):
		w.WriteHeader(http.StatusAccepted)
	case len(f.starts) == 0:
		w.WriteHeader(http.StatusNotFound)
	default:
		status, conclusion := "completed", f.status
		if strings.HasPrefix(f.status, "run") {
			status, conclusion = "in_progress", ""
		}
		if strings.Contains(p, "/pipelines/") {
			status = f.status
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "conclusion": conclusion})
	}
}

type remote struct {
	*dispatch.Remote
	face *ciFace
	open func() *dispatch.Remote // as another process would
}

func newRemote(t *testing.T, name string) *remote {
	t.Helper()
	f := &ciFace{status: "running"}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	o := dispatch.RemoteOptions{Dir: t.TempDir(), HTTP: srv.Client(), Now: func() time.Time { return noon }, BaseURL: srv.URL,
		Token: func() (string, error) { return "s3cret", nil }, Project: "acme/agents", Workflow: "agent.yml", Ref: "main"}
	r := &remote{face: f, open: func() *dispatch.Remote {
		d, err := map[string]func(dispatch.RemoteOptions) (*dispatch.Remote, error){dispatch.GHAName: dispatch.NewGHA, dispatch.PipelineName: dispatch.NewPipeline}[name](o)
		require.NoError(t, err)
		return d
	}}
	r.Remote = r.open()
	return r
}

func theRecord(t *testing.T) dispatch.Record {
	t.Helper()
	r, err := dispatch.New(delivery(evidence()), frame)
	require.NoError(t, err)
	return r
}

func outcomes(rs []coverage.Receipt) (out []string) {
	for _, r := range rs {
		out = append(out, r.Outcome)
	}
	return out
}

func both(t *testing.T, f func(t *testing.T, r *remote)) {
	for _, name := range []string{dispatch.GHAName, dispatch.PipelineName} {
		t.Run(name, func(t *testing.T) { f(t, newRemote(t, name)) })
	}
}

// SPEC RU-31, RU-32: one start per decision; the receipt is what became of its run, also for another process.
func TestRemoteStartsOnceAndDerivesTheReceipt(t *testing.T) {
	for status, want := range map[string]string{"success": coverage.Ran, "skipped": coverage.Skipped, "failed": coverage.Failed, "canceled": coverage.Failed} {
		both(t, func(t *testing.T, r *remote) {
			ctx, rec := context.Background(), theRecord(t)
			got, err := r.Start(ctx, []dispatch.Record{rec})
			require.NoError(t, err)
			assert.Equal(t, []string{dispatch.Started}, outcomes(got))
			got, err = r.open().Start(ctx, []dispatch.Record{rec}) // the lease was over
			require.NoError(t, err)
			assert.Equal(t, []string{dispatch.Started}, outcomes(got))
			assert.Equal(t, 1, r.face.count(), "it lives: it is not started again")
			r.face.set(func(f *ciFace) { f.status = status })
			got, err = r.open().Ask(ctx, []dispatch.Record{rec})
			require.NoError(t, err)
			assert.Equal(t, []string{want}, outcomes(got))
			assert.Equal(t, rec.Decision, got[0].Decision)
			got, err = r.Ask(ctx, []dispatch.Record{rec})
			require.NoError(t, err)
			assert.Empty(t, got, "told once")
		})
	}
}

// SPEC RU-33: a start whose answer was lost is found, not repeated.
func TestRemoteFindsARunWhoseIdWasLost(t *testing.T) {
	both(t, func(t *testing.T, r *remote) {
		ctx, rec := context.Background(), theRecord(t)
		r.face.set(func(f *ciFace) { f.cut = true })
		got, err := r.Start(ctx, []dispatch.Record{rec})
		require.Error(t, err)
		assert.Empty(t, got)
		assert.NotContains(t, err.Error(), "s3cret")
		r.face.set(func(f *ciFace) { f.cut = false })
		n := r.face.count() // net/http may have asked again by itself
		got, err = r.open().Start(ctx, []dispatch.Record{rec})
		require.NoError(t, err)
		assert.Equal(t, []string{dispatch.Started}, outcomes(got))
		assert.Equal(t, n, r.face.count())
	})
}

// SPEC RU-34: what fails gives no receipt, and so stays in the outbox.
func TestRemoteFailures(t *testing.T) {
	for _, status := range []int{401, 403, 404, 429, 500, 302} {
		both(t, func(t *testing.T, r *remote) {
			r.face.set(func(f *ciFace) { f.broken = status })
			got, err := r.Start(context.Background(), []dispatch.Record{theRecord(t)})
			require.Error(t, err)
			assert.Empty(t, got)
			require.ErrorIs(t, r.Cancel(context.Background(), ptr(theRecord(t))), dispatch.ErrNoRun)
		})
	}
}

func ptr[T any](v T) *T { return &v }

// SPEC RU-30: a run that was not ended is still known.
func TestRemoteCancel(t *testing.T) {
	both(t, func(t *testing.T, r *remote) {
		ctx, rec := context.Background(), theRecord(t)
		_, err := r.Start(ctx, []dispatch.Record{rec})
		require.NoError(t, err)
		r.face.set(func(f *ciFace) { f.broken = 500 })
		require.Error(t, r.Cancel(ctx, &rec))
		r.face.set(func(f *ciFace) { f.broken = 0 })
		require.NoError(t, r.Cancel(ctx, &rec))
		require.ErrorIs(t, r.Cancel(ctx, &rec), dispatch.ErrNoRun)
	})
}

// SPEC RU-31: the execution ref is in the names that concurrency groups read, and within the limits of the provider.
func TestExecutionRef(t *testing.T) {
	r, rec := newRemote(t, dispatch.GHAName), theRecord(t)
	_, err := r.Start(context.Background(), []dispatch.Record{rec})
	require.NoError(t, err)
	assert.Equal(t, "Bearer s3cret", r.face.headers.Get("Authorization"))
	assert.Contains(t, r.face.paths, "POST /repos/acme/agents/actions/workflows/agent.yml/dispatches")
	body := r.face.starts[0]
	assert.Equal(t, "main", body["ref"])
	in := body["inputs"].(map[string]any)
	assert.LessOrEqual(t, len(in), 25)
	for k, want := range map[string]any{"source_repo": "acme/widgets", "event_type": "issues", "event_payload": `{"issue":{"number":7}}`,
		"harness": rec.Harness, "fullsend_decision": rec.Decision, "fullsend_key": rec.Key} {
		assert.Equal(t, want, in[k], k)
	}
	big := rec
	big.Harness, big.Decision = strings.Repeat("é", 40_000), "d3"
	big.Key = strings.Repeat("k", 30_000)
	got, err := r.Start(context.Background(), []dispatch.Record{big, rec})
	require.ErrorIs(t, err, dispatch.ErrLimit)
	assert.Len(t, got, 1, "one that is too large holds up no other")

	p := newRemote(t, dispatch.PipelineName)
	_, err = p.Start(context.Background(), []dispatch.Record{rec})
	require.NoError(t, err)
	assert.Contains(t, p.face.paths, "POST /api/v4/projects/acme%2Fagents/pipeline")
	assert.Equal(t, "s3cret", p.face.headers.Get("PRIVATE-TOKEN"))
	assert.Contains(t, fmt.Sprint(p.face.starts[0]["variables"]), "FULLSEND_DECISION")
}

// SPEC AU-24
func TestFromGitHub(t *testing.T) {
	b, err := dispatch.FromGitHub("issue_comment", []byte(`{"action":"created","sender":{"id":5,"login":"wes","type":"User"},
		"repository":{"full_name":"acme/widgets"},"comment":{"id":9,"body":"/fs-fix the export\nmore"},"author_association":"OWNER",
		"issue":{"number":7,"html_url":"https://github.com/acme/widgets/pull/7","pull_request":{"url":"x"},"labels":[{"name":"bug"}]}}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"repo":"acme/widgets","source":{"system":"github","raw_type":"issue_comment","raw_action":"created"},
		"entity":{"kind":"change_proposal","key":"acme/widgets#7","url":"https://github.com/acme/widgets/pull/7"},
		"actor":{"id":5,"login":"wes","kind":"human"},"state":{"labels":["bug"]},
		"transition":{"kind":"comment_added","comment":{"id":9,"body":"/fs-fix the export\nmore","command":"/fs-fix","instruction":"the export"}}}`, string(b))
	for name, payload := range map[string]string{"push": `{"sender":{"id":5}}`, "issues": `{"action":"opened"}`, "issue_comment": `{"action":"pinned","issue":{"number":1},"sender":{"id":1}}`,
		"label": `{"action":"created","sender":{"id":5}}`, "workflow_run": `[]`} {
		_, err := dispatch.FromGitHub(name, []byte(payload))
		require.Error(t, err, name)
	}
}
