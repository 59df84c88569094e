package router

import (
	"math"
	"slices"

	"github.com/fullsend-ai/discovery/query"
)

// never is the horizon of what time alone does not change.
const never = math.MaxInt64

// clockwork holds all comparisons with now of one field (or member) by one operator: whatever their number, the next
// instant at which one of them turns is one look-up per value.
type clockwork struct {
	member  query.FieldID
	op      query.Op
	offsets []int64 // milliseconds, ascending, unique
}

// next is the first instant after now at which `v op now+offset` turns for any of the offsets, SPEC FA-4.
func (c *clockwork) next(v *query.Value, now int64) int64 {
	switch v.Type {
	case query.TypeInstant:
		return c.after(turnOfInstant(c.op, v.Time.UnixMilli()), now)
	case query.TypeDate:
		day := dayOf(v.Time.UnixMilli())
		switch c.op {
		case query.OpLe, query.OpGt:
			return c.after(day, now)
		case query.OpLt, query.OpGe:
			return c.after(day+dayMillis, now)
		}
		return min(c.after(day, now), c.after(day+dayMillis, now))
	}
	return never
}

// turnOfInstant: a test that is still as before at its boundary turns one tick later.
func turnOfInstant(op query.Op, at int64) int64 {
	if op == query.OpLt || op == query.OpGe {
		return at + 1
	}
	return at
}

// after is the least of base-offset that is later than now.
func (c *clockwork) after(base, now int64) int64 {
	i, _ := slices.BinarySearch(c.offsets, base-now) // the first offset that is too large
	if i == 0 {
		return never
	}
	return base - c.offsets[i-1]
}

// moment is a plain field as an instant in milliseconds, where it is known to be one.
type moment struct {
	at int64
	ok bool
}

func momentOf(f *query.Fact) moment {
	if f.Presence != query.Known || len(f.Values) != 1 || f.Values[0].Type != query.TypeInstant {
		return moment{}
	}
	return moment{f.Values[0].Time.UnixMilli(), true}
}

// holds is `at op now+offset`, for the four orders of instants.
func (c *clock) holds(at, now int64) bool {
	b := now + c.offset
	switch c.op {
	case query.OpLt:
		return at < b
	case query.OpLe:
		return at <= b
	case query.OpGt:
		return at > b
	}
	return at >= b
}
