package poll

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/fullsend-ai/discovery/adapters"
)

// share is a kind of work that has its own part of a cycle's requests, so that none can starve another.
type share uint8

const (
	shareSetup share = iota // identity checks: never refused
	shareWindows
	shareSweep
	shareAgenda
	shares
)

// reserved is the part of the budget, in percent, that later kinds of work keep while an earlier one runs. What an
// earlier one leaves, the later ones may use.
var reserved = [shares]int{shareSetup: 100, shareWindows: 50, shareSweep: 25, shareAgenda: 0}

type shareKey struct{}

func withShare(ctx context.Context, s share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// Meter is the budget of one credential: it caps the requests of a cycle, paces them, waits when the provider says so,
// and counts them by class. It is safe for concurrent use.
type Meter struct {
	now   func() time.Time
	limit *rate.Limiter

	mu      sync.Mutex
	cap     int // requests of a cycle; 0 is no cap
	spent   int
	count   map[adapters.Class]int
	resume  time.Time // no request before: the provider's word
	backoff int
}

// NewMeter makes a meter that allows perSecond requests a second (0: as many as the provider takes) and cap requests a
// cycle (0: no cap).
func NewMeter(now func() time.Time, perSecond float64, cap int) *Meter {
	l := rate.NewLimiter(rate.Inf, 1)
	if perSecond > 0 {
		l = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	}
	return &Meter{now: now, limit: l, cap: cap, count: map[adapters.Class]int{}}
}

// Begin starts a cycle and forgets the last one's counts.
func (m *Meter) Begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent, m.backoff = 0, 0
	m.count = map[adapters.Class]int{}
}

// Counts returns the requests of this cycle by class, and how often the provider asked to wait.
func (m *Meter) Counts() (map[adapters.Class]int, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(map[adapters.Class]int, len(m.count))
	for k, v := range m.count {
		c[k] = v
	}
	return c, m.backoff
}

// Wait implements adapters.Budget.
func (m *Meter) Wait(ctx context.Context, c adapters.Class, cost int) error {
	if err := m.take(ctx, c, cost); err != nil {
		return err
	}
	if err := m.limit.Wait(ctx); err != nil {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "wait for budget", Err: err}
	}
	return nil
}

func (m *Meter) take(ctx context.Context, c adapters.Class, cost int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if wait := m.resume.Sub(m.now()); wait > 0 {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "send request", After: wait,
			Err: fmt.Errorf("%w: not before %s", adapters.ErrThrottled, m.resume.UTC().Format(time.RFC3339))}
	}
	s, _ := ctx.Value(shareKey{}).(share)
	if m.cap > 0 && s != shareSetup {
		left := m.cap - m.cap*reserved[s]/100
		if m.spent+cost > left {
			return &adapters.Error{Severity: adapters.MomentFailure, Op: "send request", Err: adapters.ErrBudget}
		}
	}
	m.spent += cost
	m.count[c]++
	return nil
}

// Observe implements adapters.Budget: after a throttling answer nothing is sent before the provider's instant, by any
// scope of the credential.
func (m *Meter) Observe(_ adapters.Class, status int, h http.Header) {
	if status != http.StatusTooManyRequests && !(status == http.StatusServiceUnavailable && h.Get("Retry-After") != "") {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.backoff++
	wait := adapters.RetryAfter(h, m.now())
	if wait <= 0 {
		wait = time.Minute // no word: the common advice for limits that are not in headers
	}
	if until := m.now().Add(wait); until.After(m.resume) {
		m.resume = until
	}
}
