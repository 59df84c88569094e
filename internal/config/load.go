package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// OutputDrivers are the output drivers that exist.
func OutputDrivers() []string { return []string{"json", "exec", "gha-dispatch", "gitlab-pipeline"} }

// Load reads config.yaml. The Config is nil when nothing of the file can be used: it cannot be read, is no YAML, or is
// of another version. Otherwise what a diagnostic refuses is left out and the rest goes on: see Config.Broken.
func Load(d *Dir, reg Registry) (*Config, Diagnostics) {
	doc, ds := d.Load(File)
	if doc == nil {
		return nil, ds
	}
	c, more := Decode(doc, reg)
	return c, append(ds, more...)
}

// Decode is Load for a document that is at hand.
func Decode(doc *yamlpos.Document, reg Registry) (*Config, Diagnostics) {
	l := &loader{Decoder: yamlpos.Decoder{Doc: doc}, reg: reg}
	c := l.config()
	l.Diags.Sort()
	return c, l.Diags
}

type loader struct {
	yamlpos.Decoder
	reg     Registry
	refused bool // the input driver at hand has a fault that was reported elsewhere
}

func (l *loader) config() *Config {
	if l.Doc.Root == nil {
		l.Diags = append(l.Diags, diag.InFile(yamlpos.RuleEmpty, l.Doc.Name(), "write "+Example, "the file is empty"))
		return nil
	}
	Secrets(&l.Decoder)
	top, ok := l.Mapping(l.Doc.Root, "config.yaml", `begin with version: "1"`)
	if !ok || !l.version(top) {
		return nil
	}
	c := &Config{OutputDriver: OutputDrivers()[0], Run: defaultRun()}
	if n := top.Get("kill_switch"); n != nil {
		c.KillSwitch = l.killSwitch(n)
	}
	if n := top.Get("agents"); n != nil {
		l.agents(n, c)
	}
	if n := top.Get("run"); n != nil {
		l.run(n, c)
	}
	if n := top.Get("poll"); n != nil {
		l.poll(n, c)
	} else if near, ok := diag.Nearest("poll", unknownNear(top)); ok {
		l.Report(top.Key(near), yamlpos.RuleUnknownKey, `did you mean "poll"?`, "no key poll, but %q", near)
	}
	return c
}

// unknownNear are top-level keys that could be a mistyped poll; all others belong to the platform.
func unknownNear(top yamlpos.Mapping) (keys []string) {
	for _, e := range top.Entries {
		if strings.HasPrefix(e.Key.Value, "pol") && e.Key.Value != "policy" && e.Key.Value != "policies" {
			keys = append(keys, e.Key.Value)
		}
	}
	return keys
}

func (l *loader) version(top yamlpos.Mapping) bool {
	n := top.Get("version")
	if n == nil {
		l.Report(top.Key("version"), RuleVersion, `add version: "1"`, "the file has no version")
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Value != Version {
		l.Report(n, RuleVersion, `write version: "1", or use a newer build`, "this version of the config is not known")
		return false
	}
	return true
}

// killSwitch fails safe: a value that is not understood stops dispatch.
func (l *loader) killSwitch(n *yaml.Node) bool {
	var on bool
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && n.Decode(&on) == nil {
		return on
	}
	l.Report(n, RuleKillSwitch, "write true or false, without quotes; until then nothing is dispatched", "kill_switch is neither true nor false")
	return true
}

func (l *loader) poll(n *yaml.Node, c *Config) {
	m, ok := l.Mapping(n, "poll", "write input_drivers: below it, and a list of them")
	if !ok {
		return
	}
	l.Only(m, "poll", "input_drivers", "target_repo", "output_driver", "kill_switch")
	if v := m.Get("kill_switch"); v != nil && l.killSwitch(v) {
		c.KillSwitch = true
	}
	if v := m.Get("output_driver"); v != nil {
		if s, ok := l.Text(v, "output_driver"); ok {
			if !slices.Contains(OutputDrivers(), s) {
				l.Report(v, RuleOutputDriver, diag.DidYouMean(s, OutputDrivers()), "unknown output driver %q", s)
			}
			c.OutputDriver = s
		}
	}
	if v := m.Get("target_repo"); v != nil {
		if s, ok := l.Text(v, "target_repo"); ok {
			if why := badRepo(s); why != "" {
				l.Report(v, RuleTargetRepo, "write owner/name", "target_repo %q %s", s, why)
			}
			c.TargetRepo = s
		}
	}
	v := l.Need(m, "input_drivers", "poll", "list the providers to poll")
	if v == nil {
		return
	}
	names := map[string]diag.Pos{}
	for _, item := range l.List(v, "input_drivers") {
		d, ok := l.driver(item, names)
		if ok {
			c.InputDrivers = append(c.InputDrivers, d)
		} else {
			c.Broken = append(c.Broken, d)
		}
	}
}

func (l *loader) agents(n *yaml.Node, c *Config) {
	if n.Kind != yaml.SequenceNode {
		return // another shape of the platform's own
	}
	for _, item := range l.List(n, "agents") {
		v := agentSource(item)
		if v == nil {
			continue
		}
		if p, ok := l.agentPath(v); ok {
			c.Agents = append(c.Agents, Agent{Path: p, Pos: l.Doc.PosOf(v)})
		}
	}
}

// agentSource is where an entry says its harness is: the entry itself, or one of its keys.
func agentSource(item *yaml.Node) *yaml.Node {
	if item.Kind == yaml.ScalarNode && !yamlpos.IsNull(item) {
		return item
	}
	if item.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		switch item.Content[i].Value {
		case "source", "path", "harness", "url":
			if v := yamlpos.Resolve(item.Content[i+1]); v.Kind == yaml.ScalarNode && v.Value != "" {
				return v
			}
		}
	}
	return nil
}

func (l *loader) agentPath(n *yaml.Node) (string, bool) {
	p := n.Value
	switch {
	case strings.Contains(p, "://"), strings.HasPrefix(p, "git@"), strings.Contains(p, "#sha256="):
		l.Report(n, RuleAgentURL, "copy the file to .fullsend/harness/ and register its path", "agents by URL are not supported yet")
		return "", false
	case path.IsAbs(p), strings.Contains(p, `\`):
		l.Report(n, RuleAgentPath, "write the path relative to the .fullsend folder, with /", "path %q is not relative to the folder", p)
		return "", false
	}
	p = path.Clean(strings.TrimPrefix(p, ".fullsend/"))
	if p == ".." || strings.HasPrefix(p, "../") {
		l.Report(n, RuleAgentPath, "keep harness files inside the .fullsend folder", "path %q leaves the folder", n.Value)
		return "", false
	}
	return p, true
}

var repoPart = regexp.MustCompile(`^[\pL\pN_.][\pL\pN_.~+-]*$`)

// badRepo says why s is not owner/name, with any number of groups; "" when it is.
func badRepo(s string) string {
	if strings.Contains(s, "://") || strings.HasPrefix(s, "git@") {
		return "is a URL"
	}
	parts := strings.Split(s, "/")
	if len(parts) < 2 {
		return "has no owner"
	}
	for _, p := range parts {
		if !repoPart.MatchString(p) || p == "." || p == ".." {
			return fmt.Sprintf("has the part %q, which is no name", p)
		}
	}
	return ""
}
