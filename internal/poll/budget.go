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
	shareLooks // the agenda before the sweep
	shareSweep
	shareAgenda
	shares
)

// reserved is the part of the budget, in percent, that later kinds of work keep while an earlier one runs. What an
// earlier one leaves, the later ones may use.
var reserved = [shares]int{shareSetup: 100, shareWindows: 50, shareLooks: 30, shareSweep: 10, shareAgenda: 0}

type shareKey struct{}

func withShare(ctx context.Context, s share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// Meter is the budget of one credential: it caps the requests of a cycle, paces them, and stops them when the provider
// says so, for all scopes of the credential. It is safe for concurrent use.
type Meter struct {
	now   func() time.Time
	limit *rate.Limiter

	mu     sync.Mutex
	cap    int // requests of a cycle; 0 is no cap
	spent  int
	quota  int           // what every lane of the cycle may count on
	lanes  map[*Lane]int // of the cycle and not done: what each has spent on its work
	resume time.Time     // no request before: the provider's word
}

// NewMeter makes a meter that allows perSecond requests a second (0: as many as the provider takes) and cap requests a
// cycle (0: no cap).
func NewMeter(now func() time.Time, perSecond float64, cap int) *Meter {
	l := rate.NewLimiter(rate.Inf, 1)
	if perSecond > 0 {
		l = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	}
	return &Meter{now: now, limit: l, cap: cap}
}

// Begin starts a cycle of some lanes: nothing of its cap is spent, and each lane may count on an equal part of it until it
// is done. Lanes that join a cycle under way share what is left.
func (m *Meter) Begin(lanes ...*Lane) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lanes) == 0 {
		m.spent, m.lanes = 0, make(map[*Lane]int, len(lanes))
	}
	for _, l := range lanes {
		m.lanes[l] = 0
	}
	m.quota = m.cap / max(1, len(m.lanes))
}

// done frees what a lane has left of its part for the others.
func (l *Lane) done() {
	l.meter.mu.Lock()
	defer l.meter.mu.Unlock()
	delete(l.meter.lanes, l)
}

// free is what a lane may spend now without touching what the others count on.
func (m *Meter) free(l *Lane) int {
	left := m.cap - m.spent
	for o, spent := range m.lanes {
		if o != l {
			left -= max(0, m.quota-spent)
		}
	}
	return left
}

// Resume is the instant before which the provider asked not to be called; zero, or past, when it may be called.
func (m *Meter) Resume() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resume
}

// Lane is the meter as one scope uses it: what is sent through it is counted by class. It implements adapters.Budget and
// is safe for concurrent use.
type Lane struct {
	meter *Meter

	mu      sync.Mutex
	count   map[adapters.Class]int
	backoff int
	refused int
}

// Lane makes a lane of m.
func (m *Meter) Lane() *Lane { return &Lane{meter: m, count: map[adapters.Class]int{}} }

// Counts returns the requests sent by class and how often the provider asked to wait, and begins anew.
func (l *Lane) Counts() (map[adapters.Class]int, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, b := l.count, l.backoff
	l.count, l.backoff = map[adapters.Class]int{}, 0
	return c, b
}

// modest is a size for batches, at most n, that a part of the cap is enough for: a poller that lives for one cycle only
// would otherwise begin the same batch for ever.
func (l *Lane) modest(n int) int {
	l.meter.mu.Lock()
	defer l.meter.mu.Unlock()
	if l.meter.cap == 0 {
		return n
	}
	const dear = 12 // requests that an entity may need
	return min(n, max(1, l.meter.quota/dear))
}

// refusals is how many requests were not allowed so far: what lacks an answer after one of them was not tried.
func (l *Lane) refusals() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// Wait implements adapters.Budget.
func (l *Lane) Wait(ctx context.Context, c adapters.Class, cost int) error {
	if err := l.meter.take(ctx, l, cost); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused++
		return err
	}
	if err := l.meter.limit.Wait(ctx); err != nil {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "wait for budget", Err: err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[c]++
	return nil
}

// Observe implements adapters.Budget: after a throttling answer nothing is sent before the provider's instant, by any
// scope of the credential.
func (l *Lane) Observe(_ adapters.Class, status int, h http.Header) {
	if status != http.StatusTooManyRequests && !(status == http.StatusServiceUnavailable && h.Get("Retry-After") != "") {
		return
	}
	l.meter.pause(h)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.backoff++
}

func (m *Meter) take(ctx context.Context, l *Lane, cost int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if wait := m.resume.Sub(m.now()); wait > 0 {
		return &adapters.Error{Severity: adapters.MomentFailure, Op: "send request", After: wait,
			Err: fmt.Errorf("%w: not before %s", adapters.ErrThrottled, m.resume.UTC().Format(time.RFC3339))}
	}
	s, _ := ctx.Value(shareKey{}).(share)
	if m.cap > 0 && s != shareSetup {
		part := m.lanes[l] + m.free(l)
		if m.lanes[l]+cost > part-part*reserved[s]/100 {
			return &adapters.Error{Severity: adapters.MomentFailure, Op: "send request", Err: adapters.ErrBudget}
		}
	}
	m.spent += cost
	if _, ok := m.lanes[l]; ok && s != shareSetup { // what it takes to begin is no kind of work that could starve another
		m.lanes[l] += cost
	}
	return nil
}

// pause stops everything until the instant that the answer names.
func (m *Meter) pause(h http.Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait := adapters.RetryAfter(h, m.now())
	if wait <= 0 {
		wait = time.Minute // no word: the common advice for limits that are not in headers
	}
	if until := m.now().Add(wait); until.After(m.resume) {
		m.resume = until
	}
}
