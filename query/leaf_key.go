package query

import (
	"encoding/binary"
	"math"
	"slices"
)

// A key tells expressions, leaves and values apart by what they mean, exactly or up to the case of A–Z where comparison
// ignores it. It is never persisted.
type keyer struct {
	b    []byte
	fold bool
}

func (k *keyer) str(s string, folds bool) {
	k.b = binary.AppendUvarint(k.b, uint64(len(s)))
	if !folds || !k.fold {
		k.b = append(k.b, s...)
		return
	}
	for i := range len(s) {
		k.b = append(k.b, fold(s[i]))
	}
}

func (k *keyer) id(n FieldID) { k.b = binary.BigEndian.AppendUint32(k.b, uint32(n)) }

func (k *keyer) flag(f bool) {
	if f {
		k.b = append(k.b, 1)
	} else {
		k.b = append(k.b, 0)
	}
}

func (k *keyer) value(v *Value) {
	k.b = append(k.b, byte(v.Type))
	switch v.Type {
	case TypeBool:
		k.flag(v.Bool)
	case TypeNumber:
		k.b = binary.BigEndian.AppendUint64(k.b, math.Float64bits(v.Num))
	case TypeUser:
		k.str(v.User.ID, false)
		if v.User.ID == "" {
			k.str(v.User.Login, true)
			k.flag(v.User.Bot)
		}
	case TypeInstant, TypeDate:
		k.b = binary.BigEndian.AppendUint64(k.b, uint64(momentOf(v)))
	default:
		k.str(v.Str, v.Type != TypeRef)
	}
}

func (k *keyer) operand(o *operand) {
	k.flag(o.now)
	k.b = binary.BigEndian.AppendUint64(k.b, uint64(o.offset))
	k.id(o.field)
	if !o.now && o.field == 0 {
		k.value(&o.lit)
	}
}

// set appends each part once, in order: the values of a list are a set.
func (k *keyer) set(n int, part func(*keyer, int)) {
	keys := make([]string, n)
	for i := range n {
		p := keyer{fold: k.fold}
		part(&p, i)
		keys[i] = string(p.b)
	}
	slices.Sort(keys)
	for _, s := range slices.Compact(keys) {
		k.str(s, false)
	}
}

func (k *keyer) expr(x expr) {
	switch x := x.(type) {
	case *andExpr:
		k.b = append(k.b, '&')
		k.set(len(x.terms), func(k *keyer, i int) { k.expr(x.terms[i]) })
		k.b = append(k.b, ')')
	case *orExpr:
		k.b = append(k.b, '|')
		k.set(len(x.terms), func(k *keyer, i int) { k.expr(x.terms[i]) })
		k.b = append(k.b, ')')
	case *notExpr:
		k.b = append(k.b, '!')
		k.expr(x.x)
	case *quantExpr:
		k.b = append(k.b, '?')
		k.flag(x.no)
		k.id(x.field.ID)
		k.str(x.self, false)
		k.expr(x.where)
	case *testExpr:
		k.b = append(k.b, 't')
		k.flag(x.neg)
		k.id(x.field.ID)
		k.b = append(k.b, byte(x.op))
		k.set(len(x.vals), func(k *keyer, i int) { k.operand(&x.vals[i]) })
		k.b = append(k.b, ')')
	}
}

// exprKey is equal for expressions that mean the same by construction.
func exprKey(x expr) string {
	k := keyer{fold: true}
	k.expr(x)
	return string(k.b)
}

// leafKey orders leaves by field, member, operator, polarity and values, and keeps the case of names: what a provider
// makes of case is the provider's matter.
func leafKey(l *Leaf) string {
	var k keyer
	k.id(l.Field)
	k.id(l.Member)
	k.b = append(k.b, byte(l.Op))
	k.flag(!l.Positive)
	k.set(len(l.Values), func(k *keyer, i int) { k.value(&l.Values[i]) })
	return string(k.b)
}
