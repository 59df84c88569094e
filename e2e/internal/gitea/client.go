package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client acts as one account. It follows no redirect, so that a test sees what the server says.
type Client struct {
	User  string // login
	Token string

	base string
	http *http.Client
}

// NewClient returns a client for the account that owns the token; an empty token acts anonymously.
func NewClient(base, user, token string) *Client {
	return &Client{
		User: user, Token: token,
		base: strings.TrimSuffix(base, "/") + "/api/v1",
		http: &http.Client{
			Timeout:       time.Minute,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Answer is one answer of the server, read whole.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Refusal is an answer outside 2xx.
type Refusal struct {
	Method, Path string
	Answer       Answer
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s %s: %d %s", r.Method, r.Path, r.Answer.Status, bytes.TrimSpace(r.Answer.Body))
}

// Raw sends one request below /api/v1 and returns the answer whatever its status.
func (c *Client) Raw(ctx context.Context, method, path string, in any) (Answer, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return Answer{}, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return Answer{}, err
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "token "+c.Token)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, b}, err
}

// Do sends one request below /api/v1 and decodes the answer into out, if given. An answer outside 2xx is a *Refusal.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	a, err := c.Raw(ctx, method, path, in)
	if err != nil {
		return err
	}
	if a.Status < 200 || a.Status > 299 {
		return &Refusal{method, path, a}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(a.Body, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// Get reads path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.Do(ctx, http.MethodGet, path, nil, out)
}
