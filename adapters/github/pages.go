package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// The walks.
const (
	walkChanged  = "changed"
	walkComments = "comments"
	walkAll      = "all"
)

// lag is how long a change may stay unseen by a listing: a grain of one second, a request of ten, and what separates the
// servers' copies. No bound is documented; the audit of the sweeps widens it where it is too small.
const lag = time.Minute

func changedWalk() adapters.Walk {
	return adapters.Walk{Name: walkChanged, Kind: query.Changes, Lag: lag, Grain: time.Second, WholePages: true}
}

func commentsWalk() adapters.Walk {
	return adapters.Walk{Name: walkComments, Kind: query.Changes, Lag: lag, Grain: time.Second, Pointers: true}
}

// sweepWalk is dense only when it meets every state: what a filter leaves out is not missing.
func sweepWalk(filtered bool) adapters.Walk {
	return adapters.Walk{Name: walkAll, Kind: query.Sweep, Lag: lag, Grain: time.Second, WholePages: true, Dense: !filtered}
}

// cursor is where a walk stands.
type cursor struct {
	Walk   string `json:"w"`
	Since  int64  `json:"s,omitempty"`
	States string `json:"f,omitempty"` // of a sweep
	Other  bool   `json:"o,omitempty"` // a sweep that has come to the other kind's numbers
	After  string `json:"a,omitempty"` // the provider's own cursor
	Begun  int64  `json:"b,omitempty"` // the provider's clock when the walk began
	Seen   int    `json:"n,omitempty"` // rows so far
	Met    int64  `json:"m,omitempty"` // comments: the last second that was read
	Rank   int    `json:"r,omitempty"` // comments: how many were read from that second on
	Last   int64  `json:"l,omitempty"` // comments: the last of them
}

func (c cursor) encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	return b
}

func decodeCursor(b []byte, start cursor) (cursor, error) {
	if len(b) == 0 {
		return start, nil
	}
	var c cursor
	if err := json.Unmarshal(b, &c); err != nil {
		return start, fmt.Errorf("%w: it is not one of this adapter's", adapters.ErrCursor)
	}
	if c.Walk != start.Walk || c.Since != start.Since || c.States != start.States {
		return start, fmt.Errorf("%w: it belongs to another walk, window or search", adapters.ErrCursor)
	}
	return c, nil
}

// Pages lists a walk. Windows are open above: Until is not used. See the package comment for why nothing is lost.
func (s *session) Pages(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	return func(yield func(adapters.Page, error) bool) {
		start := cursor{Walk: w.Name}
		states := allStates(s.kind)
		if w.Name != walkAll && !at.Since.IsZero() {
			start.Since = max(at.Since.Unix(), 0)
		}
		if own, ok := p.(*plan); ok && w.Name == walkAll {
			states = own.states
			start.States = states.String()
		}
		c, err := decodeCursor(at.Cursor, start)
		if err != nil {
			yield(adapters.Page{}, &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + w.Name, Err: err})
			return
		}
		var next func(context.Context, cursor) (adapters.Page, *cursor, error)
		switch w.Name {
		case walkChanged:
			next = s.window
		case walkAll:
			next = func(ctx context.Context, c cursor) (adapters.Page, *cursor, error) { return s.sweep(ctx, c, states) }
		case walkComments:
			next = s.feed
		default:
			yield(adapters.Page{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: "list " + w.Name, Err: errors.New("no such walk")})
			return
		}
		for {
			page, then, err := next(ctx, c)
			if err != nil {
				yield(adapters.Page{}, err)
				return
			}
			if then != nil {
				page.Next = then.encode()
			}
			if !yield(page, nil) || then == nil {
				return
			}
			if *then == c {
				yield(adapters.Page{}, &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + w.Name,
					Err: fmt.Errorf("%w: the server names the same place again", adapters.ErrCursor)})
				return
			}
			c = *then
		}
	}
}

// listed is one page of a listing, whatever its kind.
type listed struct {
	rows   []*entity // nil: null in the answer
	first  int       // how many were asked for
	total  int
	next   string // "": the end
	answer api.Answer
}

// window lists what changed. Issues come in ascending order of change from since on; pull requests, which know no since,
// newest first until a row lies before it.
func (s *session) window(ctx context.Context, c cursor) (adapters.Page, *cursor, error) {
	l, err := s.listing(ctx, "list changed", c.After, func(q *lister) error { return q.window(ctx, c.Since) })
	if err != nil {
		return adapters.Page{}, nil, err
	}
	page := s.page(l)
	if c.Begun == 0 {
		c.Begun = page.Clock.Unix()
	}
	ends := s.passed(l.rows, c)
	if s.kind == query.ChangeProposal { // what the last page holds from before the window is not part of it
		page.Items = slices.DeleteFunc(page.Items, func(it adapters.Item) bool { return it.Updated.Unix() < c.Since })
	}
	if s.kind == query.ChangeProposal {
		l.total = 0 // rows that were touched since have jumped out of sight
	}
	c.counted(&page, &l)
	if l.next == "" || ends {
		return page, nil, nil
	}
	return page, &c, nil
}

// counted moves behind a page. It leaves the page short when rows are missing: a page that is not full and not the last, or
// fewer rows in all than the list is said to have at its end. (Rows that come again only make them more.)
func (c *cursor) counted(page *adapters.Page, l *listed) {
	c.Seen += len(l.rows)
	c.After = l.next
	missing := ""
	switch {
	case l.next != "" && len(l.rows) < l.first:
		missing = fmt.Sprintf("a page of %d rows has %d and is not the last", l.first, len(l.rows))
	case l.next == "" && c.Seen < l.total:
		missing = fmt.Sprintf("the list ends after %d rows and is said to have %d", c.Seen, l.total)
	}
	if missing != "" && page.Short == nil {
		page.Short = &adapters.Error{Severity: adapters.MomentFailure, Op: "list", Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, missing)}
	}
}

// passed reports whether a window's last row ends it: of pull requests, one from before the window; of issues, one that
// was touched after the walk began, by more than clocks differ: it and all behind it belong to the next window, so that
// a listing that grows as fast as it is read comes to an end.
func (s *session) passed(rows []*entity, c cursor) bool {
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i] == nil {
			continue
		}
		if s.kind == query.ChangeProposal {
			return rows[i].UpdatedAt.Unix() < c.Since
		}
		return rows[i].UpdatedAt.Unix() > c.Begun+int64(lag/time.Second)
	}
	return false
}

// sweep lists everything in the order of creation; when it lists every state, it goes on with the numbers of the other
// kind, so that what was met by neither is all that is left to ask for.
func (s *session) sweep(ctx context.Context, c cursor, states stateSet) (adapters.Page, *cursor, error) {
	if c.Other {
		return s.others(ctx, c)
	}
	l, err := s.listing(ctx, "list all", c.After, func(q *lister) error { return q.sweep(ctx, states) })
	if err != nil {
		return adapters.Page{}, nil, err
	}
	page := s.page(l)
	c.counted(&page, &l)
	switch {
	case l.next != "":
	case states == allStates(s.kind):
		c.Other, c.Seen = true, 0
	default:
		return page, nil, nil
	}
	return page, &c, nil
}

func (s *session) others(ctx context.Context, c cursor) (adapters.Page, *cursor, error) {
	l, err := s.listing(ctx, "list numbers of the other kind", c.After, func(q *lister) error { return q.numbers(ctx) })
	if err != nil {
		return adapters.Page{}, nil, err
	}
	page := adapters.Page{Clock: s.at(l.answer)}
	for _, r := range l.rows {
		if r != nil {
			page.Other = append(page.Other, r.Number)
		}
	}
	c.After = l.next // a number that is missing here is asked for
	if l.next == "" {
		return page, nil, nil
	}
	return page, &c, nil
}

// listing asks for one page, for a smaller one when the server cannot compute it.
func (s *session) listing(ctx context.Context, op, after string, ask func(*lister) error) (listed, error) {
	for {
		q := lister{s: s, op: op + " of " + s.repo.Load().NameWithOwner, after: after, first: s.list.get()}
		err := ask(&q)
		heavy := errors.Is(err, api.ErrHeavy) || err == nil && q.out.heavy()
		if heavy && s.list.less(q.first) {
			continue
		}
		if err == nil {
			s.list.fine()
		}
		return q.out, err
	}
}

// heavy: rows are null because the answer was too much for the server.
func (l *listed) heavy() bool {
	for i := range l.answer.Errors {
		if l.answer.Errors[i].Heavy() {
			return true
		}
	}
	return false
}

// lister sends one query of a listing.
type lister struct {
	s     *session
	op    string
	after string
	first int
	out   listed
}

func (q *lister) window(ctx context.Context, since int64) error {
	switch s := q.s; {
	case s.kind == query.ChangeProposal:
		return send(ctx, q, new(pullWindow[pullRow, *pullRow]), nil)
	case since == 0 && s.typed:
		return send(ctx, q, new(issueHistory[typedRow, *typedRow]), nil)
	case since == 0:
		return send(ctx, q, new(issueHistory[issueRow, *issueRow]), nil)
	}
	// Whole seconds: the library would send fractions. Only this member is set: a null one was seen to switch the
	// listing to an index that was days old.
	filter := map[string]any{"filter": githubv4.IssueFilters{Since: &githubv4.DateTime{Time: time.Unix(since, 0).UTC()}}}
	if q.s.typed {
		return send(ctx, q, new(issueWindow[typedRow, *typedRow]), filter)
	}
	return send(ctx, q, new(issueWindow[issueRow, *issueRow]), filter)
}

func (q *lister) sweep(ctx context.Context, states stateSet) error {
	switch s := q.s; {
	case s.kind == query.ChangeProposal:
		return send(ctx, q, new(pullSweep[pullRow, *pullRow]), map[string]any{"states": states.pulls()})
	case s.typed:
		return send(ctx, q, new(issueSweep[typedRow, *typedRow]), map[string]any{"states": states.issues()})
	}
	return send(ctx, q, new(issueSweep[issueRow, *issueRow]), map[string]any{"states": states.issues()})
}

// numbers lists the other kind, 100 rows of one number each.
func (q *lister) numbers(ctx context.Context) error {
	q.first = min(q.first*2, 100)
	if q.s.kind == query.ChangeProposal {
		return send(ctx, q, new(issueSweep[number, *number]), map[string]any{"states": allStates(query.WorkItem).issues()})
	}
	return send(ctx, q, new(pullSweep[number, *number]), map[string]any{"states": allStates(query.ChangeProposal).pulls()})
}

// A listingQuery is one of the shapes of a listing.
type listingQuery interface{ connection() (repo int64, c rows) }

// rows is a connection without the type of its rows.
type rows struct {
	nodes []*entity
	total int
	page  pageInfo
}

func send(ctx context.Context, q *lister, into listingQuery, vars map[string]any) error {
	all := map[string]any{"id": githubv4.ID(q.s.nodeID), "first": githubv4.Int(q.first), "after": cursorVar(q.after)}
	for k, v := range vars {
		all[k] = v
	}
	a, err := q.s.api.Query(ctx, api.Request{Op: q.op, Class: adapters.Search}, into, all)
	q.out.answer = a
	if err != nil {
		return err
	}
	repo, c := into.connection()
	switch {
	case repo == 0:
		return absent(q.op, a.Errors)
	case repo != q.s.repoID:
		return protocol(q.op, fmt.Sprintf("the answer is about repository %d", repo))
	case c.nodes == nil && q.out.heavy():
		return &adapters.Error{Severity: adapters.MomentFailure, Op: q.op, Status: 200, Err: fmt.Errorf("%w: %w", api.ErrHeavy, adapters.ErrUnavailable)}
	case c.nodes == nil && len(a.Errors) > 0: // the connection itself is null
		return absent(q.op, a.Errors)
	case c.nodes == nil:
		return protocol(q.op, "there is no list in the answer")
	case c.page.HasNextPage && c.page.EndCursor == "":
		return protocol(q.op, "the answer names a next page and not where it begins")
	}
	q.out.rows, q.out.total, q.out.first = c.nodes, c.total, q.first
	if c.page.HasNextPage {
		q.out.next = c.page.EndCursor
	}
	return nil
}

// errSignOn: what is left out is not told from what is not there.
var errSignOn = fmt.Errorf("%w: the token has not passed the organisation's single sign-on, so the answer is partial", adapters.ErrForbidden)

// page maps one page. A row that is null, names no repository, or is broken where a query may look makes it short.
func (s *session) page(l listed) adapters.Page {
	clock := s.at(l.answer)
	p := adapters.Page{Clock: clock, Total: l.total}
	short := func(sev adapters.Severity, err error) {
		if p.Short == nil {
			p.Short = &adapters.Error{Severity: sev, Op: "list", Err: err}
		}
	}
	broken := damage(l.answer.Errors, "node", "rows", "nodes")
	if l.answer.Partial {
		short(adapters.ScopeFailure, errSignOn)
	}
	if broken.elsewhere != "" {
		short(adapters.MomentFailure, fmt.Errorf("%w: %s", adapters.ErrProtocol, broken.elsewhere))
	}
	for i, e := range l.rows {
		if e == nil || !e.whole() {
			short(adapters.MomentFailure, fmt.Errorf("%w: a row is null%s", adapters.ErrProtocol, broken.because(i)))
			continue
		}
		it := s.item(e, clock)
		it.Token = e.token()
		if lost := broken.apply(i, it.Facts); lost != "" {
			short(adapters.MomentFailure, fmt.Errorf("%w: %s", adapters.ErrProtocol, lost))
		}
		switch it.Place.Container {
		case "":
			short(adapters.MomentFailure, fmt.Errorf("%w: row %d names no repository", scope.ErrUnproven, e.Number))
		case s.scope.Container:
		default:
			short(adapters.ScopeFailure, fmt.Errorf("%w: the rows are of repository %s", adapters.ErrMoved, it.Place.Container))
		}
		p.Items = append(p.Items, it)
	}
	return p
}
