package forgesim

import (
	"maps"
	"slices"
	"strings"
)

// AddRepo makes a repository "owner/name". A name that another repository gave up is free
// again, and its redirect ends.
func (w *World) AddRepo(full string, private bool) (Repo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addRepo(full, private)
}

func (w *World) addRepo(full string, private bool) (Repo, error) {
	owner, name, ok := strings.Cut(full, "/")
	if !ok || name == "" {
		return Repo{}, usage("repository %q: want owner/name", full)
	}
	if _, err := w.repository(full); err == nil {
		return Repo{}, refused("repository %q exists", full)
	}
	u, err := w.user(owner)
	if err != nil {
		return Repo{}, err
	}
	now, _ := w.clock.tick()
	r := &repo{
		Repo: Repo{ID: w.id("repo"), OwnerID: u.ID, Name: name, Private: private, DefaultBranch: "main",
			Created: now, Updated: now},
		roles: map[int64]Role{}, byNumber: map[int64]*thread{}, next: map[Kind]int64{}, statuses: map[string][]status{},
	}
	r.BaseSHA = commit("base", itoa(r.ID))
	r.commits, r.branches = map[string]bool{r.BaseSHA: true}, map[string]string{r.DefaultBranch: r.BaseSHA}
	r.heads = map[string][]*thread{}
	w.repos[r.ID] = r
	delete(w.moved, place(u.ID, name))
	w.home = r.ID
	return w.viewRepo(r), nil
}

func place(owner int64, name string) string { return itoa(owner) + "/" + fold(name) }

// RenameRepo renames within the owner; the old name redirects.
func (w *World) RenameRepo(full, to string) error { return w.moveRepo(full, "", to) }

// Transfer gives a repository to another owner; the old path redirects, the id stays, and
// roles given by name stay.
func (w *World) Transfer(full, owner string) error { return w.moveRepo(full, owner, "") }

func (w *World) moveRepo(full, owner, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return err
	}
	ownerID := r.OwnerID
	if owner != "" {
		u, err := w.user(owner)
		if err != nil {
			return err
		}
		ownerID = u.ID
	}
	if name == "" {
		name = r.Name
	}
	if _, err := w.repository(w.users[ownerID].Login + "/" + name); err == nil {
		return refused("repository %s/%s exists", w.users[ownerID].Login, name)
	}
	w.moved[place(r.OwnerID, r.Name)] = r.ID
	r.OwnerID, r.Name = ownerID, name
	delete(w.moved, place(ownerID, name))
	r.Updated, _ = w.clock.tick()
	return nil
}

// DeleteRepo removes a repository and every redirect to it.
func (w *World) DeleteRepo(full string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deleteRepo(full)
}

func (w *World) deleteRepo(full string) error {
	r, err := w.repository(full)
	if err != nil {
		return err
	}
	r.deleted = true
	for p, id := range w.moved {
		if id == r.ID {
			delete(w.moved, p)
		}
	}
	return nil
}

// RecreateRepo puts a new, empty repository under the given name: one with another id. What
// stands there now is deleted; what stood there and was renamed lives on without its redirect.
func (w *World) RecreateRepo(full string) (Repo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	private := false
	if r, err := w.repository(full); err == nil {
		private = r.Private
		if err := w.deleteRepo(full); err != nil {
			return Repo{}, err
		}
	}
	return w.addRepo(full, private)
}

// SetPrivate shows or hides a repository.
func (w *World) SetPrivate(full string, private bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return err
	}
	r.Private = private
	return nil
}

// Repo finds a repository by its current name. The second result is the repository that had
// this name before, when none has it now.
func (w *World) Repo(full string) (r Repo, was *Repo, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, err := w.repository(full); err == nil {
		return w.viewRepo(r), nil, true
	}
	owner, name, _ := strings.Cut(full, "/")
	if u, err := w.user(owner); err == nil {
		if old := w.repos[w.moved[place(u.ID, name)]]; old != nil && !old.deleted {
			v := w.viewRepo(old)
			return Repo{}, &v, false
		}
	}
	return Repo{}, nil, false
}

// RepoByID finds a repository that exists.
func (w *World) RepoByID(id int64) (Repo, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.repos[id]
	if r == nil || r.deleted {
		return Repo{}, false
	}
	return w.viewRepo(r), true
}

// Repos are all repositories that exist, by id.
func (w *World) Repos() []Repo {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Repo
	for _, id := range slices.Sorted(maps.Keys(w.repos)) {
		if r := w.repos[id]; !r.deleted {
			out = append(out, w.viewRepo(r))
		}
	}
	return out
}

func (w *World) viewRepo(r *repo) Repo {
	v := r.Repo
	v.Owner = w.users[r.OwnerID].Login
	return v
}
