package run

import (
	"strings"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/query"
)

// actor authorises the event's actor by a role that the provider gives now, and checks that the event is about this
// entity. Nothing that the event says of the actor but its id is used. Needs are not nil while that is open.
func (l *look) actor() ([]query.Need, Verdict) {
	e := l.event
	if why := l.foreign(); why != "" {
		return nil, l.result(no(coverage.NotTriggered, "the event is about another entity: %s", why))
	}
	author := ""
	if f := l.facts.Get(query.FAuthor); f.Presence == query.Known && len(f.Values) > 0 {
		author = f.Values[0].User.ID
	}
	u := query.User{ID: string(e.Actor.ID)}
	for id := query.FieldID(1); id <= query.FLinked; id++ {
		for i := range l.facts.Get(id).Items {
			if a := &l.facts.Get(id).Items[i].Actor; a.ID == u.ID && u.ID != "" {
				u.Bot, u.Deleted = u.Bot || a.Bot, u.Deleted || a.Deleted
			}
		}
	}
	st, why := l.book.Authorize(u, l.t.Harness.Threshold)
	role := ""
	if ev, ok := l.book.Evidence(u.ID); ok {
		u.Bot = u.Bot || ev.Bot
		if ev.Verified {
			role = ev.Role
		}
	}
	if st != query.Admitted && l.labels() {
		labelled, known := l.labelledBy(u.ID)
		if !known {
			return []query.Need{{Field: query.FLabel}}, l.unknown("who applied the label was not read")
		}
		if labelled {
			st = query.Admitted
		}
	}
	switch st {
	case query.Excluded:
		return nil, l.result(no(coverage.NotTriggered, "actor %s of the event may not start this harness: %s", u.ID, why))
	case query.Undecided:
		return []query.Need{{Actor: u.ID}}, l.unknown("actor %s of the event: %s", u.ID, why)
	}
	e.Actor.Kind = "human"
	if u.Bot {
		e.Actor.Kind = "bot"
	}
	e.Resolve(role, author)
	return nil, Verdict{}
}

// labels: on GitHub only people with triage can put a label on, so the forge itself has authorised the actor of such an
// event. That covers the actor alone; the label stands by its own admission.
func (l *look) labels() bool {
	t := &l.event.Transition
	return l.ref.Provider == query.GitHub && t.Kind == "label_changed" && t.Label != nil && t.Label.Action == "added"
}

// labelledBy reports whether the history shows the label that the event names as put on by that account.
func (l *look) labelledBy(id string) (labelled, known bool) {
	f := l.facts.Get(query.FLabel)
	for i := range f.Items {
		e := &f.Items[i]
		name := e.Member(query.MName)
		if e.Editors == query.EditorsNamed && e.Actor.ID == id && id != "" && len(name.Values) > 0 && name.Values[0].Str == l.event.Transition.Label.Name {
			return true, true
		}
	}
	return false, l.known.Has(query.FLabel)
}

// foreign says what in the event names another entity; every name that is given must be this one's.
func (l *look) foreign() string {
	e := &l.event.Entity
	switch id := string(e.ID); {
	case e.Kind != string(l.ref.Kind) && e.Kind != "conversation":
		return "it is a " + e.Kind
	case l.event.Source.System != l.ref.Provider && l.event.Source.System != "manual" && l.event.Source.System != "schedule":
		return "it comes from " + l.event.Source.System
	case id != "" && id != l.ref.ID && id != l.ref.Alias && !strings.EqualFold(id, l.ref.Key):
		return "its id is " + clip(id)
	case e.Key != "" && !strings.EqualFold(e.Key, l.ref.Key) && e.Key != l.ref.Alias && e.Key != "#"+l.ref.Alias:
		return "its key is " + clip(e.Key)
	case e.URL != "" && !strings.EqualFold(strings.TrimRight(e.URL, "/"), strings.TrimRight(l.ref.URL, "/")):
		return "its URL is " + clip(e.URL)
	}
	return ""
}
