package watch_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/watch"
)

// Scenario B026, SPEC PO-3: the days on which clocks are changed have as many ticks as they have hours, also for a poller
// that is started anew each time.
func TestClockChanges(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		day  time.Time
		want int
	}{
		"spring": {time.Date(2026, 3, 8, 0, 0, 0, 0, newYork), 23},
		"autumn": {time.Date(2026, 11, 1, 0, 0, 0, 0, newYork), 25},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := schedule(time.Hour, watch.Skip)
				s.Resume(coverage.Cycle{}, tt.day)
				var ticks []time.Time
				for s.Wake().Before(tt.day.AddDate(0, 0, 1)) {
					began := s.Wake().In(newYork)
					require.True(t, s.Missed(began))
					ticks = append(ticks, began)
					ended := began.Add(10 * time.Minute)
					c := s.Done(watch.Outcome{Began: began, Ended: ended, Complete: true})
					if restarts {
						s = schedule(time.Hour, watch.Skip)
						s.Resume(c, ended.Add(10*time.Minute))
					}
				}
				assert.Len(t, ticks, tt.want)
				for i := 1; i < len(ticks); i++ {
					assert.Equal(t, time.Hour, ticks[i].Sub(ticks[i-1]))
				}
			})
		}
	}
}
