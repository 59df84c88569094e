package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	jira "github.com/ctreminiom/go-atlassian/v2/jira/v3"

	"github.com/fullsend-ai/discovery/adapters"
)

// Options are what a client is made of. Base, Token, Budget and Now are required.
type Options struct {
	Base  *url.URL // of the API: the site, the gateway with the cloud id, or a Data Center with its context path
	HTTP  *http.Client
	Email string // "": the token is sent as bearer, else with Basic
	Token func(context.Context) (string, error)

	Budget adapters.Budget
	Now    func() time.Time
	// Verify is called, once, with every token text that the client has not used before, through ask only; it returns
	// the account id that every later answer must name where the server names one.
	Verify   func(ctx context.Context, ask Asker) (account string, err error)
	Timeout  time.Duration // of one request with its body; 0 is 60 s
	MaxBody  int64         // bytes of an answer after decompression; 0 is 32 MiB
	Parallel int           // requests under way at once; 0 is 4
}

// Client sends requests with one credential. It is safe for concurrent use and sends nothing twice.
type Client struct {
	o    Options
	http *http.Client
	lib  *jira.Client
	turn chan struct{}

	mu      sync.Mutex
	known   string          // the token text that was verified last
	account string          // and its account
	named   map[string]bool // endpoints whose answers name the account
	proven  time.Time       // when the account was last asked for
	clock   time.Time
	paused  map[string]time.Time // until when an endpoint, or "" everything, is not to be asked
	limits  int                  // limit answers in a row that named no time
}

// Asker sends one request.
type Asker interface {
	Do(ctx context.Context, r Request, into any) (Answer, error)
}

// Request is one call of the API.
type Request struct {
	Op     string // for people
	Class  adapters.Class
	Method string // "": GET
	Path   string // below the API's base, escaped, without a leading slash
	Query  url.Values
	Body   any
	Cost   int // in requests; 0 is 1
	// Item: the request concerns one entity or actor, so that 403, 404 and 410 do too.
	Item bool
	// Site: the path is below the site itself and the request carries no credential.
	Site bool
}

// Answer is what came along with a body.
type Answer struct {
	Clock  time.Time // the provider's Date; zero when it sent none
	Status int
}

// New makes a client. Redirects are followed on the same host only, and only by GET.
func New(o Options) (*Client, error) {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	h := http.Client{}
	if o.HTTP != nil {
		h = *o.HTTP
	}
	h.Jar = nil
	h.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > 4 || first.Method != http.MethodGet || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
			return http.ErrUseLastResponse // the 3xx is then judged like any other answer
		}
		return nil
	}
	c := &Client{o: o, http: &h, turn: make(chan struct{}, o.Parallel), paused: map[string]time.Time{}}
	lib, err := jira.New(below{c}, o.Base.String())
	if err != nil {
		return nil, err
	}
	c.lib = lib
	return c, nil
}

// Clock is the provider's clock as of its newest answer, or the local one before there was any.
func (c *Client) Clock() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clock.IsZero() {
		return c.o.Now().UTC().Truncate(time.Second)
	}
	return c.clock
}

// Do implements Asker: it waits for its turn and for the budget, sends, and decodes a JSON answer of status 200.
func (c *Client) Do(ctx context.Context, r Request, into any) (Answer, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Answer{}, &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Err: ctx.Err()}
	}
	token := ""
	if !r.Site {
		var err error
		if token, err = c.token(ctx, r); err != nil {
			return Answer{}, err
		}
	}
	c.mu.Lock()
	account := c.account
	c.mu.Unlock()
	return c.with(ctx, r, token, account, into)
}

// token returns the credential. A new text is verified before anything else is sent with it.
func (c *Client) token(ctx context.Context, r Request) (string, error) {
	token, err := c.o.Token(ctx)
	switch {
	case err != nil:
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Err: fmt.Errorf("reading the credential: %w", err)}
	case token == "":
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Err: fmt.Errorf("%w: there is no token, and what Jira answers to nobody proves nothing", adapters.ErrUnauthorized)}
	}
	c.mu.Lock()
	fresh := token != c.known
	c.mu.Unlock()
	if !fresh || c.o.Verify == nil {
		return token, nil
	}
	account, err := c.o.Verify(ctx, with{c, token})
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.known, c.account, c.named, c.proven = token, account, map[string]bool{}, c.o.Now()
	c.mu.Unlock()
	return token, nil
}

// with asks with a token that is being verified.
type with struct {
	c     *Client
	token string
}

func (w with) Do(ctx context.Context, r Request, into any) (Answer, error) {
	return w.c.with(ctx, r, w.token, "", into)
}

func (c *Client) with(ctx context.Context, r Request, token, account string, into any) (Answer, error) {
	x := &exchange{request: r, token: token}
	if err := c.send(ctx, x); err != nil {
		return Answer{}, err
	}
	a := Answer{Clock: x.clock(), Status: x.status}
	if err := c.judge(x); err != nil {
		return a, err
	}
	if err := x.decode(into); err != nil { // what is no answer of Jira's names no account either
		return a, &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Status: x.status, Err: err}
	}
	return a, c.sameAccount(ctx, x, account)
}

// send goes through the library: it builds the request and reads the answer, of which only bytes are used.
func (c *Client) send(ctx context.Context, x *exchange) error {
	r := x.request
	if wait := c.pause(r); wait > 0 {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, After: wait, Err: adapters.ErrThrottled}
	}
	if err := c.o.Budget.Wait(ctx, r.Class, max(1, r.Cost)); err != nil {
		var e *adapters.Error
		if errors.As(err, &e) {
			return err
		}
		return &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Err: err}
	}
	cut, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	target := strings.TrimPrefix(r.Path, "/") // a leading slash would drop the gateway's prefix
	if r.Site {
		target = "/" + target
	}
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := c.lib.NewRequest(context.WithValue(cut, exchangeKey{}, x), method, target, "", r.Body)
	if err != nil {
		return &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Err: errors.New("request cannot be built")}
	}
	res, err := c.lib.Call(req, nil)
	if res == nil { // nothing came: the library's error is the transport's
		c.o.Budget.Observe(r.Class, 0, nil)
		return networkError(ctx, r, x.token, err)
	}
	c.observe(x)
	switch {
	case x.err != nil:
		return networkError(ctx, r, x.token, x.err)
	case x.tooLarge:
		return &adapters.Error{Severity: severity(r), Op: r.Op, Status: x.status, Err: fmt.Errorf("%w of %d bytes", adapters.ErrTooLarge, c.o.MaxBody)}
	}
	return nil
}

// exchange is one request on its way through the library.
type exchange struct {
	request  Request
	token    string
	status   int
	header   http.Header
	body     []byte
	err      error
	tooLarge bool
}

type exchangeKey struct{}

// below is the transport under the library: it adds the credential, and reads the body up to the cap.
type below struct{ c *Client }

func (b below) Do(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("not a request of this client")
	}
	if req.URL.Host != b.c.o.Base.Host || req.URL.Scheme != b.c.o.Base.Scheme {
		return nil, errors.New("the request left its host")
	}
	req.Header.Set("User-Agent", "fullsend-discovery")
	req.Header.Set("X-Force-Accept-Language", "true") // messages in English, for people; they are never parsed
	req.Header.Set("Accept-Language", "en-US")
	switch {
	case x.token == "":
	case b.c.o.Email != "":
		req.SetBasicAuth(b.c.o.Email, x.token)
	default:
		req.Header.Set("Authorization", "Bearer "+x.token)
	}
	resp, err := b.c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	x.body, x.err = io.ReadAll(io.LimitReader(resp.Body, b.c.o.MaxBody+1))
	if x.tooLarge = int64(len(x.body)) > b.c.o.MaxBody; x.tooLarge {
		x.body = nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(nil))
	return resp, nil
}

// decode refuses what only looks like an answer: a login page, an empty body, null.
func (x *exchange) decode(into any) error {
	mt, _, _ := strings.Cut(x.header.Get("Content-Type"), ";")
	if mt != "application/json" {
		return fmt.Errorf("%w: content type %q instead of JSON", adapters.ErrProtocol, clip(mt))
	}
	body := bytes.TrimSpace(x.body)
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

func (x *exchange) clock() time.Time {
	t, err := http.ParseTime(x.header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
