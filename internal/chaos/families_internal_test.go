package chaos

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// family is one way in which a poller loses or repeats things, as a story; the twin is the same story without the rule
// that guards against it, which must break the invariant named.
type family struct {
	name   string
	rules  []rule // versions of harness a; b is always there with a plain rule of its own
	ask    int
	self   bool
	script string
	twin   Rules
	breaks string
}

func (f *family) story() *Story {
	st := &Story{Setting: Setting{Flavour: face.Gitea127, Rows: 11, Sweep: 3 * time.Hour, Recheck: 10 * time.Minute}, versions: map[string][]*harness{}}
	for _, r := range f.rules {
		st.versions["a"] = append(st.versions["a"], family1("a", r, f.ask, f.self))
	}
	st.versions["b"] = []*harness{family1("b", label("docs"), 0, false)}
	for line := range strings.Lines(f.script) {
		if line = strings.TrimSpace(line); line != "" {
			st.Lines = append(st.Lines, line)
		}
	}
	return st
}

func family1(name string, r rule, ask int, self bool) *harness {
	h := &harness{name: name, kinds: []forgesim.Kind{forgesim.WorkItem, forgesim.ChangeProposal}, rule: r, ask: ask, level: adapters.Write, self: self}
	if err := h.prepare(); err != nil {
		panic(err)
	}
	return h
}

// SPEC CO-9 CO-11 CO-13 CO-18 CO-19 CO-20 CO-24 CO-33 CO-36 CO-37: each family stands, and its twin falls.
func TestFamilies(t *testing.T) {
	b, err := NewBench()
	require.NoError(t, err)
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			require.NoError(t, Play(b, f.story(), Rules{}, testWriter{t}))
			err := Play(b, f.story(), f.twin, nil)
			require.Error(t, err, "the twin")
			assert.Equal(t, f.breaks, invariant(err), "%v", err)
		})
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// many creates n entities without a label.
func many(n int) string { return strings.Repeat("create as=wes title=thing\n", n) }

// busy is a cycle in which much has changed, none of it of interest.
func busy() string {
	var b strings.Builder
	for i := 18; i < 30; i++ {
		fmt.Fprintf(&b, "label on=%d as=wes label=go\nunlabel on=%d as=wes label=go\nlabel on=%d as=sam label=bug\nunlabel on=%d as=sam label=bug\nlabel on=%d as=sam label=bug\n", i, i, i, i, i)
	}
	return b.String() + "cycle\nadvance by=3m\n"
}

func families() []family {
	onceSeen := map[string]bool{}
	return []family{
		{
			name: "an edited comment moves no clock", rules: []rule{commanded("/go", "")},
			script: `plan a:0,b:0
				create as=wes title=thing
				comment on=1 as=wes body=hello name=r
				settle
				edit-comment comment=r as=wes body=/go
				advance by=1m
				cycle`,
			twin: bend(bent{walk: func(w adapters.Walk) bool { return w.Name != "comments" }}), breaks: "missed",
		},
		{
			name: "a renamed label moves no clock", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing labels=spare
				settle
				delete-label label=bug
				rename-label label=spare to=bug
				settle`,
			twin: Rules{Policy: func(p *coverage.Policy) { p.SweepEvery = 0 }}, breaks: "missed",
		},
		{
			name: "two changes in one second, a cycle between them", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				label on=1 as=wes label=docs
				cycle
				label on=1 as=wes label=bug
				advance by=1m
				cycle`,
			twin: bend(bent{at: func(_ adapters.Walk, p *adapters.Position) {
				if !p.Since.IsZero() {
					p.Since = p.Since.Add(6 * time.Second)
				}
			}}), breaks: "missed",
		},
		{
			name: "a replica lags in a follow-up read", rules: []rule{commanded("/go", "")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				advance by=10m
				comment on=1 as=wes body=/go
				advance by=20s
				fault kind=replica-lag by=60s route=read
				cycle
				clear-faults
				advance by=2m
				cycle
				account`,
			twin:   bend(bent{item: func(it *adapters.Item) { it.Updated = it.ReadAt }}),
			breaks: "missed",
		},
		{
			name: "an unchanged entity under a changed source", rules: []rule{label("bug"), some{label("bug"), label("go")}},
			script: `plan a:0,b:0
				create as=wes title=thing labels=go
				settle
				plan a:1,b:0
				advance by=1m
				cycle
				account`,
			twin: bend(bent{turns: 1}), breaks: "missed",
		},
		{
			name: "a plan that changes all the time", rules: []rule{state("open"), some{state("open"), locked()}},
			script: "plan a:0\n" + many(150) + "create as=wes kind=change_proposal title=thing\nadvance by=1h\nbudget requests=24 emit=0\n" + strings.Repeat("plan a:1\ncycle\nadvance by=2m\nplan a:0\ncycle\nadvance by=2m\n", 12) + "account",
			twin: bend(bent{at: func(w adapters.Walk, p *adapters.Position) {
				if w.Name == "all" {
					p.Cursor = nil
				}
			}}), breaks: "missed",
		},
		{
			name: "closed and opened again, each seen", rules: []rule{state("open")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				close on=1 as=wes
				advance by=1m
				cycle
				reopen on=1 as=wes
				advance by=1m
				cycle`,
			twin: bend(bent{page: func(w adapters.Walk, p *adapters.Page) {
				if w.Name == "issues" {
					p.Items = filter(p.Items, func(it *adapters.Item) bool { return !closed(it) })
				}
			}}), breaks: "missed",
		},
		{
			name: "a demotion under a negation", rules: []rule{not{label("blocked")}},
			script: `plan a:0,b:0
				create as=wes title=thing
				label on=1 as=wanda label=blocked
				settle
				set-role user=wanda role=read
				advance by=11m
				cycle
				account`,
			twin: Rules{Policy: func(p *coverage.Policy) { p.RecheckEvery = 0 }}, breaks: "missed",
		},
		{
			name: "a no on facts that were still young", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				label on=1 as=wes label=bug
				outcomes stale
				cycle
				advance by=1m
				cycle
				account`,
			twin: Rules{Driver: func(d dispatch.Driver) dispatch.Driver {
				return answering{d, func(r *coverage.Receipt) { r.At = r.At.Add(time.Hour) }}
			}}, breaks: "missed",
		},
		{
			name: "there and back again", rules: []rule{some{milestone("1.0"), milestone("2.0")}},
			script: `plan a:0,b:0
				create as=wes title=thing milestone=1.0
				settle
				milestone on=1 as=wes milestone=2.0
				advance by=1m
				cycle
				milestone on=1 as=wes milestone=1.0
				advance by=1m
				cycle`,
			twin: bend(bent{page: func(_ adapters.Walk, p *adapters.Page) {
				for i := range p.Items {
					if f := p.Items[i].Facts; f != nil {
						stamped := *f.Get(query.FMilestone)
						stamped.Rev = p.Items[i].Updated.String() // a change clock in the decision
						f.Set(query.FMilestone, stamped)
					}
				}
			}}), breaks: "twice",
		},
		{
			name: "its own comment", rules: []rule{said("please")}, self: true,
			script: `plan a:0,b:0
				create as=wes title=thing
				comment on=1 as=wes body=please
				settle
				comment on=1 as=robot body="what else, please?"
				advance by=1m
				cycle`,
			twin: Rules{Target: nobodyItself}, breaks: "twice",
		},
		{
			name: "its own command", rules: []rule{commanded("/go", "")}, self: true,
			script: `plan a:0,b:0
				create as=wes title=thing
				comment on=1 as=wes body=/go
				settle
				comment on=1 as=robot body=/go
				advance by=1m
				cycle`,
			twin: Rules{Target: nobodyItself}, breaks: "twice",
		},
		{
			name: "a second command while a run is on", rules: []rule{commanded("/go", "")},
			script: `plan a:0,b:0
				create as=wes title=thing
				comment on=1 as=wes body=/go
				outcomes started
				cycle
				account
				comment on=1 as=wes body="/go on"
				advance by=1m
				cycle
				end ran
				cycle
				account`,
			twin: Rules{Driver: func(d dispatch.Driver) dispatch.Driver { return once{d.(*driver), onceSeen} }}, breaks: "missed",
		},
		{
			name: "a match decided on half of its comments", rules: []rule{some{state("open"), commanded("/go", "")}},
			script: `plan a:0,b:0
				create as=wes title=thing
				comment on=1 as=wes body=/go
				settle
				comment on=1 as=wes body="/go on"
				advance by=1m
				cycle`,
			twin: bend(bent{page: func(_ adapters.Walk, p *adapters.Page) {
				for i := range p.Items {
					if f := p.Items[i].Facts; f != nil {
						f.SetItems(query.FComment)
					}
				}
			}}), breaks: "missed",
		},
		{
			name: "a writer who is deleted", rules: []rule{label("bug")},
			script: `create as=wes title=thing
				label on=1 as=zoe label=bug
				delete-user login=zoe
				plan a:0,b:0
				settle`,
			twin: bend(bent{item: func(it *adapters.Item) {
				if it.Facts == nil {
					return
				}
				f := it.Facts.Get(query.FLabel)
				for i := range f.Items {
					if e := &f.Items[i]; e.Actor.Deleted {
						e.Actor = query.User{ID: "4", Login: "wes"}
					}
				}
			}}), breaks: "twice",
		},
		{
			name: "an entity that is deleted before its delivery", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing labels=bug
				create as=wes title=thing
				settle
				delete on=1
				settle`,
			twin: bend(bent{item: func(it *adapters.Item) {
				if it.State == adapters.Gone {
					it.State = adapters.Unreadable
				}
			}}), breaks: "no rest after 14 cycles",
		},
		{
			name: "a null row", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing
				create as=wes title=thing
				settle
				advance by=10m
				label on=2 as=wes label=bug
				advance by=20s
				fault kind=null-rows n=1 route=issues.list count=1
				cycle
				clear-faults
				advance by=2m
				cycle
				account`,
			twin: bend(bent{page: func(_ adapters.Walk, p *adapters.Page) { p.Short = nil }}), breaks: "missed",
		},
		{
			name: "a frontier over a null row, as the sweep sees it", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				advance by=10m
				label on=1 as=wes label=docs
				advance by=20s
				fault kind=null-rows n=1 route=issues.list count=1
				cycle
				clear-faults
				advance by=4h
				cycle`,
			twin: bend(bent{page: func(w adapters.Walk, p *adapters.Page) {
				if w.Kind == query.Changes {
					p.Short = nil
				}
			}}), breaks: "covered",
		},
		{
			name: "a clock that steps back", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				advance by=-5m
				label on=1 as=wes label=bug
				advance by=10s
				cycle
				advance by=6m
				cycle
				account`,
			twin: bend(bent{health: forward()}), breaks: "missed",
		},
		{
			name: "a clock that steps back and is ahead again", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				advance by=-5m
				drift by=5m
				label on=1 as=wes label=bug
				advance by=6m
				cycle
				account`,
			twin: Rules{Clock: func(world time.Time) time.Time { return world }}, breaks: "missed",
		},
		{
			name: "a cap", rules: []rule{label("bug")},
			script: "plan a:0,b:0\nsettle\n" + strings.Repeat("create as=wes title=thing labels=bug\nadvance by=2s\n", 12) + `cap n=3
				advance by=1m
				cycle
				account`,
			twin: bend(bent{page: func(_ adapters.Walk, p *adapters.Page) {
				if p.Short != nil {
					p.Short.Err = adapters.ErrUnavailable
				}
			}}), breaks: "missed",
		},
		{
			name: "a budget that one kind of work eats", rules: []rule{label("bug")},
			script: "plan a:0,b:0\n" + many(30) + "label on=3 as=wes label=bug\nadvance by=1h\nbudget requests=24 emit=0\n" +
				strings.Repeat(busy(), 30) + "account",
			twin: Rules{Target: greedy}, breaks: "missed",
		},
		{
			name: "a receipt that is lost", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing
				settle
				label on=1 as=wes label=bug
				crash at=driver n=1
				cycle
				advance by=16m
				cycle
				account
				settle`,
			twin: Rules{Store: func(s coverage.Store) coverage.Store { return forgetful{s} }}, breaks: "no rest after 14 cycles",
		},
		{
			name: "a run that outlives its lease", rules: []rule{label("bug")},
			script: `plan a:0,b:0
				create as=wes title=thing labels=bug
				outcomes started
				cycle
				` + strings.Repeat("advance by=16m\ncycle\n", 12) + `end ran
				cycle
				account
				settle`,
			twin: Rules{Driver: func(d dispatch.Driver) dispatch.Driver { return &amnesiac{d.(*driver)} }}, breaks: "twice running",
		},
		{
			name: "a run that always fails", rules: []rule{state("open")},
			script: `plan a:0,b:0
				create as=wes title=thing labels=docs
				settle
				create as=wes title=thing labels=docs
				poison a
				cycle
				advance by=5m
				create as=wes title=thing labels=docs
				cycle
				account`,
			twin: Rules{Driver: func(d dispatch.Driver) dispatch.Driver { return brittle{d} }}, breaks: "again",
		},
	}
}

func nobodyItself(t *poll.Target) {
	for i := range t.Harnesses {
		t.Harnesses[i].Self = ""
	}
}

func closed(it *adapters.Item) bool {
	vs := it.Facts.Get(query.FState).Values
	return len(vs) == 1 && vs[0].Str == "closed"
}

func filter(items []adapters.Item, keep func(*adapters.Item) bool) (out []adapters.Item) {
	for i := range items {
		if keep(&items[i]) {
			out = append(out, items[i])
		}
	}
	return out
}

// forward is a provider's clock that never goes back.
func forward() func(*adapters.Health) {
	var last time.Time
	return func(h *adapters.Health) {
		if h.Clock.Before(last) {
			h.Clock = last
		}
		last = h.Clock
	}
}

// bent is an adapter whose answers are changed.
type bent struct {
	adapters.Adapter
	walk   func(adapters.Walk) bool // walks that remain
	at     func(adapters.Walk, *adapters.Position)
	page   func(adapters.Walk, *adapters.Page)
	item   func(*adapters.Item) // of follow-up reads
	health func(*adapters.Health)
	turns  int // complete sweeps of a kind that show anything; 0: all
	turned map[query.Kind]int
}

func bend(b bent) Rules {
	return Rules{Adapter: func(a adapters.Adapter) adapters.Adapter {
		if b.turned == nil {
			b.turned = map[query.Kind]int{}
		}
		b.Adapter = a
		return &b
	}}
}

func (b *bent) Open(ctx context.Context, c adapters.Config) (adapters.Session, error) {
	s, err := b.Adapter.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return &bentSession{Session: s, b: b}, nil
}

type bentSession struct {
	adapters.Session
	b *bent
}

func (s *bentSession) Health(ctx context.Context) (adapters.Health, error) {
	h, err := s.Session.Health(ctx)
	if err == nil && s.b.health != nil {
		s.b.health(&h)
	}
	return h, err
}

func (s *bentSession) Compile(ctx context.Context, ss []query.Source) (adapters.Plan, []adapters.Refusal) {
	p, r := s.Session.Compile(ctx, ss)
	return bentPlan{p, s.b}, r
}

type bentPlan struct {
	adapters.Plan
	b *bent
}

func (p bentPlan) Walks() (out []adapters.Walk) {
	for _, w := range p.Plan.Walks() {
		if p.b.walk == nil || p.b.walk(w) {
			out = append(out, w)
		}
	}
	return out
}

func (s *bentSession) Pages(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	if s.b.at != nil {
		s.b.at(w, &at)
	}
	if w.Kind == query.Sweep && s.b.turns > 0 && s.b.turned[s.Scope().Kind] >= s.b.turns {
		return func(yield func(adapters.Page, error) bool) { yield(adapters.Page{}, nil) }
	}
	return func(yield func(adapters.Page, error) bool) {
		for page, err := range s.Session.Pages(ctx, p.(bentPlan).Plan, w, at) {
			if err == nil && s.b.page != nil {
				s.b.page(w, &page)
			}
			if !yield(page, err) || err != nil {
				return
			}
		}
		if w.Kind == query.Sweep {
			s.b.turned[s.Scope().Kind]++
		}
	}
}

func (s *bentSession) Read(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
	items, err := s.Session.Read(ctx, refs, fs)
	for i := range items {
		if s.b.item != nil {
			s.b.item(&items[i])
		}
		if s.b.page != nil {
			p := adapters.Page{Items: items[i : i+1]}
			s.b.page(adapters.Walk{}, &p)
		}
	}
	return items, err
}

func (s *bentSession) Probe(ctx context.Context, numbers []int64) ([]adapters.Item, error) {
	return s.Session.(adapters.Prober).Probe(ctx, numbers)
}

// answering changes the receipts of a driver.
type answering struct {
	dispatch.Driver
	change func(*coverage.Receipt)
}

func (a answering) Start(ctx context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	out, err := a.Driver.Start(ctx, rs)
	for i := range out {
		a.change(&out[i])
	}
	return out, err
}

// brittle gives no receipts for a batch in which one run failed.
type brittle struct{ dispatch.Driver }

func (b brittle) Start(ctx context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	out, err := b.Driver.Start(ctx, rs)
	for _, r := range out {
		if r.Outcome == coverage.Failed {
			return nil, err
		}
	}
	return out, err
}

// once takes every harness and entity for done that it ever had a run of.
type once struct {
	*driver
	seen map[string]bool
}

func (o once) Start(ctx context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	var fresh []dispatch.Record
	var out []coverage.Receipt
	for _, r := range rs {
		if o.seen[r.Key] {
			out = append(out, coverage.Receipt{Key: r.Key, Decision: r.Decision, Outcome: coverage.Ran, At: o.now()})
			continue
		}
		o.seen[r.Key] = true
		fresh = append(fresh, r)
	}
	more, err := o.driver.Start(ctx, fresh)
	return append(out, more...), err
}

// amnesiac does not know its own runs.
type amnesiac struct{ *driver }

func (a *amnesiac) Start(ctx context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	clear(a.living)
	return a.driver.Start(ctx, rs)
}

// forgetful loses what waits in the queue for an instant.
type forgetful struct{ coverage.Store }

func (f forgetful) Update(ctx context.Context, do func(coverage.Tx) error) error {
	return f.Store.Update(ctx, func(tx coverage.Tx) error { return do(forgetfulTx{tx}) })
}

type forgetfulTx struct{ coverage.Tx }

func (t forgetfulTx) Put(bucket, key string, value []byte) error {
	if bucket == "queue" && strings.HasPrefix(key, "r") {
		return nil
	}
	return t.Tx.Put(bucket, key, value)
}

// greedy gives a scope a budget without shares: whatever comes first takes all of it.
func greedy(t *poll.Target) { t.Config.Budget = &purse{} }

type purse struct{ spent int }

func (p *purse) Wait(_ context.Context, c adapters.Class, _ int) error {
	if c == adapters.Identity {
		p.spent = 0
		return nil
	}
	if p.spent++; p.spent > 12 {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "send request", Err: adapters.ErrBudget}
	}
	return nil
}

func (*purse) Observe(adapters.Class, int, http.Header) {}
