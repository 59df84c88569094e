package query

import (
	"fmt"
	"slices"
	"strings"
)

// Bind checks every name, type and value of q against what entities of kind k have in c, and what env says of the
// harness. The diagnostics are all there are of q, those of Parse included, in order of position; Bound is nil exactly
// when one of them is an error. A query with holes is bound as far as it goes.
func (q *Query) Bind(k Kind, c *Catalogue, env Env) (*Bound, Diagnostics) {
	b := &binder{report: &report{ds: slices.Clone(q.diags)}, kind: k, cat: c, env: env, own: map[*testExpr]bool{}}
	if q.root == nil {
		b.add(codeNoCondition, Span{}, "the query has no condition", "")
		return nil, b.sorted()
	}
	root := b.expr(q.root, nil)
	if !b.ds.Failed() {
		judge(root, q.root.span(), b.report)
		b.warnOfEmpty()
	}
	ds := b.sorted()
	if ds.Failed() {
		return nil, ds
	}
	return &Bound{query: q, kind: k, cat: c, root: root, fields: b.fields}, ds
}

// Fields is what a verdict of b can depend on: fields of the entity, those that stand as values included.
func (b *Bound) Fields() FieldSet { return b.fields }

// Kind is the kind of entity that b speaks of.
func (b *Bound) Kind() Kind { return b.kind }

// Query is the query that was bound.
func (b *Bound) Query() *Query { return b.query }

// Catalogue is what the query was bound against.
func (b *Bound) Catalogue() *Catalogue { return b.cat }

type binder struct {
	*report
	kind        Kind
	cat         *Catalogue
	env         Env
	fields      FieldSet
	own         map[*testExpr]bool // tests that are `by = self`
	complements []complement
	asked       FieldSet // fields whose emptiness the query asks for
}

type complement struct {
	field *Field
	at    Span
	text  string
}

// expr binds s; in is the element field whose quantifier s stands in, or nil. It gives nil where something is wrong,
// which was reported.
func (b *binder) expr(s syntax, in *Field) expr {
	switch n := s.(type) {
	case *andNode:
		if terms := b.exprs(n.terms, in); terms != nil {
			return &andExpr{terms: terms}
		}
	case *orNode:
		if terms := b.exprs(n.terms, in); terms != nil {
			return &orExpr{terms: terms}
		}
	case *notNode:
		if x := b.expr(n.x, in); x != nil {
			return &notExpr{x: x}
		}
	case *quantNode:
		return b.quant(n, in)
	case *testNode:
		return b.test(n, in)
	}
	return nil
}

func (b *binder) exprs(ss []syntax, in *Field) []expr {
	out, whole := make([]expr, 0, len(ss)), true
	for _, s := range ss {
		x := b.expr(s, in)
		whole = whole && x != nil
		out = append(out, x)
	}
	if !whole {
		return nil
	}
	return out
}

func (b *binder) quant(n *quantNode, in *Field) expr {
	if in != nil {
		return nil // nesting was reported by the parser
	}
	f := b.lookup(n.name)
	if f == nil {
		return nil
	}
	switch {
	case len(f.Only) > 0:
		b.onlySome(f, n.name.at)
		return nil
	case f.Type != TypeElements || f.Empty == NotTestable:
		b.add(codeNoMembers, n.name.at, fmt.Sprintf("%s has no members", f.Name), "write "+exampleTest(f))
		return nil
	}
	where := b.expr(n.where, f)
	if where == nil {
		return nil
	}
	b.fields.Add(f.ID)
	return &quantExpr{no: n.no, field: f, where: where, self: b.ownElements(where),
		text: quantifier(n.no) + f.Name + "(" + render(where) + ")", span: n.at}
}

// ownElements gives the id of self when `by = self` is a conjunct of where.
func (b *binder) ownElements(where expr) string {
	switch x := where.(type) {
	case *testExpr:
		if b.own[x] {
			return b.env.Self
		}
	case *andExpr:
		for _, t := range x.terms {
			if t, ok := t.(*testExpr); ok && b.own[t] {
				return b.env.Self
			}
		}
	}
	return ""
}

func (b *binder) onlySome(f *Field, at Span) {
	var ops []string
	for _, o := range f.Only {
		if o == OpEmpty {
			ops = append(ops, f.Name+" is empty", f.Name+" is not empty")
			continue
		}
		ops = append(ops, f.Name+" "+opName(o))
	}
	b.add(codeProviderOp, at, fmt.Sprintf("%s answers only some tests of %s", b.cat.provider, f.Name), "write "+list(ops, "or"))
}

func (b *binder) test(n *testNode, in *Field) expr {
	if in != nil {
		m := b.lookupMember(n.name, in)
		if m == nil {
			return nil
		}
		if t := b.plain(n, m, m.Name); t != nil {
			return t
		}
		return nil
	}
	f := b.lookup(n.name)
	if f == nil {
		return nil
	}
	if f.Type == TypeElements {
		return b.element(n, f)
	}
	t := b.plain(n, f, f.Name)
	if t == nil {
		return nil
	}
	b.fields.Add(f.ID)
	b.note(f, t.op, t.neg, n.at, t.text)
	return t
}

// note remembers what warnings need.
func (b *binder) note(f *Field, op Op, neg bool, at Span, text string) {
	switch {
	case op == OpEmpty:
		b.asked.Add(f.ID)
	case neg && f.Empty == MayBeEmpty:
		b.complements = append(b.complements, complement{f, at, text})
	}
}

// warnOfEmpty tells those who know JQL that a negated test is true of an empty field.
func (b *binder) warnOfEmpty() {
	if b.cat.provider != Jira {
		return
	}
	for _, n := range b.complements {
		if !b.asked.Has(n.field.ID) {
			b.add(codeEmptyIsAValue, n.at, fmt.Sprintf("%s is true where %s is empty, unlike in JQL", n.text, n.field.Name),
				fmt.Sprintf("add %[1]s is not empty, or %[1]s is empty, to say which you mean", n.field.Name))
		}
	}
}

// element binds a test of a field whose values are elements: it is a quantifier over its one natural member.
func (b *binder) element(n *testNode, f *Field) expr {
	op, neg := syntaxOps[n.op].op, syntaxOps[n.op].neg
	if len(f.Only) > 0 && !slices.Contains(f.Only, op) {
		b.onlySome(f, n.at)
		return nil
	}
	q := &quantExpr{no: neg, field: f, span: n.at}
	switch {
	case op == OpEmpty && f.Empty == NotTestable:
		b.add(codeNotAskable, n.opAt, fmt.Sprintf("whether %s is empty cannot be asked: it is empty for everyone whose text was not admitted", f.Name), "write "+exampleTest(f))
		return nil
	case op == OpEmpty:
		q.no, q.where = !neg, &andExpr{}
		q.text = f.Name + " " + n.op.String()
	default:
		m, ok := naturalMember(f)
		if !ok {
			b.add(codeNeedsMembers, n.at, fmt.Sprintf("%s is tested by its members: %s", f.Name, list(memberNames(f), "and")), "write "+exampleTest(f))
			return nil
		}
		inner := *n
		inner.op = positive(n.op)
		t := b.plain(&inner, m, f.Name)
		if t == nil {
			return nil
		}
		q.where = t
		q.text = f.Name + " " + n.op.String() + strings.TrimPrefix(t.text, m.Name+" "+inner.op.String())
	}
	b.fields.Add(f.ID)
	b.note(f, op, neg, n.at, q.text)
	return q
}

// naturalMember is the member that a test without parentheses speaks of.
func naturalMember(f *Field) (*Field, bool) {
	for _, m := range f.Members {
		if m.ID == MName || m.ID == MText && f.Empty == NotTestable {
			return m, true
		}
	}
	return nil, false
}

// positive is o without its negation.
func positive(o syntaxOp) syntaxOp {
	switch o {
	case opNe:
		return opEq
	case opNotIn:
		return opIn
	case opNotContains:
		return opContains
	case opNotStarts:
		return opStarts
	}
	return o
}

// plain binds a test of a plain field or member. shown is what messages call it: a label's name is just label.
func (b *binder) plain(n *testNode, f *Field, shown string) *testExpr {
	op, neg := syntaxOps[n.op].op, syntaxOps[n.op].neg
	if n.bare && f.Type != TypeBool {
		b.add(codeBare, n.at, fmt.Sprintf("%s is not true or false and cannot stand alone", shown), "write "+exampleFor(f, shown))
		return nil
	}
	if !b.operatorFits(n, f, shown, op) {
		return nil
	}
	t := &testExpr{field: f, op: op, neg: neg, span: n.at}
	ok := true
	texts := make([]string, len(n.vals))
	for i, v := range n.vals {
		o, text, fine := b.value(v, f, shown, n.op)
		o.at = v.at
		ok = ok && fine
		texts[i] = text
		t.vals = append(t.vals, o)
	}
	if !ok || f.Type == TypeCustom && !b.customFits(n, t.vals) {
		return nil
	}
	t.text = f.Name + " " + n.op.String() + valuesText(n.op, texts)
	b.repeated(n, t.vals, texts)
	b.own[t] = f.ID == MBy && op == OpIn && !neg && len(n.vals) == 1 && n.vals[0].kind == valSelf
	return t
}

func valuesText(op syntaxOp, texts []string) string {
	switch {
	case len(texts) == 0:
		return ""
	case op.listed():
		return " (" + strings.Join(texts, ", ") + ")"
	}
	return " " + texts[0]
}

// repeated warns of values that a list holds twice.
func (b *binder) repeated(n *testNode, vals []operand, texts []string) {
	seen := map[string]bool{}
	for i, v := range vals {
		k := v.key()
		if seen[k] {
			b.add(codeRepeatedValue, n.vals[i].at, fmt.Sprintf("%s is repeated", texts[i]), "remove it")
		}
		seen[k] = true
	}
}

// fitting lists the operators of each type.
var fitting = map[Type][]Op{
	TypeBool: {OpIn}, TypeWord: {OpIn}, TypeUser: {OpIn},
	TypeName: {OpIn, OpStartsWith}, TypeRef: {OpIn, OpStartsWith},
	TypeText:    {OpContains, OpStartsWith},
	TypeInstant: {OpLt, OpLe, OpGt, OpGe},
	TypeDate:    {OpIn, OpLt, OpLe, OpGt, OpGe},
	TypeNumber:  {OpIn, OpLt, OpLe, OpGt, OpGe},
}

func (b *binder) operatorFits(n *testNode, f *Field, shown string, op Op) bool {
	switch {
	case op == OpEmpty && f.Empty == NeverEmpty:
		b.add(codeNeverEmpty, n.opAt, fmt.Sprintf("%s is never empty", shown), "remove the test")
	case op == OpEmpty && f.Empty == NotTestable:
		b.add(codeNotAskable, n.opAt, fmt.Sprintf("whether %s is empty cannot be asked", shown), "write "+exampleFor(f, shown))
	case op == OpEmpty || f.Type == TypeCustom:
		return true
	case !slices.Contains(fitting[f.Type], op):
		b.add(codeOperator, n.opAt, fmt.Sprintf("%s does not fit %s, which is %s", n.op, shown, typeName(f.Type)), operatorAdvice(f, shown, op))
	default:
		return true
	}
	return false
}

func operatorAdvice(f *Field, shown string, op Op) string {
	switch {
	case f.Type == TypeInstant && op == OpIn:
		return fmt.Sprintf("an instant is hardly ever equal: write %[1]s >= … and %[1]s < …", shown)
	case f.Type == TypeName || f.Type == TypeRef:
		return fmt.Sprintf(`it is compared as a whole: write %[1]s = "…" or %[1]s starts with "…"`, shown)
	case f.Type == TypeText:
		return fmt.Sprintf(`write %s contains "…"`, shown)
	}
	return "write " + exampleFor(f, shown)
}

// customFits checks a custom field's test by the type of its values: the literal decides.
func (b *binder) customFits(n *testNode, vals []operand) bool {
	op := syntaxOps[n.op].op
	for i, v := range vals {
		if v.kindOf() != vals[0].kindOf() {
			b.add(codeMixedList, n.vals[i].at, fmt.Sprintf("the list mixes %s and %s", typeName(vals[0].kindOf()), typeName(v.kindOf())), "write values of one type")
			return false
		}
	}
	if len(vals) == 0 {
		return true
	}
	t := vals[0].kindOf()
	if slices.Contains(fitting[t], op) || t == TypeName && op == OpContains {
		return true
	}
	b.add(codeOperator, n.opAt, fmt.Sprintf("%s does not fit %s", n.op, typeName(t)), "write one of "+list(opNames(fitting[t]), "or"))
	return false
}

// kindOf is the type of an operand; now and the fields that may stand as values are instants.
func (o operand) kindOf() Type {
	if o.now || o.field != 0 {
		return TypeInstant
	}
	if o.lit.Type == TypeText {
		return TypeName // one kind of string literal
	}
	return o.lit.Type
}

// render is the canonical text of a bound tree.
func render(e expr) string {
	switch x := e.(type) {
	case *andExpr:
		return renderAll(x.terms, " and ")
	case *orExpr:
		return renderAll(x.terms, " or ")
	case *notExpr:
		return "not " + renderTerm(x.x)
	case *quantExpr:
		return x.text
	case *testExpr:
		return x.text
	}
	return ""
}

func renderAll(es []expr, with string) string {
	texts := make([]string, len(es))
	for i, e := range es {
		texts[i] = renderTerm(e)
	}
	return strings.Join(texts, with)
}

func renderTerm(e expr) string {
	switch e.(type) {
	case *andExpr, *orExpr:
		return "(" + render(e) + ")"
	}
	return render(e)
}
