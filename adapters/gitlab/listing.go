package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
)

// pageSize is the most rows that GitLab gives at once.
const pageSize = 100

// cursor is where a listing stands.
type cursor struct {
	Walk  string `json:"w"`
	Since int64  `json:"s"`           // of the window, in milliseconds
	At    int64  `json:"t"`           // go on at or behind this instant
	Key   string `json:"k,omitempty"` // the server's own cursor, when it pages by key
	Rank  int    `json:"n,omitempty"` // rows at or behind At that were seen, when one instant fills whole pages
	Seen  []mark `json:"i,omitempty"` // the last of these, to recognise the place
	Limit int    `json:"p"`
	// Plain: the server's cursor is not asked for any more in this listing (it was refused, or pages by key lacked rows).
	Plain bool `json:"o,omitempty"`
	// Top are the entities at At that were handed on, so that they are not handed on again.
	Top []int `json:"d,omitempty"`
}

// mark is a row as it was seen: one that was touched since is met elsewhere, and marks no place any more.
type mark struct {
	ID int   `json:"i"`
	At int64 `json:"t"`
}

func (c cursor) encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	return b
}

func decodeCursor(b []byte, walk string, since int64) (cursor, error) {
	start := cursor{Walk: walk, Since: since, At: since, Limit: pageSize}
	if len(b) == 0 {
		return start, nil
	}
	var c cursor
	if err := json.Unmarshal(b, &c); err != nil {
		return start, fmt.Errorf("%w: it is not one of this adapter's", adapters.ErrCursor)
	}
	if c.Walk != walk || c.Since != since || c.At < since || c.Rank < 0 || c.Limit < 2 || c.Limit > pageSize || c.Rank > 0 && len(c.Seen) == 0 {
		return start, fmt.Errorf("%w: it belongs to another walk or window", adapters.ErrCursor)
	}
	return c, nil
}

// listing reads a list in ascending order of an instant without losing a row, see the package comment.
type listing struct {
	client *api.Client
	merge  bool
	keyset bool // the server may page this list by key
	at     cursor
	order  string                       // created_at or updated_at
	after  string                       // the parameter that bounds it
	clock  func(*api.Entity) time.Time  // the instant of a row
	base   func(url.Values) api.Request // the request for the list with these parameters
	// blind: a page of rows none of which could be read hides the place; the listing is short already and goes on by number.
	blind bool
}

// chunk is what one page adds.
type chunk struct {
	rows  []*api.Entity
	total int // of the whole walk, while it is told
	clock time.Time
	last  bool
	short error // why the page proves nothing beyond its rows
}

// Bounds of what one step may cost.
const (
	maxTries = 12
	maxClimb = 400
)

var (
	errStuck = errors.New("the listing announces more rows than it gives")
	errOrder = errors.New("the listing is not in the order that was asked for")
	errNull  = errors.New("the server could not load a row")
)

func (l *listing) request(at int64, page, limit int, key string) api.Request {
	q := url.Values{"state": {"all"}, "scope": {"all"}, "with_labels_details": {"true"}, "order_by": {l.order}, "sort": {"asc"},
		"per_page": {strconv.Itoa(limit)}}
	if at > 0 {
		q.Set(l.after, time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}
	switch {
	case l.keyset && !l.at.Plain && page == 1:
		q.Set("pagination", "keyset")
		if key != "" {
			q.Set("cursor", key)
		}
	case page > 1:
		q.Set("page", strconv.Itoa(page))
	}
	return l.base(q)
}

// next reads on from the cursor.
func (l *listing) next(ctx context.Context) (chunk, error) {
	back := l.at.Limit
	for tries, climbs := 0, 0; tries < maxTries && climbs < maxClimb; tries++ {
		at, page, limit := l.place()
		rows, a, err := l.client.Entities(ctx, l.request(at, page, limit, l.at.Key), l.merge)
		if err != nil {
			if l.recover(err) {
				continue
			}
			return chunk{}, err
		}
		if a.PerPage > 0 && a.PerPage < l.at.Limit { // the server's pages are smaller
			l.at.Limit = max(a.PerPage, 2)
			if page > 1 {
				continue // so this one lay elsewhere
			}
		}
		rows, short := l.valid(rows)
		if errors.Is(short, errOrder) {
			return chunk{}, &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + l.at.Walk, Err: fmt.Errorf("%w: %w", adapters.ErrProtocol, short)}
		}
		offset := (page - 1) * limit
		if l.at.Rank > 0 && !l.meets(rows, offset) {
			l.at.Rank = max(0, l.at.Rank-back)
			back *= 2
			continue
		}
		size := limit
		if a.PerPage > 0 {
			size = min(size, a.PerPage)
		}
		full := len(rows) >= size
		end := !a.Next && !full
		if end && a.Total > offset+len(rows) {
			if short == nil {
				short = errStuck
			}
		}
		fresh := l.fresh(rows)
		moved := l.advance(rows, offset, limit, size, a, end, short != nil)
		if len(fresh) == 0 && !end && short == nil {
			if moved {
				tries, climbs = tries-1, climbs+1
			}
			continue
		}
		return chunk{rows: fresh, total: a.Total, clock: a.Clock, last: end, short: short}, nil
	}
	return chunk{last: true, total: -1, short: errStuck}, nil
}

// place is the page to ask for. Within one instant it begins at or before the last row seen.
func (l *listing) place() (at int64, page, limit int) {
	if l.at.Key != "" {
		return l.at.Since, 1, l.at.Limit
	}
	if l.at.Rank == 0 {
		return l.at.At, 1, l.at.Limit
	}
	page, limit = window(l.at.Rank, l.at.Limit)
	if l.blind {
		page, limit = l.at.Rank/l.at.Limit+1, l.at.Limit
	}
	return l.at.At, page, limit
}

// recover prepares another try after some failures: an answer too large is asked for in halves, a cursor that the server
// refuses is given up for the last instant seen.
func (l *listing) recover(err error) bool {
	var e *adapters.Error
	switch {
	case errors.Is(err, adapters.ErrTooLarge) && l.at.Limit >= 4:
		l.at.Limit /= 2
		return true
	case l.keyset && !l.at.Plain && errors.As(err, &e) && (e.Status == http.StatusBadRequest || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusUnprocessableEntity):
		l.at.Plain, l.at.Key = true, ""
		return true
	}
	return false
}

// valid drops what is no row, and a row that follows itself. A row without its instant is none.
func (l *listing) valid(rows []*api.Entity) (out []*api.Entity, short error) {
	out = make([]*api.Entity, 0, len(rows))
	for _, r := range rows {
		switch {
		case r == nil || r.Created.IsZero() || r.Updated.IsZero():
			short = errNull
		case len(out) > 0 && out[len(out)-1].ID == r.ID:
		case len(out) > 0 && l.milli(r) < l.milli(out[len(out)-1]):
			return nil, errOrder
		default:
			out = append(out, r)
		}
	}
	return out, short
}

func (l *listing) milli(r *api.Entity) int64 { return l.clock(r).UnixMilli() }

func (l *listing) mark(r *api.Entity) mark { return mark{ID: int(r.ID), At: l.milli(r)} }

// meets reports whether a page within one instant begins at a row that was seen.
func (l *listing) meets(rows []*api.Entity, offset int) bool {
	if offset == 0 || l.blind {
		return true
	}
	// Nothing left at that place: whatever was seen has gone on, or the rows in front have vanished.
	return len(rows) > 0 && slices.Contains(l.at.Seen, l.mark(rows[0]))
}

// fresh are the rows that were not handed on at this very instant before.
func (l *listing) fresh(rows []*api.Entity) []*api.Entity {
	var out []*api.Entity
	for _, r := range rows {
		switch at := l.milli(r); {
		case at < l.at.At && l.at.Rank > 0: // a server that takes the bound for the whole second
		case at == l.at.At && (slices.Contains(l.at.Top, int(r.ID)) || slices.Contains(l.at.Seen, l.mark(r))):
		default:
			out = append(out, r)
		}
	}
	return out
}

// advance puts the cursor behind a page, and reports whether that brought it on.
func (l *listing) advance(rows []*api.Entity, offset, limit, size int, a api.Answer, end, short bool) bool {
	if end {
		return true
	}
	if len(rows) == 0 { // nothing to go by
		l.at.Rank, l.at.Seen, l.at.Key, l.blind = offset+limit, []mark{{}}, "", true
		l.at.Plain = true
		return true
	}
	l.blind = false
	last := l.milli(rows[len(rows)-1])
	if a.Keyset && a.Cursor != "" && len(rows) >= size && !short && !l.at.Plain {
		l.at.At, l.at.Key, l.at.Rank, l.at.Seen = max(last, l.at.At), a.Cursor, 0, nil
		l.at.Top = nil
		return true
	}
	if l.at.Key != "" || a.Keyset { // the page lacks rows, or its cursor: go on by the last row seen
		l.at.Plain = true
	}
	l.at.Key = ""
	if last > l.at.At {
		l.at.At, l.at.Rank, l.at.Seen, l.at.Top = last, 0, nil, nil
		for _, r := range rows {
			if l.milli(r) == last {
				l.at.Top = append(l.at.Top, int(r.ID))
			}
		}
		return true
	}
	// One instant fills the page: on by number within it.
	rank := offset + len(rows)
	climbed := rank > l.at.Rank
	l.at.Rank, l.at.Top = rank, nil
	for _, r := range rows {
		l.at.Seen = append(slices.DeleteFunc(l.at.Seen, func(m mark) bool { return m.ID == int(r.ID) }), l.mark(r))
	}
	l.at.Seen = l.at.Seen[max(0, len(l.at.Seen)-2*pageSize):]
	return climbed
}

// window chooses the page and size that begin at or before row rank-1 (counted from 0), so that the last row seen is met
// again, and that bring the most new rows. Offsets are multiples of the size, so the size has to vary.
func window(rank, limit int) (page, size int) {
	if rank < 1 {
		return 1, limit
	}
	best := -1
	for l := limit; l >= 2; l-- {
		p := (rank - 1) / l
		if gain := (p+1)*l - rank; gain > best {
			best, page, size = gain, p+1, l
		}
	}
	return page, size
}
