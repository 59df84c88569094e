package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// player plays one case: it holds the world, the engine over it, and what was seen so far.
type player struct {
	ctx   context.Context
	c     *Case
	tg    *Target
	place *Place
	wire  *wire
	purse *purse
	tap   *tap

	engine     *poll.Engine
	targets    []poll.Target
	ledger     *coverage.Ledger
	sink       *sink
	credential string
	use        []string // harnesses that are configured; nil: all
	copies     int

	at       line
	names    map[string]bool   // what scripts have called entities
	keys     map[string]string // key -> name
	emitted  map[string]int    // harness:name, since the last "expect emitted"
	sum      poll.Summary
	pending  []string // why the last cycle was incomplete, until a step expects it
	missed   int      // likewise
	baseline map[adapters.Class]int
	plans    []poll.PlanView
}

// skip ends a case that does not apply or cannot be played.
type skip struct {
	why   string
	fault bool // the stage's, not the provider's nature
}

func (s skip) Error() string { return s.why }

func newPlayer(ctx context.Context, c *Case, tg *Target) (*player, error) {
	p := &player{ctx: ctx, c: c, tg: tg, credential: c.as, copies: 1, sink: &sink{},
		names: map[string]bool{}, keys: map[string]string{}, emitted: map[string]int{}}
	if err := p.applies(); err != nil {
		return nil, err
	}
	place, err := tg.Open(ctx, Wish{Case: c.Name, Kind: c.Kind, Hints: c.hints, Words: c.words(), Makes: c.makes()})
	if err != nil {
		return nil, unable(fmt.Errorf("open a place: %w", err))
	}
	p.place = place
	if err := p.able(); err != nil {
		p.close()
		return nil, err
	}
	if p.place.Config.Now == nil {
		p.place.Config.Now = time.Now
	}
	return p, nil
}

func (p *player) close() {
	if p.place.Close != nil {
		p.place.Close()
	}
}

// unable turns what a stage cannot do into a skip.
func unable(err error) error {
	if errors.Is(err, ErrUnable) {
		return skip{why: err.Error(), fault: true}
	}
	return err
}

// play goes through the case. The error is a *Failure, a skip, or what kept the case from being played.
func (p *player) play() error {
	if err := p.script(p.c.setup); err != nil {
		return err
	}
	if err := p.matches(); err != nil {
		return err
	}
	if len(p.c.steps) == 0 {
		return nil
	}
	if err := p.fresh(); err != nil {
		return err
	}
	if err := p.script(p.c.steps); err != nil {
		return err
	}
	return p.claimed()
}

// script does lines, the suite's own steps and the stage's verbs alike.
func (p *player) script(ls []line) error {
	for _, l := range ls {
		p.at = l
		if err := p.line(l.words); err != nil {
			return p.wrap(err)
		}
	}
	return nil
}

// wrap says which line an error belongs to, unless it is a verdict already.
func (p *player) wrap(err error) error {
	var f *Failure
	var s skip
	if err == nil || errors.As(err, &f) || errors.As(err, &s) {
		return err
	}
	return fmt.Errorf("line %d: %s: %w", p.at.no, p.at.text, err)
}

func (p *player) line(words []string) error {
	if words[0] == "repeat" {
		return p.repeat(words)
	}
	if do, ok := steps()[words[0]]; ok {
		return do(p, words[1:])
	}
	return p.verb(words)
}

// repeat does the rest of a line n times, with {i} counting from 1.
func (p *player) repeat(words []string) error {
	if len(words) < 3 {
		return errors.New("want repeat N verb …")
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	for i := 1; i <= n; i++ {
		ws := make([]string, len(words)-2)
		for j, w := range words[2:] {
			ws[j] = strings.ReplaceAll(w, "{i}", strconv.Itoa(i))
		}
		if err := p.line(ws); err != nil {
			return err
		}
	}
	return nil
}

var named = regexp.MustCompile(`\bname=([A-Za-z0-9_-]+)`)

// verb changes the world.
func (p *player) verb(words []string) error {
	args, err := pairs(words[1:])
	if err != nil {
		return err
	}
	for k, v := range args {
		if args[k], err = expand(v, p.name); err != nil {
			return err
		}
	}
	if words[0] == "create" && args["kind"] == "" {
		args["kind"] = string(p.c.Kind)
	}
	if words[0] == "after" && p.place.After {
		return p.after(args)
	}
	if err := p.place.Stage.Do(p.ctx, words[0], args); err != nil {
		return unable(err)
	}
	for _, w := range words {
		for _, m := range named.FindAllStringSubmatch(w, -1) {
			p.names[m[1]] = true
		}
	}
	if words[0] == "create" || words[0] == "rename-repo" || words[0] == "transfer" {
		p.learnKeys()
	}
	return nil
}

// after does the verbs of a script behind the n-th page or read from now on, for stages that cannot do it between two requests.
func (p *player) after(args map[string]string) error {
	n := 1
	if args["n"] != "" {
		var err error
		if n, err = strconv.Atoi(args["n"]); err != nil {
			return err
		}
	}
	p.tap.after(args["route"], n, func() error {
		for _, l := range strings.Split(args["do"], " ; ") {
			words, err := split(l)
			if err != nil {
				return err
			}
			if err := p.verb(words); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// name resolves a placeholder.
func (p *player) name(n string) (string, error) {
	if n == "kind" {
		return string(p.c.Kind), nil
	}
	if n == "lag" {
		return p.lag()
	}
	if who, ok := strings.CutSuffix(n, ".upper"); ok {
		v, err := p.name(who)
		return strings.ToUpper(v), err
	}
	who, isID := strings.CutSuffix(n, ".id")
	v := who
	if w, ok := p.place.Names[who]; ok {
		v = w
	}
	if !isID {
		return v, nil
	}
	if p.place.ID == nil {
		return "", skip{why: "the stage does not tell account ids", fault: true}
	}
	return p.place.ID(p.ctx, v)
}

// lag is a delay that the change walks of the session claim to bear: half a grain less than the smallest lag.
func (p *player) lag() (string, error) {
	if p.tap == nil || p.tap.session == nil {
		return "", errors.New("{lag} needs a cycle before it")
	}
	pl, _ := p.tap.session.Compile(p.ctx, p.sources())
	lag := time.Duration(0)
	for _, w := range pl.Walks() {
		if d := w.Lag - w.Grain/2; w.Kind == query.Changes && (lag == 0 || d < lag) {
			lag = d
		}
	}
	return lag.String(), nil
}

// learnKeys asks the stage what its entities are called now. A name that has no entity yet, or none any more, keeps what
// it had.
func (p *player) learnKeys() {
	for n := range p.names {
		if k, err := p.place.Stage.Key(n); err == nil {
			p.keys[k] = n
		}
	}
}

// fresh starts over: an empty ledger and a new engine.
func (p *player) fresh() error {
	led, err := coverage.Open(p.ctx, coverage.NewMemory(), coverage.Options{Now: p.place.Config.Now, Rand: func() float64 { return 0.5 }})
	if err != nil {
		return err
	}
	p.ledger = led
	p.emitted, p.pending, p.missed = map[string]int{}, nil, 0
	return p.restart()
}

// restart makes a new engine over the same ledger, as a new process would.
func (p *player) restart() error {
	hs, err := p.harnesses()
	if err != nil {
		return err
	}
	return p.engineFor(hs)
}

// engineFor puts an engine with these harnesses over the ledger.
func (p *player) engineFor(hs []poll.Harness) error {
	cfg := p.place.Config
	p.wire = newWire(transportOf(cfg.HTTP), cfg.Now)
	client := http.Client{}
	if cfg.HTTP != nil {
		client = *cfg.HTTP
	}
	client.Transport = p.wire
	meter := poll.NewMeter(cfg.Now, 0, p.c.budget)
	lane := meter.Lane()
	p.purse = &purse{Budget: lane}
	cfg.HTTP, cfg.Budget, cfg.Kind = &client, p.purse, p.c.Kind
	cfg.Token = func(context.Context) (string, error) { return p.place.Token(p.credential) }
	bots, err := p.bots()
	if err != nil {
		return err
	}
	for id := range bots {
		cfg.Agents = append(cfg.Agents, id)
	}
	slices.Sort(cfg.Agents)
	p.tap = newTap(p.tg.Adapter)
	p.targets = []poll.Target{{
		Driver: "conformance", Adapter: p.tap, Config: cfg, Meter: meter, Lane: lane, Harnesses: hs, Bots: bots,
		Policy: coverage.Policy{SweepEvery: p.c.sweep, RecheckEvery: p.c.recheck},
	}}
	p.engine = poll.New(poll.Options{Ledger: p.ledger, Targets: p.targets, Log: slog.New(slog.DiscardHandler)})
	return nil
}

func transportOf(c *http.Client) http.RoundTripper {
	if c == nil {
		return nil
	}
	return c.Transport
}

// bots are the case's agents by stable id.
func (p *player) bots() (map[string]adapters.Role, error) {
	out := map[string]adapters.Role{}
	for who, role := range p.c.agents {
		id, err := p.name(who + ".id")
		if err != nil {
			return nil, err
		}
		out[id] = role
	}
	return out, nil
}

// harnesses binds the case's queries, as often as multiply said.
func (p *player) harnesses() ([]poll.Harness, error) {
	var out []poll.Harness
	for n := range p.copies {
		at := map[string]int{}
		for _, s := range p.c.queries {
			if p.use != nil && !slices.Contains(p.use, s.harness) {
				continue
			}
			h, err := p.harness(s)
			if err != nil {
				return nil, err
			}
			if i, ok := at[h.Name]; ok {
				out[i].Queries = append(out[i].Queries, h.Queries...)
				continue
			}
			at[h.Name] = len(out)
			if n > 0 {
				h.Name += "~" + strconv.Itoa(n)
			}
			out = append(out, h)
		}
	}
	return out, nil
}

func (p *player) harness(s source) (poll.Harness, error) {
	h := poll.Harness{Name: s.harness, Threshold: s.threshold, Role: "coder", Revision: "case"}
	if s.self != "" {
		id, err := p.name(s.self + ".id")
		if err != nil {
			return h, err
		}
		h.Self = id
	}
	text, err := expand(s.text, p.name)
	if err != nil {
		return h, err
	}
	q, err := bind(p.tg.Adapter, p.c.Kind, text, h.Self)
	if err != nil {
		return h, err
	}
	h.Queries = []*query.Bound{q}
	prog, issues := trigger.Compile("true", p.tg.Adapter.Catalogue(p.c.Kind))
	if len(issues) > 0 {
		return h, issues[0]
	}
	h.Trigger = prog
	return h, nil
}

// lacking are the codes with which a query is refused because of what the provider has not got.
var lacking = []string{"Q201", "Q202", "Q203", "Q221"}

// bind makes a query ready. What the provider lacks skips the case.
func bind(a adapters.Adapter, k query.Kind, text, self string) (*query.Bound, error) {
	q, ds := query.Parse(text)
	if ds.Failed() {
		return nil, fmt.Errorf("query %s: %w", text, failed(ds))
	}
	b, ds := q.Bind(k, a.Catalogue(k), query.Env{Self: self})
	if !ds.Failed() {
		return b, nil
	}
	d := failed(ds)
	if slices.Contains(lacking, d.Code) {
		return nil, skip{why: fmt.Sprintf("%s has no such thing for %s: %s", a.Provider(), k, d.Message)}
	}
	return nil, fmt.Errorf("query %s: %w", text, d)
}

func failed(ds query.Diagnostics) query.Diagnostic {
	for _, d := range ds {
		if d.Severity == query.Error {
			return d
		}
	}
	return query.Diagnostic{}
}

// sink is the output driver: it takes everything.
type sink struct{ got []dispatch.Record }

func (*sink) Name() string { return "conformance" }

func (s *sink) Start(_ context.Context, rs []dispatch.Record) ([]coverage.Receipt, error) {
	s.got = append(s.got, rs...)
	out := make([]coverage.Receipt, len(rs))
	for i := range rs {
		out[i] = coverage.Receipt{Key: rs[i].Key, Decision: rs[i].Decision, Outcome: coverage.HandedOff, At: rs[i].Time}
	}
	return out, nil
}

// cycle runs one cycle, hands over what it emitted, and holds what must hold after each.
func (p *player) cycle(full bool, stopAfter int) error {
	if err := p.claimed(); err != nil {
		return err
	}
	return p.run(full, stopAfter)
}

func (p *player) run(full bool, stopAfter int) error {
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	p.tap.begin(stopAfter, stop)
	p.wire.begin()
	p.purse.begin()
	p.targets[0].Policy.Full = full
	sums, err := p.engine.Cycle(ctx)
	if terr := p.tap.trouble; terr != nil {
		return fmt.Errorf("a script of the verb after: %w", terr)
	}
	if err != nil && (stopAfter == 0 || ctx.Err() == nil || p.ctx.Err() != nil) {
		return fmt.Errorf("cycle: %w", err)
	}
	p.sum = sums[0]
	p.pending = slices.Clone(p.sum.Incomplete)
	for _, r := range p.sum.Refused {
		p.pending = append(p.pending, fmt.Sprintf("source %s is refused: %s", r.Source, r.Why))
	}
	p.tap.mu.Lock()
	for _, key := range p.tap.unmet {
		p.pending = append(p.pending, fmt.Sprintf("CF-25: the sweep did not meet %s, which is there: only asking for it by number found it", key))
	}
	p.tap.mu.Unlock()
	p.missed = p.sum.Missed
	p.sink.got = nil
	if _, _, err := p.engine.Deliver(p.ctx, poll.Hand{Driver: p.sink, Spec: dispatch.Declared, Now: p.place.Config.Now}); err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	p.learnKeys()
	for i := range p.sink.got {
		r := &p.sink.got[i]
		p.emitted[base(r.Harness)+":"+p.called(r.Entity.Key)]++
	}
	return p.invariants()
}

// base is the name of the harness that a copy was made of.
func base(h string) string { b, _, _ := strings.Cut(h, "~"); return b }

// called is an entity's name in the case, or its key.
func (p *player) called(key string) string {
	if n, ok := p.keys[key]; ok {
		return n
	}
	return key
}

// classes of requests, by the word that case files use.
func counts(m map[adapters.Class]int, word string) (int, bool) {
	n := 0
	switch c := adapters.Class(word); {
	case word == "total":
		for _, v := range m {
			n += v
		}
	case word == "reads": // everything that follows up on what was found
		n = m[adapters.Read] + m[adapters.Roles]
	case slices.Contains([]adapters.Class{adapters.Search, adapters.Read, adapters.Roles, adapters.Identity}, c):
		n = m[c]
	default:
		return 0, false
	}
	return n, true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
