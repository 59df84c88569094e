package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// collector turns what a read brought into facts, and reads on where a collection did not fit.
type collector struct {
	s   *session
	ctx context.Context
	e   *entity
	f   *query.Facts
}

// maxPages bounds what is read of one collection of one entity: 100 rows each.
const maxPages = 300

// fill adds what fs names. A collection that cannot be read whole is partial and says why; what fails for the moment leaves
// the entity unread.
func (c *collector) fill(fs query.FieldSet) error {
	for _, part := range []struct {
		fields []query.FieldID
		read   func() error
		set    func()
	}{
		{[]query.FieldID{query.FAssignee}, c.restOfAssignees, func() { c.f.Set(query.FAssignee, assigneeFact(&c.e.Assignees)) }},
		{[]query.FieldID{query.FTitle}, nil, c.title},
		{[]query.FieldID{query.FBody}, nil, c.body},
		{[]query.FieldID{query.FLabel}, c.restOfLabels, c.labels},
		{[]query.FieldID{query.FComment, query.FLastComment}, c.restOfComments, c.comments},
		{[]query.FieldID{query.FReview, query.FLastComment}, c.restOfReviews, c.reviews},
		{[]query.FieldID{query.FLastComment}, nil, c.lastComment},
		{[]query.FieldID{query.FReviewer}, c.restOfRequests, c.reviewers},
		{[]query.FieldID{query.FLinked}, c.restOfLinks, c.links},
		{[]query.FieldID{query.FChecks}, nil, c.checks},
	} {
		if !anyOf(fs, part.fields...) {
			continue
		}
		if part.read != nil {
			if err := part.read(); err != nil {
				return err
			}
		}
		part.set()
	}
	return nil
}

// more sends one query for the next page of a collection.
func (c *collector) more(what string, into any, vars map[string]any) error {
	vars["id"] = githubv4.ID(c.e.ID)
	op := fmt.Sprintf("read %s of %s#%d", what, c.e.Repository.NameWithOwner, c.e.Number)
	a, err := c.s.api.Query(c.ctx, api.Request{Op: op, Class: adapters.Read, Item: true}, into, vars)
	if err != nil {
		return err
	}
	if len(a.Errors) > 0 {
		return &adapters.Error{Severity: adapters.ItemFailure, Op: op, Status: 200, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, a.Errors[0].Text())}
	}
	return nil
}

// follow reads a collection's further pages, from the cursor on, until there are none. A page that is refused for this
// entity alone is no failure: the collection stays open, and so partial.
func (c *collector) follow(at *string, open *bool, next func(after string) (pageInfo, error)) error {
	for n := 0; *open && n < maxPages; n++ {
		p, err := next(*at)
		var e *adapters.Error
		switch {
		case err == nil && p.HasNextPage && (p.EndCursor == "" || p.EndCursor == *at):
			return nil // it names no next place: open for good
		case err == nil:
			*at, *open = p.EndCursor, p.HasNextPage
		case errors.As(err, &e) && e.Severity == adapters.ItemFailure && !stops(err):
			return nil
		default:
			return err
		}
	}
	return nil
}

var errNoPage = &adapters.Error{Severity: adapters.ItemFailure, Op: "read on", Err: fmt.Errorf("%w: null", adapters.ErrProtocol)}

func after(s string) map[string]any  { return map[string]any{"after": cursorVar(s)} }
func before(s string) map[string]any { return map[string]any{"before": cursorVar(s)} }

func (c *collector) restOfLabels() error {
	p := c.e.Labels
	if p == nil {
		return nil
	}
	if err := c.follow(&p.PageInfo.EndCursor, &p.PageInfo.HasNextPage, func(at string) (pageInfo, error) {
		var q moreLabels
		if err := c.more("labels", &q, after(at)); err != nil {
			return pageInfo{}, err
		}
		page := one(q.Node, c.e.kind)
		if page == nil || page.Page == nil {
			return pageInfo{}, errNoPage
		}
		p.Nodes = append(p.Nodes, page.Page.Nodes...)
		return page.Page.PageInfo, nil
	}); err != nil {
		return err
	}
	return c.restOfEvents()
}

// one is the half of an answer that the entity's kind fills.
func one[C any](n *both[C], k query.Kind) *C {
	switch {
	case n == nil:
		return nil
	case k == query.ChangeProposal:
		return &n.Pull
	}
	return &n.Issue
}

func (c *collector) restOfAssignees() error {
	p := &c.e.Assignees
	return c.follow(&p.PageInfo.EndCursor, &p.PageInfo.HasNextPage, func(at string) (pageInfo, error) {
		var q moreAssignees
		if err := c.more("assignees", &q, after(at)); err != nil {
			return pageInfo{}, err
		}
		page := one(q.Node, c.e.kind)
		if page == nil || page.Page == nil {
			return pageInfo{}, errNoPage
		}
		p.Nodes = append(p.Nodes, page.Page.Nodes...)
		return page.Page.PageInfo, nil
	})
}

func (c *collector) restOfComments() error {
	p := c.e.details().Comments
	if p == nil {
		return nil
	}
	return c.follow(&p.PageInfo.EndCursor, &p.PageInfo.HasNextPage, func(at string) (pageInfo, error) {
		var q moreComments
		if err := c.more("comments", &q, after(at)); err != nil {
			return pageInfo{}, err
		}
		page := one(q.Node, c.e.kind)
		if page == nil || page.Page == nil {
			return pageInfo{}, errNoPage
		}
		p.Nodes = append(p.Nodes, page.Page.Nodes...)
		return page.Page.PageInfo, nil
	})
}

func (c *collector) restOfReviews() error {
	if c.e.more == nil || c.e.more.Reviews == nil {
		return nil
	}
	p := c.e.more.Reviews
	if err := c.follow(&p.PageInfo.EndCursor, &p.PageInfo.HasNextPage, func(at string) (pageInfo, error) {
		var q moreReviews
		if err := c.more("reviews", &q, after(at)); err != nil {
			return pageInfo{}, err
		}
		if q.Node == nil || q.Node.Pull.Page == nil {
			return pageInfo{}, errNoPage
		}
		p.Nodes = append(p.Nodes, q.Node.Pull.Page.Nodes...)
		return q.Node.Pull.Page.PageInfo, nil
	}); err != nil {
		return err
	}
	return c.restOfDismissals()
}

// restOfDismissals reads back until every dismissed review has its event.
func (c *collector) restOfDismissals() error {
	p := c.e.more.Dismissals
	if p == nil {
		return nil
	}
	open := p.PageInfo.HasPreviousPage && c.undismissed()
	err := c.follow(&p.PageInfo.StartCursor, &open, func(at string) (pageInfo, error) {
		var q moreDismissals
		if err := c.more("dismissals", &q, before(at)); err != nil {
			return pageInfo{}, err
		}
		if q.Node == nil || q.Node.Pull.Page == nil {
			return pageInfo{}, errNoPage
		}
		got := q.Node.Pull.Page
		p.Nodes = append(slices.Clone(got.Nodes), p.Nodes...)
		p.PageInfo.HasPreviousPage = got.PageInfo.HasPreviousPage
		return pageInfo{HasNextPage: got.PageInfo.HasPreviousPage && c.undismissed(), EndCursor: got.PageInfo.StartCursor}, nil
	})
	return err
}

// undismissed reports whether a dismissed review lacks its event.
func (c *collector) undismissed() bool {
	events := c.dismissals()
	return slices.ContainsFunc(c.e.more.Reviews.Nodes, func(r *review) bool { return r != nil && r.State == "DISMISSED" && events[r.ID] == nil })
}

func (c *collector) restOfRequests() error {
	if c.e.more == nil || c.e.more.Requests == nil {
		return nil
	}
	p := c.e.more.Requests
	return c.follow(&p.PageInfo.EndCursor, &p.PageInfo.HasNextPage, func(at string) (pageInfo, error) {
		var q moreRequests
		if err := c.more("review requests", &q, after(at)); err != nil {
			return pageInfo{}, err
		}
		if q.Node == nil || q.Node.Pull.Page == nil {
			return pageInfo{}, errNoPage
		}
		p.Nodes = append(p.Nodes, q.Node.Pull.Page.Nodes...)
		return q.Node.Pull.Page.PageInfo, nil
	})
}

func (c *collector) restOfLinks() error {
	if c.e.extra == nil || c.e.extra.Links == nil {
		return nil
	}
	p := c.e.extra.Links
	return c.follow(&p.PageInfo.EndCursor, &p.PageInfo.HasNextPage, func(at string) (pageInfo, error) {
		var q moreLinks
		if err := c.more("links", &q, after(at)); err != nil {
			return pageInfo{}, err
		}
		if q.Node == nil || q.Node.Issue.Page == nil {
			return pageInfo{}, errNoPage
		}
		p.Nodes = append(p.Nodes, q.Node.Issue.Page.Nodes...)
		return q.Node.Issue.Page.PageInfo, nil
	})
}

// restOfEvents reads the timeline of labels back until every label of the entity has its event.
func (c *collector) restOfEvents() error {
	p := c.e.details().LabelEvents
	if p == nil {
		return nil
	}
	open := p.PageInfo.HasPreviousPage && c.unlabelled()
	return c.follow(&p.PageInfo.StartCursor, &open, func(at string) (pageInfo, error) {
		var q moreEvents
		if err := c.more("label events", &q, before(at)); err != nil {
			return pageInfo{}, err
		}
		page := one(q.Node, c.e.kind)
		if page == nil || page.Page == nil {
			return pageInfo{}, errNoPage
		}
		p.Nodes = append(slices.Clone(page.Page.Nodes), p.Nodes...)
		p.PageInfo.HasPreviousPage = page.Page.PageInfo.HasPreviousPage
		return pageInfo{HasNextPage: page.Page.PageInfo.HasPreviousPage && c.unlabelled(), EndCursor: page.Page.PageInfo.StartCursor}, nil
	})
}

func (c *collector) unlabelled() bool {
	events, _ := c.labelEvents()
	return slices.ContainsFunc(c.e.Labels.Nodes, func(l *label) bool { return l != nil && events[l.ID] == nil })
}

// applied is the last event of a label.
type applied struct {
	*change
	on bool
}

// labelEvents are the last events by the label's node id, which survives a renaming; whole is false when an event is null.
func (c *collector) labelEvents() (last map[string]*applied, whole bool) {
	last, whole = map[string]*applied{}, true
	for _, ev := range c.e.details().LabelEvents.Nodes {
		if ev == nil {
			whole = false
			continue
		}
		ch, on := &ev.Labeled, ev.Kind == "LabeledEvent"
		if !on {
			ch = &ev.Unlabeled
		}
		if ch.Label == nil || ch.Label.ID == "" {
			continue // a label that is deleted: no label of the entity
		}
		if old := last[ch.Label.ID]; old == nil || !ch.CreatedAt.Before(old.CreatedAt) {
			last[ch.Label.ID] = &applied{ch, on}
		}
	}
	return last, whole
}

// labels names who applied each label: whoever wrote its last event. A label without one was applied by nobody (its
// events went with a transfer or an import).
func (c *collector) labels() {
	fact := labelFact(c.e.Labels)
	p := c.e.details().LabelEvents
	if p == nil {
		for i := range fact.Items {
			fact.Items[i].Editors = query.EditorsUnread
		}
		c.f.Set(query.FLabel, fact)
		return
	}
	last, whole := c.labelEvents()
	for i := range fact.Items {
		el := &fact.Items[i]
		switch ev := last[el.Key]; {
		case ev == nil && (!whole || p.PageInfo.HasPreviousPage):
			fact.Presence, fact.Why = query.Partial, "who applied a label lies behind what could be read of the timeline"
		case ev == nil:
			el.Editors, el.Actor = query.EditorsNamed, query.User{Deleted: true}
		case !ev.on:
			fact.Presence, fact.Why = query.Partial, "labels changed while they were read"
		default:
			el.Editors, el.Rev, el.At, el.Actor = query.EditorsNamed, ev.ID, ev.CreatedAt.UTC(), user(ev.Actor)
		}
	}
	c.f.Set(query.FLabel, fact)
}

// title is by whoever renamed the entity last, else by its author.
func (c *collector) title() {
	el := title(c.e)
	switch p := c.e.details().Renames; {
	case p == nil || p.Nodes == nil:
	case len(p.Nodes) == 0:
		el.Editors, el.Actor, el.At = query.EditorsNamed, user(c.e.Author), c.e.CreatedAt.UTC()
	case p.Nodes[len(p.Nodes)-1] == nil:
	default:
		ev := p.Nodes[len(p.Nodes)-1].Renamed
		if ev.CurrentTitle == c.e.Title {
			el.Editors, el.Actor, el.At, el.Rev = query.EditorsNamed, user(ev.Actor), ev.CreatedAt.UTC(), ev.ID
		} // else it was renamed while it was read
	}
	c.f.SetItems(query.FTitle, el)
}

// body is by its editor. The newest entry of the history of edits must name the same; where it does not, the text changed
// while it was read, and nobody can be named.
func (c *collector) body() {
	el := body(c.e)
	p := c.e.details().Edits
	var newest *edit
	if p != nil {
		for _, ed := range p.Nodes {
			if ed != nil && (newest == nil || ed.EditedAt.After(newest.EditedAt)) {
				newest = ed
			}
		}
	}
	if newest != nil && c.e.LastEditedAt != nil {
		el.Rev = newest.ID
		if who := user(newest.Editor); newest.EditedAt.After(*c.e.LastEditedAt) || newest.EditedAt.Equal(*c.e.LastEditedAt) && who.ID != el.Actor.ID {
			el.Editors = query.EditorsUnread
		}
	}
	c.f.SetItems(query.FBody, el)
}

// comments are by their editors where they were edited.
func (c *collector) comments() {
	p := c.e.details().Comments
	if p == nil || p.Nodes == nil {
		c.f.Set(query.FComment, query.Fact{Why: "the answer lists no comments"})
		return
	}
	fact := query.Fact{Presence: query.Known}
	if p.PageInfo.HasNextPage {
		fact.Presence, fact.Why = query.Partial, "there are more comments than could be read"
	}
	for _, m := range p.Nodes {
		if m == nil || m.DatabaseID == "" {
			fact.Presence, fact.Why = query.Partial, "a comment is null in the answer"
			continue
		}
		fact.Items = append(fact.Items, commentElement(m))
	}
	c.f.Set(query.FComment, fact)
}

func commentElement(m *comment) query.Element {
	el := query.Element{Key: m.DatabaseID, Actor: user(m.Author), Editors: query.EditorsNamed, At: m.CreatedAt.UTC(),
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(m.Body))}, {ID: query.MCommand, Fact: known()}}}
	if m.LastEditedAt != nil {
		el.Actor, el.At = user(m.Editor), m.LastEditedAt.UTC()
	}
	el.Rev = digest(el.At.Format(time.RFC3339) + "\n" + m.Body)
	if cmd := command(m.Body); cmd != "" {
		el.Members[1].Fact = known(query.Name(cmd))
	}
	return el
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

// lastComment is the newest comment or review by a person, else the creation. The text of a comment that a bot edited was
// a person's when it was written.
func (c *collector) lastComment() {
	newest := c.e.CreatedAt
	p := c.e.details().Comments
	if p == nil || p.Nodes == nil || p.PageInfo.HasNextPage {
		c.f.Set(query.FLastComment, query.Fact{Why: "the comments could not be read in full"})
		return
	}
	person := func(a *account, at time.Time) {
		if u := user(a); !u.Bot && !c.s.agents[u.ID] && at.After(newest) {
			newest = at
		}
	}
	for _, m := range p.Nodes {
		if m == nil {
			c.f.Set(query.FLastComment, query.Fact{Why: "a comment is null in the answer"})
			return
		}
		person(m.Author, m.CreatedAt)
		if m.LastEditedAt != nil {
			person(m.Editor, *m.LastEditedAt)
		}
	}
	if c.e.more != nil {
		rs := c.e.more.Reviews
		if rs == nil || rs.Nodes == nil || rs.PageInfo.HasNextPage || slices.Contains(rs.Nodes, nil) {
			c.f.Set(query.FLastComment, query.Fact{Why: "the reviews could not be read in full"})
			return
		}
		for _, r := range rs.Nodes {
			if verdict(r) != "" && r.SubmittedAt != nil {
				person(r.Author, *r.SubmittedAt)
			}
		}
	}
	c.f.SetKnown(query.FLastComment, query.Instant(newest))
}

// verdict is the state of a review that was given; "" for drafts.
func verdict(r *review) string {
	switch r.State {
	case "APPROVED":
		return "approved"
	case "CHANGES_REQUESTED":
		return "changes_requested"
	case "COMMENTED":
		return "commented"
	case "DISMISSED":
		return "dismissed"
	}
	return ""
}

func (c *collector) dismissals() map[string]*dismissal {
	out := map[string]*dismissal{}
	if c.e.more.Dismissals == nil {
		return out
	}
	for _, d := range c.e.more.Dismissals.Nodes {
		if d != nil && d.Dismissed.Review != nil {
			out[d.Dismissed.Review.ID] = d
		}
	}
	return out
}

// reviews is one review per reviewer: the newest that decides; a mere comment stands only where nothing decides.
func (c *collector) reviews() {
	if c.e.more == nil {
		return
	}
	p := c.e.more.Reviews
	if p == nil || p.Nodes == nil {
		c.f.Set(query.FReview, query.Fact{Why: "the answer lists no reviews"})
		return
	}
	fact := query.Fact{Presence: query.Known, Rev: c.e.pull.HeadRefOid}
	if p.PageInfo.HasNextPage || slices.Contains(p.Nodes, nil) {
		// A later one may replace any of those that are here, so none is known to stand.
		c.f.Set(query.FReview, query.Fact{Why: "the reviews could not be read in full"})
		return
	}
	rs := slices.Clone(p.Nodes)
	slices.SortStableFunc(rs, func(a, b *review) int { return cmp.Compare(given(a).UnixNano(), given(b).UnixNano()) })
	stand, order := map[string]*review{}, []string(nil)
	for _, r := range rs {
		if verdict(r) == "" {
			continue
		}
		u := user(r.Author)
		who := cmp.Or(u.ID, "review:"+r.ID) // deleted accounts are not one person
		old := stand[who]
		if old == nil {
			order = append(order, who)
		}
		if old == nil || verdict(r) != "commented" || verdict(old) == "commented" {
			stand[who] = r
		}
	}
	events := c.dismissals()
	for _, who := range order {
		fact.Items = append(fact.Items, c.review(stand[who], events[stand[who].ID]))
	}
	c.f.Set(query.FReview, fact)
}

func given(r *review) time.Time {
	if r.SubmittedAt != nil {
		return *r.SubmittedAt
	}
	return r.CreatedAt
}

// review maps a standing review. Its verdict is the reviewer's until somebody dismisses it: then it is that person's, whom
// the timeline names.
func (c *collector) review(r *review, d *dismissal) query.Element {
	st := verdict(r)
	el := query.Element{Key: cmp.Or(r.DatabaseID, r.ID), Actor: user(r.Author), Editors: query.EditorsNamed, At: given(r).UTC(),
		Members: []query.Member{{ID: query.MState, Fact: known(query.Word(st))}, {ID: query.MOnHead}}}
	oid := ""
	if r.Commit != nil {
		oid = r.Commit.Oid
	}
	el.Rev = st + "@" + oid
	if head := c.e.pull.HeadRefOid; head != "" {
		// A commit that is gone from the repository is not the head.
		el.Members[1].Fact = query.Fact{Presence: query.Known, Values: []query.Value{query.Bool(oid == head)}, Rev: head}
	}
	if st != "dismissed" {
		return el
	}
	if d == nil {
		el.Editors = query.EditorsUnread
		return el
	}
	el.Actor, el.At = user(d.Dismissed.Actor), d.Dismissed.CreatedAt.UTC()
	el.Rev += "@" + d.Dismissed.ID
	return el
}

// reviewers are those asked who have not answered.
func (c *collector) reviewers() {
	if c.e.more == nil {
		return
	}
	p := c.e.more.Requests
	if p == nil || p.Nodes == nil {
		c.f.Set(query.FReviewer, query.Fact{Why: "the answer lists no review requests"})
		return
	}
	fact := query.Fact{Presence: query.Known}
	if p.PageInfo.HasNextPage {
		fact.Presence, fact.Why = query.Partial, "there are more review requests than could be read"
	}
	for _, r := range p.Nodes {
		if r == nil || r.RequestedReviewer == nil {
			// An account that is deleted, or a team that the token may not see.
			fact.Presence, fact.Why = query.Partial, "a reviewer is not named by the answer"
			continue
		}
		who := r.RequestedReviewer
		u := named(who.Kind, who.User.DatabaseID, who.User.Login)
		if who.Kind == "Team" {
			u = query.User{ID: fmt.Sprintf("team:%d", who.Team.DatabaseID), Login: who.Team.CombinedSlug}
		}
		fact.Values = append(fact.Values, query.UserValue(u))
	}
	c.f.Set(query.FReviewer, fact)
}

// links are the proposals that would close the issue, by their authors.
func (c *collector) links() {
	if c.e.extra == nil {
		return
	}
	p := c.e.extra.Links
	if p == nil || p.Nodes == nil {
		c.f.Set(query.FLinked, query.Fact{Why: "the answer lists no links"})
		return
	}
	fact := query.Fact{Presence: query.Known}
	if p.PageInfo.HasNextPage {
		fact.Presence, fact.Why = query.Partial, "there are more links than could be read"
	}
	for _, l := range p.Nodes {
		if l == nil || l.DatabaseID == "" {
			fact.Presence, fact.Why = query.Partial, "a linked proposal is out of sight"
			continue
		}
		st := "open"
		if l.State != "OPEN" {
			st = "closed"
		}
		fact.Items = append(fact.Items, query.Element{Key: l.DatabaseID, Rev: st, Actor: user(l.Author), Editors: query.EditorsNamed, At: l.CreatedAt.UTC(),
			Members: []query.Member{{ID: query.MState, Fact: known(query.Word(st))}, {ID: query.MMerged, Fact: known(query.Bool(l.Merged))}}})
	}
	c.f.Set(query.FLinked, fact)
}

// checks is the roll-up of the head commit.
func (c *collector) checks() {
	if c.e.more == nil {
		return
	}
	p := c.e.more.HeadCommit
	if p == nil || len(p.Nodes) == 0 || p.Nodes[0] == nil {
		c.f.Set(query.FChecks, query.Fact{Why: "the head commit is not known"})
		return
	}
	head := p.Nodes[0].Commit
	if head.Oid != c.e.pull.HeadRefOid {
		c.f.Set(query.FChecks, query.Fact{Why: "the head moved while it was read"})
		return
	}
	word := "missing"
	if r := head.StatusCheckRollup; r != nil {
		switch r.State {
		case "SUCCESS":
			word = "success"
		case "FAILURE", "ERROR":
			word = "failure"
		case "PENDING", "EXPECTED":
			word = "pending"
		default:
			c.f.Set(query.FChecks, query.Fact{Why: "the roll-up " + r.State + " is not known"})
			return
		}
	}
	c.f.Set(query.FChecks, query.Fact{Presence: query.Known, Values: []query.Value{query.Word(word)}, Rev: head.Oid})
}
