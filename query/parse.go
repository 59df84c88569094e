package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The caps of a query. They are checked before or while parsing, so that no text costs more than a bounded time.
const (
	maxSource = 16 << 10
	maxDepth  = 32
	maxTests  = 256
	maxValues = 500
)

// Parse reads a query and reports every error in it, each with the range of bytes that it stands in. It never panics
// and takes a bounded time for any text. The query is never nil: with errors it has holes, so that Bind can go on to
// report what is wrong elsewhere.
func Parse(src string) (*Query, Diagnostics) {
	p := parser{report: &report{}, src: src}
	q := &Query{src: src}
	q.version, q.root = p.query(src)
	if !p.ds.Failed() {
		if n := len(q.canonical()); n > maxSource {
			p.add(codeTooLong, Span{0, len(src)}, fmt.Sprintf("the query has %d bytes once it is written out", n), "16,384 bytes are allowed")
		}
	}
	q.diags = p.sorted()
	return q, slices.Clone(q.diags)
}

type parser struct {
	*report
	src     string
	ts      []token
	i       int
	depth   int
	tests   int
	values  int
	inside  bool // a quantifier's parentheses
	stopped bool // a cap was reached: what follows is not read
}

var versionTag = regexp.MustCompile(`^[ \t\r\n]*([vV][0-9][0-9A-Za-z_.]*)[ \t\r\n]*:`)

func (p *parser) query(src string) (version string, root syntax) {
	whole := Span{0, len(src)}
	if len(src) > maxSource {
		p.add(codeTooLong, Span{maxSource, len(src)}, fmt.Sprintf("the query has %d bytes", len(src)), "16,384 bytes are allowed")
		return "", &holeNode{whole}
	}
	if i := invalidUTF8(src); i >= 0 {
		p.add(codeNotUTF8, Span{i, i + 1}, fmt.Sprintf("the byte %#02x is not UTF-8", src[i]), "save the file as UTF-8")
		return "", &holeNode{whole}
	}
	if m := versionTag.FindStringSubmatchIndex(src); m != nil && src[m[2]:m[3]] != "v1" {
		p.add(codeOtherVersion, Span{m[2], m[3]}, fmt.Sprintf("the version %q is not known", clip(src[m[2]:m[3]], 40)), "write v1:")
		return "", &holeNode{whole}
	}
	ts, err := lex(src, p.report)
	if err != nil { // the last rule of the lexer takes any character
		p.add(codeCharacter, whole, err.Error(), "")
		return "", &holeNode{whole}
	}
	p.ts = ts
	p.tag()
	return "v1", p.all()
}

func invalidUTF8(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// tag takes the version tag; a query without one is read on, for its other errors.
func (p *parser) tag() {
	t := p.peek()
	isTag := t.Type == kinds.ident && t.Value == "v1"
	switch {
	case isTag && p.ts[p.i+1].Type == kinds.colon:
		p.i += 2
	case isTag:
		p.add(codeNoVersion, t.at, "the colon after v1 is missing", "write v1:")
		p.i++
	case t.Type == kinds.junk: // reported by the lexer
	default:
		p.add(codeNoVersion, Span{t.at.Start, t.at.Start}, "the query does not begin with its version", "write v1: before it")
	}
}

// all parses the rest of the query, going on after a parenthesis that closes nothing.
func (p *parser) all() syntax {
	if t := p.peek(); t.EOF() {
		p.add(codeNoCondition, t.at, "the query has no condition", "for all open entities write v1: state = open")
		return &holeNode{t.at}
	}
	root := p.expr()
	for t := p.peek(); t.Type == kinds.rparen; t = p.peek() {
		p.add(codeUnopened, t.at, `")" closes nothing`, "remove it, or open it before")
		p.i++
		if t := p.peek(); !t.EOF() && t.Type != kinds.rparen {
			if t.is(kinds.and, kinds.or) {
				p.i++
			}
			if t := p.peek(); !t.EOF() && t.Type != kinds.rparen {
				root = p.join(root, p.expr())
			}
		}
	}
	return root
}

func (p *parser) join(a, b syntax) syntax {
	return &andNode{terms: []syntax{a, b}, at: Span{a.span().Start, b.span().End}}
}

func (p *parser) peek() token { return p.ts[p.i] }

func (p *parser) next() token {
	t := p.ts[p.i]
	if !t.EOF() {
		p.i++
	}
	return t
}

// stop ends parsing at a cap: one report, and none after it.
func (p *parser) stop(code string, at Span, message, suggest string) {
	if p.stopped {
		return
	}
	p.add(code, at, message, suggest)
	p.stopped = true
	p.i = len(p.ts) - 1
}

// expr parses terms joined by and, or by or. It ends at a closing parenthesis or the end.
func (p *parser) expr() syntax {
	var joint lexer.TokenType
	mixed := false
	terms := p.first()
	for !p.stopped {
		t := p.peek()
		switch {
		case t.EOF() || t.Type == kinds.rparen:
			return combine(joint, terms)
		case t.is(kinds.and, kinds.or):
			p.i++
			if joint != 0 && joint != t.Type && !mixed {
				mixed = true
				p.add(codeMixed, t.at, fmt.Sprintf("%q stands beside %q", strings.ToLower(t.Value), other(t)),
					"put parentheses around what belongs together: a and (b or c)")
			}
			if joint == 0 {
				joint = t.Type
			}
			if n := p.peek(); n.EOF() || n.is(kinds.rparen, kinds.and, kinds.or) {
				if !p.stopped {
					p.add(codeDangling, t.at, fmt.Sprintf("%q is followed by %s", strings.ToLower(t.Value), n.show()), "write a condition after it, or remove it")
				}
				continue
			}
			terms = append(terms, p.term())
		case t.Type == kinds.junk:
			p.i++ // reported by the lexer
		case p.startsTerm(p.i):
			p.add(codeNoConjunction, t.at, fmt.Sprintf("%s follows a condition without and or or", t.show()), "write and, or or, before it")
			terms = append(terms, p.term())
		default:
			p.add(codeNotACondition, t.at, fmt.Sprintf("%s has no place after a condition", t.show()), "join conditions with and or or")
			p.i = max(p.i+1, p.extent(p.i))
		}
	}
	return combine(joint, terms)
}

func other(t token) string {
	if t.Type == kinds.and {
		return "or"
	}
	return "and"
}

// first parses the first term, reporting a conjunction that stands before it.
func (p *parser) first() []syntax {
	for t := p.peek(); t.is(kinds.and, kinds.or); t = p.peek() {
		p.add(codeDangling, t.at, fmt.Sprintf("%q has no condition before it", strings.ToLower(t.Value)), "remove it")
		p.i++
	}
	if t := p.peek(); t.EOF() || t.Type == kinds.rparen {
		return []syntax{&holeNode{t.at}}
	}
	return []syntax{p.term()}
}

// combine makes one node of terms, taking in nested nodes of the same kind.
func combine(joint lexer.TokenType, terms []syntax) syntax {
	if len(terms) == 1 {
		return terms[0]
	}
	flat := make([]syntax, 0, len(terms))
	at := Span{terms[0].span().Start, terms[len(terms)-1].span().End}
	for _, t := range terms {
		switch n := t.(type) {
		case *andNode:
			if joint != kinds.or {
				flat = append(flat, n.terms...)
				continue
			}
		case *orNode:
			if joint == kinds.or {
				flat = append(flat, n.terms...)
				continue
			}
		}
		flat = append(flat, t)
	}
	if joint == kinds.or {
		return &orNode{terms: flat, at: at}
	}
	return &andNode{terms: flat, at: at}
}

func (p *parser) term() syntax {
	t := p.peek()
	switch {
	case t.Type == kinds.not:
		return p.not()
	case t.Type == kinds.lparen:
		return p.parens()
	case t.is(kinds.any, kinds.no):
		return p.quant()
	case t.Type == kinds.ident && p.ts[p.i+1].Type == kinds.lparen:
		if !p.opensTest(p.i + 1) {
			break
		}
		p.add(codeNoQuantifier, t.at, fmt.Sprintf("%q with parentheses lacks its quantifier", t.Value),
			fmt.Sprintf("write any %[1]s(…) or no %[1]s(…)", strings.ToLower(t.Value)))
		return p.quantOf(t, false)
	}
	return p.condition()
}

// opensTest reports whether the parenthesis at i begins a condition and not a list of values.
func (p *parser) opensTest(i int) bool {
	return p.startsTerm(i+1) || p.ts[i+1].is(kinds.any, kinds.no, kinds.not)
}

// down enters one more level of nesting; up leaves it.
func (p *parser) down(t token) bool {
	p.depth++
	if p.depth > maxDepth {
		p.stop(codeTooDeep, t.at, fmt.Sprintf("the query is nested deeper than %d here", maxDepth), "write it flatter, or as several sources")
		return false
	}
	return true
}

func (p *parser) up() { p.depth-- }

func (p *parser) not() syntax {
	t := p.next()
	defer p.up()
	if !p.down(t) {
		return &holeNode{t.at}
	}
	if n := p.peek(); n.EOF() || n.is(kinds.rparen, kinds.and, kinds.or) {
		p.add(codeDangling, t.at, `"not" is followed by `+n.show(), "write a condition after it, or remove it")
		return &holeNode{t.at}
	}
	x := p.term()
	return &notNode{x: x, at: Span{t.at.Start, x.span().End}}
}

func (p *parser) parens() syntax {
	open := p.next()
	defer p.up()
	if !p.down(open) {
		return &holeNode{open.at}
	}
	if t := p.peek(); t.Type == kinds.rparen {
		p.i++
		at := Span{open.at.Start, t.at.End}
		p.add(codeNotACondition, at, "the parentheses are empty", "write a condition in them, or remove them")
		return &holeNode{at}
	}
	x := p.expr()
	p.close(open)
	return x
}

// close takes the parenthesis that closes open.
func (p *parser) close(open token) (end int) {
	t := p.peek()
	if t.Type == kinds.rparen {
		p.i++
		return t.at.End
	}
	if !p.stopped {
		p.add(codeUnclosed, open.at, `"(" is not closed`, `write ")" where it ends`)
	}
	return t.at.Start
}

func (p *parser) quant() syntax {
	q := p.next()
	word := strings.ToLower(q.Value)
	f := p.peek()
	if f.Type != kinds.ident {
		p.add(codeNotACondition, q.at, fmt.Sprintf("%q is followed by %s", word, f.show()), fmt.Sprintf("write %s comment(…), with the field it speaks of", word))
		p.i = p.extent(p.i)
		return &holeNode{q.at}
	}
	if p.ts[p.i+1].Type != kinds.lparen {
		name := strings.ToLower(f.Value)
		at := Span{q.at.Start, f.at.End}
		p.add(codeNotACondition, at, fmt.Sprintf("%q has no parentheses", word+" "+name), bareQuantAdvice(q, name, p.ts[p.i+1]))
		if p.extent(p.i) == p.i+1 {
			p.i++
			return &holeNode{at}
		}
		return p.condition()
	}
	return p.quantOf(q, q.Type == kinds.no)
}

func bareQuantAdvice(q token, name string, after token) string {
	if after.is(kinds.cmp, kinds.in, kinds.contains, kinds.starts, kinds.is, kinds.not) {
		return fmt.Sprintf("write the condition without %s; it is true when some value satisfies it", strings.ToLower(q.Value))
	}
	if q.Type == kinds.no {
		return fmt.Sprintf("write %s is empty", name)
	}
	return fmt.Sprintf("write %s is not empty", name)
}

// quantOf parses a quantifier from its field on; from is where it begins.
func (p *parser) quantOf(from token, no bool) syntax {
	f := p.next()
	open := p.next()
	defer p.up()
	if !p.down(open) {
		return &holeNode{f.at}
	}
	outer := p.inside
	if outer {
		p.add(codeNested, from.at, "a quantifier stands inside another", "close the outer one first and join the two with and")
	}
	p.inside = true
	defer func() { p.inside = outer }()
	n := &quantNode{no: no, name: name{text: strings.ToLower(f.Value), at: f.at}}
	if t := p.peek(); t.Type == kinds.rparen {
		at := Span{from.at.Start, t.at.End}
		p.add(codeNotACondition, at, fmt.Sprintf("%s has no condition in its parentheses", n.name), fmt.Sprintf("write %s is not empty, or a condition on its members", n.name))
		n.where = &holeNode{at}
	} else {
		n.where = p.expr()
	}
	n.at = Span{from.at.Start, p.close(open)}
	return n
}

// startsTerm reports whether a term plainly begins at i.
func (p *parser) startsTerm(i int) bool {
	t := p.ts[i]
	if t.EOF() {
		return false
	}
	n := p.ts[i+1]
	switch t.Type {
	case kinds.lparen:
		return true
	case kinds.not:
		return n.is(kinds.ident, kinds.lparen, kinds.not, kinds.any, kinds.no)
	case kinds.any, kinds.no:
		return n.Type == kinds.ident
	case kinds.ident:
		return n.is(kinds.cmp, kinds.in, kinds.is, kinds.contains, kinds.starts, kinds.not, kinds.lbracket) ||
			n.Type == kinds.lparen && p.startsTerm(i+2)
	}
	return false
}

// extent is where the condition that begins at i ends: before the and, or or closing parenthesis that is not its own.
func (p *parser) extent(i int) int {
	depth := 0
	for ; !p.ts[i].EOF(); i++ {
		switch t := p.ts[i]; t.Type {
		case kinds.lparen:
			depth++
		case kinds.rparen:
			if depth == 0 {
				return i
			}
			depth--
		case kinds.and, kinds.or:
			if depth == 0 || !p.joinsValues(i) {
				return i
			}
		}
	}
	return i
}

// joinsValues reports whether the and (or) at i stands between values, as in `in ("a" or "b")`.
func (p *parser) joinsValues(i int) bool {
	v := p.ts[i+1]
	if v.EOF() || !v.is(kinds.str, kinds.ident, kinds.number, kinds.date, kinds.instant, kinds.self) {
		return false
	}
	return p.ts[i+2].is(kinds.comma, kinds.rparen, kinds.and, kinds.or)
}

// condition parses one test with participle. What participle refuses is explained, and is a hole.
func (p *parser) condition() syntax {
	end := p.extent(p.i)
	ts := p.ts[p.i:end]
	if p.tests++; p.tests > maxTests {
		p.stop(codeTooManyTests, p.peek().at, fmt.Sprintf("the query has more than %d tests", maxTests), "use in (…), or write several sources")
		return &holeNode{p.peek().at}
	}
	if len(ts) == 0 {
		t := p.peek()
		p.add(codeNotACondition, t.at, fmt.Sprintf("%s stands where a condition belongs", t.show()), "")
		return &holeNode{t.at}
	}
	hole := &holeNode{Span{ts[0].at.Start, ts[len(ts)-1].at.End}}
	if slices.ContainsFunc(ts, func(t token) bool { return t.Type == kinds.junk }) {
		p.i = end // reported by the lexer
		return hole
	}
	g, n := p.parseTest(ts)
	if g == nil || n < len(ts) && !p.startsTerm(p.i+n) || p.isCall(n) {
		p.explain(ts, p.ts[end])
		p.i = end
		return hole
	}
	p.i += n
	return p.test(g, ts[:n])
}

// isCall reports whether what participle took as a bare operand goes on with a parenthesis.
func (p *parser) isCall(n int) bool { return n == 1 && p.ts[p.i+1].Type == kinds.lparen }

// parseTest gives the test that ts begins with and the number of its tokens; nil when there is none.
func (p *parser) parseTest(ts []token) (*gTest, int) {
	eof := lexer.EOFToken(p.ts[len(p.ts)-1].Pos)
	peeking, err := lexer.Upgrade(&replay{ts: window(ts), eof: eof})
	if err != nil {
		return nil, 0
	}
	g, err := condition.ParseFromLexer(peeking, participle.AllowTrailing(true))
	if err != nil || g == nil {
		return nil, 0
	}
	return g, len(g.Tokens)
}

// window is as much of ts as one test can have, so that many tests without a conjunction are not read again and again.
func window(ts []token) []token {
	const longest = 12 // cf[1] not starts with now - 1d, and some more
	short := ts[:min(longest, len(ts))]
	if !slices.ContainsFunc(short, func(t token) bool { return t.Type == kinds.in }) {
		return short
	}
	if end := slices.IndexFunc(ts, func(t token) bool { return t.Type == kinds.rparen }); end >= 0 {
		return ts[:max(len(short), end+1)]
	}
	return ts
}

// test makes a node of what participle parsed from ts.
func (p *parser) test(g *gTest, ts []token) syntax {
	n := &testNode{at: Span{ts[0].at.Start, ts[len(ts)-1].at.End}}
	var sound bool
	n.name, sound = p.operand(g.Operand, ts)
	rest := ts[len(g.Operand.Tokens):]
	n.opAt = Span{n.at.Start, n.at.End}
	if len(rest) > 0 {
		n.opAt = operatorSpan(rest)
	}
	var vals []*gValue
	switch {
	case g.Cmp != nil:
		n.op, vals = cmpOps[g.Cmp.Op], []*gValue{g.Cmp.Value}
	case g.In != nil:
		n.op, vals = pick(g.In.Not, opNotIn, opIn), g.In.Values
	case g.Empty != nil:
		n.op = pick(g.Empty.Not, opNotEmpty, opEmpty)
	case g.Text != nil && g.Text.Contains:
		n.op, vals = pick(g.Text.Not, opNotContains, opContains), []*gValue{g.Text.Value}
	case g.Text != nil:
		n.op, vals = pick(g.Text.Not, opNotStarts, opStarts), []*gValue{g.Text.Value}
	default:
		n.op, n.bare = opEq, true
		n.vals = []value{{kind: valBool, yes: true, text: "true", at: n.at}}
	}
	if p.values += len(vals); p.values > maxValues {
		p.stop(codeTooManyValues, n.at, fmt.Sprintf("the query has more than %d values", maxValues), "write several sources")
		return &holeNode{n.at}
	}
	for _, v := range vals {
		n.vals = append(n.vals, p.value(v, p.tokensOf(v.Tokens, ts)))
	}
	if !sound {
		return &holeNode{n.at}
	}
	return n
}

var cmpOps = map[string]syntaxOp{"=": opEq, "!=": opNe, "<": opLt, "<=": opLe, ">": opGt, ">=": opGe}

func pick(yes bool, a, b syntaxOp) syntaxOp {
	if yes {
		return a
	}
	return b
}

func operatorSpan(ts []token) Span {
	end := 0
	for end+1 < len(ts) && ts[end+1].is(kinds.in, kinds.contains, kinds.starts, kinds.with, kinds.not, kinds.empty) {
		end++
	}
	return Span{ts[0].at.Start, ts[end].at.End}
}

// tokensOf finds the tokens that participle gave back among ours, which know where they end.
func (p *parser) tokensOf(gs []lexer.Token, ts []token) []token {
	if len(gs) == 0 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(ts, gs[0].Pos.Offset, func(t token, off int) int { return t.at.Start - off })
	return ts[i:min(i+len(gs), len(ts))]
}

// operand gives the name that a test is about; false when it is malformed, which is reported.
func (p *parser) operand(g *gOperand, ts []token) (name, bool) {
	at := Span{ts[0].at.Start, ts[len(g.Tokens)-1].at.End}
	n := name{text: strings.ToLower(g.Name), at: at}
	if g.Custom == nil {
		if n.text == "cf" {
			p.add(codeCustomField, at, "cf has no number", "write cf[10021], with the number of the custom field")
		}
		return n, n.text != "cf"
	}
	num, err := strconv.ParseUint(*g.Custom, 10, 32)
	switch {
	case n.text != "cf":
		p.add(codeCustomField, at, fmt.Sprintf("%q has no elements by number", n.text), "only custom fields have one: cf[10021]")
	case err != nil || num >= 1e9:
		p.add(codeCustomField, at, fmt.Sprintf("%q is not the number of a custom field", clip(*g.Custom, 40)), "write cf[10021]")
	default:
		n.custom, n.n = true, uint32(num)
	}
	return n, n.custom
}

func (p *parser) value(g *gValue, ts []token) value {
	at := Span{ts[0].at.Start, ts[len(ts)-1].at.End}
	hole := value{kind: valHole, at: at}
	switch {
	case g.String != nil:
		s, ok := unquote(ts[0], p.report)
		if !ok {
			return hole
		}
		return value{kind: valString, text: s, at: at}
	case g.Number != nil:
		v, _ := parseNumber(*g.Number, at, p.report)
		return v
	case g.Instant != nil:
		v, _ := parseInstant(ts[0], p.report)
		return v
	case g.Date != nil:
		v, _ := parseDate(ts[0], p.report)
		return v
	case g.Now != nil:
		return p.now(g.Now, ts, at)
	}
	w := strings.ToLower(*g.Word)
	switch {
	case ts[0].is(kinds.yes, kinds.false):
		return value{kind: valBool, yes: ts[0].Type == kinds.yes, text: w, at: at}
	case ts[0].Type == kinds.self:
		return value{kind: valSelf, text: w, at: at}
	}
	return value{kind: valWord, text: w, at: at}
}

func (p *parser) now(g *gNow, ts []token, at Span) value {
	v := value{kind: valNow, text: "now", at: at}
	if g.Span == nil {
		return v
	}
	d, text, ok := parseSpan(ts[len(ts)-1], p.report)
	if !ok {
		return value{kind: valHole, at: at}
	}
	if *g.Sign == "-" {
		d = -d
	}
	v.offset, v.text = d, "now "+*g.Sign+" "+text
	return v
}

// textOf is the source in a range.
func (p *parser) textOf(at Span) string { return p.src[at.Start:at.End] }
