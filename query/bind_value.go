package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// value binds one value of a test of f; text is its canonical text. A value that was malformed was reported by the
// parser.
func (b *binder) value(v value, f *Field, shown string, op syntaxOp) (o operand, text string, ok bool) {
	if v.kind == valHole {
		return o, "", false
	}
	if v.kind == valString && v.text == "" {
		b.add(codeEmptyString, v.at, fmt.Sprintf("%s is compared with an empty string", shown), emptyAdvice(f, shown))
		return o, "", false
	}
	switch f.Type {
	case TypeBool:
		return b.boolValue(v, shown)
	case TypeWord:
		return b.wordValue(v, f, shown)
	case TypeName, TypeRef, TypeText:
		return b.stringValue(v, f, shown, op)
	case TypeUser:
		return b.userValue(v, f, shown)
	case TypeInstant:
		return b.instantValue(v, shown)
	case TypeDate:
		return b.dateValue(v, shown)
	case TypeCustom:
		return b.customValue(v, shown, op)
	}
	b.wrong(v, f, shown, "")
	return o, "", false
}

func emptyAdvice(f *Field, shown string) string {
	if f.Empty == MayBeEmpty || f.ID == MName {
		return fmt.Sprintf("write %s is empty", shown)
	}
	return "write what it should hold"
}

func (b *binder) wrong(v value, f *Field, shown, suggest string) {
	if v.kind == valNow {
		b.add(codeNowHere, v.at, fmt.Sprintf("now is no value for %s, which is %s", shown, typeName(f.Type)), "write "+exampleFor(f, shown))
		return
	}
	if suggest == "" {
		suggest = "write " + exampleFor(f, shown)
	}
	b.add(codeWrongType, v.at, fmt.Sprintf("%s is %s and no value for %s, which is %s", clip(v.String(), 60), valueName(v.kind), shown, typeName(f.Type)), suggest)
}

func (b *binder) boolValue(v value, shown string) (operand, string, bool) {
	if v.kind != valBool {
		b.wrong(v, &Field{Type: TypeBool}, shown, fmt.Sprintf("write %[1]s = true or %[1]s = false", shown))
		return operand{}, "", false
	}
	return operand{lit: Bool(v.yes)}, v.text, true
}

func (b *binder) wordValue(v value, f *Field, shown string) (operand, string, bool) {
	if v.kind != valWord && v.kind != valString {
		b.wrong(v, f, shown, fmt.Sprintf("write %s", list(f.Words, "or")))
		return operand{}, "", false
	}
	w := foldASCII(v.text)
	if !slices.Contains(f.Words, w) {
		b.add(codeUnknownWord, v.at, fmt.Sprintf("%q is not a word of %s", clip(v.text, 60), shown), wordAdvice(w, f))
		return operand{}, "", false
	}
	return operand{lit: Word(w)}, w, true
}

func (b *binder) stringValue(v value, f *Field, shown string, op syntaxOp) (operand, string, bool) {
	switch v.kind {
	case valString:
	case valWord:
		b.unquoted(v, shown, op)
		return operand{}, "", false
	case valNumber, valBool, valDate:
		b.wrong(v, f, shown, "write "+quote(v.text))
		return operand{}, "", false
	default:
		b.wrong(v, f, shown, "")
		return operand{}, "", false
	}
	if f.ID == MCommand && !b.commandFits(v, op) {
		return operand{}, "", false
	}
	lit := Value{Type: f.Type, Str: v.text}
	return operand{lit: lit}, v.String(), true
}

// commandFits refuses text that no command can equal or begin with.
func (b *binder) commandFits(v value, op syntaxOp) bool {
	switch {
	case !strings.HasPrefix(v.text, "/"):
		b.add(codeWrongType, v.at, fmt.Sprintf(`%s does not begin with "/", as every command does`, v), "write "+quote("/"+v.text))
	case strings.ContainsAny(v.text, " \t\n\r"):
		b.add(codeWrongType, v.at, fmt.Sprintf("%s is more than the first word of a comment", v), "write "+quote(strings.Fields(v.text)[0]))
	default:
		return true
	}
	return false
}

// unquoted reports a bare word where text belongs.
func (b *binder) unquoted(v value, shown string, op syntaxOp) {
	switch v.text {
	case "null", "none", "nil", "undefined":
		b.add(codeQuotes, v.at, fmt.Sprintf("%q is not a value", v.text), emptinessAdvice(shown, op)+", or "+quote(v.text)+" if it is text")
		return
	}
	b.add(codeQuotes, v.at, fmt.Sprintf("%q is not quoted", v.text), "write "+quote(v.text))
}

func emptinessAdvice(shown string, op syntaxOp) string {
	if syntaxOps[op].neg {
		return fmt.Sprintf("write %s is not empty", shown)
	}
	return fmt.Sprintf("write %s is empty", shown)
}

func (b *binder) userValue(v value, f *Field, shown string) (operand, string, bool) {
	switch v.kind {
	case valSelf:
		if b.env.Self == "" {
			b.add(codeNoSelf, v.at, fmt.Sprintf("self: no account of this harness on %s is configured", b.cat.provider), "configure the account, or write a login in quotes")
			return operand{}, "", false
		}
		return operand{lit: UserValue(User{ID: b.env.Self})}, "self", true
	case valString:
		u, ok := b.user(v)
		return operand{lit: UserValue(u)}, v.String(), ok
	case valWord:
		b.bareUser(v, shown)
	case valNumber:
		b.wrong(v, f, shown, "write "+quote("id:"+v.text)+" for a stable id, or a login in quotes")
	default:
		b.wrong(v, f, shown, "")
	}
	return operand{}, "", false
}

func (b *binder) bareUser(v value, shown string) {
	switch v.text {
	case "me", "myself", "currentuser", "current_user":
		b.add(codeQuotes, v.at, fmt.Sprintf("%q is not an account", v.text), "write self for the account of this harness")
		return
	case "null", "none", "nil", "nobody", "unassigned":
		b.add(codeQuotes, v.at, fmt.Sprintf("%q is not an account", v.text), fmt.Sprintf("write %s is empty", shown))
		return
	}
	if f, ok := b.cat.Field(v.text); ok && f.Type == TypeUser {
		b.add(codeFieldAsValue, v.at, fmt.Sprintf("%q is a field, and a field is a value for times only", v.text), "write a login in quotes, or self")
		return
	}
	b.add(codeQuotes, v.at, fmt.Sprintf("%q is not quoted", v.text), "write "+quote(v.text))
}

// user reads "login", "id:…" and, on Jira, an account id.
func (b *binder) user(v value) (User, bool) {
	bad := func(message, suggest string) (User, bool) {
		b.add(codeUser, v.at, message, suggest)
		return User{}, false
	}
	id, byID := strings.CutPrefix(v.text, "id:")
	switch {
	case byID && (id == "" || strings.ContainsAny(id, " \t\n")):
		return bad(fmt.Sprintf("%s has no stable id", v), `write "id:…" with the account's id at the provider`)
	case byID:
		return User{ID: id}, true
	case strings.HasPrefix(v.text, "@"):
		return bad(fmt.Sprintf(`%s begins with "@"`, v), "write "+quote(strings.TrimLeft(v.text, "@")))
	case strings.ContainsAny(v.text, " \t\n"):
		return bad(fmt.Sprintf("%s is not an account: it has a space", v), "write the login or id, not the name that is shown")
	case strings.Contains(v.text, "@"):
		return bad(fmt.Sprintf("%s is an e-mail address", v), "write the login or id of the account")
	case b.cat.provider == Jira:
		return User{ID: v.text}, true
	}
	return User{Login: v.text, Bot: b.cat.provider == GitHub && strings.HasSuffix(foldASCII(v.text), "[bot]")}, true
}

func (b *binder) instantValue(v value, shown string) (operand, string, bool) {
	at := &Field{Type: TypeInstant}
	switch v.kind {
	case valInstant:
		return operand{lit: Instant(v.time)}, v.text, true
	case valNow:
		return operand{now: true, offset: v.offset}, v.text, true
	case valWord:
		return b.fieldValue(v, shown)
	case valDate:
		b.wrong(v, at, shown, fmt.Sprintf("write %sT00:00:00Z", v.text))
	case valString:
		b.wrong(v, at, shown, "write it without quotes, as 2026-01-31T09:00:00Z or now - 14d")
	default:
		b.wrong(v, at, shown, "write 2026-01-31T09:00:00Z or now - 14d")
	}
	return operand{}, "", false
}

// fieldValue binds a time field of the entity that stands as a value.
func (b *binder) fieldValue(v value, shown string) (operand, string, bool) {
	f, ok := b.cat.Field(v.text)
	switch {
	case ok && f.Type == TypeInstant && slices.Contains(f.Kinds, b.kind):
		b.fields.Add(f.ID)
		return operand{field: f.ID}, f.Name, true
	case ok:
		b.add(codeFieldAsValue, v.at, fmt.Sprintf("%s is %s and cannot be compared with %s, which is an instant", f.Name, typeName(f.Type), shown), "write "+list(b.timeFields(), "or"))
	case v.text == "today" || v.text == "yesterday" || v.text == "tomorrow":
		b.add(codeFieldAsValue, v.at, fmt.Sprintf("%q is not an instant", v.text), "write now, now - 1d or now + 1d")
	default:
		b.add(codeFieldAsValue, v.at, fmt.Sprintf("%q is not a time field of the entity", v.text), didYouMean(v.text, b.timeFields(), "write 2026-01-31T09:00:00Z, now - 14d, or one of "+list(b.timeFields(), "or")))
	}
	return operand{}, "", false
}

func (b *binder) timeFields() []string {
	var out []string
	for _, n := range b.cat.names {
		if f := b.cat.byName[n]; f.Type == TypeInstant && slices.Contains(f.Kinds, b.kind) {
			out = append(out, n)
		}
	}
	return out
}

func (b *binder) dateValue(v value, shown string) (operand, string, bool) {
	day := &Field{Type: TypeDate}
	switch v.kind {
	case valDate:
		return operand{lit: Date(v.time)}, v.text, true
	case valNow:
		return operand{now: true, offset: v.offset}, v.text, true
	case valInstant:
		b.wrong(v, day, shown, fmt.Sprintf("write %s", v.text[:len("2026-01-31")]))
	case valString:
		b.wrong(v, day, shown, "write it without quotes, as 2026-01-31 or now + 3d")
	case valWord:
		if f, ok := b.cat.Field(v.text); ok {
			b.add(codeFieldAsValue, v.at, fmt.Sprintf("%s cannot be compared with %s, which is a date", f.Name, shown), "write 2026-01-31 or now + 3d")
			break
		}
		b.wrong(v, day, shown, "write 2026-01-31 or now + 3d")
	default:
		b.wrong(v, day, shown, "write 2026-01-31 or now + 3d")
	}
	return operand{}, "", false
}

func (b *binder) customValue(v value, shown string, op syntaxOp) (operand, string, bool) {
	switch v.kind {
	case valString:
		if syntaxOps[op].op == OpContains {
			return operand{lit: Text(v.text)}, v.String(), true
		}
		return operand{lit: Name(v.text)}, v.String(), true
	case valNumber:
		return operand{lit: Number(v.num)}, v.text, true
	case valBool:
		return operand{lit: Bool(v.yes)}, v.text, true
	case valDate:
		return operand{lit: Date(v.time)}, v.text, true
	case valInstant, valNow:
		return b.instantValue(v, shown)
	case valSelf:
		return b.userValue(v, &Field{Type: TypeUser}, shown)
	}
	if f, ok := b.cat.Field(v.text); ok && f.Type == TypeInstant {
		return b.fieldValue(v, shown)
	}
	b.unquoted(v, shown, op)
	return operand{}, "", false
}

// key identifies an operand: two with one key are the same value.
func (o operand) key() string {
	switch {
	case o.now:
		return "now " + o.offset.String()
	case o.field != 0:
		return "field " + strconv.Itoa(int(o.field))
	}
	return o.lit.key()
}

func (v Value) key() string {
	switch v.Type {
	case TypeBool:
		return strconv.FormatBool(v.Bool)
	case TypeName, TypeText, TypeWord:
		return "s" + foldASCII(v.Str)
	case TypeUser:
		if v.User.ID != "" {
			return "id " + v.User.ID
		}
		return "login " + foldASCII(v.User.Login)
	case TypeInstant, TypeDate:
		return "t" + strconv.FormatInt(v.Time.UnixMilli(), 10)
	case TypeNumber:
		return "n" + strconv.FormatFloat(v.Num, 'g', -1, 64)
	}
	return "s" + v.Str
}
