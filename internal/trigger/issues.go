package trigger

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
)

// convert turns cel-go's errors into issues with places in the source.
func convert(src, code string, issues *cel.Issues, s *schema) []Issue {
	var out []Issue
	for _, e := range issues.Errors() {
		i := Issue{Code: code, Message: plain(e.Message), Suggest: s.suggest(e.Message)}
		if code == CodeSyntax {
			i.Message, i.Suggest = syntaxError(e.Message)
		}
		i.place(src, e.Location)
		out = append(out, i)
	}
	if len(out) == 0 {
		out = append(out, Issue{Code: code, Line: 1, Column: 1, Message: issues.Err().Error()})
	}
	return out
}

// plain hides the names that macros put behind members, and whose nature no trigger can write.
func plain(msg string) string {
	return strings.NewReplacer(each, "", present, "").Replace(msg)
}

var offending = regexp.MustCompile(`(?:mismatched input|extraneous input|token recognition error at:|no viable alternative at input) '(.*?)'(?: expecting .*)?$`)

// syntaxError says what the parser's generator calls mismatched, extraneous or not viable. Its list of what could
// follow instead helps nobody.
func syntaxError(msg string) (message, suggest string) {
	m := offending.FindStringSubmatch(msg)
	if m == nil {
		return strings.TrimPrefix(plain(msg), "Syntax error: "), ""
	}
	switch word := m[1]; word {
	case "<EOF>":
		return "the expression ends too early", "write what belongs after its last word"
	case "and", "or", "not", "=", "&", "|":
		ours := map[string]string{"and": "&&", "or": "||", "not": "!", "=": "==", "&": "&&", "|": "||"}
		return fmt.Sprintf("%q is no operator of CEL", word), "write " + ours[word]
	default:
		if r := []rune(word); len(r) > 40 {
			word = string(r[:40]) + "…"
		}
		suggest := ""
		if strings.HasPrefix(word, `"`) || strings.HasPrefix(word, "\\'") || strings.HasPrefix(word, "'") {
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

// suggest names the member that was probably meant.
func (s *schema) suggest(msg string) string {
	_, after, ok := strings.Cut(plain(msg), "undefined field '")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(after, "'")
	best, distance := "", 3
	for _, ms := range s.objects {
		if _, ok := ms[name]; ok && strings.Contains(msg, each) {
			return fmt.Sprintf("%s is no list", name)
		}
		for m := range ms {
			if d := edits(name, m); d < distance || d == distance && m < best {
				best, distance = m, d
			}
		}
	}
	if best == "" || distance >= len(name) {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", best)
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
