package demo

import (
	"fmt"
	"sort"
	"strings"
	"text/tabwriter"
)

// shown is how many entities of a harness a table row names.
const shown = 5

func (st *stage) say(format string, args ...any) {
	if !st.opt.JSON {
		fmt.Fprintf(st.opt.Out, format, args...)
	}
}

// tell prints what one cycle did: who got what and why, and what it cost.
func (st *stage) tell(c chapter, d difference, search, other int) {
	st.say("\n%d. %s\n", st.result.Cycles, c.title)
	if st.opt.JSON {
		return
	}
	if d.sent > 0 {
		t := tabwriter.NewWriter(st.opt.Out, 2, 4, 2, ' ', 0)
		fmt.Fprintln(t, "   harness\tgot\twhich\tbecause")
		for _, h := range sortedKeys(d.byHarness) {
			keys := d.byHarness[h]
			fmt.Fprintf(t, "   %s\t%d\t%s\t%s\n", h, len(keys), some(keys), st.why(h))
		}
		t.Flush()
	}
	st.say("   %d sent, %d expected, %d missed, %d sent twice; %d search requests, %d other requests\n",
		d.sent, d.expected, len(d.missed), len(d.twice), search, other)
	for _, p := range d.missed {
		st.say("   MISSED %s\n", p)
	}
	for _, p := range d.twice {
		st.say("   NOT DUE %s\n", p)
	}
}

// why names the tests that made the harness's first record true.
func (st *stage) why(harness string) string {
	for i := range st.records.got {
		r := &st.records.got[i]
		if r.Harness != harness || len(r.Queries) == 0 {
			continue
		}
		var tests []string
		for _, t := range r.Queries[0].Support {
			s := t.Test
			for _, e := range t.Elements {
				s += " by " + e.Login
				break
			}
			tests = append(tests, s)
		}
		return strings.Join(tests, ", ")
	}
	return ""
}

func (st *stage) closing() {
	r := st.result
	st.say("\nin all: %d cycles, %d search requests, %d candidates of %d expected; %d missed, %d sent twice\n",
		r.Cycles, r.SearchRequests, r.Candidates, r.Expected, r.Missed, r.Duplicates)
}

func some(keys []string) string {
	var numbers []string
	for i, k := range keys {
		if i == shown {
			numbers = append(numbers, "…")
			break
		}
		_, n, _ := strings.Cut(k, "#")
		numbers = append(numbers, "#"+n)
	}
	return strings.Join(numbers, " ")
}

func sortedKeys(m map[string][]string) []string {
	ks := make([]string, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	return ks
}
