package poll_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// Scenarios B119, B120, B125, B127: what one scope of a credential is told holds for all of them, for at least as long as
// the provider says, whatever else the answer claims to remain; without a word for a minute.
func TestALimitIsForAllScopes(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	header := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	for name, tt := range map[string]struct {
		status int
		header http.Header
		want   time.Duration
	}{
		"seconds":                   {429, header("Retry-After", "60"), time.Minute},
		"zero":                      {429, header("Retry-After", "0"), time.Second},
		"negative":                  {429, header("Retry-After", "-5"), time.Second},
		"a date":                    {429, header("Retry-After", start.Add(90*time.Second).Format(http.TimeFormat)), 90 * time.Second},
		"a date in the past":        {429, header("Retry-After", start.Add(-time.Hour).Format(http.TimeFormat)), time.Second},
		"a date of a slow clock":    {429, header("Retry-After", start.Format(http.TimeFormat), "Date", start.Add(-40*time.Second).Format(http.TimeFormat)), 40 * time.Second},
		"nonsense":                  {429, header("Retry-After", "abc"), time.Minute},
		"no word":                   {429, nil, time.Minute},
		"everything remains":        {429, header("Retry-After", "30", "X-Ratelimit-Remaining", "5000"), 30 * time.Second},
		"maintenance with a word":   {503, header("Retry-After", "120"), 2 * time.Minute},
		"a failure without a word":  {503, nil, 0},
		"a good answer, and a word": {200, header("Retry-After", "60", "X-Ratelimit-Nearlimit", "true"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			now := start
			m := poll.NewMeter(func() time.Time { return now }, 0, 0)
			lanes := make([]*poll.Lane, 10)
			for i := range lanes {
				lanes[i] = m.Lane()
			}
			m.Begin(lanes...)
			lanes[0].Observe(adapters.Search, tt.status, tt.header)
			ask := func() (sent int) {
				for _, l := range lanes {
					err := l.Wait(t.Context(), adapters.Read, 1)
					if err == nil {
						sent++
						continue
					}
					require.ErrorIs(t, err, adapters.ErrThrottled)
					var e *adapters.Error
					require.ErrorAs(t, err, &e)
					assert.Equal(t, adapters.MomentFailure, e.Severity)
					assert.Equal(t, start.Add(tt.want), now.Add(e.After))
				}
				return sent
			}
			if tt.want > 0 {
				assert.Zero(t, ask())
				lanes[1].Observe(adapters.Read, 429, header("Retry-After", "1")) // a smaller word takes nothing back
				now = start.Add(tt.want - time.Nanosecond)
				assert.Zero(t, ask())
				now = start.Add(max(tt.want, time.Second))
			}
			assert.Equal(t, len(lanes), ask())
		})
	}
}
