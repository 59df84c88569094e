package querytest

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
)

// aimed draws an entity that random queries would seldom hit: some of what the sources ask for is planted into it, in
// another letter case at times.
func aimed(t *rapid.T, wanted []query.Leaf) *query.Facts {
	f := Complete(t)
	for _, l := range wanted {
		if len(l.Values) == 0 || !l.Positive || l.Op != query.OpIn && l.Op != query.OpContains && l.Op != query.OpStartsWith {
			continue
		}
		if rapid.IntRange(0, 2).Draw(t, "planted") == 0 {
			continue
		}
		v := l.Values[rapid.IntRange(0, len(l.Values)-1).Draw(t, "which")]
		if v.Type == query.TypeName || v.Type == query.TypeText {
			v.Str = rapid.SampledFrom([]string{v.Str, v.Str, swapCase(v.Str)}).Draw(t, "case")
		}
		plant(f, l, v)
	}
	return f
}

func plant(f *query.Facts, l query.Leaf, v query.Value) {
	fact := *f.Get(l.Field)
	if l.Member == 0 {
		if v.Type == query.TypeUser && v.User.ID == "" {
			return // a login that nobody here has
		}
		f.Set(l.Field, query.Fact{Presence: query.Known, Values: []query.Value{v}, Rev: fact.Rev})
		return
	}
	for i := range fact.Items {
		e := &fact.Items[i]
		for j := range e.Members {
			if e.Members[j].ID == l.Member {
				e.Members[j].Fact.Values = []query.Value{v}
				return
			}
		}
	}
}

// wants are the tests that the sources would like to be filtered.
func wants(sources []query.Source) []query.Leaf {
	all := query.FiltersFunc(func(query.Leaf, query.WalkKind) query.Strength { return query.Exact })
	s, _ := query.Upper(sources, all, query.Sweep, Now, 0, nil)
	var out []query.Leaf
	for l := range s.Leaves {
		out = append(out, *l)
	}
	return slices.Clip(out)
}

// swapCase turns the case of A–Z around.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, s)
}
