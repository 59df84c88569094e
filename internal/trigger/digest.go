package trigger

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"

	"github.com/fullsend-ai/discovery/query"
)

// digests of the facts that were read. They are stable across processes, so that a ledger can compare them.
func (ev *evaluation) digests() map[string]uint64 {
	out := map[string]uint64{}
	for id, f := range ev.read {
		fact := ev.facts.Get(id)
		if id == query.FUpdated || fact.Presence == query.Unknown {
			continue
		}
		var d digest
		if f.Type == query.TypeElements {
			d.elements(f, ev.others(f))
		} else {
			d.fact(fact)
		}
		out[f.Name] = d.sum()
	}
	return out
}

// others are the admitted elements that the harness's own account did not write.
func (ev *evaluation) others(f *query.Field) []*query.Element {
	admitted, _ := ev.elements(f)
	return slices.DeleteFunc(admitted, func(e *query.Element) bool {
		return ev.in.Self != "" && e.Actor.ID == ev.in.Self
	})
}

// digest hashes parts whose lengths are written before them, so that no two contents run together.
type digest struct{ buf []byte }

func (d *digest) sum() uint64 {
	h := fnv.New64a()
	h.Write(d.buf)
	return h.Sum64()
}

func (d *digest) text(s string) {
	d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
	d.buf = append(d.buf, s...)
}

func (d *digest) number(n uint64) { d.buf = binary.BigEndian.AppendUint64(d.buf, n) }

func (d *digest) elements(f *query.Field, es []*query.Element) {
	es = slices.Clone(es)
	slices.SortFunc(es, func(x, y *query.Element) int { return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Rev, y.Rev)) })
	for _, e := range es {
		d.text(e.Key)
		d.text(e.Rev)
		d.text(e.Actor.ID)
		for _, m := range f.Members {
			if fact := e.Member(m.ID); fact.Presence != query.Unknown {
				d.text(m.Name) // ids of fields are not made to last
				d.fact(&fact)
			}
		}
	}
}

func (d *digest) fact(f *query.Fact) {
	d.text(f.Rev)
	parts := make([]string, len(f.Values))
	for i := range f.Values {
		var v digest
		v.value(&f.Values[i])
		parts[i] = string(v.buf)
	}
	slices.Sort(parts)
	d.number(uint64(len(parts)))
	for _, p := range parts {
		d.text(p)
	}
}

func (d *digest) value(v *query.Value) {
	switch v.Type {
	case query.TypeBool:
		d.text("bool")
		if v.Bool {
			d.number(1)
		}
	case query.TypeNumber:
		d.text("number")
		d.number(math.Float64bits(v.Num))
	case query.TypeInstant, query.TypeDate:
		d.text("time")
		d.number(uint64(v.Time.UnixMilli()))
	case query.TypeUser:
		d.text("user")
		d.text(cmp.Or(v.User.ID, v.User.Login))
	default:
		d.text("text")
		d.text(v.Str)
	}
}
