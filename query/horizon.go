package query

import "math"

// never is the horizon of what time alone does not change.
const never = math.MaxInt64

// horizon is the minimum over all tests, deciding or not: the horizon of the deciding test alone can be late, because
// what decides may change hands before it flips. Values and elements count whatever their standing, so that the horizon
// does not depend on the view.
func (ev *evaluation) horizon(x expr) int64 { return ev.horizonOf(x, nil) }

func (ev *evaluation) horizonOf(x expr, el *Element) int64 {
	at := int64(never)
	switch x := x.(type) {
	case *andExpr:
		for _, t := range x.terms {
			at = min(at, ev.horizonOf(t, el))
		}
	case *orExpr:
		for _, t := range x.terms {
			at = min(at, ev.horizonOf(t, el))
		}
	case *notExpr:
		at = ev.horizonOf(x.x, el)
	case *quantExpr:
		if !mentionsNow(x.where) {
			return never
		}
		items := ev.facts.Get(x.field.ID).Items
		for i := range items {
			at = min(at, ev.horizonOf(x.where, &items[i]))
		}
	case *testExpr:
		at = ev.nextFlip(x, el)
	}
	return at
}

func (ev *evaluation) nextFlip(t *testExpr, el *Element) int64 {
	at := int64(never)
	for j := range t.vals {
		if !t.vals[j].now {
			continue
		}
		var one [1]Value
		_, values := ev.values(t, el, &one)
		for i := range values {
			if isTime(&values[i]) {
				at = min(at, ev.flipOf(t.op, &values[i], t.vals[j].offset.Milliseconds()))
			}
		}
	}
	return at
}

// flipOf is the first instant after now at which `v op now+offset` has another truth. A test that is still as before at
// its boundary flips one tick later: an appointment at the boundary itself would be due for ever.
func (ev *evaluation) flipOf(op Op, v *Value, offset int64) int64 {
	if v.Type == TypeDate {
		return ev.flipOfDay(op, startOfDay(momentOf(v))-offset)
	}
	at := momentOf(v) - offset
	if op == OpLt || op == OpGe {
		at++
	}
	return ev.after(at)
}

// flipOfDay: the day of now+offset reaches v's day at from, and leaves it a day later.
func (ev *evaluation) flipOfDay(op Op, from int64) int64 {
	reach, leave := ev.after(from), ev.after(from+dayMillis)
	switch op {
	case OpLe, OpGt:
		return reach
	case OpLt, OpGe:
		return leave
	default:
		return min(reach, leave)
	}
}

func (ev *evaluation) after(at int64) int64 {
	if at > ev.now {
		return at
	}
	return never
}
