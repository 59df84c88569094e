package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
)

// Options are what a client is made of. Base, Token, Budget and Now are required.
type Options struct {
	Base   *url.URL // of the instance, without /api/v4
	HTTP   *http.Client
	Token  func(context.Context) (string, error)
	Budget adapters.Budget
	Now    func() time.Time
	// Verify is called, once, with every token text that the client has not used before, through Ask only.
	Verify func(ctx context.Context, ask *Asker) error
	// Timeout bounds one request with its body; 0 is 30 s.
	Timeout time.Duration
	// MaxBody bounds the body of an answer in bytes after decompression; 0 is 32 MiB.
	MaxBody int64
}

// Client sends GET requests with one credential. It is safe for concurrent use. It never retries: the cycle owns that.
type Client struct {
	o    Options
	http *http.Client

	mu    sync.Mutex
	known string // the token text that was verified last
}

// Request is one GET.
type Request struct {
	Op    string // for people; "" is made from the path
	Class adapters.Class
	Path  string // below /api/v4, escaped
	Query url.Values
	// Item: the request concerns one entity or account, so that 403 and 404 do too.
	Item bool
}

// Answer is what came along with a body.
type Answer struct {
	Clock   time.Time // the provider's Date; zero when it sent none
	Total   int       // X-Total; -1 when absent, as in keyset answers and above 10,000 rows
	PerPage int       // X-Per-Page; 0 when absent
	Next    bool      // the server announces a further page
	Keyset  bool      // no sign of pages by number: the server pages by key
	Cursor  string    // of the next keyset page; "" when it gave none
}

// New makes a client. Redirects are followed on the same host only, so the credential never reaches another: the
// standard library would carry a header of the server's own kind along.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	h := http.Client{}
	if o.HTTP != nil {
		h = *o.HTTP
	}
	h.Jar = nil
	h.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0].URL
		if len(via) > 4 || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
			return http.ErrUseLastResponse // the 3xx is then judged like any other answer
		}
		return nil
	}
	return &Client{o: o, http: &h}
}

// get sends r and decodes the JSON answer into into. Errors match *adapters.Error.
func (c *Client) get(ctx context.Context, r Request, into any) (Answer, error) {
	token, err := c.token(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	return c.send(ctx, r, token, into)
}

// token returns the credential. A new text is verified before anything else is sent with it: a rotated token may belong
// to another account, which sees other things.
func (c *Client) token(ctx context.Context, r Request) (string, error) {
	token, err := c.o.Token(ctx)
	if err != nil {
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: r.op(), Err: fmt.Errorf("reading the credential: %w", err)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Verify == nil || token == c.known {
		return token, nil
	}
	if err := c.o.Verify(ctx, &Asker{c, token}); err != nil {
		return "", err
	}
	c.known = token
	return token, nil
}

// Asker sends requests with a token that is being verified.
type Asker struct {
	c     *Client
	token string
}

func (c *Client) send(ctx context.Context, r Request, token string, into any) (Answer, error) {
	if err := c.o.Budget.Wait(ctx, r.Class, 1); err != nil {
		return Answer{}, waitError(r, err)
	}
	cut, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(cut, http.MethodGet, c.url(r), nil)
	if err != nil {
		return Answer{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: r.op(), Err: errors.New("request cannot be built")}
	}
	req.Header.Set("Accept", "application/json")
	if token != "" {
		// Personal, project, group and OAuth tokens are all taken so (doc/api/rest/authentication.md).
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.o.Budget.Observe(r.Class, 0, nil)
		return Answer{}, c.networkError(ctx, r, token, err)
	}
	defer resp.Body.Close()
	h := c.advised(resp)
	c.o.Budget.Observe(r.Class, resp.StatusCode, h)
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.o.MaxBody+1))
	switch {
	case err != nil:
		return Answer{}, c.networkError(ctx, r, token, err)
	case int64(len(body)) > c.o.MaxBody:
		return Answer{}, &adapters.Error{Severity: severity(r), Op: r.op(), Status: resp.StatusCode,
			Err: fmt.Errorf("%w of %d bytes", adapters.ErrTooLarge, c.o.MaxBody)}
	case resp.StatusCode != http.StatusOK:
		return Answer{}, c.statusError(r, resp.StatusCode, h, body, token)
	}
	if err := decode(resp.Header, body, into); err != nil {
		return Answer{}, &adapters.Error{Severity: adapters.MomentFailure, Op: r.op(), Status: resp.StatusCode, Err: err}
	}
	return answer(resp.Header), nil
}

func (c *Client) url(r Request) string {
	u := *c.o.Base
	// Path segments arrive escaped; JoinPath keeps them so.
	v := u.JoinPath("api", "v4", r.Path)
	v.RawQuery = r.Query.Encode()
	return v.String()
}

func (r Request) op() string {
	if r.Op != "" {
		return r.Op
	}
	return "GET " + r.Path
}

// advised are the headers with the provider's word on when to come back where everybody looks for it: a limit that is
// spent may be told by RateLimit-Reset alone, in seconds since 1970 (doc/administration/settings/user_and_ip_rate_limits.md).
func (c *Client) advised(resp *http.Response) http.Header {
	h := resp.Header
	if resp.StatusCode != http.StatusTooManyRequests || h.Get("Retry-After") != "" {
		return h
	}
	reset, err := strconv.ParseInt(h.Get("RateLimit-Reset"), 10, 64)
	if err != nil || reset <= 0 {
		return h
	}
	now := c.o.Now()
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	wait := min(max(reset-now.Unix(), 1), 86400)
	h = h.Clone()
	h.Set("Retry-After", strconv.FormatInt(wait, 10))
	return h
}

func answer(h http.Header) Answer {
	a := Answer{Total: -1}
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		a.Clock = t.UTC()
	}
	if n, err := strconv.Atoi(h.Get("X-Total")); err == nil && n >= 0 {
		a.Total = n
	}
	if n, err := strconv.Atoi(h.Get("X-Per-Page")); err == nil && n > 0 {
		a.PerPage = n
	}
	link := nextLink(h)
	a.Next = h.Get("X-Next-Page") != "" || link != nil
	a.Keyset = h.Get("X-Page") == "" && h.Get("X-Total") == "" && h.Get("X-Per-Page") == ""
	if a.Keyset && link != nil {
		a.Cursor = link.Query().Get("cursor")
	}
	return a
}

// nextLink is the address of the next page. Of it only the cursor is ever used: where requests go is configured, not told.
func nextLink(h http.Header) *url.URL {
	for _, part := range strings.Split(strings.Join(h.Values("Link"), ","), ",") {
		target, params, ok := strings.Cut(part, ";")
		if !ok || strings.TrimSpace(params) != `rel="next"` {
			continue
		}
		if u, err := url.Parse(strings.Trim(target, " <>")); err == nil {
			return u
		}
	}
	return nil
}

// decode refuses what only looks like an answer: a login page, an empty body, null, more than one value.
func decode(h http.Header, body []byte, into any) (err error) {
	if mt, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || mt != "application/json" {
		return fmt.Errorf("%w: content type %q instead of JSON", adapters.ErrProtocol, clip(h.Get("Content-Type")))
	}
	body = bytes.TrimSpace(body)
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
