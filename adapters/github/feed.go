package github

import (
	"context"
	"fmt"
	"net/url"
	"slices"
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
// moves to its end and shifts all others. So a request is for the first page from a later instant on, one second before the
// last row, since the documentation says "after" and means the second; only where one second holds more than a page is
// there a second page, and it is used only when it meets the last row again.
//
// From the beginning of time it points at nothing: whoever has read no entity yet has nothing to read again.
func (s *session) feed(ctx context.Context, c cursor) (adapters.Page, *cursor, error) {
	if c.Since == 0 {
		h, err := s.Health(ctx)
		return adapters.Page{Clock: h.Clock}, nil, err
	}
	base := max(c.Since, c.Met)
	number, size := overlapping(c.Rank)
	op := "list comments of " + s.repo.Load().NameWithOwner
	q := url.Values{"since": {time.Unix(base-1, 0).UTC().Format(time.RFC3339)}, "sort": {"updated"}, "direction": {"asc"},
		"per_page": {strconv.Itoa(size)}, "page": {strconv.Itoa(number)}}
	var rows []*remark
	a, err := s.api.Get(ctx, api.Request{Op: op, Class: adapters.Search, Path: s.path("/issues/comments"), Query: q}, &rows)
	if err != nil {
		return adapters.Page{}, nil, err
	}
	page := adapters.Page{Clock: s.at(a)}
	if a.Partial {
		page.Short = &adapters.Error{Severity: adapters.ScopeFailure, Op: op, Err: errSignOn}
	}
	offset := (number - 1) * size
	if c.Rank > 0 && offset > 0 && !slices.ContainsFunc(rows, func(r *remark) bool { return r != nil && r.ID == c.Last }) {
		c.Rank = offset // the last row moved: read what lies before it again
		return page, &c, nil
	}
	last, err := s.pointers(ctx, op, &page, rows)
	switch {
	case err != nil:
		return adapters.Page{}, nil, err
	case len(rows) < size:
		return page, nil, nil
	case last.second > base:
		c.Met, c.Rank, c.Last = last.second, 0, 0
	default:
		c.Rank, c.Last = offset+len(rows), last.id
	}
	return page, &c, nil
}

// overlapping chooses a page and its size so that it begins at or before the last of rank rows and brings the most new ones.
// Offsets are multiples of the size, so the size has to vary.
func overlapping(rank int) (page, size int) {
	if rank < 1 {
		return 1, perPage
	}
	best := -1
	for l := perPage; l >= 2; l-- {
		p := (rank - 1) / l
		if gain := (p+1)*l - rank; gain > best {
			best, page, size = gain, p+1, l
		}
	}
	return page, size
}

// met is the place of a row in the feed.
type met struct{ second, id int64 }

// pointers adds the entities of the scope's kind behind edited comments, each once, and gives the place of the last row.
func (s *session) pointers(ctx context.Context, op string, page *adapters.Page, rows []*remark) (met, error) {
	short := func(what string) {
		page.Short = &adapters.Error{Severity: adapters.MomentFailure, Op: op, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, what)}
	}
	var last met
	var numbers []int64
	for _, r := range rows {
		if r == nil || r.ID <= 0 || r.Updated.IsZero() {
			short("a comment is null")
			continue
		}
		if r.Updated.Unix() < last.second {
			return last, protocol(op, "the comments are not in the order of their changes")
		}
		last = met{r.Updated.Unix(), r.ID}
		n, own := s.commented(r)
		if n == 0 {
			short(fmt.Sprintf("comment %d names no entity", r.ID))
		}
		if own && !slices.Contains(numbers, n) && r.Updated.After(r.Created) { // a new one moves its entity's own clock
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return last, nil
	}
	items, err := s.resolve(ctx, adapters.Search, numbers)
	for _, it := range items {
		if it.State == adapters.Present {
			page.Items = append(page.Items, it)
		}
	}
	return last, err
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
