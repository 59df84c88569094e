package lint_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/lint"
)

// sample has one diagnostic of each severity, with and without a place, and text that wants to be something else.
var sample = lint.Report{Files: 2, Sources: 3, Diagnostics: diag.Diagnostics{
	{File: ".fullsend/config.yaml", Code: "Y001", Message: "cannot be read"},
	{File: "a,b: c.yaml", Line: 3, Col: 5, EndLine: 3, EndCol: 9, Code: "Q201", Message: "there is no field \"x\n::error::y\u202e\"", Suggest: "100% sure\r\nlabel", Snippet: "\tlable \u202e", Harness: "a"},
	{File: "b.yaml", Line: 1, Col: 1, EndLine: 2, EndCol: 1, Code: "L005", Severity: diag.Warning, Message: "late", Snippet: "x"},
	{File: "b.yaml", Line: 1, Col: 1, EndLine: 1, EndCol: 1, Code: "L006", Severity: diag.Info, Message: "costs", Snippet: "x"},
}}

func render(t *testing.T, r lint.Report, format string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.Write(&b, lint.Style{Format: format, Version: "1.2.3"}))
	return b.String()
}

func TestFormats(t *testing.T) {
	for _, format := range lint.Formats() {
		t.Run(format, func(t *testing.T) {
			got := render(t, sample, format)
			file := filepath.Join("testdata", "format."+format)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			require.NotContains(t, got, "\u202e", "a terminal or a page would turn the text around")
		})
	}
	require.ErrorIs(t, sample.Write(&bytes.Buffer{}, lint.Style{Format: "txt"}), lint.ErrUsage)
}

// The library knows all members that SARIF 2.1.0 has, and checks against the published schema what it has read. It
// writes three absent members as empty ones, which the schema refuses: they get their defaults.
func TestSARIFIsValid(t *testing.T) {
	for name, r := range map[string]lint.Report{"sample": sample, "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			dec := json.NewDecoder(strings.NewReader(render(t, r, "sarif")))
			dec.DisallowUnknownFields()
			var log sarif.Report
			require.NoError(t, dec.Decode(&log))
			require.Len(t, log.Runs[0].Results, len(r.Diagnostics))
			rules := log.Runs[0].Tool.Driver.Rules
			for _, res := range log.Runs[0].Results {
				require.Equal(t, *res.RuleID, *rules[res.RuleIndex].ID)
			}
			back, err := sarif.FromString(render(t, r, "sarif"))
			require.NoError(t, err)
			run := back.Runs[0]
			run.Language, run.Tool.Driver.Language, run.NewlineSequences = "en-US", "en-US", []string{"\n"}
			require.NoError(t, back.Validate())
		})
	}
}

// One diagnostic is one line for the reader of workflow commands, whatever its text.
func TestGitHubLines(t *testing.T) {
	require.Equal(t, len(sample.Diagnostics), strings.Count(render(t, sample, "github"), "\n"))
}

func TestExit(t *testing.T) {
	require.Equal(t, 1, sample.Exit())
	require.Equal(t, 0, lint.Report{Diagnostics: sample.Diagnostics[2:]}.Exit())
	require.Equal(t, 0, lint.Report{}.Exit())
}

func TestFix(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "harness", "a.yaml")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	src := "# kept\r\ntrigger: 'true'\r\nentity_sources:\r\n  - version: 1\r\n    query: v1: label = 'it' and state = open  \r\n    from: code\r\n  - query: v1: state = open\r\n      and merged\r\n"
	require.NoError(t, os.WriteFile(file, []byte(src), 0o640))
	run := func() lint.Report {
		rep, err := lint.Run(t.Context(), lint.Options{Paths: []string{dir}, Registry: configtest.Registry()})
		require.NoError(t, err)
		return rep
	}
	n, err := run().Fix()
	require.NoError(t, err)
	require.Equal(t, 1, n, "a query over several lines is left to its author")
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(src, "v1: label = 'it' and state = open", "'v1: label = ''it'' and state = open'", 1), string(got))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	again, err := run().Fix()
	require.NoError(t, err)
	require.Zero(t, again)
}

// Operators of other languages are respelled, wherever the query stands.
func TestFixOperators(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	src := "trigger: 'true'\nentity_sources:\n  - query: \"v1: state == open && (label=='a'||label <> 'b')\"\n    version: 1\n" +
		"  - version: 1\n    query: >-\n      v1: title contains \"a == b && c\"\n          && state == open\n  - version: 1\n    query: \"v1: state \\u003D= open\"\n"
	require.NoError(t, os.WriteFile(file, []byte(src), 0o644))
	rep, err := lint.Run(t.Context(), lint.Options{Paths: []string{file}, Registry: configtest.Registry()})
	require.NoError(t, err)
	n, err := rep.Fix()
	require.NoError(t, err)
	require.Equal(t, 7, n, "one is written with an escape and left alone")
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(got), "\"v1: state = open and (label='a' or label != 'b')\"")
	require.Contains(t, string(got), "v1: title contains \"a == b && c\"\n          and state = open")
	rep, err = lint.Run(t.Context(), lint.Options{Paths: []string{file}, Registry: configtest.Registry()})
	require.NoError(t, err)
	for _, d := range rep.Diagnostics {
		require.False(t, d.Code == "Q112" && d.Line < 10, "%v", d)
	}
}

func TestUsage(t *testing.T) {
	for _, o := range []lint.Options{{Paths: []string{""}}, {}, {Paths: []string{"-"}, Dir: "."}} {
		_, err := lint.Run(t.Context(), o)
		require.ErrorIs(t, err, lint.ErrUsage)
	}
}

// A folder without rights is said, and does not hide the rest.
func TestNoRights(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything: run as another user to see this")
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "harness"), 0o000))
	rep, err := lint.Run(t.Context(), lint.Options{Paths: []string{dir}, Registry: configtest.Registry()})
	require.NoError(t, err)
	require.Equal(t, "Y001", rep.Diagnostics[0].Code)
}
