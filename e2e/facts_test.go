package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/e2e/internal/gitea"
)

// TestServerFacts pins what docs/providers/gitea-measured.md says of the server and the Forgejo adapter stands on. When a
// newer server breaks one of them, this fails before the adapter does.
func TestServerFacts(t *testing.T) {
	s, _ := startServer(t)
	f := newFacts(t, s)
	t.Run("permission", f.permission)
	t.Run("comment feed", f.commentFeed)
	t.Run("paging", f.paging)
	t.Run("label rows", f.labelRows)
	t.Run("list rows of pull requests", f.pullRows)
	t.Run("reviews", f.reviews)
	t.Run("absence", f.absence)
	t.Run("deleted account", f.ghost)
	t.Run("rename", f.rename)
}

type facts struct {
	server                                *gitea.Server
	owner, writer, stranger, unit, leaver *gitea.Client
	path                                  string
	bug                                   int64
}

func newFacts(t *testing.T, s *gitea.Server) *facts {
	must, ctx := require.New(t), t.Context()
	f := &facts{server: s}
	for name, c := range map[string]**gitea.Client{
		"rig-owner": &f.owner, "rig-writer": &f.writer, "rig-stranger": &f.stranger, "rig-unit": &f.unit, "rig-leaver": &f.leaver,
	} {
		var err error
		*c, err = s.AddUser(ctx, name, false)
		must.NoError(err)
	}
	must.NoError(f.owner.CreateOrg(ctx, "acme"))
	repo, err := f.owner.CreateRepo(ctx, "acme", "facts")
	must.NoError(err)
	f.path = repo.FullName
	must.NoError(f.owner.In(f.path).Collaborate(ctx, "rig-writer", "write"))
	must.NoError(f.owner.AddUnitTeam(ctx, "acme", "units",
		map[string]string{"repo.issues": "write", "repo.pulls": "write", "repo.code": "write"}, "rig-unit"))
	f.bug, err = f.owner.In(f.path).CreateLabel(ctx, "bug")
	must.NoError(err)
	return f
}

// row is a JSON object as it came.
type row map[string]any

// get reads a path below the repository.
func (f *facts) get(t *testing.T, c *gitea.Client, path string) gitea.Answer {
	t.Helper()
	a, err := c.Raw(t.Context(), http.MethodGet, "/repos/"+f.path+path, nil)
	require.NoError(t, err)
	return a
}

func (f *facts) rows(t *testing.T, path string) []row {
	t.Helper()
	return decode[[]row](t, f.get(t, f.owner, path))
}

func (f *facts) row(t *testing.T, path string) row {
	t.Helper()
	return decode[row](t, f.get(t, f.owner, path))
}

func decode[T any](t *testing.T, a gitea.Answer) (v T) {
	t.Helper()
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.NoError(t, json.Unmarshal(a.Body, &v), "%s", a.Body)
	return v
}

func (f *facts) issue(t *testing.T, by *gitea.Client) int {
	t.Helper()
	is, err := by.In(f.path).CreateIssue(t.Context(), gitea.NewIssue{Title: "fact", Labels: []int64{f.bug}})
	require.NoError(t, err)
	return is.Number
}

func (f *facts) do(t *testing.T, c *gitea.Client, method, path string, in any) {
	t.Helper()
	require.NoError(t, c.Do(t.Context(), method, "/repos/"+f.path+path, in, nil))
}

func login(r row, field string) string {
	u, _ := r[field].(map[string]any)
	s, _ := u["login"].(string)
	return s
}

func (f *facts) permission(t *testing.T) {
	for who, want := range map[string]string{
		"rig-owner": "owner", "rig-writer": "write", "rig-stranger": "read", gitea.AdminName: "owner",
		"rig-unit": "read", // holds write on every unit, through a team
	} {
		got := f.row(t, "/collaborators/"+who+"/permission")
		assert.Equal(t, want, got["permission"], who)
		assert.Equal(t, who, login(got, "user"))
	}
	assert.Equal(t, http.StatusNotFound, f.get(t, f.owner, "/collaborators/nobody-here/permission").Status)
	assert.Equal(t, http.StatusForbidden, f.get(t, f.writer, "/collaborators/rig-owner/permission").Status)
	assert.Equal(t, http.StatusForbidden, f.get(t, f.writer, "/collaborators/nobody-here/permission").Status)
	assert.Equal(t, http.StatusOK, f.get(t, f.writer, "/collaborators/rig-writer/permission").Status)

	mine := decode[row](t, f.get(t, f.writer, ""))["permissions"]
	assert.Equal(t, map[string]any{"admin": false, "push": true, "pull": true}, mine)
}

func (f *facts) commentFeed(t *testing.T) {
	n := f.issue(t, f.stranger)
	var ids []int64
	for range 5 {
		id, err := f.stranger.In(f.path).Comment(t.Context(), n, "hm")
		require.NoError(t, err)
		ids = append(ids, id)
	}
	require.NoError(t, f.owner.In(f.path).EditComment(t.Context(), ids[0], "edited"))
	rows := f.rows(t, "/issues/comments?limit=2&page=1")
	require.Len(t, rows, 2)
	assert.EqualValues(t, ids[0], rows[0]["id"], "creation order, also after an edit")
	assert.Equal(t, "rig-stranger", login(rows[0], "user"), "no editor is named")
	assert.Contains(t, rows[0]["issue_url"], fmt.Sprintf("/%s/issues/%d", f.path, n))
	assert.Equal(t, "", rows[0]["pull_request_url"])

	a := f.get(t, f.owner, "/issues/comments?limit=2&page=9")
	assert.Equal(t, "5", a.Header.Get("X-Total-Count"))
	assert.Empty(t, decode[[]row](t, a))
	assert.Len(t, f.rows(t, fmt.Sprintf("/issues/%d/comments?limit=1&page=3", n)), 5, "not paged")
}

func (f *facts) paging(t *testing.T) {
	for range 8 {
		f.issue(t, f.writer)
	}
	all := f.rows(t, "/issues?state=all&limit=50")
	require.Greater(t, len(all), 7)
	for i := 1; i < len(all); i++ {
		assert.Greater(t, all[i-1]["id"], all[i]["id"], "newest first")
	}
	odd := f.rows(t, "/issues?state=all&limit=3&page=3")
	assert.Equal(t, all[6]["number"], odd[0]["number"], "offset is (page-1)*limit")
	a := f.get(t, f.owner, "/issues?state=all&limit=3&page=99")
	assert.Empty(t, decode[[]row](t, a))
	assert.Equal(t, strconv.Itoa(len(all)), a.Header.Get("X-Total-Count"))
	assert.NotEmpty(t, a.Header.Get("Date"))
	repo, _ := all[0]["repository"].(map[string]any)
	assert.Equal(t, f.path, repo["full_name"])
}

func (f *facts) labelRows(t *testing.T) {
	n := f.issue(t, f.stranger) // may not label: its label is dropped
	assert.Empty(t, f.rows(t, fmt.Sprintf("/issues/%d/timeline", n)))
	require.NoError(t, f.unit.In(f.path).AddLabels(t.Context(), n, f.bug))
	require.NoError(t, f.writer.In(f.path).RemoveLabel(t.Context(), n, f.bug))
	rows := f.rows(t, fmt.Sprintf("/issues/%d/timeline", n))
	require.Len(t, rows, 2)
	for i, want := range []struct{ by, body string }{{"rig-unit", "1"}, {"rig-writer", ""}} {
		assert.Equal(t, "label", rows[i]["type"])
		assert.Equal(t, want.by, login(rows[i], "user"))
		assert.Equal(t, want.body, rows[i]["body"])
		assert.IsType(t, map[string]any{}, rows[i]["label"])
	}
	past := f.get(t, f.owner, fmt.Sprintf("/issues/%d/timeline?page=9", n))
	assert.Equal(t, "null", string(past.Body[:4]))
}

func (f *facts) pull(t *testing.T, title, head string) gitea.Pull {
	t.Helper()
	p, err := f.writer.In(f.path).CreatePull(t.Context(), gitea.NewPull{Title: title, Head: head, Base: "main"})
	require.NoError(t, err)
	return p
}

func (f *facts) pullRows(t *testing.T) {
	f.pull(t, "Draft: is no draft to Gitea", "p1")
	f.pull(t, "wip: is one", "p2")
	merged := f.pull(t, "merged", "p3")
	require.NoError(t, f.writer.In(f.path).Merge(t.Context(), merged.Number))
	rows := f.rows(t, "/issues?state=all&type=pulls")
	require.Len(t, rows, 3)
	for i, want := range []struct{ draft, merged bool }{{false, true}, {true, false}, {false, false}} {
		pr, _ := rows[i]["pull_request"].(map[string]any)
		assert.Equal(t, want.draft, pr["draft"])
		assert.Equal(t, want.merged, pr["merged"])
		assert.Equal(t, want.merged, rows[i]["closed_at"] != nil)
		assert.Nil(t, rows[i]["assignees"], "null, not []")
	}
	assert.NotEqual(t, rows[0]["id"], f.row(t, fmt.Sprintf("/pulls/%d", merged.Number))["id"], "another id space")
}

func (f *facts) reviews(t *testing.T) {
	p := f.pull(t, "to review", "r1")
	at := fmt.Sprintf("/pulls/%d", p.Number)
	f.do(t, f.writer, http.MethodPost, at+"/requested_reviewers", map[string]any{"reviewers": []string{"rig-owner", "rig-unit"}})
	f.do(t, f.owner, http.MethodPost, at+"/reviews", map[string]any{"event": "APPROVED", "body": "ok"})
	f.do(t, f.stranger, http.MethodPost, at+"/reviews", map[string]any{"event": "REQUEST_CHANGES", "body": "no"})
	rows := f.rows(t, at+"/reviews")
	require.Len(t, rows, 3)
	asked, _ := f.row(t, at)["requested_reviewers"].([]any)
	assert.Len(t, asked, 3, "also those who have answered, asked or not")
	f.do(t, f.owner, http.MethodPost, fmt.Sprintf("%s/reviews/%v/dismissals", at, rows[2]["id"]), map[string]any{"message": "why"})
	rows = f.rows(t, at+"/reviews")
	for i, want := range []struct {
		state, by           string
		official, dismissed bool
	}{
		{"REQUEST_REVIEW", "rig-unit", true, false},
		{"APPROVED", "rig-owner", true, false},
		{"REQUEST_CHANGES", "rig-stranger", false, true},
	} {
		assert.Equal(t, want.state, rows[i]["state"])
		assert.Equal(t, want.by, login(rows[i], "user"))
		assert.Equal(t, want.official, rows[i]["official"], want.by)
		assert.Equal(t, want.dismissed, rows[i]["dismissed"], want.by)
	}
}

func (f *facts) absence(t *testing.T) {
	n := f.issue(t, f.stranger)
	f.do(t, f.owner, http.MethodDelete, fmt.Sprintf("/issues/%d", n), nil)
	assert.Equal(t, http.StatusNotFound, f.get(t, f.owner, fmt.Sprintf("/issues/%d", n)).Status)
	assert.Equal(t, http.StatusInternalServerError, f.get(t, f.owner, fmt.Sprintf("/issues/%d/timeline", n)).Status)
	assert.Equal(t, n+1, f.issue(t, f.stranger), "numbers are not given again")

	wrong := gitea.NewClient(f.server.URL, "", "0000000000000000000000000000000000000000")
	assert.Equal(t, http.StatusUnauthorized, f.get(t, wrong, "").Status)
	f.do(t, f.owner, http.MethodPatch, "", map[string]any{"private": true})
	for _, path := range []string{"", "/issues", "/issues/1"} {
		assert.Equal(t, http.StatusNotFound, f.get(t, f.stranger, path).Status, path)
	}
	f.do(t, f.owner, http.MethodPatch, "", map[string]any{"private": false})
}

func (f *facts) ghost(t *testing.T) {
	n := f.issue(t, f.leaver)
	require.NoError(t, f.server.Admin.Do(t.Context(), http.MethodDelete, "/admin/users/rig-leaver", nil, nil))
	user, _ := f.row(t, fmt.Sprintf("/issues/%d", n))["user"].(map[string]any)
	assert.EqualValues(t, -1, user["id"])
	assert.Equal(t, "Ghost", user["login"])
	assert.Equal(t, http.StatusNotFound, f.get(t, f.owner, "/collaborators/Ghost/permission").Status)
}

func (f *facts) rename(t *testing.T) {
	id := f.row(t, "")["id"]
	repo, err := f.owner.In(f.path).Rename(t.Context(), "renamed")
	require.NoError(t, err)
	a := f.get(t, f.owner, "/issues?state=all&limit=2")
	assert.Equal(t, http.StatusMovedPermanently, a.Status)
	assert.Equal(t, "/api/v1/repos/"+repo.Path+"/issues?state=all&limit=2", a.Header.Get("Location"))

	var byID row
	require.NoError(t, f.owner.Get(t.Context(), fmt.Sprintf("/repositories/%v", id), &byID))
	assert.Equal(t, repo.Path, byID["full_name"])
	taken, err := f.owner.CreateRepo(t.Context(), "acme", "facts")
	require.NoError(t, err)
	assert.EqualValues(t, taken.ID, f.row(t, "")["id"], "a new repository takes the old name at once")
}
