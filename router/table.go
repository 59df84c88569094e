package router

import (
	"maps"
	"strings"

	"github.com/fullsend-ai/discovery/query"
)

// table finds which literals a value equals, without comparing it with each. It follows SPEC FA-11 and FA-12.
type table struct {
	folded, exact     map[string]int32 // names, words and texts; refs
	ids, logins, bots map[string]int32 // accounts; bots: logins that only a bot has
	numbers           map[float64]int32
	days              map[int64]int32
	bools             [2]int32 // id+1; 0: none
}

func (t *table) clone() table {
	return table{
		folded: maps.Clone(t.folded), exact: maps.Clone(t.exact),
		ids: maps.Clone(t.ids), logins: maps.Clone(t.logins), bots: maps.Clone(t.bots),
		numbers: maps.Clone(t.numbers), days: maps.Clone(t.days), bools: t.bools,
	}
}

// exact reports whether a value equals the literal exactly when the table finds it. Else the table may find it where
// it is not equal, never the other way around.
func exact(want *query.Value) bool { return want.Type != query.TypeInstant }

// intern gives the literal's id: next when it is new.
func (t *table) intern(want *query.Value, next int32) int32 {
	switch want.Type {
	case query.TypeBool:
		b := &t.bools[boolIndex(want.Bool)]
		if *b == 0 {
			*b = next + 1
		}
		return *b - 1
	case query.TypeNumber:
		return internKey(&t.numbers, want.Num, next)
	case query.TypeInstant, query.TypeDate:
		return internKey(&t.days, dayOf(want.Time.UnixMilli()), next)
	case query.TypeRef:
		return internKey(&t.exact, want.Str, next)
	case query.TypeUser:
		return t.internUser(&want.User, next)
	}
	return internKey(&t.folded, string(appendFolded(nil, want.Str)), next)
}

func (t *table) internUser(u *query.User, next int32) int32 {
	switch {
	case u.ID != "":
		return internKey(&t.ids, u.ID, next)
	case u.Bot || strings.HasSuffix(u.Login, "[bot]"):
		return internKey(&t.bots, string(appendFolded(nil, u.Login)), next)
	}
	return internKey(&t.logins, string(appendFolded(nil, u.Login)), next)
}

func internKey[K comparable](m *map[K]int32, k K, next int32) int32 {
	if id, ok := (*m)[k]; ok {
		return id
	}
	if *m == nil {
		*m = map[K]int32{}
	}
	(*m)[k] = next
	return next
}

// find appends the ids of the literals that v equals. buf is room to fold in.
func (t *table) find(out []int32, buf []byte, v *query.Value) ([]int32, []byte) {
	switch v.Type {
	case query.TypeBool:
		if id := t.bools[boolIndex(v.Bool)]; id != 0 {
			out = append(out, id-1)
		}
	case query.TypeNumber:
		out = findKey(out, t.numbers, v.Num)
	case query.TypeInstant, query.TypeDate:
		out = findKey(out, t.days, dayOf(v.Time.UnixMilli()))
	case query.TypeUser:
		return t.findUser(out, buf, &v.User)
	case query.TypeWord, query.TypeName, query.TypeRef, query.TypeText:
		buf = appendFolded(buf[:0], v.Str)
		if id, ok := t.folded[string(buf)]; ok {
			out = append(out, id)
		}
		out = findKey(out, t.exact, v.Str)
	}
	return out, buf
}

func (t *table) findUser(out []int32, buf []byte, u *query.User) ([]int32, []byte) {
	if u.Deleted {
		return out, buf
	}
	out = findKey(out, t.ids, u.ID)
	if u.Login == "" {
		return out, buf
	}
	buf = appendFolded(buf[:0], u.Login)
	if id, ok := t.logins[string(buf)]; ok {
		out = append(out, id)
	}
	if id, ok := t.bots[string(buf)]; ok && u.Bot {
		out = append(out, id)
	}
	return out, buf
}

func findKey[K comparable](out []int32, m map[K]int32, k K) []int32 {
	if len(m) == 0 {
		return out
	}
	if id, ok := m[k]; ok {
		out = append(out, id)
	}
	return out
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

// appendFolded lowers A–Z and nothing else.
func appendFolded(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

const dayMillis = 24 * 60 * 60 * 1000

// dayOf is the first millisecond of the UTC day.
func dayOf(ms int64) int64 {
	rest := ms % dayMillis
	if rest < 0 {
		rest += dayMillis
	}
	return ms - rest
}
