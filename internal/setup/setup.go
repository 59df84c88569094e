package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// Options of Load.
type Options struct {
	Dir      string // the .fullsend folder
	Getenv   func(string) (string, bool)
	HTTP     *http.Client
	Now      func() time.Time // local clock
	Registry config.Registry
	Budget   int  // requests of one cycle and credential; 0: no cap
	Full     bool // owe every scope a sweep now
	// Meters, when set, keeps the budget of every credential from one Load to the next, so that what a provider asked for
	// outlives a change of the configuration. Load adds to it.
	Meters map[string]*poll.Meter
}

// Setup is a loaded folder. What is broken in it is in Diagnostics; the rest can be used.
type Setup struct {
	Config      *config.Config
	Harnesses   *harness.Set
	Targets     []poll.Target
	Diagnostics diag.Diagnostics
}

// ErrConfig says that nothing can be polled; the diagnostics say why.
var ErrConfig = errors.New("configuration cannot be used")

// Load reads the folder and builds a target for every configured container and kind that some harness asks about. A
// broken harness file, driver or source is named in the diagnostics and left out. ErrConfig when the folder or its
// config.yaml cannot be read at all.
func Load(o Options) (*Setup, error) {
	s := &Setup{Harnesses: &harness.Set{}}
	dir, ds := config.OpenDir(o.Dir)
	s.Diagnostics = append(s.Diagnostics, ds...)
	if dir == nil {
		return s, ErrConfig
	}
	defer dir.Close()
	cfg, ds := config.Load(dir, o.Registry)
	s.Diagnostics = append(s.Diagnostics, ds...)
	if cfg == nil {
		return s, ErrConfig
	}
	s.Config = cfg
	s.Harnesses = harness.Load(dir, cfg.Agents)
	s.Harnesses.Bind(cfg, o.Registry)
	s.Diagnostics = append(s.Diagnostics, s.Harnesses.Diagnostics...)
	meters := o.Meters
	if meters == nil {
		meters = map[string]*poll.Meter{}
	}
	for i := range cfg.InputDrivers {
		s.driver(o, &cfg.InputDrivers[i], meters)
	}
	s.Diagnostics.Sort()
	// A trigger is compiled for every provider and kind that its harness asks about, and says the same each time.
	s.Diagnostics = slices.CompactFunc(s.Diagnostics, func(a, b diag.Diagnostic) bool {
		return a.Pos() == b.Pos() && a.Code == b.Code && a.Message == b.Message
	})
	return s, nil
}

// driver adds the targets of one input driver.
func (s *Setup) driver(o Options, d *config.InputDriver, meters map[string]*poll.Meter) {
	a := o.Registry[d.Provider]
	credential := d.Provider + "\x00" + d.BaseURL + "\x00" + d.TokenEnv
	for _, v := range d.Settings {
		credential += "\x00" + v
	}
	if meters[credential] == nil {
		meters[credential] = poll.NewMeter(o.Now, 0, o.Budget)
	}
	bots, agents := accounts(d)
	asking := map[query.Kind][]poll.Harness{} // the same for all scopes of the driver
	for _, sc := range d.Scopes {
		for _, kind := range sc.Kinds {
			hs, ok := asking[kind]
			if !ok {
				hs = s.harnesses(a, d, kind)
				asking[kind] = hs
			}
			if len(hs) == 0 {
				continue // nobody asks: no search
			}
			lane := meters[credential].Lane()
			s.Targets = append(s.Targets, poll.Target{
				Driver:  d.Name,
				Adapter: a,
				Config: adapters.Config{
					BaseURL: d.BaseURL, Container: sc.Container, Kind: kind, Settings: d.Settings,
					Token: token(d.TokenEnv, o.Getenv), HTTP: o.HTTP, Budget: lane,
					Agents: agents, Now: o.Now,
				},
				Meter:     meters[credential],
				Lane:      lane,
				Harnesses: hs,
				Bots:      bots,
				Policy: coverage.Policy{
					SweepEvery: d.ReconcileEvery, RecheckEvery: d.RecheckEvery, Full: o.Full,
				},
			})
		}
	}
}

// accounts are the agents' accounts of a driver: with the role that each has by configuration, and as a list.
func accounts(d *config.InputDriver) (bots map[string]adapters.Role, ids []string) {
	bots = map[string]adapters.Role{}
	for _, a := range d.Accounts {
		if old, ok := bots[a.ID]; !ok || a.Role > old {
			bots[a.ID] = a.Role
		}
	}
	for id := range bots {
		ids = append(ids, id)
	}
	return bots, ids
}

// harnesses are those with a usable source over this driver and kind.
func (s *Setup) harnesses(a adapters.Adapter, d *config.InputDriver, kind query.Kind) []poll.Harness {
	var out []poll.Harness
	ts := &triggers{compiler: trigger.NewCompiler(a.Catalogue(kind)), done: map[string]checked{}}
	for _, h := range s.Harnesses.Harnesses {
		if h.Broken {
			continue
		}
		ph := poll.Harness{Name: h.Name, Threshold: h.Minimum, Self: d.Self(h.Name, h.Role), Role: h.Role, Revision: revision(h.Bytes())}
		for _, src := range h.Sources {
			if src.Driver != nil && src.Driver.Name == d.Name && src.Kind == kind && src.Bound != nil {
				ph.Queries = append(ph.Queries, src.Bound)
			}
		}
		if len(ph.Queries) == 0 || !s.trigger(h, &ph, ts) {
			continue
		}
		out = append(out, ph)
	}
	return out
}

// trigger compiles the harness's trigger for one provider and kind. A trigger that cannot be used takes its harness out.
func (s *Setup) trigger(h *harness.Harness, ph *poll.Harness, ts *triggers) bool {
	if h.Trigger == nil {
		return true
	}
	t := ts.of(*h.Trigger)
	usable := t.program != nil
	for _, is := range t.issues {
		rule := diag.Rule{Code: is.Code, Severity: diag.Error}
		if is.Warning {
			rule.Severity = diag.Warning
		}
		usable = usable && is.Warning
		s.Diagnostics = append(s.Diagnostics, h.AtTrigger(rule, is.Offset, is.Offset, is.Message, is.Suggest))
	}
	if !usable {
		return false
	}
	ph.Trigger = t.program
	return true
}

// triggers compiles for one provider and kind. Many harnesses have the same trigger: it is compiled once.
type triggers struct {
	compiler *trigger.Compiler
	done     map[string]checked
}

type checked struct {
	program *trigger.Program
	issues  []trigger.Issue
}

func (ts *triggers) of(text string) checked {
	c, ok := ts.done[text]
	if !ok {
		c.program, c.issues = ts.compiler.Compile(text)
		if c.program != nil {
			c.issues = append(append(c.issues, c.program.CheckWithoutEvent()...), c.program.CheckCost()...)
		}
		ts.done[text] = c
	}
	return c
}

// revision is a short name for the text of a harness file.
func revision(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
