package forgejo_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// SPEC FJ-1: the scope is made of stable ids.
func TestScope(t *testing.T) {
	for _, flavour := range []face.Flavour{face.Gitea124, face.Gitea127, face.Forgejo} {
		st := newStage(t, flavour, "")
		st.config.BaseURL = "http://Forge.Example:80/"
		ses := st.open()
		u, _, _ := st.w.User("olga")
		r, _, _ := st.w.Repo("acme/widgets")
		assert.Equal(t, scope.Scope{Provider: "forgejo", Tenant: "forge.example", Container: strconv.FormatInt(r.ID, 10),
			Kind: query.WorkItem, Account: strconv.FormatInt(u.ID, 10)}, ses.Scope())
	}
}

// SPEC FJ-1: configuration that cannot be meant is refused before anything is sent.
func TestOpenRefusesConfiguration(t *testing.T) {
	st := newStage(t, face.Gitea124, "")
	for name, edit := range map[string]func(*adapters.Config){
		"scheme":       func(c *adapters.Config) { c.BaseURL = "ftp://forge.example" },
		"user info":    func(c *adapters.Config) { c.BaseURL = "http://u:p@forge.example" },
		"query":        func(c *adapters.Config) { c.BaseURL = "http://forge.example?x=1" },
		"no host":      func(c *adapters.Config) { c.BaseURL = "http:///x" },
		"no slash":     func(c *adapters.Config) { c.Container = "widgets" },
		"dots":         func(c *adapters.Config) { c.Container = "../admin" },
		"three parts":  func(c *adapters.Config) { c.Container = "acme/widgets/issues" },
		"kind":         func(c *adapters.Config) { c.Kind = "wiki" },
		"no budget":    func(c *adapters.Config) { c.Budget = nil },
		"not a URL":    func(c *adapters.Config) { c.BaseURL = "http://u:secret@[" },
		"percent name": func(c *adapters.Config) { c.Container = "acme/%2e%2e" },
	} {
		c := st.config
		edit(&c)
		_, err := forgejo.Adapter{}.Open(t.Context(), c)
		var e *adapters.Error
		if assert.ErrorAs(t, err, &e, name) {
			assert.Equal(t, adapters.ScopeFailure, e.Severity, name)
			assert.NotContains(t, err.Error(), "secret")
		}
	}
	assert.Zero(t, st.meter.count(adapters.Identity))
}

// SPEC FJ-8: one request a cycle says clock, name, rights.
func TestHealth(t *testing.T) {
	st := newStage(t, face.Gitea124, "")
	ses := st.open()
	st.meter.reset()
	h, err := ses.Health(t.Context())
	require.NoError(t, err)
	assert.Equal(t, st.w.Now().Truncate(time.Second), h.Clock)
	assert.Equal(t, "acme/widgets", h.Place)
	assert.Equal(t, "olga", h.Account)
	assert.True(t, h.CanRoles)
	assert.Empty(t, h.Warnings)
	assert.Equal(t, 1, st.meter.count(adapters.Identity))

	st.token = "rw"
	h, err = st.open().Health(t.Context())
	require.NoError(t, err)
	assert.False(t, h.CanRoles)
	require.Len(t, h.Warnings, 1)
	assert.Contains(t, h.Warnings[0], "may not read roles")
}

// SPEC FJ-8: a renamed container is the same one; a re-created or hidden one is not.
func TestHealthOfAChangedContainer(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		warning      string
		is           error
	}{
		{"renamed", "rename-repo repo=acme/widgets to=gadgets", "called acme/gadgets now", nil},
		{"renamed and the name taken", "rename-repo repo=acme/widgets to=gadgets\nrecreate-repo repo=acme/widgets", "", adapters.ErrMoved},
		{"re-created", "delete-repo repo=acme/widgets\nrecreate-repo repo=acme/widgets", "", adapters.ErrMoved},
		{"deleted", "delete-repo repo=acme/widgets", "", adapters.ErrNotFound},
		{"token revoked", "revoke-token text=adm", "", adapters.ErrUnauthorized},
		{"anonymous answers", "fault kind=anonymous", "", adapters.ErrUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := newStage(t, face.Gitea124, fill(3))
			ses := st.open()
			st.run(tt.script)
			h, err := ses.Health(t.Context())
			if tt.is != nil {
				var e *adapters.Error
				require.ErrorAs(t, err, &e)
				assert.ErrorIs(t, err, tt.is)
				assert.Equal(t, adapters.ScopeFailure, e.Severity)
				return
			}
			require.NoError(t, err)
			assert.Contains(t, strings.Join(h.Warnings, "\n"), tt.warning)
			l := list(ses, "all", time.Time{}, nil)
			require.NoError(t, l.err)
			assert.Equal(t, []int64{1, 2, 3}, sorted(l.numbers))
		})
	}
}

// SPEC FJ-8: rows of another repository under the old name are never taken for the scope's.
func TestTakenNameWithinACycle(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(3))
	ses := st.open()
	st.run("rename-repo repo=acme/widgets to=gadgets\nrecreate-repo repo=acme/widgets\ncreate repo=acme/widgets as=stella title=trap")
	l := list(ses, "issues", time.Time{}, nil)
	require.NoError(t, l.err)
	require.Len(t, l.items, 1)
	assert.ErrorIs(t, ses.Scope().Check(l.items[0].Place), scope.ErrOutside)
	require.Len(t, l.short, 1)
	assert.ErrorIs(t, l.short[0], adapters.ErrMoved)
}

// SPEC FJ-1: a rotated token of the same account goes on; of another account it ends the session.
func TestRotatedToken(t *testing.T) {
	st := newStage(t, face.Gitea124, "token text=adm2 user=olga")
	ses := st.open()
	st.token = "adm2"
	_, err := ses.Health(t.Context())
	require.NoError(t, err)
	st.token = "rw"
	_, err = ses.Health(t.Context())
	require.ErrorIs(t, err, adapters.ErrUnauthorized)
	assert.NotContains(t, err.Error(), "rw ")
}

// SPEC FJ-9: failures by class, with the provider's wait, and never a secret.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		fault    string
		is       error
		severity adapters.Severity
		after    time.Duration
	}{
		{"fault kind=status status=401 route=issues.list", adapters.ErrUnauthorized, adapters.ScopeFailure, 0},
		{"fault kind=status status=403 route=issues.list", adapters.ErrForbidden, adapters.ScopeFailure, 0},
		{"fault kind=status status=404 route=issues.list", adapters.ErrNotFound, adapters.ScopeFailure, 0},
		{"fault kind=status status=422 route=issues.list", adapters.ErrProtocol, adapters.ScopeFailure, 0},
		{"fault kind=status status=429 route=issues.list", adapters.ErrThrottled, adapters.MomentFailure, 0},
		{"fault kind=status status=429 retry-after=17 route=issues.list", adapters.ErrThrottled, adapters.MomentFailure, 17 * time.Second},
		{"fault kind=status status=429 retry-after=0 route=issues.list", adapters.ErrThrottled, adapters.MomentFailure, time.Second},
		{"fault kind=status status=429 retry-after=999999999 route=issues.list", adapters.ErrThrottled, adapters.MomentFailure, 24 * time.Hour},
		{`fault kind=status status=503 retry-after="Mon, 05 Jan 2026 09:00:40 GMT" route=issues.list`, adapters.ErrUnavailable, adapters.MomentFailure, 40 * time.Second},
		{"fault kind=status status=502 route=issues.list", adapters.ErrUnavailable, adapters.MomentFailure, 0},
		{"fault kind=html route=issues.list", adapters.ErrProtocol, adapters.MomentFailure, 0},
		{"fault kind=empty route=issues.list", adapters.ErrProtocol, adapters.MomentFailure, 0},
		{"fault kind=null-body route=issues.list", adapters.ErrProtocol, adapters.MomentFailure, 0},
		{"fault kind=invalid-json route=issues.list", adapters.ErrProtocol, adapters.MomentFailure, 0},
		{"fault kind=reset route=issues.list", adapters.ErrUnavailable, adapters.MomentFailure, 0},
		{"fault kind=cut route=issues.list", adapters.ErrUnavailable, adapters.MomentFailure, 0},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			st := newStage(t, face.Gitea124, fill(3))
			ses := st.open()
			st.run(tt.fault)
			for _, walk := range []string{"issues", "all"} {
				l := list(ses, walk, time.Time{}, nil)
				var e *adapters.Error
				require.ErrorAs(t, l.err, &e)
				assert.ErrorIs(t, l.err, tt.is)
				assert.Equal(t, tt.severity, e.Severity)
				assert.Equal(t, tt.after, e.After)
				assert.NotContains(t, l.err.Error(), "adm")
			}
		})
	}
}

// SPEC FJ-9: a budget that is spent ends the walk as a matter of the moment.
func TestSpentBudget(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(120))
	ses := st.open()
	st.meter.left = 2
	l := list(ses, "all", time.Time{}, nil)
	assert.ErrorIs(t, l.err, adapters.ErrBudget)
	assert.Equal(t, 1, l.pages)
}

// SPEC FJ-9: a cancelled context ends at once and stays recognisable.
func TestCancelled(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(3))
	ses := st.open()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ses.Health(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = ses.Read(ctx, []scope.Ref{st.ref(1)}, query.Fields(query.FState))
	assert.ErrorIs(t, err, context.Canceled)
}

// Scenario B141, SPEC FJ-9: the credential goes to the configured host alone, whatever that host says.
func TestRedirectToAnotherHost(t *testing.T) {
	var leaked atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer trap.Close()
	for _, status := range []int{301, 302, 307, 308} {
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, trap.URL+r.URL.Path, status)
		}))
		st := newStage(t, face.Gitea124, "")
		st.config.BaseURL, st.config.HTTP = host.URL, host.Client()
		_, err := forgejo.Adapter{}.Open(t.Context(), st.config)
		host.Close()
		var e *adapters.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, adapters.ScopeFailure, e.Severity)
		assert.ErrorIs(t, err, adapters.ErrProtocol)
	}
	assert.Zero(t, leaked.Load())
}

// SPEC FJ-17: roles as the server tells them, about the actor that was asked about.
func TestRoles(t *testing.T) {
	st := newStage(t, face.Gitea124, "user login=temp\nrename-user login=stella to=stella2")
	ses := st.open()
	id := func(login string) string {
		u, _, ok := st.w.User(login)
		require.True(t, ok, login)
		return strconv.FormatInt(u.ID, 10)
	}
	fs, err := ses.Roles(t.Context(), []query.User{
		{ID: id("olga"), Login: "olga"}, {ID: id("wes"), Login: "WES"}, {ID: id("rea"), Login: "rea"}, {ID: id("temp"), Login: "temp"},
		{ID: id("wes"), Login: "rea"}, {ID: "999", Login: "nobody"}, {Deleted: true}, {ID: "-2", Login: "gitea-actions", Bot: true}, {ID: "7"},
	})
	require.NoError(t, err)
	want := []struct {
		role     adapters.Role
		verified bool
	}{{adapters.Admin, true}, {adapters.Write, true}, {adapters.ReadRole, true}, {adapters.ReadRole, true},
		{adapters.Write, true}, {0, false}, {adapters.None, true}, {adapters.None, true}, {0, false}}
	for i, f := range fs {
		assert.Equal(t, want[i].role, f.Role, i)
		assert.Equal(t, want[i].verified, f.Verified, i)
		assert.Equal(t, f.Verified, f.Why == "", i)
	}
}

// SPEC FJ-17: a refusal, a throttle and an error are no roles, and a refusal is not repeated.
func TestRolesUnverified(t *testing.T) {
	st := newStage(t, face.Gitea124, "")
	st.token = "rw"
	ses := st.open()
	var us []query.User
	for _, login := range []string{"olga", "rea", "stella", "acme", "robo", "olga", "rea", "stella"} {
		u, _, _ := st.w.User(login)
		us = append(us, query.User{ID: strconv.FormatInt(u.ID, 10), Login: login})
	}
	st.meter.reset()
	fs, err := ses.Roles(t.Context(), us)
	require.NoError(t, err)
	for _, f := range fs {
		assert.False(t, f.Verified)
		assert.Contains(t, f.Why, "may not read roles")
	}
	assert.LessOrEqual(t, st.meter.count(adapters.Roles), 4)

	for _, fault := range []string{"status status=429 retry-after=5", "status status=500", "html", "null-body", "reset"} {
		st := newStage(t, face.Gitea124, "")
		ses := st.open()
		st.run("fault route=permission kind=" + fault)
		fs, err := ses.Roles(t.Context(), us[:1])
		if strings.Contains(fault, "429") {
			assert.ErrorIs(t, err, adapters.ErrThrottled, "a throttle says nothing about an actor")
			continue
		}
		require.NoError(t, err, fault)
		assert.False(t, fs[0].Verified, fault)
		assert.NotEmpty(t, fs[0].Why, fault)
		assert.Equal(t, adapters.NoRole, fs[0].Role)
	}
}

// SPEC FJ-18: what a person types.
func TestFind(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(6)+"repo repo=acme/other\nrename-repo repo=acme/widgets to=gadgets")
	ses := st.open()
	e, err := st.w.Entity("acme/gadgets#2")
	require.NoError(t, err)
	want := strconv.FormatInt(e.ID, 10)
	for _, ref := range []string{"#2", "2", "acme/gadgets#2", "ACME/Gadgets#2", "acme/widgets#2", "http://forge.example/acme/gadgets/issues/2",
		"http://forge.example/acme/widgets/issues/2#issuecomment-9", "forgejo|forge.example|work_item|" + want} {
		got, err := ses.Find(t.Context(), ref)
		if assert.NoError(t, err, ref) {
			assert.Equal(t, want, got.ID, ref)
			assert.Equal(t, "acme/gadgets#2", got.Key)
		}
	}
	for _, ref := range []string{"#99", "#5", "acme/other#2", "acme/nowhere#2", "http://elsewhere.example/acme/gadgets/issues/2", "x", "", "#-1",
		"http://forge.example/acme/gadgets", "forgejo|forge.example|work_item|99", "forgejo|forge.example|change_proposal|" + want} {
		_, err := ses.Find(t.Context(), ref)
		assert.True(t, errors.Is(err, adapters.ErrNotFound), "%s: %v", ref, err)
	}
}
