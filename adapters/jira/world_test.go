package jira_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/jira"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// A stage is a small project with people of every role, on a simulated server.
type stage struct {
	t      testing.TB
	w      *forgesim.World
	face   *face.Face
	meter  *meter
	token  string
	config adapters.Config
	seen   *hosts
}

const people = `
user login=acme org=true
user login=olga
user login=wes
user login=rea
user login=stella
user login=robo bot=true
repo repo=acme/gadgets
set-role repo=acme/gadgets user=olga role=admin
create-label repo=acme/gadgets label=bug
repo repo=acme/widgets
set-role user=olga role=admin
set-role user=wes role=write
set-role user=rea role=read
create-label label=bug
create-label label=ui
create-label label=Regression
token text=adm user=olga
token text=adm2 user=olga
token text=rw user=wes
`

func newStage(t testing.TB, o face.Options, script string) *stage {
	t.Helper()
	w := forgesim.New(forgesim.Options{Profile: forgesim.Jira()})
	s := &stage{t: t, w: w, meter: &meter{}, token: "adm", seen: &hosts{}}
	s.face = face.New(w, o)
	s.seen.below = forgesim.Transport(s.face)
	s.config = adapters.Config{
		BaseURL: "https://acme.example", Container: "WIDGETS", Kind: query.WorkItem, HTTP: &http.Client{Transport: s.seen}, Budget: s.meter,
		Token: func(context.Context) (string, error) { return s.token, nil }, Now: w.Now, Settings: map[string]string{"email": "olga@example.com"},
	}
	if o.DataCenter {
		s.config.Settings = nil
		s.config.BaseURL = "https://acme.example"
	}
	s.run(people)
	s.run(script)
	t.Cleanup(func() {
		require.NoError(t, w.HookErr())
		for _, text := range s.face.Asked() {
			jira.NoteJQL(text)
		}
	})
	return s
}

// both runs a test on Cloud and on Data Center.
func both(t *testing.T, script string, f func(t *testing.T, s *stage)) {
	t.Helper()
	for name, dc := range map[string]bool{"cloud": false, "data-center": true} {
		t.Run(name, func(t *testing.T) { f(t, newStage(t, face.Options{DataCenter: dc}, script)) })
	}
}

func (s *stage) run(script string) {
	s.t.Helper()
	require.NoError(s.t, s.w.Run(context.Background(), strings.NewReader(script)))
}

func (s *stage) set(n int, field, value string) {
	s.t.Helper()
	require.NoError(s.t, s.face.Set("acme/widgets#"+strconv.Itoa(n), "wes", field, value))
}

func (s *stage) open() adapters.Session {
	s.t.Helper()
	ses, err := jira.Adapter{}.Open(context.Background(), s.config)
	require.NoError(s.t, err)
	return ses
}

func (s *stage) id(login string) string {
	s.t.Helper()
	u, _, ok := s.w.User(login)
	require.True(s.t, ok)
	return face.AccountID(u.ID)
}

func (s *stage) ref(ses adapters.Session, n int) scope.Ref {
	s.t.Helper()
	e, err := s.w.Entity("acme/widgets#" + strconv.Itoa(n))
	require.NoError(s.t, err)
	id := s.face.IssueID(&e)
	return scope.Ref{Identity: scope.Identity{Provider: "jira", Tenant: ses.Scope().Tenant, Kind: query.WorkItem, ID: id}, Alias: id, Key: face.Key(&e)}
}

func (s *stage) read(n int, fs ...query.FieldID) adapters.Item {
	s.t.Helper()
	ses := s.open()
	items, err := ses.Read(context.Background(), []scope.Ref{s.ref(ses, n)}, query.Fields(fs...))
	require.NoError(s.t, err)
	return items[0]
}

func source(t testing.TB, id, text string) query.Source {
	t.Helper()
	q, ds := query.Parse(text)
	require.False(t, ds.Failed(), "%s: %v", text, ds)
	b, ds := q.Bind(query.WorkItem, jira.Adapter{}.Catalogue(query.WorkItem), query.Env{})
	require.NotNil(t, b, "%s: %v", text, ds)
	return query.Source{ID: id, Query: b}
}

func sources(t testing.TB, texts ...string) []query.Source {
	t.Helper()
	var out []query.Source
	for i, text := range texts {
		out = append(out, source(t, "s"+strconv.Itoa(i), text))
	}
	return out
}

type listed struct {
	numbers []int64
	items   []adapters.Item
	pages   int
	short   []error
	err     error
}

func list(ses adapters.Session, p adapters.Plan, walk string, since time.Time) listed {
	var l listed
	for pg, err := range ses.Pages(context.Background(), p, adapters.Walk{Name: walk}, adapters.Position{Since: since}) {
		if err != nil {
			l.err = err
			return l
		}
		l.pages++
		l.items = append(l.items, pg.Items...)
		for _, it := range pg.Items {
			l.numbers = append(l.numbers, it.Number)
		}
		if pg.Short != nil {
			l.short = append(l.short, pg.Short)
		}
	}
	return l
}

// hosts remembers where credentials were sent.
type hosts struct {
	mu    sync.Mutex
	below http.RoundTripper
	auth  map[string]string // host -> the last Authorization
	paths []string
}

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	if h.auth == nil {
		h.auth = map[string]string{}
	}
	h.auth[r.URL.Host] = r.Header.Get("Authorization")
	h.paths = append(h.paths, r.URL.Path)
	h.mu.Unlock()
	return h.below.RoundTrip(r)
}

// meter is a budget that only counts.
type meter struct {
	mu    sync.Mutex
	asked map[adapters.Class]int
	waits []string
}

func (m *meter) Wait(_ context.Context, c adapters.Class, cost int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked == nil {
		m.asked = map[adapters.Class]int{}
	}
	m.asked[c] += cost
	return nil
}

func (m *meter) Observe(_ adapters.Class, status int, h http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if status == http.StatusTooManyRequests {
		m.waits = append(m.waits, h.Get("Retry-After"))
	}
}

func (m *meter) count(c adapters.Class) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[c]
}
