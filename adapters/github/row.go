package github

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// user maps an account. None is a deleted one, which equals nobody. A bot is one by its type alone; its login carries the
// suffix that the REST API and people give it. Mannequins stand for people of another system and have ids of their own.
func user(a *account) query.User {
	if a == nil {
		return query.User{Deleted: true}
	}
	return named(a.Kind, a.User.DatabaseID, a.Login)
}

func named(kind string, id int64, login string) query.User {
	u := query.User{Login: login}
	if id > 0 {
		u.ID = strconv.FormatInt(id, 10)
	}
	switch kind {
	case "Bot":
		u.Bot = true
		if !strings.HasSuffix(login, "[bot]") {
			u.Login += "[bot]"
		}
	case "Mannequin":
		u.ID = "mannequin:" + u.ID
	case "EnterpriseUserAccount":
		u.ID = ""
	}
	return u
}

// place is where a row says it lives; what it does not say stays empty.
func (s *session) place(e *entity) scope.Place {
	p := scope.Place{Tenant: s.scope.Tenant, Kind: e.kind}
	if e.Repository.DatabaseID > 0 {
		p.Container = strconv.FormatInt(e.Repository.DatabaseID, 10)
	}
	return p
}

// ref names an entity. The alias holds the number and the node id, which is opaque and may go stale.
func (s *session) ref(e *entity) scope.Ref {
	full := e.Repository.NameWithOwner
	if full == "" {
		full = s.repo.Load().NameWithOwner
	}
	n := strconv.FormatInt(e.Number, 10)
	return scope.Ref{
		Identity: scope.Identity{Provider: Provider, Tenant: s.scope.Tenant, Kind: e.kind, ID: e.DatabaseID},
		Alias:    n + " " + e.ID,
		Key:      full + "#" + n,
		URL:      e.URL,
	}
}

// parseAlias reads what ref wrote; the node id may be missing.
func parseAlias(s string) (number int64, node string, ok bool) {
	digits, node, _ := strings.Cut(s, " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, node, err == nil && n > 0
}

func (s *session) item(e *entity, at time.Time) adapters.Item {
	return adapters.Item{Ref: s.ref(e), Place: s.place(e), Number: e.Number, Updated: e.UpdatedAt.UTC(), Facts: rowFacts(e), ReadAt: at}
}

func rowFacts(e *entity) *query.Facts {
	f := new(query.Facts)
	switch e.State {
	case "OPEN":
		f.SetKnown(query.FState, query.Word("open"))
		f.SetKnown(query.FClosed)
	case "CLOSED", "MERGED":
		f.SetKnown(query.FState, query.Word("closed"))
		if e.ClosedAt != nil {
			f.SetKnown(query.FClosed, query.Instant(*e.ClosedAt))
		}
	}
	author := user(e.Author)
	f.SetKnown(query.FAuthor, query.UserValue(author))
	f.SetKnown(query.FAuthorKind, query.Word(kindOfAuthor(author)))
	f.Set(query.FAssignee, assigneeFact(&e.Assignees))
	f.SetKnown(query.FCreated, query.Instant(e.CreatedAt))
	f.SetKnown(query.FUpdated, query.Instant(e.UpdatedAt))
	f.SetKnown(query.FLocked, query.Bool(e.Locked))
	if e.Milestone == nil {
		f.SetKnown(query.FMilestone)
	} else {
		v := query.Name(e.Milestone.Title)
		v.Key = e.Milestone.ID
		f.SetKnown(query.FMilestone, v)
	}
	f.SetItems(query.FTitle, title(e))
	f.SetItems(query.FBody, body(e))
	f.Set(query.FLabel, labelFact(e.Labels))
	if t := e.typed; t != nil && t.IssueType == nil {
		f.SetKnown(query.FType)
	} else if t != nil {
		v := query.Name(t.IssueType.Name)
		v.Key = t.IssueType.ID
		f.SetKnown(query.FType, v)
	} else if e.pull == nil {
		f.Set(query.FType, query.Fact{Why: "this server has no issue types"})
	}
	if p := e.pull; p != nil {
		f.SetKnown(query.FMerged, query.Bool(p.Merged))
		f.SetKnown(query.FDraft, query.Bool(p.IsDraft))
		f.SetKnown(query.FIsFork, query.Bool(p.IsCrossRepository))
		f.SetKnown(query.FBase, query.Ref(p.BaseRefName))
		f.SetKnown(query.FHead, query.Ref(p.HeadRefName))
	}
	return f
}

func kindOfAuthor(u query.User) string {
	if u.Bot {
		return "bot"
	}
	return "human"
}

// title: who changed it is in the timeline, which a listing does not read.
func title(e *entity) query.Element {
	return query.Element{Key: "title", Rev: digest(e.Title), Editors: query.EditorsUnread,
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(e.Title))}}}
}

// body is its editor's where it was edited; an edit by a deleted account is nobody's.
func body(e *entity) query.Element {
	el := query.Element{Key: "body", Rev: digest(e.Body), Editors: query.EditorsNamed, Actor: user(e.Author), At: e.CreatedAt.UTC(),
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(e.Body))}}}
	if e.LastEditedAt != nil {
		el.Actor, el.At = user(e.Editor), e.LastEditedAt.UTC()
	}
	return el
}

func assigneeFact(p *assigneePage) query.Fact {
	f := query.Fact{Presence: query.Known}
	if p.Nodes == nil {
		return query.Fact{Why: "the answer lists no assignees"}
	}
	if p.PageInfo.HasNextPage {
		f.Presence, f.Why = query.Partial, "there are more assignees than the answer shows"
	}
	for _, u := range p.Nodes {
		if u == nil {
			f.Presence, f.Why = query.Partial, "an assignee is null in the answer"
			continue
		}
		f.Values = append(f.Values, query.UserValue(named(u.Kind, u.DatabaseID, u.Login)))
	}
	return f
}

// labelFact is the labels of a row: all of them, but not who applied them.
func labelFact(p *labelPage) query.Fact {
	if p == nil || p.Nodes == nil {
		return query.Fact{Why: "the answer lists no labels"}
	}
	f := query.Fact{Presence: query.Known}
	if p.PageInfo.HasNextPage {
		f.Presence, f.Why = query.Partial, "there are more labels than the answer shows"
	}
	for _, l := range p.Nodes {
		if l == nil || l.ID == "" {
			f.Presence, f.Why = query.Partial, "a label is null in the answer"
			continue
		}
		v := query.Name(l.Name)
		v.Key = l.ID
		f.Items = append(f.Items, query.Element{Key: l.ID, Editors: query.EditorsUnread, Members: []query.Member{{ID: query.MName, Fact: known(v)}}})
	}
	return f
}

func known(vs ...query.Value) query.Fact { return query.Fact{Presence: query.Known, Values: vs} }

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// token is the listing's change mark of a row: a hash of what it shows. "" when part of it is missing, so that the row is
// always looked at.
func (e *entity) token() string {
	b, err := json.Marshal(struct {
		Row   *row
		Pull  *pullRow
		Typed *typedRow
	}{e.row, e.pull, e.typed})
	if err != nil {
		return ""
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16])
}
