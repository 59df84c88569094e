package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/diag"
)

// Run is what a bound run starts and behind which wall, and how runs elsewhere are started.
type Run struct {
	Broken    bool     // a diagnostic refuses the section: nothing may be started
	Command   []string // argv; no shell reads it
	PreScript []string // argv of what may skip a run with exit code 78
	Sandbox   string   // bwrap, command or none
	Launcher  []string // argv that the driver command puts before the command
	Network   bool
	PassEnv   []string // variables of the runner's environment that the command gets
	ReadOnly  []string // further paths that bwrap shows, absolute
	Limit     time.Duration
	Grace     time.Duration // between asking a command to stop and making it
	Idle      time.Duration // how long a run waits for a further trigger before it ends
	Parallel  int           // runs that the driver exec has at once
	Remote    Remote
}

// Remote is where gha-dispatch and gitlab-pipeline start runs.
type Remote struct {
	BaseURL  string // of the API; "" is the public one
	TokenEnv string
	Project  string // owner/name
	Workflow string // file name of the workflow; gha-dispatch only
	Ref      string // branch or tag
}

// Sandboxes are the sandbox drivers, the default first.
func Sandboxes() []string { return []string{"bwrap", "command", "none"} }

func defaultRun() Run {
	return Run{Sandbox: Sandboxes()[0], Limit: 2 * time.Hour, Grace: 10 * time.Second, Parallel: 2}
}

var workflowName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*\.ya?ml$`)

// run reads the section. With any fault in it nothing may be started: half of a wall is none.
func (l *loader) run(n *yaml.Node, c *Config) {
	before := len(l.Diags)
	l.refused = false
	r := &c.Run
	m, ok := l.Mapping(n, "run", "write command: [program, argument] below it")
	if !ok {
		r.Broken = true
		return
	}
	l.Only(m, "run", "command", "pre_script", "sandbox", "launcher", "network", "pass_env", "read_only", "limit", "grace", "idle", "parallel", "remote")
	r.Command = l.words(m.Get("command"), "command")
	r.PreScript = l.words(m.Get("pre_script"), "pre_script")
	r.Launcher = l.words(m.Get("launcher"), "launcher")
	r.PassEnv = l.words(m.Get("pass_env"), "pass_env")
	r.ReadOnly = l.words(m.Get("read_only"), "read_only")
	if v := m.Get("sandbox"); v != nil {
		if s, ok := l.Text(v, "sandbox"); ok {
			r.Sandbox = s
			if !slices.Contains(Sandboxes(), s) {
				l.Report(v, RuleRun, diag.DidYouMean(s, Sandboxes()), "unknown sandbox driver %q", s)
			}
		}
	}
	if v := m.Get("network"); v != nil {
		r.Network, _ = l.Bool(v, "network")
	}
	for _, e := range r.PassEnv {
		if !envName.MatchString(e) {
			l.Report(m.Get("pass_env"), RuleRun, "list names of variables", "%q is no name of a variable", e)
		}
	}
	for _, p := range r.ReadOnly {
		if !filepath.IsAbs(p) || filepath.Clean(p) != p || p == "/" {
			l.Report(m.Get("read_only"), RuleRun, "write absolute paths without . and .., and not /", "path %q cannot be shown to a sandbox", p)
		}
	}
	if (r.Sandbox == "command") != (len(r.Launcher) > 0) {
		l.Report(m.Node, RuleRun, "write sandbox: command together with launcher: [...]", "the driver command needs a launcher, and no other takes one")
	}
	l.duration(m, "limit", &r.Limit, time.Second, 7*24*time.Hour)
	l.duration(m, "grace", &r.Grace, 0, 10*time.Minute)
	l.duration(m, "idle", &r.Idle, 0, 24*time.Hour)
	if v := m.Get("parallel"); v != nil {
		if err := v.Decode(&r.Parallel); err != nil || r.Parallel < 1 || r.Parallel > 64 {
			l.Report(v, RuleRun, "write a number from 1 to 64", "parallel is no such number")
		}
	}
	if v := m.Get("remote"); v != nil {
		l.remote(v, &r.Remote)
	}
	r.Broken = l.refused || l.Diags[before:].Failed()
}

func (l *loader) words(n *yaml.Node, what string) []string {
	if n == nil {
		return nil
	}
	var out []string
	for _, item := range l.List(n, what) {
		s, ok := l.Text(item, "an entry of "+what)
		if !ok {
			continue
		}
		if s == "" && len(out) == 0 {
			l.Report(item, RuleRun, "", "%s begins with an empty text", what)
		}
		out = append(out, s)
	}
	return out
}

func (l *loader) remote(n *yaml.Node, r *Remote) {
	m, ok := l.Mapping(n, "remote", "write remote: {base_url: https://…, token_env: NAME, project: owner/name}")
	if !ok {
		return
	}
	l.Only(m, "remote", "base_url", "token_env", "project", "workflow", "ref")
	text := func(key string, check func(s string) string) string {
		v := m.Get(key)
		if v == nil {
			return ""
		}
		s, ok := l.Text(v, key)
		if ok && check != nil {
			if why := check(s); why != "" {
				l.Report(v, RuleRun, "", "%s %q %s", key, s, why)
			}
		}
		return s
	}
	if v := m.Get("base_url"); v != nil {
		if s, ok := l.Text(v, "base_url"); ok {
			r.BaseURL = l.baseURL(v, s)
		}
	}
	if v := m.Get("token_env"); v != nil {
		if s, ok := l.Text(v, "token_env"); ok {
			r.TokenEnv = l.tokenEnv(v, s)
		}
	}
	r.Project = text("project", badRepo)
	r.Ref = text("ref", func(s string) string {
		if s == "" || s[0] == '-' {
			return "is no branch"
		}
		return ""
	})
	r.Workflow = text("workflow", func(s string) string {
		if !workflowName.MatchString(s) {
			return "is no file name of a workflow"
		}
		return ""
	})
}
