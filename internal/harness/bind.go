package harness

import (
	"fmt"
	"slices"

	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/query"
)

// Bind gives every source its input driver and its bound query, and adds to the set's diagnostics what is wrong with
// them. Sources that it refuses are marked; the others go on. cfg is nil when the config cannot be used: then every
// source is refused.
func (s *Set) Bind(cfg *config.Config, reg config.Registry) {
	cats := catalogues(cfg, reg)
	found := make([]diag.Diagnostics, len(s.Harnesses))
	each(len(found), func(i int) {
		for _, src := range s.Harnesses[i].Sources {
			ds := src.bind(cfg, cats)
			if ds.Failed() {
				src.Refused = true
			}
			if src.Refused {
				src.Bound = nil
			}
			found[i] = append(found[i], ds...)
		}
	})
	s.Diagnostics = slices.Concat(append([]diag.Diagnostics{s.Diagnostics}, found...)...)
	s.Diagnostics.Sort()
}

type catalogueKey struct {
	provider string
	kind     query.Kind
}

// catalogues are those of all input drivers: every source of a provider and kind shares one.
func catalogues(cfg *config.Config, reg config.Registry) map[catalogueKey]*query.Catalogue {
	cats := map[catalogueKey]*query.Catalogue{}
	if cfg == nil {
		return cats
	}
	for _, d := range cfg.InputDrivers {
		for _, k := range config.Kinds() {
			key := catalogueKey{d.Provider, k}
			if a := reg[d.Provider]; a != nil && cats[key] == nil && config.HasKind(a, k) {
				cats[key] = a.Catalogue(k)
			}
		}
	}
	return cats
}

func (s *Source) bind(cfg *config.Config, cats map[catalogueKey]*query.Catalogue) diag.Diagnostics {
	if s.From == "" {
		return nil // said by the loader
	}
	drv, bad := s.driver(cfg)
	if bad != nil {
		return diag.Diagnostics{*bad}
	}
	s.Driver = drv
	if s.Kind == "" || s.Query == nil {
		s.Refused = true
		return nil // said by the loader
	}
	cat := cats[catalogueKey{drv.Provider, s.Kind}]
	if cat == nil {
		return diag.Diagnostics{s.diag(RuleKind, s.kind, fmt.Sprintf("provider %s has no entities of kind %s", drv.Provider, s.Kind), "")}
	}
	var ds diag.Diagnostics
	if !drv.Serves(s.Kind) {
		ds = append(ds, s.diag(RuleKindUnpolled, s.kind, fmt.Sprintf("no scope of input driver %q is polled for %s: the source matches nothing", drv.Name, s.Kind),
			fmt.Sprintf("add %s to the kinds of a scope", s.Kind)))
	}
	bound, qs := s.Query.Bind(s.Kind, cat, query.Env{Self: drv.Self(s.Harness.Name, s.Harness.Role)})
	for _, d := range qs {
		if !slices.Contains(s.parsed, d) { // parsing has reported it
			ds = append(ds, s.Place(d))
		}
	}
	s.Bound = bound
	return ds
}

// driver finds the input driver that the source names, or says why there is none.
func (s *Source) driver(cfg *config.Config) (*config.InputDriver, *diag.Diagnostic) {
	fail := func(r diag.Rule, message, suggest string) (*config.InputDriver, *diag.Diagnostic) {
		d := s.diag(r, s.from, message, suggest)
		return nil, &d
	}
	if cfg == nil {
		return fail(RuleNoConfig, fmt.Sprintf("input driver %q is not known: config.yaml cannot be used", s.From), "mend config.yaml first")
	}
	if d, ok := cfg.Driver(s.From); ok {
		return d, nil
	}
	for _, b := range cfg.Broken {
		if b.Name == s.From {
			return fail(RuleBrokenDriver, fmt.Sprintf("input driver %q is refused, see %s", s.From, b.Pos), "mend the input driver, or choose another one")
		}
	}
	names := make([]string, 0, len(cfg.InputDrivers))
	for _, d := range cfg.InputDrivers {
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return fail(RuleNoConfig, fmt.Sprintf("input driver %q does not exist: config.yaml declares none that can be used", s.From), "write "+config.Example+" into config.yaml")
	}
	return fail(RuleUnknownDriver, fmt.Sprintf("input driver %q does not exist", s.From), diag.DidYouMean(s.From, names))
}

func (s *Source) diag(r diag.Rule, at [2]int, message, suggest string) diag.Diagnostic {
	d := s.text.Diag(r, at[0], at[1], message, suggest)
	d.Harness = s.Harness.Name
	return d
}
