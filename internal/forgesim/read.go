package forgesim

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Reader reads entities through one provider's eyes: its rules for "updated", and the state
// of the world a while ago.
type Reader struct {
	w     *World
	moves Moves
	lag   time.Duration
}

// Reader makes a reader. lag 0 reads the present.
func (w *World) Reader(moves Moves, lag time.Duration) Reader { return Reader{w, moves, lag} }

// Row is an entity in the making of a selection: cheap to look at, valid during the call only.
type Row struct {
	t     *thread
	s     *record
	moves Moves
}

func (r Row) ID() int64             { return r.t.id }
func (r Row) Number() int64         { return r.t.number }
func (r Row) Kind() Kind            { return r.t.kind }
func (r Row) Closed() bool          { return r.s.closed }
func (r Row) Merged() bool          { return r.s.merged }
func (r Row) Created() time.Time    { return r.t.created }
func (r Row) Updated() time.Time    { return latest(r.s.touches, r.moves) }
func (r Row) ClosedAt() time.Time   { return r.s.closedAt }
func (r Row) Due() time.Time        { return r.s.due }
func (r Row) Author() int64         { return r.t.author }
func (r Row) Milestone() int64      { return r.s.stone }
func (r Row) Base() string          { return r.s.base }
func (r Row) Title() string         { return r.s.title.text }
func (r Row) Body() string          { return r.s.body.text }
func (r Row) CommentCount() int     { return len(r.s.comments) }
func (r Row) Assigned(u int64) bool { return slices.Contains(r.s.assignees, u) }
func (r Row) Labeled(id int64) bool {
	return slices.ContainsFunc(r.s.labels, func(a applied) bool { return a.label == id })
}

// Order compares two rows; the rows of a selection come newest-created first without one.
type Order func(a, b Row) int

// Where is what most listings ask, answered without looking into each entity. The zero value
// accepts everything.
type Where struct {
	Kind          Kind  // "": both
	Closed        *bool // nil: both
	Since, Before int64 // bounds on "updated", in unix seconds, inclusive; 0: none
}

func (q Where) fits(o outline) bool {
	return !o.gone && (q.Kind == "" || o.proposal == (q.Kind == ChangeProposal)) && (q.Closed == nil || o.closed == *q.Closed) &&
		(q.Since == 0 || o.updated >= q.Since) && (q.Before == 0 || o.updated <= q.Before)
}

// Select reads the entities of a repository that where and keep accept, of those the ones
// from offset on, at most limit, and how many there are in all.
func (r Reader) Select(repoID int64, where Where, keep func(Row) bool, order Order, offset, limit int) ([]Entity, int) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	var rows []Row
	total := 0
	// Without an order the rows come in theirs, and only the page is looked at.
	onPage := func() bool { return order != nil || total >= offset && total-offset < limit }
	for row := range r.rows(repoID, where) {
		if keep != nil && !keep(row()) {
			continue
		}
		if onPage() {
			rows = append(rows, row())
		}
		total++
	}
	if order != nil {
		slices.SortStableFunc(rows, order)
		from := min(max(offset, 0), total)
		rows = rows[from:min(from+limit, total)]
	}
	var out []Entity
	for _, row := range rows {
		out = append(out, r.w.view(row.t, row.s, r.moves))
	}
	return out, total
}

// rows are the entities of a repository, newest-created first. A row is fetched when it is
// asked for. The outline answers where for readers of the present under the world's own rules.
func (r Reader) rows(repoID int64, where Where) iter.Seq[func() Row] {
	return func(yield func(func() Row) bool) {
		rp := r.w.repos[repoID]
		if rp == nil || rp.deleted {
			return
		}
		_, elapsed := r.w.clock.tick()
		fast := r.lag == 0 && r.moves == r.w.profile.Moves
		at := 0
		fetch := func() Row { return Row{rp.threads[at], rp.threads[at].now(), r.moves} }
		for at = len(rp.threads) - 1; at >= 0; at-- {
			if fast {
				if where.fits(rp.outline[at]) && !yield(fetch) {
					return
				}
				continue
			}
			row := Row{rp.threads[at], rp.threads[at].asOf(elapsed - r.lag), r.moves}
			if row.s == nil || !where.fits(sketchOf(row.t, row.s, r.moves)) {
				continue
			}
			if !yield(func() Row { return row }) {
				return
			}
		}
	}
}

// Entity reads one entity by its number.
func (r Reader) Entity(repoID, number int64) (Entity, bool) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	rp := r.w.repos[repoID]
	if rp == nil || rp.deleted || rp.byNumber[number] == nil {
		return Entity{}, false
	}
	t := rp.byNumber[number]
	_, elapsed := r.w.clock.tick()
	s := t.asOf(elapsed - r.lag)
	if s == nil || s.gone {
		return Entity{}, false
	}
	return r.w.view(t, s, r.moves), true
}

// RepoComment is a comment together with the entity that it is on.
type RepoComment struct {
	Comment
	Number int64
	Kind   Kind
}

// Comments reads the comments of a whole repository, by creation.
func (r Reader) Comments(repoID int64) []RepoComment {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	var out []RepoComment
	for fetch := range r.rows(repoID, Where{}) {
		row := fetch()
		for _, c := range row.s.comments {
			out = append(out, RepoComment{r.w.viewComment(row.t, c), row.t.number, row.t.kind})
		}
	}
	slices.SortFunc(out, func(a, b RepoComment) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Entities are all entities of a repository as they are now, by number; "" is every
// repository, by id.
func (w *World) Entities(full string) ([]Entity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var only *repo
	if full != "" {
		r, err := w.repository(full)
		if err != nil {
			return nil, err
		}
		only = r
	}
	var out []Entity
	for _, t := range w.threads {
		if t.now().gone || t.repo.deleted || only != nil && t.repo != only {
			continue
		}
		out = append(out, w.view(t, t.now(), w.profile.Moves))
	}
	slices.SortFunc(out, func(a, b Entity) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Entity is one entity as it is now, by reference.
func (w *World) Entity(ref string) (Entity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.thread(ref)
	if err != nil {
		return Entity{}, err
	}
	if t.now().gone {
		return Entity{}, missing("entity %q", ref)
	}
	return w.view(t, t.now(), w.profile.Moves), nil
}

// view copies a state into a plain value.
func (w *World) view(t *thread, s *record, m Moves) Entity {
	actor := func(id int64) Actor { return w.actor(t.repo, id) }
	e := Entity{
		ID: t.id, ChangeID: t.change, Number: t.number, Repo: w.viewRepo(t.repo), Kind: t.kind,
		Title: s.title.text, TitleBy: actor(s.title.by), TitleAt: s.title.at,
		Body: s.body.text, BodyBy: actor(s.body.by), BodyAt: s.body.at,
		Author:       actor(t.author),
		Confidential: s.confidential, MovedTo: s.movedTo,
		Closed: s.closed, Merged: s.merged, Draft: s.draft, Locked: s.locked,
		Base: s.base, Head: s.head, HeadSHA: s.headSHA, HeadRepo: s.headRepo, MergeSHA: s.mergeSHA,
		Created: t.created, Updated: latest(s.touches, m), ClosedAt: s.closedAt, MergedAt: s.mergedAt, Due: s.due,
		LastChange: latest(s.touches, allMoves),
	}
	if s.closed {
		by := actor(s.closedBy)
		e.ClosedBy = &by
	}
	if s.merged {
		by := actor(s.mergedBy)
		e.MergedBy = &by
	}
	e.Milestone, e.Type = w.stoneOf(s.stone), s.issueType
	for _, id := range s.links {
		if l := w.threads[id]; l != nil && !l.now().gone {
			e.Links = append(e.Links, Link{l.repo.ID, l.number})
		}
	}
	for _, id := range s.assignees {
		e.Assignees = append(e.Assignees, actor(id))
	}
	for _, a := range s.labels {
		e.Labels = append(e.Labels, AppliedLabel{*w.labels[a.label], actor(a.by), a.at})
	}
	slices.SortFunc(e.Labels, func(a, b AppliedLabel) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	for _, c := range s.comments {
		e.Comments = append(e.Comments, w.viewComment(t, c))
	}
	w.viewHistory(&e, t, s)
	return e
}

func (w *World) viewHistory(e *Entity, t *thread, s *record) {
	actor := func(id int64) Actor { return w.actor(t.repo, id) }
	for _, r := range s.reviews {
		r.Author = actor(r.author)
		e.Reviews = append(e.Reviews, r.Review)
		if r.State == Requested {
			e.Reviewers = append(e.Reviewers, r.Author)
		}
	}
	for _, ev := range s.events {
		v := ev.Event
		v.Actor, v.OldStone, v.NewStone = actor(ev.actor), w.stoneOf(ev.oldStone), w.stoneOf(ev.newStone)
		if ev.user != 0 {
			u := actor(ev.user)
			v.User = &u
		}
		if ev.label != 0 {
			l := *w.labels[ev.label]
			v.Label = &l
		}
		e.Events = append(e.Events, v)
	}
	if t.kind == ChangeProposal {
		all := slices.Clone(t.repo.statuses[s.headSHA])
		slices.Reverse(all)
		for i := range all {
			all[i].Creator = actor(all[i].creator)
			e.Checks = append(e.Checks, all[i].Status)
		}
		e.Checks = newest(e.Checks)
	}
}

func (w *World) stoneOf(id int64) *Milestone {
	if m := w.stones[id]; m != nil {
		v := *m
		return &v
	}
	return nil
}

func (w *World) viewComment(t *thread, c comment) Comment {
	return Comment{
		ID: c.id, EntityID: t.id, Author: w.actor(t.repo, c.author), Editor: w.actor(t.repo, c.by),
		Body: c.text, Created: c.created, Edited: c.at,
	}
}
