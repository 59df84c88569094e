package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// rounds bounds how often one entity is read on within a batch: row, then fields, then roles, then what the trigger
// reads. A chain that is longer goes on in a later cycle.
const rounds = 6

// The backoff of an appointment that could not be kept: doubling from first to last.
const (
	backoffFirst = time.Minute
	backoffLast  = 6 * time.Hour
)

// sighting is how long having been seen outweighs not being found: more than any replica is expected to lag.
const sighting = 30 * time.Minute

// agenda looks at every entity whose appointment is due, in batches with one transaction each. A passing failure leaves
// the rest of the agenda as it is, for the next cycle.
func (r *run) agenda(ctx context.Context) error {
	seen := map[scope.Identity]bool{}
	if r.t.batch == 0 {
		r.t.batch = r.t.Lane.modest(r.engine.opt.Batch)
	}
	settled := 0
	for ctx.Err() == nil {
		ents, err := r.led().Due(ctx, r.sc, r.clock, r.t.batch)
		if err != nil {
			return errLedger{err}
		}
		ents = slices.DeleteFunc(ents, func(e coverage.Entity) bool { return seen[e.Ref.Identity] })
		if len(ents) == 0 {
			r.t.batch = min(2*r.t.batch, r.engine.opt.Batch)
			return r.report()
		}
		for i := range ents {
			seen[ents[i].Ref.Identity] = true
		}
		recs, halt := r.look(ctx, ents)
		if led := (errLedger{}); halt != nil && (ctx.Err() != nil || errors.As(halt, &led)) {
			return halt
		}
		if settled += len(recs); len(recs) > 0 {
			out, err := r.led().Settle(ctx, r.sc, recs)
			if err != nil {
				return errLedger{err}
			}
			r.sum.add(out)
			r.sum.Read = true
		}
		if halt != nil {
			// A batch that is dearer than the whole budget would be begun anew by every cycle.
			if settled == 0 {
				r.t.batch = max(1, r.t.batch/2)
			}
			r.sum.fail(fmt.Errorf("follow-up reads: %w", halt))
			return r.report()
		}
	}
	return ctx.Err()
}

// report names what stays undecided, once per cause.
func (r *run) report() error {
	causes := make([]string, 0, len(r.stuck))
	for c := range r.stuck {
		causes = append(causes, c)
	}
	sort.Strings(causes)
	for _, c := range causes {
		r.sum.incomplete(fmt.Sprintf("%d undecided: %s", r.stuck[c], c))
		delete(r.stuck, c)
	}
	return nil
}

// work is one entity of a batch.
type work struct {
	ent     *coverage.Entity
	item    adapters.Item
	facts   *query.Facts
	read    query.FieldSet // fields that were read in full
	want    query.FieldSet // fields to read next
	verdict verdict
	open    bool // more is to be read
	failed  *adapters.Error
}

// look reads a batch of entities as far as their verdicts need, and makes their records. The error says why the rest of
// the agenda has to wait; the records beside it are good.
func (r *run) look(ctx context.Context, ents []coverage.Entity) ([]coverage.Record, error) {
	cat := r.t.Adapter.Catalogue(r.t.Config.Kind)
	before := r.t.Lane.refusals()
	ws := make([]*work, len(ents))
	for i := range ents {
		w := &work{ent: &ents[i], open: true}
		for _, a := range ents[i].Again {
			w.want = w.want.Union(fieldSet(cat, a.Needs))
		}
		ws[i] = w
	}
	if err := r.pursue(ctx, ws); err != nil {
		return nil, err
	}
	recs := make([]coverage.Record, 0, len(ws))
	var halt error
	for _, w := range ws {
		starved := r.t.Lane.refusals() > before || w.failed != nil && postponed(w.failed)
		if starved && (w.item.State == adapters.Unreadable || len(w.verdict.undecided) > 0) {
			// What was not tried has not failed: it stays due as it is.
			halt = &adapters.Error{Severity: adapters.MomentFailure, Op: "read entities", Err: adapters.ErrBudget}
			if w.failed != nil {
				halt = w.failed
			}
			continue
		}
		recs = append(recs, r.record(w))
	}
	if halt == nil {
		halt = stuck(ws)
	}
	return recs, halt
}

// stuckAt is how many reads must fail, without one that succeeds, before that speaks of the scope and not of entities.
const stuckAt = 5

// stuck judges a batch by its progress: when every read fails, the rest of the agenda would fail alike. What was tried is
// parked, so that the next cycle begins with others; the rest waits as it is.
func stuck(ws []*work) error {
	var last *adapters.Error
	for _, w := range ws {
		if w.item.State != adapters.Unreadable || w.failed == nil {
			return nil
		}
		last = w.failed
	}
	if len(ws) < stuckAt {
		return nil
	}
	return fmt.Errorf("all %d reads of a batch failed, the last with: %w", len(ws), last)
}

// pursue reads on until nothing that could decide is left to ask, or the rounds are over.
func (r *run) pursue(ctx context.Context, ws []*work) error {
	for range rounds {
		if err := r.read(ctx, ws); err != nil {
			return err
		}
		asked, err := r.roles(ctx, ws)
		if err != nil {
			return err
		}
		if !asked && !slices.ContainsFunc(ws, func(w *work) bool { return w.open }) {
			break
		}
	}
	return nil
}

// read asks for the wanted fields, entities with the same wants together, and routes what comes back.
func (r *run) read(ctx context.Context, ws []*work) error {
	groups := map[string][]*work{}
	var order []string
	for _, w := range ws {
		if !w.open {
			continue
		}
		k := fmt.Sprint(w.want.IDs())
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], w)
	}
	for _, k := range order {
		g := groups[k]
		refs := make([]scope.Ref, len(g))
		for i, w := range g {
			refs[i] = w.ent.Ref
		}
		items, err := r.t.session.Read(ctx, refs, g[0].want)
		if err != nil {
			return err
		}
		if len(items) != len(refs) {
			return &adapters.Error{Severity: adapters.MomentFailure, Op: "read entities",
				Err: fmt.Errorf("%w: %d answers for %d entities", adapters.ErrProtocol, len(items), len(refs))}
		}
		for i, w := range g {
			r.take(ctx, w, items[i])
		}
	}
	return nil
}

// take merges one answer and decides on it.
func (r *run) take(ctx context.Context, w *work, it adapters.Item) {
	w.item = it
	switch {
	case it.State == adapters.Gone && r.clock.Before(w.ent.ReadAt.Add(sighting)):
		w.open, w.item.State = false, adapters.Unreadable
		w.failed = &adapters.Error{Severity: adapters.ItemFailure, Op: "read entity",
			Err: fmt.Errorf("not found, but it was seen at %s: a replica may lag", w.ent.ReadAt.UTC().Format(time.RFC3339))}
		return
	case it.State != adapters.Present:
		w.open, w.failed = false, it.Err
		return
	case r.sc.Check(it.Place) != nil:
		w.open = false
		err := r.sc.Check(it.Place)
		w.failed = &adapters.Error{Severity: adapters.ItemFailure, Op: "check scope", Err: err}
		if errors.Is(err, scope.ErrOutside) {
			w.item.State = adapters.Gone // it lives elsewhere now: no member of this scope
		} else {
			w.item.State = adapters.Unreadable
		}
		return
	case it.Updated.Before(w.ent.Updated):
		// A replica that lags behind the listing proves nothing about now.
		w.open, w.item.State = false, adapters.Unreadable
		w.failed = &adapters.Error{Severity: adapters.ItemFailure, Op: "read entity",
			Err: fmt.Errorf("answer of %s is older than the listing's of %s: a replica lags",
				it.Updated.UTC().Format(time.RFC3339), w.ent.Updated.UTC().Format(time.RFC3339))}
		return
	}
	w.read, w.facts = w.want, it.Facts
	r.route(ctx, w)
}

// route decides an entity on what is known and sets what to ask next: everything again, with what is missing, so that a
// verdict never rests on parts of different moments.
func (r *run) route(ctx context.Context, w *work) {
	r.judge.tries = tries(w.ent, coverage.WhyUndecided)
	defer func() { r.judge.tries = 0 }()
	w.verdict = r.judge.decide(ctx, w.item.Ref, w.facts, w.item.ReadAt)
	w.open, w.want = false, w.read
	for _, n := range w.verdict.needs {
		if n.Actor == "" && !w.read.Has(n.Field) {
			w.want.Add(n.Field)
			w.open = true
		}
	}
}

// roles looks up every actor that the batch's verdicts need, once, and routes again what waited for them. A role may show
// that another one is needed.
func (r *run) roles(ctx context.Context, ws []*work) (asked bool, err error) {
	ask := map[string]query.User{}
	for _, w := range ws {
		if w.item.State != adapters.Present || w.facts == nil {
			continue
		}
		for _, u := range r.book.Missing(w.verdict.needs, admission.Users(w.facts)) {
			ask[u.ID] = u
		}
	}
	if len(ask) == 0 {
		return false, nil
	}
	if err := r.learn(ctx, ask); err != nil {
		if !postponed(err) {
			return false, err
		}
		r.halt(ws, err)
		return false, nil
	}
	for _, w := range ws {
		if w.item.State != adapters.Present || w.facts == nil || len(w.verdict.needs) == 0 {
			continue
		}
		r.route(ctx, w)
	}
	return true, nil
}

// postponed says that nothing was tried, because the budget is spent or the provider asked to wait.
func postponed(err error) bool {
	return errors.Is(err, adapters.ErrBudget) || errors.Is(err, adapters.ErrThrottled)
}

// halt leaves what still needs something for a later cycle.
func (r *run) halt(ws []*work, err error) {
	why := &adapters.Error{Severity: adapters.MomentFailure, Op: "read roles", Err: err}
	for _, w := range ws {
		if w.item.State == adapters.Present && len(w.verdict.needs) > 0 {
			w.open, w.failed = false, why
		}
	}
}

// learn asks the provider for roles and notes what it answers.
func (r *run) learn(ctx context.Context, ask map[string]query.User) error {
	found, err := r.ask(ctx, ask)
	if err != nil {
		return err
	}
	r.book.Learn(found)
	return r.noteRoles(ctx, found)
}

// ask asks for the roles of some actors, in a fixed order.
func (r *run) ask(ctx context.Context, ask map[string]query.User) ([]adapters.Finding, error) {
	users := make([]query.User, 0, len(ask))
	for _, u := range ask {
		users = append(users, u)
	}
	slices.SortFunc(users, func(a, b query.User) int { return strings.Compare(a.ID, b.ID) })
	return r.t.session.Roles(ctx, users)
}

// noteRoles keeps what was verified, and of everything else that it was asked: who cannot be verified must not stand
// before the others for ever.
func (r *run) noteRoles(ctx context.Context, found []adapters.Finding) error {
	if r.led() == nil {
		return nil // a question, no cycle: it leaves no trace
	}
	as := make([]coverage.Actor, len(found))
	for i, f := range found {
		as[i] = coverage.Actor{ID: f.Actor.ID, Login: f.Actor.Login, At: r.clock}
		if f.Verified {
			as[i].Role, as[i].At = f.Role.String(), f.At
		}
	}
	if _, err := r.led().NoteRoles(ctx, r.sc, as); err != nil {
		return errLedger{err}
	}
	return nil
}

// recheck asks again for the roles on which stored verdicts rest. Entities are read again only when a role changed.
func (r *run) recheck(ctx context.Context) error {
	if r.t.Policy.RecheckEvery <= 0 {
		return nil
	}
	as, err := r.led().ActorsDue(ctx, r.sc, r.clock.Add(-r.t.Policy.RecheckEvery), 2*r.engine.opt.Batch)
	if err != nil {
		return errLedger{err}
	}
	ask := map[string]query.User{}
	for _, a := range as {
		if _, listed := r.t.Bots[a.ID]; !listed && !a.Bot {
			ask[a.ID] = query.User{ID: a.ID, Login: a.Login}
		}
	}
	if len(ask) == 0 {
		return nil
	}
	found, err := r.ask(ctx, ask)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.sum.fail(fmt.Errorf("role recheck: %w", err))
		return nil
	}
	// What was not verified is not learned: the login on file may be an old one, and a row will tell the new one.
	r.book.Learn(slices.DeleteFunc(slices.Clone(found), func(f adapters.Finding) bool { return !f.Verified }))
	return r.noteRoles(ctx, found)
}

// record is what is settled about one entity of a batch.
func (r *run) record(w *work) coverage.Record {
	rec := coverage.Record{Ref: w.ent.Ref}
	if w.item.State == adapters.Gone {
		rec.Gone, rec.ReadAt = true, r.clock
		return rec
	}
	if w.item.State == adapters.Unreadable {
		rec.ReadAt = w.ent.ReadAt
		rec.Again = r.later(w.ent, coverage.WhyFailed, cause(w.failed), w.verdict.needs)
		return rec
	}
	rec.Ref, rec.Updated, rec.ReadAt = w.item.Ref, w.item.Updated, w.item.ReadAt
	r.judge.fill(&rec, &w.verdict, w.facts)
	if len(w.verdict.undecided) > 0 {
		r.sum.Unknown++
		rec.Again = append(rec.Again, r.later(w.ent, coverage.WhyUndecided, r.because(w), w.verdict.needs)...)
	}
	return rec
}

// because names why an entity is undecided after everything was asked.
func (r *run) because(w *work) string {
	for _, n := range w.verdict.needs {
		if c, ok := r.book.CauseOf(n.Actor); ok {
			return c.String()
		}
	}
	for _, n := range w.verdict.needs {
		if f := w.facts.Get(n.Field); f.Presence != query.Known && f.Why != "" {
			return f.Why
		}
	}
	if len(w.verdict.why) > 0 {
		return w.verdict.why[0]
	}
	return "what would decide it was not given by the provider"
}

// later postpones an entity with backoff and counts it under its cause.
func (r *run) later(ent *coverage.Entity, why, because string, needs []query.Need) []coverage.Appointment {
	r.stuck[because]++
	n := tries(ent, why)
	wait := min(backoffFirst<<min(n, 10), backoffLast)
	return []coverage.Appointment{{
		Why: why, At: r.clock.Add(wait), Tries: n + 1, Cause: because, Needs: fieldNames(r, needs),
	}}
}

// tries is how often an appointment was not kept.
func tries(ent *coverage.Entity, why string) int {
	for _, a := range ent.Again {
		if a.Why == why {
			return a.Tries
		}
	}
	return 0
}
