package github_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
)

// Scenarios B120, B121, SPEC GH-20: a third page of five that is refused, for a secondary limit, without data and with
// nearly all of the quota left, is no end: the walk fails and waits, and goes on at that page.
func TestRefusedPage(t *testing.T) {
	st := newStage(t, many(250, "work_item"))
	st.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := st.client.Transport.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusForbidden {
			resp.Header.Set("X-RateLimit-Limit", "5000")
			resp.Header.Set("X-RateLimit-Remaining", "5000")
		}
		return resp, err
	})}
	ses := st.open()
	st.meter.reset()
	var got []int64
	var next []byte
	var refused error
	pages := 0
	for p, err := range ses.Pages(t.Context(), nil, adapters.Walk{Name: "changed"}, adapters.Position{}) {
		if refused = err; err != nil {
			break
		}
		next = p.Next
		for _, it := range p.Items {
			got = append(got, it.Number)
		}
		if pages++; pages == 2 {
			st.face.Switch(func(q *face.Quirks) { q.Limit, q.LimitCount = face.SecondaryForbidden, 1 })
		}
	}
	assert.Equal(t, 2, pages)
	require.ErrorIs(t, refused, adapters.ErrThrottled)
	assert.Equal(t, time.Minute, failure(t, refused).After)
	assert.Equal(t, []string{"60"}, st.meter.waits)
	rest := list(ses, "changed", time.Time{}, next)
	require.NoError(t, rest.err)
	assert.Equal(t, 3, rest.pages)
	want := make([]int64, 250)
	for i := range want {
		want[i] = int64(i + 1)
	}
	assert.Equal(t, want, sorted(append(got, rest.numbers...)))
}
