package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/demo"
)

func play(t *testing.T, o demo.Options) (demo.Result, string) {
	t.Helper()
	var out bytes.Buffer
	o.Out, o.Log = &out, slog.New(slog.NewTextHandler(io.Discard, nil))
	r, err := demo.Run(context.Background(), o)
	require.NoError(t, err, out.String())
	return r, out.String()
}

// Over several worlds the engine and the independent evaluation agree about every single pair.
func TestNothingMissedNothingTwice(t *testing.T) {
	for seed := range uint64(4) {
		r, _ := play(t, demo.Options{Entities: 150, Seed: seed + 1, JSON: true})
		assert.Equal(t, 6, r.Harnesses)
		assert.Equal(t, 150, r.Entities)
		assert.Positive(t, r.Candidates)
		assert.Equal(t, r.Expected, r.Candidates)
		assert.Zero(t, r.Missed)
		assert.Zero(t, r.Duplicates)
	}
}

func TestLastLineIsTheResult(t *testing.T) {
	r, out := play(t, demo.Options{Entities: 60, Seed: 1, JSON: true})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var got demo.Result
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
	assert.Equal(t, r, got)
}

func TestStoryNamesWhoGotWhatAndWhy(t *testing.T) {
	_, out := play(t, demo.Options{Entities: 400, Seed: 1})
	for _, says := range []string{"harness", "because", "fix", `any comment(command = "/fs-fix")`, "search requests", "0 missed, 0 sent twice"} {
		assert.Contains(t, out, says)
	}
}
