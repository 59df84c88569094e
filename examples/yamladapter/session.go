package yamladapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// session is one folder, read as one account.
type session struct {
	c          adapters.Config
	root       string
	configured string
	scope      scope.Scope
	place      atomic.Pointer[string] // the container's folder now
}

// Scope returns the scope.
func (s *session) Scope() scope.Scope { return s.scope }

// Health checks who reads and that the folder is still the container. A renamed folder is followed by its id.
func (s *session) Health(ctx context.Context) (adapters.Health, error) {
	if err := s.c.Budget.Wait(ctx, adapters.Identity, 1); err != nil {
		return adapters.Health{}, err
	}
	clock := s.c.Now().UTC() // before anything is read
	who, err := s.people()
	if err != nil {
		return adapters.Health{}, err
	}
	if who.Me != s.scope.Account {
		return adapters.Health{}, failure(adapters.ScopeFailure, "check account", fmt.Errorf("%w: the folder is read as %s now", adapters.ErrUnauthorized, who.Me))
	}
	name, err := s.locate()
	if err != nil {
		return adapters.Health{}, err
	}
	s.place.Store(&name)
	h := adapters.Health{Clock: clock, Account: who.People[who.Me].Login, Place: name, CanRoles: true}
	if name != s.configured {
		h.Warnings = append(h.Warnings, fmt.Sprintf("folder %s is called %s now: change the configuration", s.configured, name))
	}
	return h, nil
}

// locate finds the container's folder by its id. A folder of the configured name that is another container by now makes it
// unclear which one is meant.
func (s *session) locate() (string, error) {
	box, err := s.container(s.configured)
	switch {
	case err == nil && box.ID == s.scope.Container:
		return s.configured, nil
	case err == nil:
		return "", failure(adapters.ScopeFailure, "check container", fmt.Errorf("%w: %s is container %s, not %s", adapters.ErrMoved, s.configured, box.ID, s.scope.Container))
	case !errors.Is(err, adapters.ErrNotFound):
		return "", err
	}
	found := ""
	walk := filepath.WalkDir(s.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "container.yaml" {
			return err
		}
		name, err := filepath.Rel(s.root, filepath.Dir(p))
		if err != nil {
			return err
		}
		if box, err := s.container(filepath.ToSlash(name)); err == nil && box.ID == s.scope.Container {
			found = filepath.ToSlash(name)
		}
		return nil
	})
	if walk != nil {
		return "", scoped("look for the container", walk)
	}
	if found == "" {
		return "", err
	}
	return found, nil
}

// plan is always the same search.
type plan struct{ weakened []query.Weakening }

func (plan) Walks() []adapters.Walk {
	return []adapters.Walk{
		{Name: walkChanged, Kind: query.Changes, Lag: 2 * time.Second, Grain: time.Second, WholePages: true},
		{Name: walkAll, Kind: query.Sweep, Lag: 2 * time.Second, Grain: time.Second, WholePages: true},
	}
}

func (plan) Render(w adapters.Walk) string {
	if w.Name == walkChanged {
		return "read *.yaml modified at or after {since}"
	}
	return "read *.yaml"
}

func (p plan) Weakened() []query.Weakening { return p.weakened }

func (plan) Cost() []string {
	return []string{"idle cycle: 2", "changed entity: 1", "actor: 1 for all", "sweep: 1 for 50 entities"}
}

// Compile leaves every test to the local check.
func (s *session) Compile(_ context.Context, ss []query.Source) (adapters.Plan, []adapters.Refusal) {
	_, weakened := query.Upper(ss, Adapter{}.Claims(s.scope.Kind), query.Sweep, s.c.Now(), 0, nil)
	for i := range weakened {
		if weakened[i].Leaf.Field != 0 {
			weakened[i].Why = "a file has to be read to know what is in it"
		}
	}
	return plan{weakened}, nil
}

// cursor is the place behind the last row: numbers never change.
type cursor struct {
	Walk  string `json:"walk"`
	Since int64  `json:"since"`
	Last  int64  `json:"last"`
}

const pageSize = 50

// Pages lists a walk by number.
func (s *session) Pages(ctx context.Context, _ adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	return func(yield func(adapters.Page, error) bool) {
		c := cursor{Walk: w.Name}
		if w.Name == walkChanged && !at.Since.IsZero() {
			c.Since = at.Since.Unix() // whole seconds: whoever copied the files may know no others
		}
		if len(at.Cursor) > 0 {
			var old cursor
			if json.Unmarshal(at.Cursor, &old) != nil || old.Walk != c.Walk || old.Since != c.Since {
				yield(adapters.Page{}, failure(adapters.MomentFailure, "list "+w.Name, adapters.ErrCursor))
				return
			}
			c = old
		}
		for {
			p, more, err := s.page(ctx, w, &c)
			if err == nil && more {
				p.Next, err = json.Marshal(c)
			}
			if err != nil {
				yield(adapters.Page{}, err)
				return
			}
			if !yield(p, nil) || !more {
				return
			}
		}
	}
}

// page reads the rows behind the cursor. The folder is listed anew each time: what vanished is not in it, what came has a
// place of its own.
func (s *session) page(ctx context.Context, w adapters.Walk, c *cursor) (p adapters.Page, more bool, err error) {
	if err := s.c.Budget.Wait(ctx, adapters.Search, 1); err != nil {
		return p, false, err
	}
	p.Clock = s.c.Now().UTC()
	who, err := s.people()
	if err != nil {
		return p, false, err
	}
	ns, when, err := s.numbers()
	if err != nil {
		return p, false, scoped("list "+w.Name, err)
	}
	ns = slices.DeleteFunc(ns, func(n int64) bool { return n <= c.Last || when[n].Unix() < c.Since })
	for _, n := range ns[:min(len(ns), pageSize)] {
		c.Last = n
		r, err := s.row(n)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			p.Short = failure(adapters.ItemFailure, "list "+w.Name, err)
			continue
		}
		it := s.item(r, who, p.Clock)
		it.Token = r.token
		p.Items = append(p.Items, it)
	}
	return p, len(ns) > pageSize, nil
}

// Read reads files. One that is not there, in a container that is, is gone.
func (s *session) Read(ctx context.Context, refs []scope.Ref, _ query.FieldSet) ([]adapters.Item, error) {
	items := make([]adapters.Item, len(refs))
	for i, ref := range refs {
		if err := s.c.Budget.Wait(ctx, adapters.Read, 1); err != nil {
			var e *adapters.Error
			if ctx.Err() != nil || !errors.As(err, &e) {
				return nil, failure(adapters.MomentFailure, "read", err)
			}
			items[i] = adapters.Item{Ref: ref, State: adapters.Unreadable, Err: e}
			continue
		}
		items[i] = s.read(ref)
	}
	return items, nil
}

func (s *session) read(ref scope.Ref) adapters.Item {
	op := "read " + ref.Key
	unreadable := func(err error) adapters.Item {
		return adapters.Item{Ref: ref, State: adapters.Unreadable, Err: failure(adapters.ItemFailure, op, err)}
	}
	n, err := strconv.ParseInt(ref.Alias, 10, 64)
	if err != nil {
		return unreadable(err)
	}
	clock := s.c.Now().UTC()
	who, err := s.people()
	if err != nil {
		return unreadable(err)
	}
	r, err := s.row(n)
	gone := errors.Is(err, fs.ErrNotExist) || err == nil && r.ID != ref.ID
	if gone {
		if box, cerr := s.container(*s.place.Load()); cerr != nil || box.ID != s.scope.Container {
			return unreadable(fmt.Errorf("the container cannot be read, so nothing is proven: %w", errors.Join(err, cerr)))
		}
		return adapters.Item{Ref: ref, State: adapters.Gone, Err: failure(adapters.ItemFailure, op, adapters.ErrNotFound)}
	}
	if err != nil {
		return unreadable(err)
	}
	return s.item(r, who, clock)
}

// Roles are those of container.yaml. Who is not in it has none.
func (s *session) Roles(ctx context.Context, as []query.User) ([]adapters.Finding, error) {
	if err := s.c.Budget.Wait(ctx, adapters.Roles, 1); err != nil {
		return nil, err
	}
	name := *s.place.Load()
	box, err := s.container(name)
	if err != nil {
		return nil, err
	}
	out := make([]adapters.Finding, len(as))
	for i, a := range as {
		f := adapters.Finding{Actor: a, Endpoint: name + "/container.yaml", At: s.c.Now().UTC(), Role: adapters.None, Verified: true}
		if word, ok := box.Roles[a.ID]; ok {
			if f.Role, err = adapters.ParseRole(word); err != nil {
				f.Role, f.Verified, f.Why = adapters.NoRole, false, err.Error()
			}
		}
		out[i] = f
	}
	return out, nil
}

// Find resolves acme/widgets#12, #12 and a canonical identity.
func (s *session) Find(ctx context.Context, ref string) (scope.Ref, error) {
	op := fmt.Sprintf("find %q", ref)
	if err := s.c.Budget.Wait(ctx, adapters.Read, 1); err != nil {
		return scope.Ref{}, err
	}
	if id, err := scope.ParseIdentity(ref); err == nil {
		return s.byIdentity(op, id)
	}
	name, number, ok := strings.Cut(ref, "#")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || name != "" && name != *s.place.Load() {
		return scope.Ref{}, failure(adapters.ItemFailure, op, fmt.Errorf("%w: want %s#number", adapters.ErrNotFound, *s.place.Load()))
	}
	r, err := s.row(n)
	if errors.Is(err, fs.ErrNotExist) {
		err = adapters.ErrNotFound
	}
	if err != nil {
		return scope.Ref{}, failure(adapters.ItemFailure, op, err)
	}
	return s.ref(r), nil
}

func (s *session) byIdentity(op string, id scope.Identity) (scope.Ref, error) {
	ns, _, err := s.numbers()
	if err != nil {
		return scope.Ref{}, scoped(op, err)
	}
	for _, n := range ns {
		if r, err := s.row(n); err == nil && s.ref(r).Identity == id {
			return s.ref(r), nil
		}
	}
	return scope.Ref{}, failure(adapters.ItemFailure, op, adapters.ErrNotFound)
}
