package forgesim

import (
	"cmp"
	"slices"
)

// Comment adds a comment and returns its id. name is how scripts may call it; optional.
func (w *World) Comment(ref, as, body, name string) (int64, error) {
	var id int64
	err := w.on(ref, as, func(e *edit, actor int64) error {
		if _, taken := w.remarks[name]; taken && name != "" {
			return refused("the name %q is taken", name)
		}
		id = w.id("comment")
		e.comments = append(e.comments, comment{id: id, author: actor, created: e.time, revision: revision{body, actor, e.time}})
		w.comments[id] = e.t
		if name != "" {
			w.remarks[name] = id
		}
		e.touch(CommentAdded)
		return nil
	})
	return id, err
}

// EditComment gives a comment another text, written by the given account. A comment is named
// by its alias or its id.
func (w *World) EditComment(name, as, body string) error {
	return w.onComment(name, func(e *edit, i int) error {
		u, err := w.user(as)
		if err != nil {
			return err
		}
		if e.comments[i].text == body {
			return nil
		}
		e.comments[i].revision = revision{body, u.ID, e.time}
		e.touch(CommentEdited)
		return nil
	})
}

// DeleteComment removes a comment without a trace.
func (w *World) DeleteComment(name string) error {
	return w.onComment(name, func(e *edit, i int) error {
		delete(w.comments, e.comments[i].id)
		e.comments = slices.Delete(e.comments, i, i+1)
		e.touch(CommentDeleted)
		return nil
	})
}

func (w *World) onComment(name string, f func(*edit, int) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, ok := w.remarks[name]
	if !ok {
		var err error
		if id, err = parseInt("comment", name); err != nil {
			return err
		}
	}
	t := w.comments[id]
	if t == nil {
		return missing("comment %q", name)
	}
	return w.change(t, func(e *edit) error {
		i := slices.IndexFunc(e.comments, func(c comment) bool { return c.id == id })
		if i < 0 {
			return missing("comment %q", name)
		}
		return f(e, i)
	})
}

// RequestReview asks an account for a review.
func (w *World) RequestReview(ref, as, login string) error {
	return w.onProposal(ref, as, func(e *edit, actor int64) error {
		u, err := w.user(login)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(e.reviews, func(r review) bool { return r.author == u.ID && r.State == Requested }) {
			return nil
		}
		id := e.review(u.ID, Requested, "")
		e.log(event{Event: Event{Type: EvReviewRequested, ReviewID: id}, actor: actor, user: u.ID})
		e.touch(ReviewRequested)
		return nil
	})
}

// Review submits a review of the current head; it answers a request to the same account.
func (w *World) Review(ref, as string, state ReviewState, body string) error {
	return w.onProposal(ref, as, func(e *edit, actor int64) error {
		if state != Approved && state != ChangesRequested && state != Commented {
			return usage("review state %q", state)
		}
		e.reviews = slices.DeleteFunc(e.reviews, func(r review) bool { return r.author == actor && r.State == Requested })
		id := e.review(actor, state, body)
		e.log(event{Event: Event{Type: EvReviewed, ReviewID: id, Body: body}, actor: actor})
		e.touch(ReviewSubmitted)
		return nil
	})
}

func (e *edit) review(author int64, state ReviewState, body string) int64 {
	r := review{author: author, Review: Review{ID: e.w.id("review"), State: state, Body: body, CommitID: e.headSHA, At: e.time, Updated: e.time}}
	if state == Requested {
		r.CommitID = ""
	}
	e.reviews = append(e.reviews, r)
	return r.ID
}

// DismissReview dismisses the newest approval or request for changes of an account.
func (w *World) DismissReview(ref, as, login, why string) error {
	return w.onProposal(ref, as, func(e *edit, actor int64) error {
		u, err := w.user(login)
		if err != nil {
			return err
		}
		for i, r := range slices.Backward(e.reviews) {
			if r.author == u.ID && !r.Dismissed && (r.State == Approved || r.State == ChangesRequested) {
				e.reviews[i].Dismissed, e.reviews[i].Updated = true, e.time
				e.log(event{Event: Event{Type: EvReviewDismissed, ReviewID: r.ID, Body: why}, actor: actor})
				e.touch(ReviewDismissed)
				return nil
			}
		}
		return missing("a review by %q", login)
	})
}

// CodeComment comments on a line of the change, as a review of its own.
func (w *World) CodeComment(ref, as, body string) error {
	return w.onProposal(ref, as, func(e *edit, actor int64) error {
		id := e.review(actor, Commented, "")
		e.reviews[len(e.reviews)-1].Code = 1
		e.log(event{Event: Event{Type: EvCodeComment, ReviewID: id, Body: body}, actor: actor})
		e.log(event{Event: Event{Type: EvReviewed, ReviewID: id}, actor: actor})
		e.touch(CodeCommented)
		return nil
	})
}

// Push moves the head to another commit, which makes the reviews stale; sha "" invents one.
func (w *World) Push(ref, as, sha string) error {
	return w.onProposal(ref, as, func(e *edit, actor int64) error {
		old := e.headSHA
		e.moveHead(cmp.Or(sha, commit("push", old)))
		for i := range e.reviews {
			e.reviews[i].Stale = e.reviews[i].CommitID != e.headSHA // requests too
		}
		e.log(event{Event: Event{Type: EvPushed, Old: old, New: e.headSHA}, actor: actor})
		e.touch(Pushed)
		return nil
	})
}

func (w *World) onProposal(ref, as string, f func(e *edit, actor int64) error) error {
	return w.on(ref, as, func(e *edit, actor int64) error {
		if e.t.kind != ChangeProposal {
			return usage("%s is no change proposal", w.ref(e.t))
		}
		return f(e, actor)
	})
}

// Mention makes one entity refer to another: the mentioned one gets a row in its history.
func (w *World) Mention(ref, as, from string) error {
	w.mu.Lock()
	src, err := w.thread(from)
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.on(ref, as, func(e *edit, actor int64) error {
		typ := either(src.kind == ChangeProposal, EvCrossRefProposal, EvCrossReferenced)
		e.log(event{Event: Event{Type: typ, FromRepo: src.repo.ID, From: src.number}, actor: actor})
		e.touch(Mentioned)
		return nil
	})
}

// React adds a reaction, which leaves nothing behind but the change itself.
func (w *World) React(ref, as string) error {
	return w.on(ref, as, func(e *edit, _ int64) error { e.touch(Reacted); return nil })
}
