package poll

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// WhySchema names the form of Why.
const WhySchema = "why/v1"

// Question is "why was it picked up, or not".
type Question struct {
	Ref     string `json:"ref"`               // a URL, owner/name#7, #7, PROJ-7 or a canonical identity
	Harness string `json:"harness,omitempty"` // only this one
	Offline bool   `json:"offline,omitempty"` // from the ledger alone
}

// Why is everything that decides about one entity.
type Why struct {
	Schema string     `json:"schema"`
	Entity WhyEntity  `json:"entity"`
	Scopes []WhyScope `json:"scopes"`
	// Problems are scopes that could not be asked, for people. The answer may lack them.
	Problems []string `json:"problems,omitempty"`
	Offline  bool     `json:"offline,omitempty"`
}

// WhyEntity is which entity was found.
type WhyEntity struct {
	Identity string `json:"identity"`
	Key      string `json:"key,omitempty"`
	URL      string `json:"url,omitempty"`
}

// WhyScope is the entity in one configured scope.
type WhyScope struct {
	Driver    string               `json:"driver,omitempty"`
	Container string               `json:"container,omitempty"` // as configured
	Scope     string               `json:"scope"`               // canonical
	State     string               `json:"state"`               // present, gone, unreadable; "stored" when nothing was read
	Problem   string               `json:"problem,omitempty"`   // why it is not present, or not decided
	ReadAt    time.Time            `json:"read_at,omitzero"`    // provider's clock
	Updated   time.Time            `json:"updated,omitzero"`    // the entity's change clock
	Coverage  WhyCoverage          `json:"coverage"`
	Harnesses []WhyHarness         `json:"harnesses"`
	Actors    []admission.Evidence `json:"actors,omitempty"` // writers of what the queries name
}

// WhyCoverage is what the ledger knows of the entity and of the scope around it.
type WhyCoverage struct {
	Known  bool                     `json:"known"` // the ledger has the entity
	ReadAt time.Time                `json:"read_at,omitzero"`
	Again  []WhyLook                `json:"next_looks"`
	Walks  []coverage.WalkSnapshot  `json:"walks"`
	Sweeps []coverage.SweepSnapshot `json:"sweeps"`
	Notes  []string                 `json:"notes"` // for people
	Next   time.Time                `json:"next_sweep,omitzero"`
	Cycle  *coverage.Cycle          `json:"last_cycle,omitempty"`
}

// WhyLook is an appointment.
type WhyLook struct {
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
	Since time.Time `json:"since,omitzero"`
	Tries int       `json:"tries,omitempty"`
	Cause string    `json:"cause,omitempty"`
	Needs []string  `json:"needs,omitempty"`
}

// WhyHarness is one harness over the entity.
type WhyHarness struct {
	Harness   string          `json:"harness"`
	Role      string          `json:"role,omitempty"`
	Admission string          `json:"admission,omitempty"` // the role that an element's writer needs
	Verdict   query.Verdict   `json:"verdict"`             // of membership
	Refused   []string        `json:"refused,omitempty"`   // sources that the provider cannot serve, and why
	Queries   []query.Trace   `json:"queries,omitempty"`
	Trigger   *WhyTrigger     `json:"trigger,omitempty"`
	Pair      *WhyPair        `json:"pair,omitempty"`     // what the ledger holds
	Delivery  *WhyDelivery    `json:"delivery,omitempty"` // in the outbox
	Last      json.RawMessage `json:"last,omitempty"`     // evidence of the last match, a dispatch record's without traces
}

// WhyTrigger is what the harness's CEL says.
type WhyTrigger struct {
	Expression string        `json:"expression"` // "" when there is none: the harness is never started by itself
	Verdict    query.Verdict `json:"verdict"`
	Why        string        `json:"why,omitempty"`
}

// WhyPair is the harness and the entity as last decided.
type WhyPair struct {
	In        bool     `json:"in"`
	Undecided bool     `json:"undecided"`
	Entries   int      `json:"entries"`
	Closed    []string `json:"closed"`            // ids of decisions that were answered, newest last
	Pending   string   `json:"pending,omitempty"` // id of the decision in the outbox
}

// WhyDelivery is a decision on its way.
type WhyDelivery struct {
	Decision  string    `json:"decision"`
	Created   time.Time `json:"created"`
	Tries     int       `json:"tries"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Lease     time.Time `json:"lease,omitzero"`
	Dead      bool      `json:"dead,omitempty"`
	Why       string    `json:"why,omitempty"`
}

// What a question fails with.
var (
	ErrNoEntity  = errors.New("no configured scope has the entity")
	ErrAmbiguous = errors.New("several entities fit")
	ErrNoHarness = errors.New("no such harness")
)

// Ambiguous lists what fits; it matches ErrAmbiguous.
type Ambiguous struct {
	Ref     string
	Choices []scope.Ref
}

func (e *Ambiguous) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q: %v, ask for one of them", e.Ref, ErrAmbiguous)
	for i, c := range e.Choices {
		fmt.Fprintf(&b, "%s %s (%s)", separator(i), c.Identity, c.Key)
	}
	return b.String()
}

func separator(i int) string {
	if i == 0 {
		return ":"
	}
	return ","
}

// Is makes the error match ErrAmbiguous.
func (e *Ambiguous) Is(target error) bool { return target == ErrAmbiguous }

// maxRef bounds what a person may give for a reference, in bytes.
const maxRef = 2048

// Why reads the entity live, with every fact that the harnesses name, and judges it as a cycle would; what the ledger
// knows is added. It changes nothing, at the provider or in the ledger, which may be missing. now is the local clock.
// ErrNoEntity, ErrNoHarness and *Ambiguous say what is wrong with the question.
func (e *Engine) Why(ctx context.Context, q Question, now time.Time) (*Why, error) {
	if len(q.Ref) > maxRef {
		return nil, fmt.Errorf("%w: a reference has at most %d bytes", ErrNoEntity, maxRef)
	}
	a := &asking{engine: e, q: q, now: now}
	if e.opt.Ledger != nil {
		snap, err := e.opt.Ledger.Snapshot(ctx, now)
		if err != nil {
			return nil, err
		}
		a.snap = snap
	}
	if q.Offline {
		return a.offline(ctx)
	}
	if q.Harness != "" && !slices.ContainsFunc(e.targets, func(t *target) bool { return t.has(q.Harness) }) {
		return nil, fmt.Errorf("%w: %q asks about no configured scope", ErrNoHarness, q.Harness)
	}
	return a.online(ctx)
}

func (t *target) has(harness string) bool {
	return slices.ContainsFunc(t.Harnesses, func(h Harness) bool { return h.Name == harness })
}

// asking is one Why.
type asking struct {
	engine   *Engine
	q        Question
	now      time.Time
	snap     coverage.Snapshot
	problems []string
}

// seen is the entity as one target has it.
type seen struct {
	run *run
	ref scope.Ref
}

func (a *asking) online(ctx context.Context) (*Why, error) {
	var found []seen
	for _, likely := range []bool{true, false} {
		for _, t := range a.engine.targets {
			if a.names(t) != likely || a.q.Harness != "" && !t.has(a.q.Harness) {
				continue
			}
			s, err := a.find(ctx, t)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			switch {
			case err != nil:
				a.problems = append(a.problems, fmt.Sprintf("%s %s (%s): %v", t.Config.Container, t.Config.Kind, t.Driver, err))
			case s.run != nil:
				found = append(found, s)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) == 0 {
		return a.lost(ctx)
	}
	refs := make([]scope.Ref, len(found))
	for i := range found {
		refs[i] = found[i].ref
	}
	w, err := a.answer(refs)
	if err != nil {
		return nil, err
	}
	for i := range found {
		s, err := a.judge(ctx, &found[i])
		if err != nil {
			return nil, err
		}
		w.Scopes = append(w.Scopes, s)
	}
	w.Problems = a.problems
	return w, nil
}

// names says that the reference mentions the target's container, so that the others need not be asked.
func (a *asking) names(t *target) bool {
	if id, err := scope.ParseIdentity(a.q.Ref); err == nil {
		return id.Provider == t.Adapter.Provider() && id.Kind == t.Config.Kind
	}
	return strings.Contains(strings.ToLower(a.q.Ref), strings.ToLower(t.Config.Container))
}

func (a *asking) answer(refs []scope.Ref) (*Why, error) {
	slices.SortFunc(refs, func(x, y scope.Ref) int { return cmp.Compare(x.Identity.String(), y.Identity.String()) })
	refs = slices.CompactFunc(refs, func(x, y scope.Ref) bool { return x.Identity == y.Identity })
	if len(refs) > 1 {
		return nil, &Ambiguous{a.q.Ref, refs}
	}
	r := refs[0]
	return &Why{Schema: WhySchema, Entity: WhyEntity{r.Identity.String(), r.Key, r.URL}, Scopes: []WhyScope{}}, nil
}

// find opens a session of its own, under the credential's budget, and looks for the entity. No run: it is not there.
func (a *asking) find(ctx context.Context, tt *target) (seen, error) {
	own := *tt.Target
	own.Lane = own.Meter.Lane()
	own.Config.Budget = own.Lane
	t := &target{Target: &own}
	if err := t.open(ctx); err != nil {
		return seen{}, err
	}
	h, err := t.session.Health(ctx)
	if err != nil {
		return seen{}, err
	}
	quiet := a.engine.opt
	quiet.Ledger, quiet.Progress = nil, nil
	r := &run{engine: &Engine{opt: quiet}, t: t, sum: &Summary{}, log: a.engine.opt.Log}
	r.prepare(ctx, h)
	ref, err := a.resolve(ctx, r)
	var ae *adapters.Error
	if errors.Is(err, adapters.ErrNotFound) && errors.As(err, &ae) && ae.Severity == adapters.ItemFailure {
		return seen{}, nil
	}
	if err != nil {
		return seen{}, err
	}
	return seen{r, ref}, nil
}

// resolve asks the ledger for a canonical identity first: some providers can be asked by name only.
func (a *asking) resolve(ctx context.Context, r *run) (scope.Ref, error) {
	if id, err := scope.ParseIdentity(a.q.Ref); err == nil && a.engine.opt.Ledger != nil {
		es, err := a.engine.opt.Ledger.Lookup(ctx, id)
		if err != nil {
			return scope.Ref{}, err
		}
		for i := range es {
			if es[i].Scope == r.sc && !es[i].Entity.Gone {
				return es[i].Entity.Ref, nil
			}
		}
	}
	return r.t.session.Find(ctx, a.q.Ref)
}

// lost answers from the ledger for an entity that no scope shows any more.
func (a *asking) lost(ctx context.Context) (*Why, error) {
	w, err := a.offline(ctx)
	if err == nil || !errors.Is(err, ErrNoEntity) || len(a.problems) == 0 {
		return w, err
	}
	return nil, fmt.Errorf("%w, as far as they can be asked: %s", err, strings.Join(a.problems, "; "))
}

// maxWriters bounds how many roles one question asks for.
const maxWriters = 100

// judge reads the entity and judges it, as an appointment of the cycle does.
func (a *asking) judge(ctx context.Context, s *seen) (WhyScope, error) {
	r := s.run
	out := WhyScope{Driver: r.t.Driver, Container: r.t.Config.Container, Scope: r.sc.Key(), State: "present", Harnesses: []WhyHarness{}}
	w := &work{ent: &coverage.Entity{Ref: s.ref}, open: true}
	for i := range r.t.Harnesses {
		if h := &r.t.Harnesses[i]; a.asks(h.Name) {
			for _, q := range h.Queries {
				w.want = w.want.Union(q.Fields())
			}
			if h.Trigger != nil {
				w.want = w.want.Union(h.Trigger.Fields())
			}
		}
	}
	err := r.pursue(ctx, []*work{w})
	if err == nil && w.item.State == adapters.Present && w.facts != nil {
		err = r.writers(ctx, w)
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	ent, err2 := a.stored(ctx, r.sc, s.ref.Identity)
	if err2 != nil {
		return out, err2
	}
	out.ReadAt, out.Updated = w.item.ReadAt, w.item.Updated
	switch {
	case err != nil:
		out.Problem = err.Error()
		if w.facts == nil {
			out.State = "unreadable"
		}
	case w.item.State == adapters.Gone:
		out.State, out.Problem = "gone", cause(w.failed)
	case w.item.State == adapters.Unreadable:
		out.State, out.Problem = "unreadable", cause(w.failed)
	}
	if out.Problem == "" && len(w.verdict.undecided) > 0 {
		out.Problem = r.because(w)
	}
	for i := range r.t.Harnesses {
		h := &r.t.Harnesses[i]
		if !a.asks(h.Name) {
			continue
		}
		wh := WhyHarness{Harness: h.Name, Role: h.Role, Admission: h.Threshold.String()}
		if out.State == "present" {
			r.explain(ctx, w, h, &wh)
		}
		if err := a.remember(ctx, ent, &wh); err != nil {
			return out, err
		}
		out.Harnesses = append(out.Harnesses, wh)
	}
	if out.State == "present" {
		out.Actors = r.told(w)
	}
	out.Coverage = a.coverage(r.sc, ent, out.Updated, r.t.Driver, r.t.Policy.SweepEvery)
	return out, nil
}

func (a *asking) asks(harness string) bool { return a.q.Harness == "" || a.q.Harness == harness }

// writers asks for the role of everybody who wrote something that the queries name, also of those on whom the verdict
// does not depend: people want to see why an element does not count.
func (r *run) writers(ctx context.Context, w *work) error {
	users := admission.Users(w.facts)
	var needs []query.Need
	for id := range users {
		needs = append(needs, query.Need{Actor: id})
	}
	slices.SortFunc(needs, query.Need.Compare)
	ask := map[string]query.User{}
	for _, u := range r.book.Missing(needs, users) {
		if len(ask) < maxWriters {
			ask[u.ID] = u
		}
	}
	if len(ask) == 0 {
		return nil
	}
	if err := r.learn(ctx, ask); err != nil {
		return err
	}
	r.route(ctx, w)
	return nil
}

// told is what is known of the writers.
func (r *run) told(w *work) []admission.Evidence {
	out := []admission.Evidence{}
	users := admission.Users(w.facts)
	for id, u := range users {
		if e, ok := r.book.Evidence(id); ok {
			out = append(out, e)
		} else {
			out = append(out, admission.Evidence{Actor: id, Login: u.Login, Bot: u.Bot, Why: "not looked up"})
		}
	}
	slices.SortFunc(out, func(a, b admission.Evidence) int { return cmp.Compare(a.Actor, b.Actor) })
	return out
}
