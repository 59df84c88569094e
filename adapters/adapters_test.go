package adapters_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
)

// Scenario B127: a date 90 s ahead, a date in the past, zero, negative, nonsense, an hour in a clock of its own.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	sent := now.Add(-time.Hour) // the server's clock is an hour behind ours
	for _, tt := range []struct {
		header, date string
		want         time.Duration
	}{
		{"", "", 0},
		{"120", "", 2 * time.Minute},
		{" 7 ", "", 7 * time.Second},
		{"0", "", time.Second},
		{"-5", "", time.Second},
		{"abc", "", 0},
		{"1.5", "", 0},
		{"99999999", "", 24 * time.Hour},
		{now.Add(90 * time.Second).Format(http.TimeFormat), "", 90 * time.Second},
		{sent.Add(90 * time.Second).Format(http.TimeFormat), sent.Format(http.TimeFormat), 90 * time.Second},
		{now.Add(-time.Minute).Format(http.TimeFormat), "", time.Second},
		{now.AddDate(9, 0, 0).Format(http.TimeFormat), "", 24 * time.Hour},
	} {
		h := http.Header{}
		if tt.header != "" {
			h.Set("Retry-After", tt.header)
		}
		if tt.date != "" {
			h.Set("Date", tt.date)
		}
		assert.Equal(t, tt.want, adapters.RetryAfter(h, now), "%q", tt.header)
	}
}

func TestRoles(t *testing.T) {
	order := []string{"external", "none", "read", "triage", "write", "maintain", "admin"}
	last := adapters.NoRole
	for _, name := range order {
		r, err := adapters.ParseRole(name)
		require.NoError(t, err)
		assert.Greater(t, r, last, name)
		assert.Equal(t, name, r.String())
		last = r
	}
	for _, name := range []string{"", "owner", "Admin", "write "} {
		r, err := adapters.ParseRole(name)
		require.Error(t, err, name)
		assert.Equal(t, adapters.NoRole, r)
	}
}

func TestErrorsMatch(t *testing.T) {
	err := fmt.Errorf("cycle: %w", &adapters.Error{Severity: adapters.MomentFailure, Op: "list issues", Status: 429, Err: adapters.ErrThrottled})
	assert.ErrorIs(t, err, adapters.ErrThrottled)
	var ae *adapters.Error
	require.True(t, errors.As(err, &ae))
	assert.Equal(t, adapters.MomentFailure, ae.Severity)
	assert.Equal(t, "cycle: list issues: status 429: throttled by the provider", err.Error())
	assert.Equal(t, "read: status 500", (&adapters.Error{Op: "read", Status: 500}).Error())
}
