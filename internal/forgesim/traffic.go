package forgesim

import (
	"errors"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Class is what a request is for.
type Class string

// The classes of request.
const (
	ClassSearch   Class = "search"   // listings and change feeds: windows, gaps, sweeps, pages
	ClassRead     Class = "read"     // follow-up reads of single entities
	ClassRole     Class = "role"     // rights of actors
	ClassIdentity Class = "identity" // who am I, which repository is this
	ClassServer   Class = "server"   // version and settings
	ClassWrite    Class = "write"    // changes
	ClassOther    Class = "other"    // no route
)

// Route is the name and class of what a request asks for, as a face classifies it.
type Route struct {
	Name  string // "issues.list"
	Class Class
}

// Counters count requests at the server, faulty answers included.
type Counters struct {
	Total   int
	ByClass map[Class]int
	ByRoute map[string]int
}

// Hit is one served request.
type Hit struct {
	At     time.Time // on the world's clock
	Method string
	URI    string
	Route  Route
	Status int    // 0: the connection was cut before an answer
	Fault  string // kinds of the faults that touched it
}

// hits is how many served requests are remembered.
const hits = 4096

// Fault is a way in which the forge misbehaves. See the table of kinds in the package comment.
type Fault struct {
	Kind       string
	Route      string        // glob on the route's name or class, or on the path when it starts with "/"; empty: every route
	Skip       int           // leave the first n matching requests alone
	Count      int           // then touch n requests; 0: all, until cleared
	Status     int           // of kind status
	RetryAfter string        // of kind status: the header's value
	By         time.Duration // lags, slow, clock-skew
	N          int           // total, null-rows, drop-rows
}

// faultKinds says of each kind when it acts.
func faultKinds() map[string]string {
	return map[string]string{
		"status": "instead", "html": "instead", "empty": "instead", "stall": "instead", "invalid-json": "instead", "null-body": "instead", "reset": "instead",
		"anonymous": "before", "index-lag": "before", "replica-lag": "before", "slow": "before", "clock-skew": "before", "no-date": "before",
		"cut": "after", "null-rows": "after", "drop-rows": "after", "total": "after", "no-total": "after", "no-link": "after", "repeat-row": "after",
	}
}

type fault struct {
	Fault
	seen int
}

// hook runs a script after the n-th request of a route.
type hook struct {
	route string
	left  int
	run   string
}

type traffic struct {
	mu       *sync.Mutex
	counters *Counters
	faults   *[]*fault
	hooks    *[]*hook
	log      *[]Hit
	failed   *[]error
}

func newTraffic() traffic {
	return traffic{new(sync.Mutex), &Counters{ByClass: map[Class]int{}, ByRoute: map[string]int{}}, new([]*fault), new([]*hook), new([]Hit), new([]error)}
}

// AddFault switches a fault on.
func (w *World) AddFault(f Fault) error {
	if _, ok := faultKinds()[f.Kind]; !ok {
		return usage("fault %q: want one of %v", f.Kind, slices.Sorted(maps.Keys(faultKinds())))
	}
	if _, err := path.Match(f.Route, ""); err != nil {
		return usage("route %q: %v", f.Route, err)
	}
	w.traffic.mu.Lock()
	defer w.traffic.mu.Unlock()
	*w.traffic.faults = append(*w.traffic.faults, &fault{Fault: f})
	return nil
}

// ClearFaults switches faults off: those of one kind, or all for "". Pending hooks go with "" too.
func (w *World) ClearFaults(kind string) {
	w.traffic.mu.Lock()
	defer w.traffic.mu.Unlock()
	*w.traffic.faults = slices.DeleteFunc(*w.traffic.faults, func(f *fault) bool { return kind == "" || f.Kind == kind })
	if kind == "" {
		*w.traffic.hooks = nil
	}
}

// After runs a script, once, right after the n-th request from now on that matches the route
// has been answered: how the world changes between two pages.
func (w *World) After(route string, n int, script string) error {
	if n < 1 || strings.TrimSpace(script) == "" {
		return usage("after needs n >= 1 and a script")
	}
	w.traffic.mu.Lock()
	defer w.traffic.mu.Unlock()
	*w.traffic.hooks = append(*w.traffic.hooks, &hook{route, n, script})
	return nil
}

// Counters are the requests since the last reset.
func (w *World) Counters() Counters {
	w.traffic.mu.Lock()
	defer w.traffic.mu.Unlock()
	c := *w.traffic.counters
	c.ByClass, c.ByRoute = maps.Clone(c.ByClass), maps.Clone(c.ByRoute)
	return c
}

// ResetCounters sets the counters and the log back to nothing.
func (w *World) ResetCounters() {
	w.traffic.mu.Lock()
	defer w.traffic.mu.Unlock()
	*w.traffic.counters = Counters{ByClass: map[Class]int{}, ByRoute: map[string]int{}}
	*w.traffic.log = nil
}

// Hits are the last 4,096 served requests, oldest first.
func (w *World) Hits() []Hit {
	w.traffic.mu.Lock()
	defer w.traffic.mu.Unlock()
	return slices.Clone(*w.traffic.log)
}

func matches(pattern string, r *http.Request, route Route) bool {
	if pattern == "" || pattern == "*" {
		return true
	}
	if strings.HasPrefix(pattern, "/") {
		ok, _ := path.Match(pattern, r.URL.Path)
		return ok
	}
	byName, _ := path.Match(pattern, route.Name)
	return byName || pattern == string(route.Class)
}

// arrive counts a request and picks the faults that touch it.
func (t traffic) arrive(r *http.Request, route Route) []Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters.Total++
	t.counters.ByClass[route.Class]++
	t.counters.ByRoute[route.Name]++
	var active []Fault
	for _, f := range *t.faults {
		if !matches(f.Route, r, route) {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Count == 0 || f.seen <= f.Skip+f.Count) {
			active = append(active, f.Fault)
		}
	}
	return active
}

// leave notes the answer and picks the scripts that are due.
func (t traffic) leave(h Hit, r *http.Request) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(*t.log) >= hits {
		*t.log = slices.Delete(*t.log, 0, hits/2)
	}
	*t.log = append(*t.log, h)
	var due []string
	*t.hooks = slices.DeleteFunc(*t.hooks, func(k *hook) bool {
		if !matches(k.route, r, h.Route) {
			return false
		}
		k.left--
		if k.left == 0 {
			due = append(due, k.run)
		}
		return k.left == 0
	})
	return due
}

func (t traffic) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.failed = append(*t.failed, err)
}

// HookErr is what went wrong in scripts given to After, which have no caller to tell. A test
// should look at it in the end.
func (w *World) HookErr() error {
	w.traffic.mu.Lock()
	defer w.traffic.mu.Unlock()
	return errors.Join(*w.traffic.failed...)
}

// CanFault reports whether the world knows a kind of fault.
func (w *World) CanFault(kind string) bool {
	_, ok := faultKinds()[kind]
	return ok
}
