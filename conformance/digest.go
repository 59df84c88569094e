package conformance

import (
	"fmt"
	"sort"
	"strings"

	"github.com/fullsend-ai/discovery/query"
)

// digest writes down everything that facts say, in one order.
func digest(f *query.Facts) string {
	var b strings.Builder
	for _, field := range query.AllFields() {
		if field.Type == query.TypeCustom {
			continue
		}
		fact := f.Get(field.ID)
		if fact.Presence == query.Unknown {
			continue
		}
		fmt.Fprintf(&b, "%s=%s ", field.Name, factText(fact))
	}
	return b.String()
}

func factText(f *query.Fact) string {
	var vs []string
	for i := range f.Values {
		v := &f.Values[i]
		vs = append(vs, strings.TrimSpace(fmt.Sprintf("%s%s %s", v.User.ID, v.Str, timeText(v))))
	}
	for i := range f.Items {
		e := &f.Items[i]
		var ms []string
		for j := range e.Members {
			ms = append(ms, factText(&e.Members[j].Fact))
		}
		vs = append(vs, fmt.Sprintf("%s:%s by %s", e.Key, strings.Join(ms, ","), e.Actor.ID))
	}
	sort.Strings(vs)
	return fmt.Sprint(vs)
}

func timeText(v *query.Value) string {
	switch v.Type {
	case query.TypeBool:
		return fmt.Sprint(v.Bool)
	case query.TypeInstant, query.TypeDate:
		return v.Time.UTC().Format("2006-01-02T15:04:05Z")
	case query.TypeNumber:
		return fmt.Sprint(v.Num)
	}
	return ""
}
