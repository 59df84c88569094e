package conformance

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
)

// wire listens to what the adapter sends. It sees every hop of a redirect.
type wire struct {
	next http.RoundTripper
	now  func() time.Time

	mu        sync.Mutex
	log       []string // the last requests, for people
	sent      int      // of this cycle, redirects' further hops apart
	redirects int
	watch     func(*http.Request) string // a breach, or ""
	breaches  []string
}

// remembered is how many requests a failure may show.
const remembered = 64

func newWire(next http.RoundTripper, now func() time.Time) *wire {
	if next == nil {
		next = http.DefaultTransport
	}
	return &wire{next: next, now: now}
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	entry := fmt.Sprintf("%s  %-4s %s", w.now().UTC().Format("15:04:05"), r.Method, r.URL.RequestURI())
	if err != nil {
		entry += "  no answer: " + err.Error()
	} else {
		entry += fmt.Sprintf("  %d", resp.StatusCode)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.log) == remembered {
		w.log = append(w.log[:0], w.log[1:]...)
	}
	w.log = append(w.log, entry)
	w.sent++
	if err == nil && resp.StatusCode/100 == 3 && resp.Header.Get("Location") != "" {
		w.redirects++
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodHead {
		w.breaches = append(w.breaches, fmt.Sprintf("CF-46: the adapter sent %s %s: it must only read", r.Method, r.URL.Path))
	}
	return resp, err
}

func (w *wire) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.redirects, w.breaches = 0, 0, nil
}

// last are the newest n requests, oldest first.
func (w *wire) last(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.log[max(0, len(w.log)-n):]...)
}

// purse is a budget that counts what was announced to the one behind it.
type purse struct {
	adapters.Budget
	mu    sync.Mutex
	asked int
}

// Wait implements adapters.Budget.
func (p *purse) Wait(ctx context.Context, c adapters.Class, cost int) error {
	if err := p.Budget.Wait(ctx, c, cost); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked += max(cost, 1)
	return nil
}

func (p *purse) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = 0
}

// unannounced is how many requests of a cycle never asked the budget.
func unannounced(w *wire, p *purse) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.sent - w.redirects - p.asked
}
