package forgejo_test

import (
	"net/http"
	"net/http/httptest"
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

// detour answers some requests itself, where the simulated forge has a gap.
type detour struct {
	next   http.RoundTripper
	answer func(r *http.Request) (status int, body string) // 0: none of its business
}

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := d.answer(r)
	if status == 0 {
		return d.next.RoundTrip(r)
	}
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	rec.WriteHeader(status)
	rec.WriteString(body)
	return rec.Result(), nil
}

func (s *stage) detour(answer func(r *http.Request) (int, string)) {
	s.config.HTTP = &http.Client{Transport: detour{s.client.Transport, answer}}
}

// SPEC FJ-6, FJ-15: where the unit cannot be read, nothing is covered and nothing is gone, although the repository can be
// read and the listing of both kinds is not refused.
func TestUnreadableUnit(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(6))
	hidden := false
	st.detour(func(r *http.Request) (int, string) {
		if hidden && (r.URL.Query().Get("type") == "issues" || strings.HasSuffix(r.URL.Path, "/issues/1") || strings.HasSuffix(r.URL.Path, "/issues/2")) {
			return 404, `{"message":"The target couldn't be found."}`
		}
		return 0, ""
	})
	ses := st.open()
	hidden = true
	for _, walk := range []string{"all", "issues"} {
		l := list(ses, walk, time.Time{}, nil)
		assert.ErrorIs(t, l.err, adapters.ErrNotFound, walk)
	}
	items, err := ses.Read(t.Context(), []scope.Ref{st.ref(1), st.ref(3)}, query.Fields(query.FState))
	assert.ErrorIs(t, err, adapters.ErrNotFound)
	assert.Equal(t, adapters.Unreadable, items[0].State)
	items, err = ses.(adapters.Prober).Probe(t.Context(), []int64{2})
	assert.ErrorIs(t, err, adapters.ErrNotFound)
	assert.Equal(t, adapters.Unreadable, items[0].State)
}

// SPEC FJ-11: a label that goes between the row and the timeline is nobody's conclusion.
func TestLabelsChangeWhileRead(t *testing.T) {
	st := newStage(t, face.Gitea124, "create as=stella title=one\ncreate-label label=bug color=ff0000\nlabel on=1 as=wes label=bug")
	ses := st.open()
	require.NoError(t, st.w.After("issue.get", 1, "unlabel on=1 as=wes label=bug"))
	f := item(t, ses, st.ref(1), query.FLabel).Facts.Get(query.FLabel)
	assert.Equal(t, query.Partial, f.Presence)
	assert.NotEmpty(t, f.Why)
	assert.Equal(t, query.EditorsUnread, f.Items[0].Editors)
}

// SPEC FJ-17: who renamed his account is looked up by id; an answer about somebody else is never his role.
func TestRoleOfARenamedAccount(t *testing.T) {
	st := newStage(t, face.Gitea124, "")
	found := "wes"
	st.detour(func(r *http.Request) (int, string) {
		if r.URL.Path == "/api/v1/users/search" {
			return 200, `{"ok":true,"data":[{"id":` + r.URL.Query().Get("uid") + `,"login":"` + found + `"}]}`
		}
		return 0, ""
	})
	ses := st.open()
	u, _, _ := st.w.User("wes")
	actor := query.User{ID: strconv.FormatInt(u.ID, 10), Login: "before"}
	for _, login := range []string{"before", "rea"} { // gone, and somebody else's by now
		actor.Login = login
		fs, err := ses.Roles(t.Context(), []query.User{actor})
		require.NoError(t, err)
		assert.Equal(t, adapters.Write, fs[0].Role, login)
		assert.True(t, fs[0].Verified)
	}
	found = "olga"
	fs, err := ses.Roles(t.Context(), []query.User{actor})
	require.NoError(t, err)
	assert.False(t, fs[0].Verified)
	assert.Equal(t, adapters.NoRole, fs[0].Role)
}

// SPEC FJ-13: the head of a fork that was deleted is a fork's still, a deleted branch keeps its name, and a page of
// statuses is not all of them.
func TestPullOfADeletedFork(t *testing.T) {
	st := newStage(t, face.Gitea124, "create as=wes title=one kind=change_proposal")
	st.config.Kind = query.ChangeProposal
	st.detour(func(r *http.Request) (int, string) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/pulls/1"):
			return 200, `{"number":1,"base":{"label":"main","ref":"main","repo_id":1},"head":{"label":"feature","ref":"refs/pull/1/head","sha":"abc","repo_id":-1,"repo":null}}`
		case strings.HasSuffix(r.URL.Path, "/commits/abc/status") && r.URL.Query().Get("page") == "1":
			return 200, `{"sha":"abc","state":"success","total_count":1,"statuses":[{"status":"success"}]}`
		case strings.HasSuffix(r.URL.Path, "/commits/abc/status") && r.URL.Query().Get("page") == "2":
			return 200, `{"sha":"abc","state":"warning","total_count":1,"statuses":[{"status":"warning"}]}`
		case strings.HasSuffix(r.URL.Path, "/commits/abc/status"):
			return 200, `{"sha":"","state":"","total_count":0,"statuses":null}`
		}
		return 0, ""
	})
	f := item(t, st.open(), st.ref(1), query.FIsFork, query.FHead, query.FChecks).Facts
	assert.Equal(t, []query.Value{query.Bool(true)}, values(f, query.FIsFork))
	assert.Equal(t, []query.Value{query.Ref("feature")}, values(f, query.FHead))
	assert.Equal(t, []query.Value{query.Word("failure")}, values(f, query.FChecks))
}

// SPEC FJ-13: a team whose review is asked for is "owner/team". A list that never ends makes its field unknown.
func TestTeamReviewer(t *testing.T) {
	st := newStage(t, face.Gitea124, "create as=wes title=one kind=change_proposal")
	st.config.Kind = query.ChangeProposal
	endless := false
	st.detour(func(r *http.Request) (int, string) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/reviews"):
			return 0, ""
		case endless || r.URL.Query().Get("page") == "1":
			return 200, `[{"id":1,"user":null,"team":{"id":3,"name":"core"},"state":"REQUEST_REVIEW","submitted_at":"2026-01-05T09:00:00Z"}]`
		}
		return 200, `[]`
	})
	ses := st.open()
	f := item(t, ses, st.ref(1), query.FReviewer).Facts
	require.Len(t, values(f, query.FReviewer), 1)
	assert.Equal(t, "acme/core", values(f, query.FReviewer)[0].User.Login)

	endless = true
	f = item(t, ses, st.ref(1), query.FReviewer).Facts
	assert.Equal(t, query.Unknown, f.Get(query.FReviewer).Presence)
	assert.Contains(t, f.Get(query.FReviewer).Why, "pages")
}

// SPEC FJ-17: write through a team's units counts when the server names the actor as its member; write on issues alone is
// no role, but a warning.
func TestTeams(t *testing.T) {
	st := newStage(t, face.Gitea124, "")
	id := func(login string) string {
		u, _, _ := st.w.User(login)
		return strconv.FormatInt(u.ID, 10)
	}
	members := map[string]string{
		"2/members/stella": `{"id":` + id("stella") + `,"login":"stella"}`,
		"3/members/rea":    `{"id":` + id("rea") + `,"login":"rea"}`,
		"2/members/robo":   `{"id":` + id("wes") + `,"login":"wes"}`,
	}
	st.detour(func(r *http.Request) (int, string) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		who, asked := strings.CutPrefix(path, "teams/")
		switch {
		case path == "repos/acme/widgets/teams":
			return 200, `[{"id":1,"name":"Owners","permission":"owner","units_map":{"repo.code":"owner","repo.issues":"owner","repo.pulls":"owner"}},
			{"id":2,"name":"devs","permission":"none","units_map":{"repo.code":"write","repo.issues":"write","repo.pulls":"write"}},
			{"id":3,"name":"labellers","permission":"none","units_map":{"repo.code":"read","repo.issues":"write","repo.pulls":"read"}},null]`
		case !asked:
			return 0, ""
		case members[who] == "":
			return 404, `{"message":"not found"}`
		}
		return 200, members[who]
	})
	ses := st.open()
	fs, err := ses.Roles(t.Context(), []query.User{{ID: id("stella"), Login: "stella"}, {ID: id("rea"), Login: "rea"}, {ID: id("robo"), Login: "robo"}})
	require.NoError(t, err)
	for i, want := range []adapters.Role{adapters.Write, adapters.ReadRole, adapters.ReadRole} {
		assert.Equal(t, want, fs[i].Role, i)
		assert.True(t, fs[i].Verified, i)
	}
	assert.Equal(t, "teams/{id}/members/{login}", fs[0].Endpoint)
	h, err := ses.Health(t.Context())
	require.NoError(t, err)
	require.Len(t, h.Warnings, 1)
	assert.Contains(t, h.Warnings[0], "labellers")
	assert.NotContains(t, h.Warnings[0], "devs")

	st.config.Kind = query.ChangeProposal
	h, err = st.open().Health(t.Context())
	require.NoError(t, err)
	assert.Empty(t, h.Warnings)
}
