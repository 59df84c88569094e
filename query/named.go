package query

// Named is a literal that names something at the provider: a label, a milestone, a branch, an account.
type Named struct {
	Field  FieldID
	Member FieldID // inside a quantifier; a label's name is MName, also outside
	Op     Op      // OpIn or OpStartsWith
	Value  Value
	Span   Span // of the literal in the query's text
}

// Named lists the names in the query, in the order of its text. What self stands for is not among them.
func (b *Bound) Named() []Named { return namedIn(nil, b.root, 0) }

func namedIn(out []Named, x expr, collection FieldID) []Named {
	switch x := x.(type) {
	case *andExpr:
		return namedInAll(out, x.terms, collection)
	case *orExpr:
		return namedInAll(out, x.terms, collection)
	case *notExpr:
		return namedIn(out, x.x, collection)
	case *quantExpr:
		return namedIn(out, x.where, x.field.ID)
	case *testExpr:
		return namedInTest(out, x, collection)
	}
	return out
}

func namedInAll(out []Named, xs []expr, collection FieldID) []Named {
	for _, x := range xs {
		out = namedIn(out, x, collection)
	}
	return out
}

func namedInTest(out []Named, t *testExpr, collection FieldID) []Named {
	if t.op != OpIn && t.op != OpStartsWith {
		return out
	}
	n := Named{Field: t.field.ID, Op: t.op}
	if collection != 0 {
		n.Field, n.Member = collection, t.field.ID
	}
	for i := range t.vals {
		o := &t.vals[i]
		switch o.lit.Type {
		case TypeName, TypeRef, TypeUser:
			if o.lit.Type == TypeUser && o.lit.User.Login == "" {
				continue // a stable id is not a name
			}
			n.Value, n.Span = o.lit, o.at
			out = append(out, n)
		}
	}
	return out
}
