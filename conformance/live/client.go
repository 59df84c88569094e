package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// client acts on a server as its administrator, or as anybody through the administrator's right to.
type client struct {
	base  string // without /api/v1
	token string
	http  *http.Client
}

// refusal is an answer outside 2xx.
type refusal struct {
	method, path string
	status       int
	body         string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s %s: %d %s", r.method, r.path, r.status, strings.TrimSpace(r.body))
}

// do sends one request as somebody ("" is the administrator) and decodes the answer into out, if given.
func (c *client) do(ctx context.Context, as, method, path string, in, out any) error {
	req, err := c.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "token "+c.token)
	if as != "" {
		req.Header.Set("Sudo", as)
	}
	return c.send(req, out)
}

func (c *client) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

func (c *client) send(req *http.Request, out any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return &refusal{req.Method, req.URL.Path, resp.StatusCode, string(b)}
	}
	if out == nil || len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, out)
}

// issue is what the stage needs to know of an entity.
type issue struct {
	ID        int64                    `json:"id"`
	Number    int64                    `json:"number"`
	Title     string                   `json:"title"`
	Assignees []struct{ Login string } `json:"assignees"`
	Pull      *struct{}                `json:"pull_request"`
	Repo      struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

func at(format string, args ...any) string {
	for i, a := range args {
		if s, ok := a.(string); ok && !strings.Contains(s, "/") {
			args[i] = url.PathEscape(s)
		}
	}
	return fmt.Sprintf(format, args...)
}
