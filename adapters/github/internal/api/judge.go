package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
)

// ErrHeavy: the server could not compute the answer; a smaller page may do. It comes with one of the adapters' own
// sentinels.
var ErrHeavy = errors.New("too much for one request")

// Waits without the provider's word: a minute at first, growing, as GitHub asks for.
const (
	firstWait = time.Minute
	lastWait  = 30 * time.Minute
)

func severity(r Request) adapters.Severity {
	if r.Item {
		return adapters.ItemFailure
	}
	return adapters.ScopeFailure
}

// observe tells the budget what an answer means for it. GitHub's limits come under several statuses, so what is one
// is reported as 429 with the wait in its header; so is a good answer that was the hour's last.
func (c *Client) observe(r Request, res *result) {
	limited := res.limited()
	c.mu.Lock()
	switch {
	case !limited && res.status == http.StatusOK:
		c.limits = 0
	case limited && c.wait(res) == 0:
		c.limits++
	}
	c.mu.Unlock()
	wait := time.Duration(0)
	switch {
	case limited:
		wait = c.after(res)
	case res.spent():
		wait = res.reset(c.o.Now())
	}
	if wait == 0 {
		c.o.Budget.Observe(r.Class, res.status, res.header)
		return
	}
	h := res.header.Clone()
	h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	c.o.Budget.Observe(r.Class, http.StatusTooManyRequests, h)
}

// wait is the provider's word on when to come back; 0 when it gave none.
func (c *Client) wait(res *result) time.Duration {
	if d := adapters.RetryAfter(res.header, c.o.Now()); d > 0 {
		return d
	}
	if res.spent() {
		return res.reset(c.o.Now())
	}
	return 0
}

// after is how long a limit lasts: the provider's word, else a minute and twice as long each time.
func (c *Client) after(res *result) time.Duration {
	if d := c.wait(res); d > 0 {
		return d
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(firstWait<<min(max(c.limits-1, 0), 5), lastWait)
}

// judgeREST passes 200 only.
func (c *Client) judgeREST(r Request, res *result) error {
	if res.limited() {
		return c.throttled(r, res, message(res.body))
	}
	if res.status == http.StatusOK {
		return nil
	}
	return c.statusError(r, res)
}

// judgeGraphQL gives the data, or the error that there is none.
func (c *Client) judgeGraphQL(r Request, res *result) (json.RawMessage, Answer, error) {
	a := res.answer()
	var env envelope
	decoded := res.decode(&env)
	a.Errors = env.Errors
	switch {
	case res.limited():
		return nil, a, c.throttled(r, res, cmpOr(first(env.Errors), env.Message))
	case res.status != http.StatusOK:
		return nil, a, c.statusError(r, res)
	case decoded != nil:
		return nil, a, &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Status: res.status, Err: decoded}
	}
	data := bytes.TrimSpace(env.Data)
	if len(data) == 0 || data[0] != '{' {
		return nil, a, c.noData(r, res, env.Errors)
	}
	return env.Data, a, nil
}

// noData: null is never "nothing there".
func (c *Client) noData(r Request, res *result, errs []GraphQLError) error {
	e := &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Status: res.status}
	e.Err = fmt.Errorf("%w: no data and no error", adapters.ErrProtocol)
	for i := range errs {
		g := &errs[i]
		switch {
		case g.Heavy():
			e.Err = fmt.Errorf("%w: %w: %s", ErrHeavy, adapters.ErrUnavailable, hide(g.Text(), res.token))
		case g.NotFound():
			e.Severity, e.Err = severity(r), fmt.Errorf("%w: %s", adapters.ErrNotFound, hide(g.Text(), res.token))
		case g.Forbidden():
			e.Severity, e.Err = severity(r), fmt.Errorf("%w: %s", adapters.ErrForbidden, hide(g.Text(), res.token))
		case g.Extensions.Code != "": // the query is not one of this server's schema
			e.Severity, e.Err = adapters.ScopeFailure, fmt.Errorf("%w: %s", adapters.ErrProtocol, hide(g.Text(), res.token))
		default:
			e.Err = fmt.Errorf("%w: %s", adapters.ErrProtocol, hide(g.Text(), res.token))
		}
		return e
	}
	return e
}

func first(errs []GraphQLError) string {
	if len(errs) == 0 {
		return ""
	}
	return errs[0].Message
}

func (c *Client) throttled(r Request, res *result, text string) error {
	e := &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Status: res.status, After: c.after(res), Err: adapters.ErrThrottled}
	if text = hide(clip(text), res.token); text != "" {
		e.Err = fmt.Errorf("%w: %s", adapters.ErrThrottled, text)
	}
	return e
}

// statusError judges every status but 200.
func (c *Client) statusError(r Request, res *result) error {
	e := &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Status: res.status, After: adapters.RetryAfter(res.header, c.o.Now())}
	say := func(sentinel error) {
		e.Err = sentinel
		if m := hide(message(res.body), res.token); m != "" {
			e.Err = fmt.Errorf("%w: %s", sentinel, m)
		}
	}
	switch s := res.status; {
	case s == http.StatusUnauthorized:
		say(adapters.ErrUnauthorized)
	case s == http.StatusForbidden:
		e.Severity = severity(r)
		say(adapters.ErrForbidden)
	case s == http.StatusNotFound, s == http.StatusGone:
		e.Severity = severity(r)
		say(adapters.ErrNotFound)
	case s == http.StatusBadGateway, s == http.StatusGatewayTimeout:
		e.Severity = adapters.MomentFailure
		say(fmt.Errorf("%w: %w", ErrHeavy, adapters.ErrUnavailable))
	case s >= 500, s == http.StatusRequestTimeout:
		e.Severity = adapters.MomentFailure
		say(adapters.ErrUnavailable)
	case s >= 300 && s < 400:
		e.Err = fmt.Errorf("%w: redirected to another host or too often; check base_url", adapters.ErrProtocol)
	case s < 300:
		e.Severity = adapters.MomentFailure
		say(adapters.ErrProtocol)
	default:
		say(adapters.ErrProtocol)
	}
	return e
}

// networkError keeps the cause matchable when the caller's context ended, and otherwise keeps only its text: a URL error
// carries the URL, whose query is nobody's business.
func networkError(ctx context.Context, r Request, token string, err error) error {
	e := &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op}
	if ctx.Err() != nil {
		e.Err = ctx.Err()
		return e
	}
	cause := err
	for u := errors.Unwrap(cause); u != nil; u = errors.Unwrap(cause) {
		cause = u
	}
	e.Err = fmt.Errorf("%w: %s", adapters.ErrUnavailable, clip(hide(cause.Error(), token)))
	return e
}

// message is what the server says of an error, when it says it in JSON.
func message(body []byte) string {
	var m struct {
		Message string         `json:"message"`
		Errors  []GraphQLError `json:"errors"`
	}
	if json.Unmarshal(body, &m) != nil && m.Message == "" {
		return ""
	}
	return clip(cmpOr(m.Message, first(m.Errors)))
}

func hide(s, token string) string {
	if token == "" {
		return s
	}
	return strings.ReplaceAll(s, token, "***")
}

// clip makes foreign text fit for an error: short, and without control characters.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return s
}
