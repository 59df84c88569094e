package query_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
)

var update = flag.Bool("update", false, "rewrite the expectations of the golden files")

// block is one case of a corpus file that is about the text of a query. Lines are "key: value"; a value that goes on is
// indented by two spaces. Keys: on (provider and kind), self (an id, or none), query or quoted (a Go string, for bytes
// that do not show), and what is expected: print (where it differs from the query), error and warning with the code, the
// range of bytes, and the message.
type block struct {
	file     string
	line     int
	input    []string // lines as written, comments included
	on       string
	self     string
	src      string
	expected []string
}

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/v1/text-*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runCorpus(t, file) })
	}
}

func runCorpus(t *testing.T, file string) {
	blocks := readCorpus(t, file)
	var out strings.Builder
	for i, b := range blocks {
		if i > 0 {
			out.WriteString("\n")
		}
		for _, l := range b.input {
			out.WriteString(l + "\n")
		}
		if b.src == "" && len(b.expected) == 0 && !strings.Contains(strings.Join(b.input, "\n"), "query:") {
			continue // a comment
		}
		got := b.run(t)
		for _, l := range got {
			out.WriteString(l + "\n")
		}
		if !*update {
			assert.Equal(t, b.expected, got, "%s:%d: %s", b.file, b.line, b.src)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
}

func (b block) run(t *testing.T) []string {
	provider, kind, _ := strings.Cut(b.on, " ")
	c := query.NewCatalogue(provider, query.Kind(kind), nil)
	q, parsed := query.Parse(b.src)
	bound, ds := q.Bind(query.Kind(kind), c, query.Env{Self: b.self})
	assert.Equal(t, ds.Failed(), bound == nil, "%s:%d", b.file, b.line)
	var out []string
	if !parsed.Failed() && q.String() != b.src {
		out = append(out, "print: "+q.String())
	}
	for _, d := range ds {
		key := "error"
		if d.Severity == query.Warning {
			key = "warning"
		}
		text := d.Message
		assert.NotEmpty(t, d.Suggest, "every message says what to write instead: %v", d)
		if d.Suggest != "" {
			text += "; " + d.Suggest
		}
		out = append(out, fmt.Sprintf("%s: %s %d-%d %s", key, d.Code, d.Span.Start, d.Span.End, text))
		assert.LessOrEqual(t, d.Span.Start, d.Span.End, b.src)
		assert.LessOrEqual(t, d.Span.End, len(b.src), b.src)
	}
	return out
}

func readCorpus(t *testing.T, file string) []block {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []block
	line := 1
	for _, part := range strings.Split(strings.TrimRight(string(text), "\n"), "\n\n") {
		out = append(out, readBlock(t, file, line, part))
		line += strings.Count(part, "\n") + 2
	}
	return out
}

func readBlock(t *testing.T, file string, line int, part string) block {
	b := block{file: file, line: line, on: "github work_item", self: "7"}
	lines := strings.Split(part, "\n")
	for i := 0; i < len(lines); i++ {
		key, value, _ := strings.Cut(lines[i], ":")
		value = strings.TrimPrefix(value, " ")
		first := i
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
			i++
			value += "\n" + lines[i][2:]
		}
		switch key {
		case "on":
			b.on = value
		case "self":
			b.self = strings.TrimPrefix(value, "none")
		case "query":
			b.src = value
		case "quoted":
			src, err := strconv.Unquote(value)
			require.NoError(t, err, "%s:%d", file, line)
			b.src = src
		case "print", "error", "warning":
			b.expected = append(b.expected, strings.Join(lines[first:i+1], "\n"))
			continue
		default:
			require.True(t, strings.HasPrefix(key, "#"), "%s:%d: unknown key %q", file, line, key)
		}
		b.input = append(b.input, lines[first:i+1]...)
	}
	return b
}

// Every code is shown at least once by the corpus or, for the caps, by TestCaps.
func TestEveryCodeIsShown(t *testing.T) {
	files, err := filepath.Glob("testdata/v1/text-*.txt")
	require.NoError(t, err)
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		all.Write(text)
	}
	for _, c := range query.Codes() {
		if strings.HasPrefix(c.Code, "Q00") {
			continue
		}
		assert.Contains(t, all.String(), ": "+c.Code+" ", "%s: %s", c.Code, c.Title)
	}
}

// SPEC QL-4
func TestCaps(t *testing.T) {
	long := strings.Repeat("a", 1025)
	many := func(n int, unit, with string) string {
		return "v1: " + strings.TrimSuffix(strings.Repeat(unit+with, n), with)
	}
	list := func(n int) string {
		vals := make([]string, n)
		for i := range vals {
			vals[i] = fmt.Sprintf(`"l%d"`, i)
		}
		return "v1: label in (" + strings.Join(vals, ",") + ")"
	}
	for _, c := range []struct{ name, src, code string }{
		{"16 KiB", "v1: state = open" + strings.Repeat(" ", 16<<10-16), ""},
		{"more than 16 KiB", "v1: state = open" + strings.Repeat(" ", 16<<10-15), "Q001"},
		{"more than 16 KiB once written out", "v1: label in ('" + strings.Repeat(`"`, 1000) + "'" + strings.Repeat(",'"+strings.Repeat(`"`, 1000)+"'", 14) + ")", "Q001"},
		{"depth 32", "v1: " + strings.Repeat("(", 32) + "state = open" + strings.Repeat(")", 32), ""},
		{"depth 33", "v1: " + strings.Repeat("(", 33) + "state = open" + strings.Repeat(")", 33), "Q002"},
		{"33 times not", "v1: " + strings.Repeat("not ", 33) + "state = open", "Q002"},
		{"parentheses to the brim", "v1: " + strings.Repeat("(", 16<<10-4), "Q002"},
		{"256 tests", many(256, "locked = true", " or "), ""},
		{"257 tests", many(257, "locked = true", " or "), "Q003"},
		{"no conjunctions", many(1500, "a=b", " "), "Q003"},
		{"500 values", list(500), ""},
		{"501 values", list(501), "Q004"},
		{"a string of 1,024 bytes", `v1: label = "` + long[1:] + `"`, ""},
		{"a string of 1,025 bytes", `v1: label = "` + long + `"`, "Q005"},
		{"a byte that is not UTF-8", "v1: label = \"\xff\"", "Q006"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, ds := query.Parse(c.src)
			require.NotNil(t, q)
			if c.code == "" {
				require.Empty(t, ds)
				again, ds := query.Parse(q.String())
				require.Empty(t, ds)
				assert.Equal(t, q.String(), again.String())
				return
			}
			require.NotEmpty(t, ds)
			assert.Equal(t, c.code, ds[len(ds)-1].Code, "%v", ds)
		})
	}
}
