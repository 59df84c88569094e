package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Group is the runs of one harness, target repository and subject: one at a time. It lives in a directory of the
// machine, so that runs of different processes find each other. What is kept there survives their crashes.
type Group struct {
	dir, base string
	name      string
	held      *os.File
	last      *served // what the run before served; kept for the next one
}

// queue is what a group has to do. Active is being served by whoever holds the lock; what a crashed run was serving is
// still there when the next one comes.
type queue struct {
	Group   string      `json:"group"`
	PID     int         `json:"pid,omitempty"`
	Since   time.Time   `json:"since,omitzero"`
	Active  []Candidate `json:"active,omitempty"`
	Pending []Candidate `json:"pending,omitempty"`
}

// maxPending bounds how many candidates wait; all are answered by one cycle.
const maxPending = 1000

// NewGroup names a group in a runtime directory, which is made for its owner alone.
func NewGroup(dir, name string) (*Group, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("runtime directory: %w", err)
	}
	sum := sha256.Sum256([]byte(name))
	return &Group{dir: dir, base: filepath.Join(dir, hex.EncodeToString(sum[:12])), name: name}, nil
}

// Join makes this process the one that serves the group, and returns what it has to serve: the candidate, and what a
// crashed run has left. When another process serves it, the candidate is left for its next cycle and joined is false.
//
// quiet reports that nobody has served the group since asked: what was read then is still a look before this cycle.
func (g *Group) Join(c Candidate, asked time.Time) (serve []Candidate, joined, quiet bool, err error) {
	err = g.locked(func() error {
		q, err := g.load()
		if err != nil {
			return err
		}
		f, err := os.OpenFile(g.base+".lock", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		ok, err := tryLock(f)
		if err != nil || !ok {
			f.Close()
			if err != nil {
				return err
			}
			q.add(c)
			return g.store(q)
		}
		g.held, joined = f, true
		ended, err := os.Stat(g.base + ".ended")
		quiet = errors.Is(err, fs.ErrNotExist) || err == nil && ended.ModTime().Before(asked)
		if b, err := os.ReadFile(g.base + ".ended"); err == nil {
			_ = json.Unmarshal(b, &g.last) // without it a state may be worked from twice
		}
		left := slices.Concat(q.Active, q.Pending)
		*q = queue{Group: g.name, PID: os.Getpid(), Since: asked.UTC(), Pending: left}
		q.add(c)
		q.Active, q.Pending = q.Pending, nil
		serve = q.Active
		if err := g.store(q); err != nil {
			g.held, joined = nil, false
			f.Close()
			return err
		}
		return nil
	})
	return serve, joined, quiet, err
}

// add coalesces: one decision, or one event, waits once.
func (q *queue) add(c Candidate) {
	same := func(o Candidate) bool {
		return o.Key == c.Key && o.Decision == c.Decision && string(o.Event) == string(c.Event) && o.Ref == c.Ref
	}
	if (c.Decision != "" || len(c.Event) > 0) && slices.ContainsFunc(q.Active, same) {
		return // the cycle that runs answers it
	}
	if i := slices.IndexFunc(q.Pending, same); i >= 0 {
		q.Pending[i] = c
		return
	}
	if len(q.Pending) < maxPending {
		q.Pending = append(q.Pending, c)
	}
}

// Done says that what was served is answered, and returns what has come meanwhile: one cycle for all of it.
func (g *Group) Done(now time.Time) (serve []Candidate, err error) {
	err = g.locked(func() error {
		q, err := g.load()
		if err != nil {
			return err
		}
		q.Active, q.Pending = q.Pending, nil
		q.PID, q.Since = os.Getpid(), now.UTC()
		serve = q.Active
		return g.store(q)
	})
	return serve, err
}

// Leave gives the group up when nothing waits; else it returns false and the group is still this process's.
func (g *Group) Leave() (left bool, err error) {
	err = g.locked(func() error {
		q, err := g.load()
		if err != nil {
			return err
		}
		if len(q.Pending) > 0 {
			return nil
		}
		left = true
		if len(q.Active) == 0 {
			err = os.Remove(g.base + ".json")
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		return errors.Join(err, g.release())
	})
	return left, err
}

// Drop takes everything that waits out, for a process that must end, and gives the group up.
func (g *Group) Drop() (waiting []Candidate, err error) {
	err = g.locked(func() error {
		q, err := g.load()
		if err != nil {
			return err
		}
		waiting = q.Pending
		err = os.Remove(g.base + ".json")
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, g.release())
	})
	return waiting, err
}

func (g *Group) release() error {
	if g.held == nil {
		return nil
	}
	f := g.held
	g.held = nil
	return errors.Join(writeFile(g.base+".ended", g.last), f.Close())
}

// Alive reports whether some process serves the group now, and which.
func (g *Group) Alive() (pid int, alive bool, err error) {
	err = g.locked(func() error {
		f, err := os.OpenFile(g.base+".lock", os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		free, err := tryLock(f)
		if err != nil || free {
			return err
		}
		alive = true
		q, err := g.load()
		if err == nil {
			pid = q.PID
		}
		return err
	})
	return pid, alive, err
}

// locked runs f while no other process looks at or changes the group's files.
func (g *Group) locked(f func() error) error {
	m, err := os.OpenFile(g.base+".mutex", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("group of runs: %w", err)
	}
	defer m.Close()
	if err := lock(m); err != nil {
		return fmt.Errorf("group of runs: %w", err)
	}
	if err := f(); err != nil {
		return fmt.Errorf("group of runs: %w", err)
	}
	return nil
}

func (g *Group) load() (*queue, error) {
	q := &queue{Group: g.name}
	b, err := os.ReadFile(g.base + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return q, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, q); err != nil {
		return nil, fmt.Errorf("%s.json: %w", filepath.Base(g.base), err)
	}
	if q.Group != g.name {
		return nil, fmt.Errorf("%s.json belongs to another group", filepath.Base(g.base))
	}
	return q, nil
}

func (g *Group) store(q *queue) error { return writeFile(g.base+".json", q) }

// writeFile replaces a file as a whole: a crash leaves the old content or the new.
func writeFile(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
