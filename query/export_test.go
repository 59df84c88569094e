package query

import "time"

// Expr lets the tests build bound trees that no query text gives, such as empty conjunctions and unnormalised negations.
type Expr = expr

func AndOf(xs ...Expr) Expr { return &andExpr{terms: xs} }
func OrOf(xs ...Expr) Expr  { return &orExpr{terms: xs} }
func NotOf(x Expr) Expr     { return &notExpr{x: x} }

func Quant(no bool, f *Field, where Expr, self string) Expr {
	return &quantExpr{no: no, field: f, where: where, self: self, text: quantifier(no) + f.Name + "(" + render(where) + ")"}
}

func Cond(f *Field, op Op, neg bool, vals ...Operand) Expr {
	texts := make([]string, len(vals))
	for i, v := range vals {
		texts[i] = v.key()
		if !v.now && v.field == 0 {
			texts[i] = valueText(&v.lit)
		}
	}
	return &testExpr{field: f, op: op, neg: neg, vals: vals, text: testText(f.Name, op, neg, texts)}
}

type Operand = operand

func Lit(v Value) Operand              { return operand{lit: v} }
func NowPlus(d time.Duration) Operand  { return operand{now: true, offset: d} }
func FieldOperand(id FieldID) Operand  { return operand{field: id} }
func BoundOf(k Kind, root Expr) *Bound { return &Bound{kind: k, root: root} }
