package querytest

import (
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/query"
)

// Returned interprets a search over an entity's true facts, given what a provider does with one leaf.
func Returned(s *query.Search, f *query.Facts, leaf func(query.Leaf, *query.Facts) bool) bool {
	out := func(t *query.Search) bool { return !Returned(t, f, leaf) }
	switch {
	case s.All:
		return true
	case s.Leaf != nil:
		return leaf(*s.Leaf, f)
	case len(s.And) > 0:
		return !slices.ContainsFunc(s.And, out)
	}
	return slices.ContainsFunc(s.Or, func(t *query.Search) bool { return !out(t) })
}

// Holds is what the language itself says of a leaf over true facts: the exact provider. It is written apart from the
// evaluation that it is held against. Elements count whoever wrote them.
func Holds(l query.Leaf, f *query.Facts) bool {
	fact := f.Get(l.Field)
	switch {
	case l.AnyElement():
		return len(fact.Items) > 0
	case l.Member == 0:
		return someValueHolds(l, fact.Values) == l.Positive
	}
	return slices.ContainsFunc(fact.Items, func(e query.Element) bool {
		values := e.Member(l.Member).Values
		switch l.Member {
		case query.MBy:
			values = []query.Value{query.UserValue(e.Actor)}
		case query.MAt:
			values = []query.Value{query.Instant(e.At)}
		}
		return someValueHolds(l, values)
	})
}

func someValueHolds(l query.Leaf, values []query.Value) bool {
	values = slices.DeleteFunc(slices.Clone(values), func(v query.Value) bool { return v.User.Deleted })
	if l.Op == query.OpEmpty {
		return len(values) == 0
	}
	for _, v := range values {
		for _, w := range l.Values {
			if valueHolds(l.Op, v, w) {
				return true
			}
		}
	}
	return false
}

func valueHolds(op query.Op, v, w query.Value) bool {
	switch {
	case isTime(v) && isTime(w):
		return timeHolds(op, v, w)
	case isText(v) && isText(w):
		return textHolds(op, v.Str, w.Str, w.Type == query.TypeRef)
	case v.Type != w.Type:
		return false
	}
	switch v.Type {
	case query.TypeBool:
		return v.Bool == w.Bool
	case query.TypeUser:
		return w.User.ID != "" && v.User.ID == w.User.ID || w.User.ID == "" && lower(v.User.Login) == lower(w.User.Login)
	}
	return map[query.Op]bool{
		query.OpIn: v.Num == w.Num, query.OpLt: v.Num < w.Num, query.OpLe: v.Num <= w.Num, query.OpGt: v.Num > w.Num, query.OpGe: v.Num >= w.Num,
	}[op]
}

func isTime(v query.Value) bool { return v.Type == query.TypeInstant || v.Type == query.TypeDate }

func isText(v query.Value) bool {
	return v.Type == query.TypeWord || v.Type == query.TypeName || v.Type == query.TypeRef || v.Type == query.TypeText
}

// timeHolds compares days where one side is a day.
func timeHolds(op query.Op, v, w query.Value) bool {
	a, b := v.Time, w.Time
	if v.Type == query.TypeDate || w.Type == query.TypeDate {
		a, b = a.UTC().Truncate(24*time.Hour), b.UTC().Truncate(24*time.Hour)
	}
	c := a.Compare(b)
	return map[query.Op]bool{
		query.OpIn: c == 0, query.OpLt: c < 0, query.OpLe: c <= 0, query.OpGt: c > 0, query.OpGe: c >= 0,
	}[op]
}

func textHolds(op query.Op, s, want string, exact bool) bool {
	if !exact {
		s, want = lower(s), lower(want)
	}
	switch op {
	case query.OpContains:
		return strings.Contains(s, want)
	case query.OpStartsWith:
		return strings.HasPrefix(s, want)
	}
	return op == query.OpIn && s == want
}

func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
