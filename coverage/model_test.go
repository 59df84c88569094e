package coverage_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/coverage"
)

// model is what one pair should be, written as plainly as possible: a decision is the text "entry/digest".
type model struct {
	in      bool
	held    bool
	entries int
	now     string // the current decision
	closed  map[string]bool
	row     string // the decision in the outbox
	claimed bool
	next    string // that follows it
	told    map[string]int
}

func (m *model) match(d int, hold bool) (emitted bool) {
	entered := !m.in
	if entered {
		m.in = true
		m.entries++
	}
	m.now, m.held = fmt.Sprint(m.entries, "/", d), hold
	switch {
	case hold:
		m.drop()
		return false
	case entered:
	case m.next == m.now || m.row == m.now && m.next == "":
		return false
	case m.row == m.now && m.claimed:
		m.next = ""
		return false
	case m.closed[m.now]:
		m.drop()
		return false
	}
	if m.claimed {
		m.next = m.now
	} else {
		m.row = m.now
	}
	return true
}

// drop takes back what no driver holds.
func (m *model) drop() {
	m.next = ""
	if !m.claimed {
		m.row = ""
	}
}

func (m *model) leave() {
	m.in = false
	m.drop()
}

// back: the row returns from a driver, with or without being closed.
func (m *model) back(closes bool) {
	if closes {
		m.closed[m.row] = true
	}
	m.claimed = false
	switch {
	case m.next != "":
		m.row, m.next = m.next, ""
	case closes || !m.in:
		m.row = ""
	}
}

// SPEC CO-12 to CO-17, CO-34: random lives of a few pairs against the model. One decision is emitted once, none is lost,
// and what is stored agrees with itself.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{bed: newBed(t, coverage.NewMemory(), "a", "b"), rt: rt, pairs: map[string]*model{}}
		for n := 1; n <= 2; n++ {
			for _, s := range []string{"a", "b"} {
				m.pairs[pairName(s, n)] = &model{closed: map[string]bool{}, told: map[string]int{}}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"judge": m.judge, "gone": m.gone, "claim": m.claim, "told": m.told, "lost": m.lost, "reopen": m.restart,
			"stale": m.stale, "same": m.same, "": m.agree,
		})
	})
}

func pairName(source string, n int) string { return source + "|" + ref(n).Identity.String() }

type machine struct {
	*bed
	rt    *rapid.T
	pairs map[string]*model
	out   []coverage.Delivery // claimed and not told
}

func (m *machine) entityOf(rt *rapid.T) int { return rapid.IntRange(1, 2).Draw(rt, "entity") }

func (m *machine) judge(rt *rapid.T) {
	m.tick(time.Minute)
	n := m.entityOf(rt)
	r := m.rec(n, 0)
	want := 0
	for _, s := range []string{"a", "b"} {
		p := m.pairs[pairName(s, n)]
		switch what := rapid.SampledFrom([]string{"match", "match", "match", "hold", "no", "unknown"}).Draw(rt, s); what {
		case "no":
			p.leave()
		case "unknown":
			r.Undecided = append(r.Undecided, s)
		default:
			d := rapid.IntRange(1, 3).Draw(rt, "digest")
			r.Match = append(r.Match, coverage.Candidate{Source: s, Version: "v1", Hold: what == "hold",
				Digests: map[string]uint64{"d": uint64(d)}})
			if p.match(d, what == "hold") {
				want++
			}
		}
	}
	require.Equal(rt, want, m.settle(r).Emitted)
}

func (m *machine) gone(rt *rapid.T) {
	m.tick(time.Minute)
	n := m.entityOf(rt)
	m.settle(coverage.Record{Ref: ref(n), ReadAt: m.now, Gone: true})
	for _, s := range []string{"a", "b"} {
		m.pairs[pairName(s, n)].leave()
	}
}

func (m *machine) stale(rt *rapid.T) {
	r := m.rec(m.entityOf(rt), 9, "a", "b")
	r.ReadAt = t0.Add(-time.Hour)
	if !m.entity(int(r.Ref.ID[0] - '0')).ReadAt.IsZero() {
		require.Equal(rt, coverage.Outcome{Stale: 1}, m.settle(r))
	}
}

func (m *machine) same(rt *rapid.T) {
	m.tick(time.Minute)
	n := m.entityOf(rt)
	require.Equal(rt, nothing, m.settle(coverage.Record{Ref: ref(n), ReadAt: m.now, Same: true}))
}

func (m *machine) claim(rt *rapid.T) {
	m.tick(48 * time.Hour) // whatever waits may be tried again
	ds, err := m.Claim(context.Background(), m.now, rapid.IntRange(1, 4).Draw(rt, "n"), 1000*time.Hour)
	require.NoError(rt, err)
	for _, d := range ds {
		p := m.pairs[d.Key]
		require.False(rt, p.claimed, "claimed by one at a time")
		require.Equal(rt, fmt.Sprint(d.Entries), p.row[:len(fmt.Sprint(d.Entries))])
		p.claimed = true
	}
	m.out = append(m.out, ds...)
}

func (m *machine) told(rt *rapid.T) {
	if len(m.out) == 0 {
		rt.Skip("nothing is claimed")
	}
	d := m.out[0]
	m.out = m.out[1:]
	p := m.pairs[d.Key]
	outcome := rapid.SampledFrom([]string{coverage.Ran, coverage.HandedOff, coverage.Skipped, coverage.NotTriggered,
		coverage.Failed, coverage.UnknownRun}).Draw(rt, "outcome")
	if outcome == coverage.Ran {
		p.told[p.row]++
		require.Equal(rt, 1, p.told[p.row], "one decision runs once")
	}
	m.done(d, outcome)
	p.back(outcome != coverage.Failed && outcome != coverage.UnknownRun)
	if rapid.Bool().Draw(rt, "twice") && outcome == coverage.Ran {
		m.done(d, outcome)
	}
}

// lost: the lease of everything that is claimed ends without a receipt.
func (m *machine) lost(rt *rapid.T) {
	m.out = nil
	for _, p := range m.pairs {
		if p.claimed {
			p.back(false)
		}
	}
	for range 3 { // claimed again at once, and told to be lost again: the rows are ready afterwards
		m.tick(2000 * time.Hour)
		ds, err := m.Claim(context.Background(), m.now, 99, time.Hour)
		require.NoError(rt, err)
		for _, d := range ds {
			m.done(d, coverage.Lost)
		}
	}
}

func (m *machine) restart(*rapid.T) {
	m.reopen()
	m.begin()
}

// agree compares everything that can be seen.
func (m *machine) agree(rt *rapid.T) {
	snap, err := m.Snapshot(context.Background(), m.now)
	require.NoError(rt, err)
	rows := 0
	for n := 1; n <= 2; n++ {
		e := m.entity(n)
		for _, s := range []string{"a", "b"} {
			p, got := m.pairs[pairName(s, n)], e.Pairs[s]
			require.Equal(rt, p.in, got.In)
			require.Equal(rt, p.entries, got.Entries)
			require.Equal(rt, p.row != "", got.Pending != "")
			if p.row != "" {
				rows++
			}
			if p.in && !p.held {
				require.True(rt, p.closed[p.now] || p.row == p.now || p.next == p.now, "no decision is lost")
			}
		}
	}
	o := snap.Outbox
	require.Equal(rt, rows, o.Ready+o.Waiting+o.Claimed+o.Lost+o.Dead)
	r, err := coverage.Check(context.Background(), m.store)
	require.NoError(rt, err)
	require.Empty(rt, r.Problems)
}

// Scenario B114, SPEC CO-41: the ledger does not grow with time.
func TestFlatOverManyCycles(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	ctx := context.Background()
	size := func() int {
		var out bytes.Buffer
		require.NoError(t, coverage.Export(ctx, b.store, &out))
		return out.Len()
	}
	cycles, early := 10_000, 0
	if testing.Short() {
		cycles = 2_000
	}
	for i := range cycles {
		b.tick(time.Minute)
		if i%50 == 0 {
			b.plan.Hash = fmt.Sprint("p", i)
			b.begin()
		}
		var rs []coverage.Record
		for n := range 5 {
			r := b.rec(1+(i+n)%20, uint64(i%7), src)
			if (i+n)%11 == 0 {
				r = b.rec(1+(i+n)%20, 0)
			}
			r.RestsOn = []coverage.Actor{{ID: fmt.Sprint("actor", i%9), Role: fmt.Sprint("role", i%3), At: b.now}}
			r.Again = []coverage.Appointment{{Why: coverage.WhyDue, At: b.now.Add(time.Hour)}}
			rs = append(rs, r)
		}
		short := ""
		if i%13 == 0 {
			short = "short now and then"
		}
		b.tail(short, rs...)
		if i%20 == 0 {
			b.turn(rs...)
		}
		for _, task := range b.next(coverage.Policy{}) {
			if task.Kind == coverage.Gap {
				b.page(&task, coverage.Progress{})
				b.closeTask(&task)
			}
		}
		for _, d := range b.claim(3) {
			b.done(d, []string{coverage.Ran, coverage.Failed, coverage.Lost, coverage.HandedOff}[i%4])
		}
		if i == cycles/4 {
			early = size()
		}
	}
	require.InEpsilon(t, early, size(), 0.2)
	b.check()
}
