package gitlab_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A stage is a small project with people of every role, on a simulated server.
type stage struct {
	t      testing.TB
	w      *forgesim.World
	face   *face.Face
	meter  *meter
	token  string
	config adapters.Config
}

const people = `
user login=acme org=true
user login=olga
user login=mira
user login=wes
user login=wanda
user login=tess
user login=rea
user login=stella
user login=robo bot=true
user login=root root=true
repo repo=acme/gadgets
create-label label=bug
repo repo=acme/widgets
set-role user=olga role=admin
set-role user=mira role=maintain
set-role user=wes role=write
set-role user=wanda role=write
set-role user=tess role=triage
set-role user=rea role=read
set-role user=robo role=write
token text=adm user=olga
token text=rw user=wes
token text=ro user=rea
token text=out user=stella
token text=root user=root
create-label label=bug
create-label label=ui
create-milestone milestone=1.0
`

func newStage(t testing.TB, kind query.Kind, q face.Quirks, script string) *stage {
	t.Helper()
	w := forgesim.New(forgesim.Options{Profile: forgesim.GitLab()})
	s := &stage{t: t, w: w, meter: &meter{count: map[adapters.Class]int{}}, token: "adm", face: face.New(w, face.Options{Quirks: q})}
	s.config = adapters.Config{
		BaseURL: "http://git.example", Container: "acme/widgets", Kind: kind, Budget: s.meter,
		HTTP:  &http.Client{Transport: forgesim.Transport(s.face)},
		Token: func(context.Context) (string, error) { return s.token, nil },
		Now:   w.Now,
	}
	s.run(people)
	s.run(script)
	return s
}

func (s *stage) run(script string) {
	s.t.Helper()
	require.NoError(s.t, s.w.Run(context.Background(), strings.NewReader(script)))
}

func (s *stage) open() adapters.Session {
	s.t.Helper()
	ses, err := gitlab.Adapter{}.Open(context.Background(), s.config)
	require.NoError(s.t, err)
	return ses
}

// ref is what the ledger remembers of an entity, by its alias in the script.
func (s *stage) ref(alias string) scope.Ref {
	s.t.Helper()
	e, err := s.w.Entity(alias)
	require.NoError(s.t, err)
	kind, mark := query.WorkItem, "#"
	if e.Kind == forgesim.ChangeProposal {
		kind, mark = query.ChangeProposal, "!"
	}
	n := strconv.FormatInt(e.Number, 10)
	return scope.Ref{Identity: scope.Identity{Provider: "gitlab", Tenant: "git.example", Kind: kind, ID: strconv.FormatInt(e.ID, 10)},
		Alias: n, Key: e.Repo.FullName() + mark + n}
}

// user is an account as facts show it.
func (s *stage) user(login string) query.User {
	s.t.Helper()
	u, _, ok := s.w.User(login)
	require.True(s.t, ok, login)
	return query.User{ID: strconv.FormatInt(u.ID, 10), Login: login}
}

// read reads one entity, which must be there.
func (s *stage) read(ses adapters.Session, alias string, fs ...query.FieldID) adapters.Item {
	s.t.Helper()
	items, err := ses.Read(context.Background(), []scope.Ref{s.ref(alias)}, query.Fields(fs...))
	require.NoError(s.t, err)
	require.Len(s.t, items, 1)
	require.Equal(s.t, adapters.Present, items[0].State, "%v", items[0].Err)
	return items[0]
}

// listed is what a walk brings from a position on.
type listed struct {
	numbers []int64
	pages   int
	short   []error
	err     error
	next    []byte
	items   []adapters.Item
}

func walk(ses adapters.Session, sweep bool) adapters.Walk {
	p, _ := ses.Compile(context.Background(), nil)
	for _, w := range p.Walks() {
		if (w.Kind == query.Sweep) == sweep {
			return w
		}
	}
	panic("no such walk")
}

func list(ses adapters.Session, w adapters.Walk, since time.Time, cursor []byte) listed {
	var l listed
	for p, err := range ses.Pages(context.Background(), nil, w, adapters.Position{Since: since, Cursor: cursor}) {
		if err != nil {
			l.err = err
			return l
		}
		l.pages++
		for _, it := range p.Items {
			l.numbers = append(l.numbers, it.Number)
		}
		l.items = append(l.items, p.Items...)
		l.next = p.Next
		if p.Short != nil {
			l.short = append(l.short, p.Short)
		}
	}
	return l
}

// meter counts requests and lets everything through.
type meter struct {
	mu    sync.Mutex
	count map[adapters.Class]int
	after []string // Retry-After headers that came
}

func (m *meter) Wait(_ context.Context, c adapters.Class, cost int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count[c] += cost
	return nil
}

func (m *meter) Observe(_ adapters.Class, _ int, h http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := h.Get("Retry-After"); v != "" {
		m.after = append(m.after, v)
	}
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.count)
}

func (m *meter) total() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.count {
		n += c
	}
	return n
}
