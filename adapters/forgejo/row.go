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
func user(u *api.User) query.User {
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
func (s *session) writer(u *api.User, original string, created time.Time) query.User {
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

func users(us []*api.User) []query.Value {
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

func setMilestone(f *query.Facts, m *api.Milestone) {
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

// mark is what a token is the hash of. Every part says where it ends, so that no two rows have one mark. It is used for one
// row after the other.
type mark []byte

// token is the listing's change mark of a row: a hash of what it shows of the entity. What it shows of other things (an
// account's followers, a milestone's counters) is left out, or every row would change all the time.
func (m *mark) token(i *api.Issue) string {
	*m = (*m)[:0]
	m.text(i.Title, i.Body, string(i.State))
	m.number(i.Index, int64(i.Comments), i.Created.Unix(), i.Updated.Unix())
	m.flag(i.IsLocked)
	m.time(i.Closed)
	m.time(i.Deadline)
	if m.flag(i.Poster != nil); i.Poster != nil {
		m.number(i.Poster.ID)
		m.text(i.Poster.UserName)
	}
	if m.flag(i.Repository != nil); i.Repository != nil {
		m.number(i.Repository.ID)
	}
	if m.flag(i.Milestone != nil); i.Milestone != nil {
		m.number(i.Milestone.ID)
		m.text(i.Milestone.Title)
	}
	m.number(int64(len(i.Labels)))
	for _, l := range i.Labels {
		if l != nil {
			m.number(l.ID)
			m.text(l.Name)
		}
	}
	m.number(int64(len(i.Assignees)))
	for _, u := range i.Assignees {
		if u != nil {
			m.number(u.ID)
			m.text(u.UserName)
		}
	}
	if i.PullRequest != nil {
		b, err := json.Marshal(i.PullRequest)
		if err != nil {
			return "" // no token: always looked at
		}
		*m = append(*m, b...)
	}
	h := sha256.Sum256(*m)
	return hex.EncodeToString(h[:16])
}

func (m *mark) text(ss ...string) {
	for _, s := range ss {
		m.number(int64(len(s)))
		*m = append(*m, s...)
	}
}

func (m *mark) number(ns ...int64) {
	for _, n := range ns {
		*m = append(strconv.AppendInt(*m, n, 10), ';')
	}
}

func (m *mark) flag(b bool) { *m = append(strconv.AppendBool(*m, b), ';') }

func (m *mark) time(t *time.Time) {
	if m.flag(t != nil); t != nil {
		m.number(t.Unix())
	}
}
