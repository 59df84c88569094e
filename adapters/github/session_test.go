package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func body(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

// SPEC GH-1: which hosts are asked for which address, and which addresses are refused.
func TestBaseURLs(t *testing.T) {
	for base, want := range map[string][2]string{
		"":                                  {"https://api.github.com/graphql", "github.com"},
		"https://github.com":                {"https://api.github.com/graphql", "github.com"},
		"https://api.github.com/":           {"https://api.github.com/graphql", "github.com"},
		"https://GitHub.com:443":            {"https://api.github.com/graphql", "github.com"},
		"https://acme.ghe.com":              {"https://api.acme.ghe.com/graphql", "acme.ghe.com"},
		"https://github.example.org":        {"https://github.example.org/api/graphql", "github.example.org"},
		"https://github.example.org/api/v3": {"https://github.example.org/api/graphql", "github.example.org"},
		"http://127.0.0.1:8080":             {"http://127.0.0.1:8080/api/graphql", "127.0.0.1:8080"},
		"ftp://github.com":                  {},
		"http://github.com":                 {},
		"https://user:pw@github.com":        {},
		"https://github.example.org/x":      {},
		"https://github.com?x=1":            {},
		"::":                                {},
	} {
		t.Run(base, func(t *testing.T) {
			st := newStage(t, "")
			var asked string
			st.config.BaseURL = base
			st.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if asked == "" {
					asked = r.URL.String()
				}
				return st.client.Transport.RoundTrip(r)
			})}
			ses, err := github.Adapter{}.Open(context.Background(), st.config)
			assert.Equal(t, want[0], asked)
			if want[0] == "" {
				assert.Equal(t, adapters.ScopeFailure, failure(t, err).Severity)
				assert.NotContains(t, err.Error(), "pw")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, want[1], ses.Scope().Tenant)
		})
	}
}

// SPEC GH-2: the scope is made of stable ids.
func TestScope(t *testing.T) {
	st := newStage(t, "")
	olga, _, _ := st.w.User("olga")
	repo, _, _ := st.w.Repo("acme/widgets")
	assert.Equal(t, scope.Scope{Provider: "github", Tenant: "forge.example", Container: fmt.Sprint(repo.ID), Kind: query.WorkItem, Account: fmt.Sprint(olga.ID)}, st.open().Scope())
	st.face.Switch(func(q *face.Quirks) { q.ViewerHidden = true })
	assert.Equal(t, "installation", st.open().Scope().Account, "an installation's token from outside may not name itself")
}

// SPEC GH-2: a token of another account ends the session; another of the same account goes on.
func TestRotatedToken(t *testing.T) {
	st := newStage(t, "token text=adm2 user=olga\n"+many(1, "work_item"))
	ses := st.open()
	st.token = "adm2"
	_, err := ses.Health(context.Background())
	require.NoError(t, err)
	st.token = "rw"
	_, err = ses.Health(context.Background())
	assert.ErrorIs(t, err, adapters.ErrUnauthorized)
	st.token = ""
	_, err = ses.Health(context.Background())
	assert.ErrorIs(t, err, adapters.ErrUnauthorized)
}

// Scenario B133, SPEC GH-2: a token that is refused in the middle of a walk is asked for again, once, and the page is repeated.
func TestTokenReplacedMidScan(t *testing.T) {
	st := newStage(t, many(120, "work_item")+"token text=adm2 user=olga\n")
	ses := st.open()
	n := 0
	st.config.Token = nil
	for p, err := range ses.Pages(context.Background(), nil, adapters.Walk{Name: "changed"}, adapters.Position{}) {
		require.NoError(t, err)
		n += len(p.Items)
		st.run("revoke-token text=" + st.token)
		if st.token == "adm" {
			st.token = "adm2"
			continue
		}
		break
	}
	assert.Equal(t, 100, n)
	assert.ErrorIs(t, list(ses, "changed", time.Time{}, nil).err, adapters.ErrUnauthorized)
}

// key makes an App's key and gives its file and the check of its signatures.
func key(t *testing.T, app int64) (file string, verify func(string, time.Time) error) {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file, func(signed string, now time.Time) error {
		c := jwt.RegisteredClaims{}
		_, err := jwt.ParseWithClaims(signed, &c, func(*jwt.Token) (any, error) { return &k.PublicKey, nil },
			jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuedAt(), jwt.WithExpirationRequired())
		switch {
		case err != nil:
			return err
		case c.Issuer != fmt.Sprint(app):
			return errors.New("another App")
		case c.ExpiresAt.Sub(now) > 10*time.Minute:
			return errors.New("'Expiration time' claim ('exp') is too far in the future")
		}
		return nil
	}
}

// appStage is a stage whose connection is an App's.
func appStage(t *testing.T, script string, skew time.Duration) *stage {
	st := newStage(t, script)
	file, verify := key(t, 7)
	st.face = face.New(st.w, face.Options{Schema: published(), Apps: []face.App{{ID: 7, Installation: 70, Bot: "robo", Verify: verify}}})
	st.run("set-role user=robo role=write")
	st.client.Transport = forgesim.Transport(st.face)
	st.config.Token = nil
	st.config.Settings = map[string]string{"app_id": "7", "installation_id": "70", "private_key_file": file}
	st.config.Now = func() time.Time { return st.w.Now().Add(skew) }
	return st
}

// Scenario B133, SPEC GH-2: an App's token is made, kept, and renewed in the middle of a walk; what the local clock says does not matter.
func TestAppTokens(t *testing.T) {
	for _, skew := range []time.Duration{0, 20 * time.Minute, -20 * time.Minute} {
		t.Run(skew.String(), func(t *testing.T) {
			st := appStage(t, many(160, "work_item"), skew)
			ses := st.open()
			assert.Equal(t, "app:7/installation:70", ses.Scope().Account)
			h, err := ses.Health(context.Background())
			require.NoError(t, err)
			assert.True(t, h.CanRoles)
			assert.Equal(t, "App 7", h.Account)
			made := st.w.Counters().ByRoute["app.token"]
			var numbers []int64
			for p, err := range ses.Pages(context.Background(), nil, adapters.Walk{Name: "changed"}, adapters.Position{}) {
				require.NoError(t, err)
				for _, it := range p.Items {
					numbers = append(numbers, it.Number)
				}
				st.w.Advance(40 * time.Minute)
			}
			assert.Len(t, numbers, 160)
			assert.Equal(t, made+1, st.w.Counters().ByRoute["app.token"], "the first lasts for two pages, the second for the rest")
		})
	}
	t.Run("refused early", func(t *testing.T) {
		st := appStage(t, many(3, "work_item"), 0)
		ses := st.open()
		st.run("revoke-token text=ghs_simulated1")
		assert.Len(t, list(ses, "changed", time.Time{}, nil).numbers, 3)
	})
	t.Run("cannot be renewed", func(t *testing.T) {
		st := appStage(t, many(3, "work_item"), 0)
		ses := st.open()
		st.run("revoke-token text=ghs_simulated1\nfault kind=status route=app.token status=404")
		l := list(ses, "changed", time.Time{}, nil)
		assert.ErrorIs(t, l.err, adapters.ErrNotFound)
		assert.Empty(t, l.numbers)
	})
	for name, settings := range map[string]map[string]string{
		"no installation": {"app_id": "7"},
		"no number":       {"app_id": "seven", "installation_id": "70", "private_key_file": "x"},
		"no key":          {"app_id": "7", "installation_id": "70"},
		"key is missing":  {"app_id": "7", "installation_id": "70", "private_key_file": "/does/not/exist"},
	} {
		t.Run(name, func(t *testing.T) {
			st := appStage(t, "", 0)
			st.config.Settings = settings
			_, err := github.Adapter{}.Open(context.Background(), st.config)
			assert.Equal(t, adapters.ScopeFailure, failure(t, err).Severity)
		})
	}
}

// SPEC GH-9: renamed is fine and said; moved away, re-created and out of sight are not.
func TestHealth(t *testing.T) {
	open := func(script string) (*stage, adapters.Session) {
		st := newStage(t, many(2, "work_item"))
		ses := st.open()
		st.run(script)
		return st, ses
	}
	t.Run("fine", func(t *testing.T) {
		st, ses := open("")
		h, err := ses.Health(context.Background())
		require.NoError(t, err)
		assert.Equal(t, adapters.Health{Clock: st.w.Now(), Account: "olga", Place: "acme/widgets", CanRoles: true}, h)
	})
	t.Run("renamed", func(t *testing.T) {
		_, ses := open("rename-repo repo=acme/widgets to=gears")
		h, err := ses.Health(context.Background())
		require.NoError(t, err)
		assert.Equal(t, "acme/gears", h.Place)
		assert.Len(t, h.Warnings, 1)
		l := list(ses, "changed", time.Time{}, nil)
		assert.Equal(t, []int64{1, 2}, l.numbers)
		assert.Equal(t, "acme/gears#1", l.items[0].Ref.Key)
		f, err := ses.Roles(context.Background(), []query.User{{ID: "3", Login: "wes"}})
		require.NoError(t, err)
		assert.Equal(t, adapters.Write, f[0].Role)
	})
	t.Run("renamed between two pages", func(t *testing.T) {
		st := newStage(t, many(120, "work_item"))
		ses := st.open()
		require.NoError(t, st.w.After("issues.list", 1, "rename-repo repo=acme/widgets to=gears"))
		assert.Len(t, list(ses, "all", time.Time{}, nil).numbers, 120)
	})
	t.Run("the name is another's", func(t *testing.T) {
		_, ses := open("rename-repo repo=acme/widgets to=gears\nrepo repo=acme/widgets")
		_, err := ses.Health(context.Background())
		assert.ErrorIs(t, err, adapters.ErrMoved)
		assert.Equal(t, adapters.ScopeFailure, failure(t, err).Severity)
	})
	t.Run("re-created", func(t *testing.T) {
		_, ses := open("recreate-repo repo=acme/widgets")
		_, err := ses.Health(context.Background())
		assert.ErrorIs(t, err, adapters.ErrMoved)
	})
	t.Run("deleted", func(t *testing.T) {
		_, ses := open("delete-repo repo=acme/widgets")
		_, err := ses.Health(context.Background())
		assert.ErrorIs(t, err, adapters.ErrNotFound)
		assert.Equal(t, adapters.ScopeFailure, failure(t, err).Severity)
	})
	t.Run("no clock", func(t *testing.T) {
		st, ses := open("fault kind=no-date")
		h, err := ses.Health(context.Background())
		require.NoError(t, err)
		assert.Equal(t, st.w.Now().Truncate(time.Second), h.Clock)
		assert.Len(t, h.Warnings, 1)
	})
	t.Run("may not read roles", func(t *testing.T) {
		st := newStage(t, "token text=ro user=rea")
		st.token = "ro"
		h, err := st.open().Health(context.Background())
		require.NoError(t, err)
		assert.False(t, h.CanRoles)
		assert.Len(t, h.Warnings, 1)
	})
	t.Run("does not exist", func(t *testing.T) {
		st := newStage(t, "")
		st.config.Container = "acme/nothing"
		_, err := github.Adapter{}.Open(context.Background(), st.config)
		assert.ErrorIs(t, err, adapters.ErrNotFound)
	})
}

// SPEC GH-18: roles by the name of the role; a made-up one by its strongest permission; failures are unverified.
func TestRoles(t *testing.T) {
	st := newStage(t, `
user login=mira
user login=tess
user login=cus
set-role user=mira role=maintain
set-role user=tess role=triage
set-role user=cus role=triage
`)
	ses := st.open()
	st.face.Switch(func(q *face.Quirks) { q.CustomRoles = map[string]string{"cus": "labeller"} })
	who := func(login string) query.User {
		u, _, ok := st.w.User(login)
		require.True(t, ok, login)
		return query.User{ID: fmt.Sprint(u.ID), Login: login, Bot: u.Bot}
	}
	ask := func(us ...query.User) []adapters.Finding {
		fs, err := ses.Roles(context.Background(), us)
		require.NoError(t, err)
		require.Len(t, fs, len(us))
		return fs
	}
	for login, want := range map[string]adapters.Role{"olga": adapters.Admin, "mira": adapters.Maintain, "wes": adapters.Write, "tess": adapters.Triage,
		"rea": adapters.ReadRole, "stella": adapters.ReadRole, "cus": adapters.Triage, "robo": adapters.None} {
		f := ask(who(login))[0]
		assert.True(t, f.Verified, "%s: %s", login, f.Why)
		assert.Equal(t, want, f.Role, login)
	}
	assert.Equal(t, adapters.None, ask(query.User{Deleted: true})[0].Role)
	assert.False(t, ask(query.User{Login: "somebody"})[0].Verified)

	wes := who("wes")
	st.run("rename-user login=wes to=wesley\nuser login=wes\nset-role user=wes role=admin")
	f := ask(wes)[0]
	assert.True(t, f.Verified, f.Why)
	assert.Equal(t, adapters.Write, f.Role, "the id counts, whoever has the login now")
	st.run("delete-user login=wesley")
	assert.False(t, ask(wes)[0].Verified)

	st.face.Switch(func(q *face.Quirks) { q.CollaboratorsClosed = true })
	st.meter.reset()
	fs := ask(who("olga"), who("rea"), who("tess"))
	assert.Equal(t, 1, st.meter.count(adapters.Roles), "after the first refusal nobody else is asked for")
	for _, f := range fs {
		assert.False(t, f.Verified)
		assert.NotEmpty(t, f.Why)
	}
	st.face.Switch(func(q *face.Quirks) { q.CollaboratorsClosed, q.Limit, q.LimitCount = false, face.SecondaryForbidden, 1 })
	f = ask(who("olga"))[0]
	assert.False(t, f.Verified)
	assert.Contains(t, f.Why, "throttled")
	st.run("fault kind=status route=permission status=500")
	assert.False(t, ask(who("olga"))[0].Verified)
}

// SPEC GH-19: what people type.
func TestFind(t *testing.T) {
	st := newStage(t, many(2, "work_item")+"create as=olga kind=change_proposal title=p\nrepo repo=acme/gadgets\ncreate as=olga title=x\nrename-repo repo=acme/widgets to=gears\n")
	ses := newSessionAfterRename(t, st)
	id := st.ref0("acme/gears#2").Identity
	for _, ref := range []string{"2", "#2", "acme/gears#2", "ACME/Gears#2", "acme/widgets#2", "http://forge.example/acme/gears/issues/2",
		"http://forge.example/acme/widgets/issues/2#issuecomment-1", id.String()} {
		got, err := ses.Find(context.Background(), ref)
		require.NoError(t, err, ref)
		assert.Equal(t, id, got.Identity, ref)
	}
	for _, ref := range []string{"", "x", "#0", "99", "3", "acme/gadgets#1", "nobody/nothing#1", "http://other.example/acme/gears/issues/2",
		"http://forge.example/acme/gears", "99999999999", "github|forge.example|work_item|77", "github|forge.example|change_proposal|1"} {
		_, err := ses.Find(context.Background(), ref)
		assert.Error(t, err, ref)
		assert.Equal(t, adapters.ItemFailure, failure(t, err).Severity, ref)
	}
}

func newSessionAfterRename(t *testing.T, st *stage) adapters.Session {
	t.Helper()
	ses := st.open()
	_, err := ses.Health(context.Background())
	require.NoError(t, err)
	return ses
}
