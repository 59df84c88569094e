package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	engine "github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/setup"
)

// idle is many scopes in which nothing happens, in one process.
type idle struct {
	Scopes    int       `json:"scopes"`
	Harnesses int       `json:"harnesses"`
	Cycles    int       `json:"cycles"`
	PerCycle  float64   `json:"cycle_cpu_s"`
	Searches  float64   `json:"searches_per_scope_and_cycle"`
	HeapMB    []float64 `json:"heap_mb"` // after each tenth of the cycles
}

func measureIdle(w io.Writer, scopes, cycles int) (*idle, error) {
	const harnesses = 10
	dir, err := os.MkdirTemp("", "poll-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	forge, err := world(scopes)
	if err != nil {
		return nil, err
	}
	for i := range scopes {
		if _, err := forge.Create("olga", forgesim.NewEntity{Repo: repoName(i), Title: "one"}); err != nil {
			return nil, err
		}
	}
	if err := folder(filepath.Join(dir, ".fullsend"), "http://forge.example", scopes, harnesses, share(milestones)); err != nil {
		return nil, err
	}
	s, err := setup.Load(setup.Options{
		Dir: filepath.Join(dir, ".fullsend"), Now: forge.Now, Registry: setup.Registry(),
		Getenv: func(string) (string, bool) { return forgesim.AdminToken, true },
		HTTP:   &http.Client{Transport: forgesim.Transport(forgejo.New(forge, forgejo.Options{}))},
	})
	if err != nil {
		return nil, err
	}
	store, err := coverage.OpenFile(context.Background(), filepath.Join(dir, "ledger.db"), coverage.FileOptions{Version: "bench"})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	led, err := coverage.Open(context.Background(), store, coverage.Options{})
	if err != nil {
		return nil, err
	}
	e := engine.New(engine.Options{Ledger: led, Targets: s.Targets, Log: slog.New(slog.DiscardHandler)})
	m := &idle{Scopes: scopes, Harnesses: harnesses, Cycles: cycles}
	fmt.Fprintf(w, "\n%d idle scopes with %d harnesses each\n%6s %10s %12s %10s\n", scopes, harnesses, "cycle", "cpu s", "searches", "heap MB")
	return m, m.cycles(w, forge, e, cycles)
}

func (m *idle) cycles(w io.Writer, forge *forgesim.World, e *engine.Engine, cycles int) error {
	searched, started := 0, int64(0)
	for c := range cycles + 1 {
		if c == 1 {
			started = cpu() // the first cycle reads every scope
		}
		forge.Advance(time.Minute)
		sums, err := e.Cycle(context.Background())
		if err != nil {
			return err
		}
		n := 0
		for i := range sums {
			if !sums[i].Complete() {
				return fmt.Errorf("scope %s is not complete: %v", sums[i].Scope, sums[i].Incomplete)
			}
			n += sums[i].Requests[adapters.Search]
		}
		if c > 0 {
			searched += n
		}
		if c%max(1, cycles/10) != 0 {
			continue
		}
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		m.HeapMB = append(m.HeapMB, float64(mem.HeapAlloc)/1e6)
		fmt.Fprintf(w, "%6d %10.2f %12d %10.1f\n", c, float64(cpu()-started)/1e9/float64(max(1, c)), n, float64(mem.HeapAlloc)/1e6)
	}
	m.PerCycle = float64(cpu()-started) / 1e9 / float64(cycles)
	m.Searches = float64(searched) / float64(cycles) / float64(m.Scopes)
	return nil
}

func cpu() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return time.Now().UnixNano()
	}
	return ts.Nano()
}
