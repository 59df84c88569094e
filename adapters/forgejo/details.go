package forgejo

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// details reads what one entity's row does not show; each endpoint once, however many fields need it.
type details struct {
	s   *session
	ctx context.Context
	row *api.Issue

	commentRows []*api.Comment
	haveComment bool
	reviewRows  []*api.Review
	haveReview  bool
	pullRow     *gitea.PullRequest
}

func (d *details) get(r api.Request, into any) (api.Answer, error) {
	r.Class, r.Item = adapters.Read, true
	if r.Op == "" {
		r.Op = fmt.Sprintf("read %s#%d", d.s.repo.Load().full(), d.row.Index)
	}
	return d.s.api.Get(d.ctx, r, into)
}

// nullRow is an element that the server could not load: what is left of the collection is not all of it.
func (d *details) nullRow(what string) error {
	return itemError(d.s.ref(d.row), fmt.Errorf("%w: null among %s", adapters.ErrProtocol, what))
}

// labels names who applied each label of the row: whoever wrote the newest "added" row of the timeline that no "removed" row
// follows. Newest is by id: the timeline is in the order of a clock, which can step back. A label without such a row (migrated, or its rows went with a deleted label) was applied by nobody.
func (d *details) labels(f *query.Facts) error {
	if len(d.row.Labels) == 0 {
		return nil // the row proves it
	}
	last, err := d.labelEvents()
	if err != nil {
		return err
	}
	fact := labelFact(d.row.Labels)
	for i := range fact.Items {
		e := &fact.Items[i]
		ev, found := last[e.Key]
		switch {
		case !found:
			e.Editors = query.EditorsNamed
		case ev.Body != "1":
			fact.Presence, fact.Why = query.Partial, "labels changed while they were read"
		default:
			e.Editors, e.Rev = query.EditorsNamed, strconv.FormatInt(ev.ID, 10)
			e.At, e.Actor = ev.Created.UTC(), d.s.writer(ev.Poster, "", ev.Created)
		}
	}
	f.Set(query.FLabel, fact)
	return nil
}

// maxPages bounds what is read of one list of one entity: 50 rows each.
const maxPages = 400

func (d *details) tooMany(what string) error {
	return itemError(d.s.ref(d.row), fmt.Errorf("%w: more than %d pages of %s", adapters.ErrTooLarge, maxPages, what))
}

// labelEvents reads the timeline and keeps the newest row of each label. Rows that the credential may not see are dropped
// after paging, so that a page is often short and can even be empty before the end: the end is two empty pages in a row.
// (models/issues/comment.go, routers/api/v1/repo/issue_comment.go)
func (d *details) labelEvents() (map[string]*api.Event, error) {
	last := map[string]*api.Event{}
	empty := 0
	for page := 1; empty < 2; page++ {
		if page > maxPages {
			return nil, d.tooMany("timeline")
		}
		var rows []*api.Event
		q := url.Values{"limit": {strconv.Itoa(d.s.limit)}, "page": {strconv.Itoa(page)}}
		if _, err := d.get(api.Request{Path: d.s.path("/issues/%d/timeline", d.row.Index), Query: q, Null: true}, &rows); err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			empty++
			continue
		}
		empty = 0
		for _, e := range rows {
			if e == nil {
				return nil, d.nullRow("timeline rows")
			}
			if e.Type != "label" || e.Label == nil {
				continue
			}
			key := strconv.FormatInt(e.Label.ID, 10)
			if have := last[key]; have == nil || have.ID < e.ID {
				last[key] = e
			}
		}
	}
	return last, nil
}

func (d *details) readComments() ([]*api.Comment, error) {
	if d.haveComment {
		return d.commentRows, nil
	}
	var rows []*api.Comment
	if _, err := d.get(api.Request{Path: d.s.path("/issues/%d/comments", d.row.Index)}, &rows); err != nil {
		return nil, err
	}
	for _, c := range rows {
		if _, ok := commentKey(c); !ok {
			return nil, d.nullRow("comments")
		}
	}
	d.commentRows, d.haveComment = rows, true
	return rows, nil
}

func (d *details) comments(f *query.Facts) error {
	rows, err := d.readComments()
	if err != nil {
		return err
	}
	es := make([]query.Element, 0, len(rows))
	for _, c := range rows {
		es = append(es, d.comment(c))
	}
	f.SetItems(query.FComment, es...)
	return nil
}

// comment maps one comment. The provider does not name who edited it, only that it was.
func (d *details) comment(c *api.Comment) query.Element {
	e := query.Element{
		Key: strconv.FormatInt(c.ID, 10), Rev: digest(strconv.FormatInt(c.Updated.Unix(), 10) + "\n" + c.Body),
		Actor: d.s.writer(c.Poster, c.OriginalAuthor, c.Created), Editors: query.EditorsNamed, At: c.Updated.UTC(),
		Members: []query.Member{{ID: query.MText, Fact: known(query.Text(c.Body))}, {ID: query.MCommand, Fact: known()}},
	}
	if !c.Updated.Equal(c.Created) && !e.Actor.Deleted {
		e.Editors = query.EditorsPossible
	}
	if cmd := command(c.Body); cmd != "" {
		e.Members[1].Fact = known(query.Name(cmd))
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

// lastComment is the newest comment or review by a person, else the creation.
func (d *details) lastComment(f *query.Facts) error {
	newest := d.row.Created
	comments, err := d.readComments()
	if err != nil {
		return err
	}
	for _, c := range comments {
		newest = d.person(c.Poster, c.Updated, newest)
	}
	if kindOf(d.row) == query.ChangeProposal {
		reviews, err := d.readReviews()
		if err != nil {
			return err
		}
		for _, r := range reviews {
			if state(r) != "" {
				newest = d.person(r.Reviewer, r.Submitted, newest)
			}
		}
	}
	f.SetKnown(query.FLastComment, query.Instant(newest))
	return nil
}

func (d *details) person(u *api.User, at, newest time.Time) time.Time {
	who := user(u)
	if who.Bot || d.s.agents[who.ID] || !at.After(newest) {
		return newest
	}
	return at
}

// readReviews reads all reviews. Pending ones of others are dropped after paging, so the count decides, not the page.
func (d *details) readReviews() ([]*api.Review, error) {
	if d.haveReview {
		return d.reviewRows, nil
	}
	var all []*api.Review
	for page, limit := 1, d.s.limit; ; page++ {
		var rows []*api.Review
		q := url.Values{"limit": {strconv.Itoa(limit)}, "page": {strconv.Itoa(page)}}
		a, err := d.get(api.Request{Path: d.s.path("/pulls/%d/reviews", d.row.Index), Query: q}, &rows)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r == nil || r.ID <= 0 {
				return nil, d.nullRow("reviews")
			}
		}
		all = append(all, rows...)
		if a.Total >= 0 && page*limit >= a.Total || a.Total < 0 && len(rows) == 0 {
			break
		}
		if page == maxPages {
			return nil, d.tooMany("reviews")
		}
	}
	d.reviewRows, d.haveReview = all, true
	return all, nil
}

// state is the state of a review that was given; "" for drafts and for requests.
func state(r *api.Review) string {
	s := map[gitea.ReviewStateType]string{
		gitea.ReviewStateApproved:       "approved",
		gitea.ReviewStateRequestChanges: "changes_requested",
		gitea.ReviewStateComment:        "commented",
	}[r.State]
	if s != "" && r.Dismissed {
		return "dismissed"
	}
	return s
}

// reviewers are those asked who have not answered. (The pull request's own requested_reviewers also names who has.)
func (d *details) reviewers(f *query.Facts) error {
	rows, err := d.readReviews()
	if err != nil {
		return err
	}
	var vs []query.Value
	for _, r := range rows {
		switch {
		case r.State != gitea.ReviewStateRequestReview || r.Dismissed:
		case r.ReviewerTeam != nil:
			vs = append(vs, query.UserValue(d.team(r.ReviewerTeam)))
		default:
			vs = append(vs, query.UserValue(user(r.Reviewer)))
		}
	}
	f.SetKnown(query.FReviewer, vs...)
	return nil
}

// team is a team as a value: a team of the repository's owner, unless it says otherwise.
func (d *details) team(t *gitea.Team) query.User {
	org := d.s.repo.Load().owner
	if t.Organization != nil && t.Organization.UserName != "" {
		org = t.Organization.UserName
	}
	return query.User{ID: "team:" + strconv.FormatInt(t.ID, 10), Login: org + "/" + t.Name}
}

// standing is one review per reviewer: the newest that decides; a mere comment stands only where nothing decides.
func (d *details) standing(f *query.Facts) error {
	rows, err := d.readReviews()
	if err != nil {
		return err
	}
	if err := d.readPull(); err != nil {
		return err
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b *api.Review) int { return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(a.ID, b.ID)) })
	type slot struct {
		r       *api.Review
		decides bool
	}
	stand, order := map[string]slot{}, []string(nil)
	for _, r := range rows {
		st := state(r)
		if st == "" {
			continue
		}
		who := user(r.Reviewer).ID
		if who == "" {
			who = "review:" + strconv.FormatInt(r.ID, 10) // deleted accounts are not one person
		}
		old, seen := stand[who]
		if !seen {
			order = append(order, who)
		}
		if decides := st != "commented"; decides || !old.decides {
			stand[who] = slot{r, decides}
		}
	}
	es := make([]query.Element, 0, len(order))
	for _, who := range order {
		es = append(es, d.review(stand[who].r))
	}
	f.Set(query.FReview, query.Fact{Presence: query.Known, Items: es, Rev: d.headSHA()})
	return nil
}

// review maps a standing review. Its verdict is nobody's but the reviewer's, until somebody dismisses it: who did is not
// told.
func (d *details) review(r *api.Review) query.Element {
	st := state(r)
	e := query.Element{
		Key: strconv.FormatInt(r.ID, 10), Rev: st + "@" + r.CommitID,
		Actor: d.s.writer(r.Reviewer, "", r.Submitted), Editors: query.EditorsNamed, At: r.Submitted.UTC(),
		Members: []query.Member{
			{ID: query.MState, Fact: known(query.Word(st))},
			{ID: query.MOnHead, Fact: query.Fact{}},
		},
	}
	if sha := d.headSHA(); sha != "" {
		e.Members[1].Fact = query.Fact{Presence: query.Known, Values: []query.Value{query.Bool(r.CommitID == sha)}, Rev: sha}
	}
	if st == "dismissed" {
		e.At = r.Updated.UTC()
		if !e.Actor.Deleted {
			e.Editors = query.EditorsPossible
		}
	}
	return e
}

func (d *details) readPull() error {
	if d.pullRow != nil {
		return nil
	}
	p := new(gitea.PullRequest)
	if _, err := d.get(api.Request{Path: d.s.path("/pulls/%d", d.row.Index)}, p); err != nil {
		return err
	}
	if p.Index != d.row.Index || p.Base == nil || p.Head == nil || p.Base.RepoID != d.s.repoID {
		return itemError(d.s.ref(d.row), fmt.Errorf("%w: not the pull request asked for", adapters.ErrProtocol))
	}
	d.pullRow = p
	return nil
}

func (d *details) headSHA() string { return d.pullRow.Head.Sha }

// branches are the names as they were given: the label keeps a deleted branch's name, the ref does not. The head of a
// proposal whose fork was deleted has no repository any more, so it cannot be this one.
func (d *details) branches(f *query.Facts) error {
	if err := d.readPull(); err != nil {
		return err
	}
	f.SetKnown(query.FBase, query.Ref(branch(d.pullRow.Base)))
	f.SetKnown(query.FHead, query.Ref(branch(d.pullRow.Head)))
	f.SetKnown(query.FIsFork, query.Bool(d.pullRow.Head.RepoID != d.pullRow.Base.RepoID))
	return nil
}

func branch(b *gitea.PRBranchInfo) string {
	if b.Name != "" {
		return b.Name
	}
	return b.Ref
}

// draft is in the row of every current server; older ones tell it here only.
func (d *details) draft(f *query.Facts) error {
	if f.Get(query.FDraft).Presence == query.Known {
		return nil
	}
	if err := d.readPull(); err != nil {
		return err
	}
	f.SetKnown(query.FDraft, query.Bool(d.pullRow.Draft))
	return nil
}

// checks rolls up the newest status of each context of the head commit, over all pages: the servers' own roll-up counts
// one page only.
func (d *details) checks(f *query.Facts) error {
	if err := d.readPull(); err != nil {
		return err
	}
	sha := d.headSHA()
	if sha == "" {
		f.Set(query.FChecks, query.Fact{Why: "the head commit is not known"})
		return nil
	}
	var states []gitea.StatusState
	for page, limit := 1, d.s.limit; ; page++ {
		var c gitea.CombinedStatus
		q := url.Values{"limit": {strconv.Itoa(limit)}, "page": {strconv.Itoa(page)}}
		a, err := d.get(api.Request{Path: d.s.path("/commits/%s/status", url.PathEscape(sha)), Query: q}, &c)
		if err != nil {
			return err
		}
		if c.SHA != "" && c.SHA != sha {
			return itemError(d.s.ref(d.row), fmt.Errorf("%w: the status of another commit", adapters.ErrProtocol))
		}
		for _, st := range c.Statuses {
			if st == nil {
				return d.nullRow("statuses")
			}
			states = append(states, st.State)
		}
		if len(c.Statuses) == 0 || a.Total >= 0 && page*limit >= a.Total {
			break
		}
		if page == maxPages {
			return d.tooMany("statuses")
		}
	}
	f.Set(query.FChecks, query.Fact{Presence: query.Known, Values: []query.Value{query.Word(rollup(states))}, Rev: sha})
	return nil
}

// rollup: one failure is a failure; a warning does not let a protected branch be merged, so it counts as one, as newer
// servers do themselves. What is skipped asks for nothing.
func rollup(states []gitea.StatusState) string {
	out := "missing"
	for _, s := range states {
		switch s {
		case gitea.StatusError, gitea.StatusFailure, gitea.StatusWarning:
			return "failure"
		case gitea.StatusSuccess, "skipped":
			if out == "missing" {
				out = "success"
			}
		default:
			out = "pending"
		}
	}
	return out
}
