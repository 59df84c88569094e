package forgesim

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Run does the verbs of a script, one a line, and stops at the first error, naming its line.
// A line is `verb key=value key="quoted value"`; "#" at the start of a line or after a
// space begins a comment; ";" between two spaces parts two verbs of one line.
func (w *World) Run(ctx context.Context, script io.Reader) error {
	sc := bufio.NewScanner(script)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		words, err := split(sc.Text())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		for _, cmd := range parts(words) {
			if err := w.doWords(ctx, cmd); err != nil {
				return fmt.Errorf("line %d: %s: %w", n, cmd[0], err)
			}
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("script: %w", err)
	}
	return nil
}

// parts breaks the words of a line at ";".
func parts(words []string) [][]string {
	var out [][]string
	var cur []string
	for _, wd := range append(words, ";") {
		if wd != ";" {
			cur = append(cur, wd)
			continue
		}
		if len(cur) > 0 {
			out = append(out, cur)
		}
		cur = nil
	}
	return out
}

func (w *World) doWords(ctx context.Context, words []string) error {
	args := make(map[string]string, len(words))
	for _, wd := range words[1:] {
		k, v, ok := strings.Cut(wd, "=")
		if !ok || k == "" {
			return usage("%q: want key=value", wd)
		}
		if _, twice := args[k]; twice {
			return usage("%s is given twice", k)
		}
		args[k] = v
	}
	return w.Do(ctx, words[0], args)
}

// split breaks a line into words, with Go's escapes inside double quotes.
func split(line string) ([]string, error) {
	var out []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			return out, nil
		}
		var word strings.Builder
		for line != "" && !strings.ContainsRune(" \t\r", rune(line[0])) {
			if line[0] != '"' {
				word.WriteByte(line[0])
				line = line[1:]
				continue
			}
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, usage("unclosed quote: %s", line)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, usage("bad quote: %s", quoted)
			}
			word.WriteString(text)
			line = line[len(quoted):]
		}
		out = append(out, word.String())
	}
}
