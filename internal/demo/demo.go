package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/examples"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/setup"
)

// Options of a run.
type Options struct {
	Entities int
	Seed     uint64
	Out      io.Writer // the story, or nothing with JSON
	JSON     bool
	Log      *slog.Logger
}

// Result is the machine-readable last line.
type Result struct {
	Harnesses      int `json:"harnesses"`
	Entities       int `json:"entities"`
	Cycles         int `json:"cycles"`
	SearchRequests int `json:"search_requests"`
	Candidates     int `json:"candidates"`
	Expected       int `json:"expected"`
	Missed         int `json:"missed"`
	Duplicates     int `json:"duplicates"`
}

// ErrDiffers says that the engine and the independent evaluation disagree.
var ErrDiffers = errors.New("what was sent differs from what the world asks for")

// stage is the simulated forge with an engine over it.
type stage struct {
	opt     Options
	world   *forgesim.World
	engine  *poll.Engine
	records *sink
	audit   *audit
	result  Result
}

// Run plays the demo. ErrDiffers when anything was missed, or sent twice.
func Run(ctx context.Context, o Options) (Result, error) {
	st, done, err := open(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer done()
	st.say("%d issues and pull requests on a simulated forge, %d harnesses from examples/.fullsend\n", o.Entities, st.result.Harnesses)
	for _, c := range chapters() {
		if err := st.play(ctx, c); err != nil {
			return st.result, err
		}
	}
	st.closing()
	if o.JSON {
		if err := json.NewEncoder(o.Out).Encode(st.result); err != nil {
			return st.result, err
		}
	}
	if st.result.Missed+st.result.Duplicates > 0 {
		return st.result, ErrDiffers
	}
	return st.result, nil
}

// open builds the world, serves it, and sets an engine up exactly as `fullsend poll` does.
func open(ctx context.Context, o Options) (*stage, func(), error) {
	st := &stage{opt: o, records: &sink{}}
	flavour := forgejo.Gitea124
	st.world = forgesim.New(forgesim.Options{Profile: flavour.Profile()})
	if err := st.world.Seed(o.Entities, o.Seed); err != nil {
		return nil, nil, fmt.Errorf("seed the world: %w", err)
	}
	url, stop, err := serve(st.world, flavour)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "fullsend-demo-")
	if err != nil {
		stop()
		return nil, nil, err
	}
	cleanup := []func(){stop, func() { os.RemoveAll(dir) }}
	done := func() {
		for _, f := range cleanup {
			f()
		}
	}
	store, err := st.setup(ctx, dir, url)
	if err != nil {
		done()
		return nil, nil, err
	}
	cleanup = append([]func(){func() { store.Close() }}, cleanup...)
	st.audit = newAudit(st.world)
	return st, done, nil
}

func serve(w *forgesim.World, f forgejo.Flavour) (string, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: forgejo.New(w, forgejo.Options{Flavour: f}), ReadHeaderTimeout: 10 * time.Second}
	go srv.Serve(l) //nolint:errcheck // ends with Close
	return "http://" + l.Addr().String(), func() { srv.Close() }, nil
}

func (st *stage) setup(ctx context.Context, dir, url string) (coverage.Store, error) {
	if err := unpack(dir, url); err != nil {
		return nil, err
	}
	s, err := setup.Load(setup.Options{
		Dir: filepath.Join(dir, ".fullsend"), Now: time.Now, HTTP: setup.Client(), Registry: setup.Registry(),
		Getenv: func(string) (string, bool) { return forgesim.AdminToken, true },
	})
	if err != nil {
		return nil, err
	}
	if s.Diagnostics.Failed() {
		return nil, fmt.Errorf("the examples are broken: %w", s.Diagnostics[0])
	}
	store, err := coverage.OpenFile(ctx, filepath.Join(dir, "ledger.db"), coverage.FileOptions{})
	if err != nil {
		return nil, err
	}
	led, err := coverage.Open(ctx, store, coverage.Options{})
	if err != nil {
		store.Close()
		return nil, err
	}
	st.engine = poll.New(poll.Options{Ledger: led, Targets: s.Targets, Log: st.opt.Log})
	st.result.Harnesses, st.result.Entities = len(s.Harnesses.Harnesses), st.opt.Entities
	return store, nil
}

// unpack writes the examples as they stand, with the forge's address in place of the one to be changed.
func unpack(dir, url string) error {
	return fs.WalkDir(examples.FS, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := examples.FS.ReadFile(p)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return os.WriteFile(to, []byte(strings.ReplaceAll(string(b), "https://forge.example", url)), 0o600)
	})
}

// play changes the world, runs a cycle, and compares.
func (st *stage) play(ctx context.Context, c chapter) error {
	change, err := c.change(st.world)
	if err != nil {
		return err
	}
	if err := st.world.Run(ctx, strings.NewReader(change)); err != nil {
		return fmt.Errorf("change the world: %w", err)
	}
	sums, err := st.engine.Cycle(ctx)
	if err != nil {
		return err
	}
	st.result.Cycles++
	for i := range sums {
		if !sums[i].Complete() {
			return fmt.Errorf("scope %s %s is incomplete: %s", sums[i].Scope, sums[i].Kind, strings.Join(sums[i].Incomplete, "; "))
		}
	}
	st.records.got = nil
	if _, _, err := st.engine.Deliver(ctx, poll.Hand{Driver: st.records, Spec: dispatch.Declared, Now: time.Now}); err != nil {
		return err
	}
	search, other := requests(sums)
	st.result.SearchRequests += search
	diff := st.audit.compare(st.records.got)
	st.result.Candidates += diff.sent
	st.result.Expected += diff.expected
	st.result.Missed += len(diff.missed)
	st.result.Duplicates += len(diff.twice)
	st.tell(c, diff, search, other)
	return nil
}

func requests(sums []poll.Summary) (search, other int) {
	for i := range sums {
		for class, n := range sums[i].Requests {
			if class == adapters.Search {
				search += n
			} else {
				other += n
			}
		}
	}
	return search, other
}

// sink is the output driver of the demo.
type sink struct{ got []dispatch.Record }

func (*sink) Name() string { return "demo" }

func (s *sink) Start(_ context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	s.got = append(s.got, rs...)
	out := make([]coverage.Receipt, len(rs))
	for i := range rs {
		out[i] = coverage.Receipt{Key: rs[i].Key, Decision: rs[i].Decision, Outcome: coverage.HandedOff, At: time.Now().UTC()}
	}
	return out, nil
}
