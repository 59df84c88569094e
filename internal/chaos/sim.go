package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

// Rules replace parts of the poller by worse ones: how a test shows that a rule is needed. The zero value replaces nothing.
type Rules struct {
	Adapter func(adapters.Adapter) adapters.Adapter
	Store   func(coverage.Store) coverage.Store
	Driver  func(dispatch.Driver) dispatch.Driver
	Policy  func(*coverage.Policy)
	Target  func(*poll.Target)
	Receipt func(*coverage.Receipt) // of runs that lived on
	Clock   func(world time.Time) time.Time
}

// Setting is the frame of a story.
type Setting struct {
	Flavour face.Flavour
	Rows    int  // of a page
	Cron    bool // every cycle is a process of its own
	Sweep   time.Duration
	Recheck time.Duration
	Drift   time.Duration // of the poller's own clock
}

const (
	home  = "acme/widgets"
	robot = "robot"
	token = "sim-agent"
)

// sim is one story on stage.
type sim struct {
	bench *Bench
	set   Setting
	rules Rules
	out   io.Writer // the play as it goes; nil is silence

	world  *forgesim.World
	forge  http.RoundTripper
	wire   *wire
	store  coverage.Store
	life   *life
	led    *coverage.Ledger
	engine *poll.Engine
	driver *driver
	oracle *oracle

	versions map[string][]*harness // every version of every name that the story may use
	cast     []string              // name:version of the harnesses in force
	budget   int                   // requests of a cycle; 0: no cap
	limit    int                   // decisions handed over by a cycle; 0: no cap
	most     int                   // rows that the provider gives of a window; 0: no cap

	exact   bool // since the last checkpoint nothing happened that a cycle may lawfully learn later, or see torn
	loud    bool // nothing ever happened that no clock tells, and no answer was quietly wrong
	robotID string
	running map[string]bool // decisions whose run lives
	taken   []hand          // what came out in this cycle
	open    []hand          // handed off: the run may still fail
	failed  error           // the first violation that had no caller to tell
}

type hand struct {
	pair
	key, decision, outcome string
}

// violation is a broken invariant.
type violation struct{ what string }

func (v violation) Error() string { return v.what }

func broken(format string, args ...any) error { return violation{fmt.Sprintf(format, args...)} }

func newSim(b *Bench, set Setting, rules Rules, versions map[string][]*harness, out io.Writer) (*sim, error) {
	s := &sim{bench: b, set: set, rules: rules, out: out, versions: versions, exact: true, loud: true, running: map[string]bool{}}
	s.world = forgesim.New(forgesim.Options{Profile: set.Flavour.Profile()})
	if err := s.people(); err != nil {
		return nil, err
	}
	s.forge = forgesim.Transport(face.New(s.world, face.Options{Flavour: set.Flavour, MaxItems: set.Rows, DefaultItems: set.Rows, BaseURL: "http://forge.test"}))
	s.store = coverage.NewMemory()
	u, _, _ := s.world.User(robot)
	s.robotID = strconv.FormatInt(u.ID, 10)
	s.oracle = newOracle(s.world, u.ID)
	r, _, _ := s.world.Repo(home)
	s.oracle.repo = r.ID
	s.driver = &driver{now: s.world.Now, ordinary: coverage.Ran, took: s.took, living: map[string]string{}}
	return s, s.start()
}

// people is who and what every story begins with.
func (s *sim) people() error {
	return s.world.Run(context.Background(), strings.NewReader(`user login=acme org=true
user login=agent
user login=robot
repo repo=acme/other
repo repo=acme/widgets
user login=wes ; user login=wanda ; user login=mira ; user login=zoe ; user login=rob ; user login=sam
set-role user=agent role=admin ; set-role user=wes role=write ; set-role user=wanda role=write
set-role user=mira role=maintain ; set-role user=zoe role=write ; set-role user=rob role=read
set-role repo=acme/other user=agent role=admin ; set-role repo=acme/other user=wes role=write
token text=`+token+` user=agent
create-label label=bug ; create-label label=docs ; create-label label=blocked ; create-label label=go ; create-label label=spare
create-label repo=acme/other label=bug
create-milestone milestone=1.0 ; create-milestone milestone=2.0
create repo=acme/other as=wes title="urgent elsewhere" labels=bug
advance by=1h`))
}

// start begins a process over the store as it stands.
func (s *sim) start() error {
	s.life = &life{}
	s.wire = &wire{forge: s.forge, life: s.life, hooks: map[int][]string{}, do: s.act}
	s.driver.life = s.life
	store := coverage.Store(&disk{s.store, s.life})
	if s.rules.Store != nil {
		store = s.rules.Store(store)
	}
	led, err := coverage.Open(context.Background(), store, coverage.Options{Now: s.local, Rand: func() float64 { return 0.5 }})
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	s.led = led
	return s.hire()
}

// local is the poller's own clock.
func (s *sim) local() time.Time {
	if s.rules.Clock != nil {
		return s.rules.Clock(s.world.Now())
	}
	return s.world.Now().Add(s.set.Drift)
}

// hire makes an engine for the harnesses in force.
func (s *sim) hire() error {
	meter := poll.NewMeter(s.local, 0, s.budget)
	var targets []poll.Target
	for _, k := range kinds() {
		hs, err := s.harnesses(k)
		if err != nil {
			return err
		}
		if len(hs) == 0 {
			continue
		}
		lane := meter.Lane()
		t := poll.Target{
			Driver: "forge", Adapter: capped{forgejo.Adapter{}, func() int { return s.most }}, Meter: meter, Lane: lane, Harnesses: hs,
			Config: adapters.Config{
				BaseURL: "http://forge.test", Container: home, Kind: k, HTTP: &http.Client{Transport: s.wire}, Budget: lane,
				Token:  func(context.Context) (string, error) { return token, nil },
				Agents: []string{s.robotID}, Now: s.local, Parallel: 1,
			},
			Bots:   map[string]adapters.Role{s.robotID: adapters.Write},
			Policy: coverage.Policy{SweepEvery: s.set.Sweep, RecheckEvery: s.set.Recheck},
		}
		if s.rules.Adapter != nil {
			t.Adapter = s.rules.Adapter(t.Adapter)
		}
		if s.rules.Policy != nil {
			s.rules.Policy(&t.Policy)
		}
		if s.rules.Target != nil {
			s.rules.Target(&t)
		}
		targets = append(targets, t)
	}
	s.engine = poll.New(poll.Options{Ledger: s.led, Targets: targets, Log: slog.New(slog.DiscardHandler), Concurrency: 1})
	return nil
}

func (s *sim) harnesses(k query.Kind) ([]poll.Harness, error) {
	var out []poll.Harness
	for _, c := range s.cast {
		h, err := s.version(c)
		if err != nil {
			return nil, err
		}
		if !h.asks(forgesim.Kind(k)) {
			continue
		}
		out = append(out, s.bench.bind(h, k, s.robotID))
	}
	return out, nil
}

// version finds "name:n".
func (s *sim) version(c string) (*harness, error) {
	name, n, _ := strings.Cut(c, ":")
	i, err := strconv.Atoi(n)
	if err != nil || i < 0 || i >= len(s.versions[name]) {
		return nil, fmt.Errorf("no harness %q", c)
	}
	return s.versions[name][i], nil
}

// took is told by the driver of every record that it gets.
func (s *sim) took(r *dispatch.Record, outcome string) {
	s.say("  → %s %s %s: %s (decision %s, entry %d)", r.Harness, r.Entity.Key, r.Entity.Kind, outcome, r.Decision, r.Entries)
	for i := range r.Queries {
		s.say("      %+v", r.Queries[i].Support)
	}
	id, err := strconv.ParseInt(r.Entity.ID, 10, 64)
	e := s.oracle.entities[id]
	p := pair{r.Harness, id}
	if s.running[r.Decision] {
		s.fail(broken("twice running: %s about %s, decision %s", r.Harness, r.Entity.Key, r.Decision))
	}
	if outcome == dispatch.Started {
		s.running[r.Decision] = true
	}
	s.taken = append(s.taken, hand{p, r.Key, r.Decision, outcome})
	switch h := s.oracle.harnesses[r.Harness]; {
	case err != nil || r.Scope.Container != strconv.FormatInt(s.oracle.repo, 10):
		s.fail(broken("outside: %s was asked about %s of container %s", r.Harness, r.Entity.ID, r.Scope.Container))
		return
	case h == nil:
		s.fail(broken("outside: %s is asked, and not in the plan", r.Harness))
		return
	case !h.asks(forgesim.Kind(r.Entity.Kind)):
		s.fail(broken("outside: %s was asked about a %s", r.Harness, r.Entity.Kind))
		return
	case e != nil && (string(e.Kind) != string(r.Entity.Kind)):
		s.fail(broken("outside: %s was asked about %s, which is a %s", r.Harness, r.Entity.Key, e.Kind))
		return
	}
	if err := s.oracle.emitted(p, r.Decision, s.exact, outcome != stale); err != nil {
		s.fail(broken("%v", err))
	}
}

// fail keeps the first violation that has no caller to tell.
func (s *sim) fail(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

func (s *sim) say(format string, args ...any) {
	if s.out != nil {
		fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// act changes the world by one line of its script and lets the oracle look. What the world refuses is no step: a story
// that was shortened may speak of what is not there.
func (s *sim) act(line string) {
	if err := s.world.Run(context.Background(), strings.NewReader(line)); err != nil {
		s.say("  (%v)", err)
		return
	}
	s.look(line)
}

// look brings the oracle up to date after a line.
func (s *sim) look(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "advance", "fault", "clear-faults":
		s.oracle.tick()
	default:
		ref := ""
		for _, w := range strings.Fields(rest) {
			if v, ok := strings.CutPrefix(w, "on="); ok && verb != "delete" {
				ref = v
			}
		}
		s.oracle.refresh(ref)
	}
}

// cycle runs one cycle and hands over what came out.
func (s *sim) cycle(clean bool) error {
	if s.set.Cron {
		if err := s.hire(); err != nil {
			return err
		}
	}
	s.life.begin()
	s.driver.batches = 0
	ctx := context.Background()
	sums, err := s.engine.Cycle(ctx)
	for _, sum := range sums {
		s.say("  %s: scanned %d matched %d left %d unknown %d emitted %d missed %d read %v %v", sum.Kind, sum.Scanned, sum.Matched, sum.Left, sum.Unknown, sum.Emitted, sum.Missed, sum.Read, sum.Incomplete)
	}
	if err := s.covered(sums); err != nil {
		return err
	}
	if err == nil && !s.life.dead {
		_, _, err = s.engine.Deliver(ctx, poll.Hand{Driver: s.hands(), Spec: dispatch.Declared, Now: s.local, Limit: s.limit})
	}
	s.wire.hooks = map[int][]string{}
	s.life.plan = crash{}
	switch {
	case s.failed != nil:
		return s.failed
	case s.life.endless:
		return broken("endless: a cycle sent more than %d requests or made more than %d transactions", endless, endless)
	case s.life.dead:
		s.say("  the process died: %v", err)
		return s.recover()
	case err != nil && clean:
		return broken("the cycle failed: %v", err)
	case errors.Is(err, coverage.ErrDamaged):
		return broken("the ledger calls itself damaged: %v", err)
	case err != nil:
		s.say("  delivery: %v", err)
	}
	for _, h := range s.taken {
		s.recorded(h)
	}
	s.taken = nil
	if clean {
		for i := range sums {
			if !sums[i].Complete() {
				return broken("a cycle without a fault is incomplete: %s: %s", sums[i].Kind, strings.Join(sums[i].Incomplete, "; "))
			}
		}
	}
	return nil
}

// covered: what a sweep finds that a window has claimed to cover shows a frontier over a range that was not read, unless
// something happened that no window can show.
func (s *sim) covered(sums []poll.Summary) error {
	for i := range sums {
		if s.loud && sums[i].Missed > 0 {
			return broken("covered: the sweep of %s found %d that a window had claimed", sums[i].Kind, sums[i].Missed)
		}
	}
	return nil
}

// recover begins the next process. What the dead one had handed over and the ledger still counts as held is in doubt:
// nobody knows what became of it.
func (s *sim) recover() error {
	if err := s.start(); err != nil {
		return err
	}
	held, err := s.led.Claimed(context.Background(), endless)
	if err != nil {
		return fmt.Errorf("ask for what is held: %w", err)
	}
	for _, h := range s.taken {
		switch {
		case !slices.ContainsFunc(held, func(d coverage.Delivery) bool { return d.Key == h.key && d.Decision == h.decision }):
			s.recorded(h)
		case h.outcome != dispatch.Started:
			s.oracle.lost(h.pair, h.decision)
		}
	}
	s.taken = nil
	return nil
}

func (s *sim) hands() dispatch.Driver {
	if s.rules.Driver != nil {
		return s.rules.Driver(s.driver)
	}
	return s.driver
}

// recorded: the ledger has taken the outcome.
func (s *sim) recorded(h hand) {
	switch h.outcome {
	case coverage.HandedOff:
		s.open = append(s.open, h)
		fallthrough
	case coverage.Ran, coverage.Skipped, coverage.NotTriggered:
		s.oracle.done(h.pair, h.decision)
	}
}
