package query

import (
	"strconv"
	"strings"
	"time"
)

// syntax is the tree that parsing gives: names are not looked up, values have no field's type yet. Nested and (or) nodes
// of the same kind are flattened, parentheses are gone, and a bare operand is a comparison with true.
type syntax interface{ span() Span }

type (
	andNode struct {
		terms []syntax
		at    Span
	}
	orNode struct {
		terms []syntax
		at    Span
	}
	notNode struct {
		x  syntax
		at Span
	}
	quantNode struct {
		no    bool
		name  name
		where syntax
		at    Span
	}
	testNode struct {
		name name
		op   syntaxOp
		bare bool // written without an operator; for messages only
		vals []value
		opAt Span
		at   Span
	}
	// holeNode stands for what could not be parsed and was reported.
	holeNode struct{ at Span }
)

func (n *andNode) span() Span   { return n.at }
func (n *orNode) span() Span    { return n.at }
func (n *notNode) span() Span   { return n.at }
func (n *quantNode) span() Span { return n.at }
func (n *testNode) span() Span  { return n.at }
func (n *holeNode) span() Span  { return n.at }

// name is a field or member as written, in lower case, or cf[n].
type name struct {
	text   string
	custom bool
	n      uint32
	at     Span
}

func (n name) String() string {
	if n.custom {
		return "cf[" + strconv.FormatUint(uint64(n.n), 10) + "]"
	}
	return n.text
}

// syntaxOp is an operator as written, negation included.
type syntaxOp uint8

const (
	opEq syntaxOp = iota
	opNe
	opLt
	opLe
	opGt
	opGe
	opIn
	opNotIn
	opEmpty
	opNotEmpty
	opContains
	opNotContains
	opStarts
	opNotStarts
)

var syntaxOps = [...]struct {
	text string
	op   Op
	neg  bool
}{
	opEq: {"=", OpIn, false}, opNe: {"!=", OpIn, true},
	opLt: {"<", OpLt, false}, opLe: {"<=", OpLe, false}, opGt: {">", OpGt, false}, opGe: {">=", OpGe, false},
	opIn: {"in", OpIn, false}, opNotIn: {"not in", OpIn, true},
	opEmpty: {"is empty", OpEmpty, false}, opNotEmpty: {"is not empty", OpEmpty, true},
	opContains: {"contains", OpContains, false}, opNotContains: {"not contains", OpContains, true},
	opStarts: {"starts with", OpStartsWith, false}, opNotStarts: {"not starts with", OpStartsWith, true},
}

func (o syntaxOp) String() string { return syntaxOps[o].text }

// listed reports whether o takes a list in parentheses.
func (o syntaxOp) listed() bool { return o == opIn || o == opNotIn }

// valueKind is what a value is by its spelling alone.
type valueKind uint8

const (
	valString valueKind = iota
	valNumber
	valBool
	valWord // a fixed word or a field
	valInstant
	valDate
	valNow
	valSelf
	valHole // malformed and reported
)

type value struct {
	kind   valueKind
	text   string // decoded string; lower-cased word; canonical text of everything else
	num    float64
	yes    bool
	time   time.Time
	offset time.Duration
	at     Span
}

func (v value) String() string {
	if v.kind == valString {
		return quote(v.text)
	}
	return v.text
}

// printer writes canonical text.
type printer struct{ strings.Builder }

func (p *printer) node(s syntax) {
	switch n := s.(type) {
	case *andNode:
		p.join(n.terms, " and ")
	case *orNode:
		p.join(n.terms, " or ")
	case *notNode:
		p.WriteString("not ")
		p.operand(n.x)
	case *quantNode:
		p.WriteString(quantifier(n.no))
		p.WriteString(n.name.String())
		p.WriteByte('(')
		p.node(n.where)
		p.WriteByte(')')
	case *testNode:
		p.test(n.name.String(), n.op, n.vals)
	}
}

func (p *printer) join(terms []syntax, with string) {
	for i, t := range terms {
		if i > 0 {
			p.WriteString(with)
		}
		p.operand(t)
	}
}

// operand writes s so that it stands as one term.
func (p *printer) operand(s syntax) {
	switch s.(type) {
	case *andNode, *orNode:
		p.WriteByte('(')
		p.node(s)
		p.WriteByte(')')
	default:
		p.node(s)
	}
}

func (p *printer) test(field string, op syntaxOp, vals []value) {
	p.WriteString(field)
	p.WriteByte(' ')
	p.WriteString(op.String())
	if len(vals) == 0 {
		return
	}
	p.WriteByte(' ')
	if op.listed() {
		p.WriteByte('(')
	}
	for i, v := range vals {
		if i > 0 {
			p.WriteString(", ")
		}
		p.WriteString(v.String())
	}
	if op.listed() {
		p.WriteByte(')')
	}
}

func quantifier(no bool) string {
	if no {
		return "no "
	}
	return "any "
}

// String is the canonical text of a query that parsed without an error: lower case, double quotes, no needless
// parentheses. Of any other query it is the text as given.
func (q *Query) String() string {
	if q.diags.Failed() || q.root == nil {
		return q.src
	}
	return q.canonical()
}

func (q *Query) canonical() string {
	var p printer
	p.WriteString(q.version)
	p.WriteString(": ")
	p.node(q.root)
	return p.String()
}

// Version is the tag that the query begins with, "v1". It is empty when the query has none or one that is not known.
func (q *Query) Version() string { return q.version }
