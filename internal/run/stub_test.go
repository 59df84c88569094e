package run_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/run"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// stub is an adapter and its session over one entity, which answers as a test wants: what no real provider may be made
// to say is said by it.
type stub struct {
	adapters.Adapter
	adapters.Session
	scope  scope.Scope
	item   adapters.Item
	roles  map[string]adapters.Role
	change func(n int, items []adapters.Item) []adapters.Item // of the nth read
	answer func(fs []adapters.Finding) []adapters.Finding
	find   error
	reads  int
	asked  int
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newStub is an issue on GitHub with the label ready by id 7, who may triage.
func newStub() *stub {
	id := scope.Identity{Provider: query.GitHub, Tenant: "github.com", Kind: query.WorkItem, ID: "100"}
	f := &query.Facts{}
	f.SetKnown(query.FState, query.Word("open"))
	f.SetItems(query.FLabel, query.Element{Key: "l1", Rev: "1", Actor: query.User{ID: "7", Login: "tess"}, Editors: query.EditorsNamed,
		Members: []query.Member{{ID: query.MName, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Name("ready")}}}}})
	f.SetItems(query.FLinked)
	return &stub{
		scope: scope.Scope{Provider: query.GitHub, Tenant: "github.com", Container: "17", Kind: query.WorkItem, Account: "1"},
		item: adapters.Item{Ref: scope.Ref{Identity: id, Alias: "7", Key: "acme/widgets#7", URL: "https://github.com/acme/widgets/issues/7"},
			Place: scope.Place{Tenant: "github.com", Container: "17", Kind: query.WorkItem}, Updated: noon, ReadAt: noon, Facts: f},
		roles: map[string]adapters.Role{"7": adapters.Triage, "8": adapters.Write, "9": adapters.ReadRole},
	}
}

func (s *stub) Provider() string { return query.GitHub }
func (s *stub) Catalogue(k query.Kind) *query.Catalogue {
	return query.NewCatalogue(query.GitHub, k, nil)
}
func (s *stub) EditFloor(query.FieldID) adapters.Role { return adapters.NoRole }
func (s *stub) Open(context.Context, adapters.Config) (adapters.Session, error) {
	return s, nil
}
func (s *stub) Scope() scope.Scope { return s.scope }
func (s *stub) Health(context.Context) (adapters.Health, error) {
	return adapters.Health{Clock: noon, CanRoles: true}, nil
}
func (s *stub) Find(context.Context, string) (scope.Ref, error) { return s.item.Ref, s.find }
func (s *stub) Pages(context.Context, adapters.Plan, adapters.Walk, adapters.Position) iter.Seq2[adapters.Page, error] {
	panic("a run asks for no listing")
}

func (s *stub) Read(context.Context, []scope.Ref, query.FieldSet) ([]adapters.Item, error) {
	s.reads++
	it := s.item
	if it.Facts != nil {
		f := *it.Facts
		it.Facts = &f
	}
	out := []adapters.Item{it}
	if s.change != nil {
		out = s.change(s.reads, out)
	}
	return out, nil
}

func (s *stub) Roles(_ context.Context, us []query.User) ([]adapters.Finding, error) {
	s.asked += len(us)
	var out []adapters.Finding
	for _, u := range us {
		r, ok := s.roles[u.ID]
		out = append(out, adapters.Finding{Actor: u, Role: r, Verified: ok, Endpoint: "permission", At: noon, Why: "unknown account"})
	}
	if s.answer != nil {
		out = s.answer(out)
	}
	return out, nil
}

// bound binds a harness to the stub; q "" is none.
func (s *stub) bound(t *testing.T, q, cel string, threshold adapters.Role) *run.Bound {
	t.Helper()
	cat := s.Catalogue(query.WorkItem)
	p, issues := trigger.Compile(cel, cat)
	require.Empty(t, issues)
	h := run.Harness{Name: "h", Trigger: p, Threshold: threshold, Sourced: q != ""}
	if q != "" {
		parsed, ds := query.Parse(q)
		require.False(t, ds.Failed(), "%v", ds)
		b, ds := parsed.Bind(query.WorkItem, cat, query.Env{})
		require.False(t, ds.Failed(), "%v", ds)
		h.Queries = []*query.Bound{b}
	}
	return &run.Bound{Targets: []run.Target{{Driver: "d", Adapter: s, Config: adapters.Config{Kind: query.WorkItem}, Harness: h}}}
}

func (s *stub) judge(t *testing.T, b *run.Bound, ev string) run.Verdict {
	t.Helper()
	return run.Judge(context.Background(), b, &run.Candidate{Ref: "acme/widgets#7", Event: []byte(ev)})
}

const member = `v1: state = open and label = "ready"`

// SPEC AU-28, RU-1: what a provider may not answer starts nothing, and neither does a lie.
func TestAnswersThatProveNothing(t *testing.T) {
	at := func(n int, f func(*adapters.Item)) func(int, []adapters.Item) []adapters.Item {
		return func(i int, items []adapters.Item) []adapters.Item {
			if i >= n {
				f(&items[0])
			}
			return items
		}
	}
	for name, c := range map[string]struct {
		stub    func(s *stub)
		outcome string
	}{
		"honest":                   {func(*stub) {}, ""},
		"another repository":       {func(s *stub) { s.change = at(1, func(it *adapters.Item) { it.Place.Container = "18" }) }, coverage.NotMember},
		"another tenant":           {func(s *stub) { s.change = at(1, func(it *adapters.Item) { it.Place.Tenant = "ghe" }) }, coverage.NotMember},
		"a place that is not told": {func(s *stub) { s.change = at(1, func(it *adapters.Item) { it.Place.Container = "" }) }, coverage.UnknownRun},
		"another entity":           {func(s *stub) { s.change = at(1, func(it *adapters.Item) { it.Ref.ID = "101" }) }, coverage.UnknownRun},
		"gone":                     {func(s *stub) { s.change = at(1, func(it *adapters.Item) { it.State = adapters.Gone }) }, coverage.NotMember},
		"unreadable":               {func(s *stub) { s.change = at(1, func(it *adapters.Item) { it.State = adapters.Unreadable }) }, coverage.UnknownRun},
		"no facts":                 {func(s *stub) { s.change = at(1, func(it *adapters.Item) { it.Facts = nil }) }, coverage.UnknownRun},
		"no answer":                {func(s *stub) { s.change = func(int, []adapters.Item) []adapters.Item { return nil } }, coverage.UnknownRun},
		"two answers":              {func(s *stub) { s.change = func(_ int, is []adapters.Item) []adapters.Item { return append(is, is[0]) } }, coverage.UnknownRun},
		"a role of somebody else": {func(s *stub) {
			s.answer = func(fs []adapters.Finding) []adapters.Finding { fs[0].Actor.ID = "8"; return fs }
		}, coverage.UnknownRun},
		"no role": {func(s *stub) { s.answer = func([]adapters.Finding) []adapters.Finding { return nil } }, coverage.UnknownRun},
		"a role that is none": {func(s *stub) {
			s.answer = func(fs []adapters.Finding) []adapters.Finding { fs[0].Role = 99; return fs }
		}, coverage.UnknownRun},
		"a bot, says the role's endpoint": {func(s *stub) {
			s.answer = func(fs []adapters.Finding) []adapters.Finding { fs[0].Actor.Bot = true; return fs }
		}, coverage.NotMember},
		"a partial list of labels": {func(s *stub) {
			s.item.Facts.Get(query.FLabel).Presence = query.Partial
			s.item.Facts.Get(query.FLabel).Items = nil
		}, coverage.UnknownRun},
		"attribution that was not read":    {func(s *stub) { s.item.Facts.Get(query.FLabel).Items[0].Editors = query.EditorsUnread }, coverage.UnknownRun},
		"an editor who is not named":       {func(s *stub) { s.item.Facts.Get(query.FLabel).Items[0].Editors = query.EditorsPossible }, coverage.UnknownRun},
		"a search that fails for a moment": {func(s *stub) { s.find = &adapters.Error{Severity: adapters.MomentFailure, Err: errors.New("cut off")} }, coverage.UnknownRun},
		"a scope that cannot be read":      {func(s *stub) { s.find = &adapters.Error{Severity: adapters.ScopeFailure, Err: adapters.ErrNotFound} }, coverage.UnknownRun},
		"an entity that is not there":      {func(s *stub) { s.find = &adapters.Error{Severity: adapters.ItemFailure, Err: adapters.ErrNotFound} }, coverage.NotMember},
		"an entity that never stands still": {func(s *stub) {
			s.item.Facts.Set(query.FLabel, query.Fact{})
			n := 0
			s.change = func(_ int, is []adapters.Item) []adapters.Item {
				n++
				is[0].Updated = noon.Add(time.Duration(n) * time.Second)
				return is
			}
		}, coverage.UnknownRun},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub()
			c.stub(s)
			v := s.judge(t, s.bound(t, member, "true", adapters.Triage), "")
			assert.Equal(t, c.outcome, v.Outcome, v.Why)
			assert.Equal(t, c.outcome == "", v.Starts())
			assert.Less(t, s.reads, 12, "it ends")
		})
	}
}

// SPEC AU-26: the forge let nobody below triage label, so the label's actor needs no further role, when the history shows
// that it was so. It covers the actor alone.
func TestTheLabelException(t *testing.T) {
	label := func(actor, name string) string {
		return fmt.Sprintf(`{"source":{"system":"github"},"entity":{"kind":"work_item","key":"acme/widgets#7"},"actor":{"id":%q},
			"transition":{"kind":"label_changed","label":{"name":%q,"action":"added"}}}`, actor, name)
	}
	for name, c := range map[string]struct {
		query, event string
		threshold    adapters.Role
		outcome      string
	}{
		"who labelled, below the threshold":            {"", label("7", "ready"), adapters.Write, ""},
		"somebody who did not label":                   {"", label("9", "ready"), adapters.Write, coverage.NotTriggered},
		"a label that is not there":                    {"", label("7", "urgent"), adapters.Write, coverage.NotTriggered},
		"the label itself stands by its own admission": {member, label("7", "ready"), adapters.Write, coverage.NotMember},
		"and is a member where that suffices":          {member, label("7", "ready"), adapters.Triage, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub()
			v := s.judge(t, s.bound(t, c.query, `event != null`, c.threshold), c.event)
			assert.Equal(t, c.outcome, v.Outcome, v.Why)
		})
	}
}

// SPEC RE-5: a linked change proposal is the subject, when somebody with a say linked it.
func TestSubjectOfALinkedItem(t *testing.T) {
	link := func(by string) query.Element {
		return query.Element{Key: "500", Rev: "1", Actor: query.User{ID: by}, Editors: query.EditorsNamed,
			Members: []query.Member{{ID: query.MState, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Word("open")}}}}}
	}
	for by, want := range map[string]string{"8": "500", "9": "100"} {
		s := newStub()
		s.item.Facts.SetItems(query.FLinked, link(by))
		v := s.judge(t, s.bound(t, `v1: state = open and (label = "ready" or any linked_change_proposal(state = open))`, "true", adapters.Triage), "")
		require.True(t, v.Starts(), v.Why)
		assert.Equal(t, want, v.Subject.ID)
	}
}

// SPEC AU-25: what the sender says of the actor is replaced by what the provider says.
func TestTheSendersWordOnTheActor(t *testing.T) {
	s := newStub()
	b := s.bound(t, "", `event.actor.kind == "human" && event.actor.role == "write" && event.actor.role_verified && !event.actor.is_entity_author`, adapters.Write)
	ev := `{"source":{"system":"github"},"entity":{"kind":"work_item","key":"acme/widgets#7"},"actor":{"id":"8","kind":"bot","role":"read","is_entity_author":true},"transition":{"kind":"opened"}}`
	v := s.judge(t, b, ev)
	assert.True(t, v.Starts(), v.Why)
}
