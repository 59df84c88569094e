package setup

import (
	"fmt"
	"slices"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/internal/run"
	"github.com/fullsend-ai/discovery/internal/sandbox"
	"github.com/fullsend-ai/discovery/internal/trigger"
)

// Bound is what a run of one harness is bound to, in every configured container and kind. sandboxDriver replaces the
// configured driver where it is not empty. It fails when the harness or the run section cannot be used.
func (s *Setup) Bound(o Options, name, sandboxDriver string) (*run.Bound, error) {
	h, ok := s.Harnesses.Get(name)
	if !ok {
		return nil, fmt.Errorf("%w: there is no usable harness %q", ErrConfig, name)
	}
	box, err := s.sandbox(o, sandboxDriver)
	if err != nil {
		return nil, err
	}
	b := &run.Bound{Killed: s.Config.KillSwitch, Repo: s.Config.TargetRepo, Sandbox: box}
	meters := map[string]*poll.Meter{}
	for i := range s.Config.InputDrivers {
		d := &s.Config.InputDrivers[i]
		a := o.Registry[d.Provider]
		credential := credentialOf(d)
		if meters[credential] == nil {
			meters[credential] = poll.NewMeter(o.Now, 0, o.Budget)
		}
		bots, agents := accounts(d)
		for _, sc := range d.Scopes {
			for _, kind := range sc.Kinds {
				t := run.Target{Driver: d.Name, Adapter: a, Bots: bots, Config: adapters.Config{
					BaseURL: d.BaseURL, Container: sc.Container, Kind: kind, Settings: d.Settings,
					Token: token(d.TokenEnv, o.Getenv), HTTP: o.HTTP, Budget: meters[credential].Lane(), Agents: agents, Now: o.Now,
				}}
				if t.Harness, err = s.bind(h, d, a, &t); err != nil {
					return nil, err
				}
				b.Targets = append(b.Targets, t)
			}
		}
	}
	return b, nil
}

func credentialOf(d *config.InputDriver) string {
	c := d.Provider + "\x00" + d.BaseURL + "\x00" + d.TokenEnv
	for _, v := range d.Settings {
		c += "\x00" + v
	}
	return c
}

// bind is the harness as the run in one container and kind sees it. A trigger that cannot be compiled for them is no
// trigger there: it fails, since nothing could be decided.
func (s *Setup) bind(h *harness.Harness, d *config.InputDriver, a adapters.Adapter, t *run.Target) (run.Harness, error) {
	out := run.Harness{
		Name: h.Name, Role: h.Role, Self: d.Self(h.Name, h.Role), Revision: revision(h.Bytes()), Threshold: h.Minimum,
		Sourced: len(h.Sources) > 0, Refused: h.Refused(),
	}
	for _, src := range h.Sources {
		if src.Driver != nil && src.Driver.Name == d.Name && src.Kind == t.Config.Kind && src.Bound != nil {
			out.Queries = append(out.Queries, src.Bound)
		}
	}
	if h.Trigger == nil || out.Sourced && len(out.Queries) == 0 {
		return out, nil
	}
	p, issues := trigger.Compile(*h.Trigger, a.Catalogue(t.Config.Kind))
	if p == nil {
		return out, fmt.Errorf("%w: trigger of %s for %s %s: %w", ErrConfig, h.Name, d.Provider, t.Config.Kind, issues[0])
	}
	out.Trigger = p
	if out.Sourced {
		v, err := poll.Version(&poll.Target{Adapter: a, Config: t.Config, Bots: t.Bots, Harnesses: []poll.Harness{{
			Name: h.Name, Queries: out.Queries, Threshold: out.Threshold, Self: out.Self, Trigger: p}}})
		if err != nil {
			return out, err
		}
		out.Version = v
	}
	return out, nil
}

// sandbox is what the run section says.
func (s *Setup) sandbox(o Options, driver string) (run.Sandbox, error) {
	r := &s.Config.Run
	if r.Broken {
		return run.Sandbox{}, fmt.Errorf("%w: the run section is refused", ErrConfig)
	}
	box := run.Sandbox{Command: r.Command, PreScript: r.PreScript, Env: map[string]string{}, Network: r.Network, ReadOnly: r.ReadOnly, Limit: r.Limit, Grace: r.Grace}
	for _, name := range r.PassEnv {
		if v, ok := o.Getenv(name); ok {
			box.Env[name] = v
		}
	}
	if driver == "" {
		driver = r.Sandbox
	}
	switch {
	case driver == sandbox.Bwrap:
		box.Driver = sandbox.Bubblewrap{}
	case driver == sandbox.None:
		box.Driver = sandbox.Direct{}
	case driver == sandbox.Command && len(r.Launcher) > 0:
		box.Driver = sandbox.Direct{Launcher: r.Launcher}
	case slices.Contains(sandbox.Names(), driver):
		return box, fmt.Errorf("%w: the sandbox driver %s needs run.launcher", ErrConfig, driver)
	default:
		return box, fmt.Errorf("unknown sandbox driver %q: use one of %q", driver, sandbox.Names())
	}
	return box, nil
}
