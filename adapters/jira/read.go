package jira

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// readBatch is how many issues one request may fetch (OAS bulkfetch).
const readBatch = 100

// Read reads issues from the database, not the search index, up to a hundred in a request: their fields, and of changelogs
// and comments what fs names. An error means that nothing can be read in this scope now, or that the context ended;
// everything else is said by the items. Once the provider throttles, the items not yet begun carry that answer.
func (s *session) Read(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
	b := &batch{s: s, fs: fs, refs: refs, items: make([]adapters.Item, len(refs)), done: make([]bool, len(refs)), issues: make([]*issue, len(refs))}
	var open []int
	for i, r := range refs {
		if !digits(r.ID) {
			b.settle(i, unreadable(r, itemError(r, errors.New("its id is no number"))))
			continue
		}
		open = append(open, i)
	}
	for len(open) > 0 {
		n := min(len(open), readBatch)
		if err := b.read(ctx, open[:n]); err != nil {
			if err := b.fail(ctx, open, err, stops(err)); err != nil {
				return b.items, err
			}
			if stops(err) {
				return b.items, nil
			}
		}
		open = open[n:]
	}
	return b.items, nil
}

// batch is one call of Read.
type batch struct {
	s      *session
	fs     query.FieldSet
	refs   []scope.Ref
	items  []adapters.Item
	issues []*issue
	done   []bool
	at     time.Time
}

func (b *batch) settle(i int, it adapters.Item) { b.items[i], b.done[i] = it, true }

// stops reports whether an error means that nothing more is to be asked now.
func stops(err error) bool {
	return errors.Is(err, adapters.ErrThrottled) || errors.Is(err, adapters.ErrBudget)
}

// fail settles what was not read: of the whole rest where nothing more is to be asked. It gives an error back only when the
// whole scope is concerned.
func (b *batch) fail(ctx context.Context, is []int, err error, rest bool) error {
	if ctx.Err() != nil {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "read", Err: ctx.Err()}
	}
	if !rest {
		is = is[:min(len(is), readBatch)]
	}
	for _, i := range is {
		if !b.done[i] {
			b.settle(i, unreadable(b.refs[i], err))
		}
	}
	if asError(err).Severity == adapters.ScopeFailure {
		return err
	}
	return nil
}

// read fetches a hundred issues, and then what of them has lists of its own.
func (b *batch) read(ctx context.Context, is []int) error {
	rows, at, err := b.fetch(ctx, is)
	if err != nil {
		return err
	}
	b.at = at
	var here []int
	for _, i := range is {
		raw, ok := rows[b.refs[i].ID]
		if !ok {
			if err := b.absent(ctx, i); err != nil {
				return err
			}
			continue
		}
		if b.present(i, raw) {
			here = append(here, i)
		}
	}
	return b.details(ctx, here)
}

// present takes an issue in; false when it is not this scope's, or cannot be read.
func (b *batch) present(i int, raw json.RawMessage) bool {
	ref, s := b.refs[i], b.s
	row, err := decodeIssue(raw)
	if err != nil {
		b.settle(i, unreadable(ref, momentError(ref, fmt.Errorf("%w: %w", adapters.ErrProtocol, err))))
		return false
	}
	it := s.item(row, b.at)
	switch {
	case it.Place.Container == "":
		b.settle(i, unreadable(ref, itemError(ref, fmt.Errorf("%w: it names no project", scope.ErrUnproven))))
	case it.Place.Container != s.scope.Container:
		b.settle(i, gone(ref, itemError(ref, fmt.Errorf("%w: it is %s now", adapters.ErrMoved, row.Key))))
	case row.archived:
		b.settle(i, unreadable(ref, itemError(ref, errors.New("it is archived"))))
	default:
		b.items[i], b.issues[i] = it, row
		return true
	}
	return false
}

// fetch reads issues by id. What is missing in the answer is hidden, deleted, or could not be read just now.
func (b *batch) fetch(ctx context.Context, is []int) (map[string]json.RawMessage, time.Time, error) {
	ids := make([]string, len(is))
	for k, i := range is {
		ids[k] = b.refs[i].ID
	}
	if b.s.dc {
		return b.fetchEach(ctx, ids)
	}
	var out struct {
		Issues []json.RawMessage `json:"issues"`
	}
	a, err := b.s.api.Do(ctx, api.Request{Op: fmt.Sprintf("read %d issues", len(ids)), Class: adapters.Read, Method: http.MethodPost, Path: b.s.path("issue/bulkfetch"), Item: true,
		Body: map[string]any{"issueIdsOrKeys": ids, "fields": listed(b.fs)}}, &out)
	if err != nil {
		return nil, time.Time{}, err
	}
	if out.Issues == nil {
		return nil, time.Time{}, protocol("read issues", "there is no list in the answer")
	}
	return byID(out.Issues), b.s.at(a), nil
}

func byID(rows []json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, raw := range rows {
		var head issueKey
		if json.Unmarshal(raw, &head) == nil {
			out[head.ID] = raw
		}
	}
	return out
}

// fetchEach reads issues one by one, on Data Center.
func (b *batch) fetchEach(ctx context.Context, ids []string) (map[string]json.RawMessage, time.Time, error) {
	out, at := map[string]json.RawMessage{}, b.s.api.Clock()
	for _, id := range ids {
		var raw json.RawMessage
		_, err := b.s.api.Do(ctx, api.Request{Op: "read issue " + id, Class: adapters.Read, Path: b.s.path("issue/%s", id), Item: true,
			Query: url.Values{"fields": {strings.Join(listed(b.fs), ",")}}}, &raw)
		if errors.Is(err, adapters.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, at, err
		}
		out[id] = raw
	}
	return out, at, nil
}

// absent asks for one issue that did not come: 404 says that it is gone, or hidden from this account by itself; the project
// can be read, which Health made sure of. Nothing else is a proof.
func (b *batch) absent(ctx context.Context, i int) error {
	ref := b.refs[i]
	if !b.s.dc {
		var raw json.RawMessage
		a, err := b.s.api.Do(ctx, api.Request{Op: "read issue " + ref.Key, Class: adapters.Read, Path: b.s.path("issue/%s", ref.ID), Item: true,
			Query: url.Values{"fields": {strings.Join(listed(b.fs), ",")}}}, &raw)
		switch {
		case errors.Is(err, adapters.ErrNotFound):
		case stops(err) || ctx.Err() != nil || err != nil && asError(err).Severity == adapters.ScopeFailure:
			return err
		case err != nil:
			b.settle(i, unreadable(ref, err))
			return nil
		default:
			b.at = b.s.at(a)
			if b.present(i, raw) {
				return b.details(ctx, []int{i})
			}
			return nil
		}
	}
	b.settle(i, gone(ref, itemError(ref, fmt.Errorf("%w: deleted, or hidden from this account", adapters.ErrNotFound))))
	return nil
}

// details reads changelogs and comments of what was fetched, and settles it.
func (b *batch) details(ctx context.Context, is []int) error {
	var hist, talk, links []int
	for _, i := range is {
		if b.needsHistory(i) {
			hist = append(hist, i)
		}
		if b.fs.Has(query.FComment) || b.fs.Has(query.FLastComment) {
			talk = append(talk, i)
		}
		if b.fs.Has(query.FLinked) {
			links = append(links, i)
		}
	}
	if err := b.histories(ctx, hist); err != nil {
		return err
	}
	for _, i := range talk {
		if err := b.comments(ctx, i); err != nil {
			if stops(err) || ctx.Err() != nil || asError(err).Severity == adapters.ScopeFailure {
				return err
			}
			b.settle(i, unreadable(b.refs[i], err))
		}
	}
	if err := b.linked(ctx, links); err != nil {
		return err
	}
	for _, i := range is {
		if b.done[i] {
			continue
		}
		if bad := b.brokenIn(i); bad != "" {
			b.settle(i, unreadable(b.refs[i], momentError(b.refs[i], fmt.Errorf("%w: field %s cannot be read", adapters.ErrProtocol, bad))))
			continue
		}
		b.done[i] = true
	}
	return nil
}

// brokenIn is a field that fs needs and that could not be read.
func (b *batch) brokenIn(i int) string {
	of := map[string][]query.FieldID{"summary": {query.FTitle}, "description": {query.FBody}, "labels": {query.FLabel}, "status": {query.FStatus, query.FState, query.FStatusCategory, query.FClosed},
		"issuetype": {query.FType}, "priority": {query.FPriority}, "components": {query.FComponent}, "fixVersions": {query.FFixVersion}, "assignee": {query.FAssignee},
		"creator": {query.FAuthor, query.FAuthorKind}, "duedate": {query.FDue}, "parent": {query.FParent}}
	for _, name := range b.issues[i].broken {
		for _, f := range of[name] {
			if b.fs.Has(f) {
				return name
			}
		}
	}
	return ""
}

func (b *batch) needsHistory(i int) bool {
	closed := b.fs.Has(query.FClosed) && b.items[i].Facts.Get(query.FClosed).Presence != query.Known
	return closed || b.fs.Has(query.FTitle) || b.fs.Has(query.FBody) || b.fs.Has(query.FLabel) && len(b.issues[i].labels) > 0
}

// at is the provider's clock of an answer, or the newest that is known.
func (s *session) at(a api.Answer) time.Time {
	if a.Clock.IsZero() {
		return s.api.Clock()
	}
	return a.Clock
}

// comments reads all comments of one issue, oldest first. What was edited is its editor's.
func (b *batch) comments(ctx context.Context, i int) error {
	row, f := b.issues[i], b.items[i].Facts
	fact := query.Fact{Presence: query.Known}
	last := row.created
	for start := 0; ; {
		var page struct {
			Total    *int       `json:"total"`
			Comments []*comment `json:"comments"`
		}
		_, err := b.s.api.Do(ctx, api.Request{Op: "read comments of " + row.Key, Class: adapters.Read, Path: b.s.path("issue/%s/comment", row.ID), Item: true,
			Query: url.Values{"startAt": {strconv.Itoa(start)}, "maxResults": {"100"}, "orderBy": {"created"}}}, &page)
		if err != nil {
			return err
		}
		if page.Total == nil || page.Comments == nil {
			return momentError(b.refs[i], fmt.Errorf("%w: the comments have no list or total", adapters.ErrProtocol))
		}
		for _, c := range page.Comments {
			if err := b.comment(&fact, c, &last); err != nil {
				return momentError(b.refs[i], fmt.Errorf("%w: a comment: %w", adapters.ErrProtocol, err))
			}
		}
		start += len(page.Comments)
		if start >= *page.Total {
			break
		}
		if len(page.Comments) == 0 || start > maxRows {
			return momentError(b.refs[i], fmt.Errorf("%w: %d of %d comments", adapters.ErrProtocol, start, *page.Total))
		}
	}
	f.Set(query.FComment, fact)
	if !row.created.IsZero() {
		f.SetKnown(query.FLastComment, query.Instant(last))
	}
	return nil
}

// maxRows of one entity's list.
const maxRows = 20000

type comment struct {
	ID      string          `json:"id"`
	Author  *account        `json:"author"`
	Editor  *account        `json:"updateAuthor"`
	Body    json.RawMessage `json:"body"`
	Created *string         `json:"created"`
	Updated *string         `json:"updated"`
}

func (b *batch) comment(fact *query.Fact, c *comment, last *time.Time) error {
	if c == nil || c.ID == "" {
		return errors.New("it is null in the answer")
	}
	text, err := plainText(c.Body)
	if err != nil {
		return err
	}
	created, err := parseStamp(c.Created)
	if err != nil {
		return err
	}
	updated, err := parseStamp(c.Updated)
	if err != nil {
		return err
	}
	e := query.Element{Key: c.ID, Rev: digest(text + "\x00" + updated.String()), Editors: query.EditorsNamed, Actor: user(c.Author), At: created}
	if !updated.IsZero() && !updated.Equal(created) {
		e.Actor, e.At = user(c.Editor), updated
	}
	e.Members = []query.Member{{ID: query.MText, Fact: known(query.Text(text))}, {ID: query.MCommand, Fact: command(text)}}
	fact.Items = append(fact.Items, e)
	author := user(e2(c))
	if !author.Bot && !b.s.agents[author.ID] && e.At.After(*last) {
		*last = e.At
	}
	return nil
}

// e2 is who wrote the current revision.
func e2(c *comment) *account {
	if c.Updated != nil && c.Created != nil && *c.Updated != *c.Created {
		return c.Editor
	}
	return c.Author
}

// command is the first token of the first line, when it starts with a slash.
func command(text string) query.Fact {
	line, _, _ := strings.Cut(text, "\n")
	if words := strings.Fields(line); len(words) > 0 && strings.HasPrefix(words[0], "/") && len(words[0]) > 1 {
		return known(query.Name(words[0]))
	}
	return known()
}

// linked asks Cloud's development information whether an issue has pull requests. Whose they are it does not say.
func (b *batch) linked(ctx context.Context, is []int) error {
	if len(is) == 0 {
		return nil
	}
	unknown := func(why string) {
		for _, i := range is {
			b.items[i].Facts.Set(query.FLinked, query.Fact{Why: why})
		}
	}
	if b.s.dc {
		unknown("Data Center cannot be asked for development information")
		return nil
	}
	ids := make([]int64, len(is))
	for k, i := range is {
		ids[k], _ = strconv.ParseInt(b.refs[i].ID, 10, 64)
	}
	var out struct {
		Matches []struct {
			Matched []int64  `json:"matchedIssues"`
			Errors  []string `json:"errors"`
		} `json:"matches"`
	}
	_, err := b.s.api.Do(ctx, api.Request{Op: "ask for linked proposals", Class: adapters.Read, Method: http.MethodPost, Path: b.s.path("jql/match"), Item: true,
		Body: map[string]any{"issueIds": ids, "jqls": []string{"development[pullrequests].all > 0"}}}, &out)
	switch {
	case err != nil && (stops(err) || ctx.Err() != nil):
		return err
	case err != nil:
		unknown("asking for development information: " + err.Error())
		return nil
	case len(out.Matches) != 1 || len(out.Matches[0].Errors) > 0:
		unknown("this site has no development information")
		return nil
	}
	for k, i := range is {
		fact := query.Fact{Presence: query.Known}
		for _, id := range out.Matches[0].Matched {
			if id == ids[k] {
				fact.Items = []query.Element{{Key: "development", Editors: query.EditorsUnread}}
			}
		}
		b.items[i].Facts.Set(query.FLinked, fact)
	}
	return nil
}

func itemError(ref scope.Ref, err error) error {
	return &adapters.Error{Severity: adapters.ItemFailure, Op: "read " + label(ref), Err: err}
}

func momentError(ref scope.Ref, err error) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: "read " + label(ref), Status: http.StatusOK, Err: err}
}

func label(ref scope.Ref) string {
	if ref.Key == "" {
		return "issue " + ref.ID
	}
	return ref.Key
}

func gone(ref scope.Ref, err error) adapters.Item {
	return adapters.Item{Ref: ref, State: adapters.Gone, Err: asError(err)}
}

func unreadable(ref scope.Ref, err error) adapters.Item {
	return adapters.Item{Ref: ref, State: adapters.Unreadable, Err: asError(err)}
}

func asError(err error) *adapters.Error {
	var e *adapters.Error
	if errors.As(err, &e) {
		return e
	}
	return &adapters.Error{Severity: adapters.ItemFailure, Op: "read", Err: err}
}
