package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type free struct{}

func (free) Wait(context.Context, adapters.Class, int) error { return nil }
func (free) Observe(adapters.Class, int, http.Header)        {}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(r *http.Request, status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

const secret = "s3cr3t"

func client(t *testing.T, rt http.RoundTripper, edit func(*api.Options)) *api.Client {
	t.Helper()
	base, err := url.Parse("http://forge.example/sub")
	require.NoError(t, err)
	o := api.Options{Base: base, HTTP: &http.Client{Transport: rt}, Budget: free{}, Now: time.Now,
		Token: func(context.Context) (string, error) { return secret, nil }}
	if edit != nil {
		edit(&o)
	}
	return api.New(o)
}

// SPEC FJ-9: the header is the documented one, the path is below the base's.
func TestRequest(t *testing.T) {
	c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		assert.Equal(t, "token "+secret, r.Header.Get("Authorization"))
		assert.Equal(t, "http://forge.example/sub/api/v1/repos/a%2Fb/c?q=1+2", r.URL.String())
		return answer(r, 200, "application/json; charset=utf-8", `{"version":"1"}`), nil
	}), nil)
	var v api.Version
	_, err := c.Get(t.Context(), api.Request{Path: "repos/a%2Fb/c", Query: url.Values{"q": {"1 2"}}}, &v)
	require.NoError(t, err)
	assert.Equal(t, "1", v.Version)
}

// SPEC FJ-9: 200 is not enough.
func TestOnlyJSONOfTheRightShapeIsAnAnswer(t *testing.T) {
	for name, a := range map[string][2]string{
		"html":          {"text/html", "<html>"},
		"json as html":  {"text/html", `[]`},
		"html as json":  {"application/json", "<html>"},
		"empty":         {"application/json", ""},
		"spaces":        {"application/json", " \n "},
		"null":          {"application/json", " null "},
		"object":        {"application/json", `{"message":"x"}`},
		"half":          {"application/json", `[{"id":1}`},
		"two values":    {"application/json", `[] []`},
		"no type":       {"", `[]`},
		"number for id": {"application/json", `[{"id":"x"}]`},
	} {
		c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) { return answer(r, 200, a[0], a[1]), nil }), nil)
		var rows []*api.Issue
		_, err := c.Get(t.Context(), api.Request{Path: "x"}, &rows)
		var e *adapters.Error
		if assert.ErrorAs(t, err, &e, name) {
			assert.ErrorIs(t, err, adapters.ErrProtocol, name)
			assert.Equal(t, adapters.MomentFailure, e.Severity, name)
		}
	}
}

// SPEC FJ-11: null is an empty list where the endpoint says so and counts nothing; else it is a broken answer.
func TestNullTimeline(t *testing.T) {
	for total, fails := range map[string]bool{"0": false, "": true, "3": true} {
		c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "application/json", "null")
			resp.Header.Set("X-Total-Count", total)
			return resp, nil
		}), nil)
		var rows []*api.Event
		_, err := c.Get(t.Context(), api.Request{Path: "x", Null: true}, &rows)
		assert.Equal(t, fails, errors.Is(err, adapters.ErrProtocol), "%q: %v", total, err)
		assert.Empty(t, rows)
	}
}

// SPEC FJ-9: an endless body ends at the cap.
func TestBodyCap(t *testing.T) {
	c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(endless{}), Request: r}, nil
	}), func(o *api.Options) { o.MaxBody = 1 << 16 })
	var v api.Version
	_, err := c.Get(t.Context(), api.Request{Path: "x"}, &v)
	assert.ErrorIs(t, err, adapters.ErrTooLarge)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Scenario B138, SPEC FJ-9: a body that never ends in time is cut; so is an answer that never begins.
func TestTimeoutCoversTheBody(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "body") {
			fmt.Fprint(w, "[")
			w.(http.Flusher).Flush()
		}
		<-release
	}))
	defer srv.Close()
	defer close(release)
	base, err := url.Parse(srv.URL)
	require.NoError(t, err)
	c := client(t, nil, func(o *api.Options) { o.Base, o.HTTP, o.Timeout = base, srv.Client(), 50*time.Millisecond })
	for _, path := range []string{"body", "head"} {
		var v []int
		_, err := c.Get(t.Context(), api.Request{Path: path}, &v)
		var e *adapters.Error
		require.ErrorAs(t, err, &e)
		assert.ErrorIs(t, err, adapters.ErrUnavailable)
		assert.Equal(t, adapters.MomentFailure, e.Severity)
	}
}

// SPEC FJ-9: what a server or a transport says cannot carry the token or steer a terminal.
func TestErrorsAreCleanAndSecretFree(t *testing.T) {
	for _, rt := range []roundTrip{
		func(r *http.Request) (*http.Response, error) {
			b, err := json.Marshal(map[string]string{"message": "bad token " + secret + "\x1b[31m\u009b\u2028" + strings.Repeat("x", 5000)})
			return answer(r, 403, "application/json", string(b)), err
		},
		func(*http.Request) (*http.Response, error) { return nil, errors.New("proxy " + secret + "\r\nrefused") },
		func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, "text/x-\x1b"+strings.Repeat("y", 900), "x"), nil
		},
	} {
		var v []int
		_, err := client(t, rt, nil).Get(t.Context(), api.Request{Path: "x"}, &v)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), secret)
		assert.Less(t, len(err.Error()), 400)
		for _, r := range err.Error() {
			assert.False(t, r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028', "%q", r)
		}
	}
}

// SPEC FJ-9: one request is one request: nothing is retried here.
func TestNoRetries(t *testing.T) {
	n := 0
	c := client(t, roundTrip(func(*http.Request) (*http.Response, error) { n++; return nil, io.ErrUnexpectedEOF }), nil)
	var v []int
	_, err := c.Get(t.Context(), api.Request{Path: "x"}, &v)
	require.Error(t, err)
	assert.Equal(t, 1, n)
}

// SPEC FJ-9: a redirect within the host is followed a few times, one that changes the scheme or goes round is not.
func TestRedirects(t *testing.T) {
	for to, ok := range map[string]bool{"/sub/api/v1/new": true, "http://forge.example/new": true, "https://forge.example/new": false,
		"http://forge.example:8080/new": false, "http://forge.example.evil.example/new": false, "/sub/api/v1/loop": false} {
		var hosts []string
		c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			hosts = append(hosts, r.URL.Scheme+"://"+r.URL.Host)
			if strings.HasSuffix(r.URL.Path, "/new") {
				return answer(r, 200, "application/json", "[]"), nil
			}
			resp := answer(r, 301, "text/html", "moved")
			resp.Header.Set("Location", to)
			return resp, nil
		}), nil)
		var v []int
		_, err := c.Get(t.Context(), api.Request{Path: "loop"}, &v)
		assert.Equal(t, ok, err == nil, "%s: %v", to, err)
		for _, h := range hosts {
			assert.Equal(t, "http://forge.example", h)
		}
		assert.LessOrEqual(t, len(hosts), 5)
	}
}

// FuzzGet: whatever a server answers, the client neither panics nor takes for an answer what is none.
func FuzzGet(f *testing.F) {
	for _, seed := range []string{`[]`, `null`, `[null]`, `[{"id":1,"number":1,"created_at":"2026-01-01T00:00:00Z"}]`, `{"message":"x"}`, "<html>", `[{"labels":[null]}]`,
		`[{"pull_request":{}}]`, `[{"created_at":""}]`} {
		f.Add(200, "application/json", "5", seed)
	}
	f.Add(429, "text/html", "Mon, 05 Jan 2026 09:00:40 GMT", "slow down")
	f.Add(301, "", "-1", "")
	f.Fuzz(func(t *testing.T, status int, contentType, retry, body string) {
		c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, status, contentType, body)
			resp.Header.Set("Retry-After", retry)
			return resp, nil
		}), nil)
		var rows []*api.Issue
		_, err := c.Get(t.Context(), api.Request{Path: "x"}, &rows)
		if err == nil {
			if status != 200 || !json.Valid([]byte(body)) {
				t.Fatalf("status %d, body %q taken for an answer", status, body)
			}
			return
		}
		var e *adapters.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v is no *adapters.Error", err)
		}
		if e.After != 0 && (e.After < time.Second || e.After > 24*time.Hour) {
			t.Fatalf("wait of %v", e.After)
		}
	})
}
