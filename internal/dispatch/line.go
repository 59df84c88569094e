package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf16"
)

// MaxLine bounds one record as it is written, in bytes.
const MaxLine = 1 << 20

// Line is a record as one line of JSON that is safe to show: every control and format character is escaped, and so is
// what a CI runner would take for a command. Where the line would be too long, traces are left out: they are for people,
// and a decision must not be stuck for being well explained.
func Line(r *Record) ([]byte, error) {
	b, err := encode(r)
	if err == nil && len(b) >= MaxLine {
		b, err = encode(r.untraced())
	}
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", r.Key, err)
	}
	if len(b) >= MaxLine {
		return nil, fmt.Errorf("record %s: larger than %d bytes", r.Key, MaxLine)
	}
	return append(b, '\n'), nil
}

func encode(r *Record) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return escape(b), nil
}

func (r *Record) untraced() *Record {
	c := *r
	c.Queries = slices.Clone(r.Queries)
	for i := range c.Queries {
		c.Queries[i].Trace = nil
	}
	return &c
}

// Escape makes marshalled JSON safe to show, see Line.
func Escape(b []byte) []byte { return escape(b) }

// escape works on marshalled JSON, where such characters stand inside strings only.
func escape(b []byte) []byte {
	b = bytes.ReplaceAll(b, []byte("##["), []byte(`#\u0023[`))
	if bytes.IndexFunc(b, unseen) < 0 {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if !unseen(r) {
			out = append(out, string(r)...)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, u)
		}
	}
	return out
}

func unseen(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
