package gitlab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func value(f *query.Facts, id query.FieldID) query.Value {
	vs := f.Get(id).Values
	if len(vs) != 1 {
		return query.Value{}
	}
	return vs[0]
}

// SPEC GL-10: what a row of an issue says, field by field.
func TestIssueRow(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, `
create as=stella title="a title" body="a body" labels=bug,ui assignees=wes,wanda milestone=1.0 due=2026-02-03 name=a
type on=a as=wes type=incident
advance by=1h
edit on=a as=olga locked=true
close on=a as=wes`)
	l := list(s.open(), walk(s.open(), false), time.Time{}, nil)
	require.Len(t, l.items, 1)
	it := l.items[0]
	f := it.Facts
	assert.Equal(t, s.ref("a").Identity, it.Ref.Identity)
	assert.Equal(t, "acme/widgets#1", it.Ref.Key)
	assert.Equal(t, "http://git.example/acme/widgets/-/issues/1", it.Ref.URL)
	assert.Equal(t, scope.Place{Tenant: "git.example", Container: "3", Kind: query.WorkItem}, scope.Place{Tenant: it.Place.Tenant, Container: "3", Kind: it.Place.Kind})
	assert.Equal(t, "closed", value(f, query.FState).Str)
	assert.Equal(t, "incident", value(f, query.FType).Str)
	assert.Equal(t, s.user("stella"), value(f, query.FAuthor).User)
	assert.Equal(t, query.Unknown, f.Get(query.FAuthorKind).Presence, "rows do not say who is a bot")
	assert.Equal(t, []query.Value{query.UserValue(s.user("wes")), query.UserValue(s.user("wanda"))}, f.Get(query.FAssignee).Values)
	assert.Equal(t, "1.0", value(f, query.FMilestone).Str)
	assert.Equal(t, forgesim.Epoch(), value(f, query.FCreated).Time)
	assert.Equal(t, forgesim.Epoch().Add(time.Hour), value(f, query.FUpdated).Time)
	assert.Equal(t, forgesim.Epoch().Add(time.Hour), value(f, query.FClosed).Time)
	assert.Equal(t, "2026-02-03", value(f, query.FDue).Time.Format(time.DateOnly))
	assert.True(t, value(f, query.FLocked).Bool)
	assert.Equal(t, query.EditorsUnread, f.Get(query.FTitle).Items[0].Editors)
	require.Len(t, f.Get(query.FLabel).Items, 2)
	assert.Equal(t, query.EditorsUnread, f.Get(query.FLabel).Items[0].Editors)
}

// SPEC GL-10: an entity that nothing has touched since its creation is its author's.
func TestUntouchedTexts(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=stella title=t body=b name=a")
	l := list(s.open(), walk(s.open(), false), time.Time{}, nil)
	for _, id := range []query.FieldID{query.FTitle, query.FBody} {
		e := l.items[0].Facts.Get(id).Items[0]
		assert.Equal(t, query.EditorsNamed, e.Editors)
		assert.Equal(t, s.user("stella"), e.Actor)
	}
}

// SPEC GL-10: what a row of a merge request says.
func TestMergeRequestRow(t *testing.T) {
	s := newStage(t, query.ChangeProposal, face.Quirks{}, `
create as=wes title=work kind=change_proposal draft=true base=release head=topic name=a
create as=stella title=fork kind=change_proposal head-repo=acme/gadgets name=b
create as=wes title=done kind=change_proposal name=c
create as=wes title=again kind=change_proposal name=d
advance by=1h
merge on=c as=olga
close on=d as=olga ; reopen on=d as=olga`)
	l := list(s.open(), walk(s.open(), true), time.Time{}, nil)
	require.Len(t, l.items, 4)
	a, b, c, d := l.items[3].Facts, l.items[2].Facts, l.items[1].Facts, l.items[0].Facts
	if value(a, query.FBase).Str != "release" { // ties are in descending order of ids
		a, b, c, d = d, c, b, a
	}
	assert.True(t, value(a, query.FDraft).Bool)
	assert.Equal(t, "release", value(a, query.FBase).Str)
	assert.Equal(t, "topic", value(a, query.FHead).Str)
	assert.False(t, value(a, query.FIsFork).Bool)
	assert.True(t, value(b, query.FIsFork).Bool)
	assert.True(t, value(c, query.FMerged).Bool)
	assert.Equal(t, "closed", value(c, query.FState).Str)
	assert.Equal(t, forgesim.Epoch().Add(time.Hour), value(c, query.FClosed).Time)
	assert.Equal(t, "open", value(d, query.FState).Str)
	assert.Equal(t, query.Fact{Presence: query.Known}, *d.Get(query.FClosed), "what is left of the last closing is none")
	assert.Equal(t, query.Known, d.Get(query.FReviewer).Presence)
}

// SPEC GL-11: labels are named by their last event, by id: not by their name, and nobody's where there is none.
func TestLabels(t *testing.T) {
	for _, kind := range kinds() {
		s := newStage(t, kind, face.Quirks{}, `
create as=stella title=t kind=`+string(kind)+` labels=ui name=a
advance by=1m
label on=a as=wes label=bug
advance by=1m
unlabel on=a as=wes label=bug
advance by=1m
label on=a as=wanda label=bug
rename-label label=bug to=defect
rename-user login=wanda to=wanda-smith`)
		ls := s.read(s.open(), "a", query.FLabel).Facts.Get(query.FLabel)
		require.Len(t, ls.Items, 2)
		assert.Equal(t, query.Known, ls.Presence)
		assert.Equal(t, "defect", ls.Items[0].Member(query.MName).Values[0].Str)
		assert.Equal(t, s.user("wanda-smith"), ls.Items[0].Actor)
		assert.Equal(t, forgesim.Epoch().Add(3*time.Minute), ls.Items[0].At)
		assert.Equal(t, s.user("stella"), ls.Items[1].Actor, "labels of the creation have events too")
		s.run("delete-user login=wanda-smith")
		ls = s.read(s.open(), "a", query.FLabel).Facts.Get(query.FLabel)
		assert.True(t, ls.Items[0].Actor.Deleted)
		assert.Equal(t, query.EditorsNamed, ls.Items[0].Editors)
	}
}

// SPEC GL-11: an issue that came from elsewhere brings its labels without their history.
func TestMovedLabelsAreNobodys(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t repo=acme/gadgets labels=bug name=a\nmove on=a as=olga to=acme/widgets name=b")
	e := s.read(s.open(), "b", query.FLabel).Facts.Get(query.FLabel).Items[0]
	assert.Equal(t, query.EditorsNamed, e.Editors)
	assert.Equal(t, query.User{}, e.Actor)
}

// SPEC GL-12: comments are the notes that the server did not write itself; who edited one is not told.
func TestComments(t *testing.T) {
	for _, kind := range kinds() {
		s := newStage(t, kind, face.Quirks{}, `
create as=wes title=t kind=`+string(kind)+` name=a
comment on=a as=stella body="/fs-fix this\nplease" name=c
assign on=a as=wes user=rea
advance by=1m
comment on=a as=wes body=thanks
advance by=1m
edit-comment comment=c as=mira body="/fs-stop"`)
		s.w.ResetCounters()
		f := s.read(s.open(), "a", query.FComment).Facts.Get(query.FComment)
		require.Len(t, f.Items, 2)
		c := f.Items[0]
		assert.Equal(t, s.user("stella"), c.Actor)
		assert.Equal(t, query.EditorsPossible, c.Editors)
		assert.Equal(t, forgesim.Epoch().Add(2*time.Minute), c.At)
		assert.Equal(t, "/fs-stop", c.Member(query.MCommand).Values[0].Str)
		assert.Equal(t, query.EditorsNamed, f.Items[1].Editors)
		assert.Empty(t, f.Items[1].Member(query.MCommand).Values)
	}
}

// SPEC GL-12: rows that were cut out of a page do not end the list.
func TestHiddenNotes(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{NoteDrops: []int64{1}}, "create as=wes title=t name=a\n"+strings.Repeat("comment on=a as=wes body=x\n", 250))
	assert.Len(t, s.read(s.open(), "a", query.FComment).Facts.Get(query.FComment).Items, 247)
}

// SPEC GL-12: a list that changes while its pages are read is read again.
func TestNotesThatVanish(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t name=a\ncomment on=a as=wes body=first name=c\n"+strings.Repeat("comment on=a as=wes body=x\n", 120)+
		"comment on=a as=wes body=/go")
	ses := s.open()
	s.run(`after route=issue.notes n=1 do="delete-comment comment=c"`)
	f := s.read(ses, "a", query.FComment).Facts.Get(query.FComment)
	assert.Len(t, f.Items, 121)
	assert.Equal(t, "/go", f.Items[120].Member(query.MCommand).Values[0].Str)
}

// SPEC GL-14: the last editor of a text is the author of the note that the server wrote about it.
func TestTexts(t *testing.T) {
	title, body := query.FTitle, query.FBody
	for name, tt := range map[string]struct {
		script string
		q      face.Quirks
		field  query.FieldID
		want   string
		eds    query.Editors
	}{
		"only labelled":         {script: "label on=a as=wes label=bug", field: body, want: "stella", eds: query.EditorsNamed},
		"body by another":       {script: "edit on=a as=wes body=new", field: body, want: "wes", eds: query.EditorsNamed},
		"title of that":         {script: "edit on=a as=wes body=new", field: title, want: "stella", eds: query.EditorsNamed},
		"title by another":      {script: "edit on=a as=wes title=new", field: title, want: "wes", eds: query.EditorsNamed},
		"edited by its author":  {script: "edit on=a as=wes title=new ; advance by=1m ; edit on=a as=stella title=newer", field: title, want: "stella", eds: query.EditorsNamed},
		"a note in a comment":   {script: `comment on=a as=rea body="changed the description"`, field: body, want: "stella", eds: query.EditorsNamed},
		"strange note":          {script: "label on=a as=wes label=bug", q: face.Quirks{StrangeNote: 1, StrangeNoteBy: "rea"}, field: body, want: "stella", eds: query.EditorsPossible},
		"strange note, own":     {script: "label on=a as=wes label=bug", q: face.Quirks{StrangeNote: 1, StrangeNoteBy: "stella"}, field: body, want: "stella", eds: query.EditorsNamed},
		"everything else":       {script: "assign on=a as=wes user=rea ; close on=a as=wes ; reopen on=a as=wes ; edit on=a as=wes locked=true due=2026-03-01 ; mention on=a as=wes from=b ; edit on=a as=wes due=none", field: body, want: "stella", eds: query.EditorsNamed},
		"edited before strange": {script: "edit on=a as=wes body=new ; advance by=1m ; label on=a as=wes label=bug", q: face.Quirks{StrangeNote: 1, StrangeNoteBy: "wes"}, field: body, want: "wes", eds: query.EditorsNamed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.WorkItem, tt.q, "create as=stella title=t body=b name=a\ncreate as=wes title=other name=b\nadvance by=1m\n"+tt.script)
			f := s.read(s.open(), "a", tt.field).Facts.Get(tt.field)
			require.Len(t, f.Items, 1)
			assert.Equal(t, s.user(tt.want), f.Items[0].Actor)
			assert.Equal(t, tt.eds, f.Items[0].Editors)
		})
	}
}

// SPEC GL-12: the last word of a person: neither bots nor agents, and reviews count.
func TestLastComment(t *testing.T) {
	at := func(d time.Duration) time.Time { return forgesim.Epoch().Add(d) }
	for name, tt := range map[string]struct {
		kind   query.Kind
		script string
		want   time.Time
	}{
		"silent":       {query.WorkItem, "", at(0)},
		"person":       {query.WorkItem, "comment on=a as=stella body=x", at(time.Hour)},
		"bot":          {query.WorkItem, "comment on=a as=stella body=x ; advance by=1h ; comment on=a as=robo body=x", at(time.Hour)},
		"agent":        {query.WorkItem, "comment on=a as=wanda body=x", at(0)},
		"system notes": {query.WorkItem, "close on=a as=wes", at(0)},
		"review":       {query.ChangeProposal, "review on=a as=olga state=approved", at(time.Hour)},
		"deleted":      {query.WorkItem, "comment on=a as=stella body=x ; delete-user login=stella", at(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tt.kind, face.Quirks{}, "create as=wes title=t kind="+string(tt.kind)+" name=a\nadvance by=1h\n"+tt.script)
			s.config.Agents = []string{s.user("wanda").ID}
			assert.Equal(t, tt.want, value(s.read(s.open(), "a", query.FLastComment).Facts, query.FLastComment).Time)
		})
	}
}

// SPEC GL-10: only an account's own page says whether it is a bot.
func TestAuthorKind(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=robo title=t name=a\ncreate as=wes title=t name=b\nuser login=project_bot\ncreate as=project_bot title=t name=c")
	ses := s.open()
	for alias, want := range map[string]string{"a": "bot", "b": "human", "c": "human"} {
		assert.Equal(t, want, value(s.read(ses, alias, query.FAuthorKind).Facts, query.FAuthorKind).Str, alias)
	}
	s.meter.reset()
	s.read(ses, "a", query.FAuthorKind)
	assert.Equal(t, 1, s.meter.total(), "an account is read once")
}

type seen struct {
	by, state string
	onHead    any
}

// SPEC GL-15: reviews are approvals, requests for changes and remarks; they are on the head when they came after it.
func TestReviews(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		q      face.Quirks
		want   []seen
	}{
		"none":                {"", face.Quirks{}, nil},
		"approved":            {"review on=a as=wanda state=approved", face.Quirks{}, []seen{{"wanda", "approved", true}}},
		"approved, old":       {"review on=a as=wanda state=approved", face.Quirks{NoApprovalTimes: true}, []seen{{"wanda", "approved", true}}},
		"before a push":       {"review on=a as=wanda state=approved ; advance by=1m ; push on=a as=wes", face.Quirks{}, []seen{{"wanda", "approved", false}}},
		"after a push":        {"push on=a as=wes ; advance by=1m ; review on=a as=wanda state=approved", face.Quirks{NoApprovalTimes: true}, []seen{{"wanda", "approved", true}}},
		"taken back":          {"review on=a as=wanda state=approved ; advance by=1m ; dismiss-review on=a as=olga user=wanda", face.Quirks{}, nil},
		"turned":              {"review on=a as=wanda state=approved ; advance by=1m ; review on=a as=wanda state=changes_requested", face.Quirks{}, []seen{{"wanda", "changes_requested", true}}},
		"remark":              {"review on=a as=stella state=commented body=hm", face.Quirks{}, []seen{{"stella", "commented", true}}},
		"remark and approval": {"review on=a as=wanda state=approved ; review on=a as=wanda state=commented body=hm", face.Quirks{}, []seen{{"wanda", "approved", true}}},
		"own remark":          {"review on=a as=wes state=commented body=hm", face.Quirks{}, nil},
		"just a comment":      {"comment on=a as=stella body=hm", face.Quirks{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.ChangeProposal, tt.q, "create as=wes title=t kind=change_proposal name=a\nadvance by=1m\n"+tt.script)
			f := s.read(s.open(), "a", query.FReview).Facts.Get(query.FReview)
			require.Equal(t, query.Known, f.Presence, f.Why)
			var got []seen
			for _, e := range f.Items {
				assert.Equal(t, query.EditorsNamed, e.Editors)
				assert.False(t, e.At.IsZero())
				one := seen{e.Actor.Login, e.Member(query.MState).Values[0].Str, nil}
				if on := e.Member(query.MOnHead); on.Presence == query.Known {
					one.onHead = on.Values[0].Bool
				}
				got = append(got, one)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// SPEC GL-15: a reviewer is somebody whose answer is still owed.
func TestReviewers(t *testing.T) {
	s := newStage(t, query.ChangeProposal, face.Quirks{}, `
create as=wes title=t kind=change_proposal name=a
request-review on=a as=wes user=wanda
request-review on=a as=wes user=olga
review on=a as=olga state=approved
review on=a as=tess state=changes_requested`)
	assert.Equal(t, []query.Value{query.UserValue(s.user("wanda"))}, s.read(s.open(), "a", query.FReviewer).Facts.Get(query.FReviewer).Values)
}

// SPEC GL-16: the pipeline counts when it is of the head.
func TestChecks(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		q      face.Quirks
		want   string
	}{
		"none":           {"", face.Quirks{}, "missing"},
		"green":          {"status on=a as=wes context=ci state=success", face.Quirks{}, "success"},
		"red":            {"status on=a as=wes context=ci state=success ; status on=a as=wes context=lint state=failure", face.Quirks{}, "failure"},
		"running":        {"status on=a as=wes context=ci state=pending", face.Quirks{}, "pending"},
		"pushed since":   {"status on=a as=wes context=ci state=success ; push on=a as=wes", face.Quirks{}, "missing"},
		"merged result":  {"status on=a as=wes context=ci state=success", face.Quirks{MergedResults: true}, "success"},
		"result of head": {"push on=a as=wes ; advance by=1m ; status on=a as=wes context=ci state=success", face.Quirks{MergedResults: true}, "success"},
		"hidden":         {"status on=a as=wes context=ci state=success", face.Quirks{HiddenPipelines: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.ChangeProposal, tt.q, "create as=wes title=t kind=change_proposal name=a\nadvance by=1m\n"+tt.script)
			f := s.read(s.open(), "a", query.FChecks).Facts
			assert.Equal(t, tt.want, value(f, query.FChecks).Str)
			if tt.want == "" {
				assert.Equal(t, query.Unknown, f.Get(query.FChecks).Presence)
				assert.NotEmpty(t, f.Get(query.FChecks).Why)
			}
		})
	}
}

// SPEC GL-17: the merge requests that close an issue.
func TestLinked(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, `
create as=wes title=t name=a
create as=stella title=open kind=change_proposal name=m
create as=wes title=merged kind=change_proposal name=n
link on=a as=wes to=m ; link on=a as=wes to=n
merge on=n as=olga`)
	f := s.read(s.open(), "a", query.FLinked).Facts.Get(query.FLinked)
	require.Len(t, f.Items, 2)
	assert.Equal(t, s.user("stella"), f.Items[0].Actor)
	assert.Equal(t, "open", f.Items[0].Member(query.MState).Values[0].Str)
	assert.True(t, f.Items[1].Member(query.MMerged).Values[0].Bool)
}

// SPEC GL-7 GL-18: gone is proven; what is out of sight is not gone, and what was moved is another issue now.
func TestGone(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, `
create as=wes title=gone name=a
create as=wes title=moved name=b
create as=wes title=hidden name=c
create as=wes title=here name=d`)
	ses := s.open()
	refs := []scope.Ref{s.ref("a"), s.ref("b"), s.ref("c"), s.ref("d")}
	s.run("delete on=a\nmove on=b as=olga to=acme/gadgets")
	require.NoError(t, s.w.SetConfidential("c", "wes", true))
	state := func(ses adapters.Session) (out []adapters.ItemState) {
		items, err := ses.Read(t.Context(), refs, query.Fields(query.FLabel))
		require.NoError(t, err)
		for _, it := range items {
			out = append(out, it.State)
		}
		return out
	}
	assert.Equal(t, []adapters.ItemState{adapters.Gone, adapters.Gone, adapters.Present, adapters.Present}, state(ses))
	s.token = "ro" // a guest, who may not see what is confidential
	assert.Equal(t, []adapters.ItemState{adapters.Unreadable, adapters.Gone, adapters.Unreadable, adapters.Present}, state(s.open()))
	l := list(ses, walk(ses, false), time.Time{}, nil)
	assert.Error(t, l.err, "another account's token")

	s.token = "adm"
	ses = s.open()
	l = list(ses, walk(ses, false), time.Time{}, nil)
	var gone int
	for _, it := range l.items {
		if it.State == adapters.Gone {
			gone++
			assert.Contains(t, it.Err.Error(), "moved")
		}
	}
	assert.Equal(t, 1, gone)
	probed, err := ses.(adapters.Prober).Probe(t.Context(), []int64{1, 4, 99})
	require.NoError(t, err)
	assert.Equal(t, adapters.Gone, probed[0].State)
	assert.Equal(t, adapters.Present, probed[1].State)
	assert.Equal(t, adapters.Gone, probed[2].State)
}

// SPEC GL-18: a number that is another entity by now is not the one that is meant.
func TestAnotherEntity(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t name=a")
	r := s.ref("a")
	r.ID = "4711"
	items, err := s.open().Read(t.Context(), []scope.Ref{r, {Alias: "x"}, {Alias: "-1"}}, query.FieldSet{})
	require.NoError(t, err)
	assert.Equal(t, adapters.Gone, items[0].State)
	assert.Equal(t, adapters.Unreadable, items[1].State)
	assert.Equal(t, adapters.Unreadable, items[2].State)
}

// SPEC GL-18: a row that the list lost is not gone.
func TestLostRowIsNotGone(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t name=a\ncreate as=wes title=u name=b")
	ses := s.open()
	s.run("fault kind=drop-rows route=issues.byiid n=1")
	items, err := ses.Read(t.Context(), []scope.Ref{s.ref("a"), s.ref("b")}, query.FieldSet{})
	require.NoError(t, err)
	states := []adapters.ItemState{items[0].State, items[1].State}
	assert.ElementsMatch(t, []adapters.ItemState{adapters.Present, adapters.Unreadable}, states)
}

// SPEC GL-19: a part that is refused leaves its field unknown, one that fails for now leaves the entity unread, and a batch
// that is throttled asks no further.
func TestPartsThatFail(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, strings.Repeat("create as=wes title=t labels=bug\n", 60))
	ses := s.open()
	l := list(ses, walk(ses, false), time.Time{}, nil)
	var refs []scope.Ref
	for _, it := range l.items {
		refs = append(refs, it.Ref)
	}
	read := func(fault string) []adapters.Item {
		s.run("clear-faults\nfault route=issue.labelevents kind=" + fault)
		s.meter.reset()
		items, err := ses.Read(t.Context(), refs, query.Fields(query.FLabel))
		require.NoError(t, err)
		return items
	}
	for _, it := range read("status status=403") {
		require.Equal(t, adapters.Present, it.State)
		assert.Equal(t, query.EditorsUnread, it.Facts.Get(query.FLabel).Items[0].Editors)
	}
	for _, it := range read("status status=500") {
		require.Equal(t, adapters.Unreadable, it.State)
	}
	for _, it := range read("status status=429 retry-after=30") {
		require.ErrorIs(t, it.Err, adapters.ErrThrottled)
	}
	assert.Less(t, s.meter.total(), 12)
}

// SPEC GL-19: rows are read fifty at a time, and nothing is read that is not named.
func TestReadCost(t *testing.T) {
	s := newStage(t, query.ChangeProposal, face.Quirks{}, strings.Repeat("create as=wes title=t kind=change_proposal labels=bug\n", 60))
	ses := s.open()
	l := list(ses, walk(ses, false), time.Time{}, nil)
	var refs []scope.Ref
	for _, it := range l.items {
		refs = append(refs, it.Ref)
	}
	for _, tt := range []struct {
		fields []query.FieldID
		want   int
	}{{nil, 2}, {[]query.FieldID{query.FState, query.FReviewer}, 2}, {[]query.FieldID{query.FLabel}, 62}, {[]query.FieldID{query.FComment, query.FLastComment}, 62}, {[]query.FieldID{query.FChecks}, 62}} {
		s.meter.reset()
		_, err := ses.Read(t.Context(), refs, query.Fields(tt.fields...))
		require.NoError(t, err)
		assert.Equal(t, tt.want, s.meter.total(), "%v", tt.fields)
	}
}
