package forgesim

import "slices"

// SetType sets the issue type of a work item by name; "" takes it off.
func (w *World) SetType(ref, as, name string) error {
	return w.on(ref, as, func(e *edit, _ int64) error {
		if e.t.kind != WorkItem {
			return usage("%s is no work item", w.ref(e.t))
		}
		if e.issueType != name {
			e.issueType = name
			e.touch(TypeSet)
		}
		return nil
	})
}

// Link says that a change proposal would close a work item, or no longer does.
func (w *World) Link(ref, as, proposal string, on bool) error {
	w.mu.Lock()
	p, err := w.thread(proposal)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if p.kind != ChangeProposal {
		return usage("%s is no change proposal", proposal)
	}
	return w.on(ref, as, func(e *edit, _ int64) error {
		if e.t.kind != WorkItem {
			return usage("%s is no work item", w.ref(e.t))
		}
		if slices.Contains(e.links, p.id) == on {
			return nil
		}
		if on {
			e.links = append(e.links, p.id)
		} else {
			e.links = slices.DeleteFunc(e.links, func(id int64) bool { return id == p.id })
		}
		e.touch(LinkChanged)
		return nil
	})
}

// Move transfers a work item to another repository and returns its new reference. It gets a new number and id there and
// leaves a forwarding address; labels go along where the other repository has one of that name, without their history.
// name is how scripts may call it from then on; optional.
func (w *World) Move(ref, as, to, name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.thread(ref)
	if err != nil {
		return "", err
	}
	u, err := w.user(as)
	if err != nil {
		return "", err
	}
	r, err := w.repository(to)
	if err != nil {
		return "", err
	}
	if _, taken := w.aliases[name]; taken && name != "" {
		return "", refused("the name %q is taken", name)
	}
	if t.kind != WorkItem || t.repo == r || t.now().gone || t.now().movedTo != 0 {
		return "", refused("%s cannot be transferred to %s", w.ref(t), to)
	}
	now, elapsed := w.clock.tick()
	n := &thread{repo: r, kind: t.kind, author: t.author, created: t.created, born: elapsed, number: r.next[WorkItem] + 1, name: name}
	e := &edit{record: t.now().clone(), w: w, t: n, time: now}
	e.at, e.stone, e.links, e.events = elapsed, 0, nil, nil
	e.labels = slices.DeleteFunc(e.labels, func(a applied) bool { return !w.carry(&a, r) })
	for i := range e.labels {
		w.carry(&e.labels[i], r)
	}
	e.touch(Transferred)
	w.admit(n, e.record, WorkItem)
	for _, c := range e.comments {
		w.comments[c.id] = n
	}
	return w.ref(n), w.change(t, func(e *edit) error {
		e.movedTo = n.id
		if !w.profile.MovedStay {
			e.gone = true
			return nil
		}
		if !e.closed {
			e.closed, e.closedAt, e.closedBy = true, e.time, u.ID
			e.log(event{Event: Event{Type: EvClosed}, actor: u.ID})
		}
		e.touch(Closed)
		return nil
	})
}

// carry turns a label into the other repository's of the same name.
func (w *World) carry(a *applied, r *repo) bool {
	l, err := w.label(r, w.labels[a.label].Name)
	if err == nil {
		a.label = l.ID
	}
	return err == nil
}

// Fate is what became of a number.
type Fate struct {
	Used    bool // some entity has or had it
	Deleted bool
	To      *Link // where it was transferred to
}

// Fate tells what became of a number of a repository.
func (w *World) Fate(repoID, number int64) Fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.repos[repoID]
	if r == nil || r.deleted || r.byNumber[number] == nil {
		return Fate{}
	}
	f := Fate{Used: true, Deleted: r.byNumber[number].now().gone}
	for t := r.byNumber[number]; t != nil && t.now().movedTo != 0; {
		t = w.threads[t.now().movedTo]
		f.To = &Link{t.repo.ID, t.number}
	}
	return f
}
