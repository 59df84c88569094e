package explore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fullsend-ai/discovery/query"
)

// elements reads the elements of a field: a list of objects, or one object for a title or body.
func (d *decoder) elements(at string, f *query.Field, raw json.RawMessage) query.Fact {
	k := d.known(at, raw)
	fact := query.Fact{Presence: k.presence, Why: k.why, Rev: k.rev}
	for i, r := range d.several(at, k.raw) {
		here := at
		if f.Many {
			here = fmt.Sprintf("%s[%d]", at, i)
		}
		o, ok := d.object(here, r)
		if !ok {
			continue
		}
		e := d.element(here, f, o)
		if e.Key == "" {
			e.Key = strconv.Itoa(i + 1)
		}
		fact.Items = append(fact.Items, e)
	}
	return fact
}

func (d *decoder) element(at string, f *query.Field, o object) query.Element {
	names := []string{"key", "rev", "by", "at", "editors", "head"}
	for _, m := range f.Members {
		names = append(names, m.Name)
	}
	d.only(at, o, names...)
	e := query.Element{Key: d.text(at+".key", o.get("key")), Rev: d.text(at+".rev", o.get("rev"))}
	if raw := o.get("by"); raw != nil {
		e.Actor, e.Editors = d.user(at+".by", raw), query.EditorsNamed
	}
	switch s := d.text(at+".editors", o.get("editors")); s {
	case "":
	case "named":
		e.Editors = query.EditorsNamed
	case "possible":
		e.Editors = query.EditorsPossible
	case "unread":
		e.Editors = query.EditorsUnread
	default:
		d.add(at+".editors", "%q is none of named, possible and unread", s)
	}
	if raw := o.get("at"); raw != nil {
		e.At = d.instant(at+".at", raw)
	}
	for _, m := range f.Members {
		if m.ID == query.MBy || m.ID == query.MAt {
			continue
		}
		if fact, ok := d.member(at, m, o); ok {
			e.Members = append(e.Members, query.Member{ID: m.ID, Fact: fact})
		}
	}
	slices.SortFunc(e.Members, func(a, b query.Member) int { return int(a.ID) - int(b.ID) })
	return e
}

// member reads one member; what is not named is unknown, but a command follows from the text.
func (d *decoder) member(at string, m *query.Field, o object) (query.Fact, bool) {
	raw := o.get(m.Name)
	if raw == nil {
		if text := o.get("text"); m.ID == query.MCommand && text != nil && text[0] == '"' {
			return commandOf(d.text(at+".text", text)), true
		}
		return query.Fact{}, false
	}
	fact := d.fact(at+"."+m.Name, m, raw)
	if m.ID == query.MOnHead {
		fact.Rev = d.text(at+".head", o.get("head"))
	}
	return fact, true
}

// commandOf is the first token of the first line, when it starts with a slash.
func commandOf(text string) query.Fact {
	line, _, _ := strings.Cut(text, "\n")
	fact := query.Fact{Presence: query.Known}
	if words := strings.Fields(line); len(words) > 0 && strings.HasPrefix(words[0], "/") {
		fact.Values = []query.Value{query.Name(words[0])}
	}
	return fact
}
