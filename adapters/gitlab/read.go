package gitlab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// parallel bounds the requests that one call has under way, where the configuration does not.
const parallel = 4

// Read reads the rows of all entities together, as lists show them, since only there do labels have their ids; and of the
// rest only what fs names. An error means that nothing can be read in this scope now, or that the context ended; everything
// else is said by the items. Once the provider throttles, the items not yet begun carry that answer and are not asked for.
func (s *session) Read(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
	numbers := make([]int64, len(refs))
	for i, r := range refs {
		numbers[i], _ = strconv.ParseInt(r.Alias, 10, 64) // what is no number is 0, which nothing has
	}
	b := &batch{s: s, refs: refs}
	return b.run(ctx, numbers, fs)
}

// Probe asks for numbers that a sweep did not meet.
func (s *session) Probe(ctx context.Context, numbers []int64) ([]adapters.Item, error) {
	b := &batch{s: s, probe: true}
	for _, n := range numbers {
		b.refs = append(b.refs, scope.Ref{Alias: strconv.FormatInt(n, 10)})
	}
	items, err := b.run(ctx, numbers, query.FieldSet{})
	for i := range items {
		items[i].Number = numbers[i]
	}
	return items, err
}

// run reads the rows, then each entity's parts, a few entities at a time.
func (b *batch) run(ctx context.Context, numbers []int64, fs query.FieldSet) ([]adapters.Item, error) {
	items := make([]adapters.Item, len(numbers))
	for i := range items {
		items[i] = unreadable(b.refs[i], itemError(b.refs[i], errors.New("not read")))
	}
	if err := b.load(ctx, numbers); err != nil {
		return items, err
	}
	err := b.each(ctx, len(numbers), func(ctx context.Context, i int) error {
		it, err := b.read(ctx, b.refs[i], numbers[i], fs)
		items[i] = it
		return err
	})
	return b.settle(ctx, items, err)
}

// batch is one call of Read, Probe or Roles.
type batch struct {
	s     *session
	refs  []scope.Ref
	probe bool

	rows    map[int64]loaded
	refused map[int64]error // numbers whose rows could not be read

	mu      sync.Mutex
	wait    error // the provider said: not now
	missing bool  // something was not found
}

// settle decides what "not found" meant. GitLab says so, too, of what the credential may not see: a confidential issue, a
// project that was hidden. A project whose list of this kind can be read after all the answers could be read when they
// were given; with it an entity that the credential would see in any case is gone. Who may not see confidential
// issues learns nothing about an entity that was seen before; a number that never was is out of sight for good, which is
// all that a sweep wants to know.
func (b *batch) settle(ctx context.Context, items []adapters.Item, err error) ([]adapters.Item, error) {
	if err != nil || !b.missing {
		return items, err
	}
	p, proof := b.s.prove(ctx)
	if proof == nil && !b.probe && !b.s.seesAll(p) {
		proof = itemError(scope.Ref{Key: b.s.place()}, errors.New("not found, or confidential: the account may not see confidential issues"))
	}
	if proof == nil {
		return items, nil
	}
	for i := range items {
		if items[i].State == adapters.Gone && errors.Is(items[i].Err, adapters.ErrNotFound) {
			items[i] = unreadable(items[i].Ref, proof)
		}
	}
	if e := asError(proof); e.Severity == adapters.ScopeFailure {
		return items, proof
	}
	return items, nil
}

// prove reads the project and one row of the scope's list.
func (s *session) prove(ctx context.Context) (*api.Project, error) {
	p, _, err := s.readProject(ctx)
	if err != nil {
		return nil, err
	}
	l := s.listing(s.changesWalk(), cursor{Limit: 1, Plain: true})
	r := l.request(0, 1, 1, "")
	r.Class, r.Op = adapters.Identity, "verify that "+s.plural()+" of "+p.Path+" can be read"
	_, _, err = s.api.Entities(ctx, r, s.merge())
	return p, err
}

// seesAll reports whether nothing of the scope's kind is hidden from the credential: merge requests are never confidential,
// issues are shown from Planner on (doc/user/project/issues/confidential_issues.md).
func (s *session) seesAll(p *api.Project) bool {
	return s.merge() || s.admin || p.Level >= levelPlanner
}

// each runs f for every index, a few at a time. Errors of f are split: those of the scope and of the context end the
// batch, those of an item stay with it.
func (b *batch) each(ctx context.Context, n int, f func(context.Context, int) error) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(b.s.parallel)
	for i := range n {
		g.Go(func() error {
			err := f(gctx, i)
			var e *adapters.Error
			switch {
			case err == nil:
				return nil
			case ctx.Err() != nil:
				return &adapters.Error{Severity: adapters.MomentFailure, Op: "read", Err: ctx.Err()}
			case errors.As(err, &e) && e.Severity != adapters.ScopeFailure:
				b.throttled(e)
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

func (b *batch) throttled(e *adapters.Error) {
	if !errors.Is(e, adapters.ErrThrottled) && !errors.Is(e, adapters.ErrBudget) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait == nil {
		b.wait = e
	}
}

func (b *batch) waiting() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait
}

func (b *batch) lacks() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missing = true
}

// loaded is a row and when it was read.
type loaded struct {
	e  *api.Entity
	at time.Time
}

// rowsAtOnce keeps the address of a request short.
const rowsAtOnce = 50

// load reads the rows of all numbers. A part that fails for now, or for its entities alone, is kept as their failure.
func (b *batch) load(ctx context.Context, numbers []int64) error {
	b.rows, b.refused = map[int64]loaded{}, map[int64]error{}
	want := slices.DeleteFunc(slices.Clone(numbers), func(n int64) bool { return n <= 0 })
	slices.Sort(want)
	for part := range slices.Chunk(slices.Compact(want), rowsAtOnce) {
		err := b.waiting()
		if err == nil {
			err = b.loadPart(ctx, part)
		}
		var e *adapters.Error
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return &adapters.Error{Severity: adapters.MomentFailure, Op: "read", Err: ctx.Err()}
		case errors.As(err, &e) && e.Severity == adapters.ScopeFailure:
			return err
		}
		b.throttled(asError(err))
		for _, n := range part {
			b.refused[n] = err
		}
	}
	return nil
}

func (b *batch) loadPart(ctx context.Context, part []int64) error {
	l := b.s.listing(b.s.changesWalk(), cursor{Plain: true})
	r := l.request(0, 1, pageSize, "")
	r.Op, r.Class, r.Item = fmt.Sprintf("read %d %s of %s", len(part), b.s.plural(), b.s.place()), adapters.Read, true
	for _, n := range part {
		r.Query.Add("iids[]", strconv.FormatInt(n, 10))
	}
	rows, a, err := b.s.api.Entities(ctx, r, b.s.merge())
	if err != nil {
		return err
	}
	for _, e := range rows {
		if e == nil || e.Created.IsZero() || e.Updated.IsZero() {
			return &adapters.Error{Severity: adapters.ItemFailure, Op: r.Op, Status: 200, Err: fmt.Errorf("%w: %w", adapters.ErrProtocol, errNull)}
		}
		b.rows[e.IID] = loaded{e, b.s.at(a)}
	}
	return nil
}

// read reads one entity. The item says what happened; the error repeats it for the batch.
func (b *batch) read(ctx context.Context, ref scope.Ref, n int64, fs query.FieldSet) (adapters.Item, error) {
	if n <= 0 {
		return unreadable(ref, itemError(ref, fmt.Errorf("alias %q is no number", ref.Alias))), nil
	}
	if err := b.refused[n]; err != nil {
		return unreadable(ref, err), nil
	}
	if err := b.waiting(); err != nil {
		return unreadable(ref, err), nil
	}
	row, ok := b.rows[n]
	if !ok {
		return b.absent(ctx, ref, n)
	}
	it := b.s.item(row.e, row.at)
	switch {
	case it.Place.Container != b.s.scope.Container:
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: the answer is about another project", scope.ErrUnproven))), nil
	case ref.ID != "" && it.Ref.ID != ref.ID:
		return gone(ref, itemError(ref, fmt.Errorf("number %d is another entity (id %s)", n, it.Ref.ID))), nil
	case it.State != adapters.Present:
		return it, nil
	}
	if err := b.s.fill(ctx, row.e, it.Facts, fs); err != nil {
		return unreadable(ref, err), err
	}
	return it, nil
}

// absent asks for a number that the list did not show by itself, so that a row which was lost is not taken for one that is
// gone.
func (b *batch) absent(ctx context.Context, ref scope.Ref, n int64) (adapters.Item, error) {
	_, _, err := b.s.getEntity(ctx, adapters.Read, n)
	switch {
	case err == nil:
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: the list lacks it", adapters.ErrProtocol))), nil
	case errors.Is(err, adapters.ErrNotFound) && asError(err).Severity == adapters.ItemFailure:
		b.lacks()
		return gone(ref, err), nil // settle has the last word
	}
	return unreadable(ref, err), err
}

func itemError(ref scope.Ref, err error) error {
	name := ref.Key
	if name == "" {
		name = "number " + ref.Alias
	}
	return &adapters.Error{Severity: adapters.ItemFailure, Op: "read " + name, Err: err}
}

func gone(ref scope.Ref, err error) adapters.Item {
	return adapters.Item{Ref: ref, State: adapters.Gone, Err: asError(err)}
}

func unreadable(ref scope.Ref, err error) adapters.Item {
	return adapters.Item{Ref: ref, State: adapters.Unreadable, Err: asError(err)}
}

func asError(err error) *adapters.Error {
	var e *adapters.Error
	if errors.As(err, &e) {
		return e
	}
	return &adapters.Error{Severity: adapters.ItemFailure, Op: "read", Err: err}
}

// fill adds what fs names and the row does not have. A part that is refused or missing for this entity stays unknown and
// says why; anything else that fails leaves the entity unread.
func (s *session) fill(ctx context.Context, e *api.Entity, f *query.Facts, fs query.FieldSet) error {
	d := details{s: s, ctx: ctx, row: e, fields: fs}
	type part struct {
		fields []query.FieldID
		set    func(*query.Facts) error
	}
	parts := []part{
		{[]query.FieldID{query.FAuthorKind}, d.authorKind},
		{[]query.FieldID{query.FTitle}, d.title},
		{[]query.FieldID{query.FBody}, d.body},
		{[]query.FieldID{query.FLabel}, d.labels},
		{[]query.FieldID{query.FComment}, d.comments},
		{[]query.FieldID{query.FLastComment}, d.lastComment},
	}
	if s.merge() {
		parts = append(parts, part{[]query.FieldID{query.FReviewer}, d.reviewers}, part{[]query.FieldID{query.FReview}, d.reviews},
			part{[]query.FieldID{query.FChecks}, d.checks})
	} else {
		parts = append(parts, part{[]query.FieldID{query.FLinked}, d.linked})
	}
	for _, part := range parts {
		if !named(fs, part.fields...) {
			continue
		}
		err := part.set(f)
		var ae *adapters.Error
		switch {
		case err == nil:
		case errors.As(err, &ae) && ae.Severity == adapters.ItemFailure:
			for _, id := range part.fields {
				if f.Get(id).Presence == query.Unknown {
					f.Set(id, query.Fact{Why: ae.Error()})
				}
			}
		default:
			return err
		}
	}
	return nil
}

func named(fs query.FieldSet, ids ...query.FieldID) bool {
	for _, id := range ids {
		if fs.Has(id) {
			return true
		}
	}
	return false
}
