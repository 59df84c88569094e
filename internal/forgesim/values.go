package forgesim

import (
	"strconv"
	"time"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func parseInt(what, s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, usage("%s: %q is no number", what, s)
	}
	return n, nil
}

// parseTime reads an instant or a day; "" and "none" are the zero time.
func parseTime(what, s string) (time.Time, error) {
	if s == "" || s == "none" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usage("%s: %q is neither RFC 3339 nor yyyy-mm-dd", what, s)
}
