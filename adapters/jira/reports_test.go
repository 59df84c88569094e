package jira_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/jira"
)

// Scenario B125, SPEC JI-17: "retry after 0", three times, is a second each time, in which nothing reaches the server.
func TestRetryAfterZero(t *testing.T) {
	s := newStage(t, face.Options{}, many(2))
	ses := s.open()
	s.face.Switch(func(q *face.Quirks) { q.Limit, q.LimitCount, q.RetryAfter = "jira-quota-tenant-based", 3, "0" })
	for range 3 {
		before := len(s.seen.paths)
		for range 20 {
			err := list(ses, nil, everything, time.Time{}).err
			require.ErrorIs(t, err, adapters.ErrThrottled)
			var e *adapters.Error
			require.ErrorAs(t, err, &e)
			assert.LessOrEqual(t, e.After, time.Second)
			assert.Positive(t, e.After)
		}
		assert.Equal(t, 1, len(s.seen.paths)-before)
		s.run("advance by=1s")
	}
	assert.Equal(t, []string{"1", "1", "1"}, s.meter.waits)
	assert.Len(t, list(ses, nil, everything, time.Time{}).numbers, 2)
}
