package api

import (
	"bytes"
	"context"
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

	json "github.com/go-json-experiment/json/v1"

	"github.com/fullsend-ai/discovery/adapters"
)

// Options are what a client is made of. Base, Token, Budget and Now are required.
type Options struct {
	Base   *url.URL // of the instance, without /api/v1
	HTTP   *http.Client
	Token  func(context.Context) (string, error)
	Budget adapters.Budget
	Now    func() time.Time
	// Verify is called, once, with every token text that the client has not used before, through Ask only.
	Verify func(ctx context.Context, ask Asker) error
	// Timeout bounds one request with its body; 0 is 30 s.
	Timeout time.Duration
	// MaxBody bounds the body of an answer in bytes after decompression; 0 is 32 MiB.
	MaxBody int64
}

// Client sends GET requests with one credential. It is safe for concurrent use. It never retries: the cycle owns that.
type Client struct {
	o    Options
	http *http.Client
	// bodies are buffers, one for each request at a time: a page of a listing is several hundred kilobytes.
	bodies sync.Pool

	mu    sync.Mutex
	known string // the token text that was verified last
}

// Asker sends one request.
type Asker interface {
	Get(ctx context.Context, r Request, into any) (Answer, error)
}

// Request is one GET.
type Request struct {
	Op    string // for people; "" is made from the path
	Class adapters.Class
	Path  string // below /api/v1, escaped
	Query url.Values
	// Item: the request concerns one entity, so that 403 and 404 do too.
	Item bool
	// Null: the endpoint answers null for an empty list (the timeline does), with a total of 0: without it, null is what a
	// broken server says of any list.
	Null bool
}

// Answer is what came along with a body.
type Answer struct {
	Clock time.Time // the provider's Date; zero when it sent none
	Total int       // X-Total-Count; -1 when absent
}

// New makes a client. Redirects are followed on the same host only, so the credential never reaches another.
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
	return &Client{o: o, http: &h, bodies: sync.Pool{New: func() any { return new(bytes.Buffer) }}}
}

// Get sends r and decodes the JSON answer into into. Errors match *adapters.Error.
func (c *Client) Get(ctx context.Context, r Request, into any) (Answer, error) {
	token, err := c.token(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	return c.get(ctx, r, token, into)
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
	if err := c.o.Verify(ctx, with{c, token}); err != nil {
		return "", err
	}
	c.known = token
	return token, nil
}

type with struct {
	c     *Client
	token string
}

func (w with) Get(ctx context.Context, r Request, into any) (Answer, error) {
	return w.c.get(ctx, r, w.token, into)
}

func (c *Client) get(ctx context.Context, r Request, token string, into any) (Answer, error) {
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
		req.Header.Set("Authorization", "token "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.o.Budget.Observe(r.Class, 0, nil)
		return Answer{}, c.networkError(ctx, r, token, err)
	}
	defer resp.Body.Close()
	c.o.Budget.Observe(r.Class, resp.StatusCode, resp.Header)
	b := c.bodies.Get().(*bytes.Buffer)
	defer c.bodies.Put(b)
	b.Reset()
	_, err = b.ReadFrom(io.LimitReader(resp.Body, c.o.MaxBody+1))
	body := b.Bytes() // nothing keeps it: what is decoded are copies
	switch {
	case err != nil:
		return Answer{}, c.networkError(ctx, r, token, err)
	case int64(len(body)) > c.o.MaxBody:
		return Answer{}, &adapters.Error{Severity: severity(r), Op: r.op(), Status: resp.StatusCode,
			Err: fmt.Errorf("%w of %d bytes", adapters.ErrTooLarge, c.o.MaxBody)}
	case resp.StatusCode != http.StatusOK:
		return Answer{}, c.statusError(r, resp, body, token)
	}
	if err := decode(r, resp.Header, body, into); err != nil {
		return Answer{}, &adapters.Error{Severity: adapters.MomentFailure, Op: r.op(), Status: resp.StatusCode, Err: err}
	}
	return answer(resp), nil
}

func (c *Client) url(r Request) string {
	u := *c.o.Base
	// Path segments arrive escaped; JoinPath keeps them so.
	v := u.JoinPath("api", "v1", r.Path)
	v.RawQuery = r.Query.Encode()
	return v.String()
}

func (r Request) op() string {
	if r.Op != "" {
		return r.Op
	}
	return "GET " + r.Path
}

func answer(resp *http.Response) Answer {
	a := Answer{Total: -1}
	if t, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		a.Clock = t.UTC()
	}
	if n, err := strconv.Atoi(resp.Header.Get("X-Total-Count")); err == nil && n >= 0 {
		a.Total = n
	}
	return a
}

// decode refuses what only looks like an answer: a login page, an empty body, null where an object must be, more than
// one value.
func decode(r Request, h http.Header, body []byte, into any) error {
	if mt, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || mt != "application/json" {
		return fmt.Errorf("%w: content type %q instead of JSON", adapters.ErrProtocol, clip(h.Get("Content-Type")))
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return fmt.Errorf("%w: empty body", adapters.ErrProtocol)
	}
	if bytes.Equal(body, []byte("null")) {
		if r.Null && h.Get("X-Total-Count") == "0" {
			return nil
		}
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
