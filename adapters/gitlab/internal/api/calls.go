package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fullsend-ai/discovery/adapters"
)

// Entities lists issues or merge requests. A row that is none (null, without ids) is nil.
func (c *Client) Entities(ctx context.Context, r Request, merge bool) ([]*Entity, Answer, error) {
	var raw []json.RawMessage
	a, err := c.get(ctx, r, &raw)
	if err != nil {
		return nil, a, err
	}
	rows := make([]*Entity, len(raw))
	for i := range raw {
		if rows[i], err = entity(raw[i], merge); err != nil {
			return nil, a, protocol(r, err)
		}
	}
	return rows, a, nil
}

// Entity reads one issue or merge request.
func (c *Client) Entity(ctx context.Context, r Request, merge bool) (*Entity, Answer, error) {
	var raw json.RawMessage
	a, err := c.get(ctx, r, &raw)
	if err != nil {
		return nil, a, err
	}
	e, err := entity(raw, merge)
	switch {
	case err != nil:
		return nil, a, protocol(r, err)
	case e == nil:
		return nil, a, protocol(r, errShape)
	}
	return e, a, nil
}

func protocol(r Request, err error) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: r.op(), Status: http.StatusOK,
		Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, clip(err.Error()))}
}

// mostPages ends a list that never does: a hundred rows each.
const mostPages = 400

// list reads every page of a list. Rows may be left out after paging (notes that the caller may not see), so that only
// the announced next page decides. Where the total changed while pages were read a row may have slid past the reader, and
// the list is read again; nothing is ever taken from two readings.
func list[T any](ctx context.Context, c *Client, r Request) ([]T, Answer, error) {
	for range 3 {
		rows, a, steady, err := once[T](ctx, c, r)
		if err != nil || steady {
			return rows, a, err
		}
	}
	return nil, Answer{}, &adapters.Error{Severity: adapters.MomentFailure, Op: r.op(),
		Err: fmt.Errorf("%w: the list changes faster than it can be read", adapters.ErrUnavailable)}
}

func once[T any](ctx context.Context, c *Client, r Request) (all []T, last Answer, steady bool, err error) {
	total := 0
	for page := 1; ; page++ {
		if page > mostPages {
			return nil, last, false, &adapters.Error{Severity: severity(r), Op: r.op(),
				Err: fmt.Errorf("%w: more than %d pages", adapters.ErrTooLarge, mostPages)}
		}
		q := url.Values{"per_page": {"100"}, "page": {strconv.Itoa(page)}}
		for k, v := range r.Query {
			q[k] = v
		}
		p := r
		p.Query = q
		var rows []*T
		if last, err = c.get(ctx, p, &rows); err != nil {
			return nil, last, false, err
		}
		if page == 1 {
			total = last.Total
		} else if last.Total != total {
			return nil, last, false, nil
		}
		for _, row := range rows {
			if row == nil {
				return nil, last, false, &adapters.Error{Severity: adapters.ItemFailure, Op: r.op(), Status: http.StatusOK,
					Err: fmt.Errorf("%w: null among the rows", adapters.ErrProtocol)}
			}
			all = append(all, *row)
		}
		if !last.Next && (len(rows) < 100 || last.Total >= 0 && page*100 >= last.Total) {
			return all, last, true, nil
		}
	}
}

// Notes lists comments and system notes.
func (c *Client) Notes(ctx context.Context, r Request) ([]Note, Answer, error) {
	return list[Note](ctx, c, r)
}

// LabelEvents lists who put labels on and took them off.
func (c *Client) LabelEvents(ctx context.Context, r Request) ([]LabelEvent, Answer, error) {
	return list[LabelEvent](ctx, c, r)
}

// Versions lists the pushes to a merge request.
func (c *Client) Versions(ctx context.Context, r Request) ([]Version, Answer, error) {
	return list[Version](ctx, c, r)
}

// Reviewers lists whose reviews are asked for.
func (c *Client) Reviewers(ctx context.Context, r Request) ([]Reviewer, Answer, error) {
	return list[Reviewer](ctx, c, r)
}

// Linked lists merge requests that belong to an issue.
func (c *Client) Linked(ctx context.Context, r Request) ([]*Entity, error) {
	rows, _, err := list[json.RawMessage](ctx, c, r)
	if err != nil {
		return nil, err
	}
	out := make([]*Entity, len(rows))
	for i := range rows {
		if out[i], err = entity(rows[i], true); err != nil {
			return nil, protocol(r, err)
		}
		if out[i] == nil {
			return nil, protocol(r, errShape)
		}
	}
	return out, nil
}

// Approvals reads the approvals that stand.
func (c *Client) Approvals(ctx context.Context, r Request) ([]Approval, error) {
	var v struct {
		By *[]*Approval `json:"approved_by"`
	}
	if _, err := c.get(ctx, r, &v); err != nil {
		return nil, err
	}
	if v.By == nil {
		return nil, protocol(r, fmt.Errorf("no approved_by"))
	}
	var out []Approval
	for _, a := range *v.By {
		if a == nil || a.User.ID <= 0 {
			return nil, protocol(r, errShape)
		}
		out = append(out, *a)
	}
	return out, nil
}

// Member reads one membership.
func (c *Client) Member(ctx context.Context, r Request) (Member, Answer, error) {
	var m Member
	a, err := c.get(ctx, r, &m)
	return m, a, err
}

// Members lists memberships.
func (c *Client) Members(ctx context.Context, r Request) ([]Member, Answer, error) {
	return list[Member](ctx, c, r)
}

// User reads an account.
func (c *Client) User(ctx context.Context, r Request) (User, error) {
	var u User
	_, err := c.get(ctx, r, &u)
	return u, err
}

// Users looks accounts up.
func (c *Client) Users(ctx context.Context, r Request) ([]User, error) {
	us, _, err := list[User](ctx, c, r)
	return us, err
}

// Project reads a container.
func (c *Client) Project(ctx context.Context, r Request) (Project, Answer, error) {
	var p Project
	a, err := c.get(ctx, r, &p)
	return p, a, err
}

// Token reads what the credential says of itself.
func (c *Client) Token(ctx context.Context, r Request) (TokenInfo, error) {
	var t TokenInfo
	_, err := c.get(ctx, r, &t)
	return t, err
}

// Titles lists the names of labels or the titles of milestones.
func (c *Client) Titles(ctx context.Context, r Request) ([]string, error) {
	rows, _, err := list[struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	}](ctx, c, r)
	var out []string
	for _, row := range rows {
		out = append(out, row.Name+row.Title)
	}
	return out, err
}

// Count asks for one row and returns how many there are; -1 when the server does not say.
func (c *Client) Count(ctx context.Context, r Request) (int, error) {
	var rows []json.RawMessage
	a, err := c.get(ctx, r, &rows)
	return a.Total, err
}

// User reads an account with the token that is being verified.
func (a *Asker) User(ctx context.Context, r Request) (User, error) {
	var u User
	_, err := a.c.send(ctx, r, a.token, &u)
	return u, err
}
