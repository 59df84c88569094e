package coverage_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

// world is a small provider: numbered entities with an opaque state and a change clock, as they are at a step.
type world struct {
	now     time.Time
	digest  []uint64 // by number-1
	member  []bool
	updated []time.Time
}

const (
	worldSteps = 8
	worldStart = 20
	loud       = 12 // numbers up to here change with their clock, the others silently and at most once
)

// worldAt makes the world of a step. attempt moves the clock only: after a crash time has passed.
func worldAt(step, attempt int) *world {
	w := &world{}
	for i := range worldStart {
		w.digest = append(w.digest, 1)
		w.member = append(w.member, i%3 != 0)
		w.updated = append(w.updated, t0.Add(-time.Hour))
	}
	for s := 1; s <= step; s++ {
		w.now = t0.Add(time.Duration(s) * 10 * time.Minute)
		a, b := s*7%loud, s*5%loud
		w.digest[a]++
		w.member[b] = !w.member[b]
		w.updated[a], w.updated[b] = w.now, w.now
		w.digest[loud+s%(worldStart-loud)] = 100 // nobody is told
		w.digest = append(w.digest, 1)
		w.member = append(w.member, true)
		w.updated = append(w.updated, w.now)
	}
	w.now = t0.Add(time.Duration(step)*10*time.Minute + time.Duration(attempt)*time.Minute)
	return w
}

func (w *world) record(n int) coverage.Record {
	i := n - 1
	r := coverage.Record{Ref: ref(n), Token: fmt.Sprint(w.digest[i], w.member[i]), Updated: w.updated[i], ReadAt: w.now, Judged: "p1"}
	if w.member[i] {
		r.Match = []coverage.Candidate{{Source: src, Version: "v1", Digests: map[string]uint64{"d": w.digest[i]}}}
	}
	if n%4 == 0 {
		r.RestsOn = []coverage.Actor{{ID: fmt.Sprint("actor", n%8), Role: "write", At: t0}}
	}
	return r
}

// list is what a task reads from its cursor on: numbers in the walk's order.
func (w *world) list(t *coverage.Task) []int {
	var ns []int
	for i := range w.digest {
		if t.Kind == coverage.Turn || !w.updated[i].Before(t.From) && (t.To.IsZero() || w.updated[i].Before(t.To)) {
			ns = append(ns, i+1)
		}
	}
	if t.Kind != coverage.Turn {
		slices.SortFunc(ns, func(a, b int) int { return w.updated[a-1].Compare(w.updated[b-1])*1000 + (a - b) })
	}
	if t.Cursor != nil {
		last, _ := strconv.Atoi(string(t.Cursor))
		ns = ns[slices.Index(ns, last)+1:]
	}
	return ns
}

// cycle is a small poller: one cycle over the world, to its end or to the first error.
func cycle(s coverage.Store, w *world, full bool, deliver func(coverage.Delivery) error) error {
	ctx := context.Background()
	l, err := coverage.Open(ctx, s, options(func() time.Time { return w.now }))
	if err != nil {
		return err
	}
	if err := l.Begin(ctx, scopA, plan("p1", src), w.now); err != nil {
		return err
	}
	tasks, err := l.Next(ctx, scopA, w.now, coverage.Policy{SweepEvery: 30 * time.Minute, Full: full})
	if err != nil {
		return err
	}
	for i := range tasks {
		if err := read(l, w, &tasks[i]); err != nil {
			return err
		}
	}
	due, err := l.Due(ctx, scopA, w.now, 100)
	if err != nil {
		return err
	}
	var rs []coverage.Record
	for _, e := range due {
		n, _ := strconv.Atoi(e.Ref.ID)
		rs = append(rs, w.record(n))
	}
	if _, err := l.Settle(ctx, scopA, rs); err != nil {
		return err
	}
	for {
		ds, err := l.Claim(ctx, w.now, 3, 30*time.Second)
		if err != nil || len(ds) == 0 {
			return err
		}
		for _, d := range ds {
			if err := deliver(d); err != nil {
				return err
			}
			if err := l.Done(ctx, w.now, coverage.Receipt{Key: d.Key, Decision: d.Decision, Outcome: coverage.HandedOff, At: w.now}); err != nil {
				return err
			}
		}
	}
}

func read(l *coverage.Ledger, w *world, t *coverage.Task) error {
	ctx := context.Background()
	if t.Kind == coverage.Probe {
		return nil
	}
	ns := w.list(t)
	for first := true; !t.End && (first || len(ns) > 0); first = false {
		page := ns[:min(4, len(ns))]
		ns = ns[len(page):]
		var p coverage.Progress
		if len(ns) > 0 {
			p.Next = []byte(fmt.Sprint(page[len(page)-1]))
		}
		var rs []coverage.Record
		for _, n := range page {
			rs = append(rs, w.record(n))
			p.Met = append(p.Met, int64(n))
		}
		p.Rows = len(rs)
		if _, err := l.CommitPage(ctx, t, p, rs); err != nil {
			return err
		}
	}
	_, err := l.Close(ctx, t, w.now)
	return err
}

// undisturbed is what a run without crashes delivers, and how many updates it takes.
func undisturbed(t *testing.T) (map[string]bool, int) {
	got := map[string]bool{}
	s := &faulty{Store: coverage.NewMemory()}
	for step := range worldSteps {
		require.NoError(t, cycle(s, worldAt(step, 0), step == worldSteps-1, func(d coverage.Delivery) error {
			require.False(t, got[d.Key+d.Decision], "twice")
			got[d.Key+d.Decision] = true
			return nil
		}))
	}
	require.Greater(t, len(got), worldStart)
	return got, s.updates
}

// Scenario B103, SPEC CO-40: a crash at any update, before or after its commit, loses nothing and skips nothing.
func TestCrashAtEveryUpdate(t *testing.T) {
	want, updates := undisturbed(t)
	for at := 1; at <= updates; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				got := map[string]bool{}
				disk := coverage.NewMemory()
				s := &faulty{Store: disk, crashAt: at, after: after}
				crashed := false
				for step := range worldSteps {
					for attempt := 0; ; attempt++ {
						err := cycle(s, worldAt(step, attempt), step == worldSteps-1, func(d coverage.Delivery) error {
							got[d.Key+d.Decision] = true // the driver knows a decision that comes again
							return nil
						})
						if err == nil {
							break
						}
						require.ErrorIs(t, err, errCrash)
						require.False(t, crashed)
						crashed = true
						s = &faulty{Store: disk}
					}
				}
				require.True(t, crashed)
				require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
				r, err := coverage.Check(context.Background(), disk)
				require.NoError(t, err)
				require.Empty(t, r.Problems)
			})
		}
	}
}

// say tells one line on standard output and waits until it was heard, so that the end comes exactly there.
func say(words ...any) error {
	if _, err := fmt.Println(words...); err != nil {
		return err
	}
	_, err := os.Stdin.Read(make([]byte, 1))
	return err
}

// The child of TestKilled: it runs one cycle on a file and tells every commit and every delivery.
func child(path string, step, attempt int) error {
	s, err := coverage.OpenFile(context.Background(), path, coverage.FileOptions{Wait: 10 * time.Second})
	if err != nil {
		return err
	}
	defer s.Close()
	err = cycle(telling{s}, worldAt(step, attempt), step == worldSteps-1, func(d coverage.Delivery) error {
		return say("deliver", d.Key+d.Decision)
	})
	if err == nil {
		err = say("end")
	}
	return err
}

type telling struct{ coverage.Store }

func (s telling) Update(ctx context.Context, f func(coverage.Tx) error) error {
	if err := say("before"); err != nil {
		return err
	}
	err := s.Store.Update(ctx, func(tx coverage.Tx) error {
		err := f(tx)
		if err == nil {
			err = say("within")
		}
		return err
	})
	if err == nil {
		err = say("after")
	}
	return err
}

// SPEC CO-40: the same with a process that is killed around its transactions.
func TestKilled(t *testing.T) {
	want, _ := undisturbed(t)
	got := map[string]bool{}
	path := filepath.Join(t.TempDir(), "ledger.db")
	kills := 0
	random := rand.New(rand.NewPCG(1, 2))
	for step := range worldSteps {
		for attempt := 0; ; attempt++ {
			lines := 1 + random.IntN(12)
			if attempt == 4 {
				lines = 1 << 20
			}
			ended := runChild(t, path, step, attempt, lines, got)
			if ended {
				break
			}
			require.Less(t, attempt, 4, "nobody killed it")
			kills++
			s := openFile(t, path)
			r, err := coverage.Check(context.Background(), s)
			require.NoError(t, err)
			require.Empty(t, r.Problems)
			require.NoError(t, s.Close())
		}
	}
	require.Greater(t, kills, worldSteps)
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
}

// runChild lets a child say so many lines and kills it then.
func runChild(t *testing.T, path string, step, attempt, lines int, got map[string]bool) (ended bool) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	args, err := json.Marshal([]any{path, step, attempt})
	require.NoError(t, err)
	cmd.Env = append(os.Environ(), "COVERAGE_TEST_CHILD="+string(args))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	sc := bufio.NewScanner(out)
	for n := 0; sc.Scan(); n++ {
		word, rest, _ := strings.Cut(sc.Text(), " ")
		switch word {
		case "deliver":
			got[rest] = true
		case "end":
			ended = true
		}
		if n >= lines && !ended {
			require.NoError(t, cmd.Process.Kill())
			break
		}
		if _, err := in.Write([]byte{'\n'}); err != nil {
			break // it is gone; why is told by its end
		}
	}
	err = cmd.Wait()
	if ended {
		require.NoError(t, err)
	}
	return ended
}

func runAsChild() bool {
	args := os.Getenv("COVERAGE_TEST_CHILD")
	if args == "" {
		return false
	}
	var path string
	var step, attempt int
	err := json.Unmarshal([]byte(args), &[]any{&path, &step, &attempt})
	if err := errors.Join(err, child(path, step, attempt)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}
