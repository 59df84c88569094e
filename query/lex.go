package query

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// tokens of the language. Keywords come before Ident and so are reserved, in any case. Spans, dates, instants and
// strings are read generously and judged later, so that a wrong one is named as what it was meant to be. Foreign
// spellings and stray characters have rules of their own: they are reported and, where the meaning is plain, repaired,
// so that the rest of the query is still read.
var tokens = lexer.MustStateful(lexer.Rules{"Root": {
	{Name: "Space", Pattern: `[ \t\r\n]+`},
	{Name: "String", Pattern: `"(?:\\[^\n]|[^"\\\n])*(?:"|\\)?|'(?:\\[^\n]|[^'\\\n])*(?:'|\\)?`},
	{Name: "Curly", Pattern: "[“”„«][^“”„»\n]*[“”»]?|[‘’][^‘’\n]*[‘’]?|`[^`\n]*`?"},
	{Name: "Comment", Pattern: `#[^\n]*|//[^\n]*|/\*(?s:.*?)(?:\*/|$)|--[ \t][^\n]*`},
	{Name: "Instant", Pattern: `\d+-\d+-\d+[Tt]\d[0-9A-Za-z:.,]*(?:[+-]\d[0-9:]*)?`},
	{Name: "Date", Pattern: `\d+-\d+-\d+`},
	{Name: "Span", Pattern: `\d+(?:\.\d+)?[A-Za-z_][A-Za-z0-9_]*`},
	{Name: "Number", Pattern: `\d+(?:\.\d+)?`},
	{Name: "And", Pattern: `(?i:and)\b`},
	{Name: "Or", Pattern: `(?i:or)\b`},
	{Name: "Not", Pattern: `(?i:not)\b`},
	{Name: "In", Pattern: `(?i:in)\b`},
	{Name: "Is", Pattern: `(?i:is)\b`},
	{Name: "Empty", Pattern: `(?i:empty)\b`},
	{Name: "Any", Pattern: `(?i:any)\b`},
	{Name: "No", Pattern: `(?i:no)\b`},
	{Name: "Contains", Pattern: `(?i:contains)\b`},
	{Name: "Starts", Pattern: `(?i:starts)\b`},
	{Name: "With", Pattern: `(?i:with)\b`},
	{Name: "True", Pattern: `(?i:true)\b`},
	{Name: "False", Pattern: `(?i:false)\b`},
	{Name: "Now", Pattern: `(?i:now)\b`},
	{Name: "Self", Pattern: `(?i:self)\b`},
	{Name: "Ident", Pattern: `[A-Za-z][A-Za-z0-9_]*`},
	{Name: "Foreign", Pattern: `==+|=~|=>|=<|<>|!==?=|!~|~|&&?|\|\|?`},
	{Name: "Cmp", Pattern: `!=|<=|>=|=|<|>`},
	{Name: "Bang", Pattern: `!`},
	{Name: "LParen", Pattern: `\(`},
	{Name: "RParen", Pattern: `\)`},
	{Name: "LBracket", Pattern: `\[`},
	{Name: "RBracket", Pattern: `\]`},
	{Name: "Comma", Pattern: `,`},
	{Name: "Colon", Pattern: `:`},
	{Name: "Plus", Pattern: `\+`},
	{Name: "Minus", Pattern: `-`},
	{Name: "Junk", Pattern: `(?s:.)[^\s"'(),=<>]*`},
}})

// kinds are the token types by the names above.
var kinds = func() (k struct {
	space, str, curly, comment, instant, date, span, number, and, or, not, in, is, empty, any, no, contains, starts, with,
	yes, false, now, self, ident, foreign, cmp, bang, lparen, rparen, lbracket, rbracket, comma, colon, plus, minus, junk lexer.TokenType
}) {
	s := tokens.Symbols()
	k.space, k.str, k.curly, k.comment = s["Space"], s["String"], s["Curly"], s["Comment"]
	k.instant, k.date, k.span, k.number = s["Instant"], s["Date"], s["Span"], s["Number"]
	k.and, k.or, k.not, k.in, k.is, k.empty = s["And"], s["Or"], s["Not"], s["In"], s["Is"], s["Empty"]
	k.any, k.no, k.contains, k.starts, k.with = s["Any"], s["No"], s["Contains"], s["Starts"], s["With"]
	k.yes, k.false, k.now, k.self, k.ident = s["True"], s["False"], s["Now"], s["Self"], s["Ident"]
	k.foreign, k.cmp, k.bang = s["Foreign"], s["Cmp"], s["Bang"]
	k.lparen, k.rparen, k.lbracket, k.rbracket = s["LParen"], s["RParen"], s["LBracket"], s["RBracket"]
	k.comma, k.colon, k.plus, k.minus, k.junk = s["Comma"], s["Colon"], s["Plus"], s["Minus"], s["Junk"]
	return k
}()

// token is a lexed token with the range of bytes that it stands for, which a repaired token keeps.
type token struct {
	lexer.Token
	at Span
}

func (t token) is(ks ...lexer.TokenType) bool {
	for _, k := range ks {
		if t.Type == k {
			return true
		}
	}
	return false
}

// word reports whether t is a name or a keyword, that is: letters.
func (t token) word() bool {
	return t.Type == kinds.ident || t.keyword()
}

func (t token) keyword() bool {
	return t.is(kinds.and, kinds.or, kinds.not, kinds.in, kinds.is, kinds.empty, kinds.any, kinds.no, kinds.contains,
		kinds.starts, kinds.with, kinds.yes, kinds.false, kinds.now, kinds.self)
}

// show names t in a message.
func (t token) show() string {
	switch {
	case t.EOF():
		return "the end of the query"
	case t.Type == kinds.str:
		return clip(t.Value, 40)
	default:
		return fmt.Sprintf("%q", clip(t.Value, 40))
	}
}

// clip shortens s for a message, on a rune's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// lex reads src, reports what is no token of the language and repairs what it can. Junk remains as a token: the
// condition around it is a hole that needs no second report.
func lex(src string, r *report) ([]token, error) {
	l, err := tokens.LexString("", src)
	if err != nil {
		return nil, fmt.Errorf("lex query: %w", err)
	}
	var out []token
	for {
		lt, err := l.Next()
		if err != nil {
			return nil, fmt.Errorf("lex query: %w", err)
		}
		t := token{Token: lt, at: Span{lt.Pos.Offset, lt.Pos.Offset + len(lt.Value)}}
		if t.EOF() {
			return append(out, t), nil
		}
		if t.Type == kinds.space {
			continue
		}
		out = append(out, repair(t, r))
	}
}

// spellings maps operators of other languages to ours.
var spellings = map[string]struct{ kind, ours string }{
	"==": {"Cmp", "="}, "===": {"Cmp", "="}, "!==": {"Cmp", "!="}, "<>": {"Cmp", "!="}, "=>": {"Cmp", ">="}, "=<": {"Cmp", "<="},
	"~": {"Contains", "contains"}, "=~": {"Contains", "contains"}, "!~": {"", "not contains"},
	"&": {"And", "and"}, "&&": {"And", "and"}, "|": {"Or", "or"}, "||": {"Or", "or"},
}

func repair(t token, r *report) token {
	switch t.Type {
	case kinds.foreign:
		s, ok := spellings[t.Value]
		suggest := "write " + s.ours
		if !ok {
			suggest = "write ="
		}
		r.add(codeSpelling, t.at, fmt.Sprintf("%q is not an operator of this language", t.Value), suggest)
		if s.kind == "" {
			t.Type = kinds.junk
			return t
		}
		t.Type, t.Value = tokens.Symbols()[s.kind], s.ours
	case kinds.bang:
		r.add(codeSpelling, t.at, `"!" is not an operator of this language`, "write not")
		t.Type, t.Value = kinds.not, "not"
	case kinds.comment:
		r.add(codeComment, t.at, "there are no comments in a query", "put it into the YAML file, outside the query")
		t.Type = kinds.junk
	case kinds.curly:
		inner := strings.Trim(t.Value, "“”„«»‘’`")
		r.add(codeCharacter, t.at, fmt.Sprintf("%q is not quoted with straight quotes", clip(t.Value, 40)), "write "+quote(inner))
		t.Type, t.Value = kinds.str, quote(inner)
	case kinds.junk:
		reportJunk(t, r)
	}
	return t
}

func reportJunk(t token, r *report) {
	first, _ := utf8.DecodeRuneInString(t.Value)
	switch first {
	case '@':
		r.add(codeCharacter, t.at, fmt.Sprintf("%q is not an account", clip(t.Value, 40)), `write self, or the login in quotes without "@"`)
	case '*', '?', '%':
		r.add(codeCharacter, t.at, fmt.Sprintf("%q: there are no wildcards", clip(t.Value, 40)), "use starts with or contains")
	case '.':
		r.add(codeCharacter, t.at, fmt.Sprintf("%q: there are no dots in names", clip(t.Value, 40)), "members stand inside parentheses: any label(name = …)")
	case '/':
		r.add(codeUnquoted, t.at, fmt.Sprintf("%q is not quoted", clip(t.Value, 40)), "write "+quote(t.Value))
	case ';':
		r.add(codeCharacter, t.at, `";" has no meaning here`, "a query is one condition; join parts with and or or")
	case '\u00a0', '\u2007', '\u202f', '\ufeff', '\u200b':
		r.add(codeCharacter, t.at, fmt.Sprintf("the character %+q looks like a space and is none", first), "type a plain space")
	default:
		r.add(codeCharacter, t.at, fmt.Sprintf("%+q has no meaning here", clip(t.Value, 40)), "text belongs in quotes")
	}
}

// replay is a lexer.Lexer over tokens that were already read, so that participle parses one condition of a query.
type replay struct {
	ts  []token
	eof lexer.Token
}

func (p *replay) Next() (lexer.Token, error) {
	if len(p.ts) == 0 {
		return p.eof, nil
	}
	t := p.ts[0].Token
	p.ts = p.ts[1:]
	return t, nil
}

var _ lexer.Lexer = (*replay)(nil)
