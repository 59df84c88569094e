package query

import "time"

// Query is a parsed source query of one version. It is immutable; String is its canonical text, and parsing that gives
// the query again.
type Query struct {
	version string
	root    syntax
	src     string
	diags   Diagnostics
}

// Bound is a query whose every name, type and value was checked against a catalogue, a kind and an environment. It is
// immutable, and the only thing that is evaluated.
type Bound struct {
	query  *Query
	kind   Kind
	cat    *Catalogue
	root   expr
	fields FieldSet
}

// Env is what binding needs to know of the harness besides its catalogue.
type Env struct {
	Self string // stable id of the account that self stands for; "" refuses self
}

// expr is the bound tree. Element fields appear as quantifiers only: `label = "x"` is any label(name = "x"),
// `label != "x"` is no label(name = "x"), `label is empty` is no label(true), `title contains "x"` is
// any title(text contains "x").
type expr interface{ bound() }

type (
	andExpr   struct{ terms []expr } // empty is true
	orExpr    struct{ terms []expr } // empty is false
	notExpr   struct{ x expr }
	quantExpr struct {
		no    bool
		field *Field
		where expr   // over members
		self  string // id of self when `by = self` is a conjunct of where, else ""
		text  string // canonical text, for traces and support
		span  Span
	}
	testExpr struct {
		field *Field // a field, or a member inside a quantifier
		op    Op
		neg   bool // the exact complement: !=, not in, not contains, is not empty
		vals  []operand
		text  string
		span  Span
	}
)

func (*andExpr) bound()   {}
func (*orExpr) bound()    {}
func (*notExpr) bound()   {}
func (*quantExpr) bound() {}
func (*testExpr) bound()  {}

// Op is the operator of a bound test; negated spellings are the complement of one of these.
type Op uint8

// The operators. OpIn serves = and in, and the bare boolean.
const (
	OpIn Op = iota
	OpLt
	OpLe
	OpGt
	OpGe
	OpContains
	OpStartsWith
	OpEmpty
)

// operand is a literal, now±offset, or a time field of the entity.
type operand struct {
	lit    Value
	now    bool
	offset time.Duration
	field  FieldID // 0: none
	at     Span    // where it is written
}
