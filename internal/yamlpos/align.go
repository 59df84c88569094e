package yamlpos

import (
	"bytes"
	"regexp"
)

var (
	blockHeader = regexp.MustCompile(`(?:^|[ :-])[|>][0-9+-]*[ \t]*(?:#.*)?$`)
	dashes      = regexp.MustCompile(`^(?:- +)*`)
)

// misaligned guesses which line breaks the alignment of a block that begins on line from: one that is less indented than
// the line above it, in a column where nothing began. It is for messages only; 0 when it finds none.
func (t *Text) misaligned(from int) int {
	var open []int // columns in which something began
	inBlock := -1  // indentation of the line whose value is a block scalar
	for n := max(from, 1); n <= len(t.ylns); n++ {
		start, end := t.ylns[n-1], len(t.src)
		if n < len(t.ylns) {
			end = t.ylns[n]
		}
		line := bytes.TrimRight(t.src[start:end], " \r\n")
		body := bytes.TrimLeft(line, " ")
		indent := len(line) - len(body)
		if len(body) == 0 || body[0] == '#' || inBlock >= 0 && indent > inBlock {
			continue
		}
		inBlock = -1
		deeper := len(open) == 0 || indent > open[len(open)-1]
		for len(open) > 0 && open[len(open)-1] > indent {
			open = open[:len(open)-1]
		}
		switch {
		case deeper:
			open = append(open, indent)
		case len(open) == 0:
			return 0 // the block is over
		case open[len(open)-1] != indent:
			return n
		}
		for _, d := range bytes.SplitAfter(dashes.Find(body), []byte("-"))[1:] {
			open = append(open, open[len(open)-1]+1+len(bytes.TrimSuffix(d, []byte("-"))))
		}
		if blockHeader.Match(line) {
			inBlock = indent
		}
	}
	return 0
}
