package simulated

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// Face is one provider's API over a simulated world.
type Face struct {
	Adapter adapters.Adapter
	Profile forgesim.Profile
	// Handler shows a world. Hints are what the case asks of the server; an unknown one is conformance.ErrUnable.
	Handler func(w *forgesim.World, hints map[string]string) (http.Handler, error)
	BaseURL string // "": http://forge.example
	// Key is how people write an entity; nil: owner/name#7.
	Key func(e *forgesim.Entity) string
	// Names are what accounts are called here, where that is not their name in the scripts.
	Names map[string]string
	// Container is what a repository is called in a configuration, and ID the stable id of an account; nil: owner/name, and
	// the world's number.
	Container func(full string) string
	ID        func(u forgesim.User) string
	// Without is what the provider has no notion of, see conformance.Target.
	Without map[string]string
	// Settings go into the adapter's configuration.
	Settings map[string]string
	// Faults are the faults that make sense with this face; nil: all of the world's.
	Faults []string
}

// The containers of every place.
const (
	org   = "acme"
	home  = org + "/widgets"
	other = org + "/gadgets"
)

// Target is an adapter over a face.
func Target(f Face) conformance.Target {
	return conformance.Target{Adapter: f.Adapter, Open: f.open, Without: f.Without}
}

// credentials are the texts of the tokens by name, and whose they are.
func credentials() map[string][2]string {
	return map[string][2]string{
		"admin": {"token-of-olga-adm1n", "olga"}, "writer": {"token-of-wes-wr1te", "wes"}, "reader": {"token-of-rea-r3ad", "rea"},
		"spare": {"second-token-of-olga", "olga"},
	}
}

func (f Face) open(ctx context.Context, wish conformance.Wish) (*conformance.Place, error) {
	w := forgesim.New(forgesim.Options{Profile: f.Profile})
	names := map[string]string{"org": org, "home": home, "other": other}
	script := conformance.PlaceScript
	for n, v := range names {
		script = strings.ReplaceAll(script, "{"+n+"}", v)
	}
	for _, c := range credentials() {
		script += fmt.Sprintf("\ntoken text=%s user=%s", c[0], c[1])
	}
	if err := w.Run(ctx, strings.NewReader(script)); err != nil {
		return nil, fmt.Errorf("make the place: %w", err)
	}
	maps.Copy(names, f.Names)
	h, err := f.Handler(w, wish.Hints)
	if err != nil {
		return nil, err
	}
	base := f.BaseURL
	if base == "" {
		base = "http://forge.example"
	}
	container := home
	if f.Container != nil {
		container = f.Container(home)
	}
	return &conformance.Place{
		Stage: stage{w, f},
		Config: adapters.Config{BaseURL: base, Container: container, Settings: f.Settings, Now: w.Now,
			HTTP: &http.Client{Transport: forgesim.Transport(h)}},
		Token:   token,
		Names:   names,
		ID:      func(_ context.Context, login string) (string, error) { return f.idOf(w, login) },
		Trouble: w.HookErr,
	}, nil
}

func token(name string) (string, error) {
	if name == "none" {
		return "", nil
	}
	c, ok := credentials()[name]
	if !ok {
		return name, nil // the text of a token that the case made itself
	}
	return c[0], nil
}

func (f Face) idOf(w *forgesim.World, login string) (string, error) {
	u, _, ok := w.User(strings.TrimSuffix(login, "[bot]"))
	if f.ID != nil { // what accounts are called here may be that id
		for _, o := range w.Users() {
			if f.ID(o) == login {
				u, ok = o, true
			}
		}
	}
	if !ok {
		return "", fmt.Errorf("no account is called %q", login)
	}
	if f.ID != nil {
		return f.ID(u), nil
	}
	return strconv.FormatInt(u.ID, 10), nil
}

// stage is the world with its faults declared.
type stage struct {
	*forgesim.World
	face Face
}

// Can implements conformance.Stage.
func (s stage) Can(verb string) bool {
	kind, isFault := strings.CutPrefix(verb, "fault ")
	if !isFault {
		return s.World.Can(verb)
	}
	if s.face.Faults != nil && !slices.Contains(s.face.Faults, kind) {
		return false
	}
	return s.World.CanFault(kind)
}

// Key implements conformance.Stage.
func (s stage) Key(name string) (string, error) {
	e, err := s.World.Entity(name)
	if err != nil {
		return "", err
	}
	if s.face.Key != nil {
		return s.face.Key(&e), nil
	}
	return fmt.Sprintf("%s#%d", e.Repo.FullName(), e.Number), nil
}
