package gitlab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// The account to which GitLab gives what deleted accounts wrote (doc/user/profile/account/delete_account.md). Its id differs
// by server and nothing but the name tells it; taking somebody else for it costs that account its say, and gives nobody any.
const (
	ghostLogin = "ghost"
	ghostName  = "Ghost User"
)

// user maps an account. The ghost, or nobody at all, is a deleted account, which equals nobody. Whether it is a bot is not
// told here and is left to Roles, so that a row says the same whatever was read before.
func (s *session) user(u *api.User) query.User {
	if u == nil || u.ID <= 0 || u.Username == ghostLogin && u.Name == ghostName {
		return query.User{Deleted: true}
	}
	return query.User{ID: strconv.FormatInt(u.ID, 10), Login: u.Username}
}

// placeOf is where a row says it lives; what it does not say stays empty.
func (s *session) placeOf(e *api.Entity) scope.Place {
	p := scope.Place{Tenant: s.scope.Tenant, Kind: s.kind}
	project := e.ProjectID
	if s.merge() && e.TargetProject > 0 {
		project = e.TargetProject
	}
	if project > 0 {
		p.Container = strconv.FormatInt(project, 10)
	}
	return p
}

func (s *session) ref(e *api.Entity) scope.Ref {
	n := strconv.FormatInt(e.IID, 10)
	key := e.Full
	if key == "" {
		key = s.place() + s.mark() + n
	}
	return scope.Ref{
		Identity: scope.Identity{Provider: Provider, Tenant: s.scope.Tenant, Kind: s.kind, ID: strconv.FormatInt(e.ID, 10)},
		Alias:    n, Key: key, URL: e.WebURL,
	}
}

// item is a row of a listing, or the answer for one entity, with what such a row shows. An issue that was moved is another
// one now: it stays behind, closed, and names its successor.
func (s *session) item(e *api.Entity, at time.Time) adapters.Item {
	it := adapters.Item{Ref: s.ref(e), Place: s.placeOf(e), Number: e.IID, Updated: e.Updated, ReadAt: at}
	if e.MovedTo > 0 {
		it.State = adapters.Gone
		it.Err = asError(itemError(it.Ref, fmt.Errorf("moved: it is issue %d of another project now", e.MovedTo)))
		return it
	}
	it.Facts = s.rowFacts(e)
	return it
}

func (s *session) rowFacts(e *api.Entity) *query.Facts {
	f := new(query.Facts)
	state := map[string]string{"opened": "open", "locked": "open", "closed": "closed", "merged": "closed"}[e.State]
	if state != "" {
		f.SetKnown(query.FState, query.Word(state))
	}
	author := s.user(e.Author)
	f.SetKnown(query.FAuthor, query.UserValue(author))
	f.SetKnown(query.FAssignee, s.users(e.Assignees)...)
	f.SetKnown(query.FCreated, query.Instant(e.Created))
	f.SetKnown(query.FUpdated, query.Instant(e.Updated))
	f.SetKnown(query.FLocked, query.Bool(e.Locked))
	setClosed(f, e, state)
	setMilestone(f, e.Milestone)
	if s.merge() {
		s.proposal(f, e)
	} else {
		if e.Type != "" {
			f.SetKnown(query.FType, query.Name(e.Type))
		}
		if e.Due.IsZero() {
			f.SetKnown(query.FDue)
		} else {
			f.SetKnown(query.FDue, query.Date(e.Due))
		}
	}
	f.SetItems(query.FTitle, text("title", e.Title, author, e))
	f.SetItems(query.FBody, text("body", e.Body, author, e))
	f.Set(query.FLabel, labelFact(e))
	return f
}

func (s *session) proposal(f *query.Facts, e *api.Entity) {
	f.SetKnown(query.FMerged, query.Bool(e.State == "merged"))
	f.SetKnown(query.FDraft, query.Bool(e.Draft))
	f.SetKnown(query.FBase, query.Ref(e.Target))
	f.SetKnown(query.FHead, query.Ref(e.Source))
	f.SetKnown(query.FIsFork, query.Bool(e.SourceProject != e.TargetProject))
	if len(e.Reviewers) == 0 {
		f.SetKnown(query.FReviewer)
	}
}

func kindWord(bot bool) string {
	if bot {
		return "bot"
	}
	return "human"
}

func (s *session) users(us []api.User) []query.Value {
	vs := make([]query.Value, 0, len(us))
	for i := range us {
		vs = append(vs, query.UserValue(s.user(&us[i])))
	}
	return vs
}

// setClosed leaves out what a reopened merge request still tells of its last closing.
func setClosed(f *query.Facts, e *api.Entity, state string) {
	switch {
	case state == "open":
		f.SetKnown(query.FClosed)
	case e.State == "merged" && !e.Merged.IsZero():
		f.SetKnown(query.FClosed, query.Instant(e.Merged))
	case state == "closed" && !e.Closed.IsZero():
		f.SetKnown(query.FClosed, query.Instant(e.Closed))
	}
}

func setMilestone(f *query.Facts, m *api.Named) {
	if m == nil {
		f.SetKnown(query.FMilestone)
		return
	}
	v := query.Name(m.Title)
	v.Key = strconv.FormatInt(m.ID, 10)
	f.SetKnown(query.FMilestone, v)
}

// text is the title or body. As long as nothing has moved the entity's clock since its creation nobody has edited it; else
// only its system notes tell.
func text(key, content string, author query.User, e *api.Entity) query.Element {
	el := query.Element{Key: key, Rev: digest(content), Editors: query.EditorsUnread,
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(content))}}}
	if e.Updated.Equal(e.Created) {
		el.Actor, el.Editors, el.At = author, query.EditorsNamed, e.Created
	}
	return el
}

// labelFact is the labels of a row: all of them, but not who applied them.
func labelFact(e *api.Entity) query.Fact {
	f := query.Fact{Presence: query.Known}
	if e.BadLabel {
		f.Presence, f.Why = query.Partial, "the server gave a label without its id"
	}
	for _, l := range e.Labels {
		v := query.Name(l.Name)
		v.Key = strconv.FormatInt(l.ID, 10)
		f.Items = append(f.Items, query.Element{Key: v.Key, Editors: query.EditorsUnread, Members: []query.Member{{ID: query.MName, Fact: known(v)}}})
	}
	return f
}

func known(vs ...query.Value) query.Fact { return query.Fact{Presence: query.Known, Values: vs} }

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// token is the listing's change mark of a row: a hash of what it shows of the entity. What it shows of other things (the
// state of an account, counts of votes) is left out, or rows would change without having changed.
func token(e *api.Entity) string {
	mark := *e
	mark.Pipeline, mark.PipelineTold = nil, false
	strip := func(us []api.User) []api.User {
		out := make([]api.User, len(us))
		for i, u := range us {
			out[i] = api.User{ID: u.ID, Username: u.Username}
		}
		return out
	}
	mark.Assignees, mark.Reviewers = strip(e.Assignees), strip(e.Reviewers)
	if e.Author != nil {
		mark.Author = &api.User{ID: e.Author.ID, Username: e.Author.Username}
	}
	b, err := json.Marshal(mark)
	if err != nil {
		return "" // no token: always looked at
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16])
}
