package yamlpos_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// Where the word X of a decoded scalar stands, in every way to write one. SPEC SO-12
func TestSpan(t *testing.T) {
	for name, src := range map[string]string{
		"plain":                  "q: a X b\n",
		"plain over lines":       "q: a\n  b\n\n  X b\n",
		"plain with a tag":       "q: !!str a X\n",
		"plain with an anchor":   "q: &a a X\n",
		"anchor on its own line": "q: &a # why\n  a X\n",
		"single":                 "q: 'it''s X'\n",
		"single over lines":      "q: 'a\n\n  it''s X'\n",
		"double":                 `q: "\"\u00e4\x41\t X"` + "\n",
		"double over lines":      "q: \"a \\\n   b\n   \\  X\"\n",
		"literal":                "q: |\n  a\n    X\n",
		"literal, indicator":     "q: |4-\n      a\n\n    X\n",
		"literal, comment":       "q: | # why\n\n  a X\n",
		"folded":                 "q: >\n  a\n  b\n\n    c\n  X\n",
		"folded, kept end":       "q: >+\n  a\n  X\n\n",
		"in a list":              "- |\n a\n X\n",
		"in a list of lists":     "- - |\n     a\n     X\n",
		"in flow":                "{a: [b, 'c X']}\n",
		"wide characters":        "q: größe 日本 X\n",
		"CR LF":                  "q: |\r\n  a\r\n  X\r\n",
		"CR alone":               "q: |\r  a\r  X\r",
		"byte order mark":        "\ufeffq: a X\n",
		"NEL and LS":             "q: |\n  a\u0085  b\u2028  X\n",
	} {
		t.Run(name, func(t *testing.T) {
			d, ds := yamlpos.Parse("f.yaml", []byte(src))
			require.Empty(t, ds)
			found := 0
			scalars(d.Root, func(n *yaml.Node) {
				i := strings.Index(n.Value, "X")
				if i < 0 {
					return
				}
				found++
				from, to := d.Scalar(n).Span(i, i+1)
				require.Equal(t, "X", src[from:to])
				line, col := d.LineCol(from)
				require.Equal(t, src[:from], before(src, line, col), "line %d, column %d", line, col)
			})
			require.Equal(t, 1, found)
		})
	}
}

// before is the text in front of a place, found as a plain editor would.
func before(src string, line, col int) string {
	i := 0
	if strings.HasPrefix(src, "\ufeff") {
		i = 3
	}
	for ; line > 1; line-- {
		i += strings.IndexAny(src[i:], "\r\n") + 1
		if src[i-1] == '\r' && i < len(src) && src[i] == '\n' {
			i++
		}
	}
	for r := range strings.SplitSeq(src[i:], "") {
		if col--; col == 0 {
			break
		}
		i += len(r)
	}
	return src[:i]
}

// A span in the middle of an escape or a fold is still a range of the scalar. SPEC SO-12
func TestSpanStaysInside(t *testing.T) {
	src := "q: \"a\\u00e4 \\\n  b\\n\"\n"
	d, _ := yamlpos.Parse("f.yaml", []byte(src))
	n := d.Root.Content[1]
	s := d.Scalar(n)
	require.True(t, s.Exact())
	rapid.Check(t, func(t *rapid.T) {
		from, to := s.Span(rapid.IntRange(-2, 12).Draw(t, "start"), rapid.IntRange(-2, 12).Draw(t, "end"))
		if from < 4 || to < from || to > len(src) {
			t.Fatalf("%d to %d", from, to)
		}
	})
}

// SPEC SO-11
func TestAliasLimit(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := 1; i < 60; i++ {
		b.WriteString("a" + string(rune('0'+i%10)) + strings.Repeat("_", i) + ": &b" + string(rune('a'+i%26)) + strings.Repeat("b", i) + " x\n")
	}
	_, ds := yamlpos.Parse("f.yaml", []byte(b.String()))
	require.Empty(t, ds, "anchors alone cost nothing")

	_, ds = yamlpos.Parse("f.yaml", []byte("a: &a ["+strings.Repeat("x, ", 1000)+"]\nb: ["+strings.Repeat("*a, ", 150)+"]"))
	require.Empty(t, ds)
	_, ds = yamlpos.Parse("f.yaml", []byte("a: &a ["+strings.Repeat("x, ", 1000)+"]\nb: ["+strings.Repeat("*a, ", 300)+"]"))
	require.Len(t, ds, 1)
	require.Equal(t, "Y009", ds[0].Code)
}

// A deep nest is refused by the parser, not by the stack. SPEC SO-11
func TestDeepNest(t *testing.T) {
	_, ds := yamlpos.Parse("f.yaml", []byte(strings.Repeat("[", 500_000)))
	require.Len(t, ds, 1)
	_, ds = yamlpos.Parse("f.yaml", []byte(strings.Repeat("- ", 400_000)+"x"))
	require.Len(t, ds, 1)
	_, ds = yamlpos.Parse("f.yaml", []byte(strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000)))
	require.Empty(t, ds)
}

// Opening a pipe would wait for its writer for ever. SPEC SO-9
func TestPipeIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "p.yaml"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	_, ds := yamlpos.Load(root, "p.yaml", "p.yaml")
	require.Len(t, ds, 1)
	require.Contains(t, ds[0].Message, "no regular file")
}

// SPEC SO-7
func TestLooksSecret(t *testing.T) {
	for _, s := range []string{
		"ghp_0123456789abcdef0123456789abcdef0123", "github_pat_11AAAAAAA0123456789abcdef", "glpat-0123456789abcdefghij",
		"gta_0123456789abcdef0123456789", "https://me:pass@host/x", "-----BEGIN RSA PRIVATE KEY-----", "xoxb-0123456789-abc",
	} {
		require.True(t, yamlpos.LooksSecret(s), s)
	}
	for _, s := range []string{
		"FORGE_TOKEN", "https://host/x@y", "https://host:8443/a:b", "git@github.com:acme/x", "$TOKEN", "ghp_short", "${{ secrets.GH_TOKEN }}",
		"-----BEGIN CERTIFICATE-----", "glpat", "see https://host/docs: mail me@host",
	} {
		require.False(t, yamlpos.LooksSecret(s), s)
	}
}
