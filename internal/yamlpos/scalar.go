package yamlpos

import (
	"bytes"
	"unicode/utf8"
)

// Scalar is a decoded scalar whose bytes know where they stand in the file.
type Scalar struct {
	text  string
	off   []int // off[i]: where decoded byte i is written; one more for the end
	exact bool
}

// Text is the decoded value.
func (s Scalar) Text() string { return s.text }

// Exact reports whether offsets are exact; else every one is the scalar's beginning.
func (s Scalar) Exact() bool { return s.exact }

// Span maps a half-open range of the decoded text to the file. Whatever the range, the answer lies within the scalar.
func (s Scalar) Span(start, end int) (from, to int) {
	if !s.exact {
		return s.off[0], s.off[len(s.off)-1]
	}
	start = min(max(start, 0), len(s.text))
	end = min(max(end, start), len(s.text))
	from, to = s.off[start], s.off[end]
	if end > start && to < from {
		to = from
	}
	return from, to
}

// scan decodes scalars as YAML 1.1 does and notes where each byte came from. want is the value that the parser made: it
// ends plain scalars, and proves the result.
type scan struct {
	src  []byte
	i    int
	out  []byte
	off  []int
	want string
}

func (s *scan) emit(at int, bs ...byte) {
	for range bs {
		s.off = append(s.off, at)
	}
	s.out = append(s.out, bs...)
}

// copyRune takes one character as it is.
func (s *scan) copyRune() {
	_, w := utf8.DecodeRune(s.src[s.i:])
	for k := range w {
		s.off = append(s.off, s.i+k)
	}
	s.out = append(s.out, s.src[s.i:s.i+w]...)
	s.i += w
}

func (s *scan) eof() bool      { return s.i >= len(s.src) }
func (s *scan) blank() bool    { return !s.eof() && (s.src[s.i] == ' ' || s.src[s.i] == '\t') }
func (s *scan) at(c byte) bool { return !s.eof() && s.src[s.i] == c }

func (s *scan) brk() int {
	if s.eof() {
		return 0
	}
	w, _ := breakAt(s.src, s.i)
	return w
}

// piece is a line break that is waiting to be folded or kept.
type piece struct {
	at int
	bs []byte
}

// readBreak takes a line break: LS and PS stay, all others become LF.
func (s *scan) readBreak() piece {
	w := s.brk()
	p := piece{at: s.i, bs: []byte{'\n'}}
	if w == 3 {
		p.bs = bytes.Clone(s.src[s.i : s.i+3])
	}
	s.i += w
	return p
}

func (s *scan) emitAll(ps []piece) {
	for _, p := range ps {
		s.emit(p.at, p.bs...)
	}
}

// fold writes the breaks between two pieces of a flow or plain scalar.
func (s *scan) fold(first *piece, rest []piece) {
	switch {
	case first == nil:
		if len(rest) == 0 {
			return
		}
		s.emitAll(rest)
	case first.bs[0] != '\n':
		s.emit(first.at, first.bs...)
		s.emitAll(rest)
	case len(rest) == 0:
		s.emit(first.at, ' ')
	default:
		s.emitAll(rest)
	}
}

// blanks takes spaces, tabs and breaks; it returns the spaces of one line, or the breaks.
func (s *scan) blanks(broken bool) (spaces []piece, first *piece, rest []piece, anyBreak bool) {
	for s.blank() || s.brk() > 0 {
		switch {
		case s.brk() == 0:
			if !broken {
				spaces = append(spaces, piece{s.i, []byte{s.src[s.i]}})
			}
			s.i++
		case !broken:
			spaces, broken = nil, true
			p := s.readBreak()
			first = &p
		default:
			rest = append(rest, s.readBreak())
		}
	}
	return spaces, first, rest, broken
}

func (s *scan) plain() {
	for len(s.out) < len(s.want) && !s.eof() {
		for !s.eof() && !s.blank() && s.brk() == 0 && len(s.out) < len(s.want) {
			s.copyRune()
		}
		if len(s.out) >= len(s.want) {
			return
		}
		spaces, first, rest, broken := s.blanks(false)
		if broken {
			s.fold(first, rest)
		} else {
			s.emitAll(spaces)
		}
	}
}

func (s *scan) single() {
	s.i++
	for !s.eof() {
		for !s.eof() && !s.blank() && s.brk() == 0 {
			if s.at('\'') {
				if s.i+1 >= len(s.src) || s.src[s.i+1] != '\'' {
					return
				}
				s.emit(s.i, '\'')
				s.i += 2
				continue
			}
			s.copyRune()
		}
		s.between(false)
	}
}

func (s *scan) double() {
	s.i++
	for !s.eof() {
		broken := false
		for !s.eof() && !s.blank() && s.brk() == 0 {
			if s.at('"') {
				return
			}
			if !s.at('\\') {
				s.copyRune()
				continue
			}
			if s.i+1 < len(s.src) {
				if w, _ := breakAt(s.src, s.i+1); w > 0 {
					s.i += 1 + w
					broken = true
					break
				}
			}
			if !s.escape() {
				return
			}
		}
		s.between(broken)
	}
}

// between takes the blanks inside a quoted scalar.
func (s *scan) between(broken bool) {
	spaces, first, rest, folded := s.blanks(broken)
	if folded {
		s.fold(first, rest)
	} else {
		s.emitAll(spaces)
	}
}

var simpleEscapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	' ': " ", '"': `"`, '\'': "'", '\\': `\`, 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// escape takes one escape sequence; false when it is none, which the parser has refused already.
func (s *scan) escape() bool {
	at := s.i
	if at+1 >= len(s.src) {
		return false
	}
	c := s.src[at+1]
	if v, ok := simpleEscapes[c]; ok {
		s.emit(at, []byte(v)...)
		s.i += 2
		return true
	}
	n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if n == 0 || at+2+n > len(s.src) {
		return false
	}
	var r rune
	for _, h := range s.src[at+2 : at+2+n] {
		d, ok := hexDigit(h)
		if !ok {
			return false
		}
		r = r<<4 | d
	}
	s.emit(at, utf8.AppendRune(nil, r)...)
	s.i += 2 + n
	return true
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

// block decodes a literal or folded scalar whose lines are indented by indent; 0 finds it out.
func (s *scan) block(indent int) {
	folded := s.at('>')
	chomp := byte(0)
	for s.i++; !s.eof() && s.brk() == 0; s.i++ {
		if c := s.src[s.i]; c == '+' || c == '-' {
			chomp = c
		} else if c == '#' || c == ' ' || c == '\t' {
			break
		}
	}
	for !s.eof() && s.brk() == 0 {
		s.i++
	}
	if !s.eof() {
		s.i += s.brk()
	}
	col, trailing := s.indentation(&indent)
	var leading *piece
	leadBlank := false
	for col == indent && !s.eof() {
		blank := s.blank()
		if folded && !leadBlank && !blank && leading != nil && leading.bs[0] == '\n' {
			if len(trailing) == 0 {
				s.emit(leading.at, ' ')
			}
		} else if leading != nil {
			s.emit(leading.at, leading.bs...)
		}
		leading = nil
		s.emitAll(trailing)
		leadBlank = blank
		for !s.eof() && s.brk() == 0 {
			s.copyRune()
		}
		if s.eof() {
			trailing = nil
			break
		}
		p := s.readBreak()
		leading = &p
		col, trailing = s.indentation(&indent)
	}
	if chomp != '-' && leading != nil {
		s.emit(leading.at, leading.bs...)
	}
	if chomp == '+' {
		s.emitAll(trailing)
	}
}

// indentation takes spaces up to indent, and empty lines; it returns the column reached.
func (s *scan) indentation(indent *int) (col int, breaks []piece) {
	deepest := 0
	for {
		col = 0
		for (*indent == 0 || col < *indent) && s.at(' ') {
			s.i++
			col++
		}
		deepest = max(deepest, col)
		if s.brk() == 0 {
			break
		}
		breaks = append(breaks, s.readBreak())
	}
	if *indent == 0 {
		*indent = max(deepest, 1)
	}
	return col, breaks
}
