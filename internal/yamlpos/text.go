package yamlpos

import (
	"bytes"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/fullsend-ai/discovery/internal/diag"
)

// Text is the bytes of a file with its lines. Lines as editors count them end with LF, CR LF or CR; YAML counts NEL, LS
// and PS too, so both tables are kept.
type Text struct {
	name  string
	src   []byte
	lines []int    // where editor lines begin
	ylns  []int    // where YAML lines begin
	blank [][2]int // ranges that must not be shown: secrets
}

const bom = "\xef\xbb\xbf"

// NewText takes the bytes of the file called name; it keeps them.
func NewText(name string, src []byte) *Text {
	t := &Text{name: name, src: src, lines: []int{0}, ylns: []int{0}}
	if bytes.HasPrefix(src, []byte(bom)) {
		t.lines[0], t.ylns[0] = len(bom), len(bom)
	}
	for i := 0; i < len(src); {
		w, editor := breakAt(src, i)
		if w == 0 {
			i++
			continue
		}
		i += w
		t.ylns = append(t.ylns, i)
		if editor {
			t.lines = append(t.lines, i)
		}
	}
	return t
}

// Name is the file's name as given.
func (t *Text) Name() string { return t.name }

// Bytes are the file's own bytes.
func (t *Text) Bytes() []byte { return t.src }

// Blank keeps a range out of every snippet.
func (t *Text) Blank(start, end int) { t.blank = append(t.blank, [2]int{start, end}) }

// breakAt returns the width of the YAML line break at i, 0 when there is none, and whether editors see it too.
func breakAt(b []byte, i int) (width int, editor bool) {
	switch b[i] {
	case '\n':
		return 1, true
	case '\r':
		if i+1 < len(b) && b[i+1] == '\n' {
			return 2, true
		}
		return 1, true
	case 0xc2:
		if i+1 < len(b) && b[i+1] == 0x85 {
			return 2, false
		}
	case 0xe2:
		if i+2 < len(b) && b[i+1] == 0x80 && (b[i+2] == 0xa8 || b[i+2] == 0xa9) {
			return 3, false
		}
	}
	return 0, false
}

// offsetOf turns the YAML parser's line and column (from 1, in code points) into a byte offset.
func (t *Text) offsetOf(line, col int) int {
	if line < 1 || line > len(t.ylns) {
		return len(t.src)
	}
	i := t.ylns[line-1]
	for ; col > 1 && i < len(t.src); col-- {
		_, w := utf8.DecodeRune(t.src[i:])
		i += w
	}
	return i
}

// LineCol turns a byte offset into a line and column as editors count them, from 1, in code points.
func (t *Text) LineCol(off int) (line, col int) {
	off = min(max(off, t.lines[0]), len(t.src))
	n := sort.SearchInts(t.lines, off+1) - 1
	return n + 1, utf8.RuneCount(t.src[t.lines[n]:off]) + 1
}

// Pos is LineCol with the file's name.
func (t *Text) Pos(off int) diag.Pos {
	l, c := t.LineCol(off)
	return diag.Pos{File: t.name, Line: l, Col: c}
}

// Diag makes a diagnostic about the bytes [start, end); about a place where they are none. What looks like a credential
// is left out of its texts.
func (t *Text) Diag(r diag.Rule, start, end int, message, suggest string) diag.Diagnostic {
	start = min(max(start, 0), len(t.src))
	end = min(max(end, start), len(t.src))
	d := diag.Diagnostic{File: t.name, Code: r.Code, Severity: r.Severity, Message: redact(message), Suggest: redact(suggest)}
	d.Line, d.Col = t.LineCol(start)
	d.EndLine, d.EndCol = t.LineCol(end)
	d.Snippet = t.snippet(d.Line)
	return d
}

// tokenLike are values that are secrets by their looks, also in a file that is not YAML.
var tokenLike = regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl(?:pat|rt|dt|ptt|cbt|ft|soat)-[A-Za-z0-9_.-]{16,}|` +
	`gta_[A-Za-z0-9]{16,}|ATATT3[A-Za-z0-9_=-]{16,}|ATCTT3[A-Za-z0-9_=-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16})|` +
	`-----BEGIN [A-Z ]*PRIVATE KEY-----|://[^/\s:@"']+:[^/\s@"']+@`)

// LooksSecret reports whether a value contains what is a credential by its form.
func LooksSecret(s string) bool {
	return len(s) >= 8 && strings.ContainsAny(s, "_-:AX") && tokenLike.MatchString(s)
}

func redact(s string) string { return tokenLike.ReplaceAllLiteralString(s, "***") }

// maxSnippet keeps one huge line from filling a report; printers cut further.
const maxSnippet = 4096

func (t *Text) snippet(line int) string {
	start, end := t.lines[line-1], len(t.src)
	if line < len(t.lines) {
		end = t.lines[line]
	}
	s := slices.Clone(bytes.TrimRight(t.src[start:min(end, start+maxSnippet)], "\r\n"))
	for _, m := range t.blank {
		hide(s, m[0]-start, m[1]-start)
	}
	for _, m := range tokenLike.FindAllIndex(s, -1) {
		hide(s, m[0], m[1])
	}
	return string(bytes.ToValidUTF8(s, []byte("�")))
}

// hide overwrites a range with stars, one per byte: a secret is ASCII in practice, and its length tells nothing new.
func hide(s []byte, from, to int) {
	for i := max(from, 0); i < min(to, len(s)); i++ {
		s[i] = '*'
	}
}
