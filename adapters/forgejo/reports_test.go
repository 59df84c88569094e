package forgejo_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Scenario B141, SPEC FJ-9: where the next page is asked for is configured, whatever a link says.
func TestLinksToAnotherHost(t *testing.T) {
	st := newStage(t, face.Gitea124, fill(120))
	host := regexp.MustCompile(`<https?://[^/]*`)
	links := 0
	real := st.client.Transport
	st.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		assert.Equal(t, "http://forge.example", r.URL.Scheme+"://"+r.URL.Host, "%s", r.URL)
		resp, err := real.RoundTrip(r)
		if err == nil && resp.Header.Get("Link") != "" {
			links++
			resp.Header.Set("Link", host.ReplaceAllString(resp.Header.Get("Link"), "<http://evil.example"))
		}
		return resp, err
	})
	want := list(newStage(t, face.Gitea124, fill(120)).open(), "all", time.Time{}, nil)
	l := list(st.open(), "all", time.Time{}, nil)
	require.NoError(t, l.err)
	assert.Empty(t, l.short)
	assert.Greater(t, l.pages, 1)
	assert.Equal(t, want.numbers, l.numbers)
	assert.Positive(t, links)
}
