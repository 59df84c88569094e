package forgejo

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
)

// SPEC FJ-4: whatever the rank, a page begins at or before the last row seen; and it ends behind it, but for page caps so small
// that no size does.
func TestWindow(t *testing.T) {
	for limit := 2; limit <= 50; limit++ {
		for rank := range 3000 {
			page, size := window(rank, limit)
			offset := (page - 1) * size
			if size < 2 || size > limit || rank > 0 && offset > rank-1 || limit > 10 && offset+size <= rank {
				t.Fatalf("rank %d, limit %d: page %d of %d", rank, limit, page, size)
			}
		}
	}
}

// The overlap costs something: over ten thousand rows, fewer than one page in four is extra.
func TestWindowCost(t *testing.T) {
	requests, rank := 0, 0
	for rank < 10_000 {
		page, size := window(rank, 50)
		rank = page * size
		requests++
	}
	assert.Less(t, requests, 10_000/50*5/4)
}

// A server that holds keys in order and changes them between any two requests.
type server struct {
	rows  []key
	desc  bool
	cap   int // of a page
	next  int64
	asked int
	mute  bool        // tells no count
	then  func(n int) // after the n-th request
}

func (s *server) fetch(_ context.Context, page, limit int) ([]key, api.Answer, error) {
	s.asked++
	limit = min(limit, s.cap)
	rows := slices.Clone(s.rows)
	slices.SortFunc(rows, func(a, b key) int {
		if a.less(b) != s.desc {
			return -1
		}
		return 1
	})
	from := min((page-1)*limit, len(rows))
	out := rows[from:min(from+limit, len(rows))]
	if s.then != nil {
		s.then(s.asked)
	}
	if s.mute {
		return out, api.Answer{Total: -1}, nil
	}
	return out, api.Answer{Total: len(rows)}, nil
}

// add puts rows at the new end, several to a second.
func (s *server) add(n int) {
	for range n {
		s.next++
		s.rows = append(s.rows, key{s.next / 4, s.next})
	}
}

func (s *server) drop(i int) key {
	k := s.rows[i]
	s.rows = slices.Delete(s.rows, i, i+1)
	return k
}

func self(k key) (key, bool) { return k, true }

// SPEC FJ-4, FJ-5: for either order, any page cap, any change between any requests, and a crash after any page, every row that
// was there all the time is given exactly once.
func TestListingProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		srv := &server{desc: rapid.Bool().Draw(r, "desc"), cap: rapid.IntRange(2, 50).Draw(r, "cap"), mute: rapid.Bool().Draw(r, "mute")}
		srv.add(rapid.IntRange(0, 300).Draw(r, "rows"))
		stay := map[key]bool{}
		for _, k := range srv.rows {
			stay[k] = true
		}
		srv.then = func(n int) {
			if n > 200 {
				return
			}
			for range rapid.IntRange(0, 6).Draw(r, "drops") {
				if len(srv.rows) > 0 {
					delete(stay, srv.drop(rapid.IntRange(0, len(srv.rows)-1).Draw(r, "drop")))
				}
			}
			srv.add(rapid.IntRange(0, 3).Draw(r, "adds"))
		}
		l := &listing[key]{fetch: srv.fetch, key: self, desc: srv.desc, at: cursor{Walk: "w", Limit: 50}}
		seen := map[key]bool{}
		for steps := 0; ; steps++ {
			if steps > 1000 {
				r.Fatal("the listing does not end")
			}
			ch, err := l.next(context.Background())
			if err != nil {
				r.Fatal(err)
			}
			if ch.short != nil && srv.cap > 12 && !srv.mute {
				r.Fatal(ch.short)
			}
			for _, k := range ch.rows {
				if seen[k] {
					r.Fatalf("%v twice", k)
				}
				seen[k] = true
			}
			if ch.short != nil {
				return // no count, or a tiny cap: said, not hidden
			}
			if srv.mute {
				r.Fatal("a listing without a count cannot support anything")
			}
			if ch.last {
				break
			}
			if rapid.Bool().Draw(r, "crash") {
				c, err := decodeCursor(l.at.encode(), "w", 0, 50)
				if err != nil {
					r.Fatal(err)
				}
				l = &listing[key]{fetch: srv.fetch, key: self, desc: srv.desc, at: c}
			}
		}
		for k := range stay {
			if !seen[k] {
				r.Fatalf("%v was lost", k)
			}
		}
	})
}

// SPEC FJ-9: an answer over the size cap is asked for in smaller pages.
func TestTooLargePages(t *testing.T) {
	srv := &server{desc: true, cap: 50}
	srv.add(60)
	l := &listing[key]{key: self, desc: true, at: cursor{Limit: 50}, fetch: func(ctx context.Context, page, limit int) ([]key, api.Answer, error) {
		if limit > 10 {
			return nil, api.Answer{}, &adapters.Error{Severity: adapters.ScopeFailure, Err: adapters.ErrTooLarge}
		}
		return srv.fetch(ctx, page, limit)
	}}
	n := 0
	for {
		ch, err := l.next(t.Context())
		require.NoError(t, err)
		n += len(ch.rows)
		if ch.last {
			break
		}
	}
	assert.Equal(t, 60, n)
}

// SPEC FJ-4: a listing in another order is no base for this paging, so it fails.
func TestWrongOrder(t *testing.T) {
	l := &listing[key]{key: self, desc: true, at: cursor{Limit: 50}, fetch: func(context.Context, int, int) ([]key, api.Answer, error) {
		return []key{{1, 1}, {2, 2}}, api.Answer{Total: 2}, nil
	}}
	_, err := l.next(t.Context())
	assert.ErrorIs(t, err, adapters.ErrProtocol)
}

func FuzzCursor(f *testing.F) {
	f.Add([]byte(`{"w":"all","s":0,"n":50,"l":{"c":1,"i":2},"p":50}`))
	f.Add([]byte(`{"w":"all","n":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCursor(b, walkAll, 0, 50)
		if err == nil && (c.Limit < 2 || c.Limit > 50 || c.Rank < 0 || c.Walk != walkAll) {
			t.Fatalf("%+v", c)
		}
	})
}
