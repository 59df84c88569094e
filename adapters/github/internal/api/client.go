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
	"sync"
	"time"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
)

// Credential gives the token of each request. Refused tells it that the server did not take a text any more.
type Credential interface {
	Token(ctx context.Context) (string, error)
	Refused(text string)
}

// Options are what a client is made of. REST, GraphQL, Credential, Budget and Now are required.
type Options struct {
	REST, GraphQL *url.URL
	HTTP          *http.Client
	Credential    Credential
	Budget        adapters.Budget
	Now           func() time.Time
	// Verify is called, once, with every token text that the client has not used before, through ask only.
	Verify  func(ctx context.Context, ask Asker) error
	Timeout time.Duration // of one request with its body; 0 is 30 s: the server itself gives up after 10
	MaxBody int64         // bytes of an answer after decompression; 0 is 32 MiB
}

// Client sends requests with one credential, one at a time, as GitHub asks of its clients. It is safe for concurrent use.
// It sends a request again in one case only: a token that was refused has been replaced since.
type Client struct {
	o    Options
	http *http.Client
	v4   *githubv4.Client
	turn chan struct{} // held by the request under way

	mu     sync.Mutex
	known  string // the token text that was verified last
	limits int    // limit answers in a row that named no time
}

// Asker sends one GraphQL query, whose shape is the struct that into points to. The struct must be fresh.
type Asker interface {
	Query(ctx context.Context, r Request, into any, vars map[string]any) (Answer, error)
}

// Request is what a request is about.
type Request struct {
	Op    string // for people
	Class adapters.Class
	Path  string     // REST: below the API's root, escaped
	Query url.Values // REST
	// Item: the request concerns one entity, so that 403, 404 and 410 do too.
	Item bool
}

// Answer is what came along with a body.
type Answer struct {
	Clock  time.Time // the provider's Date; zero when it sent none
	Errors []GraphQLError
	// Partial: the server left out what lies behind a single sign-on that the token has not passed (X-GitHub-SSO).
	Partial bool
}

// New makes a client. GET requests follow redirects on the same host only, POST requests none, so the credential never
// reaches another host.
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
		first := via[0]
		if len(via) > 4 || first.Method != http.MethodGet || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
			return http.ErrUseLastResponse // the 3xx is then judged like any other answer
		}
		return nil
	}
	c := &Client{o: o, http: &h, turn: make(chan struct{}, 1)}
	c.v4 = githubv4.NewEnterpriseClient(o.GraphQL.String(), &http.Client{Transport: below{c}})
	return c
}

// Query implements Asker. Data that came with errors is decoded, and the errors are in the answer; without data they
// are the error.
func (c *Client) Query(ctx context.Context, r Request, into any, vars map[string]any) (Answer, error) {
	x := &exchange{request: r}
	return c.query(ctx, x, into, vars)
}

func (c *Client) query(ctx context.Context, x *exchange, into any, vars map[string]any) (Answer, error) {
	err := c.v4.Query(context.WithValue(ctx, exchangeKey{}, x), into, vars)
	switch {
	case x.err != nil:
		return x.answer, x.err
	case err != nil:
		return x.answer, &adapters.Error{Severity: adapters.MomentFailure, Op: x.request.Op, Status: http.StatusOK,
			Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, clip(err.Error()))}
	}
	return x.answer, nil
}

// Raw sends a query as text, for what a struct cannot say, and decodes its data with encoding/json.
func (c *Client) Raw(ctx context.Context, r Request, query string, vars map[string]any, into any) (Answer, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": vars})
	if err != nil {
		return Answer{}, &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Err: errors.New("request cannot be built")}
	}
	data, a, err := c.graphql(ctx, r, body, "")
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return a, &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Status: http.StatusOK,
			Err: fmt.Errorf("%w: %s", adapters.ErrProtocol, clip(err.Error()))}
	}
	return a, nil
}

// Get sends a REST request and decodes the JSON answer.
func (c *Client) Get(ctx context.Context, r Request, into any) (Answer, error) {
	u := c.o.REST.JoinPath(r.Path)
	u.RawQuery = r.Query.Encode()
	res, err := c.send(ctx, r, http.MethodGet, u.String(), nil, "")
	if err != nil {
		return Answer{}, err
	}
	a := res.answer()
	if err := c.judgeREST(r, res); err != nil {
		return a, err
	}
	if err := res.decode(into); err != nil {
		return a, &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Status: res.status, Err: err}
	}
	return a, nil
}

// exchange is one query on its way through the library, which would drop status, headers and the kinds of errors.
type exchange struct {
	request Request
	token   string // "": the client's own
	answer  Answer
	err     error
}

type exchangeKey struct{}

// below is the transport under the library. What reaches the library is data, whole or in part, or nothing.
type below struct{ c *Client }

func (b below) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("not a request of this client")
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var data json.RawMessage
	data, x.answer, x.err = b.c.graphql(req.Context(), x.request, body, x.token)
	if x.err != nil {
		return nil, x.err
	}
	out := append(append([]byte(`{"data":`), data...), '}')
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(out)), ContentLength: int64(len(out)), Request: req}, nil
}

// graphql sends a query and gives its data, which is never null.
func (c *Client) graphql(ctx context.Context, r Request, body []byte, token string) (json.RawMessage, Answer, error) {
	res, err := c.send(ctx, r, http.MethodPost, c.o.GraphQL.String(), body, token)
	if err != nil {
		return nil, Answer{}, err
	}
	return c.judgeGraphQL(r, res)
}

// send waits for its turn and for the budget, and sends with the credential; once more when the text that was refused has
// been replaced. given is a token text that is being verified; else "".
func (c *Client) send(ctx context.Context, r Request, method, target string, body []byte, given string) (*result, error) {
	if given != "" {
		return c.once(ctx, r, method, target, body, given)
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Err: ctx.Err()}
	}
	token, err := c.token(ctx, r)
	if err != nil {
		return nil, err
	}
	res, err := c.once(ctx, r, method, target, body, token)
	if err != nil || res.status != http.StatusUnauthorized {
		return res, err
	}
	c.o.Credential.Refused(token)
	again, err := c.token(ctx, r)
	if err != nil || again == token {
		return res, err
	}
	return c.once(ctx, r, method, target, body, again)
}

// token returns the credential. A new text is verified before anything else is sent with it: a replaced token may belong
// to another account, which sees other things.
func (c *Client) token(ctx context.Context, r Request) (string, error) {
	token, err := c.o.Credential.Token(ctx)
	var e *adapters.Error
	switch {
	case errors.As(err, &e):
		return "", e
	case err != nil:
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Err: fmt.Errorf("reading the credential: %w", err)}
	case token == "":
		return "", &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op,
			Err: fmt.Errorf("%w: there is no token, and GitHub's GraphQL API answers nobody without one", adapters.ErrUnauthorized)}
	}
	c.mu.Lock()
	fresh := token != c.known
	c.mu.Unlock()
	if fresh && c.o.Verify != nil {
		if err := c.o.Verify(ctx, with{c, token}); err != nil {
			return "", err
		}
	}
	c.mu.Lock()
	c.known = token
	c.mu.Unlock()
	return token, nil
}

type with struct {
	c     *Client
	token string
}

func (w with) Query(ctx context.Context, r Request, into any, vars map[string]any) (Answer, error) {
	return w.c.query(ctx, &exchange{request: r, token: w.token}, into, vars)
}

func (c *Client) once(ctx context.Context, r Request, method, target string, body []byte, token string) (*result, error) {
	if err := c.o.Budget.Wait(ctx, r.Class, 1); err != nil {
		var e *adapters.Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, &adapters.Error{Severity: adapters.MomentFailure, Op: r.Op, Err: err}
	}
	cut, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(cut, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, &adapters.Error{Severity: adapters.ScopeFailure, Op: r.Op, Err: errors.New("request cannot be built")}
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("User-Agent", "fullsend-discovery")
	// One form of node ids, whatever the age of an object; without it the same object may come under two.
	req.Header.Set("X-Github-Next-Global-ID", "1")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.http.Do(req)
	if err != nil {
		c.o.Budget.Observe(r.Class, 0, nil)
		return nil, networkError(ctx, r, token, err)
	}
	defer resp.Body.Close()
	res := &result{status: resp.StatusCode, header: resp.Header, token: token}
	res.body, err = io.ReadAll(io.LimitReader(resp.Body, c.o.MaxBody+1))
	c.observe(r, res)
	switch {
	case err != nil:
		return nil, networkError(ctx, r, token, err)
	case int64(len(res.body)) > c.o.MaxBody:
		return nil, &adapters.Error{Severity: severity(r), Op: r.Op, Status: res.status,
			Err: fmt.Errorf("%w: %w of %d bytes", ErrHeavy, adapters.ErrTooLarge, c.o.MaxBody)}
	}
	return res, nil
}
