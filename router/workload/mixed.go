package workload

import (
	"fmt"
	"math/rand/v2"

	"github.com/fullsend-ai/discovery/query"
)

// Mixed draws n queries of many shapes: ranges over time, commands in comments, emptiness, users, and five in a hundred
// that no single positive test is necessary for.
func Mixed(n int, seed uint64) []string {
	r := rand.New(rand.NewPCG(seed, 3))
	out := make([]string, n)
	for i := range out {
		out[i] = mixed(r)
	}
	return out
}

func mixed(r *rand.Rand) string {
	label := func() string { return fmt.Sprintf("%q", LabelName(r.IntN(Labels))) }
	days := func() int { return 1 + r.IntN(360) }
	switch p := r.IntN(100); {
	case p < 5:
		return fmt.Sprintf("v1: not label = %s and updated < now - %dd", label(), days())
	case p < 30:
		return fmt.Sprintf("v1: state = open and label in (%s, %s) and updated < now - %dd", label(), label(), days())
	case p < 50:
		return fmt.Sprintf("v1: state = open and any comment(command = %q and at >= now - %dd)", commandName(r.IntN(Labels)), days())
	case p < 65:
		return fmt.Sprintf("v1: label = %s and assignee is empty and no comment(command = %q)", label(), commandName(r.IntN(Labels)))
	case p < 75:
		return fmt.Sprintf(`v1: state = open and (label = %s or author = "user%d")`, label(), r.IntN(500))
	case p < 80:
		return fmt.Sprintf(`v1: assignee = "user%d" and created >= now - %dw`, r.IntN(50), days())
	}
	return Rule{r.IntN(Labels), r.IntN(Labels), r.IntN(Labels)}.Query()
}

// Thin takes facts away as providers do: each of state, assignee, updated, labels and comments is absent in a tenth of
// the entities.
func Thin(fs []*query.Facts, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	for _, f := range fs {
		for _, id := range []query.FieldID{query.FState, query.FAssignee, query.FUpdated, query.FLabel, query.FComment} {
			if r.IntN(10) == 0 {
				f.Set(id, query.Fact{Why: "not read"})
			}
		}
	}
}
