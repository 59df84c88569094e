package poll_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// SPEC PO-18, DESIGN §9: the worst that the scopes of a cycle have in common decides.
func TestExitCode(t *testing.T) {
	var (
		whole     = poll.Summary{Read: true}
		part      = poll.Summary{Read: true, Incomplete: []string{"a page was cut"}}
		throttled = poll.Summary{Throttled: true, Incomplete: []string{"429"}}
		refused   = poll.Summary{Incomplete: []string{"401"}}
		unserved  = poll.Summary{Read: true, Refused: []adapters.Refusal{{Source: "fix", Why: "no such field"}}}
	)
	for name, tt := range map[string]struct {
		sums []poll.Summary
		want int
	}{
		"nothing to do":                    {nil, poll.ExitComplete},
		"all complete":                     {[]poll.Summary{whole, whole}, poll.ExitComplete},
		"one incomplete":                   {[]poll.Summary{whole, part}, poll.ExitIncomplete},
		"a source is refused":              {[]poll.Summary{unserved}, poll.ExitIncomplete},
		"one cannot be read, others can":   {[]poll.Summary{whole, refused}, poll.ExitIncomplete},
		"one throttled, others read":       {[]poll.Summary{part, throttled}, poll.ExitIncomplete},
		"everything throttled":             {[]poll.Summary{throttled, throttled}, poll.ExitTryLater},
		"none can be read":                 {[]poll.Summary{refused, refused}, poll.ExitError},
		"one throttled, the other refused": {[]poll.Summary{throttled, refused}, poll.ExitError},
	} {
		assert.Equal(t, tt.want, poll.ExitCode(tt.sums), name)
	}
}
