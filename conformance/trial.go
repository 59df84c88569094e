package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// trials are the words behind "try": what is asked of the session directly, since the cycle rarely does.
func trials() map[string]func(*player, []string) error {
	return map[string]func(*player, []string) error{
		"cursor":     (*player).tryCursor,
		"since":      (*player).trySince,
		"find":       (*player).tryFind,
		"read":       (*player).tryRead,
		"canceled":   (*player).tryCanceled,
		"concurrent": (*player).tryConcurrent,
		"open":       (*player).tryOpen,
	}
}

func (p *player) doTry(ws []string) error {
	if p.tap.session == nil && ws[0] != "open" {
		return errors.New("try needs a cycle before it")
	}
	return trials()[ws[0]](p, ws[1:])
}

func (p *player) tapped() *tapped { return &tapped{Session: p.tap.session, t: p.tap} }

func (p *player) sources() []query.Source {
	var out []query.Source
	for _, h := range p.targets[0].Harnesses {
		for i, q := range h.Queries {
			out = append(out, query.Source{ID: fmt.Sprintf("%s/%d", h.Name, i), Query: q})
		}
	}
	return out
}

// listed is what a walk shows from a position on.
func listed(ctx context.Context, s adapters.Session, pl adapters.Plan, w adapters.Walk, at adapters.Position) ([]string, error) {
	var out []string
	for page, err := range s.Pages(ctx, pl, w, at) {
		if err != nil {
			return out, err
		}
		for i := range page.Items {
			out = append(out, page.Items[i].Ref.Identity.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// tryCursor is "cursor garbage|foreign|old": a cursor that is not this walk's and window's either fails with ErrCursor, or
// is ignored as a whole.
func (p *player) tryCursor(ws []string) error {
	pl, _ := p.tap.session.Compile(p.ctx, p.sources())
	p.tap.mu.Lock()
	cursors, since := p.tap.cursor, p.tap.since
	p.tap.mu.Unlock()
	for _, w := range pl.Walks() {
		at := adapters.Position{Since: since[w.Name].Since}
		all, err := listed(p.ctx, p.tap.session, pl, w, at)
		if err != nil {
			return fmt.Errorf("walk %s: %w", w.Name, err)
		}
		for name, c := range cursors {
			try := at
			try.Cursor = c
			switch {
			case ws[0] == "garbage" && name == w.Name:
				try.Cursor = append([]byte("\x00?"), c...)
			case ws[0] == "old" && name == w.Name && w.Kind == query.Changes:
				try.Since = at.Since.Add(-60 * 24 * time.Hour) // another window, which holds everything
				if all, err = listed(p.ctx, p.tap.session, pl, w, adapters.Position{Since: try.Since}); err != nil {
					return err
				}
			case ws[0] == "foreign" && name != w.Name:
			default:
				continue
			}
			got, err := listed(p.ctx, p.tap.session, pl, w, try)
			if errors.Is(err, adapters.ErrCursor) || err == nil && slices.Equal(got, all) {
				continue
			}
			return p.fail(fmt.Sprintf("walk %s refuses a %s cursor with ErrCursor, or reads everything again", w.Name, ws[0]),
				fmt.Sprintf("%d of %d entities, error %v", len(got), len(all), err))
		}
	}
	return nil
}

// tryFind is "find NAME" (by key, address and identity) or "find TEXT fails".
func (p *player) tryFind(ws []string) error {
	text, err := expand(ws[0], p.name)
	if err != nil {
		return err
	}
	if len(ws) == 2 && ws[1] == "fails" {
		if p.names[ws[0]] {
			if text, err = p.place.Stage.Key(ws[0]); err != nil {
				return err
			}
		}
		ref, err := p.tap.session.Find(p.ctx, text)
		var e *adapters.Error
		if !errors.Is(err, adapters.ErrNotFound) || !errors.As(err, &e) {
			return p.fail(fmt.Sprintf("Find(%q) fails with ErrNotFound", text), fmt.Sprintf("%s, error %v", ref.Key, err))
		}
		return nil
	}
	want, ok := p.refOf(ws[0])
	if !ok {
		return fmt.Errorf("nothing that is called %q was seen", ws[0])
	}
	for _, text := range []string{want.Key, want.URL, want.Identity.String()} {
		if text == "" {
			continue
		}
		got, err := p.tap.session.Find(p.ctx, text)
		if err != nil || got.Identity != want.Identity {
			return p.fail(fmt.Sprintf("Find(%q) is %s", text, want.Identity), fmt.Sprintf("%s, error %v", got.Identity, err))
		}
	}
	return nil
}

// tryRead is "read NAME… fields=F,F": the answers come in order, each whole or with a reason, also for a name that is
// asked twice; "!NAME" is proven gone. "read none" asks for nothing.
func (p *player) tryRead(ws []string) error {
	var fs query.FieldSet
	var refs []scope.Ref
	var gone []bool
	cat := p.tg.Adapter.Catalogue(p.c.Kind)
	for _, w := range ws {
		if list, ok := strings.CutPrefix(w, "fields="); ok {
			for _, n := range strings.Split(list, ",") {
				f, ok := cat.Field(n)
				if !ok {
					return skip{why: "there is no field " + n}
				}
				fs.Add(f.ID)
			}
			continue
		}
		if w == "none" {
			continue
		}
		name, isGone := strings.CutPrefix(w, "!")
		ref, ok := p.refOf(name)
		if !ok {
			return fmt.Errorf("nothing that is called %q was seen", w)
		}
		refs, gone = append(refs, ref), append(gone, isGone)
	}
	p.tap.begin(0, nil)
	p.wire.begin()
	items, err := p.tapped().Read(p.ctx, refs, fs)
	if err != nil {
		return p.fail("answers", err.Error())
	}
	for i := range items {
		if want := map[bool]adapters.ItemState{true: adapters.Gone}[gone[i]]; items[i].State != want {
			return p.fail(fmt.Sprintf("%s is %s", refs[i].Key, stateName(want)), stateName(items[i].State))
		}
	}
	if len(refs) == 0 && p.wire.sent > 0 {
		return p.fail("no request where nothing is asked", strconv.Itoa(p.wire.sent))
	}
	p.purse.mu.Lock()
	p.purse.asked = p.wire.sent // direct calls are not of the cycle
	p.purse.mu.Unlock()
	return p.invariants()
}

// tryCanceled holds that a canceled context ends every call with an *Error and sends nothing.
func (p *player) tryCanceled([]string) error {
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	s, refs := p.tap.session, p.refs()
	pl, _ := s.Compile(p.ctx, p.sources())
	p.wire.begin()
	calls := map[string]func() error{
		"Health": func() error { _, err := s.Health(ctx); return err },
		"Read":   func() error { _, err := s.Read(ctx, refs, query.FieldSet{}); return err },
	}
	for _, w := range pl.Walks() {
		calls["Pages of walk "+w.Name] = func() error {
			_, err := listed(ctx, s, pl, w, adapters.Position{})
			return err
		}
	}
	for _, name := range sortedKeys(calls) {
		err := calls[name]()
		var e *adapters.Error
		if !errors.As(err, &e) {
			return p.fail(name+" fails with an *adapters.Error once its context has ended", fmt.Sprintf("error %v", err))
		}
	}
	if p.wire.sent > 0 {
		return p.fail("no request once the context has ended", strconv.Itoa(p.wire.sent))
	}
	return nil
}

func (p *player) refs() []scope.Ref {
	p.tap.mu.Lock()
	defer p.tap.mu.Unlock()
	var out []scope.Ref
	for _, r := range p.tap.seen {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b scope.Ref) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// tryConcurrent is "concurrent N fields=F": N readers at once see what one sees alone.
func (p *player) tryConcurrent(ws []string) error {
	n, err := strconv.Atoi(ws[0])
	if err != nil {
		return err
	}
	var fs query.FieldSet
	for _, name := range strings.Split(strings.TrimPrefix(ws[1], "fields="), ",") {
		if f, ok := p.tg.Adapter.Catalogue(p.c.Kind).Field(name); ok {
			fs.Add(f.ID)
		}
	}
	refs := p.refs()
	read := func() (string, error) {
		items, err := p.tap.session.Read(p.ctx, refs, fs)
		var b strings.Builder
		for i := range items {
			fmt.Fprintf(&b, "%s %s\n", items[i].Ref.Key, stateName(items[i].State))
			if items[i].Facts != nil {
				b.WriteString(digest(items[i].Facts))
			}
		}
		return b.String(), err
	}
	want, err := read()
	if err != nil {
		return p.fail("an answer to one reader", err.Error())
	}
	got := make([]string, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { got[i], errs[i] = read() })
	}
	wg.Wait()
	for i := range n {
		if errs[i] != nil || got[i] != want {
			return p.fail("every reader sees what one reader sees: "+want, fmt.Sprintf("%s, error %v", got[i], errs[i]))
		}
	}
	return nil
}

// tryOpen is "open broken": no configuration makes Open panic or succeed by accident.
func (p *player) tryOpen([]string) error {
	good := p.targets[0].Config
	for name, edit := range map[string]func(*adapters.Config){
		"without a container":         func(c *adapters.Config) { c.Container = "" },
		"with a container of nothing": func(c *adapters.Config) { c.Container = "no/such/place?" },
		"with a kind of nothing":      func(c *adapters.Config) { c.Kind = "nothing" },
		"with a token that fails": func(c *adapters.Config) {
			c.Token = func(context.Context) (string, error) { return "", errors.New("the secret store is away") }
		},
	} {
		c := good
		edit(&c)
		_, err := p.tg.Adapter.Open(p.ctx, c)
		var e *adapters.Error
		if !errors.As(err, &e) {
			return p.fail("Open "+name+" fails with an *adapters.Error", fmt.Sprintf("error %v", err))
		}
	}
	return nil
}

// trySince is "since NAME…": a window that begins at the very instant of a change shows it.
func (p *player) trySince(ws []string) error {
	items, err := p.tap.session.Read(p.ctx, p.refs(), query.FieldSet{})
	if err != nil {
		return err
	}
	pl, _ := p.tap.session.Compile(p.ctx, p.sources())
	for i := range items {
		it := &items[i]
		if it.State != adapters.Present || !slices.Contains(ws, p.called(it.Ref.Key)) {
			continue
		}
		for _, w := range pl.Walks() {
			if w.Kind != query.Changes || w.Pointers {
				continue
			}
			got, err := listed(p.ctx, p.tap.session, pl, w, adapters.Position{Since: it.Updated})
			if err != nil {
				return err
			}
			if !slices.Contains(got, it.Ref.Identity.String()) {
				return p.fail(fmt.Sprintf("walk %s since %s, inclusive, shows %s, which changed at that instant", w.Name, it.Updated.UTC().Format(time.RFC3339), it.Ref.Key),
					fmt.Sprintf("%d other entities", len(got)))
			}
		}
	}
	return nil
}
