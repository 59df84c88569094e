package gitlab

import (
	"strings"

	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// Who wrote a title or a body is told by the system notes alone: the server writes one for every edit, under the name of the
// editor and in words that nobody else can write (app/services/issuable/common_system_notes_service.rb,
// app/services/system_notes/issuables_service.rb). The words are matched exactly. A note in words that are not known here may be about
// an edit by whoever wrote it, so that a new wording makes a text undecided and never admits one.

// effect is what a system note says of the texts.
type effect uint8

const (
	nothing effect = iota
	titleEdit
	bodyEdit
	perhaps // not known: it may be an edit of either
)

// edits reads a system note.
func edits(body string) effect {
	switch {
	case strings.HasPrefix(body, "changed title from **"):
		return titleEdit
	case body == "changed the description":
		return bodyEdit
	case strings.HasPrefix(body, "marked the task **"), strings.HasPrefix(body, "marked the checklist item **"):
		return bodyEdit // ticking a box rewrites the description, and may hide more
	case strings.HasPrefix(body, "marked this merge request as **"), strings.HasPrefix(body, "marked as a **Work In Progress**"), strings.HasPrefix(body, "unmarked as a **Work In Progress**"):
		return titleEdit // a draft is a word in the title
	}
	for _, prefix := range harmless {
		if strings.HasPrefix(body, prefix) {
			return nothing
		}
	}
	return perhaps
}

// harmless are the beginnings of notes about something else than the texts (app/services/system_notes).
var harmless = []string{
	"added ", "removed ", "assigned to ", "unassigned ", "changed milestone to ", "changed due date to ", "changed start date to ", "changed weight to ", "changed the severity to ",
	"changed time estimate to ", "changed target branch from ", "changed target branch to ", "changed health status to ", "changed iteration to ", "changed epic to ", "changed this line in ",
	"closed", "reopened", "merged", "mentioned in ", "moved ", "cloned ", "made the issue ", "made the ", "locked ", "unlocked ", "marked this issue as ", "marked #", "set ", "subtracted ", "deleted ",
	"approved this merge request", "unapproved this merge request", "requested review from ", "requested changes", "left review comments", "reset approvals", "resolved all threads",
	"enabled an automatic merge ", "aborted the automatic merge ", "canceled the automatic merge", "canceled the automatic merge ", "restored ", "created branch ", "created merge request ", "marked as ", "relate", "promoted ", "converted ",
	"started a merge train", "started a thread", "changed the status to ",
}

// verdict is what a system note says of its author's review; "" for every other note.
func verdict(body string) string {
	switch {
	case strings.HasPrefix(body, "approved this merge request"):
		return "approved"
	case strings.HasPrefix(body, "requested changes"):
		return "changes_requested"
	case strings.HasPrefix(body, "left review comments"):
		return "commented"
	}
	return ""
}

func (d *details) title(f *query.Facts) error { return d.text(f, query.FTitle, titleEdit) }

func (d *details) body(f *query.Facts) error { return d.text(f, query.FBody, bodyEdit) }

// text attributes the title or the body to its author, or to whoever edited it last. Where something that is not known
// happened after that by somebody else, everybody may have been it.
func (d *details) text(f *query.Facts, id query.FieldID, kind effect) error {
	old := f.Get(id)
	if len(old.Items) != 1 || old.Items[0].Editors != query.EditorsUnread {
		return nil
	}
	rows, err := d.notes()
	if err != nil {
		return err
	}
	el := old.Items[0]
	who, at := d.row.Author, d.row.Created
	el.Editors = query.EditorsNamed
	for i := range rows {
		n := &rows[i]
		if !n.System {
			continue
		}
		switch edits(n.Body) {
		case kind:
			who, at, el.Editors = &n.Author, n.Created, query.EditorsNamed
			el.Rev = digest(el.Rev + n.Author.Username)
		case perhaps:
			if who == nil || n.Author.ID != who.ID {
				el.Editors = query.EditorsPossible
			}
		}
	}
	el.Actor, el.At = d.s.user(who), at
	f.Set(id, query.Fact{Presence: query.Known, Items: []query.Element{el}})
	return nil
}

// noteOf is the newest system note of an account that says a verdict.
func noteOf(rows []api.Note, account int64, want string) *api.Note {
	var found *api.Note
	for i := range rows {
		if rows[i].System && rows[i].Author.ID == account && verdict(rows[i].Body) == want {
			found = &rows[i]
		}
	}
	return found
}
