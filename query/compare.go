package query

import "strings"

// matches reports whether one value of a fact satisfies op with one value of the query.
func matches(op Op, v, want *Value) bool {
	switch want.Type {
	case TypeBool:
		return op == OpIn && v.Type == TypeBool && v.Bool == want.Bool
	case TypeNumber:
		return v.Type == TypeNumber && orderedNumber(op, v.Num, want.Num)
	case TypeUser:
		return op == OpIn && v.Type == TypeUser && sameUser(&v.User, &want.User)
	case TypeInstant, TypeDate:
		return isTime(v) && matchesTime(op, v, want)
	case TypeRef:
		return isString(v) && matchesExactly(op, v.Str, want.Str)
	default:
		return isString(v) && matchesFolded(op, v.Str, want.Str)
	}
}

func isString(v *Value) bool {
	return v.Type == TypeWord || v.Type == TypeName || v.Type == TypeRef || v.Type == TypeText
}

func isTime(v *Value) bool { return v.Type == TypeInstant || v.Type == TypeDate }

func matchesExactly(op Op, s, want string) bool {
	switch op {
	case OpIn:
		return s == want
	case OpContains:
		return strings.Contains(s, want)
	case OpStartsWith:
		return strings.HasPrefix(s, want)
	}
	return false
}

func matchesFolded(op Op, s, want string) bool {
	switch op {
	case OpIn:
		return len(s) == len(want) && foldEqual(s, want)
	case OpContains:
		return foldContains(s, want)
	case OpStartsWith:
		return len(s) >= len(want) && foldEqual(s[:len(want)], want)
	}
	return false
}

// matchesTime compares by calendar day (UTC) as soon as one side has no finer grain.
func matchesTime(op Op, v, want *Value) bool {
	a, b := momentOf(v), momentOf(want)
	if v.Type == TypeDate || want.Type == TypeDate {
		a, b = startOfDay(a), startOfDay(b)
	}
	return ordered(op, a-b)
}

func ordered(op Op, diff int64) bool {
	switch op {
	case OpIn:
		return diff == 0
	case OpLt:
		return diff < 0
	case OpLe:
		return diff <= 0
	case OpGt:
		return diff > 0
	case OpGe:
		return diff >= 0
	}
	return false
}

func orderedNumber(op Op, a, b float64) bool {
	switch op {
	case OpIn:
		return a == b
	case OpLt:
		return a < b
	case OpLe:
		return a <= b
	case OpGt:
		return a > b
	case OpGe:
		return a >= b
	}
	return false
}

// sameUser compares by stable id where the query names one, else by login. A deleted account equals nobody, and
// "name[bot]" equals only an account that the provider says is a bot.
func sameUser(u, want *User) bool {
	switch {
	case u.Deleted:
		return false
	case want.ID != "":
		return u.ID == want.ID
	case want.Login == "" || len(u.Login) != len(want.Login) || !foldEqual(u.Login, want.Login):
		return false
	}
	return u.Bot || !want.Bot && !strings.HasSuffix(want.Login, "[bot]")
}

const dayMillis = 24 * 60 * 60 * 1000

func startOfDay(ms int64) int64 {
	rest := ms % dayMillis
	if rest < 0 {
		rest += dayMillis
	}
	return ms - rest
}

// momentOf is an instant in milliseconds, a date as its UTC midnight.
func momentOf(v *Value) int64 { return v.Time.UnixMilli() }

// fold lowers A–Z and nothing else: no locale, no normal form.
func fold(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// foldEqual compares two strings of equal length.
func foldEqual(a, b string) bool {
	for i := range len(a) {
		if a[i] != b[i] && fold(a[i]) != fold(b[i]) {
			return false
		}
	}
	return true
}

// foldContains is Rabin and Karp's search over folded bytes: bodies are long and written by strangers, so the time must
// not depend on how often a prefix repeats.
func foldContains(s, want string) bool {
	n := len(want)
	if n > len(s) {
		return false
	}
	const prime = 16777619
	var target, hash uint32
	power := uint32(1)
	for i := range n {
		target = target*prime + uint32(fold(want[i]))
		hash = hash*prime + uint32(fold(s[i]))
		power *= prime
	}
	for end := n; ; end++ {
		if hash == target && foldEqual(s[end-n:end], want) {
			return true
		}
		if end == len(s) {
			return false
		}
		hash = hash*prime + uint32(fold(s[end])) - power*uint32(fold(s[end-n]))
	}
}
