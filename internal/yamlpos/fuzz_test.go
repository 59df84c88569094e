package yamlpos_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// scalars calls f for every scalar of a tree, each anchor once.
func scalars(n *yaml.Node, f func(*yaml.Node)) {
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode {
		f(n)
	}
	for _, c := range n.Content {
		scalars(c, f)
	}
}

// Whatever the parser accepts, every byte of every scalar has a place, and the places are in the file and in order.
//
// SPEC SO-12
func FuzzPositions(f *testing.F) {
	for _, s := range []string{
		"a: b", "a: 'it''s'\n", "a: \"x\\u00e9\\n\\\n  y\"\n", "a: |\n  x\n   y\n\n  z\n", "a: >-\n  x\n  y\n\n   z\n  w\n\n",
		"a: |2+\n    x\n  y\n\n", "- - >\n   x\r\n   y\r\n", "\ufeffa: b c\n  d\n\n  e", "a: &x !!str b\n", "{a: 'b\n  c', \"d\": [e, f g]}",
		"a: >\n x\u2028 y\n", "a: |\n\n\n   x", "# c\na: ! 'x'", "? |\n  k\n: v", "a: 'x \n\n y'", "a: \"\\  b\"", "|0", "a: !!str # c\n  b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4096 {
			return
		}
		d, ds := yamlpos.Parse("f.yaml", []byte(src))
		for _, x := range ds {
			if x.Line < 1 || x.Col < 1 || !utf8.ValidString(x.Snippet) {
				t.Fatalf("diagnostic without a place: %+v", x)
			}
		}
		if d == nil {
			return
		}
		scalars(d.Root, func(n *yaml.Node) {
			s := d.Scalar(n)
			if !s.Exact() {
				t.Fatalf("no exact places for %q (style %d) in %q", n.Value, n.Style, src)
			}
			last := 0
			for i := 0; i <= len(n.Value); i++ {
				from, to := s.Span(i, i)
				if from != to || from < last || from > len(src) {
					t.Fatalf("byte %d of %q is at %d, %d, after %d", i, n.Value, from, to, last)
				}
				last = from
			}
			if from, to := s.Span(0, len(n.Value)); strings.TrimSpace(n.Value) != "" && from >= to {
				t.Fatalf("%q spans nothing", n.Value)
			}
		})
	})
}
