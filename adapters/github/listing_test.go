package github_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Scenario B025, SPEC GH-4, GH-7: whatever zone the poller lives in, bounds are sent in UTC, and escaped where they stand in
// an address; one that the server refuses is a failure and no empty list.
func TestBoundsInUTC(t *testing.T) {
	berlin := time.FixedZone("CEST", 2*3600)
	st := newStage(t, many(1, "work_item")+"advance by=3h\n"+many(1, "work_item"))
	var sent []string
	st.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.URL.RawQuery)
		if r.Body != nil {
			b, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			r.Body = io.NopCloser(bytes.NewReader(b))
			sent = append(sent, string(b))
		}
		return st.client.Transport.RoundTrip(r)
	})}
	st.config.Now = func() time.Time { return st.w.Now().In(berlin) }
	ses := st.open()
	since := st.w.Now().Add(-time.Hour).Truncate(time.Second)
	bound := regexp.MustCompile(`since"?[:=]"?([^"&]+)`)
	for walk, want := range map[string]string{
		"changed":  since.UTC().Format(time.RFC3339),
		"comments": url.QueryEscape(since.UTC().Add(-time.Second).Format(time.RFC3339)),
	} {
		sent = nil
		require.NoError(t, list(ses, walk, since.In(berlin), nil).err)
		var bounds []string
		for _, text := range sent {
			for _, m := range bound.FindAllStringSubmatch(text, -1) {
				bounds = append(bounds, m[1])
			}
		}
		assert.Equal(t, []string{want}, bounds)
	}
	st.run("fault kind=status status=400 route=search")
	assert.Error(t, list(ses, "changed", since, nil).err)
}
