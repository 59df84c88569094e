package jira

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// entry is one entry of a changelog, with one item or more.
type entry struct {
	ID      string    `json:"id"`
	Author  *account  `json:"author"`
	Created stampOrMS `json:"created"`
	Items   []*change `json:"items"`
}

// change is one item: of labels, the whole set before and after, parted by spaces.
type change struct {
	Field      string  `json:"field"`
	FieldID    string  `json:"fieldId"`
	To         *string `json:"to"`
	FromString *string `json:"fromString"`
	ToString   *string `json:"toString"`
}

// about goes by the field's id, where it comes, else by its name.
func (c *change) about(id string) bool {
	if c.FieldID != "" {
		return c.FieldID == id
	}
	return strings.EqualFold(c.Field, id)
}

// stampOrMS is a time as the schema or as the example of the bulk endpoint has it.
type stampOrMS struct{ time.Time }

// UnmarshalJSON reads a time stamp or milliseconds.
func (t *stampOrMS) UnmarshalJSON(b []byte) error {
	var ms int64
	if json.Unmarshal(b, &ms) == nil && ms > 0 {
		t.Time = time.UnixMilli(ms).UTC()
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	at, err := parseStamp(&s)
	if at.IsZero() && err == nil {
		err = errors.New("no time")
	}
	t.Time = at
	return err
}

// histories reads changelogs and attributes texts and labels by them.
func (b *batch) histories(ctx context.Context, is []int) error {
	if len(is) == 0 {
		return nil
	}
	logs, err := b.logs(ctx, is)
	if err != nil {
		return err
	}
	for _, i := range is {
		row, f := b.issues[i], b.items[i].Facts
		log := logs[row.ID]
		slices.SortStableFunc(log, func(x, y *entry) int {
			return cmp.Or(x.Created.Compare(y.Created.Time), cmp.Compare(atoi(x.ID), atoi(y.ID)))
		})
		b.attribute(row, f, log)
		if f.Get(query.FClosed).Presence != query.Known && b.fs.Has(query.FClosed) {
			if err := b.closing(ctx, row, f, log); err != nil {
				return err
			}
		}
	}
	return nil
}

func atoi(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// attribute says who wrote the current texts and applied the labels. What no entry mentions was there from the beginning,
// and is the creator's.
func (b *batch) attribute(row *issue, f *query.Facts, log []*entry) {
	creator := query.User{Deleted: true}
	if row.got["creator"] {
		creator = user(row.creator)
	}
	for field, id := range map[string]query.FieldID{"summary": query.FTitle, "description": query.FBody} {
		fact := *f.Get(id)
		if len(fact.Items) != 1 {
			continue
		}
		e := fact.Items[0]
		e.Editors, e.Actor, e.At = query.EditorsNamed, creator, row.created
		for _, en := range log {
			for _, c := range en.Items {
				if c.about(field) {
					e.Actor, e.At = user(en.Author), en.Created.Time
				}
			}
		}
		e.Rev += "@" + strconv.FormatInt(e.At.UnixMilli(), 10)
		f.SetItems(id, e)
	}
	b.labels(row, f, creator, log)
}

// labels: each entry has the whole set before and after, so a label is whose entry last brought it in.
func (b *batch) labels(row *issue, f *query.Facts, creator query.User, log []*entry) {
	fact := *f.Get(query.FLabel)
	if fact.Presence == query.Unknown {
		return
	}
	type applied struct {
		by query.User
		at time.Time
		id string
	}
	last := map[string]applied{}
	for _, en := range log {
		for _, c := range en.Items {
			if !c.about("labels") {
				continue
			}
			before := map[string]bool{}
			for _, l := range fields(c.FromString) {
				before[l] = true
			}
			for _, l := range fields(c.ToString) {
				if !before[l] {
					last[l] = applied{user(en.Author), en.Created.Time, en.ID}
				}
			}
		}
	}
	fact.Items = slices.Clone(fact.Items)
	for k := range fact.Items {
		e := &fact.Items[k]
		e.Editors, e.Actor, e.At, e.Rev = query.EditorsNamed, creator, row.created, "created"
		if a, ok := last[e.Key]; ok {
			e.Actor, e.At, e.Rev = a.by, a.at, a.id
		}
	}
	f.Set(query.FLabel, fact)
}

func fields(s *string) []string {
	if s == nil {
		return nil
	}
	return strings.Split(*s, " ")
}

// closing finds when the status last became one of category done, where the row does not say: the start of the last
// unbroken run of such statuses.
func (b *batch) closing(ctx context.Context, row *issue, f *query.Facts, log []*entry) error {
	done, err := b.s.doneStatuses(ctx)
	if err != nil {
		return err
	}
	at := row.created
	was := false
	for _, en := range log {
		for _, c := range en.Items {
			if !c.about("status") || c.To == nil {
				continue
			}
			if done[*c.To] && !was {
				at = en.Created.Time
			}
			was = done[*c.To]
		}
	}
	f.SetKnown(query.FClosed, query.Instant(at))
	return nil
}

// doneStatuses are the ids of the project's statuses in the category done.
func (s *session) doneStatuses(ctx context.Context) (map[string]bool, error) {
	var kinds []struct {
		Statuses []status `json:"statuses"`
	}
	if _, err := s.api.Do(ctx, api.Request{Op: "read the project's statuses", Class: adapters.Read, Path: s.path("project/%s/statuses", s.scope.Container), Item: true}, &kinds); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, k := range kinds {
		for _, st := range k.Statuses {
			out[st.ID] = st.Category.Key == "done"
		}
	}
	return out, nil
}

// logs reads the changelogs of up to a hundred issues: in one request for all, or one for each on Data Center.
func (b *batch) logs(ctx context.Context, is []int) (map[string][]*entry, error) {
	out := map[string][]*entry{}
	if b.s.dc {
		for _, i := range is {
			log, err := b.logOf(ctx, i)
			if err != nil {
				return nil, err
			}
			out[b.issues[i].ID] = log
		}
		return out, nil
	}
	ids := make([]string, len(is))
	for k, i := range is {
		ids[k] = b.issues[i].ID
	}
	op := fmt.Sprintf("read %d changelogs", len(ids))
	body := map[string]any{"issueIdsOrKeys": ids, "fieldIds": []string{"summary", "description", "labels", "status"}, "maxResults": 1000}
	seen := map[string]bool{}
	for {
		var page struct {
			Logs []*struct {
				IssueID string   `json:"issueId"`
				Entries []*entry `json:"changeHistories"`
			} `json:"issueChangeLogs"`
			Token *string `json:"nextPageToken"`
		}
		if _, err := b.s.api.Do(ctx, api.Request{Op: op, Class: adapters.Read, Method: http.MethodPost, Path: b.s.path("changelog/bulkfetch"), Body: body, Item: true}, &page); err != nil {
			return nil, err
		}
		if page.Logs == nil {
			return nil, protocol(op, "there is no list in the answer")
		}
		for _, l := range page.Logs {
			if l == nil || slices.Contains(l.Entries, nil) || !whole(l.Entries) {
				return nil, protocol(op, "a part of a changelog is null")
			}
			out[l.IssueID] = append(out[l.IssueID], l.Entries...)
		}
		if page.Token == nil || *page.Token == "" {
			return out, nil
		}
		if seen[*page.Token] || len(seen) > maxPages {
			return nil, protocol(op, "the server names a place again that was read before")
		}
		seen[*page.Token] = true
		body["nextPageToken"] = *page.Token
	}
}

// whole: an entry without a time or with a null item attributes nothing rightly.
func whole(es []*entry) bool {
	return !slices.ContainsFunc(es, func(e *entry) bool { return e == nil || e.Created.IsZero() || slices.Contains(e.Items, nil) })
}

// logOf reads one changelog, on Data Center: it comes with the issue, whole.
func (b *batch) logOf(ctx context.Context, i int) ([]*entry, error) {
	row := b.issues[i]
	var out struct {
		Changelog *struct {
			Total     int      `json:"total"`
			Histories []*entry `json:"histories"`
		} `json:"changelog"`
	}
	op := "read the changelog of " + row.Key
	_, err := b.s.api.Do(ctx, api.Request{Op: op, Class: adapters.Read, Path: b.s.path("issue/%s", row.ID), Item: true,
		Query: url.Values{"fields": {"summary"}, "expand": {"changelog"}}}, &out)
	switch {
	case err != nil:
		return nil, err
	case out.Changelog == nil || out.Changelog.Total != len(out.Changelog.Histories) || !whole(out.Changelog.Histories):
		return nil, protocol(op, "it is not all there")
	}
	return out.Changelog.Histories, nil
}
