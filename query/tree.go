package query

import "time"

// NodeOp says what a Node is.
type NodeOp uint8

// The nodes of a query's tree.
const (
	NodeAnd NodeOp = iota
	NodeOr
	NodeNot
	NodeAtom
)

// Node is a query's tree down to its atoms, for engines that evaluate many queries over one entity and each atom once.
// Composing atom results gives what Eval gives: verdicts by Kleene's and, or, not; Needs as the union over the unknown
// terms of an unknown node; Until as the minimum and RestsOn as the union over all atoms of the tree. An and without
// terms is True, an or without terms False.
type Node struct {
	Op    NodeOp
	Terms []Node // one for NodeNot
	Atom  *Atom  // NodeAtom
}

// Atom is one test on a plain fact, or one quantifier, in its positive form: the complements != and no are a NodeNot
// over it. It is immutable.
type Atom struct {
	x     expr
	key   string
	field FieldID
	leaf  Leaf
	plain bool
	timed bool
}

// Tree returns the query's tree. It is built anew by every call and belongs to the caller.
func (b *Bound) Tree() Node { return nodeOf(b.root) }

func nodeOf(x expr) Node {
	switch x := x.(type) {
	case *andExpr:
		return Node{Op: NodeAnd, Terms: nodesOf(x.terms)}
	case *orExpr:
		return Node{Op: NodeOr, Terms: nodesOf(x.terms)}
	case *notExpr:
		return negated(nodeOf(x.x))
	case *quantExpr:
		if x.no {
			some := *x
			some.no = false
			return negated(atomOf(&some, x.field.ID))
		}
		return atomOf(x, x.field.ID)
	case *testExpr:
		if x.neg {
			positive := *x
			positive.neg = false
			return negated(atomOf(&positive, x.field.ID))
		}
		return atomOf(x, x.field.ID)
	}
	panic("query: unbound expression")
}

func nodesOf(xs []expr) []Node {
	ns := make([]Node, len(xs))
	for i, x := range xs {
		ns[i] = nodeOf(x)
	}
	return ns
}

func negated(n Node) Node {
	if n.Op == NodeNot {
		return n.Terms[0]
	}
	return Node{Op: NodeNot, Terms: []Node{n}}
}

func atomOf(x expr, field FieldID) Node {
	a := &Atom{x: x, key: exprKey(x), field: field, timed: mentionsNow(x)}
	a.leaf, a.plain = leafOf(x)
	return Node{Op: NodeAtom, Atom: a}
}

// Key is equal for atoms with equal results on every entity. It is not for people and not to be stored.
func (a *Atom) Key() string { return a.key }

// Field is the field that the atom tests.
func (a *Atom) Field() FieldID { return a.field }

// Timed reports whether time alone can change the atom's result.
func (a *Atom) Timed() bool { return a.timed }

// Leaf returns the atom as one equality with literals, or as "has any element", where it is nothing more: its verdict
// on complete facts that are all admitted is then Leaf.Truth.
func (a *Atom) Leaf() (Leaf, bool) { return a.leaf, a.plain }

// Eval evaluates the atom alone, as Bound.Eval does a query.
func (a *Atom) Eval(f *Facts, v View, now time.Time) Result { return evalExpr(a.x, f, v, now) }

func leafOf(x expr) (Leaf, bool) {
	switch x := x.(type) {
	case *testExpr:
		return equality(nil, x)
	case *quantExpr:
		switch where := x.where.(type) {
		case *testExpr:
			if where.neg || x.self != "" {
				return Leaf{}, false
			}
			return equality(x.field, where)
		case *andExpr:
			if len(where.terms) == 0 {
				return anyElement(x.field), true
			}
		}
	}
	return Leaf{}, false
}

// equality is the positive leaf of a test that compares with literals alone.
func equality(within *Field, t *testExpr) (Leaf, bool) {
	if t.op != OpIn || len(t.vals) == 0 {
		return Leaf{}, false
	}
	l := Leaf{Field: t.field.ID, Op: OpIn, Positive: true}
	name, member := t.field.Name, ""
	if within != nil {
		l.Field, l.Member = within.ID, t.field.ID
		name, member = within.Name, t.field.Name
	}
	for i := range t.vals {
		if t.vals[i].now || t.vals[i].field != 0 {
			return Leaf{}, false
		}
		l.Values = append(l.Values, t.vals[i].lit)
	}
	l.Text = leafText(l, name, member)
	return l, true
}

func anyElement(f *Field) Leaf {
	l := Leaf{Field: f.ID, Positive: true}
	l.Text = leafText(l, f.Name, "")
	return l
}

func mentionsNow(x expr) bool {
	switch x := x.(type) {
	case *andExpr:
		return anyMentionsNow(x.terms)
	case *orExpr:
		return anyMentionsNow(x.terms)
	case *notExpr:
		return mentionsNow(x.x)
	case *quantExpr:
		return mentionsNow(x.where)
	case *testExpr:
		for i := range x.vals {
			if x.vals[i].now {
				return true
			}
		}
	}
	return false
}

func anyMentionsNow(xs []expr) bool {
	for _, x := range xs {
		if mentionsNow(x) {
			return true
		}
	}
	return false
}
