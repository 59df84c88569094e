package poll

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"sort"
	"strconv"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/router"
)

// compiled is what a target's harnesses compile to. It changes only when the configuration does.
type compiled struct {
	router     *router.Router
	harnessOf  []int // by source index
	thresholds []adapters.Role
	sources    []query.Source
	hash       string
	version    []string // by harness
	body       [][]byte // by harness: what is needed to compare it with its successor
}

// sourceBody is what the ledger keeps of a harness's sources, for the question whether a new version implies it.
type sourceBody struct {
	Queries   []string `json:"queries"`
	Threshold string   `json:"threshold"`
	Self      string   `json:"self,omitempty"`
	Bots      string   `json:"bots,omitempty"`
}

// compile makes the sources, one view per threshold, and the hashes. A plan's hash covers every source query, admission
// minimum, role and bot list and the engine's semantics version; not the rendered search.
func compile(t *Target) (*compiled, error) {
	c := &compiled{}
	bots := botList(t.Bots)
	plan := sha256.New()
	part(plan, "semantics", strconv.Itoa(query.SemanticsVersion), bots)
	for hi := range t.Harnesses {
		h := &t.Harnesses[hi]
		view := c.view(h.Threshold)
		body := sourceBody{Threshold: h.Threshold.String(), Self: h.Self, Bots: bots}
		for qi, q := range h.Queries {
			c.sources = append(c.sources, query.Source{ID: fmt.Sprintf("%s/%d", h.Name, qi), Query: q, View: view, Reads: h.Trigger.Fields()})
			c.harnessOf = append(c.harnessOf, hi)
			body.Queries = append(body.Queries, q.Query().String())
		}
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		one := sha256.New()
		part(one, h.Name, string(b), triggerText(h), strconv.Itoa(query.SemanticsVersion))
		c.version = append(c.version, hex.EncodeToString(one.Sum(nil)[:8]))
		c.body = append(c.body, b)
		part(plan, h.Name, string(b), triggerText(h))
	}
	c.router = router.New(c.sources)
	c.hash = hex.EncodeToString(plan.Sum(nil)[:12])
	return c, nil
}

// triggerText tells a harness without a trigger from one with any.
func triggerText(h *Harness) string {
	if h.Trigger == nil {
		return ""
	}
	return "cel " + h.Trigger.String()
}

// view gives the threshold's view id.
func (c *compiled) view(r adapters.Role) query.ViewID {
	i := slices.Index(c.thresholds, r)
	if i < 0 {
		i = len(c.thresholds)
		c.thresholds = append(c.thresholds, r)
	}
	return query.ViewID(i)
}

func part(h hash.Hash, ss ...string) {
	for _, s := range ss {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
}

func botList(bots map[string]adapters.Role) string {
	var ids []string
	for id, r := range bots {
		ids = append(ids, strconv.Quote(id)+"="+r.String())
	}
	sort.Strings(ids)
	return fmt.Sprint(ids)
}

// ledgerPlan is the plan as the ledger must know it. reuse is decided per harness: only where each of its new queries
// implies one of its own old ones under the same admission.
func (c *compiled) ledgerPlan(t *Target, walks []adapters.Walk, stored map[string]coverage.Source) coverage.Plan {
	p := coverage.Plan{Name: t.Config.Container, Hash: c.hash}
	for hi := range t.Harnesses {
		h := &t.Harnesses[hi]
		s := coverage.Source{ID: h.Name, Version: c.version[hi], Body: c.body[hi]}
		if old, ok := stored[h.Name]; ok && old.Version != s.Version {
			s.Reuse = implies(h, t, s.Body, old.Body)
		}
		p.Sources = append(p.Sources, s)
	}
	for _, w := range walks {
		p.Walks = append(p.Walks, coverage.Walk{
			Name: w.Name, Sweep: w.Kind == query.Sweep, Lag: w.Lag, Grain: w.Grain, Dense: w.Dense, Pointers: w.Pointers,
		})
	}
	return p
}

func implies(h *Harness, t *Target, now, before []byte) bool {
	var a, b sourceBody
	if json.Unmarshal(now, &a) != nil || json.Unmarshal(before, &b) != nil {
		return false
	}
	if a.Threshold != b.Threshold || a.Self != b.Self || a.Bots != b.Bots {
		return false
	}
	var old []*query.Bound
	for _, text := range b.Queries {
		q, ds := query.Parse(text)
		if ds.Failed() {
			return false
		}
		bound, ds := q.Bind(t.Config.Kind, t.Adapter.Catalogue(t.Config.Kind), query.Env{Self: h.Self})
		if ds.Failed() {
			return false
		}
		old = append(old, bound)
	}
	for _, q := range h.Queries {
		if !slices.ContainsFunc(old, func(o *query.Bound) bool { return query.Implies(q, o) }) {
			return false
		}
	}
	return true
}
