package query

import (
	"fmt"
	"strings"
)

// explain says what is wrong with the tokens of one condition that participle refused; after is the token behind them.
// It follows the grammar of a test from left to right and words the first thing that does not fit as a person meant it.
func (p *parser) explain(ts []token, after token) {
	e := explainer{p: p, ts: ts, after: after}
	if !e.strings() {
		e.operand()
	}
}

type explainer struct {
	p     *parser
	ts    []token
	after token
}

func (e *explainer) at(i int) token {
	if i < len(e.ts) {
		return e.ts[i]
	}
	return e.after
}

func (e *explainer) rest(i int) Span {
	if i >= len(e.ts) {
		return e.after.at
	}
	return Span{e.ts[i].at.Start, e.ts[len(e.ts)-1].at.End}
}

// strings explains strings that end where their writer did not mean them to; it reports whether there are such.
func (e *explainer) strings() bool {
	for i, t := range e.ts {
		if t.Type != kinds.str {
			continue
		}
		if n := e.at(i + 1); i+1 < len(e.ts) && n.at.Start == t.at.End && (n.word() || n.Type == kinds.str) {
			e.p.add(codeOpenString, Span{t.at.Start, n.at.End}, fmt.Sprintf("%s follows the string %s without a space", n.show(), t.show()),
				fmt.Sprintf(`write \%c for a quote inside a string, or enclose it in the other quotes`, t.Value[0]))
			return true
		}
		if !closed(t.Value) {
			unquote(t, e.p.report)
			return true
		}
	}
	return false
}

func (e *explainer) operand() {
	t, n := e.at(0), e.at(1)
	add := e.p.add
	switch {
	case t.word() && n.Type == kinds.colon:
		for i := 0; i+1 < len(e.ts); i++ {
			if t := e.at(i); t.word() && e.at(i+1).Type == kinds.colon {
				add(codeForeignSyntax, Span{t.at.Start, e.at(min(i+2, len(e.ts)-1)).at.End}, fmt.Sprintf("%q is the syntax of a provider's search", t.Value+":"),
					"write field = value, for example label = \"bug\" or state = open")
			}
		}
	case t.Type == kinds.ident && n.Type == kinds.lbracket && e.at(2).Type == kinds.number && e.at(3).Type == kinds.rbracket:
		e.operator(4)
	case t.Type == kinds.ident && n.Type == kinds.lbracket:
		add(codeCustomField, e.rest(0), "a custom field is malformed", "write cf[10021]")
	case t.Type == kinds.ident:
		e.operator(1)
	case t.keyword():
		add(codeReserved, t.at, fmt.Sprintf("%q is a reserved word and no field", t.Value), "begin a condition with a field")
	case t.is(kinds.date, kinds.instant, kinds.span, kinds.minus):
		add(codeNotACondition, t.at, fmt.Sprintf("%s stands where a field belongs", t.show()), "write the field first: updated < now - 14d")
	case t.is(kinds.str, kinds.number):
		add(codeNotACondition, t.at, fmt.Sprintf("%s stands where a field belongs", t.show()), "write the field first: label = \"bug\"")
	default:
		add(codeNotACondition, t.at, fmt.Sprintf("%s stands where a condition belongs", t.show()), "begin a condition with a field")
	}
}

// operator explains from the operator on, at i; the operand is sound.
func (e *explainer) operator(i int) {
	t, n := e.at(i), e.at(i+1)
	field := strings.ToLower(e.at(0).Value)
	add := e.p.add
	switch t.Type {
	case kinds.cmp:
		e.value(i + 1)
	case kinds.in:
		e.list(i + 1)
	case kinds.is:
		e.empty(i)
	case kinds.contains:
		e.value(i + 1)
	case kinds.starts:
		if n.Type != kinds.with {
			add(codeNoValue, t.at, `"starts" is followed by `+n.show(), `write starts with "…"`)
			return
		}
		e.value(i + 2)
	case kinds.not:
		switch n.Type {
		case kinds.in, kinds.contains, kinds.starts:
			e.operator(i + 1)
		case kinds.cmp, kinds.str, kinds.ident:
			add(codeSpelling, t.at, `"not" stands before no in, contains or starts with`, "write != for not equal")
		default:
			add(codeSpelling, t.at, `"not" is followed by `+n.show(), "write not in (…), not contains or not starts with")
		}
	case kinds.lparen:
		add(codeNoQuantifier, e.rest(0), fmt.Sprintf("%q is followed by parentheses", field), fmt.Sprintf("write %[1]s in (…) for several values, or any %[1]s(…)", field))
	case kinds.ident, kinds.str, kinds.number, kinds.date, kinds.instant, kinds.now, kinds.self, kinds.yes, kinds.false, kinds.empty, kinds.with:
		e.noOperator(i, field)
	default:
		add(codeNotACondition, t.at, fmt.Sprintf("%s has no place after %q", t.show(), field), "write an operator: =, !=, <, <=, >, >=, in, contains, starts with, is empty")
	}
}

// foreignOperators are words that other languages use as operators.
var foreignOperators = map[string]string{
	"like": "contains, or starts with", "matches": "contains, or starts with; there are no regular expressions", "regex": "contains, or starts with",
	"has": "= for a value, or contains for text", "have": "=", "eq": "=", "equals": "=", "ne": "!=", "neq": "!=", "lt": "<", "le": "<=", "lte": "<=", "gt": ">", "ge": ">=", "gte": ">=",
	"before": "<", "after": ">", "since": ">=", "was": "=; history is not part of the language", "changed": "updated > now - 1d; history is not part of the language",
	"exists": "is not empty", "includes": "=", "include": "=", "ends": "contains; there is no ends with", "between": ">= … and <= …", "startswith": "starts with",
}

func (e *explainer) noOperator(i int, field string) {
	t := e.at(i)
	word := strings.ToLower(t.Value)
	switch ours := foreignOperators[word]; {
	case ranking(e.at(0)):
		e.p.add(codeForeignSyntax, e.rest(0), "a query has no "+field, "remove it; every match is handed on")
	case ours != "":
		e.p.add(codeSpelling, t.at, fmt.Sprintf("%q is not an operator of this language", t.Value), "write "+ours)
	case t.Type == kinds.with || t.Type == kinds.empty:
		e.p.add(codeNotACondition, t.at, fmt.Sprintf("%s has no place after %q", t.show(), field), "write is empty, or starts with")
	default:
		e.p.add(codeNotACondition, t.at, fmt.Sprintf("an operator is missing between %q and %s", field, t.show()), fmt.Sprintf("write %s = …", field))
	}
}

func (e *explainer) empty(i int) {
	t, n := e.at(i), e.at(i+1)
	if n.Type == kinds.not {
		n = e.at(i + 2)
	}
	at := Span{t.at.Start, n.at.End}
	if n.EOF() || len(e.ts) <= i+1 {
		at = t.at
	}
	switch w := strings.ToLower(n.Value); {
	case n.Type == kinds.empty:
		e.trailing(i + 2)
	case w == "null" || w == "none" || w == "nil" || w == "undefined" || w == "unset":
		e.p.add(codeSpelling, at, fmt.Sprintf("%q is not an operator of this language", "is "+w), "write is empty")
	default:
		e.p.add(codeSpelling, at, fmt.Sprintf(`"is" is followed by %s`, n.show()), `"is" goes with empty only; write = for a value`)
	}
}

// value explains from a single value on, at i.
func (e *explainer) value(i int) {
	if end, ok := e.oneValue(i); ok {
		e.trailing(end)
	}
}

// oneValue checks the value at i; it gives the index after it, or reports and gives false.
func (e *explainer) oneValue(i int) (int, bool) {
	t, n := e.at(i), e.at(i+1)
	prev := e.at(i - 1)
	add := e.p.add
	switch {
	case i >= len(e.ts):
		add(codeNoValue, prev.at, fmt.Sprintf("%s is followed by %s", prev.show(), t.show()), "write a value after it")
	case t.is(kinds.str, kinds.number, kinds.ident, kinds.yes, kinds.false, kinds.self, kinds.instant, kinds.date):
		return i + 1, true
	case t.Type == kinds.minus && n.Type == kinds.number:
		return i + 2, true
	case t.Type == kinds.now:
		return e.nowValue(i)
	case t.Type == kinds.span && !hasUnit(t.Value):
		add(codeNumber, t.at, fmt.Sprintf("%q is not a number", clip(t.Value, 40)), "write digits, with a point before decimals")
	case t.Type == kinds.span:
		add(codeSpan, t.at, fmt.Sprintf("%q stands alone", t.Value), "write now - "+t.Value)
	case t.Type == kinds.minus && n.Type == kinds.span:
		add(codeSpan, Span{t.at.Start, n.at.End}, fmt.Sprintf("%q stands alone", "-"+n.Value), "write now - "+n.Value)
	case t.Type == kinds.lparen && prev.is(kinds.contains, kinds.with):
		add(codeList, Span{t.at.Start, e.rest(i).End}, fmt.Sprintf("%s is followed by a list", prev.show()), "write one condition for each text and join them with or")
	case t.Type == kinds.lparen:
		add(codeList, Span{t.at.Start, e.rest(i).End}, fmt.Sprintf("%s is followed by a list", prev.show()), "write in (…) for several values")
	case t.Type == kinds.cmp:
		add(codeSpelling, Span{prev.at.Start, t.at.End}, fmt.Sprintf("%s is followed by %s", prev.show(), t.show()), "write one operator")
	case t.keyword():
		add(codeReserved, t.at, fmt.Sprintf("%q is a reserved word", t.Value), "write "+quote(t.Value)+" if it is text")
	default:
		add(codeNoValue, t.at, fmt.Sprintf("%s stands where a value belongs", t.show()), "write a value before it, or remove it")
	}
	return 0, false
}

func (e *explainer) nowValue(i int) (int, bool) {
	sign, span, unit := e.at(i+1), e.at(i+2), e.at(i+3)
	if i+1 >= len(e.ts) || !sign.is(kinds.plus, kinds.minus) {
		return i + 1, true
	}
	switch {
	case i+2 < len(e.ts) && span.Type == kinds.span:
		return i + 3, true
	case i+2 < len(e.ts) && span.Type == kinds.number && i+3 < len(e.ts) && unit.Type == kinds.ident:
		e.p.add(codeSpan, Span{span.at.Start, unit.at.End}, fmt.Sprintf("%q and %q stand apart", span.Value, unit.Value), "write them as one, such as "+span.Value+"d")
	case i+2 < len(e.ts) && span.Type == kinds.number:
		e.p.add(codeSpan, span.at, fmt.Sprintf("%q has no unit", span.Value), "the units are min, h, d and w")
	default:
		e.p.add(codeSpan, sign.at, fmt.Sprintf("%s is followed by %s", sign.show(), span.show()), "write a span such as 14d")
	}
	return 0, false
}

// list explains from the parenthesis of a list on, at i.
func (e *explainer) list(i int) {
	open := e.at(i)
	if i >= len(e.ts) || open.Type != kinds.lparen {
		e.p.add(codeList, e.at(i-1).at, `"in" is followed by `+open.show(), `write the values in parentheses: in ("a", "b")`)
		return
	}
	i++
	if e.at(i).Type == kinds.rparen && i < len(e.ts) {
		e.p.add(codeList, Span{open.at.Start, e.at(i).at.End}, "the list is empty", "write at least one value")
		return
	}
	for {
		if i >= len(e.ts) {
			e.p.add(codeUnclosed, open.at, `the list's "(" is not closed`, `write ")" after the last value`)
			return
		}
		end, ok := e.oneValue(i)
		if !ok {
			return
		}
		switch t := e.at(end); {
		case end >= len(e.ts):
			e.p.add(codeUnclosed, open.at, `the list's "(" is not closed`, `write ")" after the last value`)
			return
		case t.Type == kinds.comma:
			if i = end + 1; i < len(e.ts) && e.at(i).Type == kinds.rparen {
				e.trailing(i + 1)
				return
			}
		case t.Type == kinds.rparen:
			e.trailing(end + 1)
			return
		case t.is(kinds.and, kinds.or):
			e.p.add(codeList, t.at, fmt.Sprintf("%q stands in a list", strings.ToLower(t.Value)), "separate values with commas")
			return
		default:
			e.p.add(codeList, t.at, fmt.Sprintf("%s follows a value in a list", t.show()), "separate values with commas; text of several words is quoted")
			return
		}
	}
}

// trailing explains what follows a complete test.
func (e *explainer) trailing(i int) {
	t, prev := e.at(i), e.at(i-1)
	switch {
	case ranking(t):
		e.p.add(codeForeignSyntax, e.rest(i), fmt.Sprintf("a query has no %s", strings.ToLower(t.Value)), "remove it; every match is handed on")
	case t.is(kinds.plus, kinds.minus) && e.at(i+1).Type == kinds.span:
		e.p.add(codeSpan, Span{t.at.Start, e.at(i + 1).at.End}, fmt.Sprintf("%s is followed by a span of time", prev.show()), "a span is added to now only: now - 14d")
	case prev.Type == kinds.ident && (t.word() || t.is(kinds.minus, kinds.number, kinds.colon)):
		at := Span{prev.at.Start, e.rest(i).End}
		text := strings.TrimSpace(e.p.textOf(at))
		e.p.add(codeUnquoted, at, fmt.Sprintf("%q is not quoted", clip(text, 60)), "write "+quote(clip(text, 60)))
	case prev.Type == kinds.date && t.is(kinds.number, kinds.span, kinds.ident):
		e.p.add(codeTime, Span{prev.at.Start, e.rest(i).End}, "a date is followed by "+t.show(), "write an instant as 2026-01-31T09:00:00Z")
	case t.is(kinds.plus, kinds.minus):
		e.p.add(codeNotACondition, t.at, fmt.Sprintf("%s follows a value", t.show()), "spans are added to now only: now - 14d")
	case t.Type == kinds.comma:
		e.p.add(codeList, t.at, "a comma follows a condition", `write in ("a", "b") for several values, and or or between conditions`)
	default:
		e.p.add(codeNotACondition, t.at, fmt.Sprintf("%s has no place after a condition", t.show()), "join conditions with and or or")
	}
}

// ranking reports whether t begins a clause that orders or cuts results.
func ranking(t token) bool {
	switch strings.ToLower(t.Value) {
	case "order", "sort", "limit":
		return t.Type == kinds.ident
	}
	return false
}

func hasUnit(span string) bool {
	_, ok := units[strings.ToLower(strings.TrimLeft(span, "0123456789."))]
	return ok
}
