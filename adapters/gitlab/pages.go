package gitlab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// The walks.
const (
	walkIssues    = "issues"
	walkMerges    = "merge_requests"
	walkAllIssues = "all_issues"
	walkAllMerges = "all_merge_requests"
)

// lag is how long a change may stay unseen: a row's time is taken before its transaction ends, and what is read may be a
// replica some seconds behind; a grain of the clock header on top.
const lag = 30 * time.Second

// grain is what the API shows of the change clock.
const grain = time.Millisecond

func (s *session) changesWalk() adapters.Walk {
	return adapters.Walk{Name: s.plural(), Kind: query.Changes, Lag: lag, Grain: grain, WholePages: true}
}

func (s *session) sweepWalk() adapters.Walk {
	return adapters.Walk{Name: "all_" + s.plural(), Kind: query.Sweep, Lag: lag, Grain: grain, WholePages: true, Dense: true}
}

// Pages lists a walk. The window is open above: Until is not used. See the package comment for why nothing is lost.
func (s *session) Pages(ctx context.Context, _ adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	return func(yield func(adapters.Page, error) bool) {
		fail := func(sev adapters.Severity, err error) {
			yield(adapters.Page{}, &adapters.Error{Severity: sev, Op: "list " + w.Name, Err: err})
		}
		if w.Name != s.plural() && w.Name != "all_"+s.plural() {
			fail(adapters.ScopeFailure, errors.New("no such walk"))
			return
		}
		var since int64
		if w.Name == s.plural() && !at.Since.IsZero() {
			since = max(at.Since.UnixMilli(), 0)
		}
		c, err := decodeCursor(at.Cursor, w.Name, since)
		if err != nil {
			fail(adapters.MomentFailure, err)
			return
		}
		s.read(ctx, w, s.listing(w, c), yield)
	}
}

func (s *session) listing(w adapters.Walk, c cursor) *listing {
	l := &listing{client: s.api, merge: s.merge(), keyset: !s.merge(), at: c, order: "created_at", after: "created_after",
		clock: func(e *api.Entity) time.Time { return e.Created },
		base: func(q url.Values) api.Request {
			return api.Request{Op: "list " + w.Name + " of " + s.place(), Class: adapters.Search, Path: s.path("/%s", s.plural()), Query: q}
		}}
	if w.Name == s.plural() {
		l.order, l.after = "updated_at", "updated_after"
		l.clock = func(e *api.Entity) time.Time { return e.Updated }
	}
	return l
}

// place is the project's name now, for people.
func (s *session) place() string { return s.project.Load().Path }

func (s *session) read(ctx context.Context, w adapters.Walk, l *listing, yield func(adapters.Page, error) bool) {
	for first := true; ; first = false {
		ch, err := l.next(ctx)
		if err != nil {
			yield(adapters.Page{}, err)
			return
		}
		p := s.page(w, ch)
		if first {
			p.Total = max(ch.total, 0)
		}
		if !ch.last {
			p.Next = l.at.encode()
		}
		if !yield(p, nil) || ch.last {
			return
		}
	}
}

// page maps one chunk. A row that cannot be read makes the page short, and so does one of another project.
func (s *session) page(w adapters.Walk, ch chunk) adapters.Page {
	clock := s.at(api.Answer{Clock: ch.clock})
	p := adapters.Page{Clock: clock}
	short := func(sev adapters.Severity, err error) {
		if p.Short == nil {
			p.Short = &adapters.Error{Severity: sev, Op: "list " + w.Name, Err: err}
		}
	}
	if ch.short != nil {
		short(adapters.MomentFailure, fmt.Errorf("%w: %w", adapters.ErrProtocol, ch.short))
	}
	for _, e := range ch.rows {
		it := s.item(e, clock)
		it.Token = token(e)
		switch {
		case it.Place.Container == "":
			short(adapters.MomentFailure, fmt.Errorf("%w: row %d names no project", scope.ErrUnproven, e.IID))
		case it.Place.Container != s.scope.Container:
			short(adapters.ScopeFailure, fmt.Errorf("%w: the rows are of project %s", adapters.ErrMoved, it.Place.Container))
		}
		p.Items = append(p.Items, it)
	}
	return p
}

// getEntity reads one entity's row by number.
func (s *session) getEntity(ctx context.Context, class adapters.Class, n int64) (*api.Entity, api.Answer, error) {
	op := fmt.Sprintf("read %s%s%d", s.place(), s.mark(), n)
	e, a, err := s.api.Entity(ctx, api.Request{Op: op, Class: class, Path: s.path("/%s/%d", s.plural(), n), Item: true}, s.merge())
	if err != nil {
		return nil, a, err
	}
	if e.IID != n || e.Created.IsZero() || e.Updated.IsZero() {
		return nil, a, &adapters.Error{Severity: adapters.ItemFailure, Op: op, Status: 200, Err: fmt.Errorf("%w: %w", adapters.ErrProtocol, errNull)}
	}
	return e, a, nil
}
