package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between the poller and the server as a site's reverse proxy would. It counts what passes and can hold
// back one request, or tell when an answer has been delivered, so that a test can strike at that very moment.
type proxy struct {
	URL string

	mu    sync.Mutex
	next  http.Handler
	seen  []string // method and request URI
	traps []*trap
}

// trap catches the nth request that match accepts.
type trap struct {
	match func(*http.Request) bool
	left  int
	after bool          // let the request pass and signal when its answer is out
	hit   chan struct{} // closed when caught
	free  chan struct{} // closed to let go
}

// newProxy starts the proxy without a server behind it: the server wants to know the proxy's address first.
func newProxy(t *testing.T) *proxy {
	p := &proxy{next: http.NotFoundHandler()}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	p.URL = srv.URL + "/"
	return p
}

func (p *proxy) forwardTo(t *testing.T, server string) {
	u, err := url.Parse(server)
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	rp := httputil.NewSingleHostReverseProxy(u)
	rp.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	p.next = rp
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	next, caught := p.admit(r)
	if caught == nil {
		next.ServeHTTP(w, r)
		return
	}
	if caught.after {
		next.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
		close(caught.hit)
		return
	}
	close(caught.hit)
	select {
	case <-caught.free:
		next.ServeHTTP(w, r)
	case <-r.Context().Done(): // the client is gone
	}
}

func (p *proxy) admit(r *http.Request) (http.Handler, *trap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r.Method+" "+r.URL.RequestURI())
	for i, tr := range p.traps {
		if !tr.match(r) {
			continue
		}
		if tr.left--; tr.left == 0 {
			p.traps = append(p.traps[:i:i], p.traps[i+1:]...)
			return p.next, tr
		}
	}
	return p.next, nil
}

// hold stalls the nth request from now on that match accepts.
func (p *proxy) hold(n int, match func(*http.Request) bool) *trap { return p.set(n, match, false) }

// delivered lets it pass and signals once its answer is on the wire.
func (p *proxy) delivered(n int, match func(*http.Request) bool) *trap { return p.set(n, match, true) }

func (p *proxy) set(n int, match func(*http.Request) bool, after bool) *trap {
	tr := &trap{match: match, left: n, after: after, hit: make(chan struct{}), free: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps = append(p.traps, tr)
	return tr
}

// clear forgets all traps that have not caught anything.
func (p *proxy) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps = nil
}

// take returns what has passed since the last call.
func (p *proxy) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

var listingPath = regexp.MustCompile(`^/api/v1/repos/[^/]+/[^/]+/(issues|issues/comments|pulls)$`)

// listing says whether a request asks for a page of a listing: what one search per scope consists of.
func listing(r *http.Request) bool {
	return r.Method == http.MethodGet && listingPath.MatchString(r.URL.Path)
}

// detail says whether a request asks about one entity or one person.
func detail(r *http.Request) bool {
	return r.Method == http.MethodGet && regexp.MustCompile(`/(issues|pulls)/\d+|/permission$`).MatchString(r.URL.Path)
}

func countListings(t *testing.T, seen []string) int {
	n := 0
	for _, s := range seen {
		r, err := http.NewRequest(http.MethodGet, "http://x"+s[len("GET "):], nil)
		if s[:4] != "GET " {
			continue
		}
		require.NoError(t, err)
		if listing(r) {
			n++
		}
	}
	return n
}
