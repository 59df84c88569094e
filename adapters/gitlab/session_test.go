package gitlab_test

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// SPEC GL-1: what is wrong in a configuration is said, without its secrets.
func TestOpenRefuses(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "")
	for name, edit := range map[string]func(*adapters.Config){
		"user info":     func(c *adapters.Config) { c.BaseURL = "https://me:s3cr3t@git.example" },
		"query":         func(c *adapters.Config) { c.BaseURL = "https://git.example?private_token=s3cr3t" },
		"ftp":           func(c *adapters.Config) { c.BaseURL = "ftp://git.example" },
		"not a url":     func(c *adapters.Config) { c.BaseURL = "https://s3cr3t\x7f" },
		"a number":      func(c *adapters.Config) { c.Container = "17" },
		"an empty part": func(c *adapters.Config) { c.Container = "acme//widgets" },
		"dots":          func(c *adapters.Config) { c.Container = "acme/../widgets" },
		"kind":          func(c *adapters.Config) { c.Kind = "epic" },
		"no token":      func(c *adapters.Config) { c.Token = nil },
		"no CA":         func(c *adapters.Config) { c.Settings = map[string]string{"ca_file": "/nowhere/ca.pem"} },
		"no project":    func(c *adapters.Config) { c.Container = "acme/nothing" },
		"wrong token":   func(c *adapters.Config) { c.Token = func(context.Context) (string, error) { return "s3cr3t", nil } },
	} {
		t.Run(name, func(t *testing.T) {
			c := s.config
			edit(&c)
			_, err := gitlab.Adapter{}.Open(t.Context(), c)
			var e *adapters.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, adapters.ScopeFailure, e.Severity)
			assert.NotContains(t, err.Error(), "s3cr3t")
		})
	}
}

// SPEC GL-1: tenant, container and account are ids; the path of an instance is part of its tenant.
func TestScopeAndPrefix(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t name=a")
	s.config.HTTP = &http.Client{Transport: forgesim.Transport(face.New(s.w, face.Options{Prefix: "/gitlab"}))}
	for _, base := range []string{"http://GIT.example:80/gitlab", "http://git.example/gitlab/", "http://git.example/gitlab/api/v4"} {
		s.config.BaseURL = base
		ses := s.open()
		assert.Equal(t, scope.Scope{Provider: "gitlab", Tenant: "git.example/gitlab", Container: ses.Scope().Container, Kind: query.WorkItem, Account: s.user("olga").ID}, ses.Scope())
		assert.Len(t, list(ses, walk(ses, false), time.Time{}, nil).items, 1)
		r, err := ses.Find(t.Context(), "http://git.example/gitlab/acme/widgets/-/issues/1")
		require.NoError(t, err)
		assert.Equal(t, "1", r.Alias)
	}
}

// SPEC GL-1: without a base_url it is the public server.
func TestPublicHost(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "")
	s.config.BaseURL = ""
	assert.Equal(t, "gitlab.com", s.open().Scope().Tenant)
}

// Scenario B086, SPEC GL-1: a group whose name is all digits is a path, not a number. (phasehq/console#286)
func TestDigitsAreAPath(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "user login=12345 org=true\nrepo repo=12345/1\nset-role repo=12345/1 user=olga role=admin\ncreate as=olga title=t")
	s.config.Container = "12345/1"
	ses := s.open()
	assert.Len(t, list(ses, walk(ses, false), time.Time{}, nil).items, 1)
	h, err := ses.Health(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "12345/1", h.Place)
}

// SPEC GL-2: renamed and transferred projects are followed by number; a name that is another's by now is refused.
func TestRenameAndTransfer(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create as=wes title=t name=a\nuser login=umbrella org=true")
	ses := s.open()
	h, err := ses.Health(t.Context())
	require.NoError(t, err)
	assert.Equal(t, adapters.Health{Clock: s.w.Now(), Account: "olga", Place: "acme/widgets", CanRoles: true}, h)
	for _, step := range []struct{ script, place string }{{"rename-repo repo=acme/widgets to=gizmos", "acme/gizmos"}, {"transfer repo=acme/gizmos to=umbrella", "umbrella/gizmos"}} {
		s.run(step.script)
		h, err = ses.Health(t.Context())
		require.NoError(t, err)
		assert.Equal(t, step.place, h.Place)
		require.Len(t, h.Warnings, 1)
		assert.Contains(t, h.Warnings[0], step.place)
		l := list(ses, walk(ses, false), time.Time{}, nil)
		require.NoError(t, l.err)
		require.Len(t, l.items, 1)
		assert.Equal(t, step.place+"#1", l.items[0].Ref.Key)
		_, err = ses.Find(t.Context(), "acme/widgets#1")
		require.NoError(t, err, "an old name leads to it")
	}
	s.config.Container = "acme/widgets" // opened under the old name: the redirect stays on the host
	assert.Equal(t, ses.Scope(), s.open().Scope())
	s.run("recreate-repo repo=acme/widgets")
	_, err = ses.Health(t.Context())
	assert.ErrorIs(t, err, adapters.ErrMoved)
	_, err = ses.Find(t.Context(), "acme/widgets#1")
	assert.ErrorIs(t, err, adapters.ErrNotFound)
}

// SPEC GL-2: what is gone, hidden or switched off ends the scope and proves nothing about entities.
func TestHealthRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		kind  query.Kind
		token string
		do    func(*stage)
		is    error
	}{
		"deleted":      {query.WorkItem, "adm", func(s *stage) { s.run("delete-repo repo=acme/widgets") }, adapters.ErrNotFound},
		"made anew":    {query.WorkItem, "adm", func(s *stage) { s.run("recreate-repo repo=acme/widgets") }, adapters.ErrMoved},
		"hidden":       {query.WorkItem, "out", func(s *stage) { s.run("hide-repo repo=acme/widgets") }, adapters.ErrNotFound},
		"anonymous":    {query.WorkItem, "adm", func(s *stage) { s.run("fault kind=anonymous") }, adapters.ErrUnauthorized},
		"issues off":   {query.WorkItem, "adm", func(s *stage) { s.face.Switch(func(q *face.Quirks) { q.IssuesOff = true }) }, adapters.ErrNotFound},
		"merges off":   {query.ChangeProposal, "adm", func(s *stage) { s.face.Switch(func(q *face.Quirks) { q.MergesOff = true }) }, adapters.ErrNotFound},
		"revoked":      {query.WorkItem, "adm", func(s *stage) { s.run("revoke-token text=adm") }, adapters.ErrUnauthorized},
		"other's":      {query.WorkItem, "adm", func(s *stage) { s.token = "rw" }, adapters.ErrUnauthorized},
		"blocked":      {query.WorkItem, "adm", func(s *stage) { require.NoError(s.t, s.w.BlockUser("olga", true)) }, adapters.ErrUnauthorized},
		"out of order": {query.WorkItem, "adm", func(s *stage) { s.run("fault kind=status status=500 route=identity") }, adapters.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tt.kind, face.Quirks{}, "create as=wes title=t")
			s.token = tt.token
			ses := s.open()
			tt.do(s)
			_, err := ses.Health(t.Context())
			assert.ErrorIs(t, err, tt.is)
		})
	}
}

// SPEC GL-2: what a weak credential does not see is said each cycle.
func TestHealthWarns(t *testing.T) {
	for name, tt := range map[string]struct {
		token string
		q     face.Quirks
		want  []string
	}{
		"administrator": {"adm", face.Quirks{}, nil},
		"guest":         {"ro", face.Quirks{}, []string{"confidential"}},
		"stranger":      {"out", face.Quirks{}, []string{"no member", "confidential"}},
		"root":          {"root", face.Quirks{}, nil},
		"narrow scope":  {"adm", face.Quirks{TokenScopes: []string{"read_repository"}}, []string{"read_api"}},
		"ends soon":     {"adm", face.Quirks{TokenExpires: "2026-01-10"}, []string{"expires on 2026-01-10"}},
		"ends later":    {"adm", face.Quirks{TokenExpires: "2026-09-10"}, nil},
		"OAuth":         {"adm", face.Quirks{NoTokenPage: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.WorkItem, tt.q, "")
			s.token = tt.token
			h, err := s.open().Health(t.Context())
			require.NoError(t, err)
			require.Len(t, h.Warnings, len(tt.want), "%v", h.Warnings)
			for i, w := range tt.want {
				assert.Contains(t, h.Warnings[i], w)
			}
		})
	}
}

// SPEC GL-20: roles are memberships by number, with their state and their end, whoever is a bot has none.
func TestRoles(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "user login=gone ; set-role user=gone role=write ; user login=late ; set-role user=late role=write ; user login=today ; set-role user=today role=write ; "+
		"user login=soon ; set-role user=soon role=write ; delete-user login=stella ; user login=guest2 ; rename-user login=wes to=wesley ; user login=wes")
	require.NoError(t, s.w.BlockUser("gone", true))
	require.NoError(t, s.w.ExpireMember("acme/widgets", "late", time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC)))
	require.NoError(t, s.w.ExpireMember("acme/widgets", "today", time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)))
	require.NoError(t, s.w.ExpireMember("acme/widgets", "soon", time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)))
	want := map[string]adapters.Role{"olga": adapters.Admin, "mira": adapters.Maintain, "wesley": adapters.Write, "tess": adapters.Triage, "rea": adapters.ReadRole,
		"wes": adapters.None, "root": adapters.None, "robo": adapters.None, "gone": adapters.None, "late": adapters.None, "today": adapters.None, "soon": adapters.Write}
	ses := s.open()
	var as []query.User
	var logins []string
	for login := range want {
		as, logins = append(as, s.user(login)), append(logins, login)
	}
	as = append(as, query.User{Deleted: true}, query.User{Login: "olga"})
	fs, err := ses.Roles(t.Context(), as)
	require.NoError(t, err)
	for i, login := range logins {
		assert.True(t, fs[i].Verified, "%s: %s", login, fs[i].Why)
		assert.Equal(t, want[login], fs[i].Role, login)
		assert.NotEmpty(t, fs[i].Endpoint)
	}
	assert.Equal(t, adapters.None, fs[len(fs)-2].Role)
	assert.True(t, fs[len(fs)-2].Verified)
	assert.False(t, fs[len(fs)-1].Verified, "a login is no identity")
}

// SPEC GL-20: who is not shown as a member is none only where all members are shown.
func TestWeakTokensProveNoAbsence(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{HiddenMembers: []string{"wes"}}, "")
	s.token = "out"
	fs, err := s.open().Roles(t.Context(), []query.User{s.user("wes"), s.user("wanda")})
	require.NoError(t, err)
	assert.False(t, fs[0].Verified)
	assert.Contains(t, fs[0].Why, "private groups")
	assert.True(t, fs[1].Verified)
	assert.Equal(t, adapters.Write, fs[1].Role)
}

// SPEC GL-20: no answer is no role: refusals, proxies, limits that no header tells.
func TestRolesThatCannotBeRead(t *testing.T) {
	for _, fault := range []string{"status status=403", "status status=404", "status status=500", "html", "null-body", "status status=429 retry-after=7"} {
		s := newStage(t, query.WorkItem, face.Quirks{}, "")
		ses := s.open()
		s.run("fault route=role kind=" + fault)
		fs, err := ses.Roles(t.Context(), []query.User{s.user("wes"), s.user("olga"), s.user("stella")})
		require.NoError(t, err)
		for _, f := range fs {
			assert.False(t, f.Verified, fault)
			assert.NotEmpty(t, f.Why)
			assert.Equal(t, adapters.NoRole, f.Role)
		}
	}
	s := newStage(t, query.WorkItem, face.Quirks{MembersPerMinute: 1}, "")
	s.config.Parallel = 1
	fs, err := s.open().Roles(t.Context(), []query.User{s.user("wes"), s.user("olga"), s.user("rea")})
	require.NoError(t, err)
	assert.True(t, fs[0].Verified)
	assert.False(t, fs[1].Verified)
	assert.False(t, fs[2].Verified)
}

// Scenario B141, SPEC GL-8: a redirect to another host never carries the credential along.
func TestRedirectsStayAtHome(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the stranger was asked for %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer stranger.Close()
	s := newStage(t, query.WorkItem, face.Quirks{}, "")
	home := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/user") {
			s.face.ServeHTTP(rw, r)
			return
		}
		http.Redirect(rw, r, stranger.URL+r.URL.Path, http.StatusFound)
	}))
	defer home.Close()
	s.config.HTTP, s.config.BaseURL = home.Client(), home.URL
	_, err := gitlab.Adapter{}.Open(t.Context(), s.config)
	assert.ErrorContains(t, err, "redirected")
	home.Client().CloseIdleConnections()
}

// SPEC GL-8: an authority that configuration names is trusted, and no other.
func TestCA(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "")
	srv := httptest.NewUnstartedServer(s.face)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake that fails is wanted
	srv.StartTLS()
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	transport := &http.Transport{DisableKeepAlives: true}
	s.config.HTTP, s.config.BaseURL = &http.Client{Transport: transport}, srv.URL
	_, err := gitlab.Adapter{}.Open(t.Context(), s.config)
	require.ErrorIs(t, err, adapters.ErrUnavailable)
	s.config.Settings = map[string]string{"ca_file": file}
	_, err = gitlab.Adapter{}.Open(t.Context(), s.config)
	require.NoError(t, err)
	assert.True(t, transport.TLSClientConfig == nil || transport.TLSClientConfig.RootCAs == nil, "the caller's client is left alone")
	require.NoError(t, os.WriteFile(file, []byte("no certificate"), 0o600))
	_, err = gitlab.Adapter{}.Open(t.Context(), s.config)
	assert.ErrorContains(t, err, "ca_file")
}

// SPEC GL-21: what a person types names one entity, or none.
func TestFind(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, `
create as=wes title=t name=a
create as=wes title=t kind=change_proposal name=m
create as=wes title=t repo=acme/gadgets name=x
create as=wes title=moved name=b
move on=b as=olga to=acme/gadgets`)
	ses := s.open()
	want := s.ref("a")
	for _, ok := range []string{"1", "#1", "acme/widgets#1", "ACME/Widgets#1", "http://git.example/acme/widgets/-/issues/1", "http://git.example/acme/widgets/-/work_items/1", "http://git.example/acme/widgets/issues/1#note_7", want.Identity.String()} {
		r, err := ses.Find(t.Context(), ok)
		require.NoError(t, err, ok)
		assert.Equal(t, want.Identity, r.Identity, ok)
	}
	for _, no := range []string{"", "!1", "acme/widgets!1", "acme/gadgets#1", "9", "2", "x", "http://elsewhere.example/acme/widgets/-/issues/1", "http://git.example/acme/widgets/-/merge_requests/1", "http://git.example/", "acme/../widgets#1",
		strings.Replace(want.Identity.String(), "gitlab", "forgejo", 1), want.Identity.String() + "9"} {
		_, err := ses.Find(t.Context(), no)
		assert.Error(t, err, no)
	}
	// SPEC GL-1: issue 1 and merge request 1 are two entities. (opf/openproject#23614)
	s.config.Kind = query.ChangeProposal
	r, err := s.open().Find(t.Context(), "acme/widgets!1")
	require.NoError(t, err)
	assert.Equal(t, s.ref("m").Identity, r.Identity)
	assert.NotEqual(t, want.Identity, r.Identity)
}

// SPEC GL-22: names for people.
func TestNames(t *testing.T) {
	s := newStage(t, query.WorkItem, face.Quirks{}, "create-label label=shared org=true\ncreate as=wes title=t labels=bug\ncreate as=wes title=u labels=bug ; close on=2 as=wes")
	l, ok := s.open().(adapters.NameLister)
	require.True(t, ok)
	names, ok, err := l.Names(t.Context(), query.FLabel)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, []string{"bug", "shared", "ui"}, names)
	names, _, err = l.Names(t.Context(), query.FMilestone)
	require.NoError(t, err)
	assert.Equal(t, []string{"1.0"}, names)
	_, ok, err = l.Names(t.Context(), query.FTitle)
	require.NoError(t, err)
	assert.False(t, ok)
	n, ok, err := l.Uses(t.Context(), query.FLabel, "bug")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, 2, n)
	for _, unaskable := range []string{"db,cache", "None", "any"} {
		_, ok, err = l.Uses(t.Context(), query.FLabel, unaskable)
		require.NoError(t, err)
		assert.False(t, ok, unaskable)
	}
	u, err := l.Account(t.Context(), "wes")
	require.NoError(t, err)
	assert.Equal(t, s.user("wes"), u)
	_, err = l.Account(t.Context(), "nobody")
	assert.ErrorIs(t, err, adapters.ErrNotFound)
}
