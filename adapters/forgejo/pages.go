package forgejo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// The walks.
const (
	walkIssues   = "issues"
	walkComments = "comments"
	walkAll      = "all"
)

// lag is how long a change may stay unseen: a grain of one second on either side, and the time of a slow request.
const lag = 5 * time.Second

func issuesWalk() adapters.Walk {
	return adapters.Walk{Name: walkIssues, Kind: query.Changes, Lag: lag, Grain: time.Second, WholePages: true}
}

func commentsWalk() adapters.Walk {
	return adapters.Walk{Name: walkComments, Kind: query.Changes, Lag: lag, Grain: time.Second, Pointers: true}
}

func allWalk() adapters.Walk {
	return adapters.Walk{Name: walkAll, Kind: query.Sweep, Lag: lag, Grain: time.Second, WholePages: true, Dense: true}
}

// Pages lists a walk. The window is open above: Until is not used. See the package comment for why nothing is lost.
func (s *session) Pages(ctx context.Context, _ adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	return func(yield func(adapters.Page, error) bool) {
		var since int64
		if w.Name != walkAll && !at.Since.IsZero() {
			since = max(at.Since.Unix(), 0)
		}
		c, err := decodeCursor(at.Cursor, w.Name, since, s.limit)
		if err != nil {
			yield(adapters.Page{}, &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + w.Name, Err: err})
			return
		}
		switch w.Name {
		case walkIssues, walkAll:
			s.issuePages(ctx, w, c, yield)
		case walkComments:
			s.commentPages(ctx, c, yield)
		default:
			yield(adapters.Page{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: "list " + w.Name, Err: errors.New("no such walk")})
		}
	}
}

func (s *session) issuePages(ctx context.Context, w adapters.Walk, c cursor, yield func(adapters.Page, error) bool) {
	l := listing[*api.Issue]{at: c, desc: true, key: issueKey, fetch: func(ctx context.Context, page, limit int) ([]*api.Issue, api.Answer, error) {
		var rows []*api.Issue
		a, err := s.api.Get(ctx, s.issuesRequest(w.Name, c.Since, page, limit), &rows)
		return rows, a, err
	}}
	for {
		ch, err := l.next(ctx)
		if err == nil && ch.last && w.Name == walkAll {
			err = s.proveUnit(ctx, adapters.Search)
		}
		if err != nil {
			yield(adapters.Page{}, err)
			return
		}
		p := s.page(w, ch)
		if !ch.last {
			p.Next = l.at.encode()
		}
		if !yield(p, nil) || ch.last {
			return
		}
	}
}

func issueKey(i *api.Issue) (key, bool) {
	if !whole(i) {
		return key{}, false
	}
	return key{i.Created.Unix(), i.ID}, true
}

// issuesRequest is the one search: the scope, every state, and the clock. No field of an entity is filtered.
func (s *session) issuesRequest(walk string, since int64, page, limit int) api.Request {
	q := url.Values{"state": {"all"}, "limit": {strconv.Itoa(limit)}, "page": {strconv.Itoa(page)}}
	if walk != walkAll {
		q.Set("type", s.listType())
	}
	if since > 0 {
		q.Set("since", time.Unix(since, 0).UTC().Format(time.RFC3339))
	}
	return api.Request{Op: "list " + walk + " of " + s.repo.Load().full(), Class: adapters.Search, Path: s.path("/issues"), Query: q}
}

func (s *session) listType() string {
	if s.kind == query.ChangeProposal {
		return "pulls"
	}
	return "issues"
}

// proveUnit asks for one row of the scope's kind by name. Without a type the server silently leaves out the kind that the
// credential may not read; with one it says so.
func (s *session) proveUnit(ctx context.Context, c adapters.Class) error {
	r := s.issuesRequest(walkIssues, 0, 1, 1)
	r.Class, r.Op = c, "verify that "+s.listType()+" of "+s.repo.Load().full()+" can be read"
	var rows []*api.Issue
	_, err := s.api.Get(ctx, r, &rows)
	return err
}

// page maps one chunk. A row that cannot be read makes the page short, and so does one of another repository: the name
// answers for something else then.
func (s *session) page(w adapters.Walk, ch chunk[*api.Issue]) adapters.Page {
	clock := s.at(api.Answer{Clock: ch.clock})
	p := adapters.Page{Clock: clock, Total: max(ch.total, 0)}
	short := func(sev adapters.Severity, err error) {
		if p.Short == nil {
			p.Short = &adapters.Error{Severity: sev, Op: "list " + w.Name, Err: err}
		}
	}
	if ch.short != nil {
		short(adapters.MomentFailure, fmt.Errorf("%w: %w", adapters.ErrProtocol, ch.short))
	}
	var m mark
	for _, i := range ch.rows {
		if !whole(i) {
			continue
		}
		if kindOf(i) != s.kind {
			p.Other = append(p.Other, i.Index)
			continue
		}
		it := s.item(i, clock)
		it.Token = m.token(i)
		switch {
		case it.Place.Container == "":
			short(adapters.MomentFailure, fmt.Errorf("%w: row %d names no repository", scope.ErrUnproven, i.Index))
		case it.Place.Container != s.scope.Container:
			short(adapters.ScopeFailure, fmt.Errorf("%w: the rows are of repository %s", adapters.ErrMoved, it.Place.Container))
		}
		p.Items = append(p.Items, it)
	}
	return p
}

// commentPages points at every entity of the scope that has a comment which was edited in the window. New comments move
// their entity's own clock, so they need no pointer.
//
// From the beginning of time it points at nothing: whoever has read no entity yet has nothing to read again. The caller
// takes that walk's frontier from a clock read before its first read.
func (s *session) commentPages(ctx context.Context, c cursor, yield func(adapters.Page, error) bool) {
	if c.Since == 0 {
		_, a, err := s.readRepository(ctx)
		if err != nil {
			yield(adapters.Page{}, err)
			return
		}
		yield(adapters.Page{Clock: s.at(a)}, nil)
		return
	}
	l := listing[*api.Comment]{at: c, key: commentKey, fetch: func(ctx context.Context, page, limit int) ([]*api.Comment, api.Answer, error) {
		var rows []*api.Comment
		a, err := s.api.Get(ctx, s.commentsRequest(c.Since, page, limit), &rows)
		return rows, a, err
	}}
	for {
		ch, err := l.next(ctx)
		if err != nil {
			yield(adapters.Page{}, err)
			return
		}
		p, err := s.pointers(ctx, ch)
		if err != nil {
			yield(adapters.Page{}, err)
			return
		}
		if !ch.last {
			p.Next = l.at.encode()
		}
		if !yield(p, nil) || ch.last {
			return
		}
	}
}

func commentKey(c *api.Comment) (key, bool) {
	if c == nil || c.ID <= 0 || c.Created.IsZero() {
		return key{}, false
	}
	return key{c.Created.Unix(), c.ID}, true
}

func (s *session) commentsRequest(since int64, page, limit int) api.Request {
	q := url.Values{"limit": {strconv.Itoa(limit)}, "page": {strconv.Itoa(page)}}
	q.Set("since", time.Unix(since, 0).UTC().Format(time.RFC3339))
	return api.Request{Op: "list comments of " + s.repo.Load().full(), Class: adapters.Search, Path: s.path("/issues/comments"), Query: q}
}

// pointers resolves the numbers behind edited comments to entities, once each.
func (s *session) pointers(ctx context.Context, ch chunk[*api.Comment]) (adapters.Page, error) {
	p := adapters.Page{Clock: s.at(api.Answer{Clock: ch.clock}), Total: max(ch.total, 0)}
	if ch.short != nil {
		p.Short = &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + walkComments, Err: fmt.Errorf("%w: %w", adapters.ErrProtocol, ch.short)}
	}
	seen := map[int64]bool{}
	for _, c := range ch.rows {
		if _, ok := commentKey(c); !ok || !c.Updated.After(c.Created) {
			continue
		}
		n, own := s.commented(c)
		if n == 0 {
			p.Short = &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + walkComments,
				Err: fmt.Errorf("%w: comment %d names no entity", adapters.ErrProtocol, c.ID)}
			continue
		}
		if !own || seen[n] {
			continue
		}
		seen[n] = true
		i, a, err := s.getIssue(ctx, adapters.Read, n)
		switch {
		case errors.Is(err, adapters.ErrNotFound):
			continue // deleted since: the sweep proves it
		case err != nil:
			return p, err
		}
		if kindOf(i) == s.kind {
			p.Items = append(p.Items, adapters.Item{Ref: s.ref(i), Place: s.place(i), Number: n, Updated: i.Updated.UTC(), ReadAt: s.at(a)})
		}
	}
	return p, nil
}

// commented is the number of the entity that a comment is on, and whether it may be of the scope's kind.
func (s *session) commented(c *api.Comment) (n int64, own bool) {
	u, pull := c.IssueURL, false
	if u == "" {
		u, pull = c.PRURL, true
	}
	n, err := strconv.ParseInt(u[strings.LastIndexByte(u, '/')+1:], 10, 64)
	if err != nil || n <= 0 {
		return 0, false
	}
	return n, pull == (s.kind == query.ChangeProposal)
}

// getIssue reads one entity's row by number.
func (s *session) getIssue(ctx context.Context, class adapters.Class, n int64) (*api.Issue, api.Answer, error) {
	i := new(api.Issue)
	op := fmt.Sprintf("read %s#%d", s.repo.Load().full(), n)
	a, err := s.api.Get(ctx, api.Request{Op: op, Class: class, Path: s.path("/issues/%d", n), Item: true}, i)
	if err != nil {
		return nil, a, err
	}
	if !whole(i) || i.Index != n {
		return nil, a, &adapters.Error{Severity: adapters.ItemFailure, Op: op, Status: 200, Err: fmt.Errorf("%w: %w", adapters.ErrProtocol, errNull)}
	}
	return i, a, nil
}
