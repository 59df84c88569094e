package api

import (
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

// ErrQuery: the server refused a JQL text (400). Its words are localised and are for people only.
var ErrQuery = errors.New("the search was refused")

// Waits without the provider's word.
const (
	firstWait = 5 * time.Second
	lastWait  = 30 * time.Minute
)

func severity(r Request) adapters.Severity {
	if r.Item {
		return adapters.ItemFailure
	}
	return adapters.ScopeFailure
}

// endpoint is what a burst limit is about: the method and the path without its ids.
func endpoint(r Request) string {
	parts := strings.Split(r.Path, "/")
	for i, p := range parts {
		if strings.ContainsAny(p, "0123456789") && i > 2 {
			parts[i] = "*"
		}
	}
	return r.Method + " " + strings.Join(parts, "/")
}

// pause is how long this endpoint, or everything, is still not to be asked.
func (c *Client) pause(r Request) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	wait := time.Duration(0)
	for _, k := range []string{"", endpoint(r)} {
		wait = max(wait, c.paused[k].Sub(now))
	}
	return wait
}

// burst: the limit is of one endpoint; other endpoints may be asked. Unknown reasons are taken to be about everything.
func burst(reason string) bool {
	return reason == "jira-burst-based" || reason == "jira-per-issue-on-write"
}

func (x *exchange) limited() bool {
	return x.status == http.StatusTooManyRequests || x.status == http.StatusServiceUnavailable && x.header.Get("Retry-After") != ""
}

// observe notes the clock, and tells the budget and the pauses what a limit means.
func (c *Client) observe(x *exchange) {
	c.mu.Lock()
	if t := x.clock(); !t.IsZero() {
		c.clock = t
	}
	if !x.limited() {
		if x.status == http.StatusOK {
			c.limits = 0
		}
		c.mu.Unlock()
		c.o.Budget.Observe(x.request.Class, x.status, x.header)
		return
	}
	c.limits++
	wait := c.waitOf(x)
	key := ""
	if burst(x.header.Get("RateLimit-Reason")) {
		key = endpoint(x.request)
	}
	if x.status == http.StatusTooManyRequests {
		c.paused[key] = c.o.Now().Add(wait)
	}
	c.mu.Unlock()
	h := x.header.Clone()
	h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	if key != "" && x.status == http.StatusTooManyRequests {
		c.o.Budget.Observe(x.request.Class, http.StatusOK, x.header) // the pause of the one endpoint is kept here
		return
	}
	c.o.Budget.Observe(x.request.Class, http.StatusTooManyRequests, h)
}

// waitOf is the provider's word on when to come back, else a wait that grows. A reset is an instant (ISO 8601).
func (c *Client) waitOf(x *exchange) time.Duration {
	if d := adapters.RetryAfter(x.header, c.o.Now()); d > 0 {
		return d
	}
	if t, err := time.Parse(time.RFC3339, x.header.Get("X-RateLimit-Reset")); err == nil {
		now := x.clock()
		if now.IsZero() {
			now = c.o.Now()
		}
		return min(max(t.Sub(now), time.Second), 24*time.Hour)
	}
	return min(firstWait<<min(max(c.limits-1, 0), 9), lastWait)
}

// judge passes 200 and nothing else.
func (c *Client) judge(x *exchange) error {
	r := x.request
	if reason := strings.ToUpper(x.header.Get("X-Seraph-Loginreason")); !r.Site && (strings.Contains(reason, "FAILED") || strings.Contains(reason, "DENIED")) {
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Status: x.status,
			Err: fmt.Errorf("%w: the token is not valid (any more), and the answer is the one for nobody (%s)", adapters.ErrUnauthorized, clip(reason))}
	}
	if x.limited() {
		c.mu.Lock()
		wait := c.waitOf(x)
		c.mu.Unlock()
		e := &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Status: x.status, After: wait, Err: adapters.ErrThrottled}
		if reason := clip(x.header.Get("RateLimit-Reason")); reason != "" {
			e.Err = fmt.Errorf("%w (%s)", adapters.ErrThrottled, reason)
		}
		return e
	}
	if x.status != http.StatusOK {
		return c.statusError(x)
	}
	return nil
}

// provenFor is how long an account that was asked for stands for answers of endpoints that name none.
const provenFor = time.Minute

// sameAccount: an answer for another account is none, nor is one for nobody from an endpoint that named the account before.
// Where an endpoint never does although others do, the account is asked for.
func (c *Client) sameAccount(ctx context.Context, x *exchange, account string) error {
	if account == "" || x.request.Site {
		return nil
	}
	id, at := x.header.Get("X-AAccountId"), endpoint(x.request)
	c.mu.Lock()
	if id == account {
		c.named[at] = true
	}
	before, elsewhere := c.named[at], len(c.named) > 0
	age := c.o.Now().Sub(c.proven)
	c.mu.Unlock()
	switch {
	case id == account, id == "" && !elsewhere:
		return nil
	case id == "" && !before:
		if age >= 0 && age < provenFor {
			return nil
		}
		_, err := c.o.Verify(ctx, with{c, x.token})
		if err == nil {
			c.mu.Lock()
			c.proven = c.o.Now()
			c.mu.Unlock()
		}
		return err
	}
	return &adapters.Error{Severity: adapters.ScopeFailure, Op: x.request.Op, Status: x.status,
		Err: fmt.Errorf("%w: the answer is for account %q instead of %q", adapters.ErrUnauthorized, clip(id), account)}
}

func (c *Client) statusError(x *exchange) error {
	r := x.request
	e := &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Status: x.status, After: adapters.RetryAfter(x.header, c.o.Now())}
	say := func(sentinel error) {
		e.Err = sentinel
		if m := hide(message(x.body), x.token); m != "" {
			e.Err = fmt.Errorf("%w: %s", sentinel, m)
		}
	}
	switch s := x.status; {
	case s == http.StatusUnauthorized:
		say(adapters.ErrUnauthorized)
	case s == http.StatusForbidden:
		e.Severity = severity(r)
		say(adapters.ErrForbidden)
	case s == http.StatusNotFound, s == http.StatusGone:
		e.Severity = severity(r)
		say(adapters.ErrNotFound)
	case s == http.StatusBadRequest:
		e.Severity = severity(r)
		say(fmt.Errorf("%w: %w", ErrQuery, adapters.ErrProtocol))
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

// networkError keeps the cause matchable when the caller's context ended, and otherwise only its text: a URL error carries
// the URL.
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
	text := "no answer"
	if cause != nil {
		text = cause.Error()
	}
	e.Err = fmt.Errorf("%w: %s", adapters.ErrUnavailable, clip(hide(text, token)))
	return e
}

// message is what the server says of an error, when it says it in JSON.
func message(body []byte) string {
	var m struct {
		Messages []string          `json:"errorMessages"`
		Errors   map[string]string `json:"errors"`
		Message  string            `json:"message"`
	}
	_ = json.Unmarshal(body, &m) // what cannot be read says nothing
	out := append(m.Messages, m.Message)
	for k, v := range m.Errors {
		out = append(out, k+": "+v)
	}
	return clip(strings.TrimSpace(strings.Join(out, " ")))
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
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return s
}

// Clip is clip, for texts that other packages take from answers.
func Clip(s string) string { return clip(s) }
