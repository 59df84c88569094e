package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// details reads what one entity's row does not show; each endpoint once, however many fields need it.
type details struct {
	s      *session
	ctx    context.Context
	row    *api.Entity
	fields query.FieldSet // all that are asked for

	noteRows  []api.Note
	haveNotes bool
	askedRows []api.Reviewer
	haveRev   bool
	pushRows  []api.Version
	havePush  bool
}

// request is one for a part of the entity.
func (d *details) request(part string, q url.Values) api.Request {
	path := d.s.path("/%s/%d", d.s.plural(), d.row.IID)
	if part != "" {
		path += "/" + part
	}
	return api.Request{Op: fmt.Sprintf("read %s of %s%s%d", cmp.Or(part, "row"), d.s.place(), d.s.mark(), d.row.IID),
		Class: adapters.Read, Item: true, Path: path, Query: q}
}

func (d *details) fail(err error) error { return itemError(d.s.ref(d.row), err) }

func (d *details) authorKind(f *query.Facts) error {
	author := d.s.user(d.row.Author)
	if author.Deleted {
		return nil // nobody is neither
	}
	bot, err := d.s.isBot(d.ctx, adapters.Read, d.row.Author.ID)
	if err != nil {
		return err
	}
	f.SetKnown(query.FAuthorKind, query.Word(kindWord(bot)))
	return nil
}

// labels names who applied each label of the row: whoever wrote the last "add" event of its id that no "remove" follows. A
// label without one (applied before GitLab 11.2, imported, or carried over from another project) was applied by nobody.
func (d *details) labels(f *query.Facts) error {
	if len(d.row.Labels) == 0 {
		return nil // the row proves it
	}
	rows, _, err := d.s.api.LabelEvents(d.ctx, d.request("resource_label_events", nil))
	if err != nil {
		return err
	}
	last := map[int64]*api.LabelEvent{}
	for i := range rows {
		e := &rows[i]
		if e.ID <= 0 {
			return d.fail(fmt.Errorf("%w: a label event without an id", adapters.ErrProtocol))
		}
		if old := last[e.Label]; e.Label > 0 && (old == nil || old.ID < e.ID) {
			last[e.Label] = e
		}
	}
	fact := labelFact(d.row)
	for i, l := range d.row.Labels {
		el := &fact.Items[i]
		ev := last[l.ID]
		switch {
		case ev == nil:
			el.Editors = query.EditorsNamed
		case ev.Action != "add":
			fact.Presence, fact.Why = query.Partial, "labels changed while they were read"
		default:
			el.Editors, el.Rev, el.At, el.Actor = query.EditorsNamed, strconv.FormatInt(ev.ID, 10), ev.At, d.s.user(&ev.User)
		}
	}
	f.Set(query.FLabel, fact)
	return nil
}

// notes reads comments and system notes in one go, in order. Which of them the fields need decides the filter.
func (d *details) notes() ([]api.Note, error) {
	if d.haveNotes {
		return d.noteRows, nil
	}
	q := url.Values{"sort": {"asc"}, "order_by": {"created_at"}}
	comments := named(d.fields, query.FComment, query.FLastComment, query.FReview)
	system := named(d.fields, query.FTitle, query.FBody, query.FReview) || d.s.merge() && named(d.fields, query.FLastComment)
	switch {
	case !system:
		q.Set("activity_filter", "only_comments")
	case !comments:
		q.Set("activity_filter", "only_activity")
	}
	rows, _, err := d.s.api.Notes(d.ctx, d.request("notes", q))
	if err != nil {
		return nil, err
	}
	for _, n := range rows {
		if n.ID <= 0 || n.Created.IsZero() {
			return nil, d.fail(fmt.Errorf("%w: a note without id or time", adapters.ErrProtocol))
		}
	}
	slices.SortStableFunc(rows, func(a, b api.Note) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	d.noteRows, d.haveNotes = rows, true
	return rows, nil
}

func (d *details) comments(f *query.Facts) error {
	rows, err := d.notes()
	if err != nil {
		return err
	}
	es := []query.Element{}
	for i := range rows {
		if !rows[i].System {
			es = append(es, d.comment(&rows[i]))
		}
	}
	f.SetItems(query.FComment, es...)
	return nil
}

// comment maps one comment. Who edited it is not told, only that something about it changed (resolving a thread counts).
func (d *details) comment(n *api.Note) query.Element {
	e := query.Element{
		Key: strconv.FormatInt(n.ID, 10), Rev: digest(n.Updated.Format(time.RFC3339Nano) + "\n" + n.Body),
		Actor: d.s.user(&n.Author), Editors: query.EditorsNamed, At: cmp.Or(n.Updated, n.Created),
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(n.Body))}, {ID: query.MCommand, Fact: known()}},
	}
	if !n.Updated.Equal(n.Created) && !e.Actor.Deleted {
		e.Editors = query.EditorsPossible
	}
	if c := command(n.Body); c != "" {
		e.Members[1].Fact = known(query.Name(c))
	}
	return e
}

// command is the first token of the first line, when it starts with a slash.
func command(body string) string {
	line, _, _ := strings.Cut(body, "\n")
	tokens := strings.Fields(line)
	if len(tokens) == 0 || !strings.HasPrefix(tokens[0], "/") {
		return ""
	}
	return tokens[0]
}

// lastComment is the newest comment or review by a person, else the creation. Reviews show as system notes of their
// authors. Accounts are asked about from the newest on, until one is a person.
func (d *details) lastComment(f *query.Facts) error {
	rows, err := d.notes()
	if err != nil {
		return err
	}
	talk := slices.DeleteFunc(slices.Clone(rows), func(n api.Note) bool {
		return n.System && verdict(n.Body) == "" || d.s.agents[strconv.FormatInt(n.Author.ID, 10)]
	})
	at := func(n api.Note) time.Time { return cmp.Or(n.Updated, n.Created) }
	slices.SortStableFunc(talk, func(a, b api.Note) int { return at(b).Compare(at(a)) })
	for _, n := range talk {
		if !at(n).After(d.row.Created) {
			break
		}
		if n.Author.ID > 0 && !d.s.user(&n.Author).Deleted {
			bot, err := d.s.isBot(d.ctx, adapters.Read, n.Author.ID)
			switch {
			case err != nil:
				return err
			case bot:
				continue
			}
		}
		f.SetKnown(query.FLastComment, query.Instant(at(n)))
		return nil
	}
	f.SetKnown(query.FLastComment, query.Instant(d.row.Created))
	return nil
}

func (d *details) asked() ([]api.Reviewer, error) {
	if d.haveRev || len(d.row.Reviewers) == 0 {
		return d.askedRows, nil
	}
	rows, _, err := d.s.api.Reviewers(d.ctx, d.request("reviewers", nil))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.User.ID <= 0 {
			return nil, d.fail(fmt.Errorf("%w: a reviewer without an account", adapters.ErrProtocol))
		}
	}
	d.askedRows, d.haveRev = rows, true
	return rows, nil
}

// reviewers are those asked who have not answered, or have taken their answer back.
func (d *details) reviewers(f *query.Facts) error {
	rows, err := d.asked()
	if err != nil {
		return err
	}
	var vs []query.Value
	for i := range rows {
		switch rows[i].State {
		case "unreviewed", "review_started", "unapproved", "":
			vs = append(vs, query.UserValue(d.s.user(&rows[i].User)))
		}
	}
	f.SetKnown(query.FReviewer, vs...)
	return nil
}

func (d *details) pushes() ([]api.Version, error) {
	if d.havePush {
		return d.pushRows, nil
	}
	rows, _, err := d.s.api.Versions(d.ctx, d.request("versions", nil))
	if err != nil {
		return nil, err
	}
	d.pushRows, d.havePush = rows, true
	return rows, nil
}

// headSince is when the head commit became the head: zero when it always was; ok is false when the pushes do not show it.
func (d *details) headSince(sha string) (at time.Time, ok bool, err error) {
	rows, err := d.pushes()
	if err != nil {
		return time.Time{}, false, err
	}
	var newest *api.Version
	for i := range rows {
		if newest == nil || rows[i].ID > newest.ID {
			newest = &rows[i]
		}
	}
	if newest == nil || newest.SHA != sha || sha == "" || newest.Created.IsZero() {
		return time.Time{}, false, nil
	}
	if len(rows) == 1 {
		return time.Time{}, true, nil
	}
	return newest.Created, true, nil
}

// checks is the state of the newest pipeline, if it is one of the head commit. A pipeline of a merged result is of another
// commit, made from the head; it counts when it began after the head became the head.
func (d *details) checks(f *query.Facts) error {
	e, _, err := d.s.getEntity(d.ctx, adapters.Read, d.row.IID) // lists do not show pipelines
	if err != nil {
		return err
	}
	set := func(word string) {
		f.Set(query.FChecks, query.Fact{Presence: query.Known, Values: []query.Value{query.Word(word)}, Rev: e.SHA})
	}
	switch p := e.Pipeline; {
	case !e.PipelineTold:
		f.Set(query.FChecks, query.Fact{Why: "the credential may not see pipelines"})
	case e.SHA == "":
		f.Set(query.FChecks, query.Fact{Why: "the head commit is not known"})
	case p == nil:
		set("missing")
	case p.SHA == e.SHA:
		set(rollup(p.Status))
	case strings.HasPrefix(p.Ref, "refs/merge-requests/") && (strings.HasSuffix(p.Ref, "/merge") || strings.HasSuffix(p.Ref, "/train")):
		since, ok, err := d.headSince(e.SHA)
		switch {
		case err != nil:
			return err
		case !ok:
			f.Set(query.FChecks, query.Fact{Why: "the pipeline is of a merged result, and the pushes do not show when the head became the head"})
		case !p.Created.After(since):
			set("missing")
		default:
			set(rollup(p.Status))
		}
	default:
		set("missing") // of a commit that is the head no more
	}
	return nil
}

// rollup maps the states of pipelines (doc/api/pipelines.md). One that was skipped has checked nothing; one that waits for a hand
// has not ended.
func rollup(status string) string {
	switch status {
	case "success":
		return "success"
	case "failed", "canceled", "canceling":
		return "failure"
	case "skipped":
		return "missing"
	}
	return "pending"
}

// linked are the merge requests that close the issue when they are merged.
func (d *details) linked(f *query.Facts) error {
	rows, err := d.s.api.Linked(d.ctx, d.request("closed_by", nil))
	if err != nil {
		return err
	}
	es := make([]query.Element, 0, len(rows))
	for _, m := range rows {
		state := map[string]string{"opened": "open", "locked": "open", "closed": "closed", "merged": "closed"}[m.State]
		if state == "" {
			return d.fail(fmt.Errorf("%w: a merge request in state %q", adapters.ErrProtocol, m.State))
		}
		es = append(es, query.Element{
			Key: strconv.FormatInt(m.ID, 10), Rev: m.State, Actor: d.s.user(m.Author), Editors: query.EditorsNamed,
			Members: []query.Member{{ID: query.MState, Fact: known(query.Word(state))}, {ID: query.MMerged, Fact: known(query.Bool(m.State == "merged"))}},
		})
	}
	f.SetItems(query.FLinked, es...)
	return nil
}
