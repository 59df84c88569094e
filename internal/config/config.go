package config

import (
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/query"
)

// File is the name of the file in the .fullsend folder.
const File = "config.yaml"

// Version is the only config version that is read.
const Version = "1"

// EntitySource is the type of the input drivers that this engine serves.
const EntitySource = "entity-source"

// Registry is the adapters of this build by provider.
type Registry map[string]adapters.Adapter

// The defaults of an input driver.
const (
	DefaultEvery          = time.Minute
	DefaultReconcileEvery = 24 * time.Hour
	DefaultRecheckEvery   = 6 * time.Hour
)

// Config is what polling needs to know of config.yaml. It holds references to secrets, never secrets.
type Config struct {
	InputDrivers []InputDriver // usable ones, in the order of the file
	Broken       []InputDriver // those that a diagnostic refuses; their names are known where they have one
	TargetRepo   string        // owner/name; "" is the repository that holds the folder
	OutputDriver string        // json where the file says nothing
	Run          Run           // with defaults where the file says nothing
	KillSwitch   bool          // also set when the file's value cannot be understood
	Agents       []Agent       // registered by local path, in the order of the file
}

// Agent is a harness registered by its path, relative to the folder, slashes, no dots.
type Agent struct {
	Path string
	Pos  diag.Pos
}

// Example is a whole config in one line, for messages to those who have none.
const Example = `version: "1" and poll: {input_drivers: [{type: entity-source, name: code, provider: forgejo, ` +
	`connection: {base_url: https://…, token_env: NAME}, scopes: [{repo: owner/name}]}]}`

// InputDriver is one polled provider with its credential and scopes.
type InputDriver struct {
	Type, Name, Provider string

	BaseURL  string            // "" is the provider's public host
	TokenEnv string            // environment variable that holds the token; "" when the adapter has its own credential
	Settings map[string]string // the adapter's own connection keys

	Scopes   []ScopeRef
	Accounts map[string]Account // by harness name or role

	Every          time.Duration // --watch only
	ReconcileEvery time.Duration // between complete sweeps
	RecheckEvery   time.Duration // between role checks of one actor

	Pos diag.Pos
}

// ScopeRef is one configured container with the kinds to poll in it.
type ScopeRef struct {
	Container string
	Kinds     []query.Kind
	Pos       diag.Pos
}

// Account is an account that no person uses: the one as which harnesses write on a provider, or another agent's.
type Account struct {
	ID   string        // stable id, without its `id:`
	Role adapters.Role // a role that the provider does not report for it; NoRole when none is configured
	Pos  diag.Pos
}

// AnyHarness is the account key that stands for every harness that has none of its own.
const AnyHarness = "self"

// Self is the stable id as which a harness writes on this provider: the account under its own name, else its role's,
// else the one for all; "" when none is configured.
func (d *InputDriver) Self(harness, role string) string {
	for _, key := range []string{harness, role, AnyHarness} {
		if a, ok := d.Accounts[key]; ok && key != "" {
			return a.ID
		}
	}
	return ""
}

// Serves reports whether a scope of the driver is polled for entities of kind k.
func (d *InputDriver) Serves(k query.Kind) bool {
	for _, s := range d.Scopes {
		for _, x := range s.Kinds {
			if x == k {
				return true
			}
		}
	}
	return false
}

// Driver returns the usable input driver of that name.
func (c *Config) Driver(name string) (*InputDriver, bool) {
	for i := range c.InputDrivers {
		if c.InputDrivers[i].Name == name {
			return &c.InputDrivers[i], true
		}
	}
	return nil, false
}
