package forgesim_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// face is a small face: three rows at every path; the first segment is the route's name and class.
func face(w *forgesim.World) http.Handler {
	return w.Front(func(r *http.Request) forgesim.Route {
		return forgesim.Route{Name: r.URL.Path[1:] + ".list", Class: forgesim.Class(r.URL.Path[1:])}
	}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c := forgesim.ConditionsOf(r.Context())
		rw.Header().Set("X-Total-Count", "3")
		fmt.Fprintf(rw, `["%v","%v","%v"]`, c.Anonymous, c.IndexLag, c.ReplicaLag)
	}))
}

// answer is what a client gets.
type answer struct {
	status      int
	body        string
	date, total string
	err, midway error
}

func get(t *testing.T, c *http.Client, url string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := c.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(b), resp.Header.Get("Date"), resp.Header.Get("X-Total-Count"), nil, err}
}

// Every fault must look the same to a client over a real connection and in process.
func TestFaults(t *testing.T) {
	const rows = `["false","0s","0s"]`
	for _, tc := range []struct {
		fault string
		check func(*testing.T, answer)
	}{
		{"", func(t *testing.T, a answer) {
			assert.Equal(t, answer{200, rows, "Mon, 05 Jan 2026 09:00:00 GMT", "3", nil, nil}, a)
		}},
		{"kind=status status=503", func(t *testing.T, a answer) { assert.Equal(t, 503, a.status) }},
		{"kind=html", func(t *testing.T, a answer) { assert.Contains(t, a.body, "<html>") }},
		{"kind=empty", func(t *testing.T, a answer) { assert.Equal(t, 200, a.status); assert.Empty(t, a.body) }},
		{"kind=null-body", func(t *testing.T, a answer) { assert.Equal(t, "null\n", a.body) }},
		{"kind=stall", func(t *testing.T, a answer) { assert.ErrorIs(t, a.err, context.DeadlineExceeded) }},
		{"kind=reset", func(t *testing.T, a answer) { assert.ErrorIs(t, a.err, io.EOF) }},
		{"kind=cut", func(t *testing.T, a answer) {
			assert.ErrorIs(t, a.midway, io.ErrUnexpectedEOF)
			assert.Equal(t, rows[:len(rows)/2], a.body)
		}},
		{"kind=anonymous", func(t *testing.T, a answer) { assert.Equal(t, `["true","0s","0s"]`, a.body) }},
		{"kind=index-lag by=1m", func(t *testing.T, a answer) { assert.Equal(t, `["false","1m0s","0s"]`, a.body) }},
		{"kind=replica-lag by=2m", func(t *testing.T, a answer) { assert.Equal(t, `["false","0s","2m0s"]`, a.body) }},
		{"kind=slow by=3h", func(t *testing.T, a answer) { assert.Equal(t, "Mon, 05 Jan 2026 12:00:00 GMT", a.date) }},
		{"kind=clock-skew by=-5m", func(t *testing.T, a answer) { assert.Equal(t, "Mon, 05 Jan 2026 08:55:00 GMT", a.date) }},
		{"kind=no-date", func(t *testing.T, a answer) { assert.Empty(t, a.date) }},
		{"kind=null-rows n=2", func(t *testing.T, a answer) { assert.Equal(t, "[null,null,\"0s\"]\n", a.body) }},
		{"kind=drop-rows", func(t *testing.T, a answer) { assert.Equal(t, "[\"false\",\"0s\"]\n", a.body) }},
		{"kind=repeat-row", func(t *testing.T, a answer) { assert.Equal(t, "[\"false\",\"0s\",\"0s\",\"0s\"]\n", a.body) }},
		{"kind=total n=7", func(t *testing.T, a answer) { assert.Equal(t, "10", a.total) }},
		{"kind=no-total", func(t *testing.T, a answer) { assert.Empty(t, a.total) }},
		{"kind=html route=other", func(t *testing.T, a answer) { assert.Equal(t, rows, a.body) }},
		{"kind=html skip=1", func(t *testing.T, a answer) { assert.Equal(t, rows, a.body) }},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			script := small
			if tc.fault != "" {
				script += "fault " + tc.fault
			}
			t.Run("connection", func(t *testing.T) {
				srv := httptest.NewServer(face(world(t, script)))
				defer srv.Close()
				defer srv.Client().CloseIdleConnections()
				tc.check(t, get(t, srv.Client(), srv.URL+"/search"))
			})
			t.Run("in process", func(t *testing.T) {
				c := &http.Client{Transport: forgesim.Transport(face(world(t, script)))}
				tc.check(t, get(t, c, "http://forge.example/search"))
			})
		})
	}
}

func TestRequestsAreCounted(t *testing.T) {
	w := world(t, small+"fault kind=status status=429 route=role count=1")
	c := &http.Client{Transport: forgesim.Transport(face(w))}
	for _, p := range []string{"search", "role", "role", "search", "search"} {
		get(t, c, "http://forge.example/"+p+"?page=2")
	}
	n := w.Counters()
	assert.Equal(t, 5, n.Total)
	assert.Equal(t, map[forgesim.Class]int{"search": 3, "role": 2}, n.ByClass)
	assert.Equal(t, map[string]int{"search.list": 3, "role.list": 2}, n.ByRoute)
	hits := w.Hits()
	require.Len(t, hits, 5)
	assert.Equal(t, forgesim.Hit{At: forgesim.Epoch(), Method: "GET", URI: "/role?page=2", Status: 429, Fault: "status",
		Route: forgesim.Route{Name: "role.list", Class: "role"}}, hits[1])
	w.ResetCounters()
	assert.Zero(t, w.Counters().Total)
}

func TestScriptsRunBetweenRequests(t *testing.T) {
	w := world(t, small+`after route=search n=2 do="close on=one as=olga ; advance by=1h"`)
	c := &http.Client{Transport: forgesim.Transport(face(w))}
	for i, closed := range []bool{false, false, true, true} {
		if i > 0 {
			get(t, c, "http://forge.example/search")
		}
		if i == 1 {
			get(t, c, "http://forge.example/role")
		}
		assert.Equal(t, closed, entity(t, w, "one").Closed, i)
	}
	assert.Equal(t, forgesim.Epoch().Add(time.Hour), w.Now(), "once")
	require.NoError(t, w.HookErr())

	run(t, w, `after route=* do="close on=nosuch as=olga"`)
	get(t, c, "http://forge.example/role")
	require.ErrorIs(t, w.HookErr(), forgesim.ErrUsage)
}

func BenchmarkSweep(b *testing.B) {
	w := forgesim.New(forgesim.Options{})
	require.NoError(b, w.Seed(10_000, 1))
	r := w.Reader(w.Profile().Moves, 0)
	for b.Loop() {
		for off := 0; off < 10_000; off += 50 {
			r.Select(1, forgesim.Where{}, nil, nil, off, 50)
		}
	}
}
