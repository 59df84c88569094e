package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// call runs the command line with a text on standard input and no environment.
func call(stdin string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = execute(context.Background(), args, &env{in: strings.NewReader(stdin), out: &o, err: &e,
		getenv: func(string) (string, bool) { return "", false }})
	return code, o.String(), e.String()
}

func TestQueryCommands(t *testing.T) {
	facts := `{"provider": "forgejo", "now": "2026-01-31T09:00:00Z", "admit": ["7"], "facts": {"state": "open", "label": [{"name": "bug", "by": "7:alice"}]}}`
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		out   string // part of standard output
		err   string // part of standard error
	}{
		"fields":             {"", []string{"query", "fields", "--provider", "forgejo"}, 0, "state  (open, closed)", ""},
		"fields as a page":   {"", []string{"query", "fields", "--format", "markdown"}, 0, "| `state` |", ""},
		"no such provider":   {"", []string{"query", "fields", "--provider", "gitea"}, 2, "", `--provider "gitea"`},
		"no such kind":       {"", []string{"query", "fields", "--kind", "issue"}, 2, "", `--kind "issue"`},
		"explain":            {"", []string{"query", "explain", "--provider", "forgejo", `v1: STATE = open`}, 0, "query    v1: state = open", ""},
		"explain, refused":   {"", []string{"query", "explain", "--provider", "forgejo", `v1: stat = open`}, 1, "", "did you mean state?"},
		"explain whom":       {"", []string{"query", "explain", `v1: state = open`}, 2, "", "--provider is missing"},
		"explain nothing":    {"", []string{"query", "explain"}, 2, "", "accepts 1 arg"},
		"eval":               {facts, []string{"query", "eval", "--facts", "-", `v1: state = open and label = "bug"`}, 0, "true     v1: state = open", ""},
		"eval at a time":     {facts, []string{"query", "eval", "--facts", "-", "--now", "2026-02-01T00:00:00Z", `v1: locked`}, 0, "at 2026-02-01T00:00:00Z\nunknown", ""},
		"eval, bad time":     {facts, []string{"query", "eval", "--facts", "-", "--now", "tomorrow", `v1: locked`}, 2, "", `--now "tomorrow"`},
		"eval without facts": {"", []string{"query", "eval", `v1: locked`}, 2, "", "--facts is missing"},
		"eval, no file":      {"", []string{"query", "eval", "--facts", "gone.json", `v1: locked`}, 1, "", "gone.json: no such file"},
		"eval, bad facts":    {`{"facts": {"stat": 1}}`, []string{"query", "eval", "--provider", "forgejo", "--facts", "-", `v1: locked`}, 1, "", "facts.stat: work items of forgejo have no such field"},
		"eval, no provider":  {`{}`, []string{"query", "eval", "--facts", "-", `v1: locked`}, 2, "", "neither --provider nor the facts file"},
		"completion":         {"", []string{"completion", "bash"}, 0, "bash completion", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := call(c.stdin, c.args...)
			assert.Equal(t, c.code, code, "%s%s", out, errs)
			assert.Contains(t, out, c.out)
			assert.Contains(t, errs, c.err)
		})
	}
}

func TestQueryEvalJSON(t *testing.T) {
	code, out, errs := call(`{"facts": {"state": "open"}}`, "query", "eval", "--provider", "forgejo", "--facts", "-", "--format", "json", "v1: state = open")
	require.Zero(t, code, errs)
	var got struct {
		Verdict string
		Support []struct{ Test string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, "true", got.Verdict)
	require.Equal(t, "state = open", got.Support[0].Test)
}

// The exit code is 0 when nothing is refused, 1 when something is, 2 when the command was called wrongly.
func TestQueryLintExits(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	require.NoError(t, os.WriteFile(file, []byte("trigger: 'true'\n"), 0o644))
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"good":              {[]string{file}, 0},
		"quiet":             {[]string{"-q", file}, 0},
		"missing":           {[]string{filepath.Join(dir, "b.yaml")}, 1},
		"list":              {[]string{"--list"}, 0},
		"no such format":    {[]string{"--format", "xml", file}, 2},
		"no such flag":      {[]string{"--oneline"}, 2},
		"cannot mend stdin": {[]string{"--fix", "-"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := call("", append([]string{"query-lint"}, c.args...)...)
			assert.Equal(t, c.code, code, "%s%s", out, errs)
			if name == "quiet" {
				assert.Empty(t, out)
			}
		})
	}
	code, out, _ := call("entity_sources:\n  - {version: 1, from: x, kind: work_item, query: 'v1: a ='}\n", "query-lint", "--format", "json", "-")
	require.Equal(t, 1, code)
	var rep struct{ Errors int }
	require.NoError(t, json.Unmarshal([]byte(out), &rep))
	require.NotZero(t, rep.Errors)
}
