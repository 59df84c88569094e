package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/fullsend-ai/discovery/query"
)

// Labels is how many labels the entities and rules draw from.
const Labels = 200

// Now is the instant at which everything is judged.
var Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Rule reads: state = open and label in (A, B) and not label = C. Of all pairs of rule and entity some two in a hundred
// match.
type Rule struct{ A, B, C int }

// Entity is one issue: seven in ten are open, and none has more than six labels.
type Entity struct {
	Open     bool
	Labels   []int
	Assignee int // -1: nobody
	Author   int
	Updated  time.Time
	Comments []Comment
}

// Comment is a command that somebody gave.
type Comment struct {
	Author  int
	Command int
	At      time.Time
}

// LabelName is the name of a label.
func LabelName(i int) string { return "label-" + strconv.Itoa(i) }

// Rules draws n rules over Labels labels. More labels spread the same rules thinner.
func Rules(n, labels int, seed uint64) []Rule {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]Rule, n)
	for i := range out {
		a := r.IntN(labels)
		b := (a + 1 + r.IntN(labels-1)) % labels
		c := r.IntN(labels)
		for c == a || c == b {
			c = r.IntN(labels)
		}
		out[i] = Rule{a, b, c}
	}
	return out
}

// Entities draws n entities.
func Entities(n int, seed uint64) []Entity {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]Entity, n)
	for i := range out {
		e := &out[i]
		e.Open = r.Float64() < 0.7
		e.Labels = r.Perm(Labels)[:r.IntN(7)]
		e.Assignee = r.IntN(100) - 50
		e.Author = r.IntN(500)
		e.Updated = Now.Add(-time.Duration(r.IntN(365*24*3600)) * time.Second)
		for range r.IntN(4) {
			at := e.Updated.Add(-time.Duration(r.IntN(30*24*3600)) * time.Second)
			e.Comments = append(e.Comments, Comment{Author: r.IntN(500), Command: r.IntN(Labels), At: at})
		}
	}
	return out
}

// Matches is the plain truth about a rule.
func (r Rule) Matches(e *Entity) bool {
	var a, c bool
	for _, l := range e.Labels {
		a = a || l == r.A || l == r.B
		c = c || l == r.C
	}
	return e.Open && a && !c
}

// Query is the rule in the language.
func (r Rule) Query() string {
	return fmt.Sprintf("v1: state = open and label in (%q, %q) and not label = %q", LabelName(r.A), LabelName(r.B), LabelName(r.C))
}

func user(i int) query.User { return query.User{ID: strconv.Itoa(i), Login: "user" + strconv.Itoa(i)} }

// Facts is everything about the entity. Whoever assigned it has applied its labels too.
func (e *Entity) Facts() *query.Facts {
	var f query.Facts
	state := "closed"
	if e.Open {
		state = "open"
	}
	f.SetKnown(query.FState, query.Word(state))
	f.SetKnown(query.FAuthor, query.UserValue(user(e.Author)))
	f.SetKnown(query.FAssignee)
	if e.Assignee >= 0 {
		f.SetKnown(query.FAssignee, query.UserValue(user(e.Assignee)))
	}
	f.SetKnown(query.FUpdated, query.Instant(e.Updated))
	f.SetKnown(query.FCreated, query.Instant(e.Updated.Add(-1000*time.Hour)))
	f.SetItems(query.FLabel, e.labels()...)
	f.SetItems(query.FComment, e.comments()...)
	return &f
}

func (e *Entity) labels() []query.Element {
	out := make([]query.Element, len(e.Labels))
	for i, l := range e.Labels {
		name := query.Fact{Presence: query.Known, Values: []query.Value{query.Name(LabelName(l))}}
		out[i] = query.Element{
			Key: strconv.Itoa(l), Actor: user(l % 20), Editors: query.EditorsNamed, At: e.Updated,
			Members: []query.Member{{ID: query.MName, Fact: name}},
		}
	}
	return out
}

func (e *Entity) comments() []query.Element {
	out := make([]query.Element, len(e.Comments))
	for i, c := range e.Comments {
		out[i] = query.Element{
			Key: strconv.Itoa(i), Actor: user(c.Author), Editors: query.EditorsNamed, At: c.At,
			Members: []query.Member{
				{ID: query.MText, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Text(commandName(c.Command))}}},
				{ID: query.MCommand, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Name(commandName(c.Command))}}},
			},
		}
	}
	return out
}

func commandName(i int) string { return "/fs-" + strconv.Itoa(i) }

// Sources binds the queries, all under view 0.
func Sources(texts []string) ([]query.Source, error) {
	c := query.NewCatalogue(query.GitHub, query.WorkItem, nil)
	out := make([]query.Source, len(texts))
	for i, text := range texts {
		q, ds := query.Parse(text)
		if ds.Failed() {
			return nil, fmt.Errorf("%s: %v", text, ds)
		}
		b, ds := q.Bind(c.Kind(), c, query.Env{})
		if ds.Failed() {
			return nil, fmt.Errorf("%s: %v", text, ds)
		}
		out[i] = query.Source{ID: strconv.Itoa(i), Query: b}
	}
	return out, nil
}

// Texts are the rules in the language.
func Texts(rules []Rule) []string {
	out := make([]string, len(rules))
	for i := range rules {
		out[i] = rules[i].Query()
	}
	return out
}

// Admit is a view as admission makes it: a look-up by account. It admits everybody of the workload.
func Admit() query.View {
	known := map[string]query.Standing{}
	for i := range 500 {
		known[strconv.Itoa(i)] = query.Admitted
	}
	return func(_ query.FieldID, e *query.Element) query.Standing { return known[e.Actor.ID] }
}
