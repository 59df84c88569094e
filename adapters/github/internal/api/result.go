package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
)

// result is one answer as it came.
type result struct {
	status int
	header http.Header
	body   []byte
	token  string
}

func (r *result) clock() time.Time {
	t, err := http.ParseTime(r.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

func (r *result) answer() Answer {
	return Answer{Clock: r.clock(), Partial: strings.Contains(r.header.Get("X-GitHub-SSO"), "partial-results")}
}

// decode refuses what only looks like an answer: a login page, an empty body, null, more than one value.
func (r *result) decode(into any) error {
	mt, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil || mt != "application/json" && mt != "application/vnd.github+json" {
		return fmt.Errorf("%w: content type %q instead of JSON", adapters.ErrProtocol, clip(r.header.Get("Content-Type")))
	}
	body := bytes.TrimSpace(r.body)
	switch {
	case len(body) == 0:
		return fmt.Errorf("%w: empty body", adapters.ErrProtocol)
	case bytes.Equal(body, []byte("null")):
		return fmt.Errorf("%w: null", adapters.ErrProtocol)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %s", adapters.ErrProtocol, clip(err.Error()))
	}
	return nil
}

// envelope is the body of a GraphQL answer. Data is kept as it came: a failing server sends the text "null", too.
type envelope struct {
	Data    json.RawMessage `json:"data"`
	Errors  []GraphQLError  `json:"errors"`
	Message string          `json:"message"` // of REST and of limits before GraphQL
}

// GraphQLError is one entry of errors.
type GraphQLError struct {
	Type       string `json:"type"`
	Message    string `json:"message"`
	Path       Path   `json:"path"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// Path is where an error lies: names and indexes.
type Path []any

// UnmarshalJSON reads any JSON array of strings and numbers; what is no such array is no path.
func (p *Path) UnmarshalJSON(b []byte) error {
	var vs []any
	*p = nil
	if json.Unmarshal(b, &vs) == nil {
		*p = vs
	}
	return nil
}

// Under gives what follows the prefix; ok is false when the error lies elsewhere.
func (p Path) Under(prefix ...string) (rest Path, ok bool) {
	if len(p) < len(prefix) {
		return nil, false
	}
	for i, want := range prefix {
		if got, _ := p[i].(string); got != want {
			return nil, false
		}
	}
	return p[len(prefix):], true
}

// Index is the number that the path begins with, and what follows.
func (p Path) Index() (i int, rest Path, ok bool) {
	if len(p) == 0 {
		return 0, nil, false
	}
	f, ok := p[0].(float64)
	if !ok || f < 0 || f > 1e6 {
		return 0, nil, false
	}
	return int(f), p[1:], true
}

// Name is the name that the path begins with; "" when there is none.
func (p Path) Name() string {
	if len(p) == 0 {
		return ""
	}
	s, _ := p[0].(string)
	return s
}

// kind is the error's type, wherever the server puts it.
func (e *GraphQLError) kind() string { return strings.ToUpper(cmpOr(e.Type, e.Extensions.Code)) }

// NotFound, Forbidden and Heavy tell the types that an adapter must tell apart.
func (e *GraphQLError) NotFound() bool { return e.kind() == "NOT_FOUND" }
func (e *GraphQLError) Forbidden() bool {
	return e.kind() == "FORBIDDEN" || e.kind() == "INSUFFICIENT_SCOPES"
}

// Heavy: the query asks for more than the server computes at once.
func (e *GraphQLError) Heavy() bool {
	switch e.kind() {
	case "RESOURCE_LIMITS_EXCEEDED", "MAX_NODE_LIMIT_EXCEEDED", "TIMEOUT":
		return true
	}
	m := strings.ToLower(e.Message)
	return strings.Contains(m, "resource limits for this query exceeded") || strings.Contains(m, "may be the result of a timeout")
}

func (e *GraphQLError) limited() bool {
	return e.kind() == "RATE_LIMITED" || e.kind() == "RATE_LIMIT" || limitText(e.Message)
}

// Text is the message for people: short, without control characters.
func (e *GraphQLError) Text() string {
	if e.kind() == "" {
		return clip(e.Message)
	}
	return e.kind() + ": " + clip(e.Message)
}

func limitText(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, "secondary rate limit") || strings.Contains(s, "rate limit exceeded") || strings.Contains(s, "exceeded a rate limit") ||
		strings.Contains(s, "abuse detection")
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// limited reports whether the answer is a limit's, by status, headers or body: a secondary limit may come as 403 without
// any header, and either as 200.
func (r *result) limited() bool {
	switch {
	case r.status == http.StatusTooManyRequests:
		return true
	case r.status == http.StatusForbidden:
		if r.header.Get("Retry-After") != "" || r.header.Get("X-RateLimit-Remaining") == "0" {
			return true
		}
	case r.status != http.StatusOK:
		return false
	}
	if r.status == http.StatusOK && !bytes.Contains(r.body, []byte(`"errors"`)) {
		return false
	}
	var env envelope
	if json.Unmarshal(r.body, &env) != nil {
		return r.status == http.StatusForbidden && limitText(string(r.body[:min(len(r.body), 4096)]))
	}
	if r.status == http.StatusForbidden && limitText(env.Message) {
		return true
	}
	for i := range env.Errors {
		if env.Errors[i].limited() {
			return true
		}
	}
	return false
}

// spent: the answer is good, and it was the last one of this hour.
func (r *result) spent() bool { return r.header.Get("X-RateLimit-Remaining") == "0" }

// reset is how long until the hour's budget begins anew, on the provider's clock; 0 when it does not say.
func (r *result) reset(now time.Time) time.Duration {
	n, err := strconv.ParseInt(r.header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	if d := r.clock(); !d.IsZero() {
		now = d
	}
	return min(max(time.Unix(n, 0).Sub(now), time.Second), 2*time.Hour)
}
