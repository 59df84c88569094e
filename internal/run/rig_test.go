package run_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/run"
	"github.com/fullsend-ai/discovery/internal/sandbox"
	"github.com/fullsend-ai/discovery/internal/setup"
)

// fake is a sandbox driver that only notes that it was called.
type fake struct {
	mu    sync.Mutex
	calls []sandbox.Spec
	code  int
	err   error
	do    func(ctx context.Context, s sandbox.Spec) // while the sandbox runs
}

func (*fake) Name() string { return "fake" }

func (f *fake) Run(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
	f.mu.Lock()
	f.calls = append(f.calls, s)
	f.mu.Unlock()
	if f.do != nil {
		f.do(ctx, s)
	}
	return sandbox.Result{Code: f.code, Stopped: ctx.Err() != nil}, f.err
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// rig is a forge with acme/widgets (wes and wanda may write, rob may read, sam is a stranger, agent is the engine's
// account) and a folder whose harnesses are given.
type rig struct {
	t        *testing.T
	world    *forgesim.World
	dir, url string
	box      *fake
	mu       sync.Mutex
	receipts []coverage.Receipt
	retries  *run.Retries
	now      time.Time
	idle     time.Duration
	tick     func(context.Context) bool
	options  setup.Options
}

const (
	coder = `role: coder
trigger: "true"
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open and label = "bug"'}]
`
	fixer = `role: fix
trigger: "true"
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open and any comment(command = "/fix")'}]
`
	titled = `role: coder
trigger: "true"
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: label = "bug" and body contains "do it"'}]
`
	evented = `role: coder
trigger: 'event != null && event.transition.kind == "comment_added" && event.transition.comment.command == "/go"'
`
)

func newRig(t *testing.T, harness string, script ...string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), box: &fake{}, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.world = forgesim.New(forgesim.Options{Profile: forgejo.Gitea124.Profile()})
	require.NoError(t, r.world.Seed(0, 1))
	srv := httptest.NewServer(forgejo.New(r.world, forgejo.Options{}))
	t.Cleanup(srv.Close)
	r.url = srv.URL
	r.config("")
	r.write("harness/h.yaml", harness)
	r.do("create as=olga title=one body=plain name=it")
	r.do(script...)
	var err error
	r.retries, err = run.NewRetries(filepath.Join(r.dir, "retries"), func() time.Time { return r.now })
	require.NoError(t, err)
	r.tick = func(context.Context) bool { r.now = r.now.Add(time.Second); return true }
	r.options = setup.Options{
		Dir: filepath.Join(r.dir, ".fullsend"), HTTP: setup.Client(), Now: time.Now, Registry: setup.Registry(),
		Getenv: func(k string) (string, bool) { return forgesim.AdminToken, k == "TOKEN" },
	}
	return r
}

func (r *rig) config(more string) {
	r.write("config.yaml", fmt.Sprintf(`version: "1"
%s
run: {command: [agent]}
poll:
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: %q, token_env: TOKEN}
      scopes: [{repo: acme/widgets}]
      accounts: {h: "id:3"}
`, more, r.url))
}

func (r *rig) write(name, text string) {
	p := filepath.Join(r.dir, ".fullsend", name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(p), 0o700))
	require.NoError(r.t, os.WriteFile(p, []byte(text), 0o600))
}

func (r *rig) do(script ...string) {
	r.t.Helper()
	require.NoError(r.t, r.world.Run(context.Background(), strings.NewReader(strings.Join(script, "\n"))))
}

func (r *rig) load(context.Context) (*run.Bound, error) {
	s, err := setup.Load(r.options)
	if err != nil {
		return nil, err
	}
	b, err := s.Bound(r.options, "h", "")
	if err != nil {
		return nil, err
	}
	b.Sandbox.Driver = r.box
	return b, nil
}

func (r *rig) runner() *run.Runner {
	return run.New(run.Options{
		Harness: "h", Load: r.load, Dir: filepath.Join(r.dir, "run"), Idle: r.idle, Retries: r.retries,
		Now: func() time.Time { return r.now }, Tick: func(ctx context.Context) bool { return r.tick(ctx) },
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Out: io.Discard, Errs: io.Discard,
		Receipt: func(rc coverage.Receipt) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.receipts = append(r.receipts, rc)
			return nil
		},
	})
}

// run serves one candidate as a poller hands it over.
func (r *rig) run(change func(*run.Candidate)) run.Report {
	r.t.Helper()
	c := run.Candidate{Ref: "acme/widgets#1", Key: "h|x", Decision: "d1"}
	if change != nil {
		change(&c)
	}
	rep, err := r.runner().Run(context.Background(), c)
	require.NoError(r.t, err)
	return rep
}

// names are logins of a seeded world by id.
var names = map[string]string{"5": "wes", "10": "rob", "12": "sam"}

// event is a comment event by an account, with whatever the sender claims of roles.
func event(actor, entity, extra string) []byte {
	return fmt.Appendf(nil, `{"repo":"acme/widgets","source":{"system":"forgejo"},"entity":{"kind":"work_item","key":%q},
		"actor":{"id":%q,"login":%q,"kind":"human","role":"admin","role_verified":true,"bot_role":"admin","is_entity_author":true},
		"transition":{"kind":"comment_added","comment":{"id":1,"command":"/go"}}%s}`, entity, actor, names[actor], extra)
}
