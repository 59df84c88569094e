package github_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A stage is a small repository with people of every role, on a simulated server.
type stage struct {
	t      testing.TB
	w      *forgesim.World
	face   *face.Face
	client *http.Client
	meter  *meter
	token  string
	config adapters.Config
}

const people = `
user login=acme org=true
user login=olga
user login=wes
user login=rea
user login=stella
user login=robo bot=true
repo repo=acme/widgets
set-role user=olga role=admin
set-role user=wes role=write
set-role user=rea role=read
token text=adm user=olga
token text=rw user=wes
`

// published is the schema that queries are validated against; nil where it was not fetched.
var published = sync.OnceValue(func() *ast.Schema {
	s, err := face.Schema(schemaFile)
	if err != nil {
		return nil
	}
	return s
})

const schemaFile = "../../.schema/github-15.26.1.graphql"

func newStage(t testing.TB, script string) *stage {
	t.Helper()
	return newStageUnder(t, published(), script)
}

// newStageUnder is a stage whose queries are validated against a schema, or not.
func newStageUnder(t testing.TB, schema *ast.Schema, script string) *stage {
	t.Helper()
	w := forgesim.New(forgesim.Options{Profile: forgesim.GitHub()})
	s := &stage{t: t, w: w, meter: &meter{}, token: "adm"}
	s.face = face.New(w, face.Options{Schema: schema})
	s.client = &http.Client{Transport: forgesim.Transport(s.face)}
	s.config = adapters.Config{
		BaseURL: "http://forge.example", Container: "acme/widgets", Kind: query.WorkItem, HTTP: s.client, Budget: s.meter,
		Token: func(context.Context) (string, error) { return s.token, nil },
		Now:   w.Now,
	}
	s.run(people)
	s.run(script)
	t.Cleanup(func() { require.NoError(t, w.HookErr()) })
	return s
}

// pulls makes the stage's sessions be about pull requests.
func (s *stage) pulls() *stage {
	s.config.Kind = query.ChangeProposal
	return s
}

func (s *stage) run(script string) {
	s.t.Helper()
	require.NoError(s.t, s.w.Run(context.Background(), strings.NewReader(script)))
}

func (s *stage) open() adapters.Session {
	s.t.Helper()
	ses, err := github.Adapter{}.Open(context.Background(), s.config)
	require.NoError(s.t, err)
	return ses
}

func (s *stage) entity(n int) forgesim.Entity {
	s.t.Helper()
	e, err := s.w.Entity("acme/widgets#" + strconv.Itoa(n))
	require.NoError(s.t, err)
	return e
}

func (s *stage) ref(n int) scope.Ref {
	e := s.entity(n)
	kind, id := query.WorkItem, e.ID
	if e.Kind == forgesim.ChangeProposal {
		kind, id = query.ChangeProposal, e.ChangeID
	}
	return scope.Ref{Identity: scope.Identity{Provider: "github", Tenant: "forge.example", Kind: kind, ID: strconv.FormatInt(id, 10)},
		Alias: strconv.Itoa(n), Key: "acme/widgets#" + strconv.Itoa(n)}
}

// walks lists what a walk brings from a position on.
type listed struct {
	numbers []int64
	other   []int64
	pages   int
	short   []error
	err     error
	next    []byte
	items   []adapters.Item
}

func list(ses adapters.Session, walk string, since time.Time, cursor []byte) listed {
	var l listed
	for p, err := range ses.Pages(context.Background(), nil, adapters.Walk{Name: walk}, adapters.Position{Since: since, Cursor: cursor}) {
		if err != nil {
			l.err = err
			return l
		}
		l.pages++
		for _, it := range p.Items {
			l.numbers = append(l.numbers, it.Number)
		}
		l.items = append(l.items, p.Items...)
		l.other = append(l.other, p.Other...)
		l.next = p.Next
		if p.Short != nil {
			l.short = append(l.short, p.Short)
		}
	}
	return l
}

func sorted(ns []int64) []int64 {
	ns = slices.Clone(ns)
	slices.Sort(ns)
	return ns
}

// meter is a budget that only counts, unless it is spent.
type meter struct {
	mu    sync.Mutex
	asked map[adapters.Class]int
	seen  map[adapters.Class][]int
	left  int      // 0: no limit
	waits []string // the waits that limits asked for
}

func (m *meter) Wait(_ context.Context, c adapters.Class, cost int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked == nil {
		m.asked, m.seen = map[adapters.Class]int{}, map[adapters.Class][]int{}
	}
	if m.left > 0 {
		if m.left--; m.left == 0 {
			m.left = -1
		}
	}
	if m.left < 0 {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "budget", Err: adapters.ErrBudget}
	}
	m.asked[c] += cost
	return nil
}

func (m *meter) Observe(c adapters.Class, status int, h http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if status == http.StatusTooManyRequests {
		m.waits = append(m.waits, h.Get("Retry-After"))
	}
	m.seen[c] = append(m.seen[c], status)
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.seen, m.waits = map[adapters.Class]int{}, map[adapters.Class][]int{}, nil
}

func (m *meter) count(c adapters.Class) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[c]
}
