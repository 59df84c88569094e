package github

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// remark is a row of the comments of a repository.
type remark struct {
	ID       int64     `json:"id"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
	IssueURL string    `json:"issue_url"`
	HTMLURL  string    `json:"html_url"`
}

// perPage is the most rows that a REST listing gives.
const perPage = 100

// feed points at the entities whose comments were edited. The listing knows offsets only, and a comment that is touched
// moves to its end and shifts all others; so every request is for the first page from a later instant on, one second before
// the last row, since the documentation says "after" and means the second.
//
// From the beginning of time it points at nothing: whoever has read no entity yet has nothing to read again.
func (s *session) feed(ctx context.Context, c cursor) (adapters.Page, *cursor, error) {
	if c.Since == 0 {
		h, err := s.Health(ctx)
		return adapters.Page{Clock: h.Clock}, nil, err
	}
	from := max(c.Since, c.Met) - 1
	op := "list comments of " + s.repo.Load().NameWithOwner
	q := url.Values{"since": {time.Unix(from, 0).UTC().Format(time.RFC3339)}, "sort": {"updated"}, "direction": {"asc"}, "per_page": {strconv.Itoa(perPage)}}
	var rows []*remark
	a, err := s.api.Get(ctx, api.Request{Op: op, Class: adapters.Search, Path: s.path("/issues/comments"), Query: q}, &rows)
	if err != nil {
		return adapters.Page{}, nil, err
	}
	page := adapters.Page{Clock: s.at(a)}
	short := func(what string) {
		page.Short = &adapters.Error{Severity: adapters.MomentFailure, Op: op, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, what)}
	}
	last := int64(0)
	var numbers []int64
	seen := map[int64]bool{}
	for _, r := range rows {
		if r == nil || r.ID <= 0 || r.Updated.IsZero() {
			short("a comment is null")
			continue
		}
		if r.Updated.Unix() < last {
			return adapters.Page{}, nil, protocol(op, "the comments are not in the order of their changes")
		}
		last = r.Updated.Unix()
		n, own := s.commented(r)
		if n == 0 {
			short(fmt.Sprintf("comment %d names no entity", r.ID))
		}
		if own && !seen[n] && r.Updated.After(r.Created) { // a new one moves its entity's own clock
			seen[n] = true
			numbers = append(numbers, n)
		}
	}
	if len(numbers) > 0 {
		items, err := s.resolve(ctx, adapters.Search, numbers)
		if err != nil {
			return adapters.Page{}, nil, err
		}
		for _, it := range items {
			if it.State == adapters.Present {
				page.Items = append(page.Items, it)
			}
		}
	}
	if len(rows) < perPage {
		return page, nil, nil
	}
	if last <= max(c.Since, c.Met) {
		short(fmt.Sprintf("more than %d comments changed within a second or two, and what lies behind them cannot be listed safely", perPage))
		last = max(c.Since, c.Met) + 1
	}
	c.Met = last
	return page, &c, nil
}

// commented is the number of the entity that a comment is on, and whether it is of the scope's kind.
func (s *session) commented(r *remark) (n int64, own bool) {
	n, err := strconv.ParseInt(r.IssueURL[strings.LastIndexByte(r.IssueURL, '/')+1:], 10, 64)
	if err != nil || n <= 0 {
		return 0, false
	}
	u, err := url.Parse(r.HTMLURL)
	pull := err == nil && strings.Contains(u.Path, "/pull/")
	return n, pull == (s.kind == query.ChangeProposal)
}
