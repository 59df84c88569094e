package live

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// What differs is found, whatever its shape; ids, times and commits are not differences.
func TestCompareFinds(t *testing.T) {
	for _, r := range []struct {
		name, real, mine string
		want             []Difference
	}{
		{"the same", `[{"id":1,"name":"a"}]`, `[{"id":7,"name":"a"}]`, nil},
		{"times and commits", `{"updated_at":"2026-01-05T09:00:00Z","sha":"` + sha('a') + `","note":"at ` + sha('a') + `"}`,
			`{"updated_at":"2026-02-05T09:00:00Z","sha":"` + sha('b') + `","note":"at ` + sha('b') + `"}`, nil},
		{"a value", `{"state":"open"}`, `{"state":"closed"}`, []Difference{{"r", "state", `"open"`, `"closed"`}}},
		{"null and empty", `{"assignees":null}`, `{"assignees":[]}`, []Difference{{"r", "assignees", "null", "list"}}},
		{"an empty time", `{"closed_at":null}`, `{"closed_at":"2026-02-05T09:00:00Z"}`, []Difference{{"r", "closed_at", "null", "text"}}},
		{"a member", `{"a":1,"b":2}`, `{"a":1,"c":2}`, []Difference{{"r", "b", "number", "missing"}, {"r", "c", "missing", "number"}}},
		{"rows", `[1,2]`, `[1]`, []Difference{{"r", "[]", "2 rows", "1 rows"}}},
		{"the shape", `{"a":[]}`, `{"a":{}}`, []Difference{{"r", "a", "list", "object"}}},
		{"deep inside", `[{"user":{"login":"x"}}]`, `[{"user":{"login":"y"}}]`, []Difference{{"r", "[].user.login", `"x"`, `"y"`}}},
		{"no JSON", `oops`, `[]`, []Difference{{"r", "body", `"oops"`, `"[]"`}}},
	} {
		t.Run(r.name, func(t *testing.T) {
			m := &mirror{seen: map[Difference]bool{}, routes: map[string]bool{}, ids: map[string]string{}}
			m.compare("r", answer(200, "1"), []byte(r.real), answer(200, "1"), []byte(r.mine))
			assert.ElementsMatch(t, r.want, m.differences())
		})
	}
	m := &mirror{seen: map[Difference]bool{}, routes: map[string]bool{}, ids: map[string]string{}}
	m.compare("r", answer(404, "2"), []byte("{}"), answer(200, ""), []byte("{}"))
	assert.Equal(t, []Difference{{"r", "header X-Total-Count", `"2"`, `""`}, {"r", "status", "404", "200"}}, m.differences())
}

func sha(c byte) string {
	b := make([]byte, 40)
	for i := range b {
		b[i] = c
	}
	return string(b)
}

func answer(status int, total string) *http.Response {
	h := http.Header{"Date": {"now"}, "Content-Type": {"application/json; charset=utf-8"}}
	if total != "" {
		h.Set("X-Total-Count", total)
	}
	return &http.Response{StatusCode: status, Header: h}
}

// Faults are named by what a request is for.
func TestClassify(t *testing.T) {
	for path, want := range map[string]forgesim.Class{
		"/api/v1/version": forgesim.ClassServer, "/api/v1/settings/api": forgesim.ClassServer,
		"/api/v1/user": forgesim.ClassIdentity, "/api/v1/repositories/7": forgesim.ClassIdentity, "/api/v1/repos/a/b": forgesim.ClassIdentity,
		"/api/v1/repos/a/b/issues": forgesim.ClassSearch, "/api/v1/repos/a/b/issues/comments": forgesim.ClassSearch,
		"/api/v1/repos/a/b/issues/7": forgesim.ClassRead, "/api/v1/repos/a/b/issues/7/comments": forgesim.ClassRead, "/api/v1/repos/a/b/pulls/7/reviews": forgesim.ClassRead,
		"/api/v1/repos/a/b/collaborators/x/permission": forgesim.ClassRole, "/api/v1/repos/a/b/teams": forgesim.ClassRole,
		"/api/v1/teams/3/members/x": forgesim.ClassRole, "/api/v1/users/search": forgesim.ClassRole,
	} {
		assert.Equal(t, want, classify(httptest.NewRequest(http.MethodGet, path, nil)).Class, path)
	}
}
