package jira

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// node is a parsed JQL clause.
type node struct {
	op    string // and, or, not, leaf
	terms []*node

	field  string // lower case
	cmp    string // = != ~ !~ < <= > >= in, not in, is, is not
	values []value
}

// value is an operand as it was written.
type value struct {
	text   string
	number bool // unquoted digits: looked up as an id first
	empty  bool // EMPTY or NULL
	call   bool // a function
}

// order is one sort key.
type order struct {
	field string
	desc  bool
}

// query is a whole JQL text.
type query struct {
	where *node // nil: no restriction
	order []order
}

// syntaxError is what Jira answers with 400.
type syntaxError struct{ text string }

func (e syntaxError) Error() string { return e.text }

func bad(f string, a ...any) error { return syntaxError{fmt.Sprintf(f, a...)} }

// reserved is a part of JQL's 195 reserved words: those that the facts name, and those that look like keys or labels.
var reserved = strings.Fields(`abort access add after alias all alter and any are as asc at audit avg be before begin between boolean break
by byte catch cf char character check checkpoint collate collation column commit connect continue count create current date decimal declare
decrement default defaults define delete delimiter desc difference distinct divide do double drop else empty encoding end equals escape exclusive
exec execute exists explain false fetch file field first float for from function go goto grant greater group having identified if immediate in
increment index initial inner inout input insert int integer intersect intersection into is isempty isnull join last left less like limit lock
long max min minus mode modify modulo more multiply next noaudit not notin nowait null number object of on option or order outer output power
previous prior privileges public raise raw remainder rename resource return returns revoke right row rowid rownum rows select session set share
size sqrt start strict string subtract sum synonym table then to trans transaction trigger true uid union unique update user validate values view
when whenever where while with`)

// token is a lexical unit. Kinds: word, string, op, end.
type token struct{ kind, text string }

func lex(s string) ([]token, error) {
	var out []token
	rs := []rune(s)
	for i := 0; i < len(rs); {
		r := rs[i]
		switch {
		case unicode.IsSpace(r):
			i++
		case r == '"' || r == '\'':
			text, n, err := quoted(rs[i:])
			if err != nil {
				return nil, err
			}
			out = append(out, token{"string", text})
			i += n
		case strings.ContainsRune("(),", r):
			out = append(out, token{"op", string(r)})
			i++
		case strings.ContainsRune("=!<>~&|", r):
			op := string(r)
			if i+1 < len(rs) && slices.Contains([]string{"!=", "<=", ">=", "!~", "&&", "||"}, string(rs[i:i+2])) {
				op = string(rs[i : i+2])
			}
			if i+1 < len(rs) && slices.Contains([]string{"==", "<>"}, string(rs[i:i+2])) {
				return nil, bad("the operator '%s' is not recognized", string(rs[i:i+2]))
			}
			i += len([]rune(op))
			op = map[string]string{"&&": "and", "&": "and", "||": "or", "|": "or"}[op] + map[bool]string{true: "", false: op}[strings.ContainsAny(op, "&|")]
			out = append(out, token{"op", op})
		case wordRune(r):
			j := i
			for j < len(rs) && (wordRune(rs[j]) || rs[j] == '[') {
				if rs[j] == '[' { // cf[10021], development[pullrequests].all
					for j < len(rs) && rs[j] != ']' {
						j++
					}
					if j == len(rs) {
						return nil, bad("the character '[' is never closed")
					}
				}
				j++
			}
			out = append(out, token{"word", string(rs[i:j])})
			i = j
		default:
			return nil, bad("the character '%c' is a reserved JQL character; enclose it in a string", r)
		}
	}
	return append(out, token{"end", ""}), nil
}

func wordRune(r rune) bool {
	return r >= 0x80 && !unicode.IsSpace(r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-.:_", r)
}

// quoted reads a string; a backslash must begin a valid escape, and a raw line break is an error.
func quoted(rs []rune) (text string, n int, err error) {
	var b strings.Builder
	for i := 1; i < len(rs); i++ {
		switch r := rs[i]; {
		case r == rs[0]:
			return b.String(), i + 1, nil
		case r == '\n' || r == '\r':
			return "", 0, bad("a quoted string has a line break")
		case r != '\\':
			b.WriteRune(r)
		case i+1 == len(rs):
			return "", 0, bad("a quoted string ends in an escape")
		default:
			i++
			plain := map[rune]rune{'\\': '\\', '"': '"', '\'': '\'', 'n': '\n', 't': '\t', 'r': '\r', ' ': ' '}
			if p, ok := plain[rs[i]]; ok {
				b.WriteRune(p)
				continue
			}
			if rs[i] != 'u' || i+4 >= len(rs) {
				return "", 0, bad("'\\%c' is an illegal JQL escape sequence", rs[i])
			}
			u, perr := strconv.ParseUint(string(rs[i+1:i+5]), 16, 16)
			if perr != nil {
				return "", 0, bad("'\\u%s' is an illegal JQL escape sequence", string(rs[i+1:i+5]))
			}
			b.WriteString(string(utf16.Decode([]uint16{uint16(u)})))
			i += 4
		}
	}
	return "", 0, bad("a quoted string is never closed")
}

type parser struct {
	ts []token
	at int
}

func parse(s string) (*query, error) {
	ts, err := lex(s)
	if err != nil {
		return nil, err
	}
	p := &parser{ts: ts}
	q := &query{}
	if !p.word("order") && p.peek().kind != "end" {
		if q.where, err = p.or(); err != nil {
			return nil, err
		}
	}
	if p.word("order") {
		if q.order, err = p.orderBy(); err != nil {
			return nil, err
		}
	}
	if p.peek().kind != "end" {
		return nil, bad("expecting either 'OR' or 'AND' but got '%s'", p.peek().text)
	}
	return q, nil
}

func (p *parser) peek() token { return p.ts[p.at] }

func (p *parser) next() token {
	t := p.ts[p.at]
	if p.at < len(p.ts)-1 {
		p.at++
	}
	return t
}

func (p *parser) word(w string) bool {
	return p.peek().kind == "word" && strings.EqualFold(p.peek().text, w)
}
func (p *parser) sign(s string) bool { return p.peek().kind == "op" && p.peek().text == s }

func (p *parser) either(w string) bool {
	if p.word(w) || p.sign(w) {
		p.at++
		return true
	}
	return false
}

func (p *parser) or() (*node, error) {
	return p.chain("or", func() (*node, error) { return p.chain("and", p.not) })
}

func (p *parser) chain(op string, below func() (*node, error)) (*node, error) {
	n, err := below()
	if err != nil {
		return nil, err
	}
	terms := []*node{n}
	for p.either(op) {
		if n, err = below(); err != nil {
			return nil, err
		}
		terms = append(terms, n)
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	return &node{op: op, terms: terms}, nil
}

func (p *parser) not() (*node, error) {
	if p.either("not") || p.either("!") {
		n, err := p.not()
		if err != nil {
			return nil, err
		}
		return &node{op: "not", terms: []*node{n}}, nil
	}
	if p.sign("(") {
		p.at++
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.sign(")") {
			return nil, bad("expecting ')' but got '%s'", p.peek().text)
		}
		p.at++
		return n, nil
	}
	return p.leaf()
}

func (p *parser) leaf() (*node, error) {
	f := p.next()
	if f.kind == "end" || f.kind == "op" {
		return nil, bad("expecting a field name but got '%s'", f.text)
	}
	if f.kind == "word" && !strings.Contains(f.text, "[") && slices.Contains(reserved, strings.ToLower(f.text)) {
		return nil, bad("'%s' is a reserved JQL word. You must surround it in quotation marks to use it in a query.", f.text)
	}
	n := &node{op: "leaf", field: strings.ToLower(f.text)}
	switch {
	case p.peek().kind == "op" && slices.Contains([]string{"=", "!=", "~", "!~", "<", "<=", ">", ">="}, p.peek().text):
		n.cmp = p.next().text
		v, err := p.operand()
		n.values = []value{v}
		return n, err
	case p.either("is"):
		n.cmp = "is"
		if p.either("not") {
			n.cmp = "is not"
		}
		v, err := p.operand()
		if err == nil && !v.empty {
			return nil, bad("the operator 'is' needs EMPTY or NULL")
		}
		n.values = []value{v}
		return n, err
	case p.either("not"):
		n.cmp = "not "
	}
	if !p.either("in") {
		return nil, bad("expecting an operator but got '%s'", p.peek().text)
	}
	n.cmp += "in"
	return n, p.list(n)
}

func (p *parser) list(n *node) error {
	if !p.sign("(") {
		v, err := p.operand()
		if err == nil && !v.call {
			return bad("the operator 'in' needs a list")
		}
		n.values = []value{v}
		return err
	}
	for p.at++; ; p.at++ {
		v, err := p.operand()
		if err != nil {
			return err
		}
		n.values = append(n.values, v)
		if p.sign(",") {
			continue
		}
		if !p.sign(")") {
			return bad("expecting ',' or ')' but got '%s'", p.peek().text)
		}
		p.at++
		return nil
	}
}

func (p *parser) operand() (value, error) {
	t := p.next()
	switch {
	case t.kind == "string":
		return value{text: t.text}, nil
	case t.kind != "word":
		return value{}, bad("expecting a value but got '%s'", t.text)
	case strings.EqualFold(t.text, "empty"), strings.EqualFold(t.text, "null"):
		return value{empty: true}, nil
	case p.sign("("):
		p.at++
		if !p.sign(")") {
			return value{}, bad("the function '%s' takes no argument here", t.text)
		}
		p.at++
		return value{text: t.text, call: true}, nil
	case slices.Contains(reserved, strings.ToLower(t.text)):
		return value{}, bad("'%s' is a reserved JQL word. You must surround it in quotation marks to use it in a query.", t.text)
	}
	_, err := strconv.ParseInt(t.text, 10, 64)
	return value{text: t.text, number: err == nil}, nil
}

func (p *parser) orderBy() ([]order, error) {
	p.at++
	if !p.either("by") {
		return nil, bad("expecting 'by' but got '%s'", p.peek().text)
	}
	var out []order
	for {
		f := p.next()
		if f.kind != "word" && f.kind != "string" {
			return nil, bad("expecting a field name but got '%s'", f.text)
		}
		o := order{field: strings.ToLower(f.text)}
		if p.either("desc") {
			o.desc = true
		} else {
			p.either("asc")
		}
		if out = append(out, o); !p.sign(",") {
			return out, nil
		}
		p.at++
	}
}

// pushNot moves every negation to the leaves and turns their operators round, as Jira does before it looks at any field: a
// negated test of an empty field is then as false as the test itself.
func pushNot(n *node, negated bool) *node {
	switch n.op {
	case "not":
		return pushNot(n.terms[0], !negated)
	case "and", "or":
		out := &node{op: n.op}
		if negated {
			out.op = map[string]string{"and": "or", "or": "and"}[n.op]
		}
		for _, t := range n.terms {
			out.terms = append(out.terms, pushNot(t, negated))
		}
		return out
	}
	if !negated {
		return n
	}
	c := *n
	c.cmp = map[string]string{"=": "!=", "!=": "=", "~": "!~", "!~": "~", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
		"in": "not in", "not in": "in", "is": "is not", "is not": "is"}[n.cmp]
	return &c
}
