package query_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// shape is a field as the generator of bound trees sees it.
func shape(id query.FieldID, name string, t query.Type, members ...*query.Field) *query.Field {
	return &query.Field{ID: id, Name: name, Type: t, Many: querytest.Several(id), Members: members}
}

var (
	memberBy = shape(query.MBy, "by", query.TypeUser)
	memberAt = shape(query.MAt, "at", query.TypeInstant)

	plainShapes = []*query.Field{
		shape(query.FState, "state", query.TypeWord), shape(query.FDraft, "draft", query.TypeBool),
		shape(query.FAuthor, "author", query.TypeUser), shape(query.FAssignee, "assignee", query.TypeUser),
		shape(query.FMilestone, "milestone", query.TypeName), shape(query.FComponent, "component", query.TypeName),
		shape(query.FUpdated, "updated", query.TypeInstant), shape(query.FClosed, "closed", query.TypeInstant),
		shape(query.FDue, "due", query.TypeDate), shape(query.FBase, "base", query.TypeRef),
		shape(query.FChecks, "checks", query.TypeWord),
	}
	timeShapes = []*query.Field{
		shape(query.FUpdated, "updated", query.TypeInstant), shape(query.FDue, "due", query.TypeDate),
		shape(query.CustomField(10021), "cf[10021]", query.TypeCustom),
	}
	collectionShapes = []*query.Field{
		shape(query.FTitle, "title", query.TypeElements, shape(query.MText, "text", query.TypeText)),
		shape(query.FLabel, "label", query.TypeElements, shape(query.MName, "name", query.TypeName), memberBy, memberAt),
		shape(query.FComment, "comment", query.TypeElements, shape(query.MText, "text", query.TypeText),
			shape(query.MCommand, "command", query.TypeName), memberBy, memberAt),
		shape(query.FReview, "review", query.TypeElements, shape(query.MState, "state", query.TypeWord),
			shape(query.MOnHead, "on_head", query.TypeBool), memberBy, memberAt),
	}
	wordsOf = map[string][]string{
		"state": {"open", "closed", "approved", "commented"}, "checks": {"success", "failure", "pending"},
	}
)

// drawBound draws a bound tree, or a text of one of the providers.
func drawBound(t *rapid.T) *query.Bound {
	if rapid.Bool().Draw(t, "from text") {
		return drawBoundText(t)
	}
	return drawBoundTree(t)
}

func drawBoundText(t *rapid.T) *query.Bound {
	kind := rapid.SampledFrom([]query.Kind{query.WorkItem, query.ChangeProposal}).Draw(t, "kind")
	provider := rapid.SampledFrom([]string{query.GitHub, query.GitLab, query.Forgejo, query.Jira}).Draw(t, "provider")
	if provider == query.Jira {
		kind = query.WorkItem
	}
	cat := query.NewCatalogue(provider, kind, nil)
	text := querytest.Query(t, cat, kind, rapid.IntRange(0, 6).Draw(t, "depth"))
	q, _ := query.Parse(text)
	b, ds := q.Bind(kind, cat, querytest.Env())
	if ds.Failed() {
		t.Fatalf("%s: %v", text, ds)
	}
	return b
}

func drawBoundTree(t *rapid.T) *query.Bound {
	return query.BoundOf(query.WorkItem, drawExpr(t, rapid.IntRange(0, 4).Draw(t, "depth")))
}

func drawExpr(t *rapid.T, depth int) query.Expr {
	if depth == 0 {
		if rapid.Bool().Draw(t, "quantifier") {
			return drawQuantifier(t)
		}
		if rapid.IntRange(0, 3).Draw(t, "over time") == 0 {
			return drawCond(t, rapid.SampledFrom(timeShapes).Draw(t, "field"))
		}
		return drawCond(t, rapid.SampledFrom(plainShapes).Draw(t, "field"))
	}
	return drawCombination(t, func() query.Expr { return drawExpr(t, depth-1) })
}

func drawCombination(t *rapid.T, term func() query.Expr) query.Expr {
	switch rapid.IntRange(0, 4).Draw(t, "node") {
	case 0:
		return query.NotOf(term())
	case 1, 2:
		return query.AndOf(drawTerms(t, term)...)
	default:
		return query.OrOf(drawTerms(t, term)...)
	}
}

func drawTerms(t *rapid.T, term func() query.Expr) []query.Expr {
	var xs []query.Expr
	for range rapid.SampledFrom([]int{2, 2, 2, 3, 1, 0}).Draw(t, "terms") {
		xs = append(xs, term())
	}
	return xs
}

func drawQuantifier(t *rapid.T) query.Expr {
	f := rapid.SampledFrom(collectionShapes).Draw(t, "collection")
	no := rapid.Bool().Draw(t, "no")
	member := func() query.Expr { return drawCond(t, rapid.SampledFrom(f.Members).Draw(t, "member")) }
	switch rapid.IntRange(0, 5).Draw(t, "condition") {
	case 0:
		return query.Quant(no, f, query.AndOf(), "")
	case 1:
		if len(f.Members) > 1 {
			self := query.Cond(memberBy, query.OpIn, false, query.Lit(query.UserValue(query.User{ID: querytest.Self})))
			return query.Quant(no, f, query.AndOf(self, member()), querytest.Self)
		}
	case 2, 3:
		return query.Quant(no, f, drawCombination(t, member), "")
	}
	return query.Quant(no, f, member(), "")
}

func drawCond(t *rapid.T, f *query.Field) query.Expr {
	neg := rapid.IntRange(0, 3).Draw(t, "complement") == 0
	if rapid.IntRange(0, 9).Draw(t, "emptiness") == 0 {
		return query.Cond(f, query.OpEmpty, neg)
	}
	op := query.OpIn
	switch f.Type {
	case query.TypeInstant, query.TypeCustom:
		op = rapid.SampledFrom([]query.Op{query.OpLt, query.OpLe, query.OpGt, query.OpGe}).Draw(t, "op")
	case query.TypeDate:
		op = rapid.SampledFrom([]query.Op{query.OpIn, query.OpLt, query.OpLe, query.OpGt, query.OpGe}).Draw(t, "op")
	case query.TypeText:
		op = rapid.SampledFrom([]query.Op{query.OpContains, query.OpStartsWith}).Draw(t, "op")
	case query.TypeName, query.TypeRef:
		op = rapid.SampledFrom([]query.Op{query.OpIn, query.OpIn, query.OpStartsWith}).Draw(t, "op")
	}
	vals := []query.Operand{drawOperand(t, f)}
	for op == query.OpIn && len(vals) < 3 && rapid.Bool().Draw(t, "further value") {
		vals = append(vals, drawOperand(t, f))
	}
	return query.Cond(f, op, neg, vals...)
}

func drawOperand(t *rapid.T, f *query.Field) query.Operand {
	from := func(vocabulary []string) string { return rapid.SampledFrom(vocabulary).Draw(t, "value") }
	switch f.Type {
	case query.TypeWord:
		return query.Lit(query.Word(from(wordsOf[f.Name])))
	case query.TypeBool:
		return query.Lit(query.Bool(rapid.Bool().Draw(t, "value")))
	case query.TypeUser:
		u := rapid.SampledFrom(querytest.People).Draw(t, "user")
		if rapid.Bool().Draw(t, "by id") {
			return query.Lit(query.UserValue(query.User{ID: u.ID}))
		}
		return query.Lit(query.UserValue(query.User{Login: u.Login, Bot: u.Bot}))
	case query.TypeRef:
		return query.Lit(query.Ref(from(querytest.Refs)))
	case query.TypeText:
		return query.Lit(query.Text(from([]string{"fix", "FIX", "please", "/fs-fix", "lgtm"})))
	case query.TypeName:
		if f.Name == "command" {
			return query.Lit(query.Name(from(querytest.Commands)))
		}
		return query.Lit(query.Name(from(querytest.Names)))
	}
	return drawTimeOperand(t, f)
}

func drawTimeOperand(t *rapid.T, f *query.Field) query.Operand {
	shift := rapid.SampledFrom(querytest.Shifts).Draw(t, "shift")
	switch rapid.IntRange(0, 4).Draw(t, "operand") {
	case 0:
		if f.Type == query.TypeDate {
			return query.Lit(query.Date(querytest.Now.Add(shift)))
		}
		return query.Lit(query.Instant(querytest.Now.Add(shift)))
	case 1:
		if f.Type == query.TypeInstant {
			return query.FieldOperand(rapid.SampledFrom([]query.FieldID{query.FLastComment, query.FClosed}).Draw(t, "operand field"))
		}
	}
	return query.NowPlus(shift)
}

// drawNow is an instant near the others, on a boundary or with more than millisecond grain.
func drawNow(t *rapid.T) time.Time {
	now := querytest.Now.Add(rapid.SampledFrom(querytest.Shifts).Draw(t, "now"))
	if rapid.Bool().Draw(t, "on the boundary") {
		return now
	}
	return now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "microseconds")) * time.Microsecond)
}
