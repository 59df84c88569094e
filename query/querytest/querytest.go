package querytest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/query"
	"pgregory.net/rapid"
)

// Self is the stable id that self stands for in generated queries, one of People: bind them with Env.
const Self = "1"

// Env is what a generated query is to be bound with.
func Env() query.Env { return query.Env{Self: Self} }

// awkward are names that no facts need to have, but that parsing and printing must bear.
var awkward = []string{"needs review", "it's", "100%", "#1", "or", "null", "e\u0301", "\u200b", "tab\there", "(x)", "v1:"}

// logins are the accounts that generated queries compare with besides People.
var logins = []string{"renovate[bot]", "id:12", "org/team"}

// Query gives the text of a random query of at most the given depth that binds without an error against c for kind k
// and Env. Its layout, letter case, quotes and parentheses vary. The catalogue must have a field state.
func Query(t *rapid.T, c *query.Catalogue, k query.Kind, depth int) string {
	g := generator{t: t, c: c, k: k, fields: fieldsOf(c, k)}
	for range 20 {
		src := g.query(depth)
		q, ds := query.Parse(src)
		if ds.Failed() {
			t.Fatalf("generated query %q does not parse: %v", src, ds)
		}
		_, ds = q.Bind(k, c, Env())
		if !ds.Failed() {
			return src
		}
		for _, d := range ds {
			if d.Severity == query.Error && d.Code != neverMatches {
				t.Fatalf("generated query %q does not bind: %v", src, d)
			}
		}
	}
	return "v1: state = open"
}

const neverMatches = "Q301"

func fieldsOf(c *query.Catalogue, k query.Kind) []*query.Field {
	var out []*query.Field
	for _, n := range c.Names() {
		if f, ok := c.Field(n); ok && slices.Contains(f.Kinds, k) {
			out = append(out, f)
		}
	}
	if f, ok := c.Field("cf[10021]"); ok && slices.Contains(f.Kinds, k) {
		out = append(out, f)
	}
	return out
}

type generator struct {
	t      *rapid.T
	c      *query.Catalogue
	k      query.Kind
	fields []*query.Field
}

func pick[T any](g *generator, from []T, label string) T {
	return rapid.SampledFrom(from).Draw(g.t, label)
}

func (g *generator) n(lo, hi int, label string) int { return rapid.IntRange(lo, hi).Draw(g.t, label) }

func (g *generator) chance(label string) bool { return rapid.Bool().Draw(g.t, label) }

func (g *generator) query(depth int) string {
	return "v1:" + g.space() + g.expr(depth, nil)
}

// space is some white space.
func (g *generator) space() string {
	return pick(g, []string{" ", " ", " ", "  ", "\n", "\t", "\r\n  "}, "space")
}

// word is a keyword or name in some letter case.
func (g *generator) word(s string) string {
	switch g.n(0, 5, "case") {
	case 0:
		return strings.ToUpper(s)
	case 1:
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// expr draws an expression; inside is the element field whose members it speaks of, or nil.
func (g *generator) expr(depth int, inside *query.Field) string {
	if depth <= 0 {
		return g.test(inside)
	}
	switch g.n(0, 9, "shape") {
	case 0, 1, 2:
		return g.joined("and", depth, inside)
	case 3, 4:
		return g.joined("or", depth, inside)
	case 5:
		return g.word("not") + g.space() + g.term(depth-1, inside)
	case 6, 7:
		if inside == nil {
			return g.quantifier(depth)
		}
	case 8:
		return "(" + g.expr(depth-1, inside) + ")"
	}
	return g.test(inside)
}

func (g *generator) joined(with string, depth int, inside *query.Field) string {
	parts := make([]string, g.n(2, 3, "terms"))
	for i := range parts {
		parts[i] = g.term(depth-1, inside)
	}
	return strings.Join(parts, g.space()+g.word(with)+g.space())
}

// term draws an expression that stands as one.
func (g *generator) term(depth int, inside *query.Field) string {
	if g.chance("compound") {
		return "(" + g.expr(depth, inside) + ")"
	}
	if inside == nil && depth > 0 && g.n(0, 3, "quantified") == 0 {
		return g.quantifier(depth)
	}
	return g.test(inside)
}

func (g *generator) quantifier(depth int) string {
	var fs []*query.Field
	for _, f := range g.fields {
		if f.Type == query.TypeElements && f.Empty != query.NotTestable && len(f.Only) == 0 {
			fs = append(fs, f)
		}
	}
	if len(fs) == 0 {
		return g.test(nil)
	}
	f := pick(g, fs, "collection")
	return g.word(pick(g, []string{"any", "no"}, "quantifier")) + g.space() + g.word(f.Name) + "(" + g.expr(depth-1, f) + ")"
}

func (g *generator) test(inside *query.Field) string {
	if inside != nil {
		m := pick(g, inside.Members, "member")
		return g.word(m.Name) + g.plain(m)
	}
	f := pick(g, g.fields, "field")
	if f.Type != query.TypeElements {
		return g.word(f.Name) + g.plain(f)
	}
	return g.element(f)
}

// element draws a test of an element field without a quantifier, where it has one.
func (g *generator) element(f *query.Field) string {
	if f.Empty == query.MayBeEmpty && (len(f.Only) > 0 || g.n(0, 3, "empty") == 0) {
		return g.word(f.Name) + g.empty()
	}
	for _, m := range f.Members {
		if m.ID == query.MName || f.Empty == query.NotTestable {
			return g.word(f.Name) + g.plain(m)
		}
	}
	return g.word(f.Name) + g.empty()
}

func (g *generator) empty() string {
	return g.space() + g.word("is") + g.space() + pick(g, []string{"", "not "}, "not") + g.word("empty")
}

// plain draws an operator and values for a plain field or member.
func (g *generator) plain(f *query.Field) string {
	if f.Empty == query.MayBeEmpty && g.n(0, 4, "empty") == 0 {
		return g.empty()
	}
	switch f.Type {
	case query.TypeBool:
		if g.n(0, 2, "bare") == 0 {
			return ""
		}
		return g.equality(func() string { return g.word(pick(g, []string{"true", "false"}, "bool")) })
	case query.TypeWord:
		return g.equality(func() string {
			w := g.word(pick(g, f.Words, "word"))
			if g.chance("quoted") {
				return g.quote(w)
			}
			return w
		})
	case query.TypeName, query.TypeRef:
		return g.name(f)
	case query.TypeUser:
		return g.equality(g.user)
	case query.TypeText:
		return g.text(Texts[1:]) // the first is empty
	case query.TypeInstant:
		return g.order() + g.instant()
	case query.TypeDate:
		if g.chance("equality") {
			return g.equality(g.date)
		}
		return g.order() + g.date()
	case query.TypeCustom:
		return g.custom()
	}
	g.t.Fatalf("no test is known for %s of type %d", f.Name, f.Type)
	return ""
}

func (g *generator) name(f *query.Field) string {
	pool := slices.Concat(Names, Names, awkward)
	switch {
	case f.Type == query.TypeRef:
		pool = Refs
	case f.ID == query.MCommand:
		pool = Commands
	}
	if g.n(0, 4, "prefix") == 0 {
		return g.not() + g.word("starts") + g.space() + g.word("with") + g.space() + g.quote(pick(g, pool, "prefix"))
	}
	return g.equality(func() string { return g.quote(pick(g, pool, "name")) })
}

func (g *generator) text(pool []string) string {
	op := "contains"
	if g.chance("starts") {
		op = "starts with"
	}
	return g.not() + op + g.space() + g.quote(pick(g, pool, "text"))
}

func (g *generator) custom() string {
	switch g.n(0, 4, "custom") {
	case 0:
		return g.order() + fmt.Sprint(g.n(-3, 12, "number"))
	case 1:
		return g.equality(func() string { return fmt.Sprintf("%d.%d", g.n(0, 9, "whole"), g.n(0, 9, "tenth")) })
	case 2:
		return g.order() + g.literalDate()
	case 3:
		return g.text(Names)
	}
	return g.equality(func() string { return g.quote(pick(g, Names, "name")) })
}

func (g *generator) not() string {
	if g.chance("not") {
		return g.space() + g.word("not") + g.space()
	}
	return g.space()
}

func (g *generator) equality(value func() string) string {
	switch g.n(0, 3, "equality") {
	case 0:
		return pick(g, []string{" = ", "="}, "eq") + value()
	case 1:
		return pick(g, []string{" != ", "!="}, "ne") + value()
	}
	vals := make([]string, g.n(1, 3, "values"))
	for i := range vals {
		vals[i] = value()
	}
	return g.not() + g.word("in") + pick(g, []string{" (", "("}, "list") + strings.Join(vals, ", ") + pick(g, []string{")", ",)"}, "close")
}

func (g *generator) order() string {
	return " " + pick(g, []string{"<", "<=", ">", ">="}, "order") + " "
}

func (g *generator) user() string {
	if g.n(0, 3, "self") == 0 {
		return g.word("self")
	}
	who := slices.Clone(logins)
	for _, p := range People {
		who = append(who, p.Login, p.Login, "id:"+p.ID)
	}
	return g.quote(pick(g, who, "login"))
}

func (g *generator) now() string {
	switch g.n(0, 3, "offset") {
	case 0:
		return g.word("now")
	case 1:
		return fmt.Sprintf("%s + %d%s", g.word("now"), g.n(0, 9, "span"), pick(g, []string{"min", "h", "d", "w"}, "unit"))
	}
	return fmt.Sprintf("%s-%d%s", g.word("now"), g.n(0, 30, "span"), pick(g, []string{"min", "h", "d", "w"}, "unit"))
}

func (g *generator) instant() string {
	switch g.n(0, 3, "instant") {
	case 0:
		return Now.Add(time.Duration(g.n(-80_000, 80_000, "minutes")) * time.Minute).Format(time.RFC3339)
	case 1:
		return Now.Add(pick(g, Shifts, "shift")).In(time.FixedZone("", 2*60*60)).Format("2006-01-02T15:04:05.000Z07:00")
	case 2:
		var times []string
		for _, f := range g.fields {
			if f.Type == query.TypeInstant {
				times = append(times, f.Name)
			}
		}
		if len(times) > 0 {
			return g.word(pick(g, times, "time field"))
		}
	}
	return g.now()
}

func (g *generator) date() string {
	if g.chance("relative") {
		return g.now()
	}
	return g.literalDate()
}

func (g *generator) literalDate() string {
	return Now.AddDate(0, 0, g.n(-40, 40, "days")).Format(time.DateOnly)
}

// quote writes s as a string of the language, in either quote.
func (g *generator) quote(s string) string {
	q := pick(g, []string{`"`, `'`}, "quote")
	r := strings.NewReplacer(`\`, `\\`, q, `\`+q, "\n", `\n`, "\t", `\t`)
	return q + r.Replace(s) + q
}
