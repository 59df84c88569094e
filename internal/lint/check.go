package lint

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// check adds what only shows when a query is bound, or when harnesses are seen together.
func check(set *harness.Set, reg config.Registry) {
	alone := newAlone(reg)
	found := make([]diag.Diagnostics, len(set.Harnesses))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, h := range set.Harnesses {
		if !h.Broken {
			g.Go(func() error { found[i] = alone.of(h); return nil })
		}
	}
	_ = g.Wait() // nothing to return
	set.Diagnostics = slices.Concat(append([]diag.Diagnostics{set.Diagnostics}, found...)...)
	set.Diagnostics = append(set.Diagnostics, together(set)...)
}

// alone looks at one harness at a time, for many at once.
type alone struct {
	triggers triggers
	costs    costs
}

func newAlone(reg config.Registry) *alone {
	return &alone{triggers: triggers{found: map[triggerKey]func() []trigger.Issue{}}, costs: newCosts(reg)}
}

func (a *alone) of(h *harness.Harness) diag.Diagnostics {
	ds := a.triggers.of(h)
	for _, s := range h.Sources {
		if s.Bound != nil {
			ds = append(ds, a.costs.of(s)...)
		}
	}
	return ds
}

// together compares sources with each other.
func together(set *harness.Set) (ds diag.Diagnostics) {
	first := map[string]*harness.Source{}
	for _, h := range set.Harnesses {
		for i, s := range h.Sources {
			if h.Broken || s.Bound == nil {
				continue
			}
			if d, ok := shadow(s, h.Sources[:i], h.Sources[i+1:]); ok {
				ds = append(ds, d)
				continue
			}
			key := s.From + "\x00" + string(s.Kind) + "\x00" + s.Bound.Query().String()
			if o := first[key]; o == nil {
				first[key] = s
			} else if o.Harness != h {
				ds = append(ds, whole(s, RuleSameAsOther, fmt.Sprintf("harness %s has the same source (%s)", o.Harness.Name, o.QueryPos),
					"fine when their triggers differ: the search costs nothing more"))
			}
		}
	}
	return ds
}

// whole is a diagnostic about a whole query, or the beginning of one of several lines.
func whole(s *harness.Source, r diag.Rule, message, suggest string) diag.Diagnostic {
	text := s.Text()
	end := len(text)
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		end = i
	}
	return s.At(r, query.Span{Start: 0, End: end}, message, suggest)
}

// shadow finds a source that another one of the same harness makes needless: an earlier one that says the same, or any
// that matches more.
func shadow(s *harness.Source, before, after []*harness.Source) (diag.Diagnostic, bool) {
	comparable := func(o *harness.Source) bool { return o.Bound != nil && o.From == s.From && o.Kind == s.Kind }
	for _, o := range slices.Concat(before, after) {
		if !comparable(o) || !query.Implies(s.Bound, o.Bound) {
			continue
		}
		switch back := query.Implies(o.Bound, s.Bound); {
		case !back:
			return whole(s, RuleShadowed, fmt.Sprintf("source %d (%s) matches all that this one matches", o.Index+1, o.QueryPos), "remove this one: a member of one source is a member"), true
		case o.Index < s.Index:
			return whole(s, RuleDuplicate, fmt.Sprintf("the source is the same as source %d (%s)", o.Index+1, o.QueryPos), "remove one of them"), true
		}
	}
	return diag.Diagnostic{}, false
}

// costs are the claims of all adapters, by provider and kind.
type costs map[string]query.Filters

func newCosts(reg config.Registry) costs {
	c := costs{}
	for provider, a := range reg {
		for _, k := range config.Kinds() {
			if config.HasKind(a, k) {
				c[claimKey(provider, k)] = a.Claims(k)
			}
		}
	}
	return c
}

func claimKey(provider string, k query.Kind) string { return provider + "\x00" + string(k) }

// of says what a bound query makes the engine do.
func (c costs) of(s *harness.Source) (ds diag.Diagnostics) {
	if !s.Bound.Anchored() {
		ds = append(ds, whole(s, RuleUnanchored, "nothing in the query is a plain equality: it is tried on every entity of the scope",
			`add one that always holds for what you want, for example state = open`))
	}
	cat := s.Bound.Catalogue()
	for _, id := range s.Bound.Fields().IDs() {
		f, ok := cat.ByID(id)
		if !ok || len(f.Walks) > 0 || f.Clock == query.Fixed {
			continue
		}
		every := s.Driver.ReconcileEvery
		ds = append(ds, s.At(RuleUnnoticed, mention(s.Text(), f.Name), fmt.Sprintf("%s shows no change of %s between sweeps: it is seen after up to %s", s.Driver.Provider, f.Name, shown(every)),
			"lower reconcile_every of the input driver where that is too late; each sweep reads the whole scope"))
	}
	return append(ds, c.unfiltered(s)...)
}

// unfiltered says which tests the provider's search leaves to the local check.
func (c costs) unfiltered(s *harness.Source) diag.Diagnostics {
	claims := c[claimKey(s.Driver.Provider, s.Kind)]
	if claims == nil {
		return nil
	}
	_, weak := query.Upper([]query.Source{{ID: s.ID(), Query: s.Bound}}, claims, query.Sweep, time.Time{}, 0, nil)
	var texts []string
	for _, w := range weak {
		if w.Leaf.Field == 0 || w.Leaf.AnyElement() && len(weak) > 1 {
			continue // a whole branch that says nothing, or the weaker form of a leaf that is listed
		}
		if t := w.Leaf.String(); !slices.Contains(texts, t) {
			texts = append(texts, t)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return diag.Diagnostics{whole(s, RuleUnfiltered, fmt.Sprintf("%s cannot filter %s: checked here, on every entity that its search returns", s.Driver.Provider, strings.Join(texts, "; ")), "nothing is lost by it; fullsend query explain shows the search and why")}
}

// mention is where a query first names a field, outside of strings; the whole query when it is not found.
func mention(text, field string) query.Span {
	word := strings.TrimSuffix(regexp.QuoteMeta(field), `\[N\]`)
	re, err := regexp.Compile(`(?i)"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\b(` + word + `)\b`)
	if err != nil {
		return query.Span{End: len(text)}
	}
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		if m[2] >= 0 {
			return query.Span{Start: m[2], End: m[3]}
		}
	}
	return query.Span{End: len(text)}
}

func shown(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}
