package lint_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/lint"
)

var update = flag.Bool("update", false, "rewrite the expected output of golden cases")

// Every case is one file of testdata/cases: what it shows, then files as `-- name --` sections, then `-- want --` with
// the text report. A section named `-- name (quoted) --` holds Go strings, one a line, for bytes that an editor would
// not keep. A section `-- args --` lists paths to lint; without it the folder is linted.
//
// SPEC SO-1 SO-2 SO-3 SO-4 SO-5 SO-6 SO-7 SO-8 SO-9 SO-10 SO-11 SO-12
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			require.NoError(t, err)
			c := split(string(raw))
			abs, err := filepath.Abs(f)
			require.NoError(t, err)
			t.Chdir(t.TempDir())
			got := run(t, c)
			if *update {
				require.NoError(t, os.WriteFile(abs, []byte(c.before+"-- want --\n"+got), 0o644))
				return
			}
			require.Equal(t, c.want, got)
		})
	}
}

type testCase struct {
	before string // all but the expectation
	files  []section
	args   []string
	want   string
}

type section struct{ name, body string }

func split(raw string) testCase {
	var c testCase
	before, want, _ := strings.Cut(raw, "-- want --\n")
	c.before, c.want = before, want
	for line := range strings.Lines(before) {
		if name, ok := header(line); ok {
			c.files = append(c.files, section{name: name})
		} else if n := len(c.files); n > 0 {
			c.files[n-1].body += line
		}
	}
	return c
}

func header(line string) (string, bool) {
	s, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "-- ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, " --")
}

func run(t *testing.T, c testCase) string {
	o := lint.Options{Dir: ".fullsend", Registry: configtest.Registry()}
	for _, s := range c.files {
		name, quoted := strings.CutSuffix(s.name, " (quoted)")
		body := s.body
		if quoted {
			body = unquoted(t, body)
		}
		switch name {
		case "args":
			o.Paths = strings.Fields(body)
		case "stdin":
			o.Stdin = strings.NewReader(body)
		default:
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, []byte(body), 0o644))
		}
	}
	rep, err := lint.Run(t.Context(), o)
	require.NoError(t, err)
	for _, d := range rep.Diagnostics {
		require.NotEmpty(t, d.Suggest, "every message says what to write instead: %v", d)
	}
	var out bytes.Buffer
	require.NoError(t, rep.Write(&out, lint.Style{Format: "text", Notes: true}))
	return out.String()
}

func unquoted(t *testing.T, body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		require.NoError(t, err, line)
		b.WriteString(s)
	}
	return b.String()
}

// Every code that a case shows is in the table, and every table entry has one meaning.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		require.Regexp(t, `^([YCHLNQ][0-9]{3}|T[0-9])$`, r.Code)
		require.NotEmpty(t, r.Title, r.Code)
		require.False(t, seen[r.Code], "%s stands twice", r.Code)
		seen[r.Code] = true
	}
}

// The page lists what the program can say. Written by -update.
func TestRulesPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Diagnostics of query-lint\n\n`fullsend query-lint --list` prints this table. A code keeps its meaning for ever.\n\n" +
		"Y: the YAML file · C: config.yaml · H: a harness file · Q: a source query · T: a trigger · L: harnesses together, and what queries cost · N: what `--online` asks the provider.\n\n" +
		"An error refuses what it stands in; a warning and an info do not.\n\n| code | severity | what |\n|---|---|---|\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", r.Code, r.Code, r.Severity, r.Title)
	}
	file := filepath.Join("..", "..", "docs", "lint", "README.md")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(got))
}

// Every code of the loaders is shown by a case: a message that nobody has read is not done.
func TestEveryRuleIsShown(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	require.NoError(t, err)
	shown := ""
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		shown += split(string(raw)).want
	}
	for _, r := range lint.Rules() {
		if strings.ContainsAny(r.Code[:1], "YCHL") && r.Code != "Y002" { // Y002 needs a large file, see package config
			require.Contains(t, shown, "["+r.Code+"]", r.Title)
		}
	}
}
