package chaos

import (
	"errors"
	"slices"
	"strings"
)

// Shrink drops steps of a story as long as it still breaks the same invariant, and returns the shorter one.
func Shrink(b *Bench, st *Story, rules Rules, err error) *Story {
	best := *st
	want := invariant(err)
	for size := (len(best.Lines) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(best.Lines); {
			next := best
			next.Lines = slices.Delete(slices.Clone(best.Lines), at, min(at+size, len(best.Lines)))
			if invariant(Play(b, &next, rules, nil)) == want {
				best = next
				continue
			}
			at += size
		}
	}
	return &best
}

// invariant names what was broken, without the particulars.
func invariant(err error) string {
	var v violation
	switch {
	case err == nil:
		return ""
	case errors.As(err, &v):
		word, _, _ := strings.Cut(v.what, ":")
		return word
	}
	return "error"
}
