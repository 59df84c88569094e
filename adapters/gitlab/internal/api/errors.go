package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
)

func severity(r Request) adapters.Severity {
	if r.Item {
		return adapters.ItemFailure
	}
	return adapters.ScopeFailure
}

// waitError passes the budget's refusal on; it is of this moment unless the context ended.
func waitError(r Request, err error) error {
	var e *adapters.Error
	if errors.As(err, &e) {
		return err
	}
	return &adapters.Error{Severity: adapters.MomentFailure, Op: r.op(), Err: err}
}

// networkError keeps the cause matchable when the caller's context ended, and otherwise keeps only its text: a URL error
// carries the URL, whose query and user info are nobody's business.
func (c *Client) networkError(ctx context.Context, r Request, token string, err error) error {
	e := &adapters.Error{Severity: adapters.MomentFailure, Op: r.op()}
	if ctx.Err() != nil {
		e.Err = ctx.Err()
		return e
	}
	cause := err
	for {
		u := errors.Unwrap(cause)
		if u == nil {
			break
		}
		cause = u
	}
	e.Err = fmt.Errorf("%w: %s", adapters.ErrUnavailable, clip(hide(cause.Error(), token)))
	return e
}

// statusError judges every answer but 200. The body of a 429 is plain text.
func (c *Client) statusError(r Request, status int, h http.Header, body []byte, token string) error {
	e := &adapters.Error{Op: r.op(), Status: status, After: adapters.RetryAfter(h, c.o.Now())}
	say := func(sentinel error) {
		if m := hide(message(body), token); m != "" {
			e.Err = fmt.Errorf("%w: %s", sentinel, m)
		} else {
			e.Err = sentinel
		}
	}
	switch s := status; {
	case s == http.StatusUnauthorized:
		e.Severity = adapters.ScopeFailure
		say(adapters.ErrUnauthorized)
	case s == http.StatusForbidden:
		e.Severity = severity(r)
		say(adapters.ErrForbidden)
	case s == http.StatusNotFound, s == http.StatusGone:
		e.Severity = severity(r)
		say(adapters.ErrNotFound)
	case s == http.StatusTooManyRequests:
		e.Severity = adapters.MomentFailure
		say(adapters.ErrThrottled)
	case s >= 500, s == http.StatusRequestTimeout:
		e.Severity = adapters.MomentFailure
		say(adapters.ErrUnavailable)
	case s >= 300 && s < 400:
		e.Severity = adapters.ScopeFailure
		e.Err = fmt.Errorf("%w: redirected to another host or too often; check base_url", adapters.ErrProtocol)
	default:
		e.Severity = adapters.ScopeFailure
		say(adapters.ErrProtocol)
	}
	return e
}

// message is what the server says of an error, when it says it in JSON: {"message": …} or {"error": …,
// "error_description": …} (doc/api/rest/troubleshooting.md).
func message(body []byte) string {
	var m struct {
		Message     json.RawMessage `json:"message"`
		Error       string          `json:"error"`
		Description string          `json:"error_description"`
	}
	if json.Unmarshal(body, &m) != nil {
		return ""
	}
	var text string
	switch {
	case m.Description != "":
		text = m.Description
	case m.Error != "":
		text = m.Error
	case json.Unmarshal(m.Message, &text) != nil:
		text = string(m.Message)
	}
	return clip(text)
}

func hide(s, token string) string {
	if token == "" {
		return s
	}
	return strings.ReplaceAll(s, token, "***")
}
