package query

import (
	"strconv"
	"strings"
)

// testText writes a test in the language's words; a negated order test has no spelling but not.
func testText(name string, op Op, neg bool, vals []string) string {
	list := func() string { return strings.Join(vals, ", ") }
	switch {
	case op == OpEmpty && neg:
		return name + " is not empty"
	case op == OpEmpty:
		return name + " is empty"
	case op == OpIn && len(vals) == 1 && neg:
		return name + " != " + list()
	case op == OpIn && len(vals) == 1:
		return name + " = " + list()
	case op == OpIn && neg:
		return name + " not in (" + list() + ")"
	case op == OpIn:
		return name + " in (" + list() + ")"
	case op == OpContains && neg:
		return name + " not contains " + list()
	case op == OpStartsWith && neg:
		return name + " not starts with " + list()
	case neg:
		return "not " + testText(name, op, false, vals)
	}
	return name + " " + opWords[op] + " " + list()
}

var opWords = [...]string{
	OpIn: "=", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=",
	OpContains: "contains", OpStartsWith: "starts with", OpEmpty: "is empty",
}

func valueTexts(vs []Value) []string {
	texts := make([]string, len(vs))
	for i := range vs {
		texts[i] = valueText(&vs[i])
	}
	return texts
}

// valueText writes a value as the language spells it: quoted, so that nothing a stranger wrote reaches a terminal as a
// control character.
func valueText(v *Value) string {
	switch v.Type {
	case TypeBool:
		return strconv.FormatBool(v.Bool)
	case TypeWord:
		return v.Str
	case TypeNumber:
		return strconv.FormatFloat(v.Num, 'f', -1, 64)
	case TypeInstant:
		return v.Time.UTC().Format("2006-01-02T15:04:05.999Z07:00")
	case TypeDate:
		return v.Time.Format("2006-01-02")
	case TypeUser:
		return userText(&v.User)
	default:
		return quote(v.Str)
	}
}

func userText(u *User) string {
	switch {
	case u.Deleted:
		return "deleted account"
	case u.Login != "":
		return quote(u.Login)
	default:
		return quote("id:" + u.ID)
	}
}
