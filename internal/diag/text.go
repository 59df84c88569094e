package diag

import (
	"fmt"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// maxWidth of a snippet, in columns; a longer line is cut around the caret.
const maxWidth = 120

// TextPrinter writes diagnostics for people: place, message and code, the line with a caret, and the way out.
type TextPrinter struct {
	Colour bool // ANSI colours; the caller knows whether it writes to a terminal
}

// Print writes one diagnostic.
func (p TextPrinter) Print(w io.Writer, d Diagnostic) error {
	var b strings.Builder
	head := map[Severity]string{Error: "31", Warning: "33", Info: "36"}[d.Severity]
	fmt.Fprintf(&b, "%s: ", p.paint("1", d.Pos().String()))
	if d.Severity != Error {
		fmt.Fprintf(&b, "%s: ", p.paint(head, d.Severity.String()))
	}
	fmt.Fprintf(&b, "%s %s\n", p.paint("1", Clean(d.Message)), p.paint(head, "["+d.Code+"]"))
	if d.Line > 0 && d.Snippet != "" {
		p.snippet(&b, d, head)
	}
	if d.Suggest != "" {
		fmt.Fprintf(&b, "    %s %s\n", p.paint("36", "help:"), Clean(d.Suggest))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// PrintAll writes all of them, in the order given.
func (p TextPrinter) PrintAll(w io.Writer, ds Diagnostics) error {
	for _, d := range ds {
		if err := p.Print(w, d); err != nil {
			return err
		}
	}
	return nil
}

func (p TextPrinter) paint(code, s string) string {
	if !p.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p TextPrinter) snippet(b *strings.Builder, d Diagnostic, head string) {
	line := []rune(d.Snippet)
	from := min(max(d.Col-1, 0), len(line))
	to := len(line)
	if d.EndLine <= d.Line && d.EndCol > 0 {
		to = min(max(d.EndCol-1, from), len(line))
	}
	lo, hi := cut(line, from, to)
	to = min(to, hi)
	pre, mid, post := shown(line[lo:from]), shown(line[from:to]), shown(line[to:hi])
	if lo > 0 {
		pre = "…" + pre
	}
	if hi < len(line) {
		post += "…"
	}
	num := fmt.Sprintf("%4d", d.Line)
	fmt.Fprintf(b, "%s | %s\n", num, strings.TrimRight(pre+mid+post, " "))
	if d.Col > 0 {
		fmt.Fprintf(b, "%s | %s%s\n", strings.Repeat(" ", len(num)), strings.Repeat(" ", uniseg.StringWidth(pre)),
			p.paint(head, strings.Repeat("^", max(1, uniseg.StringWidth(mid)))))
	}
}

// cut chooses the part of a long line that is shown.
func cut(line []rune, from, to int) (lo, hi int) {
	if len(line) <= maxWidth {
		return 0, len(line)
	}
	lo = max(0, min(from-maxWidth/3, len(line)-maxWidth))
	return lo, min(len(line), lo+maxWidth)
}

// shown keeps one column per harmful character, so that the caret stays below what it means.
func shown(rs []rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case harmful(r):
			return '·'
		default:
			return r
		}
	}, string(rs))
}
