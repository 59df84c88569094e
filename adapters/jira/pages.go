package jira

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// The walks.
const (
	walkChanged = "changed"
	walkAll     = "all"
)

const (
	pageSize = 100 // with fields, Cloud gives no more
	maxPages = 20000
	byKey    = " ORDER BY id ASC"
)

// lag is how long a change may stay unseen by the index: "a few seconds to minutes" on Cloud. The audit of the sweeps widens
// it where it is too small.
const lag = 3 * time.Minute

func changedWalk() adapters.Walk {
	return adapters.Walk{Name: walkChanged, Kind: query.Changes, Lag: lag, Grain: time.Second, WholePages: true}
}

func sweepWalk() adapters.Walk {
	return adapters.Walk{Name: walkAll, Kind: query.Sweep, Lag: lag, Grain: time.Second, WholePages: true}
}

// cursor is where a walk stands.
type cursor struct {
	Walk    string   `json:"w"`
	Search  string   `json:"q"`           // a digest of a sweep's text
	Since   int64    `json:"s,omitempty"` // milliseconds
	Minutes int64    `json:"m,omitempty"` // a window's bound before now, as it was when the walk began
	Token   string   `json:"t,omitempty"` // Cloud
	Seen    []string `json:"k,omitempty"` // digests of the newest tokens
	Offset  int      `json:"o,omitempty"` // Data Center: rows before the next page
	Last    int64    `json:"l,omitempty"` // Data Center: number of the last row given
	Backs   int      `json:"b,omitempty"` // Data Center: steps back without a new row
	Pages   int      `json:"p,omitempty"`
	Rows    int      `json:"r,omitempty"`
}

func (c cursor) encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	return b
}

func decodeCursor(b []byte, start cursor) (cursor, error) {
	if len(b) == 0 {
		return start, nil
	}
	var c cursor
	if err := json.Unmarshal(b, &c); err != nil || c.Offset < 0 || c.Last < 0 || c.Pages < 0 || c.Backs < 0 || c.Minutes < 0 || c.Rows < 0 {
		return start, fmt.Errorf("%w: it is not one of this adapter's", adapters.ErrCursor)
	}
	if c.Walk != start.Walk || c.Since != start.Since || c.Search != start.Search {
		return start, fmt.Errorf("%w: it belongs to another walk, window or search", adapters.ErrCursor)
	}
	return c, nil
}

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// Pages lists a walk. Windows are open above: Until is not used. See the package comment for why nothing is lost.
func (s *session) Pages(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	return func(yield func(adapters.Page, error) bool) {
		fail := func(sev adapters.Severity, err error) {
			yield(adapters.Page{}, &adapters.Error{Severity: sev, Op: "list " + w.Name, Err: err})
		}
		own, ok := p.(*plan)
		if !ok {
			own = &plan{project: s.inProject().String(), fields: listed(query.FieldSet{})}
		}
		start := cursor{Walk: w.Name}
		switch w.Name {
		case walkChanged:
			if !at.Since.IsZero() {
				start.Since = max(at.Since.UnixMilli(), 1)
				start.Minutes = max(0, int64(s.api.Clock().Sub(at.Since)/time.Minute)) + 2
			}
		case walkAll:
			start.Search = digest(own.sweep())
		default:
			fail(adapters.ScopeFailure, errors.New("no such walk"))
			return
		}
		c, err := decodeCursor(at.Cursor, start)
		if err != nil {
			fail(adapters.MomentFailure, err)
			return
		}
		for {
			page, then, err := s.page(ctx, own, c)
			if err != nil {
				yield(adapters.Page{}, err)
				return
			}
			if then != nil {
				page.Next = then.encode()
			}
			if !yield(page, nil) || then == nil {
				return
			}
			c = *then
		}
	}
}

// text is the JQL of a walk.
func (s *session) text(own *plan, c cursor) string {
	if c.Walk == walkAll {
		return own.sweep()
	}
	if c.Since == 0 {
		return own.project + byKey
	}
	minutes := word(fmt.Sprintf("-%dm", c.Minutes))
	bound := some(test("updated", ">=", numeral(strconv.FormatInt(c.Since, 10))), test("updated", ">=", minutes))
	if s.plainBound() {
		bound = test("updated", ">=", minutes)
	}
	return own.project + " AND (" + bound.String() + ")" + byKey
}

// plainBound: the site refuses milliseconds, so minutes before now are all that there is.
func (s *session) plainBound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.valid[epochRefused]
}

const epochRefused = "updated >= milliseconds is refused"

// page asks for one page and says where the next one begins.
func (s *session) page(ctx context.Context, own *plan, c cursor) (adapters.Page, *cursor, error) {
	text, token := s.text(own, c), c.Token
	if s.dc {
		token = strconv.Itoa(max(0, c.Offset-1)) // one row again, see advance
	}
	got, err := s.askText(ctx, "list "+c.Walk, text, pageSize, token, own.fields)
	switch {
	case errors.Is(err, api.ErrQuery) && c.Token != "":
		return adapters.Page{}, nil, &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + c.Walk, Status: http.StatusBadRequest,
			Err: fmt.Errorf("%w: the server does not take the token any more: %w", adapters.ErrCursor, err)}
	case errors.Is(err, api.ErrQuery) && c.Walk == walkChanged && c.Since != 0 && !s.plainBound():
		s.took(epochRefused, true)
		return s.page(ctx, own, c)
	case errors.Is(err, api.ErrQuery) && c.Walk == walkAll && own.where != "":
		s.took(own.where, false) // the next cycle compiles without it
		return adapters.Page{}, nil, &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + c.Walk, Status: http.StatusBadRequest, Err: err}
	case err != nil:
		return adapters.Page{}, nil, err
	}
	page := s.rows(got, own)
	next := c
	next.Pages++
	if next.Pages > maxPages {
		return adapters.Page{}, nil, cursorError(c, "the listing does not end")
	}
	if s.dc {
		return s.advanceOffset(ctx, own, page, got, c, next)
	}
	return s.advanceToken(ctx, own, page, got, c, next)
}

func cursorError(c cursor, why string) error {
	return &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + c.Walk, Err: fmt.Errorf("%w: %s", adapters.ErrCursor, why)}
}

// advanceToken goes on as long as there is a token; a page may be short or empty before.
func (s *session) advanceToken(ctx context.Context, own *plan, page adapters.Page, got answer, c, next cursor) (adapters.Page, *cursor, error) {
	next.Rows += len(got.rows)
	if got.token == "" {
		if got.last != nil && !*got.last {
			return page, nil, cursorError(c, "the server says that there is more and not where")
		}
		s.alarm(ctx, own, &page, next)
		return page, nil, nil
	}
	d := digest(got.token)
	if got.token == c.Token || slices.Contains(c.Seen, d) {
		return page, nil, cursorError(c, "the server names a place again that was read before")
	}
	next.Token = got.token
	next.Seen = append(slices.Clone(c.Seen), d)
	if len(next.Seen) > 32 {
		next.Seen = next.Seen[len(next.Seen)-32:]
	}
	return page, &next, nil
}

// alarm holds the rows of a whole sweep against the server's estimate. Fewer rows than that prove nothing but that a walk
// which ended in good order may have been cut (one was seen to end after 126,000 of 197,760).
func (s *session) alarm(ctx context.Context, own *plan, page *adapters.Page, end cursor) {
	if end.Walk != walkAll || end.Pages < 2 {
		return
	}
	var n struct {
		Count int `json:"count"`
	}
	_, err := s.api.Do(ctx, api.Request{Op: "estimate the sweep", Class: adapters.Search, Method: http.MethodPost, Path: s.path("search/approximate-count"),
		Body: map[string]any{"jql": own.sweep()}, Item: true}, &n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = ""
	if err != nil || n.Count <= end.Rows+10+end.Rows/20 {
		return
	}
	s.counts = fmt.Sprintf("the last sweep ended after %d issues, and the server estimates %d", end.Rows, n.Count)
	if page.Short == nil {
		page.Short = &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + end.Walk, Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, s.counts)}
	}
}

// advanceOffset: the page began one row before its place. When its first row lies behind the last one that was given, rows
// have left the set in front, and the reader steps back.
func (s *session) advanceOffset(ctx context.Context, own *plan, page adapters.Page, got answer, c, next cursor) (adapters.Page, *cursor, error) {
	start := max(0, c.Offset-1)
	drifted := start > 0 && (len(page.Items) == 0 || page.Items[0].Number > c.Last)
	if drifted {
		back := c
		back.Offset, back.Pages, back.Backs = max(0, start-pageSize), next.Pages, c.Backs+1
		if back.Backs > mostBacks {
			return page, nil, cursorError(c, "the listing shifts faster than it can be read")
		}
		return s.page(ctx, own, back)
	}
	page.Items = slices.DeleteFunc(page.Items, func(it adapters.Item) bool { return it.Number <= c.Last && it.Number != 0 })
	for _, it := range page.Items {
		if it.Number > next.Last {
			next.Last, next.Backs = it.Number, 0
		}
	}
	next.Offset = start + distinct(got.rows)
	page.Total = got.total
	switch {
	case next.Offset >= got.total:
		return page, nil, nil
	case next.Offset <= c.Offset:
		return page, nil, cursorError(c, fmt.Sprintf("the server says that there are %d issues and gives no more than %d", got.total, next.Offset))
	}
	return page, &next, nil
}

// mostBacks bounds the steps back; a sweep that is read again from the beginning is the next answer.
const mostBacks = 200

// distinct counts rows without those that come twice, which would make the next page begin too late.
func distinct(rows []json.RawMessage) int {
	n, last := 0, ""
	for _, r := range rows {
		if s := string(r); s != last || s == "null" {
			n++
			last = s
		}
	}
	return n
}

// answer is one page of either search.
type answer struct {
	rows     []json.RawMessage
	token    string
	last     *bool
	warnings []string
	total    int
	clock    time.Time
}

func (s *session) ask(ctx context.Context, op string, c clause, n int, token string, fields []string) (answer, error) {
	return s.askAs(ctx, adapters.Identity, op, c.String()+byKey, n, token, fields)
}

func (s *session) askText(ctx context.Context, op, jql string, n int, token string, fields []string) (answer, error) {
	return s.askAs(ctx, adapters.Search, op, jql, n, token, fields)
}

// askAs sends one search. token is the offset on Data Center. Questions about the site itself are of class Identity.
func (s *session) askAs(ctx context.Context, class adapters.Class, op, jql string, n int, token string, fields []string) (answer, error) {
	body := map[string]any{"jql": jql, "maxResults": n, "fields": fields}
	if fields == nil {
		body["fields"] = []string{"id"}
	}
	path := s.path("search/jql")
	if s.dc {
		path = s.path("search")
		offset, _ := strconv.Atoi(token) // "" is the beginning
		body["startAt"], body["validateQuery"] = offset, "strict"
	} else if token != "" {
		body["nextPageToken"] = token
	}
	var out struct {
		Issues   *[]json.RawMessage `json:"issues"`
		Token    *string            `json:"nextPageToken"`
		Last     *bool              `json:"isLast"`
		Warnings []json.RawMessage  `json:"warnings"`
		Messages []string           `json:"warningMessages"`
		Total    *int               `json:"total"`
	}
	a, err := s.api.Do(ctx, api.Request{Op: op, Class: class, Method: http.MethodPost, Path: path, Body: body}, &out)
	if err != nil {
		return answer{}, err
	}
	if out.Issues == nil {
		return answer{}, protocol(op, "there is no list in the answer")
	}
	if s.dc && (out.Total == nil || *out.Total < 0) {
		return answer{}, protocol(op, "there is no total in the answer")
	}
	got := answer{rows: *out.Issues, last: out.Last, clock: a.Clock, warnings: out.Messages}
	if got.clock.IsZero() {
		got.clock = s.api.Clock()
	}
	if out.Token != nil {
		got.token = *out.Token
	}
	if out.Total != nil {
		got.total = *out.Total
	}
	for _, w := range out.Warnings {
		got.warnings = append(got.warnings, api.Clip(string(w)))
	}
	return got, nil
}

// rows maps one page. A row that is null or broken, or names no project, makes it short; so does any warning.
func (s *session) rows(got answer, own *plan) adapters.Page {
	p := adapters.Page{Clock: got.clock}
	short := func(sev adapters.Severity, err error) {
		if p.Short == nil {
			p.Short = &adapters.Error{Severity: sev, Op: "list", Err: err}
		}
	}
	if len(got.warnings) > 0 {
		short(adapters.MomentFailure, fmt.Errorf("%w: the server warns that the answer may be cut: %s", adapters.ErrProtocol, api.Clip(got.warnings[0])))
	}
	for _, raw := range got.rows {
		i, err := decodeIssue(raw)
		if err != nil {
			short(adapters.MomentFailure, fmt.Errorf("%w: a row: %w", adapters.ErrProtocol, err))
			continue
		}
		it := s.item(i, got.clock)
		it.Token = digest(string(raw))
		if len(i.broken) > 0 {
			short(adapters.MomentFailure, fmt.Errorf("%w: %s: field %s cannot be read", adapters.ErrProtocol, i.Key, i.broken[0]))
			it.Token = ""
		}
		if it.Place.Container == "" {
			short(adapters.MomentFailure, fmt.Errorf("%w: %s names no project", scope.ErrUnproven, i.Key))
		}
		p.Items = append(p.Items, it)
	}
	return p
}
