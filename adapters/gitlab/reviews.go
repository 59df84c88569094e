package gitlab

import (
	"strconv"
	"time"

	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// review is one account's standing word on a merge request.
type review struct {
	user  api.User
	state string
	at    time.Time // zero: not known
	key   string
}

// reviews puts the standing reviews together: approvals; reviewers who ask for changes or have reviewed; and whoever
// remarked on a line without being either. What was approved and taken back is not told by the server as a review. GitLab does
// not say for which commit a review was given, only when: it is on the head when it came after the head did; what came at the
// very instant of a push did not.
func (d *details) reviews(f *query.Facts) error {
	stand, err := d.standing()
	if err != nil {
		return err
	}
	var since time.Time
	var told bool
	if len(stand) > 0 {
		if since, told, err = d.headSince(d.row.SHA); err != nil {
			return err
		}
	}
	es := make([]query.Element, 0, len(stand))
	for _, r := range stand {
		e := query.Element{
			Key: r.key, Rev: r.state + "@" + r.at.Format(time.RFC3339Nano), Actor: d.s.user(&r.user), Editors: query.EditorsNamed, At: r.at,
			Members: []query.Member{{ID: query.MState, Fact: known(query.Word(r.state))}, {ID: query.MOnHead}},
		}
		if told && !r.at.IsZero() {
			e.Members[1].Fact = query.Fact{Presence: query.Known, Values: []query.Value{query.Bool(r.at.After(since))}, Rev: d.row.SHA}
		}
		es = append(es, e)
	}
	f.Set(query.FReview, query.Fact{Presence: query.Known, Items: es, Rev: d.row.SHA})
	return nil
}

func (d *details) standing() ([]review, error) {
	approvals, err := d.s.api.Approvals(d.ctx, d.request("approvals", nil))
	if err != nil {
		return nil, err
	}
	asked, err := d.asked()
	if err != nil {
		return nil, err
	}
	notes, err := d.notes()
	if err != nil {
		return nil, err
	}
	var out []review
	seen := map[int64]bool{}
	add := func(u api.User, state string, at time.Time) {
		if seen[u.ID] {
			return
		}
		seen[u.ID] = true
		if n := noteOf(notes, u.ID, state); at.IsZero() && n != nil {
			at = n.Created
		}
		out = append(out, review{u, state, at, "user:" + strconv.FormatInt(u.ID, 10)})
	}
	for _, r := range asked { // whoever asks for changes has not approved, whatever is still on the list
		if r.State == "requested_changes" {
			add(r.User, "changes_requested", time.Time{})
		}
	}
	for _, a := range approvals {
		add(a.User, "approved", a.At)
	}
	for _, r := range asked {
		if r.State == "reviewed" {
			add(r.User, "commented", time.Time{})
		}
	}
	for i := len(notes) - 1; i >= 0; i-- {
		if n := notes[i]; n.Type == "DiffNote" && !n.System && n.Author.ID > 0 && (d.row.Author == nil || n.Author.ID != d.row.Author.ID) {
			add(n.Author, "commented", n.Created)
		}
	}
	return out, nil
}
