package forgesim

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// AddLabel adds a label to a repository's catalogue, or to its owner's when org is set.
// Names need not be unique.
func (w *World) AddLabel(full, name, color string, org bool) (Label, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return Label{}, err
	}
	if name == "" {
		return Label{}, usage("a label needs a name")
	}
	l := &Label{ID: w.id("label"), RepoID: r.ID, Name: name, Color: cmp.Or(color, "e11d21")}
	if org {
		l.RepoID, l.OrgID = 0, r.OwnerID
	}
	w.labels[l.ID] = l
	return *l, nil
}

// RenameLabel changes the name everywhere; the entities change without being touched.
func (w *World) RenameLabel(full, name, to string) error {
	return w.editLabel(full, name, LabelRenamed, func(l *Label) { l.Name = to }, nil)
}

// DeleteLabel takes a label out of the catalogue and off every entity.
func (w *World) DeleteLabel(full, name string) error {
	return w.editLabel(full, name, LabelDeleted, func(l *Label) { l.Deleted = true }, func(e *edit, id int64) {
		e.labels = slices.DeleteFunc(e.labels, func(a applied) bool { return a.label == id })
	})
}

func (w *World) editLabel(full, name string, c Change, f func(*Label), each func(*edit, int64)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return err
	}
	l, err := w.label(r, name)
	if err != nil {
		return err
	}
	f(l)
	return w.changeAll(func(t *thread) bool {
		return slices.ContainsFunc(t.now().labels, func(a applied) bool { return a.label == l.ID })
	}, func(e *edit) error {
		if each != nil {
			each(e, l.ID)
		}
		e.touch(c)
		return nil
	})
}

// changeAll changes every living entity that a test selects.
func (w *World) changeAll(which func(*thread) bool, f func(*edit) error) error {
	for _, id := range slices.Sorted(maps.Keys(w.threads)) {
		t := w.threads[id]
		if t.now().gone || !which(t) {
			continue
		}
		if err := w.change(t, f); err != nil {
			return err
		}
	}
	return nil
}

// Labels is a repository's own catalogue, and its owner's when org is set; by name, then id.
func (w *World) Labels(repoID int64, org bool) []Label {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.repos[repoID]
	if r == nil {
		return nil
	}
	var out []Label
	for _, l := range w.catalogue(r) {
		if (l.OrgID != 0) == org {
			out = append(out, *l)
		}
	}
	slices.SortStableFunc(out, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// AddMilestone adds a milestone; due may be zero.
func (w *World) AddMilestone(full, title string, due time.Time) (Milestone, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return Milestone{}, err
	}
	now, _ := w.clock.tick()
	m := &Milestone{ID: w.id("milestone"), RepoID: r.ID, Title: title, Due: due, Created: now, Updated: now}
	w.stones[m.ID] = m
	return *m, nil
}

// RenameMilestone changes the title; the entities change without being touched.
func (w *World) RenameMilestone(full, title, to string) error {
	return w.editStone(full, title, MilestoneRenamed, func(m *Milestone, _ time.Time) { m.Title = to }, nil)
}

// CloseMilestone closes it; its entities keep it.
func (w *World) CloseMilestone(full, title string) error {
	return w.editStone(full, title, MilestoneClosed, func(m *Milestone, now time.Time) { m.Closed, m.ClosedAt = true, now }, nil)
}

// DeleteMilestone removes it, also from its entities.
func (w *World) DeleteMilestone(full, title string) error {
	return w.editStone(full, title, MilestoneDeleted, func(m *Milestone, _ time.Time) { m.Deleted = true }, func(e *edit) { e.stone = 0 })
}

func (w *World) editStone(full, title string, c Change, f func(*Milestone, time.Time), each func(*edit)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return err
	}
	m, err := w.stone(r, title)
	if err != nil {
		return err
	}
	m.Updated, _ = w.clock.tick()
	f(m, m.Updated)
	return w.changeAll(func(t *thread) bool { return t.now().stone == m.ID }, func(e *edit) error {
		if each != nil {
			each(e)
		}
		e.touch(c)
		return nil
	})
}

// Milestones are a repository's milestones, by id.
func (w *World) Milestones(repoID int64) []Milestone {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Milestone
	for _, id := range slices.Sorted(maps.Keys(w.stones)) {
		if m := w.stones[id]; m.RepoID == repoID && !m.Deleted {
			out = append(out, *m)
		}
	}
	return out
}

// ReportStatus reports a check on a commit of a repository.
func (w *World) ReportStatus(full, sha, login string, s Status) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(full)
	if err != nil {
		return err
	}
	u, err := w.user(login)
	if err != nil {
		return err
	}
	s.ID = int64(len(r.statuses[sha]) + 1)
	s.At, _ = w.clock.tick()
	r.statuses[sha] = append(r.statuses[sha], status{s, u.ID})
	for _, t := range r.heads[sha] {
		if t.now().gone || t.now().headSHA != sha {
			continue
		}
		if err := w.change(t, func(e *edit) error { e.touch(StatusReported); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// Commit resolves the id of a commit or the name of a branch to a commit of the repository.
func (w *World) Commit(repoID int64, ref string) (sha string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.repos[repoID]
	switch {
	case r == nil:
		return "", false
	case r.commits[ref]:
		return ref, true
	}
	sha, ok = r.branches[ref]
	return sha, ok
}

// Checks are the newest status of each context of a commit, by id.
func (w *World) Checks(repoID int64, sha string) []Status { return newest(w.Statuses(repoID, sha)) }

// Statuses are all checks of a commit, newest first.
func (w *World) Statuses(repoID int64, sha string) []Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.repos[repoID]
	if r == nil {
		return nil
	}
	var out []Status
	for _, s := range slices.Backward(r.statuses[sha]) {
		s.Creator = w.actor(r, s.creator)
		out = append(out, s.Status)
	}
	return out
}

// newest keeps the newest status of each context, of a list that has the newest first, and
// turns it round.
func newest(all []Status) []Status {
	var out []Status
	for _, s := range all {
		if !slices.ContainsFunc(out, func(o Status) bool { return o.Context == s.Context }) {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}
