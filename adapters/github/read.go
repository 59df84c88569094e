package github

import (
	"context"
	"errors"
	"fmt"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Read reads entities by their nodes, up to twenty in a request, and of the rest only what fs names. An error means that
// nothing can be read in this scope now, or that the context ended; everything else is said by the items. Once the
// provider throttles, the items not yet begun carry that answer and are not asked for.
func (s *session) Read(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
	b := &batch{s: s, fs: fs, refs: refs, items: make([]adapters.Item, len(refs)), done: make([]bool, len(refs))}
	if err := b.byNode(ctx); err != nil {
		return b.items, err
	}
	return b.items, b.byNumber(ctx)
}

// batch is one call of Read.
type batch struct {
	s     *session
	fs    query.FieldSet
	refs  []scope.Ref
	items []adapters.Item
	done  []bool
}

func (b *batch) settle(i int, it adapters.Item) { b.items[i], b.done[i] = it, true }

// fail settles what was not reached. It gives an error back only when the whole scope is concerned.
func (b *batch) fail(ctx context.Context, is []int, err error) error {
	if ctx.Err() != nil {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "read", Err: ctx.Err()}
	}
	for _, i := range is {
		b.settle(i, unreadable(b.refs[i], err))
	}
	if asError(err).Severity == adapters.ScopeFailure {
		return err
	}
	return nil
}

// stops reports whether an error means that nothing more is to be asked now.
func stops(err error) bool {
	return errors.Is(err, adapters.ErrThrottled) || errors.Is(err, adapters.ErrBudget)
}

// byNode asks for every ref that has a node id. What is not there under it stays undone.
func (b *batch) byNode(ctx context.Context) error {
	var open []int
	for i, r := range b.refs {
		n, node, ok := parseAlias(r.Alias)
		switch {
		case !ok:
			b.settle(i, unreadable(r, itemError(r, fmt.Errorf("alias %q is no number", r.Alias))))
		case node != "" && n > 0:
			open = append(open, i)
		}
	}
	return b.read(ctx, open, func(i int) string {
		_, node, _ := parseAlias(b.refs[i].Alias)
		return node
	})
}

// byNumber finds the node of what is left by its number, and reads it under that.
func (b *batch) byNumber(ctx context.Context) error {
	var left []int
	var numbers []int64
	for i := range b.refs {
		if !b.done[i] {
			n, _, _ := parseAlias(b.refs[i].Alias)
			left, numbers = append(left, i), append(numbers, n)
		}
	}
	if len(left) == 0 {
		return nil
	}
	found, err := b.s.resolve(ctx, adapters.Read, numbers)
	if err != nil {
		return b.fail(ctx, left, err)
	}
	nodes := map[int]string{}
	var again []int
	for k, i := range left {
		it := found[k]
		it.Ref = keep(b.refs[i], it.Ref)
		switch {
		case it.State != adapters.Present:
			b.settle(i, it)
		case b.refs[i].ID != "" && it.Ref.ID != b.refs[i].ID:
			b.settle(i, gone(b.refs[i], itemError(b.refs[i], fmt.Errorf("number %d is another entity (id %s)", numbers[k], it.Ref.ID))))
		default:
			_, nodes[i], _ = parseAlias(it.Ref.Alias)
			again = append(again, i)
		}
	}
	if err := b.read(ctx, again, func(i int) string { return nodes[i] }); err != nil {
		return err
	}
	for _, i := range again {
		if !b.done[i] {
			b.settle(i, unreadable(b.refs[i], itemError(b.refs[i], fmt.Errorf("%w: its number leads to it and its node does not", adapters.ErrProtocol))))
		}
	}
	return nil
}

// keep is the ref that was asked for, where the answer has none.
func keep(asked, got scope.Ref) scope.Ref {
	if got.ID == "" {
		return asked
	}
	return got
}

// read asks for nodes, a page at a time, for fewer when the server cannot compute them.
func (b *batch) read(ctx context.Context, is []int, node func(int) string) error {
	for len(is) > 0 {
		n := min(len(is), b.s.read.get())
		heavy, err := b.page(ctx, is[:n], node)
		if heavy && b.s.read.less(n) {
			continue
		}
		if err != nil {
			if stops(err) {
				return b.fail(ctx, is, err)
			}
			if err := b.fail(ctx, is[:n], err); err != nil {
				return err
			}
		} else if !heavy {
			b.s.read.fine()
		}
		is = is[n:]
	}
	return nil
}

// page reads up to twenty nodes.
func (b *batch) page(ctx context.Context, is []int, node func(int) string) (heavy bool, err error) {
	ids := make([]githubv4.ID, len(is))
	for k, i := range is {
		ids[k] = node(i)
	}
	vars := map[string]any{"ids": ids}
	for name, on := range wanted(b.s.kind, b.fs) {
		vars[name] = githubv4.Boolean(on)
	}
	op := fmt.Sprintf("read %d entities of %s", len(is), b.s.repo.Load().NameWithOwner)
	q := b.s.readQuery()
	a, err := b.s.api.Query(ctx, api.Request{Op: op, Class: adapters.Read, Item: true}, q, vars)
	if err != nil {
		return errors.Is(err, api.ErrHeavy), err
	}
	for i := range a.Errors {
		if a.Errors[i].Heavy() && len(is) > 1 {
			return true, nil
		}
	}
	got := q.entities()
	if len(got) != len(is) {
		return false, protocol(op, fmt.Sprintf("%d answers for %d nodes", len(got), len(is)))
	}
	broken := damage(a.Errors, "nodes")
	for k, i := range is {
		if err := b.one(ctx, i, got[k], a, broken, k); err != nil {
			return false, err
		}
	}
	return false, nil
}

// one judges the answer for one ref, and reads what of it did not fit.
func (b *batch) one(ctx context.Context, i int, e found, a api.Answer, broken wreck, k int) error {
	ref, s := b.refs[i], b.s
	switch {
	case e.kind == "" && broken.notFound(k):
		return nil // its number may say more
	case broken.elsewhere != "":
		b.settle(i, unreadable(ref, momentError(ref, fmt.Errorf("%w: %s", adapters.ErrProtocol, broken.elsewhere))))
		return nil
	case e.kind == "":
		b.settle(i, unreadable(ref, itemError(ref, fmt.Errorf("%w: it is null in the answer%s", adapters.ErrProtocol, broken.because(k)))))
		return nil
	case e.kind != s.typeName():
		b.settle(i, gone(ref, itemError(ref, fmt.Errorf("it is a %s", e.kind))))
		return nil
	case !e.whole():
		b.settle(i, unreadable(ref, itemError(ref, fmt.Errorf("%w: it is incomplete in the answer%s", adapters.ErrProtocol, broken.because(k)))))
		return nil
	}
	it := s.item(e.entity, s.at(a))
	switch {
	case it.Place.Container == "":
		b.settle(i, unreadable(ref, itemError(ref, fmt.Errorf("%w: it names no repository", scope.ErrUnproven))))
		return nil
	case it.Place.Container != s.scope.Container:
		b.settle(i, gone(ref, itemError(ref, fmt.Errorf("%w: it lives in %s", adapters.ErrMoved, e.Repository.NameWithOwner))))
		return nil
	case ref.ID != "" && it.Ref.ID != ref.ID:
		return nil // the node is another entity's: its number may say more
	}
	c := collector{s: s, ctx: ctx, e: e.entity, f: it.Facts}
	if err := c.fill(b.fs); err != nil {
		return b.fail(ctx, []int{i}, err)
	}
	if lost := broken.apply(k, it.Facts); lost != "" {
		b.settle(i, unreadable(ref, momentError(ref, fmt.Errorf("%w: %s", adapters.ErrProtocol, lost))))
		return nil
	}
	b.settle(i, it)
	return nil
}

func (s *session) typeName() string {
	if s.kind == query.ChangeProposal {
		return "PullRequest"
	}
	return "Issue"
}

// found is one node: its type, and the entity when it is of the session's kind.
type found struct {
	kind string
	*entity
}

type readQuery interface{ entities() []found }

func (s *session) readQuery() readQuery {
	switch {
	case s.kind == query.ChangeProposal:
		return new(pullNodes[pullRead, *pullRead])
	case s.typed:
		return new(issueNodes[typedRead, *typedRead])
	}
	return new(issueNodes[issueRead, *issueRead])
}

func (q *issueNodes[R, P]) entities() []found {
	out := make([]found, len(q.Nodes))
	for i, n := range q.Nodes {
		if n != nil {
			out[i] = found{n.Kind, P(&n.Row).entity()}
		}
	}
	return out
}

func (q *pullNodes[R, P]) entities() []found {
	out := make([]found, len(q.Nodes))
	for i, n := range q.Nodes {
		if n != nil {
			out[i] = found{n.Kind, P(&n.Row).entity()}
		}
	}
	return out
}

// wanted are the parts that a read includes, by the query's variables.
func wanted(k query.Kind, fs query.FieldSet) map[string]bool {
	w := map[string]bool{
		"comments": anyOf(fs, query.FComment, query.FLastComment),
		"labels":   fs.Has(query.FLabel),
		"title":    fs.Has(query.FTitle),
		"body":     fs.Has(query.FBody),
	}
	if k == query.ChangeProposal {
		w["reviews"] = anyOf(fs, query.FReview, query.FLastComment)
		w["requests"] = fs.Has(query.FReviewer)
		w["checks"] = fs.Has(query.FChecks)
	} else {
		w["links"] = fs.Has(query.FLinked)
	}
	return w
}

func name(ref scope.Ref) string {
	if ref.Key == "" {
		return "#" + ref.Alias
	}
	return ref.Key
}

func itemError(ref scope.Ref, err error) error {
	return &adapters.Error{Severity: adapters.ItemFailure, Op: "read " + name(ref), Err: err}
}

func momentError(ref scope.Ref, err error) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: "read " + name(ref), Status: 200, Err: err}
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
