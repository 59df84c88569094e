package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// split breaks a line into words. Double quotes keep spaces together and take Go's escapes; "#" where a word could begin
// starts a comment.
func split(line string) ([]string, error) {
	var out []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			return out, nil
		}
		var word strings.Builder
		for line != "" && line[0] != ' ' && line[0] != '\t' && line[0] != '\r' {
			if line[0] != '"' {
				word.WriteByte(line[0])
				line = line[1:]
				continue
			}
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("unclosed quote: %s", line)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("bad quote: %s", quoted)
			}
			word.WriteString(text)
			line = line[len(quoted):]
		}
		out = append(out, word.String())
	}
}

// pairs reads words of the form key=value.
func pairs(words []string) (map[string]string, error) {
	out := make(map[string]string, len(words))
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("%q: want key=value", w)
		}
		if _, twice := out[k]; twice {
			return nil, fmt.Errorf("%s is given twice", k)
		}
		out[k] = v
	}
	return out, nil
}

var placeholder = regexp.MustCompile(`\{[a-z][a-z0-9-]*(\.id|\.upper)?\}`)

// expand replaces {name}; what lookup does not know stands for itself.
func expand(s string, lookup func(string) (string, error)) (string, error) {
	var first error
	out := placeholder.ReplaceAllStringFunc(s, func(m string) string {
		v, err := lookup(m[1 : len(m)-1])
		if err != nil && first == nil {
			first = err
		}
		return v
	})
	return out, first
}

var span = regexp.MustCompile(`^(.*?)([0-9]+)\.\.([0-9]+)$`)

// unfold turns e3..5 into e3 e4 e5.
func unfold(word string) ([]string, error) {
	m := span.FindStringSubmatch(word)
	if m == nil {
		return []string{word}, nil
	}
	from, err1 := strconv.Atoi(m[2])
	to, err2 := strconv.Atoi(m[3])
	if err1 != nil || err2 != nil || to < from || to-from > 10000 {
		return nil, fmt.Errorf("%q is no range", word)
	}
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, m[1]+strconv.Itoa(i))
	}
	return out, nil
}

// Words breaks a line of a script into words, as the suite does: for stages and tools that read scripts of their own.
func Words(line string) ([]string, error) { return split(line) }
