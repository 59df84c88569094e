package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// sayEvery is how often a long scan is logged where there is no terminal.
const sayEvery = 30 * time.Second

// progress shows how far long scans have come: one bar on a terminal, a log line now and then elsewhere. It is safe for
// concurrent use; what is logged through it does not tear the bar.
type progress struct {
	out io.Writer
	tty bool
	now func() time.Time
	log func() *slog.Logger

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	walks map[string]*walked
}

// walked is one walk under way.
type walked struct {
	name        string
	done, total int
	began, said time.Time
}

// newProgress shows progress on e's standard error, and takes over e's log where there is a bar to keep whole.
func newProgress(e *env) *progress {
	p := &progress{out: e.err, now: time.Now, log: e.logger, walks: map[string]*walked{}}
	if f, ok := e.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !e.logJSON {
		p.tty = true
		e.logTo(p)
	}
	return p
}

// show is told after every page.
func (p *progress) show(scope, walk string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := scope + " " + walk
	w := p.walks[key]
	now := p.now()
	if w == nil || done < w.done { // the first page, or the first of another scan
		// What is done by the first page says nothing yet: most scans end with it.
		p.walks[key] = &walked{name: key, done: done, total: total, began: now, said: now}
		return
	}
	w.done, w.total = done, max(total, done)
	if !p.tty {
		if now.Sub(w.said) >= sayEvery {
			w.said = now
			p.log().Info("scan under way", "scope", scope, "walk", walk, "entities", done, "of", total, "since", w.began.UTC().Format(time.RFC3339))
		}
		return
	}
	p.draw()
}

// draw shows all walks that have come beyond their first page in one bar.
func (p *progress) draw() {
	done, total, n, name := 0, 0, 0, ""
	for _, w := range p.walks {
		if w.total > 0 {
			done, total, n, name = done+w.done, total+w.total, n+1, w.name
		}
	}
	if n > 1 {
		name = fmt.Sprintf("%d scans", n)
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(max(total, 1), progressbar.OptionSetWriter(p.out), progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(30), progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetDescription(name))
	}
	if p.bar.GetMax() != max(total, 1) {
		p.bar.ChangeMax(max(total, 1))
	}
	p.bar.Set(min(done, max(total-1, 0))) //nolint:errcheck // a bar that cannot be drawn is not missed; full ones vanish
	p.bar.Describe(name)
}

// end takes the bar away: the scans are over.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.walks)
	p.clear()
	p.bar = nil
}

func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear() //nolint:errcheck // see draw
	}
}

// Write writes log lines above the bar.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	n, err := p.out.Write(b)
	if p.bar != nil && bytes.HasSuffix(b, []byte("\n")) {
		p.bar.RenderBlank() //nolint:errcheck // see draw
	}
	return n, err
}
