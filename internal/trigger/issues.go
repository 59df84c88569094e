package trigger

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
)

// convert turns cel-go's errors into issues with places in the source.
func convert(src, code string, issues *cel.Issues, s *schema) []Issue {
	var out []Issue
	for _, e := range issues.Errors() {
		i := Issue{Code: code, Message: plain(e.Message), Suggest: s.suggest(src, e.Message)}
		if code == CodeSyntax {
			i.Message, i.Suggest = syntaxError(e.Message)
		}
		i.place(src, e.Location)
		if i.Message == endsEarly {
			i.placeEnd(src)
		}
		out = append(out, i)
		if code == CodeSyntax && strings.HasSuffix(i.Message, noOperator) {
			break // what follows it is only read wrongly
		}
	}
	if len(out) == 0 {
		out = append(out, Issue{Code: code, Line: 1, Column: 1, Message: issues.Err().Error()})
	}
	return out
}

// plain hides the names that macros put behind members, and whose nature no trigger can write.
func plain(msg string) string {
	return strings.NewReplacer(each, "", present, "", " (in container '')", "").Replace(msg)
}

const (
	endsEarly  = "the expression ends too early"
	noOperator = " is no operator of CEL"
)

var offending = regexp.MustCompile(`(?:mismatched input|extraneous input|token recognition error at:|no viable alternative at input) '(.*?)'(?: expecting .*)?$`)

// syntaxError says what the parser's generator calls mismatched, extraneous or not viable. Its list of what could
// follow instead helps nobody.
func syntaxError(msg string) (message, suggest string) {
	m := offending.FindStringSubmatch(msg)
	if m == nil {
		return strings.TrimPrefix(plain(msg), "Syntax error: "), ""
	}
	switch word := strings.TrimSpace(m[1]); word {
	case "<EOF>":
		return endsEarly, "write what belongs after its last word"
	case "and", "or", "not", "=", "&", "|":
		ours := map[string]string{"and": "&&", "or": "||", "not": "!", "=": "==", "&": "&&", "|": "||"}
		return fmt.Sprintf("%q", word) + noOperator, "write " + ours[word]
	default:
		if r := []rune(word); len(r) > 40 {
			word = string(r[:40]) + "…"
		}
		suggest := ""
		quote := strings.TrimPrefix(word, `\`)
		if open := strings.HasPrefix(quote, `"`) || strings.HasPrefix(quote, "'"); open && (len(quote) < 2 || quote[len(quote)-1] != quote[0]) {
			suggest = "close the string"
		}
		return fmt.Sprintf("%q has no place here", word), suggest
	}
}

func (i *Issue) place(src string, at common.Location) {
	i.Line, i.Column = max(at.Line(), 1), max(at.Column(), 0)+1
	rest := src
	for range i.Line - 1 {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			break
		}
		rest = after
	}
	i.Offset = len(src) - len(rest)
	n := 0
	for at := range rest {
		if n == i.Column-1 {
			i.Offset += at
			return
		}
		n++
	}
	i.Offset = len(src)
}

// placeEnd is behind the last word, not behind the line breaks that a block of YAML ends with.
func (i *Issue) placeEnd(src string) {
	text := strings.TrimRight(src, " \t\r\n")
	line := text[strings.LastIndexByte(text, '\n')+1:]
	i.Offset, i.Line, i.Column = len(text), strings.Count(text, "\n")+1, utf8.RuneCountInString(line)+1
}

// suggest names the member that was probably meant, or those that there are.
func (s *schema) suggest(src, msg string) string {
	if name, ok := quoted(msg, "undeclared reference to '"); ok {
		return unknownName(src, name)
	}
	name, ok := quoted(plain(msg), "undefined field '")
	if !ok {
		return ""
	}
	owner := s.ownerOf(src, name)
	if owner == "" { // what stands behind a variable of a macro
		if m := nearest(name, s.objects); m != "" {
			return "did you mean " + m + "?"
		}
		return ""
	}
	ms := s.objects[owner]
	if _, ok := ms[name]; ok && strings.Contains(msg, each) {
		return name + " is no list"
	}
	if m := nearest(name, map[string]map[string]*member{owner: ms}); m != "" {
		return "did you mean " + m + "?"
	}
	return "it has " + strings.Join(slices.Sorted(maps.Keys(ms)), ", ")
}

func quoted(msg, before string) (string, bool) {
	_, after, ok := strings.Cut(msg, before)
	name, _, closed := strings.Cut(after, "'")
	return name, ok && closed
}

func unknownName(src, name string) string {
	switch {
	case name == "now":
		return "a trigger has no clock: test the time in the query"
	case strings.Contains(src, name+"("):
		return ""
	}
	return "a trigger has entity and event"
}

// ownerOf is the type of what the source writes before the first ".name", when that begins with entity or event.
func (s *schema) ownerOf(src, name string) string {
	at, err := regexp.Compile(`\b(entity|event)((?:\s*\.\s*\w+)*?)\s*\.\s*` + regexp.QuoteMeta(name) + `\b`)
	if err != nil {
		return ""
	}
	m := at.FindStringSubmatch(src)
	if m == nil {
		return ""
	}
	owner := map[string]string{"entity": entityType.TypeName(), "event": eventType.TypeName()}[m[1]]
	for _, part := range strings.FieldsFunc(m[2], func(r rune) bool { return r == '.' || unicode.IsSpace(r) }) {
		next, ok := s.lookup(owner, part)
		if !ok {
			return ""
		}
		owner = next.typ.TypeName()
	}
	if _, ok := s.objects[owner]; !ok {
		return ""
	}
	return owner
}

// nearest is the member whose name is like the given one: one letter differs, or two where there are four or more.
func nearest(name string, objects map[string]map[string]*member) string {
	best, distance := "", 2
	if len(name) >= 4 {
		distance = 3
	}
	for _, ms := range objects {
		for m := range ms {
			if d := edits(name, m); d > 0 && (d < distance || d == distance && best != "" && m < best) {
				best, distance = m, d
			}
		}
	}
	if distance >= len(name) {
		return ""
	}
	return best
}

// edits is the number of letters to change, add or drop between two short names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
