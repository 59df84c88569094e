package diag_test

import (
	"bytes"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/internal/diag"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain, größer, 日本":      "plain, größer, 日本",
		"a\x1b[31mb\x00\x7f":     `a\x1b[31mb\x00\x7f`,
		"one\ntwo\r\n\tthree":    `one\ntwo\r\n\tthree`,
		"a\u202eb\u200bc\u2028d": `a\u202eb\u200bc\u2028d`,
		"bad \xff byte":          `bad \xff byte`,
		"\u0085\u009b":           `\x85\x9b`,
	} {
		require.Equal(t, want, diag.Clean(in))
	}
}

func TestCleanLeavesNothingHarmful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := diag.Clean(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text"))
		for _, r := range s {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("%q", s)
			}
		}
		if diag.Clean(s) != s {
			t.Fatalf("cleaning %q twice changes it", s)
		}
	})
}

func TestDidYouMean(t *testing.T) {
	words := []string{"input_drivers", "output_driver", "target_repo"}
	for in, want := range map[string]string{
		"input_driver": `did you mean "input_drivers"?`,
		"Target_Repo":  `did you mean "target_repo"?`,
		"taregt_repo":  `did you mean "target_repo"?`,
		"x":            "use one of input_drivers, output_driver, target_repo",
	} {
		require.Equal(t, want, diag.DidYouMean(in, words), in)
	}
}

func TestPrint(t *testing.T) {
	for name, tc := range map[string]struct {
		d    diag.Diagnostic
		want string
	}{
		"a caret below wide characters": {
			diag.Diagnostic{File: "a.yaml", Line: 3, Col: 8, EndLine: 3, EndCol: 10, Code: "X001", Message: "no", Snippet: "q: \"日本 ab\""},
			"a.yaml:3:8: no [X001]\n   3 | q: \"日本 ab\"\n     |          ^^\n",
		},
		"a tab and a control take one column": {
			diag.Diagnostic{File: "a.yaml", Line: 1, Col: 3, EndLine: 1, EndCol: 4, Code: "X001", Severity: diag.Warning, Message: "no", Suggest: "yes", Snippet: "\t\x1bx"},
			"a.yaml:1:3: warning: no [X001]\n   1 |  ·x\n     |   ^\n    help: yes\n",
		},
		"a range over lines ends with its first": {
			diag.Diagnostic{File: "a.yaml", Line: 1, Col: 3, EndLine: 2, EndCol: 2, Code: "X001", Message: "no", Snippet: "a bc"},
			"a.yaml:1:3: no [X001]\n   1 | a bc\n     |   ^^\n",
		},
		"a file without a place": {
			diag.Diagnostic{File: "a\n.yaml", Code: "X001", Message: "no\x1b"},
			"a\\n.yaml: no\\x1b [X001]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, diag.TextPrinter{}.Print(&b, tc.d))
			require.Equal(t, tc.want, b.String())
		})
	}
}

func TestColourOnlyWhenAsked(t *testing.T) {
	d := diag.Diagnostic{File: "a", Line: 1, Col: 1, Code: "X001", Message: "m", Suggest: "s", Snippet: "x"}
	var plain, coloured bytes.Buffer
	require.NoError(t, diag.TextPrinter{}.Print(&plain, d))
	require.NoError(t, diag.TextPrinter{Colour: true}.Print(&coloured, d))
	require.NotContains(t, plain.String(), "\x1b")
	require.Contains(t, coloured.String(), "\x1b[31m")
}
