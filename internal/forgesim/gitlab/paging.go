package gitlab

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// paging is page and per_page of a request.
type paging struct{ page, size int }

func (c *call) paging() (paging, bool) {
	p := paging{1, 20}
	for name, to := range map[string]*int{"page": &p.page, "per_page": &p.size} {
		v := c.q.Get(name)
		if v == "" {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			c.bad("%s is invalid", name)
			return p, false
		}
		if n > 0 {
			*to = n
		}
	}
	p.size = min(p.size, c.most())
	if limit := c.k.OffsetCap; limit > 0 && p.offset() >= limit {
		c.fail(http.StatusMethodNotAllowed, fmt.Sprintf("Offset pagination has a maximum allowed offset of %d for requests that return objects of type Issue. "+
			"Remaining records can be retrieved using keyset pagination.", limit))
		return p, false
	}
	return p, true
}

func (c *call) most() int {
	if c.k.MostPerPage > 0 {
		return c.k.MostPerPage
	}
	return 100
}

func (p paging) offset() int { return (p.page - 1) * p.size }

// head writes the headers of a page by number (lib/gitlab/pagination/offset_header_builder.rb).
func (c *call) head(p paging, n int) {
	h := c.rw.Header()
	h.Set("X-Page", strconv.Itoa(p.page))
	h.Set("X-Per-Page", strconv.Itoa(p.size))
	h["X-Next-Page"], h["X-Prev-Page"] = []string{""}, []string{""}
	pages := max((n+p.size-1)/p.size, 1)
	counted := n <= c.totals()
	links := []string{}
	link := func(page int, rel string) {
		u := *c.r.URL
		q := u.Query()
		q.Set("page", strconv.Itoa(page))
		q.Set("per_page", strconv.Itoa(p.size))
		u.RawQuery = q.Encode()
		links = append(links, fmt.Sprintf("<http://%s%s>; rel=%q", c.r.Host, u.RequestURI(), rel))
	}
	if p.page > 1 {
		h.Set("X-Prev-Page", strconv.Itoa(p.page-1))
		link(p.page-1, "prev")
	}
	if p.page < pages {
		h.Set("X-Next-Page", strconv.Itoa(p.page+1))
		link(p.page+1, "next")
	}
	link(1, "first")
	if counted {
		h.Set(total, strconv.Itoa(n))
		h.Set("X-Total-Pages", strconv.Itoa(pages))
		link(pages, "last")
	}
	h.Set("Link", strings.Join(links, ", "))
}

func (c *call) totals() int {
	if c.k.TotalsUpTo > 0 {
		return c.k.TotalsUpTo
	}
	return 10_000
}

// paged answers with a page of rows that are all there.
func paged[T any](c *call, rows []T) {
	if part, ok := cut(c, rows); ok {
		c.json(part)
	}
}

func cut[T any](c *call, rows []T) ([]T, bool) {
	p, ok := c.paging()
	if !ok {
		return nil, false
	}
	c.head(p, len(rows))
	from := min(p.offset(), len(rows))
	part := rows[from:min(from+p.size, len(rows))]
	if part == nil {
		part = []T{}
	}
	return part, true
}
