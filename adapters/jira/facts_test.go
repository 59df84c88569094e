package jira_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/jira"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func values(it adapters.Item, f query.FieldID) (out []string) {
	fact := it.Facts.Get(f)
	if fact.Presence != query.Known {
		return []string{fact.Why}
	}
	for _, v := range fact.Values {
		switch v.Type {
		case query.TypeInstant:
			out = append(out, v.Time.Format(time.RFC3339))
		case query.TypeDate:
			out = append(out, v.Time.Format(time.DateOnly))
		case query.TypeUser:
			out = append(out, v.User.ID)
		case query.TypeNumber:
			out = append(out, time.Duration(v.Num*float64(time.Second)).String())
		default:
			out = append(out, v.Str)
		}
	}
	return out
}

// SPEC JI-3: every plain field of v1, on Cloud and on Data Center.
func TestPlainFacts(t *testing.T) {
	both(t, `
create as=stella title=parent
create as=wes title=one body="first\nsecond" due=2026-02-03 assignees=wes labels=bug
`, func(t *testing.T, s *stage) {
		for field, v := range map[string]string{"status": "In Review", "type": "Bug", "priority": "High", "components": "API,UI", "versions": "1.0",
			"parent": "acme/widgets#1", "cf[10021]": "core,edge", "cf[10022]": "5", "cf[10023]": "2026-01-31", "cf[10024]": "2026-01-31T09:00:00Z", "cf[10025]": "a note", "cf[10026]": "wes"} {
			s.set(2, field, v)
		}
		cf := query.CustomField
		s.run("advance by=1h")
		// custom fields are typed by the site's schema, which is read when a source names one
		ses := s.open()
		_, refused := ses.Compile(context.Background(), sources(t, `v1: cf[10022] > 3`))
		require.Empty(t, refused)
		items, err := ses.Read(context.Background(), []scope.Ref{s.ref(ses, 2)}, query.Fields(query.FStatus, cf(10021), cf(10022), cf(10023), cf(10024), cf(10025), cf(10026)))
		require.NoError(t, err)
		it := items[0]
		require.Equal(t, adapters.Present, it.State, "%v", it.Err)
		for f, want := range map[query.FieldID][]string{
			query.FState: {"open"}, query.FStatus: {"In Review"}, query.FStatusCategory: {"in_progress"}, query.FType: {"Bug"}, query.FPriority: {"High"},
			query.FComponent: {"API", "UI"}, query.FFixVersion: {"1.0"}, query.FParent: {"WIDGETS-1"}, query.FAuthor: {s.id("wes")}, query.FAuthorKind: {"human"},
			query.FAssignee: {s.id("wes")}, query.FCreated: {"2026-01-05T09:00:00Z"}, query.FUpdated: {"2026-01-05T09:00:00Z"}, query.FDue: {"2026-02-03"}, query.FClosed: nil,
			cf(10021): {"core", "edge"}, cf(10022): {"5s"}, cf(10023): {"2026-01-31"}, cf(10024): {"2026-01-31T09:00:00Z"}, cf(10025): {"a note"}, cf(10026): {s.id("wes")},
		} {
			assert.Equal(t, want, values(it, f), "field %d", f)
		}
		assert.Equal(t, "WIDGETS-2", it.Ref.Key)
		assert.Equal(t, "https://acme.example/browse/WIDGETS-2", it.Ref.URL)
		assert.Equal(t, "API", it.Facts.Get(query.FComponent).Values[0].Str)
		assert.NotEmpty(t, it.Facts.Get(query.FStatus).Values[0].Key)
		body := it.Facts.Get(query.FBody).Items[0].Member(query.MText)
		assert.Equal(t, "first\nsecond", body.Values[0].Str)
	})
}

// SPEC JI-3: what nobody set is known empty.
func TestEmptyFacts(t *testing.T) {
	both(t, "create as=wes title=one", func(t *testing.T, s *stage) {
		it := s.read(1, query.FLabel, query.FComment, query.FLastComment)
		for _, f := range []query.FieldID{query.FPriority, query.FComponent, query.FFixVersion, query.FParent, query.FAssignee, query.FDue, query.FClosed, query.FLabel, query.FComment} {
			assert.Equal(t, query.Known, it.Facts.Get(f).Presence, "field %d", f)
			assert.Empty(t, it.Facts.Get(f).Values, "field %d", f)
			assert.Empty(t, it.Facts.Get(f).Items, "field %d", f)
		}
		assert.Equal(t, []string{"2026-01-05T09:00:00Z"}, values(it, query.FLastComment))
	})
}

// SPEC JI-4: closed is category done, since the category changed; Data Center tells it by the changelog.
func TestClosed(t *testing.T) {
	both(t, `
create as=wes title=one
advance by=1h
close on=1 as=wes
advance by=1h
reopen on=1 as=wes
advance by=1h
close on=1 as=wes
advance by=1h
comment on=1 as=wes body=bye
`, func(t *testing.T, s *stage) {
		it := s.read(1, query.FClosed, query.FState)
		assert.Equal(t, []string{"closed"}, values(it, query.FState))
		assert.Equal(t, []string{"done"}, values(it, query.FStatusCategory))
		assert.Equal(t, []string{"2026-01-05T12:00:00Z"}, values(it, query.FClosed))
	})
}

// SPEC JI-5: a label is whose entry last brought it in; one that was set at creation is the creator's.
func TestLabelsAreAttributed(t *testing.T) {
	both(t, `
create as=stella title=one labels=ui
advance by=1h
label on=1 as=stella label=bug
advance by=1h
unlabel on=1 as=wes label=bug
advance by=1h
label on=1 as=wes label=bug
advance by=1h
label on=1 as=rea label=Regression
`, func(t *testing.T, s *stage) {
		got := map[string]string{}
		for _, e := range s.read(1, query.FLabel).Facts.Get(query.FLabel).Items {
			require.Equal(t, query.EditorsNamed, e.Editors)
			got[e.Key] = e.Actor.ID + " " + e.At.Format("15:04")
		}
		assert.Equal(t, map[string]string{"ui": s.id("stella") + " 09:00", "bug": s.id("wes") + " 12:00", "Regression": s.id("rea") + " 13:00"}, got)
	})
}

// SPEC JI-5: texts are whose edit was last.
func TestTextsAreAttributed(t *testing.T) {
	both(t, `
create as=stella title=one body=b
advance by=1h
edit on=1 as=wes title=two
advance by=1h
edit on=1 as=rea body=c
comment on=1 as=stella body="/fs-fix now\nplease" name=c1
comment on=1 as=wes body=hello name=c2
advance by=1h
edit-comment comment=c1 as=rea body="/fs-fix all"
comment on=1 as=robo body=beep
`, func(t *testing.T, s *stage) {
		it := s.read(1, query.FTitle, query.FBody, query.FComment, query.FLastComment)
		title, body := it.Facts.Get(query.FTitle).Items[0], it.Facts.Get(query.FBody).Items[0]
		assert.Equal(t, s.id("wes"), title.Actor.ID)
		assert.Equal(t, s.id("rea"), body.Actor.ID)
		cs := it.Facts.Get(query.FComment).Items
		require.Len(t, cs, 3)
		assert.Equal(t, s.id("rea"), cs[0].Actor.ID, "the editor's revision")
		assert.Equal(t, "/fs-fix", cs[0].Member(query.MCommand).Values[0].Str)
		assert.Equal(t, s.id("wes"), cs[1].Actor.ID)
		assert.Empty(t, cs[1].Member(query.MCommand).Values)
		if cs[2].Actor.Bot {
			assert.Equal(t, []string{"2026-01-05T12:00:00Z"}, values(it, query.FLastComment), "a bot is no person")
		}
	})
}

// SPEC JI-6: an app is a bot, and an unknown account is nobody.
func TestAccounts(t *testing.T) {
	s := newStage(t, face.Options{}, `
create as=robo title=one
create as=stella title=two labels=bug
delete-user login=stella
`)
	it := s.read(1)
	assert.Equal(t, []string{"bot"}, values(it, query.FAuthorKind))
	it = s.read(2, query.FLabel)
	assert.True(t, it.Facts.Get(query.FAuthor).Values[0].User.Deleted)
	assert.True(t, it.Facts.Get(query.FLabel).Items[0].Actor.Deleted)
	fs, err := s.open().Roles(context.Background(), []query.User{{Deleted: true}, {ID: "unknown"}})
	require.NoError(t, err)
	assert.True(t, fs[0].Verified)
	assert.Equal(t, adapters.None, fs[0].Role)
	assert.False(t, fs[1].Verified)
}

// SPEC JI-6: roles by account, by group id and through nested groups.
func TestRoles(t *testing.T) {
	both(t, "user login=gina\nuser login=nora\n", func(t *testing.T, s *stage) {
		s.face.Group("developers", "Developers", []string{"gina"}, []string{"inner"})
		s.face.Group("inner", "", []string{"nora"}, nil)
		ses := s.open()
		_, err := ses.Health(context.Background())
		require.NoError(t, err)
		var as []query.User
		logins := []string{"olga", "wes", "rea", "gina", "nora"}
		for _, l := range logins {
			as = append(as, query.User{ID: s.id(l), Login: l})
		}
		fs, err := ses.Roles(context.Background(), as)
		require.NoError(t, err)
		for i, want := range []adapters.Role{adapters.Admin, adapters.Write, adapters.ReadRole, adapters.Write, adapters.Write} {
			assert.True(t, fs[i].Verified, "%s: %s", logins[i], fs[i].Why)
			assert.Equal(t, want, fs[i].Role, logins[i])
		}
	})
}

// SPEC JI-6: who may not administer the project cannot read roles, and says so.
func TestRolesNeedAdministration(t *testing.T) {
	s := newStage(t, face.Options{}, "")
	s.token = "rw"
	ses := s.open()
	h, err := ses.Health(context.Background())
	require.NoError(t, err)
	assert.False(t, h.CanRoles)
	require.Len(t, h.Warnings, 1)
	assert.Contains(t, h.Warnings[0], "administer")
	fs, err := ses.Roles(context.Background(), []query.User{{ID: s.id("wes")}})
	require.NoError(t, err)
	assert.False(t, fs[0].Verified)
	assert.Contains(t, fs[0].Why, "administer")
}

// SPEC JI-2: an issue keeps its id when it moves, and is gone from here; its old key leads to it.
func TestMovesArchivesAndDeletions(t *testing.T) {
	s := newStage(t, face.Options{}, `
create as=wes title=stays
create as=wes title=moves labels=bug
create as=wes title=ends
create as=wes title=rests
`)
	ses := s.open()
	refs := []scope.Ref{s.ref(ses, 1), s.ref(ses, 2), s.ref(ses, 3), s.ref(ses, 4)}
	_, err := s.face.Move("acme/widgets#2", "wes", "acme/gadgets")
	require.NoError(t, err)
	s.run("delete on=3")
	require.NoError(t, s.face.Archive("acme/widgets#4", true))
	items, err := ses.Read(context.Background(), refs, query.Fields(query.FState))
	require.NoError(t, err)
	states := []adapters.ItemState{items[0].State, items[1].State, items[2].State, items[3].State}
	assert.Equal(t, []adapters.ItemState{adapters.Present, adapters.Gone, adapters.Gone, adapters.Unreadable}, states)
	require.ErrorIs(t, items[1].Err, adapters.ErrMoved)
	_, err = ses.Find(context.Background(), "WIDGETS-2")
	require.ErrorIs(t, err, adapters.ErrNotFound, "it is another project's now")
	assert.Equal(t, []int64{1}, list(ses, nil, "all", time.Time{}).numbers)
}

// SPEC JI-2: two sites may have the same ids; the cloud id parts them.
func TestTenants(t *testing.T) {
	const other = "11111111-2222-4333-8444-555555555555"
	a, b := newStage(t, face.Options{}, "create as=wes title=one"), newStage(t, face.Options{CloudID: other}, "create as=wes title=one")
	assert.NotEqual(t, a.open().Scope().Key(), b.open().Scope().Key())
	assert.Equal(t, other, b.open().Scope().Tenant)
	b.config.Settings["cloud_id"] = other
	before := len(b.seen.paths)
	require.Equal(t, []int64{1}, list(b.open(), nil, "changed", time.Time{}).numbers)
	for _, p := range b.seen.paths[before:] {
		assert.Regexp(t, "^/ex/jira/"+other+"/", p, "no request leaves the gateway's prefix")
	}
}

// Development information says whether there are proposals, and not whose.
func TestLinked(t *testing.T) {
	s := newStage(t, face.Options{}, `
create as=wes title=one
create as=wes title=fix kind=change_proposal name=p
create as=wes title=two
link on=1 as=wes to=p
`)
	assert.Len(t, s.read(1, query.FLinked).Facts.Get(query.FLinked).Items, 1)
	none := s.read(3, query.FLinked).Facts.Get(query.FLinked)
	assert.Equal(t, query.Known, none.Presence)
	assert.Empty(t, none.Items)
	s.face.Switch(func(q *face.Quirks) { q.MatchClosed = true })
	assert.Equal(t, query.Unknown, s.read(1, query.FLinked).Facts.Get(query.FLinked).Presence)
}
