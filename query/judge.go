package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// truth is what can be said of an expression before any entity is looked at: never is never True, always is never
// False. Where facts are unknown both may still be Unknown.
type truth int8

const (
	neverTrue   truth = -1
	undecidable truth = 0
	neverFalse  truth = 1
)

// judge reports parts of a query that are never or always true, as far as that is cheap to see. It is sound: what it
// calls a contradiction is one under every view and at every instant.
func judge(root expr, whole Span, r *report) {
	j := &judgement{report: r}
	switch j.of(root) {
	case neverTrue:
		if !j.promote() {
			j.add(codeNever, whole, "the query never matches", "a harness with it would never run")
		}
	case neverFalse:
		if !j.said(codeAlways) {
			j.add(codeAlways, whole, "the query matches every entity", "state what it is about, for example state = open")
		}
	}
}

type judgement struct{ *report }

// promote makes the findings of a query that never matches errors.
func (j *judgement) promote() (any bool) {
	for i := range j.ds {
		if j.ds[i].Code == codeNeverPart {
			j.ds[i].Code, j.ds[i].Severity, any = codeNever, severityOf(codeNever), true
		}
	}
	return any
}

func (j *judgement) said(code string) bool {
	return slices.ContainsFunc(j.ds, func(d Diagnostic) bool { return d.Code == code })
}

func (j *judgement) of(e expr) truth {
	switch x := e.(type) {
	case *andExpr:
		return j.joined(x.terms, false)
	case *orExpr:
		return j.joined(x.terms, true)
	case *notExpr:
		return -j.of(x.x)
	case *quantExpr:
		switch inner := j.of(x.where); {
		case inner != neverTrue:
			return undecidable // a collection may be empty
		case x.no:
			return neverFalse
		}
		return neverTrue
	case *testExpr:
		return j.test(x)
	}
	return undecidable
}

// joined judges an or as the negation of an and of negations.
func (j *judgement) joined(terms []expr, or bool) truth {
	ruled, neutral := neverTrue, true
	if or {
		ruled = neverFalse
	}
	found := undecidable
	for _, t := range terms {
		v := j.of(t)
		neutral = neutral && v == -ruled
		if v == ruled {
			found = ruled
		}
	}
	switch {
	case len(terms) == 0:
		return undecidable // is empty and is not empty are written so
	case found == ruled:
		return ruled
	case neutral:
		return -ruled
	}
	c := clash{constraints: map[FieldID]*constraint{}, seen: map[string]bool{}, some: map[FieldID]bool{}, none: map[FieldID]bool{}}
	for _, t := range terms {
		if !c.take(t, or) {
			continue
		}
		if or {
			j.add(codeAlways, spanOf(t), fmt.Sprintf("%s, or what stands before it, is true of every entity", clip(render(t), 120)), "remove both")
		} else {
			j.add(codeNeverPart, spanOf(t), fmt.Sprintf("%s and what stands before it are never true together", clip(render(t), 120)), "remove one, or join them with or")
		}
		return ruled
	}
	for _, t := range c.twice {
		j.add(codeRepeatedTest, spanOf(t), fmt.Sprintf("%s is repeated", clip(render(t), 120)), "remove it")
	}
	return undecidable
}

func spanOf(e expr) Span {
	switch x := e.(type) {
	case *andExpr:
		return spanOfAll(x.terms)
	case *orExpr:
		return spanOfAll(x.terms)
	case *notExpr:
		return spanOf(x.x)
	case *quantExpr:
		return x.span
	case *testExpr:
		return x.span
	}
	return Span{}
}

func spanOfAll(es []expr) Span {
	if len(es) == 0 {
		return Span{}
	}
	return Span{spanOf(es[0]).Start, spanOf(es[len(es)-1]).End}
}

func (j *judgement) test(t *testExpr) truth {
	v := j.positiveTest(t)
	if t.neg {
		v = -v
	}
	switch v {
	case neverTrue:
		j.add(codeNeverPart, t.span, t.text+" is never true", "remove it")
	case neverFalse:
		j.add(codeAlways, t.span, t.text+" is always true", "remove it")
	}
	return v
}

// positiveTest judges a test without its negation.
func (j *judgement) positiveTest(t *testExpr) truth {
	sure := t.field.Empty == NeverEmpty && !t.field.Many
	for _, v := range t.vals {
		switch {
		case v.field == 0 || v.field != t.field.ID:
		case t.op == OpLt || t.op == OpGt:
			return neverTrue
		case sure:
			return neverFalse
		}
	}
	if d := domain(t.field); t.op == OpIn && sure && d != nil && covers(t.vals, d) {
		return neverFalse
	}
	return undecidable
}

// domain lists the values of a field that has a closed list of them.
func domain(f *Field) []operand {
	switch f.Type {
	case TypeBool:
		return []operand{{lit: Bool(true)}, {lit: Bool(false)}}
	case TypeWord:
		out := make([]operand, len(f.Words))
		for i, w := range f.Words {
			out[i].lit = Word(w)
		}
		return out
	}
	return nil
}

func covers(vals, all []operand) bool {
	return !slices.ContainsFunc(all, func(o operand) bool { return !hasKey(vals, o.key()) })
}

func hasKey(os []operand, key string) bool {
	return slices.ContainsFunc(os, func(o operand) bool { return o.key() == key })
}

// clash collects conditions that are to hold together, until two of them cannot.
type clash struct {
	constraints map[FieldID]*constraint
	seen        map[string]bool // key and polarity of each condition
	some, none  map[FieldID]bool
	twice       []expr
}

// take adds e, or its negation, and reports whether that leaves nothing.
func (c *clash) take(e expr, negate bool) bool {
	switch x := e.(type) {
	case *notExpr:
		return c.take(x.x, !negate)
	case *andExpr:
		if !negate && len(x.terms) > 0 {
			return c.takeAll(x, x.terms, negate)
		}
	case *orExpr:
		if negate && len(x.terms) > 0 {
			return c.takeAll(x, x.terms, negate)
		}
	}
	return c.atom(e, negate)
}

func (c *clash) takeAll(whole expr, es []expr, negate bool) bool {
	key, _ := atomKey(whole)
	if c.seen[polar(key, !negate)] {
		return true
	}
	c.seen[polar(key, negate)] = true
	for _, e := range es {
		if c.take(e, negate) {
			return true
		}
	}
	return false
}

func (c *clash) atom(e expr, negate bool) bool {
	key, flips := atomKey(e)
	negate = negate != flips
	same, opposite := polar(key, negate), polar(key, !negate)
	if c.seen[opposite] {
		return true
	}
	if c.seen[same] {
		c.twice = append(c.twice, e)
		return false
	}
	c.seen[same] = true
	switch x := e.(type) {
	case *quantExpr:
		return c.quantifier(x, negate)
	case *testExpr:
		return c.constraint(x, negate)
	}
	return false
}

func polar(key string, negate bool) string { return strconv.FormatBool(negate) + key }

// atomKey identifies a condition up to its negation.
func atomKey(e expr) (key string, negated bool) {
	switch x := e.(type) {
	case *testExpr:
		keys := make([]string, len(x.vals))
		for i, v := range x.vals {
			keys[i] = strconv.Quote(v.key())
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		return fmt.Sprintf("test %d %d %s", x.field.ID, x.op, strings.Join(keys, ",")), x.neg
	case *quantExpr:
		inner, neg := atomKey(x.where)
		return fmt.Sprintf("any %d(%t %s)", x.field.ID, neg, inner), x.no
	}
	return "text " + render(e), false
}

func (c *clash) quantifier(q *quantExpr, negate bool) bool {
	all, ok := q.where.(*andExpr)
	switch {
	case !negate:
		c.some[q.field.ID] = true
	case ok && len(all.terms) == 0:
		c.none[q.field.ID] = true
	}
	return c.some[q.field.ID] && c.none[q.field.ID]
}

func (c *clash) constraint(t *testExpr, negate bool) bool {
	k := c.constraints[t.field.ID]
	if k == nil {
		k = newConstraint(t.field)
		c.constraints[t.field.ID] = k
	}
	k.add(t, negate)
	return k.impossible() || c.openAndMerged(FState, FMerged) || c.openAndMerged(MState, MMerged)
}

// openAndMerged knows that what is open is not merged.
func (c *clash) openAndMerged(state, merged FieldID) bool {
	s, m := c.constraints[state], c.constraints[merged]
	return s != nil && m != nil && s.only(Word("open")) && m.only(Bool(true))
}

// constraint is what a field has to satisfy at once.
type constraint struct {
	f              *Field
	empty, full    bool
	bounded        bool // allowed says something
	allowed        []operand
	excluded       map[string]bool
	with, without  []string // prefixes
	lowest, higher []limit
}

// limit is one end of a range; limits are comparable where they have the same base.
type limit struct {
	base   string
	at     int64 // milliseconds
	strict bool
}

func newConstraint(f *Field) *constraint {
	k := &constraint{f: f, full: f.Empty == NeverEmpty, excluded: map[string]bool{}}
	if d := domain(f); d != nil && k.full && !f.Many {
		k.allowed, k.bounded = d, true
	}
	return k
}

func (k *constraint) add(t *testExpr, negate bool) {
	op := t.op
	switch {
	case op == OpEmpty:
		k.empty, k.full = k.empty || !negate, k.full || negate
		return
	case !negate:
		k.full = true
	}
	if k.f.Many {
		return
	}
	if negate {
		flipped, ok := opposite[op]
		if ok && k.f.Empty == NeverEmpty {
			op = flipped
		} else if ok {
			return // true where the field is empty
		}
	}
	switch op {
	case OpIn:
		k.values(t.vals, negate)
	case OpStartsWith:
		p := k.folded(t.vals[0].lit.Str)
		if negate {
			k.without = append(k.without, p)
		} else {
			k.with = append(k.with, p)
		}
	case OpGt, OpGe:
		k.lowest = append(k.lowest, limitOf(t.vals[0], op == OpGt))
	case OpLt, OpLe:
		k.higher = append(k.higher, limitOf(t.vals[0], op == OpLt))
	}
}

var opposite = map[Op]Op{OpLt: OpGe, OpGe: OpLt, OpGt: OpLe, OpLe: OpGt}

func (k *constraint) folded(s string) string {
	if k.f.Type == TypeRef {
		return s
	}
	return foldASCII(s)
}

func (k *constraint) values(vals []operand, negate bool) {
	switch {
	case negate:
		for _, v := range vals {
			k.excluded[v.key()] = true
		}
	case !k.bounded:
		k.allowed, k.bounded = slices.Clone(vals), true
	default:
		k.allowed = slices.DeleteFunc(slices.Clone(k.allowed), func(a operand) bool {
			return !slices.ContainsFunc(vals, func(v operand) bool { return mayEqual(a, v) })
		})
	}
}

// mayEqual reports whether one value could be both: a login and an id may be one account, and now any day.
func mayEqual(a, b operand) bool {
	if a.now || b.now || a.field != 0 || b.field != 0 {
		return true
	}
	if a.lit.Type == TypeUser && (a.lit.User.ID == "") != (b.lit.User.ID == "") {
		return true
	}
	return a.key() == b.key()
}

func limitOf(o operand, strict bool) limit {
	switch {
	case o.now:
		return limit{"now", o.offset.Milliseconds(), strict}
	case o.field != 0:
		return limit{"field " + strconv.Itoa(int(o.field)), 0, strict}
	case o.lit.Type == TypeInstant || o.lit.Type == TypeDate:
		return limit{"", o.lit.Time.UnixMilli(), strict}
	}
	return limit{"other " + o.key(), 0, strict}
}

// left are the allowed values that satisfy everything else.
func (k *constraint) left() []operand {
	return slices.DeleteFunc(slices.Clone(k.allowed), func(o operand) bool {
		if k.excluded[o.key()] {
			return true
		}
		if o.now || o.field != 0 {
			return false
		}
		return !k.prefixed(k.folded(o.lit.Str)) || !k.within(o.lit)
	})
}

func (k *constraint) prefixed(s string) bool {
	return !slices.ContainsFunc(k.with, func(p string) bool { return !strings.HasPrefix(s, p) }) &&
		!slices.ContainsFunc(k.without, func(p string) bool { return strings.HasPrefix(s, p) })
}

func (k *constraint) within(v Value) bool {
	if v.Type != TypeDate {
		return true
	}
	at := limit{"", v.Time.UnixMilli(), false}
	return !slices.ContainsFunc(k.lowest, func(l limit) bool { return k.apart(l, at) }) &&
		!slices.ContainsFunc(k.higher, func(l limit) bool { return k.apart(at, l) })
}

// apart reports whether nothing lies from lo up to hi.
func (k *constraint) apart(lo, hi limit) bool {
	if lo.base != hi.base {
		return false
	}
	gap := hi.at - lo.at
	day := (24 * time.Hour).Milliseconds()
	switch days := k.f.Type == TypeDate; {
	case !lo.strict && !hi.strict && days && lo.base != "":
		return gap <= -day // two instants of one day are that day
	case !lo.strict && !hi.strict:
		return gap < 0
	case lo.strict && hi.strict && days && lo.base == "":
		return gap <= day
	case lo.strict && hi.strict && days:
		return gap < day
	case lo.strict && hi.strict && lo.base == "":
		return gap <= 1
	}
	return gap <= 0
}

func (k *constraint) only(v Value) bool {
	left := k.left()
	return k.bounded && len(left) == 1 && left[0].key() == operand{lit: v}.key()
}

func (k *constraint) impossible() bool {
	switch {
	case k.empty && k.full:
		return true
	case k.bounded && len(k.left()) == 0:
		return true
	}
	for _, p := range k.with {
		if slices.ContainsFunc(k.with, func(q string) bool { return !strings.HasPrefix(p, q) && !strings.HasPrefix(q, p) }) ||
			slices.ContainsFunc(k.without, func(q string) bool { return strings.HasPrefix(p, q) }) {
			return true
		}
	}
	return slices.ContainsFunc(k.lowest, func(lo limit) bool {
		return slices.ContainsFunc(k.higher, func(hi limit) bool { return k.apart(lo, hi) })
	})
}
