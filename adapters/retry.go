package adapters

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads a Retry-After header in both of its forms (RFC 9110 §10.2.3): a date is taken against the answer's own
// Date, else against now. The result is clamped to [1 s, 24 h]; it is 0 when there is no header or it cannot be read.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		d = time.Duration(min(max(n, 1), 86400)) * time.Second
	} else if t, err := http.ParseTime(v); err == nil {
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent
		}
		d = t.Sub(now)
	} else {
		return 0
	}
	return min(max(d, time.Second), 24*time.Hour)
}
