package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// harness is one harness of a story, for the engine and in plain Go. Versions of one name replace each other.
type harness struct {
	name  string
	kinds []forgesim.Kind
	rule  rule
	ask   int
	level adapters.Role
	self  bool // writes as the robot
	bound map[query.Kind]*query.Bound
}

// Bench makes harnesses; what is slow to compile it keeps. It is safe for concurrent use once made.
type Bench struct {
	triggers map[query.Kind][]*trigger.Program
}

// NewBench compiles the triggers.
func NewBench() (*Bench, error) {
	b := &Bench{triggers: map[query.Kind][]*trigger.Program{}}
	for _, k := range kinds() {
		for _, a := range asks() {
			if a.cel == "" {
				b.triggers[k] = append(b.triggers[k], nil)
				continue
			}
			p, issues := trigger.Compile(a.cel, forgejo.Adapter{}.Catalogue(k))
			if p == nil || len(issues) > 0 {
				return nil, fmt.Errorf("trigger %q: %v", a.cel, issues)
			}
			b.triggers[k] = append(b.triggers[k], p)
		}
	}
	return b, nil
}

func kinds() []query.Kind { return []query.Kind{query.WorkItem, query.ChangeProposal} }

// bind makes what the engine gets of h for one kind.
func (b *Bench) bind(h *harness, k query.Kind, robot string) poll.Harness {
	out := poll.Harness{Name: h.name, Queries: []*query.Bound{h.bound[k]}, Threshold: h.level, Trigger: b.triggers[k][h.ask], Role: "code"}
	if h.self {
		out.Self = robot
	}
	return out
}

// prepare binds the query for every kind of h. A random query may contradict itself; then h is no harness.
func (h *harness) prepare() error {
	q, ds := query.Parse("v1: " + h.rule.text())
	if ds.Failed() {
		return fmt.Errorf("%s: %w", h.rule.text(), ds[0])
	}
	h.bound = map[query.Kind]*query.Bound{}
	for _, k := range h.kinds {
		bound, ds := q.Bind(query.Kind(k), forgejo.Adapter{}.Catalogue(query.Kind(k)), query.Env{})
		if ds.Failed() {
			return fmt.Errorf("%s: %w", h.rule.text(), ds[0])
		}
		h.bound[query.Kind(k)] = bound
	}
	return nil
}

// invent makes a random harness of a name.
func invent(r *rand.Rand, name string) *harness {
	for {
		h := &harness{name: name, ask: r.IntN(len(asks()) + 2), level: []adapters.Role{adapters.Triage, adapters.Write}[r.IntN(2)], self: r.IntN(4) == 0}
		if h.ask >= len(asks()) {
			h.ask = 0 // most harnesses act on membership alone
		}
		switch r.IntN(3) {
		case 0:
			h.kinds = []forgesim.Kind{forgesim.WorkItem}
		case 1:
			h.kinds = []forgesim.Kind{forgesim.ChangeProposal}
		default:
			h.kinds = []forgesim.Kind{forgesim.WorkItem, forgesim.ChangeProposal}
		}
		h.rule = grow(r, h.kinds, 2)
		if h.prepare() == nil {
			return h
		}
	}
}

// grow makes a random rule over what all of the kinds have.
func grow(r *rand.Rand, ks []forgesim.Kind, depth int) rule {
	if depth == 0 || r.IntN(3) == 0 {
		return atom(r, ks)
	}
	parts := make([]rule, 2+r.IntN(2))
	for i := range parts {
		parts[i] = grow(r, ks, depth-1)
		if r.IntN(4) == 0 {
			parts[i] = not{parts[i]}
		}
	}
	if r.IntN(3) == 0 {
		return some(parts)
	}
	return all(parts)
}

func atom(r *rand.Rand, ks []forgesim.Kind) rule {
	span := []string{"30min", "2h", "5h"}[r.IntN(3)]
	atoms := []rule{
		label("bug"), label("bug", "docs"), label("blocked"), unlabelled(), commanded("/go", ""), commanded("/go", span), said("please"),
		titled("urgent"), described("urgent"), state("open"), state("closed"), unassigned(), milestone("1.0"), noMilestone(), author("wes"),
		locked(), older(span), quiet(span), justClosed(span),
	}
	if !slices.Contains(ks, forgesim.ChangeProposal) {
		return pick(r, append(atoms, unanswered(span)))
	}
	if !slices.Contains(ks, forgesim.WorkItem) {
		atoms = append(atoms, draft(), merged(), base("main"), checked(), unreviewed(), approved())
	}
	return pick(r, atoms)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
