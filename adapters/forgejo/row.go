package forgejo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// The ids under which the servers show accounts that are none: the ghost of a deleted account, and the account of
// their own automation (models/user/user_system.go).
const (
	ghostID   = -1
	actionsID = -2
)

func kindOf(i *api.Issue) query.Kind {
	if i.PullRequest != nil {
		return query.ChangeProposal
	}
	return query.WorkItem
}

// user maps an account. A ghost, or nobody at all, is a deleted account, which equals nobody.
func user(u *gitea.User) query.User {
	switch {
	case u == nil:
		return query.User{Deleted: true}
	case u.ID == actionsID:
		return query.User{ID: strconv.FormatInt(u.ID, 10), Login: u.UserName, Bot: true}
	case u.ID <= 0:
		return query.User{Login: u.UserName, Deleted: true}
	}
	return query.User{ID: strconv.FormatInt(u.ID, 10), Login: u.UserName}
}

// writer is the account of something that was written at an instant. What is older than the repository came with a
// migration: it is shown under the account that migrated it (services/migrations/gitea_uploader.go, remapUser), and who
// really wrote it is not told. So nobody did.
func (s *session) writer(u *gitea.User, original string, created time.Time) query.User {
	if original != "" || created.Before(s.repo.Load().created) {
		return query.User{Deleted: true}
	}
	return user(u)
}

// place is where a row says it lives; what it does not say stays empty.
func (s *session) place(i *api.Issue) scope.Place {
	p := scope.Place{Tenant: s.scope.Tenant, Kind: kindOf(i)}
	if i.Repository != nil && i.Repository.ID > 0 {
		p.Container = strconv.FormatInt(i.Repository.ID, 10)
	}
	return p
}

func (s *session) ref(i *api.Issue) scope.Ref {
	full := s.repo.Load().full()
	if i.Repository != nil && i.Repository.FullName != "" {
		full = i.Repository.FullName
	}
	n := strconv.FormatInt(i.Index, 10)
	return scope.Ref{
		Identity: scope.Identity{Provider: Provider, Tenant: s.scope.Tenant, Kind: kindOf(i), ID: strconv.FormatInt(i.ID, 10)},
		Alias:    n,
		Key:      full + "#" + n,
		URL:      i.HTMLURL,
	}
}

// item is a row of a listing, or the answer for one entity, with what such a row shows.
func (s *session) item(i *api.Issue, at time.Time) adapters.Item {
	f := s.rowFacts(i)
	return adapters.Item{Ref: s.ref(i), Place: s.place(i), Number: i.Index, Updated: i.Updated.UTC(), Facts: f, ReadAt: at}
}

// whole reports whether a row is one at all: the servers answer an element that they failed to load with null (Forgejo)
// or with a row of nothing (services/convert/issue.go, toIssue).
func whole(i *api.Issue) bool { return i != nil && i.ID > 0 && i.Index > 0 && !i.Created.IsZero() }

func (s *session) rowFacts(i *api.Issue) *query.Facts {
	f := new(query.Facts)
	switch i.State {
	case gitea.StateOpen, gitea.StateClosed:
		f.SetKnown(query.FState, query.Word(string(i.State)))
	}
	author := s.writer(i.Poster, i.OriginalAuthor, i.Created)
	f.SetKnown(query.FAuthor, query.UserValue(author))
	f.SetKnown(query.FAuthorKind, query.Word(authorKind(author)))
	f.SetKnown(query.FAssignee, users(i.Assignees)...)
	f.SetKnown(query.FCreated, query.Instant(i.Created))
	f.SetKnown(query.FUpdated, query.Instant(i.Updated))
	f.SetKnown(query.FLocked, query.Bool(i.IsLocked))
	s.setClosed(f, i)
	setMilestone(f, i.Milestone)
	if kindOf(i) == query.WorkItem { // v1 has no due day of change proposals
		setDue(f, i.Deadline)
	}
	if p := i.PullRequest; p != nil {
		f.SetKnown(query.FMerged, query.Bool(p.Merged))
		if p.Draft != nil {
			f.SetKnown(query.FDraft, query.Bool(*p.Draft))
		}
	}
	f.SetItems(query.FTitle, s.text("title", i.Title, author, i))
	f.SetItems(query.FBody, s.text("body", i.Body, author, i))
	f.Set(query.FLabel, labelFact(i.Labels))
	return f
}

func authorKind(u query.User) string {
	if u.Bot {
		return "bot"
	}
	return "human"
}

func users(us []*gitea.User) []query.Value {
	vs := make([]query.Value, 0, len(us))
	for _, u := range us {
		vs = append(vs, query.UserValue(user(u)))
	}
	return vs
}

func (s *session) setClosed(f *query.Facts, i *api.Issue) {
	switch {
	case i.State == gitea.StateOpen:
		f.SetKnown(query.FClosed)
	case i.Closed != nil && !i.Closed.IsZero():
		f.SetKnown(query.FClosed, query.Instant(*i.Closed))
	}
}

func setMilestone(f *query.Facts, m *gitea.Milestone) {
	if m == nil {
		f.SetKnown(query.FMilestone)
		return
	}
	v := query.Name(m.Title)
	v.Key = strconv.FormatInt(m.ID, 10)
	f.SetKnown(query.FMilestone, v)
}

// setDue takes the calendar day in the zone in which the server shows it: it stores the last second of that day.
func setDue(f *query.Facts, d *time.Time) {
	if d == nil || d.IsZero() {
		f.SetKnown(query.FDue)
		return
	}
	f.SetKnown(query.FDue, query.Date(*d))
}

// text is the title or body. No editor of either is told; as long as nothing has moved the entity's clock since its
// creation there was none (an edit moves it).
func (s *session) text(key, text string, author query.User, i *api.Issue) query.Element {
	e := query.Element{Key: key, Rev: digest(text), Actor: author, Editors: query.EditorsPossible,
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(text))}}}
	if i.Updated.Equal(i.Created) || author.Deleted {
		e.Editors, e.At = query.EditorsNamed, i.Created.UTC()
	}
	return e
}

// labelFact is the labels of a row: all of them, but not who applied them.
func labelFact(ls []*gitea.Label) query.Fact {
	f := query.Fact{Presence: query.Known}
	for _, l := range ls {
		if l == nil || l.ID <= 0 {
			f.Presence, f.Why = query.Partial, "the server could not load a label"
			continue
		}
		f.Items = append(f.Items, labelElement(l))
	}
	return f
}

func labelElement(l *gitea.Label) query.Element {
	v := query.Name(l.Name)
	v.Key = strconv.FormatInt(l.ID, 10)
	return query.Element{Key: v.Key, Editors: query.EditorsUnread, Members: []query.Member{{ID: query.MName, Fact: known(v)}}}
}

func known(vs ...query.Value) query.Fact { return query.Fact{Presence: query.Known, Values: vs} }

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// token is the listing's change mark of a row: a hash of what it shows of the entity. What it shows of other things (an
// account's followers, a milestone's counters) is left out, or every row would change all the time.
func token(i *api.Issue) string {
	type ref struct {
		ID   int64
		Name string
	}
	mark := struct {
		Number, Poster, Repo      int64
		Title, Body, State, Login string
		Labels, Assignees         []ref
		Milestone                 *ref
		Locked                    bool
		Comments                  int
		Created, Updated          int64
		Closed, Due               *time.Time
		Pull                      *api.PullMeta
	}{
		Number: i.Index, Title: i.Title, Body: i.Body, State: string(i.State), Locked: i.IsLocked, Comments: i.Comments,
		Created: i.Created.Unix(), Updated: i.Updated.Unix(), Closed: i.Closed, Due: i.Deadline, Pull: i.PullRequest,
	}
	if i.Poster != nil {
		mark.Poster, mark.Login = i.Poster.ID, i.Poster.UserName
	}
	if i.Repository != nil {
		mark.Repo = i.Repository.ID
	}
	for _, l := range i.Labels {
		if l != nil {
			mark.Labels = append(mark.Labels, ref{l.ID, l.Name})
		}
	}
	for _, u := range i.Assignees {
		if u != nil {
			mark.Assignees = append(mark.Assignees, ref{u.ID, u.UserName})
		}
	}
	if i.Milestone != nil {
		mark.Milestone = &ref{i.Milestone.ID, i.Milestone.Title}
	}
	b, err := json.Marshal(mark)
	if err != nil {
		return "" // no token: always looked at
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16])
}
