package query

import "fmt"

// Shape describes the tree of q without places, so that tests can compare trees.
func Shape(q *Query) string { return shape(q.root) }

func shape(s syntax) string {
	switch n := s.(type) {
	case *andNode:
		return fmt.Sprint("and", shapes(n.terms))
	case *orNode:
		return fmt.Sprint("or", shapes(n.terms))
	case *notNode:
		return fmt.Sprint("not[", shape(n.x), "]")
	case *quantNode:
		return fmt.Sprintf("quant[%t %s %s]", n.no, n.name, shape(n.where))
	case *testNode:
		vals := ""
		for _, v := range n.vals {
			vals += fmt.Sprintf(" %d:%q:%v:%v:%v:%v", v.kind, v.text, v.num, v.yes, v.time.UnixMilli(), v.offset)
		}
		return fmt.Sprintf("test[%s %d%s]", n.name, n.op, vals)
	}
	return "hole"
}

func shapes(ss []syntax) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = shape(s)
	}
	return out
}

// Judge binds q without refusing what is judged, and says what the judgement was: -1 for never true, 1 for never false.
func Judge(q *Query, k Kind, c *Catalogue, env Env) (*Bound, int) {
	b := &binder{report: &report{}, kind: k, cat: c, env: env, own: map[*testExpr]bool{}}
	root := b.expr(q.root, nil)
	if root == nil {
		return nil, 0
	}
	return &Bound{query: q, kind: k, cat: c, root: root, fields: b.fields}, int((&judgement{report: &report{}}).of(root))
}

// Outline describes the bound tree of b.
func Outline(b *Bound) string { return outline(b.root) }

func outline(e expr) string {
	switch x := e.(type) {
	case *andExpr:
		return fmt.Sprint("and", outlines(x.terms))
	case *orExpr:
		return fmt.Sprint("or", outlines(x.terms))
	case *notExpr:
		return "not[" + outline(x.x) + "]"
	case *quantExpr:
		s := fmt.Sprintf("%s%s[%s]", quantifier(x.no), x.field.Name, outline(x.where))
		if x.self != "" {
			s += " of " + x.self
		}
		return s
	case *testExpr:
		vals := ""
		for _, o := range x.vals {
			vals += " " + described(o)
		}
		neg := ""
		if x.neg {
			neg = "not "
		}
		return fmt.Sprintf("%s%s %s%s", neg, x.field.Name, opName(x.op), vals)
	}
	return "?"
}

func described(o operand) string {
	switch {
	case o.now && o.offset < 0:
		return "now - " + (-o.offset).String()
	case o.now:
		return "now + " + o.offset.String()
	case o.field != 0:
		return fmt.Sprintf("field %d", o.field)
	}
	switch v := o.lit; v.Type {
	case TypeBool:
		return fmt.Sprint(v.Bool)
	case TypeWord:
		return v.Str
	case TypeNumber:
		return fmt.Sprint(v.Num)
	case TypeUser:
		if v.User.ID != "" {
			return fmt.Sprintf("%q", "id:"+v.User.ID)
		}
		return fmt.Sprintf("%q", v.User.Login)
	case TypeInstant, TypeDate:
		return v.Time.Format("2006-01-02T15:04:05.999Z07:00")
	}
	return fmt.Sprintf("%q", o.lit.Str)
}

func outlines(es []expr) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = outline(e)
	}
	return out
}

// Rendered is the canonical text that the root of b carries.
func Rendered(b *Bound) string { return render(b.root) }
