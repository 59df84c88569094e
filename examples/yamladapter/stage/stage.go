package stage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/examples/yamladapter"
	"github.com/fullsend-ai/discovery/internal/forgesim"
)

const (
	org   = "acme"
	home  = org + "/widgets"
	other = org + "/gadgets"
)

// Target is the YAML adapter over folders in temporary places.
func Target() conformance.Target {
	return conformance.Target{
		Adapter: yamladapter.Adapter{},
		Open:    open,
		Without: map[string]string{
			"fault": "there is no network between the adapter and its files", "hide-repo": "file permissions are not the adapter's business",
			"token": "files have no credentials", "revoke-token": "files have no credentials", "credential": "files have no credentials",
			"page-cap": "nobody cuts a list of files", "transfer": "a folder has no owner",
		},
	}
}

func open(ctx context.Context, _ conformance.Wish) (*conformance.Place, error) {
	dir, err := os.MkdirTemp("", "yaml-issues-")
	if err != nil {
		return nil, err
	}
	s := &stage{World: forgesim.New(forgesim.Options{Profile: forgesim.Profile{Name: "yaml", SharedNumbers: true}}), dir: dir, written: map[string]string{}}
	names := map[string]string{"org": org, "home": home, "other": other}
	script := conformance.PlaceScript
	for n, v := range names {
		script = strings.ReplaceAll(script, "{"+n+"}", v)
	}
	err = s.World.Run(ctx, strings.NewReader(script))
	if err == nil {
		err = s.write()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &conformance.Place{
		Stage:  s,
		Config: adapters.Config{BaseURL: "file://" + filepath.ToSlash(dir), Container: home, Now: s.World.Now},
		Token:  func(string) (string, error) { return "", nil },
		Names:  names,
		ID:     s.id,
		After:  true,
		Close:  func() { os.RemoveAll(dir) },
	}, nil
}

// stage is a simulated world that is written down after every change. What is in no file is not there for the adapter.
type stage struct {
	*forgesim.World
	dir     string
	written map[string]string // path -> what it holds
}

// Do implements conformance.Stage.
func (s *stage) Do(ctx context.Context, verb string, args map[string]string) error {
	if err := s.World.Do(ctx, verb, args); err != nil {
		return err
	}
	switch verb {
	case "advance", "set-clock":
		return nil
	case "create", "edit", "label", "unlabel", "assign", "unassign", "milestone", "close", "reopen", "comment":
		if name := cmp.Or(args["on"], args["name"]); name != "" {
			return s.one(name)
		}
	}
	return s.write()
}

// one writes a single entity, which is all that its verb has changed.
func (s *stage) one(name string) error {
	e, err := s.World.Entity(name)
	if err != nil || e.Kind != forgesim.WorkItem {
		return err
	}
	path := filepath.Join(e.Repo.FullName(), id(e.Number)+".yaml")
	if err := put(s.written, path, issue(&e)); err != nil {
		return err
	}
	return s.file(path, s.written[path], e.LastChange)
}

// Key implements conformance.Stage.
func (s *stage) Key(name string) (string, error) {
	e, err := s.World.Entity(name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s#%d", e.Repo.FullName(), e.Number), nil
}

func (s *stage) id(_ context.Context, login string) (string, error) {
	u, _, ok := s.World.User(login)
	if !ok {
		return "", fmt.Errorf("no account is called %q", login)
	}
	return strconv.FormatInt(u.ID, 10), nil
}

// write brings the files up to date: those that changed are written, those that are gone are removed.
func (s *stage) write() error {
	want := map[string]string{}
	when := map[string]time.Time{}
	us, err := s.people(want)
	if err != nil {
		return err
	}
	for _, r := range s.World.Repos() {
		if err := s.container(want, when, r, us); err != nil {
			return err
		}
	}
	for path, text := range want {
		if s.written[path] == text {
			continue
		}
		if err := s.file(path, text, when[path]); err != nil {
			return err
		}
	}
	for path := range s.written {
		if _, ok := want[path]; !ok {
			if err := os.Remove(filepath.Join(s.dir, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			_ = os.Remove(filepath.Dir(filepath.Join(s.dir, path))) // when it was the last
		}
	}
	s.written = want
	return nil
}

// file replaces a file as a whole, so that no reader sees half of it.
func (s *stage) file(path, text string, at time.Time) error {
	full := filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	tmp := full + ".new"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return err
	}
	if !at.IsZero() {
		if err := os.Chtimes(tmp, at, at); err != nil {
			return err
		}
	}
	return os.Rename(tmp, full)
}

func put(into map[string]string, path string, v any) error {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	if err := e.Encode(v); err != nil {
		return err
	}
	into[path] = b.String()
	return nil
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

func (s *stage) people(into map[string]string) ([]forgesim.User, error) {
	us := s.World.Users()
	p := yamladapter.People{People: map[string]yamladapter.Person{}}
	for _, u := range us {
		if u.Org {
			continue
		}
		p.People[id(u.ID)] = yamladapter.Person{Login: u.Login, Bot: u.Bot, Deleted: u.Deleted}
		if u.Login == "olga" {
			p.Me = id(u.ID)
		}
	}
	return us, put(into, "people.yaml", p)
}

func (s *stage) container(into map[string]string, when map[string]time.Time, r forgesim.Repo, us []forgesim.User) error {
	c := yamladapter.Container{ID: id(r.ID), Roles: map[string]string{}}
	for _, u := range us {
		if role := s.World.Role(r.ID, u.ID); role > forgesim.Read {
			c.Roles[id(u.ID)] = min(role, forgesim.Admin).String()
		}
	}
	if err := put(into, filepath.Join(r.FullName(), "container.yaml"), c); err != nil {
		return err
	}
	es, err := s.World.Entities(r.FullName())
	if err != nil {
		return err
	}
	for i := range es {
		if es[i].Kind != forgesim.WorkItem {
			continue
		}
		path := filepath.Join(r.FullName(), id(es[i].Number)+".yaml")
		if err := put(into, path, issue(&es[i])); err != nil {
			return err
		}
		when[path] = es[i].LastChange
	}
	return nil
}

func issue(e *forgesim.Entity) yamladapter.Issue {
	i := yamladapter.Issue{
		ID: id(e.ID), Author: id(e.Author.ID), Created: e.Created, Locked: e.Locked,
		Title: yamladapter.Writing{Text: e.Title, By: id(e.TitleBy.ID), At: e.TitleAt},
		Body:  yamladapter.Writing{Text: e.Body, By: id(e.BodyBy.ID), At: e.BodyAt},
	}
	if e.Closed {
		i.Closed = &e.ClosedAt
	}
	if !e.Due.IsZero() {
		i.Due = e.Due.UTC().Format(time.DateOnly)
	}
	if e.Milestone != nil {
		i.Milestone = e.Milestone.Title
	}
	for _, a := range e.Assignees {
		i.Assignees = append(i.Assignees, id(a.ID))
	}
	for _, l := range e.Labels {
		i.Labels = append(i.Labels, yamladapter.Label{Name: l.Name, By: id(l.By.ID), At: l.At, Nth: applied(e, l.ID)})
	}
	for _, c := range e.Comments {
		i.Comments = append(i.Comments, yamladapter.Comment{ID: id(c.ID), Writing: yamladapter.Writing{Text: c.Body, By: id(c.Editor.ID), At: c.Edited}})
	}
	return i
}

// applied counts how often a label was applied.
func applied(e *forgesim.Entity, label int64) int64 {
	n := 0
	for _, ev := range e.Events {
		if ev.Type == forgesim.EvLabeled && ev.Label != nil && ev.Label.ID == label {
			n++
		}
	}
	return int64(n)
}
