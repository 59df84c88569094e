package yamlpos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/diag"
)

// MaxNodes is how many nodes a document may have once every alias is written out.
const MaxNodes = 200_000

// Document is one parsed YAML document. Its nodes are the parser's, before aliases are followed.
type Document struct {
	*Text
	Root *yaml.Node // the top node, never an alias; nil when the file holds nothing
}

// Parse reads exactly one document: UTF-8 with or without a byte order mark, any line ends, no control characters, no
// key twice in a mapping, aliases within MaxNodes. The document is nil when there is an error that leaves nothing to
// look at.
func Parse(name string, src []byte) (*Document, diag.Diagnostics) {
	t := NewText(name, src)
	if ds := t.checkCharacters(); ds != nil {
		return nil, ds
	}
	root, ds := t.parse()
	if ds != nil {
		return nil, ds
	}
	d := &Document{Text: t}
	if root == nil {
		return d, nil
	}
	if ds := d.checkAliases(root); ds != nil {
		return nil, ds
	}
	d.Root = Resolve(root)
	return d, d.checkKeys(root)
}

// Resolve follows aliases.
func Resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// checkCharacters finds the first byte that no text file has.
func (t *Text) checkCharacters() diag.Diagnostics {
	src := t.src
	if len(src) >= 2 && (src[0] == 0xff && src[1] == 0xfe || src[0] == 0xfe && src[1] == 0xff) {
		return diag.Diagnostics{t.Diag(RuleEncoding, 0, 0, "the file is UTF-16", "save it as UTF-8")}
	}
	for i := t.lines[0]; i < len(src); {
		r, w := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			return diag.Diagnostics{t.Diag(RuleEncoding, i, i+1, fmt.Sprintf("byte 0x%02x is not UTF-8", src[i]), "save the file as UTF-8")}
		case r == 0:
			return diag.Diagnostics{t.Diag(RuleEncoding, i, i+1, "a NUL byte: this is no text file", "remove it; was a binary file given?")}
		case unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' && r != 0x85, r == 0xfffe, r == 0xffff:
			return diag.Diagnostics{t.Diag(RuleEncoding, i, i+w, fmt.Sprintf("control character U+%04X", r), "remove it, or write it as an escape inside double quotes")}
		}
		i += w
	}
	return nil
}

func (t *Text) parse() (*yaml.Node, diag.Diagnostics) {
	dec := yaml.NewDecoder(bytes.NewReader(t.src))
	var first, second yaml.Node
	switch err := dec.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, t.syntax(err)
	}
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, t.syntax(err)
	default:
		at := t.offsetOf(second.Line, second.Column)
		return nil, diag.Diagnostics{t.Diag(RuleDocuments, at, at, "a second document begins here", "one file holds one document: remove the `---`, or make it two files")}
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	n := first.Content[0]
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == "" {
		return nil, nil // comments alone
	}
	return n, nil
}

var (
	errorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// A query that stands bare on its line: its `v1: ` makes YAML see a second mapping.
	unquoted = regexp.MustCompile(`(?m)^[ \t]*(?:- +)*(?:.*[{,] *)?(?:query|"query"|'query')[ \t]*:[ \t]+(v[0-9]+[ \t]*:[ \t]+[^\r\n]*)`)
	grammar  = regexp.MustCompile(`^did not find expected (?:key|'-' indicator|'[,\]}]'|node content|<)`)
	tabbed   = regexp.MustCompile(`(?m)^ *(\t)[ \t]*[^\s#]`)
)

// syntax turns the parser's complaint into places. The parser gives a line at best, so the well-known mistakes are
// looked for first.
func (t *Text) syntax(err error) diag.Diagnostics {
	var ds diag.Diagnostics
	for _, m := range unquoted.FindAllSubmatchIndex(t.src, -1) {
		ds = append(ds, t.unquotedQuery(m[2], m[3]))
	}
	if ds != nil {
		return ds
	}
	if m := tabbed.FindSubmatchIndex(t.src); m != nil {
		return diag.Diagnostics{t.Diag(RuleTab, m[2], m[3], "a tab indents this line; YAML allows spaces only", "replace the tab with spaces")}
	}
	msg, line := complaint(err)
	if strings.HasSuffix(msg, "expected key") || strings.HasSuffix(msg, "expected '-' indicator") {
		if n := t.misaligned(line); n > 0 {
			start, end := t.body(n)
			return diag.Diagnostics{t.Diag(RuleSyntax, start, end, "not YAML: this line begins in a column in which nothing above it began", hint(msg))}
		}
	}
	start, end := t.body(line)
	return diag.Diagnostics{t.Diag(RuleSyntax, start, end, "not YAML: "+msg, hint(msg))}
}

// complaint takes the parser's message apart. It counts lines from 0 for what is wrong with the grammar, from 1 for what
// is wrong inside a token, and says nothing about the first line.
func complaint(err error) (msg string, line int) {
	msg, line = err.Error(), 1
	m := errorLine.FindStringSubmatch(msg)
	if m == nil {
		return msg, line
	}
	msg = msg[len(m[0]):]
	if n, e := strconv.Atoi(m[1]); e == nil {
		line = n
		if grammar.MatchString(msg) {
			line++
		}
	}
	return msg, line
}

// body is what stands on a YAML line behind its indentation; the last line that has anything, when line is behind it.
func (t *Text) body(line int) (start, end int) {
	line = min(max(line, 1), len(t.ylns))
	for {
		start, end = t.ylns[line-1], len(t.src)
		if line < len(t.ylns) {
			end = t.ylns[line]
		}
		text := t.src[start:end]
		trimmed := bytes.TrimSpace(text)
		if len(trimmed) > 0 || line == 1 {
			start += max(bytes.Index(text, trimmed), 0)
			return start, start + len(trimmed)
		}
		line--
	}
}

// hint is the way out of what the parser says most.
func hint(msg string) string {
	switch {
	case strings.Contains(msg, "mapping values are not allowed"):
		return "a value with `: ` in it must be quoted; else look at the indentation of this line and the one above"
	case strings.Contains(msg, "did not find expected key"), strings.Contains(msg, "did not find expected '-'"):
		return "look at the indentation: keys of one mapping, and items of one list, begin in one column"
	case strings.Contains(msg, "could not find expected ':'"):
		return "a key needs `: ` behind it"
	case strings.Contains(msg, "unknown escape"):
		return "inside double quotes a backslash begins an escape: write it twice, or use single quotes"
	case strings.Contains(msg, "unexpected end of stream"):
		return "a quote is not closed"
	case strings.Contains(msg, "cannot start any token"):
		return "quote the value: YAML keeps this character for itself"
	case strings.Contains(msg, "unknown anchor"):
		return "define the anchor (&name) above its first use"
	case strings.Contains(msg, "did not find expected ','"):
		return "close the bracket, or put a comma before this"
	}
	return "look for an open quote or bracket, or wrong indentation, here and in the line above"
}

// unquotedQuery says so, and quotes the query where that is safe: a bare line has one meaning only.
func (t *Text) unquotedQuery(start, end int) diag.Diagnostic {
	text := strings.TrimRight(string(t.src[start:end]), " \t")
	end = start + len(text)
	colon := start + strings.IndexByte(text, ':') + 1
	d := t.Diag(RuleUnquoted, start, colon, "the query is not quoted: YAML takes its `v1:` for a key", "quote the query or use |")
	if t.endsThere(start, end) && !strings.Contains(text, " #") {
		d.Fix = &diag.Edit{Start: start, End: end, Text: "'" + strings.ReplaceAll(text, "'", "''") + "'"}
	}
	return d
}

// endsThere reports whether the line after end is not a continuation of a value on the line of start.
func (t *Text) endsThere(start, end int) bool {
	line, _ := t.LineCol(start)
	head := t.src[t.lines[line-1]:start]
	if bytes.ContainsAny(head, "{") {
		return false
	}
	rest := t.src[end:]
	_, rest, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return true
	}
	next, _, _ := bytes.Cut(rest, []byte("\n"))
	body := bytes.TrimLeft(next, " ")
	return len(bytes.TrimSpace(body)) == 0 || len(next)-len(body) <= bytes.Index(head, []byte("query"))
}

// checkAliases counts the nodes of the document as if every alias were written out.
func (d *Document) checkAliases(root *yaml.Node) diag.Diagnostics {
	sizes := map[*yaml.Node]int{}
	var size func(n *yaml.Node) int
	var bad *yaml.Node
	size = func(n *yaml.Node) int {
		if n.Kind == yaml.AliasNode {
			s, done := sizes[n.Alias]
			if !done || s < 0 { // an alias inside its own anchor, else anchors come first
				s = MaxNodes + 1
			}
			if s > MaxNodes && bad == nil {
				bad = n
			}
			return s
		}
		if n.Anchor != "" {
			sizes[n] = -1
		}
		s := 1
		for _, c := range n.Content {
			if s = min(s+size(c), MaxNodes+1); s > MaxNodes && bad == nil && c.Kind == yaml.AliasNode {
				bad = c
			}
		}
		if n.Anchor != "" {
			sizes[n] = s
		}
		return s
	}
	if size(root) <= MaxNodes {
		return nil
	}
	msg := fmt.Sprintf("the document has more than %d nodes", MaxNodes)
	if bad == nil {
		return diag.Diagnostics{diag.InFile(RuleAliases, d.name, "split the file", "%s", msg)}
	}
	at := d.Offset(bad)
	return diag.Diagnostics{d.Diag(RuleAliases, at, at+1+len(bad.Value), fmt.Sprintf("alias *%s makes the document too large, or contains itself", bad.Value), "write the value out instead of the alias")}
}

// checkKeys finds keys that stand twice, in all mappings of the file: no reader could know which one counts.
func (d *Document) checkKeys(n *yaml.Node) (ds diag.Diagnostics) {
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
				continue
			}
			id := k.ShortTag() + " " + k.Value
			if first := seen[id]; first != nil {
				line, _ := d.LineCol(d.Offset(first))
				ds = append(ds, d.At(k, RuleDuplicate, fmt.Sprintf("key %q stands twice in this mapping, first in line %d", k.Value, line), "keep one of them"))
			} else {
				seen[id] = k
			}
		}
	}
	for _, c := range n.Content {
		ds = append(ds, d.checkKeys(c)...)
	}
	return ds
}

// Offset is where a node begins, its tag and anchor included.
func (d *Document) Offset(n *yaml.Node) int { return d.offsetOf(n.Line, n.Column) }

// At makes a diagnostic about a node: a whole scalar, or the beginning of a mapping or list.
func (d *Document) At(n *yaml.Node, r diag.Rule, message, suggest string) diag.Diagnostic {
	start := d.Offset(n)
	end := start
	if n.Kind == yaml.ScalarNode {
		start, end = d.Extent(n)
	}
	return d.Diag(r, start, end, message, suggest)
}

// PosOf is the place of a node.
func (d *Document) PosOf(n *yaml.Node) diag.Pos { return d.Pos(d.Offset(n)) }

// Extent is where a scalar stands in the file, quotes included; a block scalar's is its header.
func (d *Document) Extent(n *yaml.Node) (start, end int) {
	start = d.begin(n)
	s, ok := d.decode(n)
	switch {
	case !ok || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return start, min(start+1, len(d.src))
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return start, min(s.i+1, len(d.src))
	default:
		return start, s.i
	}
}

// Scalar decodes a scalar node with the place of each of its bytes.
func (d *Document) Scalar(n *yaml.Node) Scalar {
	s, ok := d.decode(n)
	if !ok {
		at := d.begin(n)
		return Scalar{text: n.Value, off: []int{at, at}}
	}
	end := s.i
	if last := len(s.off) - 1; last >= 0 && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		end = s.off[last] + 1 // not behind the breaks that are cut off
	}
	return Scalar{text: n.Value, off: append(s.off, end), exact: true}
}

func (d *Document) decode(n *yaml.Node) (*scan, bool) {
	start := d.begin(n)
	fresh := func() *scan { return &scan{src: d.src, i: start, want: n.Value} }
	s := fresh()
	if s.eof() {
		return s, n.Value == ""
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		s.double()
	case n.Style&yaml.SingleQuotedStyle != 0:
		s.single()
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		s.block(0)
		// An explicit indicator counts from the parent's indentation: the value tells which it was.
		for indent := 1; indent <= 256 && string(s.out) != n.Value; indent++ {
			s = fresh()
			s.block(indent)
		}
	default:
		s.plain()
	}
	return s, string(s.out) == n.Value
}

// begin is where the scalar itself begins, behind its tag and anchor.
func (d *Document) begin(n *yaml.Node) int {
	i := d.Offset(n)
	for i < len(d.src) && (d.src[i] == '!' || d.src[i] == '&') {
		i = d.pastProperty(i)
		for i < len(d.src) {
			if c := d.src[i]; c == ' ' || c == '\t' {
				i++
			} else if w, _ := breakAt(d.src, i); w > 0 {
				i += w
			} else if c == '#' {
				for i < len(d.src) && d.src[i] != '\n' && d.src[i] != '\r' {
					i++
				}
			} else {
				break
			}
		}
	}
	return i
}

// pastProperty is where a tag or an anchor ends. Blanks end a tag; an anchor's name has few characters.
func (d *Document) pastProperty(i int) int {
	anchor := d.src[i] == '&'
	for i++; i < len(d.src); i++ {
		c := d.src[i]
		if w, _ := breakAt(d.src, i); w > 0 || c == ' ' || c == '\t' {
			break
		}
		if anchor && c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
	}
	return i
}
