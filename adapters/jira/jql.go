package jira

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fullsend-ai/discovery/query"
)

// clause is a JQL clause as a tree; only write turns it into text. Values are typed: digits that are an id or a number
// stand bare, so that they are looked up as such first, and every word is quoted.
type clause struct {
	and, or []clause
	field   string
	op      string // = != in, not in, < <= > >=, is, is not
	values  []operand
}

// operand is a string, a number or EMPTY.
type operand struct {
	text   string
	number bool
	empty  bool
}

func word(s string) operand    { return operand{text: s} }
func numeral(s string) operand { return operand{text: s, number: true} }

func numerals(ids []string) []operand {
	out := make([]operand, len(ids))
	for i, id := range ids {
		out[i] = numeral(id)
	}
	return out
}

func all(cs ...clause) clause  { return clause{and: cs} }
func some(cs ...clause) clause { return clause{or: cs} }

func test(field, op string, vs ...operand) clause { return clause{field: field, op: op, values: vs} }

func empty(field string) clause {
	return clause{field: field, op: "is", values: []operand{{empty: true}}}
}
func present(field string) clause {
	return clause{field: field, op: "is not", values: []operand{{empty: true}}}
}

// among is field in (…); its complement keeps empty fields, which JQL's own does not.
func among(field string, positive, mayBeEmpty bool, vs []operand) clause {
	op := "in"
	if !positive {
		op = "not in"
	}
	c := clause{field: field, op: op, values: vs}
	if !positive && mayBeEmpty {
		return some(c, empty(field))
	}
	return c
}

// String is the clause as JQL, with full parentheses.
func (c clause) String() string {
	var b strings.Builder
	c.write(&b, false)
	return b.String()
}

func (c clause) write(b *strings.Builder, nested bool) {
	terms, word := c.and, " AND "
	if len(c.or) > 0 {
		terms, word = c.or, " OR "
	}
	if len(terms) == 0 {
		c.leaf(b)
		return
	}
	if len(terms) == 1 {
		terms[0].write(b, nested)
		return
	}
	if nested {
		b.WriteByte('(')
	}
	for i, t := range terms {
		if i > 0 {
			b.WriteString(word)
		}
		t.write(b, true)
	}
	if nested {
		b.WriteByte(')')
	}
}

func (c clause) leaf(b *strings.Builder) {
	b.WriteString(c.field)
	b.WriteByte(' ')
	b.WriteString(c.op)
	b.WriteByte(' ')
	list := c.op == "in" || c.op == "not in"
	if list {
		b.WriteByte('(')
	}
	for i, v := range c.values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.String())
	}
	if list {
		b.WriteByte(')')
	}
}

func (o operand) String() string {
	switch {
	case o.empty:
		return "EMPTY"
	case o.number:
		return o.text
	}
	return quote(o.text)
}

// quote writes a string: every value is quoted, since reserved words are many and depend on the site.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// sayable reports whether a text can be a JQL string that means itself: control characters cannot.
func sayable(s string) bool {
	return s != "" && len(s) <= 255 && !strings.ContainsFunc(s, unicode.IsControl)
}

// isLabel reports whether a text can be a label: one with white space is an error in JQL, and cannot exist.
func isLabel(s string) bool { return sayable(s) && !strings.ContainsFunc(s, unicode.IsSpace) }

// digits reports whether an id may stand bare.
func digits(s string) bool {
	return s != "" && len(s) <= 18 && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// day is a calendar day, moved by so many days.
func day(t time.Time, by int) operand { return word(t.UTC().AddDate(0, 0, by).Format("2006/01/02")) }

// between bounds an instant by days. A day begins at midnight in the zone of the account, which is up to fourteen hours from
// UTC's, so a bound is moved by a day, or two where the day's own end counts.
func between(field string, op query.Op, positive bool, t time.Time) clause {
	if !positive { // the field is never empty
		op = map[query.Op]query.Op{query.OpLt: query.OpGe, query.OpLe: query.OpGt, query.OpGt: query.OpLe, query.OpGe: query.OpLt}[op]
	}
	if op == query.OpLt || op == query.OpLe {
		return test(field, "<=", day(t, 2))
	}
	return test(field, ">=", day(t, -1))
}

// dayBetween bounds a calendar day, with a day to spare; a negated bound keeps empty fields.
func dayBetween(field string, op query.Op, positive bool, t time.Time) clause {
	c := between(field, op, positive, t)
	if !positive {
		return some(c, empty(field))
	}
	return c
}

// renderer turns a search into a clause with the names of one site.
type renderer struct {
	words  *vocabulary
	folds  bool // labels are compared without case
	people bool // accounts can be filtered by id
}

// claim is what the renderer can say of a leaf. It must be the mirror of leaf.
func (r *renderer) claim(l query.Leaf) query.Strength {
	if s := staticClaim(l); s != query.None {
		return s
	}
	if n, ok := l.Field.Custom(); ok {
		return r.claimCustom(n, l)
	}
	switch l.Field {
	case query.FStatus, query.FType, query.FPriority, query.FComponent, query.FFixVersion:
		if (l.Op == query.OpIn || l.Op == query.OpStartsWith) && len(r.ids(l)) > 0 {
			return query.Exact
		}
	case query.FAuthor, query.FAssignee:
		if r.people && l.Positive && l.Op == query.OpIn && len(l.Values) > 0 && !slices.ContainsFunc(l.Values, func(v query.Value) bool { return !sayable(v.User.ID) }) {
			return query.Superset
		}
	case query.FLabel:
		if r.folds && l.Member == query.MName && l.Op == query.OpIn && l.Positive && len(l.Values) > 0 &&
			!slices.ContainsFunc(l.Values, func(v query.Value) bool { return !isLabel(v.Str) }) {
			return query.Superset
		}
	}
	return query.None
}

func (r *renderer) claimCustom(n uint32, l query.Leaf) query.Strength {
	f, ok := r.words.custom[n]
	if !ok {
		return query.None
	}
	switch {
	case l.Op == query.OpEmpty && !f.people():
		return query.Exact
	case l.Op == query.OpEmpty && !l.Positive:
		return query.Superset
	case l.Op == query.OpEmpty: // see staticClaim of assignee
		return query.None
	}
	if len(l.Values) == 0 || slices.ContainsFunc(l.Values, func(v query.Value) bool { return !f.holds(v) }) {
		return query.None
	}
	switch f.Schema.Type {
	case "number", "date", "datetime":
		if l.Positive && (ordered(l.Op) || l.Op == query.OpIn && f.Schema.Type != "datetime") {
			return query.Superset
		}
	}
	return query.None
}

// ids are those of the values that a leaf speaks of.
func (r *renderer) ids(l query.Leaf) []string {
	var out []string
	for _, n := range r.words.of(l.Field) {
		if slices.ContainsFunc(l.Values, func(v query.Value) bool { return named1(n.Name, v.Str, l.Op) }) && digits(n.ID) && !slices.Contains(out, n.ID) {
			out = append(out, n.ID)
		}
	}
	slices.Sort(out)
	return out
}

// named1 compares a name as the language does: A–Z are folded, nothing else is.
func named1(name, want string, op query.Op) bool {
	name, want = foldASCII(name), foldASCII(want)
	if op == query.OpStartsWith {
		return strings.HasPrefix(name, want)
	}
	return name == want
}

func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// search renders a whole tree.
func (r *renderer) search(s *query.Search) clause {
	switch {
	case len(s.And) > 0:
		return clause{and: r.each(s.And)}
	case len(s.Or) > 0:
		return clause{or: r.each(s.Or)}
	}
	return r.leaf(s.Leaf)
}

func (r *renderer) each(ss []*query.Search) []clause {
	out := make([]clause, len(ss))
	for i, s := range ss {
		out[i] = r.search(s)
	}
	return out
}

var fieldNames = map[query.FieldID]string{
	query.FStatus: "status", query.FType: "issuetype", query.FPriority: "priority", query.FComponent: "component", query.FFixVersion: "fixVersion",
	query.FAuthor: "creator", query.FAssignee: "assignee", query.FCreated: "created", query.FUpdated: "updated", query.FDue: "due", query.FLabel: "labels",
}

func (r *renderer) leaf(l *query.Leaf) clause {
	if n, ok := l.Field.Custom(); ok {
		return r.customLeaf(n, l)
	}
	name := fieldNames[l.Field]
	switch l.Field {
	case query.FState, query.FStatusCategory:
		return r.category(l)
	case query.FCreated, query.FUpdated:
		return between(name, l.Op, l.Positive, l.Values[0].Time)
	case query.FDue:
		return dueLeaf(name, l)
	}
	if l.Op == query.OpEmpty || l.AnyElement() {
		if l.Op == query.OpEmpty && l.Positive {
			return empty(name)
		}
		return present(name)
	}
	switch l.Field {
	case query.FAuthor, query.FAssignee:
		return among(name, true, false, words(l.Values, func(v query.Value) string { return v.User.ID }))
	case query.FLabel:
		return among(name, true, false, words(l.Values, func(v query.Value) string { return v.Str }))
	}
	mayBeEmpty := l.Field != query.FStatus && l.Field != query.FType
	return among(name, l.Positive, mayBeEmpty, numerals(r.ids(*l)))
}

func words(vs []query.Value, of func(query.Value) string) []operand {
	out := make([]operand, len(vs))
	for i, v := range vs {
		out[i] = word(of(v))
	}
	return out
}

// category renders state and status_category by the ids of the categories, which are the same on every Jira. An issue whose
// status has no category counts as to do.
func (r *renderer) category(l *query.Leaf) clause {
	in := map[string]bool{}
	for _, v := range l.Values {
		switch v.Str {
		case "open":
			in["todo"], in["in_progress"] = true, true
		case "closed":
			in["done"] = true
		default:
			in[v.Str] = true
		}
	}
	var ids []string
	for _, c := range []struct{ word, id string }{{"todo", "1"}, {"todo", "2"}, {"done", "3"}, {"in_progress", "4"}} {
		if in[c.word] {
			ids = append(ids, c.id)
		}
	}
	return among("statusCategory", l.Positive, false, numerals(ids))
}

func dueLeaf(name string, l *query.Leaf) clause {
	switch l.Op {
	case query.OpEmpty:
		if l.Positive {
			return empty(name)
		}
		return present(name)
	case query.OpIn:
		var out []clause
		for _, v := range l.Values {
			out = append(out, all(test(name, ">=", day(v.Time, -1)), test(name, "<=", day(v.Time, 2))))
		}
		return clause{or: out}
	}
	return dayBetween(name, l.Op, l.Positive, l.Values[0].Time)
}

func (r *renderer) customLeaf(n uint32, l *query.Leaf) clause {
	name := fmt.Sprintf("cf[%d]", n)
	if l.Op == query.OpEmpty {
		if l.Positive {
			return empty(name)
		}
		return present(name)
	}
	v := l.Values[0]
	if v.Type == query.TypeNumber {
		op := map[query.Op]string{query.OpIn: "in", query.OpLt: "<", query.OpLe: "<=", query.OpGt: ">", query.OpGe: ">="}[l.Op]
		return test(name, op, words(l.Values, func(v query.Value) string { return strconv.FormatFloat(v.Num, 'f', -1, 64) })...)
	}
	if l.Op == query.OpIn {
		return dueLeaf(name, l)
	}
	return between(name, l.Op, true, v.Time)
}
