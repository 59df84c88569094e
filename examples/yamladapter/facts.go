package yamladapter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func (s *session) ref(r *row) scope.Ref {
	n := strconv.FormatInt(r.number, 10)
	return scope.Ref{
		Identity: scope.Identity{Provider: Provider, Tenant: s.scope.Tenant, Kind: s.scope.Kind, ID: r.ID},
		Alias:    n, Key: *s.place.Load() + "#" + n,
	}
}

// item is a file as an answer. Its place was proven by Health: the folder that is read is the container's.
func (s *session) item(r *row, who *People, clock time.Time) adapters.Item {
	return adapters.Item{
		Ref: s.ref(r), Place: scope.Place{Tenant: s.scope.Tenant, Container: s.scope.Container, Kind: s.scope.Kind},
		Number: r.number, Updated: r.updated, Facts: s.facts(r, who), ReadAt: clock,
	}
}

// user is a person by id. One who is not listed, or was deleted, equals nobody.
func (p *People) user(id string) query.User {
	v, ok := p.People[id]
	if !ok || v.Deleted {
		return query.User{Login: v.Login, Deleted: true}
	}
	return query.User{ID: id, Login: v.Login, Bot: v.Bot}
}

// facts are all that the file says, attribution included: nothing has to be read again.
func (s *session) facts(r *row, who *People) *query.Facts {
	f := new(query.Facts)
	author := who.user(r.Author)
	kind := "human"
	if author.Bot {
		kind = "bot"
	}
	f.SetKnown(query.FAuthor, query.UserValue(author))
	f.SetKnown(query.FAuthorKind, query.Word(kind))
	f.SetKnown(query.FCreated, query.Instant(r.Created))
	f.SetKnown(query.FUpdated, query.Instant(r.updated))
	f.SetKnown(query.FLocked, query.Bool(r.Locked))
	if r.Closed == nil {
		f.SetKnown(query.FState, query.Word("open"))
		f.SetKnown(query.FClosed)
	} else {
		f.SetKnown(query.FState, query.Word("closed"))
		f.SetKnown(query.FClosed, query.Instant(*r.Closed))
	}
	f.SetKnown(query.FMilestone)
	if r.Milestone != "" {
		f.SetKnown(query.FMilestone, query.Name(r.Milestone))
	}
	setDue(f, r.Due)
	var assignees []query.Value
	for _, id := range r.Assignees {
		assignees = append(assignees, query.UserValue(who.user(id)))
	}
	f.SetKnown(query.FAssignee, assignees...)
	f.SetItems(query.FTitle, text("title", &r.Title, who))
	f.SetItems(query.FBody, text("body", &r.Body, who))
	s.elements(f, r, who)
	return f
}

func setDue(f *query.Facts, day string) {
	t, err := time.Parse(time.DateOnly, day)
	switch {
	case day == "":
		f.SetKnown(query.FDue)
	case err != nil:
		f.Set(query.FDue, query.Fact{Why: fmt.Sprintf("due %q is no day (yyyy-mm-dd)", day)})
	default:
		f.SetKnown(query.FDue, query.Date(t))
	}
}

// elements sets labels and comments, and with them the last word of a person.
func (s *session) elements(f *query.Facts, r *row, who *People) {
	labels := make([]query.Element, 0, len(r.Labels))
	for _, l := range r.Labels {
		labels = append(labels, query.Element{
			Key: l.Name, Rev: fmt.Sprintf("%s %d %d", l.By, l.At.Unix(), l.Nth), Actor: who.user(l.By), Editors: query.EditorsNamed, At: l.At.UTC(),
			Members: []query.Member{{ID: query.MName, Fact: known(query.Name(l.Name))}},
		})
	}
	f.SetItems(query.FLabel, labels...)
	last := r.Created
	comments := make([]query.Element, 0, len(r.Comments))
	for i := range r.Comments {
		c := &r.Comments[i]
		comments = append(comments, comment(c, who))
		by := who.user(c.By)
		if !by.Bot && !slices.Contains(s.c.Agents, by.ID) && c.At.After(last) {
			last = c.At
		}
	}
	f.SetItems(query.FComment, comments...)
	f.SetKnown(query.FLastComment, query.Instant(last))
}

func known(vs ...query.Value) query.Fact { return query.Fact{Presence: query.Known, Values: vs} }

func text(key string, w *Writing, who *People) query.Element {
	return query.Element{Key: key, Rev: revision(w), Actor: who.user(w.By), Editors: query.EditorsNamed, At: w.At.UTC(),
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(w.Text))}}}
}

func comment(c *Comment, who *People) query.Element {
	e := text(c.ID, &c.Writing, who)
	e.Members = append(e.Members, query.Member{ID: query.MCommand, Fact: known()})
	line, _, _ := strings.Cut(c.Text, "\n")
	if words := strings.Fields(line); len(words) > 0 && strings.HasPrefix(words[0], "/") {
		e.Members[len(e.Members)-1].Fact = known(query.Name(words[0]))
	}
	slices.SortFunc(e.Members, func(a, b query.Member) int { return int(a.ID) - int(b.ID) })
	return e
}

// revision changes with the text, its writer and when it was written.
func revision(w *Writing) string {
	sum := sha256.Sum256([]byte(w.By + "\n" + w.At.UTC().Format(time.RFC3339Nano) + "\n" + w.Text))
	return hex.EncodeToString(sum[:8])
}
