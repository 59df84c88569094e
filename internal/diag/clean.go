package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes foreign text harmless on a terminal and in a log: control characters, invalid bytes and characters that
// turn the direction of writing or are not seen become visible escapes.
func Clean(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case harmful(r) && r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case harmful(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func clean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, harmful) < 0
}

// harmful: controls (Cc), formats (Cf: bidirectional marks, zero-width characters, tags) and line separators.
func harmful(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
