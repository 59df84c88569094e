package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// claim is what an adapter says its provider filters: a kind of test, not one value.
type claim struct {
	kind   query.Kind
	field  string
	member string
	op     query.Op
	not    bool
	walk   query.WalkKind
}

func (c claim) String() string {
	name := c.field
	if c.member != "" {
		name += "(" + c.member + ")"
	}
	polarity, walk := "", "the sweep"
	if c.not {
		polarity = "not "
	}
	if c.walk == query.Changes {
		walk = "windows"
	}
	return fmt.Sprintf("%s%s %s of %s in %s", polarity, name, opNames()[c.op], c.kind, walk)
}

func opNames() []string {
	return []string{"=", "<", "<=", ">", ">=", "contains", "starts with", "is empty"}
}

func claimOf(cat *query.Catalogue, l query.Leaf, w query.WalkKind) claim {
	c := claim{kind: cat.Kind(), op: l.Op, not: !l.Positive, walk: w}
	f, ok := cat.ByID(l.Field)
	if !ok {
		return c
	}
	c.field = f.Name
	for _, m := range f.Members {
		if m.ID == l.Member {
			c.member = m.Name
		}
	}
	return c
}

// asked are the leaves that the compilation of some queries asks the adapter about.
func asked(a adapters.Adapter, k query.Kind, bs []*query.Bound) []query.Leaf {
	var out []query.Leaf
	record := query.FiltersFunc(func(l query.Leaf, w query.WalkKind) query.Strength {
		out = append(out, l)
		return a.Claims(k).Filter(l, w)
	})
	ss := make([]query.Source, len(bs))
	for i, b := range bs {
		ss[i] = query.Source{ID: fmt.Sprintf("q/%d", i), Query: b}
	}
	query.Upper(ss, record, query.Sweep, time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC), 24*time.Hour, nil)
	return out
}

// claimed are the claims that a query relies on.
func claimed(a adapters.Adapter, k query.Kind, b *query.Bound) []claim {
	var out []claim
	for _, l := range asked(a, k, []*query.Bound{b}) {
		for _, w := range []query.WalkKind{query.Sweep, query.Changes} {
			if a.Claims(k).Filter(l, w) != query.None {
				out = append(out, claimOf(a.Catalogue(k), l, w))
			}
		}
	}
	return out
}

// allClaims asks an adapter about every kind of test there is, with a sample of a value.
func allClaims(a adapters.Adapter) []claim {
	var out []claim
	for _, k := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		cat := a.Catalogue(k)
		if cat == nil {
			continue
		}
		fs := a.Claims(k)
		for _, name := range cat.Names() {
			f, ok := cat.Field(name)
			if !ok {
				continue
			}
			for _, l := range samples(f) {
				for _, w := range []query.WalkKind{query.Sweep, query.Changes} {
					if fs != nil && fs.Filter(l, w) != query.None {
						out = append(out, claimOf(cat, l, w))
					}
				}
			}
		}
	}
	return unique(out)
}

func unique(cs []claim) []claim {
	seen := map[claim]bool{}
	return slices.DeleteFunc(cs, func(c claim) bool {
		was := seen[c]
		seen[c] = true
		return was
	})
}

// samples are leaves of every operator that fits a field, in both polarities.
func samples(f *query.Field) []query.Leaf {
	var out []query.Leaf
	if f.Type == query.TypeElements {
		out = append(out, query.Leaf{Field: f.ID, Op: query.OpIn, Positive: true}) // it has any element
		for _, m := range f.Members {
			for _, l := range plain(m) {
				if l.Positive { // elements are asked in positive polarity only
					l.Field, l.Member = f.ID, m.ID
					out = append(out, l)
				}
			}
		}
		return out
	}
	return plain(f)
}

func plain(f *query.Field) []query.Leaf {
	var out []query.Leaf
	for _, op := range []query.Op{query.OpIn, query.OpLt, query.OpLe, query.OpGt, query.OpGe, query.OpContains, query.OpStartsWith, query.OpEmpty} {
		v, ok := sample(f, op)
		if !ok {
			continue
		}
		for _, positive := range []bool{true, false} {
			out = append(out, query.Leaf{Field: f.ID, Op: op, Values: v, Positive: positive})
		}
	}
	return out
}

func sample(f *query.Field, op query.Op) ([]query.Value, bool) {
	if op == query.OpEmpty {
		return nil, f.Empty == query.MayBeEmpty
	}
	order := op == query.OpLt || op == query.OpLe || op == query.OpGt || op == query.OpGe
	at := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	switch f.Type {
	case query.TypeWord:
		return []query.Value{query.Word(f.Words[0])}, op == query.OpIn
	case query.TypeName:
		return []query.Value{query.Name("x")}, op == query.OpIn || op == query.OpStartsWith
	case query.TypeRef:
		return []query.Value{query.Ref("x")}, op == query.OpIn || op == query.OpStartsWith
	case query.TypeText:
		return []query.Value{query.Text("x")}, op == query.OpContains || op == query.OpStartsWith
	case query.TypeBool:
		return []query.Value{query.Bool(true)}, op == query.OpIn
	case query.TypeUser:
		return []query.Value{query.UserValue(query.User{ID: "1", Login: "x"})}, op == query.OpIn
	case query.TypeInstant:
		return []query.Value{query.Instant(at)}, order
	case query.TypeDate:
		return []query.Value{query.Date(at)}, order || op == query.OpIn
	}
	return nil, false
}
