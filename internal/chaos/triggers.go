package chaos

import (
	"fmt"
	"sort"
	"strings"
)

// ask is a trigger in CEL and in plain Go.
type ask struct {
	cel  string // "" is no trigger
	want func(l *look) bool
	read func(l *look) string // what of the admitted facts it looks at
}

func nothing(*look) string { return "" }

// asks are the triggers that random harnesses have.
func asks() []ask {
	return []ask{
		{"true", func(*look) bool { return true }, nothing},
		{`entity.label.exists(l, l.name == "go")`, func(l *look) bool { return label("go").holds(l) }, readLabels},
		{`entity.comment.size() < 3`, func(l *look) bool { return len(readable(l)) < 3 }, func(l *look) string { return strings.Join(others(l), "\n") }},
		{"", func(*look) bool { return false }, nothing},
	}
}

func readLabels(l *look) string {
	var out []string
	for _, a := range l.e.Labels {
		if l.counts(a.By) && a.By.ID != l.self {
			out = append(out, applied(&a)+a.Name)
		}
	}
	sort.Strings(out)
	return strings.Join(out, "\n")
}

func readable(l *look) (out []element) {
	for i := range l.e.Comments {
		if c := &l.e.Comments[i]; l.counts(c.Author) {
			out = append(out, element{c.Author.ID, fmt.Sprint(c.ID, " ", c.Edited.Unix(), " ", c.Body)})
		}
	}
	return out
}

func others(l *look) (out []string) {
	for _, e := range readable(l) {
		if e.by != l.self {
			out = append(out, e.key)
		}
	}
	return out
}
