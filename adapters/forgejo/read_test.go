package forgejo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

const issueStory = `
user login=gus
create as=stella title="it breaks" body="a body"
create-label label=bug color=ff0000
create-label label=ui color=00ff00
create-milestone milestone=v2
label on=1 as=wes label=bug
advance by=1m
unlabel on=1 as=wes label=bug
label on=1 as=olga label=bug
label on=1 as=wes label=ui
assign on=1 as=olga user=wes
milestone on=1 as=olga milestone=v2
edit on=1 as=olga due=2026-03-04 locked=true
comment on=1 as=stella body="please look\n/not-a-command" name=c1
comment on=1 as=gus body="/fs-fix now" name=c2
advance by=1m
edit-comment comment=c1 as=wes body="/fs-code changed"
delete-user login=gus
close on=1 as=olga
`

func item(t *testing.T, ses adapters.Session, ref scope.Ref, fs ...query.FieldID) adapters.Item {
	t.Helper()
	items, err := ses.Read(context.Background(), []scope.Ref{ref}, query.Fields(fs...))
	require.NoError(t, err)
	require.Len(t, items, 1)
	return items[0]
}

func values(f *query.Facts, id query.FieldID) []query.Value { return f.Get(id).Values }

func element(t *testing.T, f *query.Facts, id query.FieldID, key string) query.Element {
	t.Helper()
	for _, e := range f.Get(id).Items {
		if e.Key == key || len(e.Members) > 0 && len(e.Members[0].Fact.Values) > 0 && e.Members[0].Fact.Values[0].Str == key {
			return e
		}
	}
	require.Failf(t, "no such element", "%s in %+v", key, f.Get(id))
	return query.Element{}
}

// SPEC FJ-10: every fact of an issue's row.
func TestRowFacts(t *testing.T) {
	st := newStage(t, face.Gitea124, issueStory)
	ses := st.open()
	e := st.entity(1)
	l := list(ses, "issues", time.Time{}, nil)
	require.Len(t, l.items, 1)
	it := l.items[0]
	assert.Equal(t, adapters.Present, it.State)
	assert.Equal(t, st.ref(1).Identity, it.Ref.Identity)
	assert.Equal(t, "1", it.Ref.Alias)
	assert.Equal(t, "acme/widgets#1", it.Ref.Key)
	assert.NoError(t, ses.Scope().Check(it.Place))
	assert.NotEmpty(t, it.Token)

	f := it.Facts
	assert.Equal(t, []query.Value{query.Word("closed")}, values(f, query.FState))
	assert.Equal(t, "stella", values(f, query.FAuthor)[0].User.Login)
	assert.Equal(t, []query.Value{query.Word("human")}, values(f, query.FAuthorKind))
	assert.Equal(t, "wes", values(f, query.FAssignee)[0].User.Login)
	assert.Equal(t, "v2", values(f, query.FMilestone)[0].Str)
	assert.Equal(t, []query.Value{query.Instant(e.Created)}, values(f, query.FCreated))
	assert.Equal(t, []query.Value{query.Instant(e.Updated)}, values(f, query.FUpdated))
	assert.Equal(t, []query.Value{query.Instant(e.ClosedAt)}, values(f, query.FClosed))
	assert.Equal(t, []query.Value{query.Date(time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC))}, values(f, query.FDue))
	assert.Equal(t, []query.Value{query.Bool(true)}, values(f, query.FLocked))
	title := f.Get(query.FTitle).Items[0]
	assert.Equal(t, "it breaks", title.Member(query.MText).Values[0].Str)
	assert.Equal(t, query.EditorsPossible, title.Editors)
	assert.Equal(t, "stella", title.Actor.Login)
	assert.Len(t, f.Get(query.FLabel).Items, 2)
	for _, l := range f.Get(query.FLabel).Items {
		assert.Equal(t, query.EditorsUnread, l.Editors)
	}
	for _, id := range []query.FieldID{query.FComment, query.FLastComment, query.FMerged, query.FBase} {
		assert.Equal(t, query.Unknown, f.Get(id).Presence, id)
	}
}

// SPEC FJ-10: a fresh entity's texts are its author's own; open means no closing; nothing else is there.
func TestFreshRow(t *testing.T) {
	st := newStage(t, face.Gitea124, "create as=stella title=one body=two")
	f := list(st.open(), "issues", time.Time{}, nil).items[0].Facts
	for _, id := range []query.FieldID{query.FTitle, query.FBody} {
		assert.Equal(t, query.EditorsNamed, f.Get(id).Items[0].Editors)
	}
	for _, id := range []query.FieldID{query.FClosed, query.FMilestone, query.FDue, query.FAssignee, query.FLabel} {
		assert.Equal(t, query.Known, f.Get(id).Presence, id)
		assert.Empty(t, f.Get(id).Values, id)
		assert.Empty(t, f.Get(id).Items, id)
	}
}

// SPEC FJ-11: a label is its last applier's, not its first.
func TestLabelAttribution(t *testing.T) {
	st := newStage(t, face.Gitea124, issueStory)
	it := item(t, st.open(), st.ref(1), query.FLabel)
	require.Equal(t, adapters.Present, it.State)
	fact := it.Facts.Get(query.FLabel)
	assert.Equal(t, query.Known, fact.Presence)
	require.Len(t, fact.Items, 2)
	for _, want := range []struct{ label, by string }{{"bug", "olga"}, {"ui", "wes"}} {
		e := element(t, it.Facts, query.FLabel, want.label)
		assert.Equal(t, query.EditorsNamed, e.Editors)
		assert.Equal(t, want.by, e.Actor.Login)
		assert.False(t, e.At.IsZero())
		assert.NotEmpty(t, e.Rev)
	}
}

// SPEC FJ-11: the newest row of a label is that of the highest id: a server's clock that stepped back puts it in front of
// older ones.
func TestLabelAfterClockStepsBack(t *testing.T) {
	st := newStage(t, face.Gitea124, `create-label label=bug color=ff0000 ; create as=stella title=one labels=bug
advance by=1m ; unlabel on=1 as=wes label=bug
advance by=-30s ; label on=1 as=olga label=bug`)
	fact := item(t, st.open(), st.ref(1), query.FLabel).Facts.Get(query.FLabel)
	assert.Equal(t, query.Known, fact.Presence, fact.Why)
	require.Len(t, fact.Items, 1)
	assert.Equal(t, "olga", fact.Items[0].Actor.Login)
}

// SPEC FJ-11: a timeline of many pages is read to its end.
func TestLongTimeline(t *testing.T) {
	script := "create as=stella title=one\ncreate-label label=bug color=ff0000\n"
	for range 130 {
		script += "label on=1 as=wes label=bug\nunlabel on=1 as=wes label=bug\n"
	}
	st := newStage(t, face.Gitea124, script+"label on=1 as=olga label=bug")
	e := element(t, item(t, st.open(), st.ref(1), query.FLabel).Facts, query.FLabel, "bug")
	assert.Equal(t, "olga", e.Actor.Login)
}

// SPEC FJ-12: a comment that was edited has possible editors; its command is that of its text now; an account that is
// gone wrote nothing that could be admitted.
func TestComments(t *testing.T) {
	st := newStage(t, face.Gitea124, issueStory)
	it := item(t, st.open(), st.ref(1), query.FComment, query.FLastComment)
	e := st.entity(1)
	c1 := element(t, it.Facts, query.FComment, strconv.FormatInt(e.Comments[0].ID, 10))
	assert.Equal(t, query.EditorsPossible, c1.Editors)
	assert.Equal(t, "stella", c1.Actor.Login)
	assert.Equal(t, "/fs-code", c1.Member(query.MCommand).Values[0].Str)
	assert.Equal(t, e.Comments[0].Edited.UTC(), c1.At)
	c2 := element(t, it.Facts, query.FComment, strconv.FormatInt(e.Comments[1].ID, 10))
	assert.Equal(t, query.EditorsNamed, c2.Editors)
	assert.True(t, c2.Actor.Deleted)
	assert.Empty(t, c2.Actor.ID)
	assert.Equal(t, []query.Value{query.Instant(e.Comments[0].Edited)}, values(it.Facts, query.FLastComment))
}

// SPEC FJ-12: last_comment ignores agent accounts.
func TestLastCommentOfPersons(t *testing.T) {
	st := newStage(t, face.Gitea124, "create as=stella title=one\nadvance by=1m\ncomment on=1 as=robo body=done name=c")
	u, _, ok := st.w.User("robo")
	require.True(t, ok)
	st.config.Agents = []string{strconv.FormatInt(u.ID, 10)}
	it := item(t, st.open(), st.ref(1), query.FLastComment)
	assert.Equal(t, []query.Value{query.Instant(st.entity(1).Created)}, values(it.Facts, query.FLastComment))
}

const pullStory = `
create as=wes title=change kind=change_proposal draft=true base=main head=feature
request-review on=1 as=wes user=olga
request-review on=1 as=wes user=rea
advance by=1m
review on=1 as=olga state=changes_requested body=no
push on=1 as=wes
advance by=1m
review on=1 as=olga state=approved body=yes
review on=1 as=olga state=commented body=ps
review on=1 as=stella state=commented body=hm
advance by=1m
comment on=1 as=rea body=later name=c
status on=1 as=wes context=ci state=success
status on=1 as=wes context=lint state=pending
`

// SPEC FJ-13: the facts of a pull request.
func TestPullFacts(t *testing.T) {
	st := newStage(t, face.Gitea124, pullStory)
	st.config.Kind = query.ChangeProposal
	ses := st.open()
	row := list(ses, "issues", time.Time{}, nil).items[0].Facts
	assert.Equal(t, []query.Value{query.Bool(true)}, values(row, query.FDraft))
	assert.Equal(t, []query.Value{query.Bool(false)}, values(row, query.FMerged))

	f := item(t, ses, st.ref(1), query.FBase, query.FHead, query.FIsFork, query.FReviewer, query.FReview, query.FChecks, query.FLastComment).Facts
	e := st.entity(1)
	assert.Equal(t, []query.Value{query.Ref("main")}, values(f, query.FBase))
	assert.Equal(t, []query.Value{query.Ref("feature")}, values(f, query.FHead))
	assert.Equal(t, []query.Value{query.Bool(false)}, values(f, query.FIsFork))
	require.Len(t, values(f, query.FReviewer), 1)
	assert.Equal(t, "rea", values(f, query.FReviewer)[0].User.Login)
	assert.Equal(t, []query.Value{query.Word("pending")}, values(f, query.FChecks))
	assert.Equal(t, e.HeadSHA, f.Get(query.FChecks).Rev)
	require.Len(t, f.Get(query.FReview).Items, 2)
	olga := f.Get(query.FReview).Items[0]
	assert.Equal(t, "olga", olga.Actor.Login)
	assert.Equal(t, []query.Value{query.Word("approved")}, olga.Member(query.MState).Values)
	assert.Equal(t, []query.Value{query.Bool(true)}, olga.Member(query.MOnHead).Values)
	assert.Equal(t, []query.Value{query.Instant(e.Comments[len(e.Comments)-1].Created)}, values(f, query.FLastComment))

	st.run("push on=1 as=wes\ndismiss-review on=1 as=olga user=olga body=stale\nmerge on=1 as=olga")
	f = item(t, ses, st.ref(1), query.FReview, query.FChecks).Facts
	olga = f.Get(query.FReview).Items[0]
	assert.Equal(t, []query.Value{query.Word("dismissed")}, olga.Member(query.MState).Values)
	assert.Equal(t, []query.Value{query.Bool(false)}, olga.Member(query.MOnHead).Values)
	assert.Equal(t, []query.Value{query.Word("missing")}, values(f, query.FChecks))
	assert.Equal(t, []query.Value{query.Bool(true)}, values(f, query.FMerged))
	assert.Equal(t, []query.Value{query.Word("closed")}, values(f, query.FState))
}

// SPEC FJ-14: only what is named is asked for.
func TestReadAsksOnlyForWhatIsNamed(t *testing.T) {
	st := newStage(t, face.Gitea124, pullStory+"create-label label=bug color=ff0000\nlabel on=1 as=wes label=bug")
	st.config.Kind = query.ChangeProposal
	ses := st.open()
	for _, tt := range []struct {
		name   string
		fields []query.FieldID
		want   int
	}{
		{"row", []query.FieldID{query.FState, query.FTitle, query.FDraft}, 1},
		{"label", []query.FieldID{query.FLabel}, 4},
		{"comment", []query.FieldID{query.FComment}, 2},
		{"last comment", []query.FieldID{query.FComment, query.FLastComment}, 3},
		{"branches", []query.FieldID{query.FBase, query.FHead, query.FIsFork}, 2},
		{"reviewer", []query.FieldID{query.FReviewer}, 2},
		{"review", []query.FieldID{query.FReview, query.FReviewer}, 3},
		{"checks", []query.FieldID{query.FChecks, query.FBase}, 3},
	} {
		st.meter.reset()
		item(t, ses, st.ref(1), tt.fields...)
		assert.Equal(t, tt.want, st.meter.count(adapters.Read), tt.name)
	}
}

// SPEC FJ-15: not found is gone only when the container could be read.
func TestGoneAndUnreadable(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(6))
	ses := st.open()
	refs := []scope.Ref{st.ref(1), st.ref(2)}
	other := st.ref(3)
	other.ID = "999"
	wrongKind := st.ref(3)
	wrongKind.Alias = "5"
	st.run("delete on=1")
	items, err := ses.Read(t.Context(), append(refs, other, wrongKind), query.Fields(query.FState))
	require.NoError(t, err)
	assert.Equal(t, []adapters.ItemState{adapters.Gone, adapters.Present, adapters.Gone, adapters.Gone}, states(items))

	probed, err := ses.(adapters.Prober).Probe(t.Context(), []int64{1, 2, 5, 99})
	require.NoError(t, err)
	assert.Equal(t, []adapters.ItemState{adapters.Gone, adapters.Present, adapters.Gone, adapters.Gone}, states(probed))

	st.run("hide-repo\nset-role user=olga role=none\ntoken text=adm2 user=stella")
	items, err = ses.Read(t.Context(), refs, query.Fields(query.FState))
	if err == nil {
		assert.Equal(t, []adapters.ItemState{adapters.Unreadable, adapters.Unreadable}, states(items))
	} else {
		assert.ErrorIs(t, err, adapters.ErrNotFound)
	}
	for _, it := range items {
		assert.NotEqual(t, adapters.Gone, it.State)
	}
}

func states(items []adapters.Item) []adapters.ItemState {
	out := make([]adapters.ItemState, len(items))
	for i := range items {
		out[i] = items[i].State
	}
	return out
}

// SPEC FJ-15: a rename in the middle of a cycle is followed, also when another repository has taken the name.
func TestReadThroughRename(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(3))
	ses := st.open()
	ref := st.ref(2)
	st.run("rename-repo repo=acme/widgets to=gadgets")
	assert.Equal(t, adapters.Present, item(t, ses, ref, query.FState).State)
	st.run("recreate-repo repo=acme/widgets")
	it := item(t, ses, ref, query.FState)
	require.Equal(t, adapters.Present, it.State)
	assert.Equal(t, "acme/gadgets#2", it.Ref.Key)
}

// SPEC FJ-16: a failing part of one entity's facts leaves that entity unread or that fact unknown, never empty.
func TestFailingParts(t *testing.T) {
	for _, tt := range []struct {
		fault string
		state adapters.ItemState
		is    error
	}{
		{"fault kind=status status=502 route=issue.comments", adapters.Unreadable, adapters.ErrUnavailable},
		{"fault kind=status status=429 retry-after=7 route=issue.comments", adapters.Unreadable, adapters.ErrThrottled},
		{"fault kind=null-rows n=1 route=issue.comments", adapters.Present, nil},
		{"fault kind=status status=403 route=issue.comments", adapters.Present, nil},
		{"fault kind=html route=issue.comments", adapters.Unreadable, adapters.ErrProtocol},
		{"fault kind=null-body route=issue.comments", adapters.Unreadable, adapters.ErrProtocol},
		{"fault kind=cut route=issue.comments", adapters.Unreadable, adapters.ErrUnavailable},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			st := newStage(t, face.Gitea124, issueStory)
			ses := st.open()
			st.run(tt.fault)
			it := item(t, ses, st.ref(1), query.FComment)
			assert.Equal(t, tt.state, it.State)
			if tt.is != nil {
				require.ErrorIs(t, it.Err, tt.is)
				return
			}
			assert.Equal(t, query.Unknown, it.Facts.Get(query.FComment).Presence)
			assert.NotEmpty(t, it.Facts.Get(query.FComment).Why)
		})
	}
}

// SPEC FJ-16: once throttled, the rest of a batch is not asked for.
func TestThrottledBatchStops(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(40))
	ses := st.open()
	st.run("fault kind=status status=429 retry-after=30 route=issue.get")
	var refs []scope.Ref
	for i := 1; i <= 40; i++ {
		if isIssue(i) {
			refs = append(refs, st.ref(i))
		}
	}
	st.meter.reset()
	items, err := ses.Read(t.Context(), refs, query.Fields(query.FState))
	require.NoError(t, err)
	for _, it := range items {
		require.Equal(t, adapters.Unreadable, it.State)
		assert.Equal(t, 30*time.Second, it.Err.After)
	}
	assert.LessOrEqual(t, st.meter.count(adapters.Read), 4)
}

// SPEC FJ-16: a refused credential ends the batch.
func TestRefusedCredentialEndsTheBatch(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(3))
	ses := st.open()
	st.run("revoke-token text=adm")
	_, err := ses.Read(t.Context(), []scope.Ref{st.ref(1)}, query.Fields(query.FState))
	var e *adapters.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, adapters.ScopeFailure, e.Severity)
	assert.ErrorIs(t, err, adapters.ErrUnauthorized)
}

// older makes the repository younger than what is in it, as a migration does.
type older struct{ next http.RoundTripper }

func (o older) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/acme/widgets") {
		return resp, err
	}
	defer resp.Body.Close()
	var repo map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&repo); err != nil {
		return nil, err
	}
	repo["created_at"] = "2026-01-05T09:30:00Z"
	b, err := json.Marshal(repo)
	resp.Body = io.NopCloser(bytes.NewReader(b))
	return resp, err
}

// SPEC FJ-10: what came with a migration is by nobody, although the server shows it under whoever migrated it.
func TestMigratedTextHasNoAuthor(t *testing.T) {
	st := newStage(t, face.Gitea124, "create as=olga title=old\ncomment on=1 as=olga body=/fs-fix name=a\nadvance by=1h\ncreate as=olga title=new\ncomment on=1 as=olga body=/fs-fix name=b")
	st.config.HTTP = &http.Client{Transport: older{st.client.Transport}}
	ses := st.open()
	old, fresh := item(t, ses, st.ref(1), query.FComment).Facts, item(t, ses, st.ref(2), query.FTitle).Facts
	assert.True(t, values(old, query.FAuthor)[0].User.Deleted)
	assert.Empty(t, old.Get(query.FTitle).Items[0].Actor.ID)
	assert.Empty(t, old.Get(query.FComment).Items[0].Actor.ID)
	assert.Equal(t, "olga", old.Get(query.FComment).Items[1].Actor.Login)
	assert.Equal(t, "olga", values(fresh, query.FAuthor)[0].User.Login)
}
