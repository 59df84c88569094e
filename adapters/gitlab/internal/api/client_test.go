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
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
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
	base, err := url.Parse("http://git.example/sub")
	require.NoError(t, err)
	o := api.Options{Base: base, HTTP: &http.Client{Transport: rt}, Budget: free{}, Now: time.Now,
		Token: func(context.Context) (string, error) { return secret, nil }}
	if edit != nil {
		edit(&o)
	}
	return api.New(o)
}

// SPEC GL-8: the path is below the base's, escaped segments stay so, and one request is one request.
func TestRequest(t *testing.T) {
	n := 0
	c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		n++
		assert.Equal(t, "Bearer "+secret, r.Header.Get("Authorization"))
		assert.Equal(t, "http://git.example/sub/api/v4/projects/a%2Fb?q=1+2", r.URL.String())
		return answer(r, 503, "text/plain", "later"), nil
	}), nil)
	_, _, err := c.Project(t.Context(), api.Request{Path: "projects/a%2Fb", Query: url.Values{"q": {"1 2"}}})
	require.ErrorIs(t, err, adapters.ErrUnavailable)
	assert.Equal(t, 1, n)
}

// SPEC GL-8: 200 is not enough.
func TestOnlyJSONOfTheRightShapeIsAnAnswer(t *testing.T) {
	for name, a := range map[string][2]string{
		"html":            {"text/html", "<html>"},
		"json as html":    {"text/html", `[]`},
		"html as json":    {"application/json", "<html>"},
		"empty":           {"application/json", ""},
		"null":            {"application/json", " null "},
		"object":          {"application/json", `{"message":"x"}`},
		"half":            {"application/json", `[{"id":1}`},
		"two values":      {"application/json", `[] []`},
		"text for id":     {"application/json", `[{"id":"x","iid":1}]`},
		"text for labels": {"application/json", `[{"id":1,"iid":1,"created_at":7}]`},
	} {
		c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) { return answer(r, 200, a[0], a[1]), nil }), nil)
		_, _, err := c.Entities(t.Context(), api.Request{Path: "x"}, false)
		var e *adapters.Error
		if assert.ErrorAs(t, err, &e, name) {
			assert.ErrorIs(t, err, adapters.ErrProtocol, name)
			assert.Equal(t, adapters.MomentFailure, e.Severity, name)
		}
	}
}

// SPEC GL-6: the shapes on which the client library panics are rows that are none, or labels that are none.
func TestShapesThatKilledPollers(t *testing.T) {
	const body = `[null, {}, {"id":null,"iid":1}, {"iid":3,"title":"no id"}, {"id":4,"iid":4,"created_at":"2026-01-05T09:00:00.123Z","labels":[{"id":1,"name":"a"},null]},
		{"id":5,"iid":5,"labels":["a","b"]}, {"id":6,"iid":6,"labels":[{"id":1,"name":"a"},"b"]}, {"id":9007199254740993,"iid":7,"labels":[],"moved_to_id":9007199254740995}]`
	for _, merge := range []bool{false, true} {
		c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) { return answer(r, 200, "application/json", body), nil }), nil)
		rows, _, err := c.Entities(t.Context(), api.Request{Path: "x"}, merge)
		require.NoError(t, err)
		require.Len(t, rows, 8)
		for i, want := range []bool{false, false, false, false, true, true, true, true} {
			assert.Equal(t, want, rows[i] != nil, i)
		}
		assert.True(t, rows[4].BadLabel)
		assert.Equal(t, []api.Label{{ID: 1, Name: "a"}}, rows[4].Labels)
		assert.Equal(t, 123, rows[4].Created.Nanosecond()/1e6)
		assert.True(t, rows[5].BadLabel)
		assert.True(t, rows[6].BadLabel)
		assert.False(t, rows[7].BadLabel)
		assert.Equal(t, int64(9007199254740993), rows[7].ID, "ids do not pass through floats")
	}
}

// Scenario B138, SPEC GL-8: an endless body ends at the cap, and one that never ends in time is cut.
func TestBounds(t *testing.T) {
	c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(endless{}), Request: r}, nil
	}), func(o *api.Options) { o.MaxBody = 1 << 16 })
	_, _, err := c.Project(t.Context(), api.Request{Path: "x"})
	assert.ErrorIs(t, err, adapters.ErrTooLarge)

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
	c = client(t, nil, func(o *api.Options) { o.Base, o.HTTP, o.Timeout = base, srv.Client(), 50*time.Millisecond })
	for _, path := range []string{"body", "head"} {
		_, _, err := c.Project(t.Context(), api.Request{Path: path})
		assert.ErrorIs(t, err, adapters.ErrUnavailable)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// SPEC GL-8: what a server or a transport says cannot carry the token or steer a terminal.
func TestErrorsAreCleanAndSecretFree(t *testing.T) {
	for _, rt := range []roundTrip{
		func(r *http.Request) (*http.Response, error) {
			b, err := json.Marshal(map[string]string{"message": "bad token " + secret + "\x1b[31m\u009b\u2028" + strings.Repeat("x", 5000)})
			return answer(r, 403, "application/json", string(b)), err
		},
		func(r *http.Request) (*http.Response, error) {
			return answer(r, 401, "application/json", `{"error":"invalid_token","error_description":"Token `+secret+` was revoked."}`), nil
		},
		func(*http.Request) (*http.Response, error) { return nil, errors.New("proxy " + secret + "\r\nrefused") },
		func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, "text/x-\x1b"+strings.Repeat("y", 900), "x"), nil
		},
	} {
		_, _, err := client(t, rt, nil).Project(t.Context(), api.Request{Path: "x"})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), secret)
		assert.Less(t, len(err.Error()), 400)
		for _, r := range err.Error() {
			assert.False(t, r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028', "%q", r)
		}
	}
}

// SPEC GL-4: how an answer says how it was paged. Of a link only the cursor counts.
func TestPaging(t *testing.T) {
	for name, tt := range map[string]struct {
		header http.Header
		want   api.Answer
	}{
		"by key": {http.Header{"Link": {`<https://evil.example/api/v4/x?cursor=abc%3D&page=2>; rel="next"`}}, api.Answer{Total: -1, Next: true, Keyset: true, Cursor: "abc="}},
		"by number": {http.Header{"X-Page": {"1"}, "X-Per-Page": {"100"}, "X-Total": {"250"}, "X-Next-Page": {"2"}, "Link": {`<http://git.example/x?page=2>; rel="next", <http://git.example/x?page=1>; rel="first"`}},
			api.Answer{Total: 250, PerPage: 100, Next: true}},
		"the last":    {http.Header{"X-Page": {"3"}, "X-Per-Page": {"100"}, "X-Next-Page": {""}, "Link": {`<http://git.example/x?page=1>; rel="first"`}}, api.Answer{Total: -1, PerPage: 100}},
		"stripped":    {http.Header{}, api.Answer{Total: -1, Keyset: true}},
		"broken link": {http.Header{"Link": {`<::%>; rel="next"`}}, api.Answer{Total: -1, Keyset: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				resp := answer(r, 200, "application/json", `[]`)
				for k, v := range tt.header {
					resp.Header[k] = v
				}
				return resp, nil
			}), nil)
			_, a, err := c.Entities(t.Context(), api.Request{Path: "x"}, false)
			require.NoError(t, err)
			assert.Equal(t, tt.want, a)
		})
	}
}

// FuzzEntities: whatever a server answers, the client neither panics nor takes for a row what is none.
func FuzzEntities(f *testing.F) {
	for _, seed := range []string{`[]`, `null`, `[null]`, `[{"id":1,"iid":1,"created_at":"2026-01-01T00:00:00Z","labels":[{"id":1,"name":"x"},null]}]`, `{"message":"x"}`, "<html>",
		`[{"labels":[null]}]`, `[{"id":"x"}]`, `[{"id":1,"iid":1,"due_date":"2026-13-01"}]`, `[{"id":1,"iid":2,"head_pipeline":[]}]`, `[{"id":1,"iid":1,"epic":{"id":1},"labels":[1,{}]}]`} {
		f.Add(200, "application/json", "5", seed, true)
	}
	f.Add(429, "text/plain", "Mon, 05 Jan 2026 09:00:40 GMT", "Retry later\n", false)
	f.Add(301, "", "-1", "", false)
	f.Fuzz(func(t *testing.T, status int, contentType, retry, body string, merge bool) {
		c := client(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, status, contentType, body)
			resp.Header.Set("Retry-After", retry)
			return resp, nil
		}), nil)
		rows, _, err := c.Entities(t.Context(), api.Request{Path: "x"}, merge)
		for _, r := range rows {
			if r != nil && (r.ID <= 0 || r.IID <= 0) {
				t.Fatalf("%q taken for a row", body)
			}
		}
		judge(t, err, status, body)
		for _, call := range []func() error{
			func() error { _, _, err := c.Notes(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, _, err := c.LabelEvents(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, _, err := c.Reviewers(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, _, err := c.Versions(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, err := c.Approvals(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, err := c.Linked(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, _, err := c.Entity(t.Context(), api.Request{Path: "x"}, merge); return err },
			func() error { _, _, err := c.Member(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, err := c.User(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, _, err := c.Project(t.Context(), api.Request{Path: "x"}); return err },
			func() error { _, err := c.Token(t.Context(), api.Request{Path: "x"}); return err },
		} {
			judge(t, call(), status, body)
		}
	})
}

func judge(t *testing.T, err error, status int, body string) {
	t.Helper()
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
}
