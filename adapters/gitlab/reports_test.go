package gitlab_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Scenario B141, SPEC GL-4, GL-8: where the next page is asked for is configured: a link that leads to another host gives
// its cursor at most.
func TestLinksToAnotherHost(t *testing.T) {
	for name, q := range map[string]face.Quirks{"by key": {}, "by number": {NoKeyset: true}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, query.WorkItem, q, strings.Repeat("create as=wes title=t\nadvance by=1s\n", 250))
			host := regexp.MustCompile(`<https?://[^/]*`)
			links := 0
			real := s.config.HTTP.Transport
			s.config.HTTP.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				assert.Equal(t, "http://git.example", r.URL.Scheme+"://"+r.URL.Host, "%s", r.URL)
				resp, err := real.RoundTrip(r)
				if err == nil && resp.Header.Get("Link") != "" {
					links++
					resp.Header.Set("Link", host.ReplaceAllString(resp.Header.Get("Link"), "<http://evil.example"))
				}
				return resp, err
			})
			ses := s.open()
			l := list(ses, walk(ses, false), time.Time{}, nil)
			require.NoError(t, l.err)
			assert.Empty(t, l.short)
			assert.Len(t, l.numbers, 250)
			assert.Positive(t, links)
		})
	}
}
