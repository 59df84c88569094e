package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// ErrDuration is returned for a text that is no duration.
var ErrDuration = errors.New("not a duration")

// ParseDuration reads 30s, 5m, 1h30m, 7d or 2w. A day has 24 hours here.
func ParseDuration(s string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, fmt.Errorf("%w: %q has no unit, write %ss, %sm, %sh or %sd", ErrDuration, s, s, s, s, s)
	}
	for unit, hours := range map[string]int{"d": 24, "w": 7 * 24} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			v, err := strconv.Atoi(n)
			if err != nil || v < 0 || v > 10_000 {
				return 0, fmt.Errorf("%w: %q, write a whole number of days or weeks, or 36h", ErrDuration, s)
			}
			return time.Duration(v*hours) * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%w: %q, write for example 30s, 5m, 24h or 7d", ErrDuration, s)
	}
	return d, nil
}

// duration reads an optional duration between least and most.
func (l *loader) duration(m yamlpos.Mapping, key string, into *time.Duration, least, most time.Duration) {
	v := m.Get(key)
	if v == nil {
		return
	}
	s, ok := l.Text(v, key)
	if !ok {
		return
	}
	d, err := ParseDuration(s)
	switch {
	case err != nil:
		said, advice, _ := strings.Cut(err.Error(), ", ")
		l.Report(v, RuleDuration, advice, "%s is %s", key, said)
	case d < least || d > most:
		l.Report(v, RuleDuration, fmt.Sprintf("write %s to %s", short(least), short(most)), "%s is %s, it must be between %s and %s", key, s, short(least), short(most))
	default:
		*into = d
	}
}

func short(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return d.String()
	}
}
