package query

// Implies reports whether newQ implies oldQ: on every entity, under every view and at every instant the verdict of newQ
// is at most that of oldQ in the order False, Unknown, True, so that no entity can match newQ, or be undecided, that
// oldQ had ruled out. It is sound and cheap; false may also mean that it cannot tell.
func Implies(newQ, oldQ *Bound) bool {
	im := implication{steps: maxImplicationSteps, keys: map[expr]string{}}
	return newQ.kind == oldQ.kind && im.atMost(newQ.root, oldQ.root)
}

const maxImplicationSteps = 2_000

type implication struct {
	steps int
	keys  map[expr]string
}

func (im *implication) key(x expr) string {
	k, ok := im.keys[x]
	if !ok {
		k = exprKey(x)
		im.keys[x] = k
	}
	return k
}

// atMost: the truth of a is at most that of b. Inside quantifiers, both speak of one element.
func (im *implication) atMost(a, b expr) bool {
	if im.steps--; im.steps < 0 {
		return false
	}
	if im.key(a) == im.key(b) {
		return true
	}
	switch b := b.(type) {
	case *andExpr:
		return im.every(b.terms, func(t expr) bool { return im.atMost(a, t) })
	case *notExpr:
		if x, ok := a.(*notExpr); ok && im.atMost(b.x, x.x) {
			return true
		}
	}
	if a, ok := a.(*orExpr); ok {
		return im.every(a.terms, func(t expr) bool { return im.atMost(t, b) })
	}
	if a, ok := a.(*andExpr); ok && im.some(a.terms, func(t expr) bool { return im.atMost(t, b) }) {
		return true
	}
	if b, ok := b.(*orExpr); ok && im.some(b.terms, func(t expr) bool { return im.atMost(a, t) }) {
		return true
	}
	return im.leafAtMost(a, b)
}

func (im *implication) every(xs []expr, f func(expr) bool) bool {
	for _, x := range xs {
		if !f(x) {
			return false
		}
	}
	return true
}

func (im *implication) some(xs []expr, f func(expr) bool) bool {
	for _, x := range xs {
		if f(x) {
			return true
		}
	}
	return false
}

func (im *implication) leafAtMost(a, b expr) bool {
	switch a := a.(type) {
	case *quantExpr:
		b, ok := b.(*quantExpr)
		if !ok || a.field.ID != b.field.ID || a.no != b.no {
			return false
		}
		if a.no {
			a, b = b, a
		}
		// Elements of self are admitted in the one that asks for self; the other must not need that.
		return (a.self == "" || a.self == b.self) && im.atMost(a.where, b.where)
	case *testExpr:
		b, ok := b.(*testExpr)
		if !ok || a.field.ID != b.field.ID {
			return false
		}
		switch {
		case !a.neg && !b.neg:
			return testAtMost(a, b)
		case a.neg && b.neg:
			return testAtMost(b, a)
		case !a.neg && b.neg && b.op == OpEmpty:
			return a.op != OpEmpty && a.field.ID != MBy
		}
	}
	return false
}

// testAtMost: whatever value satisfies a satisfies b.
func testAtMost(a, b *testExpr) bool {
	if a.op == OpEmpty || b.op == OpEmpty {
		return a.op == b.op
	}
	for i := range a.vals {
		if !anyOperand(b.vals, func(o *operand) bool { return operandAtMost(a.field.Type, a.op, &a.vals[i], b.op, o) }) {
			return false
		}
	}
	return true
}

func anyOperand(os []operand, f func(*operand) bool) bool {
	for i := range os {
		if f(&os[i]) {
			return true
		}
	}
	return false
}

func operandAtMost(t Type, op Op, o *operand, wider Op, w *operand) bool {
	switch {
	case o.field != w.field || o.now != w.now:
		return false
	case o.field != 0:
		return op == wider || strict(op) && loose(op) == wider
	case o.now:
		return orderAtMost(op, wider, int64(o.offset), int64(w.offset), t != TypeInstant)
	case o.lit.Type != w.lit.Type:
		return false
	}
	return literalAtMost(t, op, &o.lit, wider, &w.lit)
}

func literalAtMost(t Type, op Op, v *Value, wider Op, w *Value) bool {
	switch v.Type {
	case TypeInstant, TypeDate:
		return orderAtMost(op, wider, momentOf(v), momentOf(w), v.Type == TypeInstant && t != TypeInstant)
	case TypeNumber:
		return orderAtMost(op, wider, v.Num, w.Num, false)
	case TypeName, TypeRef, TypeText, TypeWord:
		return stringAtMost(op, v, wider, w)
	}
	return op == OpIn && wider == OpIn && sameLiteral(v, w)
}

// stringAtMost uses that a longer prefix is the narrower one, and that what is equal or starts also contains.
func stringAtMost(op Op, v *Value, wider Op, w *Value) bool {
	switch {
	case op == wider && op == OpIn:
		return matches(OpIn, v, w)
	case op == OpIn:
		return matches(wider, v, w)
	case op == OpStartsWith && wider == OpStartsWith:
		return matches(OpStartsWith, v, w)
	case (op == OpStartsWith || op == OpContains) && wider == OpContains:
		return matches(OpContains, v, w)
	}
	return false
}

func sameLiteral(v, w *Value) bool {
	a, b := keyer{fold: true}, keyer{fold: true}
	a.value(v)
	b.value(w)
	return string(a.b) == string(b.b)
}

// orderAtMost: x op v implies x wider w. Where the comparison may be by day although v and w are instants, two of them may
// be the same day: coarse then takes no step that needs v and w to differ.
func orderAtMost[T int64 | float64](op, wider Op, v, w T, coarse bool) bool {
	below, above := v < w && !coarse, v > w && !coarse
	switch op {
	case OpIn:
		return wider == OpIn && v == w || wider == OpLe && v <= w || wider == OpGe && v >= w ||
			wider == OpLt && below || wider == OpGt && above
	case OpLt:
		return (wider == OpLt || wider == OpLe) && v <= w
	case OpLe:
		return wider == OpLe && v <= w || wider == OpLt && below
	case OpGt:
		return (wider == OpGt || wider == OpGe) && v >= w
	case OpGe:
		return wider == OpGe && v >= w || wider == OpGt && above
	}
	return false
}

func strict(op Op) bool { return op == OpLt || op == OpGt }

func loose(op Op) Op {
	switch op {
	case OpLt:
		return OpLe
	case OpGt:
		return OpGe
	}
	return op
}
