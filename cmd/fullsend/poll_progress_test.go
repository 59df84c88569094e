package main

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// On a terminal there is one bar, which logs do not tear.
func TestProgressBar(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, tty: true, now: time.Now, walks: map[string]*walked{}}
	p.show("acme/widgets work_item", "all", 50, 2000)
	assert.Empty(t, out.String(), "a scan of one page has none")
	p.show("acme/widgets work_item", "all", 100, 2000)
	assert.Contains(t, out.String(), "acme/widgets work_item all")
	assert.Contains(t, out.String(), "100/2000")
	out.Reset()
	_, err := io.WriteString(p, "level=INFO msg=hello\n")
	assert.NoError(t, err)
	line := out.String()[strings.LastIndex(out.String()[:strings.Index(out.String(), "level=INFO")], "\r")+1:]
	assert.True(t, strings.HasPrefix(line, "level=INFO msg=hello\n"), "%q", out.String())
	p.show("acme/gadgets work_item", "all", 10, 100)
	p.show("acme/gadgets work_item", "all", 20, 100)
	p.mu.Lock()
	p.draw()
	p.mu.Unlock()
	assert.Equal(t, 2100, p.bar.GetMax())
	p.end()
	p.end()
	p.show("acme/widgets work_item", "all", 0, 0)
	p.show("acme/widgets work_item", "all", 10, 0)
	p.end()
}

// Elsewhere a long scan says so now and then.
func TestProgressInLogs(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 3, 21, 12, 0, 0, 0, time.UTC)
	log := slog.New(slog.NewTextHandler(&out, nil))
	p := &progress{out: &out, now: func() time.Time { return now }, log: func() *slog.Logger { return log }, walks: map[string]*walked{}}
	for done := range 7 {
		p.show("acme/widgets work_item", "all", done*50, 2000)
		now = now.Add(10 * time.Second)
	}
	assert.Equal(t, 2, strings.Count(out.String(), "\n"), out.String())
	assert.Contains(t, out.String(), `msg="scan under way" scope="acme/widgets work_item" walk=all entities=150 of=2000`)
}
