package forgejo

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// paging is page and limit of a request: a limit of 0 or less is the default, one above the
// cap is cut silently (services/convert/utils.go, ToCorrectPageSize).
type paging struct{ page, size int }

func (c *call) paging() paging {
	p := paging{atoi(c.q.Get("page")), atoi(c.q.Get("limit"))}
	switch {
	case p.size <= 0:
		p.size = c.o.DefaultItems
	case p.size > c.o.MaxItems:
		p.size = c.o.MaxItems
	}
	return p
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// offset is where the page begins; a page below 1 is the first.
func (p paging) offset() int { return (max(p.page, 1) - 1) * p.size }

// part cuts the page out of all rows.
func part[T any](rows []T, p paging) []T {
	from := min(p.offset(), len(rows))
	return rows[from:min(from+p.size, len(rows))]
}

func (c *call) total(n int) {
	c.rw.Header().Set("X-Total-Count", strconv.Itoa(n))
	c.expose("X-Total-Count")
}

// expose adds a header to those that scripts in a browser may read.
func (c *call) expose(header string) {
	const list = "Access-Control-Expose-Headers"
	if old := c.rw.Header().Get(list); old != "" {
		header = old + ", " + header
	}
	c.rw.Header().Set(list, header)
}

// links writes the Link header (services/context/api.go, genAPILinks). A page past the end is
// taken for the last one, so that its "prev" names the page before the last.
func (c *call) links(p paging, total int) {
	pages := (total + p.size - 1) / p.size
	cur := max(1, min(p.page, pages))
	var out []string
	link := func(page int, rel string) {
		u := *c.r.URL
		q := u.Query()
		q.Set("page", strconv.Itoa(page))
		u.RawQuery = q.Encode()
		out = append(out, fmt.Sprintf("<%s%s>; rel=%q", c.base(), u.RequestURI()[1:], rel))
	}
	if cur*p.size < total {
		link(cur+1, "next")
		link(pages, "last")
	}
	if cur > 1 {
		link(1, "first")
		link(cur-1, "prev")
	}
	if len(out) > 0 {
		c.rw.Header().Set("Link", strings.Join(out, ","))
		c.expose("Link")
	}
}

// window is since and before: inclusive, whole seconds, a fraction is cut off
// (services/context/utils.go; models/issues/issue_search.go).
type window struct{ since, before int64 }

func (c *call) window() (window, bool) {
	var win window
	for name, to := range map[string]*int64{"before": &win.before, "since": &win.since} {
		v := strings.TrimSpace(c.q.Get(name))
		if v == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			c.fail(http.StatusUnprocessableEntity, err.Error())
			return window{}, false
		}
		if !t.IsZero() {
			*to = t.Unix()
		}
	}
	return win, true
}

func (w window) has(t time.Time) bool {
	return (w.since == 0 || t.Unix() >= w.since) && (w.before == 0 || t.Unix() <= w.before)
}
