package conformance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// tap stands between the engine and the adapter, lets everything pass unchanged, and takes note of what the contract
// says about it.
type tap struct {
	adapters.Adapter

	mu       sync.Mutex
	session  adapters.Session
	errs     []error
	asked    query.FieldSet // fields that were read in this cycle
	reads    int            // entities that were read in this cycle
	pages    int
	seen     map[scope.Identity]scope.Ref
	since    map[string]adapters.Position // the last position asked for, by walk
	cursor   map[string][]byte            // the last cursor given, by walk
	users    map[string]query.User        // by login
	tokens   map[string]string            // identity and token -> what the row showed
	breaches []string
	unmet    []string // what only a probe found
	hooks    []hook
	trouble  error // of a hook
	stopAt   int   // pages after which stop is called; 0: never
	stop     func()
}

func newTap(a adapters.Adapter) *tap {
	return &tap{Adapter: a, seen: map[scope.Identity]scope.Ref{}, since: map[string]adapters.Position{}, cursor: map[string][]byte{},
		users: map[string]query.User{}, tokens: map[string]string{}}
}

// hook is a change of the world between two answers.
type hook struct {
	route string
	left  int
	do    func() error
}

func (t *tap) after(route string, n int, do func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hooks = append(t.hooks, hook{route, n, do})
}

// answered runs the hooks that are due after an answer of a route.
func (t *tap) answered(route string) {
	t.mu.Lock()
	var due []func() error
	t.hooks = slices.DeleteFunc(t.hooks, func(h hook) bool { return h.route == route && h.left == 1 && push(&due, h.do) })
	for i := range t.hooks {
		if t.hooks[i].route == route {
			t.hooks[i].left--
		}
	}
	t.mu.Unlock()
	for _, do := range due {
		if err := do(); err != nil {
			t.mu.Lock()
			t.trouble = errors.Join(t.trouble, err)
			t.mu.Unlock()
		}
	}
}

func push[T any](to *[]T, v T) bool { *to = append(*to, v); return true }

// begin forgets what belongs to one cycle.
func (t *tap) begin(stopAt int, stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs, t.asked, t.reads, t.pages, t.breaches, t.unmet = nil, query.FieldSet{}, 0, 0, nil, nil
	t.stopAt, t.stop = stopAt, stop
}

// Open implements adapters.Adapter.
func (t *tap) Open(ctx context.Context, c adapters.Config) (adapters.Session, error) {
	s, err := t.Adapter.Open(ctx, c)
	if err != nil {
		t.failed("Open", err)
		return nil, err
	}
	t.mu.Lock()
	t.session = s
	t.mu.Unlock()
	if sc := s.Scope(); sc.Provider != t.Provider() || sc.Kind != c.Kind || sc.Tenant == "" || sc.Container == "" || sc.Account == "" {
		t.breach("CF-1", "the scope %+v is not whole: provider, tenant, container, kind and account are all needed", sc)
	}
	ts := &tapped{Session: s, t: t}
	if p, ok := s.(adapters.Prober); ok {
		return &tappedProber{ts, p}, nil
	}
	return ts, nil
}

func (t *tap) breach(clause, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.breaches = append(t.breaches, clause+": "+fmt.Sprintf(format, args...))
}

// failed notes an error. Every one of an adapter matches *adapters.Error and says what was tried.
func (t *tap) failed(where string, err error) {
	var e *adapters.Error
	switch {
	case !errors.As(err, &e):
		t.breach("CF-40", "%s failed with %q, which is no *adapters.Error: nobody can tell what it concerns", where, err)
	case e.Op == "":
		t.breach("CF-40", "%s failed with %q, which does not say what was tried", where, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

type tapped struct {
	adapters.Session
	t *tap
}

type tappedProber struct {
	*tapped
	p adapters.Prober
}

// Health implements adapters.Session.
func (s *tapped) Health(ctx context.Context) (adapters.Health, error) {
	h, err := s.Session.Health(ctx)
	switch {
	case err != nil:
		s.t.failed("Health", err)
	case h.Clock.IsZero():
		s.t.breach("CF-21", "Health gives no clock: no window can begin")
	}
	return h, err
}

// Compile implements adapters.Session.
func (s *tapped) Compile(ctx context.Context, ss []query.Source) (adapters.Plan, []adapters.Refusal) {
	p, rs := s.Session.Compile(ctx, ss)
	var changes, sweeps bool
	for _, w := range p.Walks() {
		changes = changes || w.Kind == query.Changes
		sweeps = sweeps || w.Kind == query.Sweep
		if w.Lag < w.Grain {
			s.t.breach("CF-20", "walk %s: its lag %s is less than the grain %s of its clock", w.Name, w.Lag, w.Grain)
		}
	}
	if !changes || !sweeps {
		s.t.breach("CF-25", "the plan has walks %+v: at least one change feed and one sweep are needed", p.Walks())
	}
	return p, rs
}

// Pages implements adapters.Session.
func (s *tapped) Pages(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	return func(yield func(adapters.Page, error) bool) {
		s.t.mu.Lock()
		s.t.since[w.Name] = at
		s.t.mu.Unlock()
		for page, err := range s.Session.Pages(ctx, p, w, at) {
			if err != nil {
				s.t.failed("Pages of walk "+w.Name, err)
				yield(page, err)
				return
			}
			s.t.page(s.Session, w, &page)
			s.t.answered("search")
			if !yield(page, nil) {
				return
			}
			s.t.turned()
		}
	}
}

// turned counts a page that the engine has committed.
func (t *tap) turned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pages++
	if t.stop != nil && t.pages == t.stopAt {
		t.stop()
	}
}

func (t *tap) page(s adapters.Session, w adapters.Walk, p *adapters.Page) {
	if p.Short != nil {
		t.failed("a page of walk "+w.Name, p.Short)
	}
	if p.Next != nil {
		t.mu.Lock()
		t.cursor[w.Name] = p.Next
		t.mu.Unlock()
	}
	for i := range p.Items {
		it := &p.Items[i]
		t.item(s, it, !w.Pointers)
		if it.State == adapters.Present && !w.Pointers && it.Facts != nil && it.Token != "" {
			t.token(it)
		}
	}
}

// token holds that one token means one row.
func (t *tap) token(it *adapters.Item) {
	key, shows := it.Ref.Identity.String()+"\x00"+it.Token, digest(it.Facts)
	t.mu.Lock()
	was, ok := t.tokens[key]
	t.tokens[key] = shows
	t.mu.Unlock()
	if ok && was != shows {
		t.breach("CF-26", "%s: the row changed and its token did not, so that a change in it will be taken for no change; it was\n    %s\n  and is\n    %s", it.Ref.Key, was, shows)
	}
}

// item holds what every item owes, whatever call it answers.
func (t *tap) item(s adapters.Session, it *adapters.Item, facts bool) {
	if it.State != adapters.Present {
		if it.Err == nil {
			t.breach("CF-43", "%s is %s without saying why", it.Ref.Key, stateName(it.State))
		}
		return
	}
	sc := s.Scope()
	switch id := it.Ref.Identity; {
	case id.ID == "" || id.Provider != sc.Provider || id.Tenant != sc.Tenant || id.Kind == "":
		t.breach("CF-1", "%q has identity %+v: provider, tenant, kind and stable id are all needed", it.Ref.Key, id)
	case it.Ref.Key == "" || it.Ref.Alias == "":
		t.breach("CF-1", "entity %s has no key or no alias", id)
	case it.Updated.IsZero() || it.ReadAt.IsZero():
		t.breach("CF-26", "%s says neither nor both of when it changed and when it was read: updated %v, read %v", it.Ref.Key, it.Updated, it.ReadAt)
	case facts && it.Facts == nil:
		t.breach("CF-60", "%s is present and has no facts", it.Ref.Key)
	}
	t.mu.Lock()
	t.seen[it.Ref.Identity] = it.Ref
	t.mu.Unlock()
	if it.Facts != nil {
		t.facts(sc.Kind, it)
	}
}

func (t *tap) facts(kind query.Kind, it *adapters.Item) {
	cat := t.Catalogue(kind)
	for _, f := range query.AllFields() {
		fact := it.Facts.Get(f.ID)
		if fact.Presence == query.Unknown || f.Type == query.TypeCustom {
			continue
		}
		if _, ok := cat.ByID(f.ID); !ok {
			t.breach("CF-60", "%s has the fact %s, which the catalogue for %s does not know", it.Ref.Key, f.Name, kind)
			continue
		}
		t.elements(it.Ref.Key, f, fact)
	}
}

func (t *tap) elements(key string, f *query.Field, fact *query.Fact) {
	keys := map[string]bool{}
	for i := range fact.Items {
		e := &fact.Items[i]
		if e.Key == "" || keys[e.Key] {
			t.breach("CF-61", "%s: %s has two elements under the key %q, or one without a key: they cannot be told apart", key, f.Name, e.Key)
		}
		keys[e.Key] = true
		if e.Actor.ID == "" {
			continue
		}
		t.mu.Lock()
		t.users[e.Actor.Login], t.users[e.Actor.ID] = e.Actor, e.Actor
		t.mu.Unlock()
	}
}

// Read implements adapters.Session.
func (s *tapped) Read(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
	s.t.mu.Lock()
	s.t.asked = s.t.asked.Union(fs)
	s.t.reads += len(refs)
	s.t.mu.Unlock()
	items, err := s.Session.Read(ctx, refs, fs)
	if err != nil {
		s.t.failed("Read", err)
		return items, err
	}
	s.t.answers(s.Session, refs, fs, items)
	s.t.answered("read")
	return items, nil
}

// answers holds that a read answers everything that it was asked, in order.
func (t *tap) answers(s adapters.Session, refs []scope.Ref, fs query.FieldSet, items []adapters.Item) {
	if len(items) != len(refs) {
		t.breach("CF-64", "Read gave %d answers for %d entities", len(items), len(refs))
		return
	}
	cat := t.Catalogue(s.Scope().Kind)
	for i := range items {
		it := &items[i]
		if it.Err != nil {
			t.failed("Read of "+refs[i].Key, it.Err)
		}
		t.item(s, it, true)
		if it.State != adapters.Present || it.Facts == nil {
			continue
		}
		if it.Ref.Identity != refs[i].Identity {
			t.breach("CF-64", "Read was asked for %s and answered with %s: an entity's facts would be taken for another's", refs[i].Identity, it.Ref.Identity)
		}
		for _, id := range fs.IDs() {
			f, ok := cat.ByID(id)
			if !ok {
				continue
			}
			t.complete(it, f)
		}
	}
}

// complete holds that a field that was read is there in full, or says why it is not.
func (t *tap) complete(it *adapters.Item, f *query.Field) {
	fact := it.Facts.Get(f.ID)
	if fact.Presence != query.Known && fact.Why == "" {
		t.breach("CF-60", "%s: %s was asked for, is not known, and does not say why", it.Ref.Key, f.Name)
	}
	for i := range fact.Items {
		if fact.Presence == query.Known && fact.Items[i].Editors == query.EditorsUnread {
			t.breach("CF-50", "%s: %s was read and who wrote %q still was not", it.Ref.Key, f.Name, fact.Items[i].Key)
		}
	}
}

// Roles implements adapters.Session.
func (s *tapped) Roles(ctx context.Context, as []query.User) ([]adapters.Finding, error) {
	fs, err := s.Session.Roles(ctx, as)
	if err != nil {
		s.t.failed("Roles", err)
		return fs, err
	}
	if len(fs) != len(as) {
		s.t.breach("CF-64", "Roles gave %d findings for %d actors", len(fs), len(as))
		return fs, nil
	}
	for i, f := range fs {
		switch {
		case f.Actor.ID != as[i].ID:
			s.t.breach("CF-53", "Roles was asked for actor %s and answered about %s", as[i].ID, f.Actor.ID)
		case f.Verified && (f.Role == adapters.NoRole || f.Endpoint == "" || f.At.IsZero()):
			s.t.breach("CF-53", "the role of %s counts as verified, but not which (%s), by whom (%q) or when (%v)", f.Actor.Login, f.Role, f.Endpoint, f.At)
		case !f.Verified && f.Why == "":
			s.t.breach("CF-54", "the role of %s is not verified and nobody says why", f.Actor.Login)
		}
	}
	return fs, nil
}

// Probe implements adapters.Prober.
func (s *tappedProber) Probe(ctx context.Context, numbers []int64) ([]adapters.Item, error) {
	items, err := s.p.Probe(ctx, numbers)
	if err != nil {
		s.t.failed("Probe", err)
		return items, err
	}
	if len(items) != len(numbers) {
		s.t.breach("CF-64", "Probe gave %d answers for %d numbers", len(items), len(numbers))
		return items, nil
	}
	for i := range items {
		s.t.item(s.Session, &items[i], true)
		if items[i].State != adapters.Present {
			continue
		}
		if items[i].Number != numbers[i] {
			s.t.breach("CF-64", "Probe was asked for number %d and answered with %d", numbers[i], items[i].Number)
		}
		s.t.mu.Lock()
		s.t.unmet = append(s.t.unmet, items[i].Ref.Key)
		s.t.mu.Unlock()
	}
	return items, nil
}

func stateName(s adapters.ItemState) string {
	switch s {
	case adapters.Present:
		return "present"
	case adapters.Gone:
		return "gone"
	}
	return "unreadable"
}
