package diag

import (
	"fmt"
	"strings"
)

// Nearest returns the candidate that word was most likely meant to be; ok is false when none is near.
func Nearest(word string, candidates []string) (best string, ok bool) {
	if len(word) > 64 {
		return "", false
	}
	w := strings.ToLower(word)
	least := 1 + max(1, len(w)/3)
	for _, c := range candidates {
		if d := distance(w, strings.ToLower(c)); d < least {
			best, least, ok = c, d, true
		}
	}
	return best, ok
}

// DidYouMean is the suggestion for a word that is none of the candidates: the nearest one, else all of them.
func DidYouMean(word string, candidates []string) string {
	if c, ok := Nearest(word, candidates); ok {
		return fmt.Sprintf("did you mean %q?", c)
	}
	if len(candidates) == 0 {
		return ""
	}
	return "use one of " + strings.Join(candidates, ", ")
}

// Distance counts what lies between two words, whatever the case of their letters: insertions, deletions, replacements
// and swaps of neighbours.
func Distance(a, b string) int { return distance(strings.ToLower(a), strings.ToLower(b)) }

// distance counts insertions, deletions, replacements and swaps of neighbours.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range x {
		cur[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(y)]
}
