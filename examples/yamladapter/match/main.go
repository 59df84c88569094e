// Command match says which issues of a folder a query matches, without any forge: for trying rules at one's desk.
//
//	go run ./examples/yamladapter/match -dir ./issues -folder acme/widgets 'v1: label = "bug" and assignee is empty'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/examples/yamladapter"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

func main() {
	dir := flag.String("dir", "issues", "folder with people.yaml in it")
	folder := flag.String("folder", "", "container below it, such as acme/widgets")
	role := flag.String("minimum", "write", "role that what people write must have")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *dir, *folder, *role, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "match:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, dir, folder, role, text string) error {
	a := yamladapter.Adapter{}
	threshold, err := adapters.ParseRole(role)
	if err != nil {
		return err
	}
	q, ds := query.Parse(text)
	if ds.Failed() {
		return ds[0]
	}
	b, ds := q.Bind(query.WorkItem, a.Catalogue(query.WorkItem), query.Env{})
	if ds.Failed() {
		return ds[0]
	}
	always, issues := trigger.Compile("true", a.Catalogue(query.WorkItem))
	if len(issues) > 0 {
		return issues[0]
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	led, err := coverage.Open(ctx, coverage.NewMemory(), coverage.Options{})
	if err != nil {
		return err
	}
	meter := poll.NewMeter(time.Now, 0, 0)
	lane := meter.Lane()
	e := poll.New(poll.Options{Ledger: led, Log: slog.New(slog.DiscardHandler), Targets: []poll.Target{{
		Driver: "yaml", Adapter: a, Meter: meter, Lane: lane,
		Config:    adapters.Config{BaseURL: "file://" + filepath.ToSlash(full), Container: folder, Kind: query.WorkItem, Budget: lane, Now: time.Now},
		Harnesses: []poll.Harness{{Name: "query", Queries: []*query.Bound{b}, Threshold: threshold, Trigger: always}},
	}}})
	sums, err := e.Cycle(ctx)
	if err != nil {
		return err
	}
	if _, _, err := e.Deliver(ctx, poll.Hand{Driver: printer{out}, Spec: dispatch.Declared, Now: time.Now}); err != nil {
		return err
	}
	var errs []error
	for _, why := range sums[0].Incomplete {
		errs = append(errs, errors.New(why))
	}
	return errors.Join(errs...)
}

// printer is an output driver that prints keys.
type printer struct{ out io.Writer }

func (printer) Name() string { return "print" }

func (p printer) Start(_ context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	var done []coverage.Receipt
	for _, r := range rs {
		if _, err := fmt.Fprintln(p.out, r.Entity.Key); err != nil {
			return done, err
		}
		done = append(done, coverage.Receipt{Key: r.Key, Decision: r.Decision, Outcome: coverage.HandedOff, At: time.Now()})
	}
	return done, nil
}
