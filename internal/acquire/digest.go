package acquire

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"

	"github.com/fullsend-ai/discovery/query"
)

// support adds what makes a query true to a decision, one digest per test: so that an edited query is compared
// with its predecessor in the tests that both have. Change clocks are left out, and elements that the harness itself
// wrote: neither is a reason to ask again.
func support(into map[string]uint64, s *query.Support, self string) {
	for i := range s.Terms {
		t := &s.Terms[i]
		if t.Field == query.FUpdated {
			continue
		}
		part := t.Test
		if self != "" && len(t.Elements) > 0 {
			part += " but by " + self // another part than the test as a whole: who self is was edited, not the entity
		}
		into[part] = digestTerm(t, self)
	}
}

func digestTerm(t *query.Term, self string) uint64 {
	h := fnv.New64a()
	put := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, v := range t.Values {
		put(valueText(v))
	}
	put(t.Rev)
	keys := make([]string, 0, len(t.Elements))
	for i := range t.Elements {
		e := &t.Elements[i]
		if self != "" && e.Actor.ID == self {
			continue
		}
		keys = append(keys, e.Key+"\x00"+e.Rev)
	}
	slices.Sort(keys)
	for _, k := range keys {
		put(k)
	}
	return h.Sum64()
}

func valueText(v query.Value) string {
	switch v.Type {
	case query.TypeBool:
		if v.Bool {
			return "true"
		}
		return "false"
	case query.TypeUser:
		return v.User.ID
	case query.TypeInstant, query.TypeDate:
		return v.Time.UTC().Format("2006-01-02T15:04:05.000Z")
	case query.TypeNumber:
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], math.Float64bits(v.Num))
		return string(b[:])
	default:
		return v.Str
	}
}
