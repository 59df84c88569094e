package forgejo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// body reads the request's JSON.
func (c *call) body(v any) bool {
	if err := json.NewDecoder(io.LimitReader(c.r.Body, 1<<20)).Decode(v); err != nil {
		c.fail(http.StatusUnprocessableEntity, err.Error())
		return false
	}
	return true
}

// may finds the entity of the path and checks that the caller may write issues, or is one of the others.
func (c *call) may(others ...int64) (ref string, e sim.Entity, ok bool) {
	if !c.signedIn() {
		return "", e, false
	}
	if e, ok = c.entity(); !ok {
		c.missing("")
		return "", e, false
	}
	return c.refOf(e.Number), e, c.writer(others...)
}

func (c *call) writer(others ...int64) bool {
	for _, id := range others {
		if id == c.doer.ID {
			return true
		}
	}
	if c.role < sim.Write {
		c.fail(http.StatusForbidden, "write permission is required")
		return false
	}
	return true
}

func (c *call) refOf(number int64) string {
	return c.repo.FullName() + "#" + strconv.FormatInt(number, 10)
}

// did answers an error of the world.
func (c *call) did(err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, sim.ErrNotFound):
		c.fail(http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, sim.ErrRefused):
		c.fail(http.StatusPreconditionFailed, err.Error())
	default:
		c.internal(err.Error())
	}
	return false
}

func (c *call) createIssue() {
	var in struct {
		Title, Body string
		Labels      []int64
		Assignees   []string
		Closed      bool
	}
	if !c.signedIn() || !c.body(&in) {
		return
	}
	if in.Title == "" {
		c.fail(http.StatusUnprocessableEntity, "[Title]: Required")
		return
	}
	n := sim.NewEntity{Repo: c.repo.FullName(), Title: in.Title, Body: in.Body}
	if c.role >= sim.Write { // labels and assignees of others are dropped silently (CreateIssue)
		n.Assignees = in.Assignees
		for _, id := range in.Labels {
			n.Labels = append(n.Labels, "id:"+strconv.FormatInt(id, 10))
		}
	}
	ref, err := c.w.Create(c.doer.Login, n)
	if err == nil && in.Closed {
		err = c.w.Close(ref, c.doer.Login)
	}
	if c.did(err) {
		c.answer(http.StatusCreated, ref)
	}
}

func (c *call) answer(status int, ref string) {
	e, err := c.w.Entity(ref)
	if c.did(err) {
		c.json(status, c.flavoured(c.issue(e)))
	}
}

// editIssue answers 201, as the servers do. Everybody may edit what is their own; updated_at is heard
// on Forgejo alone.
func (c *call) editIssue() {
	var in struct {
		Title     string
		Body      *string
		State     *string
		Milestone *int64
		Due       *time.Time `json:"due_date"`
		NoDue     bool       `json:"unset_due_date"`
		UpdatedAt *time.Time `json:"updated_at"`
	}
	if !c.signedIn() || !c.body(&in) {
		return
	}
	e, ok := c.entity()
	if !ok {
		c.missing("")
		return
	}
	if c.role < sim.Write && e.Author.ID != c.doer.ID {
		c.rw.WriteHeader(http.StatusForbidden)
		return
	}
	if in.State != nil && e.Merged {
		c.fail(http.StatusPreconditionFailed, "cannot change state of this pull request, it was already merged")
		return
	}
	ref, as := c.refOf(e.Number), c.doer.Login
	ch := sim.Edit{Body: in.Body}
	if in.Title != "" {
		ch.Title = &in.Title
	}
	if c.role >= sim.Write && in.NoDue {
		ch.Due = &time.Time{}
	} else if c.role >= sim.Write {
		ch.Due = in.Due
	}
	steps := []func() error{
		func() error { return c.w.Edit(ref, as, ch) },
		func() error { return c.setState(ref, as, in.State) },
		func() error { return c.setMilestone(ref, as, in.Milestone) },
		func() error {
			if in.UpdatedAt == nil || c.o.Flavour != Forgejo || c.role < sim.Write {
				return nil
			}
			return c.w.SetUpdated(ref, *in.UpdatedAt)
		},
	}
	for _, step := range steps {
		if !c.did(step()) {
			return
		}
	}
	c.answer(http.StatusCreated, ref)
}

func (c *call) setState(ref, as string, state *string) error {
	switch {
	case state != nil && *state == "closed":
		return c.w.Close(ref, as)
	case state != nil && *state == "open":
		return c.w.Reopen(ref, as)
	}
	return nil
}

func (c *call) setMilestone(ref, as string, id *int64) error {
	if id == nil || c.role < sim.Write {
		return nil
	}
	if *id == 0 {
		return c.w.SetMilestone(ref, as, "")
	}
	for _, m := range c.w.Milestones(c.repo.ID) {
		if m.ID == *id {
			return c.w.SetMilestone(ref, as, m.Title)
		}
	}
	return fmt.Errorf("milestone %d: %w", *id, sim.ErrNotFound)
}

func (c *call) deleteIssue() {
	ref, _, ok := c.may()
	if !ok {
		return
	}
	if c.role < sim.Admin {
		c.fail(http.StatusForbidden, "user should be an owner or a collaborator with admin write of a repository")
		return
	}
	if c.did(c.w.Delete(ref)) {
		c.rw.WriteHeader(http.StatusNoContent)
	}
}

// addLabels takes names or ids. A name stands for every label that has it; one that nothing has is dropped.
func (c *call) addLabels() {
	var in struct{ Labels []any }
	ref, _, ok := c.may()
	if !ok || !c.body(&in) {
		return
	}
	for _, l := range append(c.w.Labels(c.repo.ID, false), c.w.Labels(c.repo.ID, true)...) {
		if !slices.Contains(in.Labels, any(float64(l.ID))) && !slices.Contains(in.Labels, any(l.Name)) {
			continue
		}
		if !c.did(c.w.Label(ref, c.doer.Login, "id:"+strconv.FormatInt(l.ID, 10))) {
			return
		}
	}
	e, err := c.w.Entity(ref)
	if c.did(err) {
		c.json(http.StatusOK, c.labels(e))
	}
}

func (c *call) removeLabel() {
	ref, _, ok := c.may()
	if !ok {
		return
	}
	err := c.w.Unlabel(ref, c.doer.Login, "id:"+c.params["id"])
	if errors.Is(err, sim.ErrNotFound) {
		c.fail(http.StatusUnprocessableEntity, "label does not exist [label_id: 0]")
	} else if c.did(err) {
		c.rw.WriteHeader(http.StatusNoContent)
	}
}

func (c *call) createComment() {
	var in struct{ Body string }
	if !c.signedIn() || !c.body(&in) {
		return
	}
	e, ok := c.entity()
	if !ok {
		c.noIssue()
		return
	}
	if in.Body == "" {
		c.fail(http.StatusUnprocessableEntity, "[Body]: Required")
		return
	}
	if e.Locked && c.role < sim.Write {
		c.fail(http.StatusForbidden, "Cannot comment on a locked conversation.")
		return
	}
	id, err := c.w.Comment(c.refOf(e.Number), c.doer.Login, in.Body, "")
	if c.did(err) {
		c.showComment(http.StatusCreated, id)
	}
}

func (c *call) showComment(status int, id int64) {
	if m, ok := c.findComment(id); ok {
		c.json(status, c.comment(c.repo, m.Kind, m.Number, m.Comment))
		return
	}
	c.missing("")
}

func (c *call) findComment(id int64) (sim.RepoComment, bool) {
	for _, m := range c.w.Reader(c.moves, 0).Comments(c.repo.ID) {
		if m.ID == id {
			return m, true
		}
	}
	return sim.RepoComment{}, false
}

// ownComment finds a comment that the caller may change: their own, or any for who may write issues.
func (c *call) ownComment() (sim.RepoComment, bool) {
	if !c.signedIn() {
		return sim.RepoComment{}, false
	}
	m, ok := c.findComment(c.number("id"))
	if !ok {
		c.missing("")
		return m, false
	}
	return m, c.writer(m.Author.ID)
}

func (c *call) editComment() {
	var in struct{ Body string }
	m, ok := c.ownComment()
	if !ok || !c.body(&in) {
		return
	}
	if c.did(c.w.EditComment(strconv.FormatInt(m.ID, 10), c.doer.Login, in.Body)) {
		c.showComment(http.StatusOK, m.ID)
	}
}

func (c *call) deleteComment() {
	m, ok := c.ownComment()
	if ok && c.did(c.w.DeleteComment(strconv.FormatInt(m.ID, 10))) {
		c.rw.WriteHeader(http.StatusNoContent)
	}
}
