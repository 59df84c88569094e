package forgesim

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// NewEntity is what Create makes an entity from.
type NewEntity struct {
	Repo      string // "owner/name"; empty: the last repository created
	Kind      Kind   // empty: WorkItem
	Title     string
	Body      string
	Labels    []string
	Assignees []string
	Milestone string
	Due       time.Time
	Draft     bool
	Name      string // how scripts may call it; optional
	// Of change proposals; the defaults are the repository's default branch, a branch named after the
	// number, and the same repository.
	Base, Head, HeadRepo string
}

// Create opens an entity and returns its reference "owner/name#7".
func (w *World) Create(as string, n NewEntity) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.repository(n.Repo)
	if err != nil {
		return "", err
	}
	author, err := w.user(as)
	if err != nil {
		return "", err
	}
	if _, taken := w.aliases[n.Name]; taken && n.Name != "" {
		return "", refused("the name %q is taken", n.Name)
	}
	head := r
	if n.HeadRepo != "" {
		if head, err = w.repository(n.HeadRepo); err != nil {
			return "", err
		}
	}
	t := &thread{repo: r, kind: cmp.Or(n.Kind, WorkItem), author: author.ID}
	if t.kind != WorkItem && t.kind != ChangeProposal {
		return "", usage("kind %q", n.Kind)
	}
	numbers := t.kind
	if w.profile.SharedNumbers {
		numbers = WorkItem
	}
	now, elapsed := w.clock.tick()
	t.created, t.born, t.number, t.name = now, elapsed, r.next[numbers]+1, n.Name
	t.past = []*record{{at: elapsed, gone: true}}
	e := &edit{record: &record{at: elapsed}, w: w, t: t, time: now}
	e.body = revision{n.Body, author.ID, now}
	e.title = revision{n.Title, author.ID, now}
	e.due = n.Due
	if t.kind == ChangeProposal {
		e.base, e.head, e.headRepo = cmp.Or(n.Base, r.DefaultBranch), cmp.Or(n.Head, "change-"+itoa(t.number)), head.ID
		e.moveHead(commit(itoa(head.ID), e.head, itoa(t.number)))
		if n.Draft {
			e.setDraft(true, author.ID)
		}
		e.draft = n.Draft || w.profile.DraftByTitle && InProgress(n.Title)
	}
	e.touch(Created)
	for _, f := range []func() error{
		func() error { return e.addLabels(author.ID, n.Labels) },
		func() error { return e.addAssignees(author.ID, n.Assignees) },
		func() error { return e.setStone(author.ID, n.Milestone) },
	} {
		if err := f(); err != nil {
			return "", err
		}
	}
	if t.kind == ChangeProposal { // the first push is part of the history
		e.log(event{Event: Event{Type: EvPushed, New: e.headSHA}, actor: author.ID})
	}
	w.admit(t, e.record, numbers)
	return w.ref(t), nil
}

// admit adds a finished entity to the world.
func (w *World) admit(t *thread, s *record, numbers Kind) {
	t.id = w.id("entity")
	if t.kind == ChangeProposal {
		t.change = w.id("change")
	}
	t.past = []*record{s}
	r := t.repo
	r.next[numbers]++
	r.byNumber[t.number] = t
	at, _ := slices.BinarySearchFunc(r.threads, t, byCreation)
	r.threads = slices.Insert(r.threads, at, t)
	r.outline = slices.Insert(r.outline, at, outline{})
	for i := at; i < len(r.threads); i++ {
		r.threads[i].index = i
	}
	w.sketch(t)
	w.threads[t.id] = t
	w.count(t, s, +1)
	if t.name != "" {
		w.aliases[t.name] = t.id
	}
}

func byCreation(a, b *thread) int {
	return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id, b.id))
}

func (w *World) ref(t *thread) string { return w.fullName(t.repo) + "#" + itoa(t.number) }

// moveHead sets the head commit and makes it known, also under the name of its branch.
func (e *edit) moveHead(sha string) {
	e.headSHA = sha
	e.t.repo.commits[sha] = true
	e.t.repo.heads[sha] = append(e.t.repo.heads[sha], e.t)
	if head := e.w.repos[e.headRepo]; head != nil {
		head.commits[sha], head.branches[e.head] = true, sha
	}
}

// commit invents a commit id, the same for the same words.
func commit(words ...string) string {
	sum := sha1.Sum([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:])
}

// on changes the entity that ref names, on behalf of an account.
func (w *World) on(ref, as string, f func(e *edit, actor int64) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.thread(ref)
	if err != nil {
		return err
	}
	u, err := w.user(as)
	if err != nil {
		return err
	}
	return w.change(t, func(e *edit) error { return f(e, u.ID) })
}

// Delete removes an entity for good.
func (w *World) Delete(ref string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.thread(ref)
	if err != nil {
		return err
	}
	return w.change(t, func(e *edit) error {
		e.gone = true
		for _, c := range e.comments {
			delete(w.comments, c.id)
		}
		return nil
	})
}

// Edit changes what is not nil, in one step.
type Edit struct {
	Title, Body, Base *string
	Draft, Locked     *bool
	Due               *time.Time // zero: none
}

// Edit edits an entity. What stays as it was is no change and moves nothing.
func (w *World) Edit(ref, as string, c Edit) error {
	return w.on(ref, as, func(e *edit, actor int64) error {
		if c.Title != nil && *c.Title != e.title.text {
			e.retitle(*c.Title, actor)
		}
		if c.Body != nil && *c.Body != e.body.text {
			e.body = revision{*c.Body, actor, e.time}
			e.touch(BodyEdited)
		}
		if c.Draft != nil {
			e.setDraft(*c.Draft, actor)
		}
		if c.Base != nil && *c.Base != e.base {
			e.log(event{Event: Event{Type: EvRetargeted, Old: e.base, New: *c.Base}, actor: actor})
			e.base = *c.Base
			e.touch(Retargeted)
		}
		if c.Locked != nil && *c.Locked != e.locked {
			e.locked = *c.Locked
			e.log(event{Event: Event{Type: either(e.locked, EvLocked, EvUnlocked)}, actor: actor})
			e.touch(LockChanged)
		}
		if c.Due != nil && !c.Due.Equal(e.due) {
			e.log(event{Event: Event{Type: EvDue, Old: day(e.due), New: day(*c.Due)}, actor: actor})
			e.due = *c.Due
			e.touch(DueSet)
		}
		return nil
	})
}

func either[T any](cond bool, a, b T) T {
	if cond {
		return a
	}
	return b
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

func (e *edit) retitle(to string, actor int64) {
	e.log(event{Event: Event{Type: EvRetitled, Old: e.title.text, New: to}, actor: actor})
	e.title = revision{to, actor, e.time}
	e.touch(TitleEdited)
	if e.w.profile.DraftByTitle {
		e.draft = e.t.kind == ChangeProposal && InProgress(to)
	}
}

// setDraft marks or clears a draft, in the title where the provider keeps it there.
func (e *edit) setDraft(draft bool, actor int64) {
	if !e.w.profile.DraftByTitle {
		if e.draft != draft {
			e.draft = draft
			e.touch(TitleEdited)
		}
		return
	}
	bare, _ := cutInProgress(e.title.text)
	want := either(draft, "WIP: "+bare, bare)
	switch {
	case InProgress(e.title.text) == draft:
		e.draft = draft
	case len(e.touches) == 0: // being created
		e.title.text, e.draft = want, draft
	default:
		e.retitle(want, actor)
	}
}

// InProgress reports whether a title has one of Gitea's default work-in-progress prefixes
// (go-gitea/gitea, custom/conf/app.example.ini, WORK_IN_PROGRESS_PREFIXES).
func InProgress(title string) bool {
	_, ok := cutInProgress(title)
	return ok
}

func cutInProgress(title string) (string, bool) {
	for _, prefix := range []string{"WIP:", "[WIP]"} {
		if len(title) >= len(prefix) && strings.EqualFold(title[:len(prefix)], prefix) {
			return strings.TrimSpace(title[len(prefix):]), true
		}
	}
	return title, false
}

// Label puts a label on an entity. One that is there already is no change.
func (w *World) Label(ref, as, label string) error {
	return w.on(ref, as, func(e *edit, actor int64) error { return e.addLabels(actor, []string{label}) })
}

func (e *edit) addLabels(actor int64, names []string) error {
	for _, name := range names {
		l, err := e.w.label(e.t.repo, name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(e.labels, func(a applied) bool { return a.label == l.ID }) {
			continue
		}
		e.labels = append(e.labels, applied{l.ID, actor, e.time})
		e.log(event{Event: Event{Type: EvLabeled}, actor: actor, label: l.ID})
		e.touch(Labeled)
	}
	return nil
}

// Unlabel takes a label off. One that is not there is no change.
func (w *World) Unlabel(ref, as, label string) error {
	return w.on(ref, as, func(e *edit, actor int64) error {
		l, err := w.label(e.t.repo, label)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(e.labels, func(a applied) bool { return a.label == l.ID })
		if i < 0 {
			return nil
		}
		e.labels = slices.Delete(e.labels, i, i+1)
		e.log(event{Event: Event{Type: EvUnlabeled}, actor: actor, label: l.ID})
		e.touch(Unlabeled)
		return nil
	})
}

// Assign adds an assignee.
func (w *World) Assign(ref, as, login string) error {
	return w.on(ref, as, func(e *edit, actor int64) error { return e.addAssignees(actor, []string{login}) })
}

func (e *edit) addAssignees(actor int64, logins []string) error {
	for _, login := range logins {
		u, err := e.w.user(login)
		if err != nil {
			return err
		}
		if slices.Contains(e.assignees, u.ID) {
			continue
		}
		e.assignees = append(e.assignees, u.ID)
		e.log(event{Event: Event{Type: EvAssigned}, actor: actor, user: u.ID})
		e.touch(Assigned)
	}
	return nil
}

// Unassign takes an assignee off.
func (w *World) Unassign(ref, as, login string) error {
	return w.on(ref, as, func(e *edit, actor int64) error {
		u, err := w.user(login)
		if err != nil {
			return err
		}
		i := slices.Index(e.assignees, u.ID)
		if i < 0 {
			return nil
		}
		e.assignees = slices.Delete(e.assignees, i, i+1)
		e.log(event{Event: Event{Type: EvUnassigned}, actor: actor, user: u.ID})
		e.touch(Unassigned)
		return nil
	})
}

// SetMilestone sets the milestone by title; "" takes it off.
func (w *World) SetMilestone(ref, as, title string) error {
	return w.on(ref, as, func(e *edit, actor int64) error { return e.setStone(actor, title) })
}

func (e *edit) setStone(actor int64, title string) error {
	var id int64
	if title != "" {
		m, err := e.w.stone(e.t.repo, title)
		if err != nil {
			return err
		}
		id = m.ID
	}
	if id == e.stone {
		return nil
	}
	e.log(event{Event: Event{Type: EvMilestone}, actor: actor, oldStone: e.stone, newStone: id})
	e.stone = id
	e.touch(MilestoneSet)
	return nil
}

// Close closes an open entity without merging it.
func (w *World) Close(ref, as string) error {
	return w.on(ref, as, func(e *edit, actor int64) error {
		if e.closed {
			return nil
		}
		e.closed, e.closedAt, e.closedBy = true, e.time, actor
		e.log(event{Event: Event{Type: EvClosed}, actor: actor})
		e.touch(Closed)
		return nil
	})
}

// Reopen opens a closed entity again; a merged proposal stays merged.
func (w *World) Reopen(ref, as string) error {
	return w.on(ref, as, func(e *edit, actor int64) error {
		if e.merged {
			return refused("%s is merged", w.ref(e.t))
		}
		if !e.closed {
			return nil
		}
		e.closed, e.closedAt, e.closedBy = false, time.Time{}, 0
		e.log(event{Event: Event{Type: EvReopened}, actor: actor})
		e.touch(Reopened)
		return nil
	})
}

// Merge merges an open change proposal, which closes it.
func (w *World) Merge(ref, as string) error {
	return w.on(ref, as, func(e *edit, actor int64) error {
		if e.t.kind != ChangeProposal || e.closed {
			return refused("%s cannot be merged", w.ref(e.t))
		}
		e.closed, e.closedAt, e.closedBy = true, e.time, actor
		e.merged, e.mergedAt, e.mergedBy = true, e.time, actor
		e.mergeSHA = commit("merge", e.headSHA)
		e.t.repo.commits[e.mergeSHA] = true
		e.log(event{Event: Event{Type: EvMerged, New: e.mergeSHA}, actor: actor})
		e.log(event{Event: Event{Type: EvCommitReference, New: e.mergeSHA}, actor: actor}) // the merge names the number
		e.touch(Merged)
		return nil
	})
}

// SetUpdated writes "updated" directly, where the profile lets a caller do so.
func (w *World) SetUpdated(ref string, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.thread(ref)
	if err != nil {
		return err
	}
	return w.change(t, func(e *edit) error {
		e.time = at
		e.touch(UpdatedSet)
		return nil
	})
}
