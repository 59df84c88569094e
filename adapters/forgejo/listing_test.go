package forgejo_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

const manyBugs = "create as=wes title=t\nadvance by=1s\n"

// Scenario B034: a server that gives fifty rows, whatever is asked for, is read to its end.
func TestThreePages(t *testing.T) {
	st := newStage(t, face.Gitea124, strings.Repeat(manyBugs, 120))
	l := list(st.open(), "all", time.Time{}, nil)
	require.NoError(t, l.err)
	assert.Empty(t, l.short)
	assert.Equal(t, 3, l.pages)
	assert.Equal(t, numbers(1, 120, func(int) bool { return true }), sorted(l.numbers))
}

// Scenario B038, SPEC FJ-4: rows that come in another order with each request are never taken for the whole list.
func TestShuffledRows(t *testing.T) {
	st := newStage(t, face.Gitea124, strings.Repeat(manyBugs, 230))
	whole := forgesim.Transport(face.New(st.w, face.Options{Flavour: face.Gitea124, MaxItems: 1000}))
	inOrder, asked, shuffle := st.client.Transport, 0, false
	st.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if !shuffle || !strings.HasSuffix(r.URL.Path, "/issues") {
			return inOrder.RoundTrip(r)
		}
		asked++
		return shuffled(t, whole, r, uint64(asked))
	})
	ses := st.open()
	for _, walk := range []string{"issues", "all"} {
		asked, shuffle = 0, true
		l := list(ses, walk, time.Time{}, nil)
		require.ErrorIs(t, l.err, adapters.ErrProtocol)
		assert.ErrorContains(t, l.err, "not in creation order")
		assert.Empty(t, l.numbers)
		assert.Equal(t, 1, asked)
		shuffle = false
		l = list(ses, walk, time.Time{}, nil)
		require.NoError(t, l.err)
		assert.Len(t, l.numbers, 230)
	}
}

// shuffled answers with a page of a listing in an order of its own.
func shuffled(t *testing.T, whole http.RoundTripper, r *http.Request, seed uint64) (*http.Response, error) {
	q := r.URL.Query()
	page, err := strconv.Atoi(q.Get("page"))
	require.NoError(t, err)
	limit, err := strconv.Atoi(q.Get("limit"))
	require.NoError(t, err)
	q.Set("page", "1")
	q.Set("limit", "1000")
	all := r.Clone(r.Context())
	all.URL.RawQuery = q.Encode()
	resp, err := whole.RoundTrip(all)
	require.NoError(t, err)
	var rows []json.RawMessage
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&rows))
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	from := min((page-1)*limit, len(rows))
	b, err := json.Marshal(rows[from:min(from+limit, len(rows))])
	require.NoError(t, err)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	resp.Header.Del("Content-Length")
	resp.Header.Del("Link")
	return resp, nil
}

// Scenario B025, SPEC FJ-2: whatever zone the poller lives in, bounds are sent in UTC and escaped; one that the server
// refuses is a failure and no empty list.
func TestBoundsInUTC(t *testing.T) {
	berlin := time.FixedZone("CEST", 2*3600)
	st := newStage(t, face.Gitea124, manyBugs+"advance by=3h\n"+manyBugs+"advance by=1m")
	st.config.Now = func() time.Time { return st.w.Now().In(berlin) }
	ses := st.open()
	since := st.w.Now().Add(-time.Hour).Truncate(time.Second)
	for walk, want := range map[string][]int64{"issues": {2}, "comments": nil} {
		st.w.ResetCounters()
		l := list(ses, walk, since.In(berlin), nil)
		require.NoError(t, l.err)
		assert.Equal(t, want, l.numbers)
		hits := st.w.Hits()
		require.NotEmpty(t, hits)
		for _, h := range hits {
			assert.Contains(t, h.URI, "since="+strings.ReplaceAll(since.UTC().Format(time.RFC3339), ":", "%3A"))
			assert.Equal(t, http.StatusOK, h.Status)
		}
	}
	st.run("fault kind=status status=400 route=issues.list")
	assert.Error(t, list(ses, "issues", since, nil).err)
}
