package forgejo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
)

// key is a row's place in a listing: creation second, then id. It never changes.
type key struct {
	Created int64 `json:"c"`
	ID      int64 `json:"i"`
}

func (k key) less(l key) bool {
	return k.Created < l.Created || k.Created == l.Created && k.ID < l.ID
}

// cursor is where a listing stands. Rank is an estimate (rows before it may come and go); Last is the truth.
type cursor struct {
	Walk  string `json:"w"`
	Since int64  `json:"s"`
	Rank  int    `json:"n"` // rows up to and including Last, as last seen
	Last  key    `json:"l"`
	Limit int    `json:"p"`
}

func (c cursor) encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // a struct of numbers and a string
	}
	return b
}

func decodeCursor(b []byte, walk string, since int64, limit int) (cursor, error) {
	start := cursor{Walk: walk, Since: since, Limit: limit}
	if len(b) == 0 {
		return start, nil
	}
	var c cursor
	if err := json.Unmarshal(b, &c); err != nil {
		return start, fmt.Errorf("%w: %s", adapters.ErrCursor, "it is not one of this adapter's")
	}
	if c.Walk != walk || c.Since != since || c.Rank < 0 || c.Limit < 2 || c.Limit > 50 {
		return start, fmt.Errorf("%w: it belongs to another walk or window", adapters.ErrCursor)
	}
	c.Limit = min(c.Limit, limit)
	return c, nil
}

// listing reads a list in creation order through offset paging without losing a row, see the package comment.
type listing[R any] struct {
	fetch func(ctx context.Context, page, limit int) ([]R, api.Answer, error)
	key   func(R) (key, bool) // false: the row is none
	desc  bool
	at    cursor
	// blind: a row that cannot be read hides the place where the listing stood. The next page is taken without meeting
	// it again; the listing is short already, and what lies behind is worth reading all the same.
	blind bool
}

// chunk is what one page adds: the rows behind the place where the listing stood.
type chunk[R any] struct {
	rows  []R
	total int // -1: not told
	clock time.Time
	last  bool
	short error // why the page proves nothing beyond its rows
}

// Bounds of what one step may cost: looking for the place when rows have vanished or the count is odd, and pages that
// only show rows which came, or come again, in front of the place.
const (
	maxTries = 12
	maxClimb = 400
)

// errStuck ends a listing whose count promises rows that never come.
var errStuck = errors.New("the listing announces more rows than it gives")

// errNoCount is said of every page of a server that does not count: its end cannot be told from a cut.
var errNoCount = errors.New("the server gives no X-Total-Count (a proxy may strip it)")

// errOrder ends a listing that is not in the order on which paging rests.
var errOrder = errors.New("the listing is not in creation order")

// next reads on from the cursor. Pages are asked for so that they begin at or before the last row seen; when rows in
// front have vanished and the page begins behind it, it steps back until it does not.
func (l *listing[R]) next(ctx context.Context) (chunk[R], error) {
	back := l.at.Limit
	for tries, climbs := 0, 0; tries < maxTries && climbs < maxClimb; tries++ {
		page, limit := window(l.at.Rank, l.at.Limit)
		offset := (page - 1) * limit
		rows, a, err := l.fetch(ctx, page, limit)
		if err != nil {
			if errors.Is(err, adapters.ErrTooLarge) && l.at.Limit >= 4 {
				l.at.Limit /= 2
				continue
			}
			return chunk[R]{}, err
		}
		rows = l.distinct(rows)
		fresh, met, short := l.split(rows, offset)
		if errors.Is(short, errOrder) {
			return chunk[R]{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: "list " + l.at.Walk,
				Err: fmt.Errorf("%w: %w", adapters.ErrProtocol, short)}
		}
		if !met {
			l.at.Rank = max(0, l.at.Rank-back)
			back *= 2
			continue
		}
		end := len(rows) < limit // never by the count alone: rows may go while it is taken
		switch {
		case a.Total < 0: // nothing tells a cap from an end
			end, short = end && len(fresh) == 0, cmp.Or(short, errNoCount)
		case end && offset+len(rows) > a.Total && page > 1 && len(rows) > 1:
			l.at.Limit = len(rows) // the server's pages are smaller, so this one lay elsewhere
			continue
		case end && offset+len(rows) < a.Total && len(rows) > 1:
			l.at.Limit, end = len(rows), false // the same, or rows came while it counted
		case end && offset+len(rows) < a.Total:
			continue
		}
		climbed := offset+len(rows) > l.at.Rank
		l.at.Rank = offset + len(rows)
		if len(fresh) == 0 && !end {
			if climbed {
				tries, climbs = tries-1, climbs+1
			}
			continue
		}
		k, ok := lastKey(fresh, l.key)
		if ok {
			l.at.Last = k
		}
		l.blind = !ok
		return chunk[R]{rows: fresh, total: a.Total, clock: a.Clock, last: end, short: short}, nil
	}
	return chunk[R]{last: true, total: -1, short: errStuck}, nil
}

// distinct drops a row that follows itself: counted twice, it would put the reader's place too far on.
func (l *listing[R]) distinct(rows []R) []R {
	return slices.CompactFunc(rows, func(a, b R) bool {
		k, ok := l.key(a)
		m, also := l.key(b)
		return ok && also && k == m
	})
}

// split takes the rows behind the last one seen. met is whether the page reaches back to it, so that nothing can lie
// between; a page from the top on always does.
func (l *listing[R]) split(rows []R, offset int) (fresh []R, met bool, short error) {
	met = offset == 0 || l.blind || l.at.Last == key{}
	var prev *key
	for _, r := range rows {
		k, ok := l.key(r)
		if !ok {
			short = errNull
			if met {
				fresh = append(fresh, r)
			}
			continue
		}
		if prev != nil && !l.before(*prev, k) {
			return nil, true, errOrder
		}
		prev = &k
		if l.at.Last != (key{}) && !l.before(l.at.Last, k) {
			met = true
			continue
		}
		fresh = append(fresh, r)
	}
	return fresh, met, short
}

// errNull is a row that the server could not load.
var errNull = errors.New("the server could not load a row")

// before reports whether a comes before b in the listing's order.
func (l *listing[R]) before(a, b key) bool {
	if l.desc {
		return b.less(a)
	}
	return a.less(b)
}

func lastKey[R any](rows []R, of func(R) (key, bool)) (key, bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		if k, ok := of(rows[i]); ok {
			return k, true
		}
	}
	return key{}, false
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
