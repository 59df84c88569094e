package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
	"github.com/fullsend-ai/discovery/query"
)

// driver reads one input driver. It is usable when no error was reported inside it.
func (l *loader) driver(n *yaml.Node, names map[string]diag.Pos) (InputDriver, bool) {
	before := len(l.Diags)
	l.refused = false
	d := InputDriver{Every: DefaultEvery, ReconcileEvery: DefaultReconcileEvery, RecheckEvery: DefaultRecheckEvery, Pos: l.Doc.PosOf(n)}
	m, ok := l.Mapping(n, "an input driver", "write - {type: entity-source, name: …, provider: …, connection: {…}, scopes: […]}")
	if !ok {
		return d, false
	}
	l.driverName(m, &d, names)
	if !l.driverType(m, &d) {
		return d, false
	}
	l.Only(m, "an input driver", "type", "name", "provider", "connection", "scopes", "accounts", "every", "reconcile_every", "recheck_every")
	if a := l.provider(m, &d); a != nil {
		if v := l.Need(m, "connection", "the input driver", "add connection: {base_url: …, token_env: NAME}"); v != nil {
			l.connection(v, a, &d)
		}
		if v := l.Need(m, "scopes", "the input driver", "list what to poll, for example - {"+a.Container().Key+": "+a.Container().Example+"}"); v != nil {
			l.scopes(v, a, &d)
		}
	}
	if v := m.Get("accounts"); v != nil {
		l.accounts(v, &d)
	}
	l.duration(m, "every", &d.Every, time.Second, 24*time.Hour)
	l.duration(m, "reconcile_every", &d.ReconcileEvery, time.Minute, 90*24*time.Hour)
	l.duration(m, "recheck_every", &d.RecheckEvery, time.Minute, 90*24*time.Hour)
	return d, !l.refused && !l.Diags[before:].Failed()
}

var driverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

func (l *loader) driverName(m yamlpos.Mapping, d *InputDriver, names map[string]diag.Pos) {
	v := m.Get("name")
	if v == nil {
		return // said by driverType where the type is ours
	}
	s, ok := l.Text(v, "name")
	if !ok {
		return
	}
	d.Name = s
	if !driverName.MatchString(s) {
		l.Report(v, RuleDriverName, "use letters, digits, `-`, `_` and `.`, at most 63", "%q cannot be the name of an input driver", s)
	}
	if first, ok := names[s]; ok {
		l.Report(v, RuleDriverName, "give each input driver a name of its own: sources choose by it", "input driver %q is declared twice, first in line %d", s, first.Line)
		return
	}
	names[s] = l.Doc.PosOf(v)
}

// driverType decides whether the driver is ours to read; keys of other types are not looked at.
func (l *loader) driverType(m yamlpos.Mapping, d *InputDriver) bool {
	v := l.Need(m, "type", "the input driver", "add type: "+EntitySource)
	if v == nil {
		return false
	}
	s, ok := l.Text(v, "type")
	if !ok {
		return false
	}
	d.Type = s
	called := ""
	if d.Name != "" {
		called = " " + d.Name
	}
	switch {
	case s == EntitySource:
	case strings.HasSuffix(s, "-poll"):
		l.Report(v, RuleDriverType, "this driver is skipped, the others go on; to move it, write type: "+EntitySource+" with scopes",
			"input driver%s has the older type %q, which rebuilds events", called, s)
		return false
	default:
		l.Report(v, RuleDriverType, diag.DidYouMean(s, []string{EntitySource}), "input driver%s has the unknown type %q", called, s)
		return false
	}
	if d.Name == "" {
		l.Report(m.Key("name"), RuleDriverName, "add name: …, so that sources can choose it with from", "the input driver has no name")
	}
	return true
}

func (l *loader) provider(m yamlpos.Mapping, d *InputDriver) adapters.Adapter {
	known := make([]string, 0, len(l.reg))
	for p := range l.reg {
		known = append(known, p)
	}
	slices.Sort(known)
	v := l.Need(m, "provider", "the input driver", "add provider: "+strings.Join(known, " or "))
	if v == nil {
		return nil
	}
	s, ok := l.Text(v, "provider")
	if !ok {
		return nil
	}
	d.Provider = s
	a := l.reg[s]
	switch {
	case a != nil:
	case s == "gitea" && l.reg["forgejo"] != nil:
		l.Report(v, RuleProvider, "write provider: forgejo, which serves Gitea too", "unknown provider %q", s)
	default:
		l.Report(v, RuleProvider, diag.DidYouMean(s, known), "unknown provider %q", s)
	}
	return a
}

func (l *loader) connection(n *yaml.Node, a adapters.Adapter, d *InputDriver) {
	m, ok := l.Mapping(n, "connection", "write connection: {base_url: https://…, token_env: NAME}")
	if !ok {
		return
	}
	before := len(l.Diags)
	known := []string{"base_url", "token_env"}
	for _, s := range a.Settings() {
		known = append(known, s.Name)
	}
	d.Settings = map[string]string{}
	for _, e := range m.Entries {
		key := e.Key.Value
		switch {
		case slices.Contains(known, key):
			l.connectionKey(e, d)
		case secretKey(key):
			l.Report(e.Key, RuleSecret, "put it into an environment variable and write token_env: NAME", "connection.%s holds a secret; secrets never stand in this file", key)
		default:
			l.Report(e.Key, yamlpos.RuleUnknownKey, diag.DidYouMean(key, known), "unknown key %q in connection of provider %s", key, d.Provider)
		}
	}
	for _, s := range a.Settings() {
		if s.Required && m.Get(s.Name) == nil {
			l.Report(m.Node, yamlpos.RuleMissingKey, s.Doc, "connection of provider %s has no %s", d.Provider, s.Name)
		}
	}
	if m.Get("base_url") == nil && !hosted(d.Provider) {
		l.Report(m.Node, RuleBaseURL, "add base_url: https://…", "connection has no base_url")
	}
	if m.Get("token_env") == nil && len(d.Settings) == 0 && !l.Diags[before:].Failed() {
		l.Report(m.Node, RuleCredential, "add token_env: NAME, the environment variable that holds the token", "connection names no credential")
	}
}

// hosted providers have a public host that needs no base URL.
func hosted(provider string) bool { return provider == "github" || provider == "gitlab" }

func (l *loader) connectionKey(e yamlpos.Entry, d *InputDriver) {
	if yamlpos.IsNull(e.Value) {
		return
	}
	s, ok := l.Text(e.Value, e.Key.Value)
	if !ok {
		return
	}
	switch e.Key.Value {
	case "base_url":
		d.BaseURL = l.baseURL(e.Value, s)
	case "token_env":
		d.TokenEnv = l.tokenEnv(e.Value, s)
	default:
		d.Settings[e.Key.Value] = s
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (l *loader) tokenEnv(n *yaml.Node, s string) string {
	switch {
	case yamlpos.LooksSecret(s):
		l.refused = true // Secrets has said why
		return ""
	case strings.HasPrefix(s, "$"):
		l.Report(n, RuleCredential, "write "+strings.Trim(s, "${}")+", without $", "token_env takes the name of the variable, not a reference to it")
	case !envName.MatchString(s), tokenish(s):
		l.Report(n, RuleSecret, "put the token into an environment variable and write its name here", "token_env holds something that is no variable's name; if it is the token, revoke it")
	default:
		return s
	}
	return ""
}

func (l *loader) baseURL(n *yaml.Node, s string) string {
	u, err := url.Parse(s)
	bad := func(suggest, why string) string {
		l.Report(n, RuleBaseURL, suggest, "base_url %s", why)
		return ""
	}
	switch {
	case yamlpos.LooksSecret(s):
		l.refused = true // Secrets has said why
		return ""
	case err != nil:
		return bad("write https://host", "is no URL")
	case u.User != nil:
		return bad("put the credential into an environment variable and name it in token_env", "holds a user name or password")
	case u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return bad("write https://host", "is no URL that begins with https://")
	case u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "#"):
		return bad("end it with the path", "has a query or a fragment")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		l.Report(n, RuleInsecure, "use https://", "base_url is not encrypted: the token can be read on the way")
	}
	return strings.TrimRight(s, "/")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *loader) scopes(n *yaml.Node, a adapters.Adapter, d *InputDriver) {
	name := a.Container()
	key, example := name.Key, name.Key+": "+name.Example
	items := l.List(n, "scopes")
	if n.Kind == yaml.SequenceNode && len(items) == 0 {
		l.Report(n, RuleScope, "add - {"+example+"}", "scopes is empty: nothing would be polled")
	}
	seen := map[string]bool{}
	for _, item := range items {
		m, ok := l.Mapping(item, "a scope", "write - {"+example+"}")
		if !ok {
			continue
		}
		l.Only(m, "a scope of provider "+d.Provider, key, "kinds")
		v := l.Need(m, key, "the scope", "add "+example)
		if v == nil {
			continue
		}
		s, ok := l.Text(v, key)
		if !ok {
			continue
		}
		ref := ScopeRef{Container: s, Kinds: l.kinds(m, a, d), Pos: l.Doc.PosOf(v)}
		if !l.container(v, name, s) {
			continue
		}
		for _, k := range ref.Kinds {
			id := strings.ToLower(s) + "\x00" + string(k)
			if seen[id] {
				l.Report(v, RuleTwice, "merge the two", "%s %q is already polled for %s by this driver", key, s, k)
			}
			seen[id] = true
		}
		d.Scopes = append(d.Scopes, ref)
	}
}

func (l *loader) container(n *yaml.Node, name adapters.ContainerName, s string) bool {
	if strings.TrimSpace(s) == "" {
		l.Report(n, RuleScope, "write "+name.Example, "%s is empty", name.Key)
		return false
	}
	if name.Check != nil {
		if err := name.Check(s); err != nil {
			l.Report(n, RuleScope, "write it as the provider shows it, for example "+name.Example, "%s", err)
			return false
		}
	}
	return true
}

// Kinds are the kinds of entities that there are.
func Kinds() []query.Kind { return []query.Kind{query.WorkItem, query.ChangeProposal} }

// HasKind reports whether a provider has entities of that kind; an adapter says so by a catalogue with fields.
func HasKind(a adapters.Adapter, k query.Kind) bool {
	c := a.Catalogue(k)
	return c != nil && len(c.Names()) > 0
}

// ParseKind reads a kind; suggest is the way out when it is none.
func ParseKind(s string) (k query.Kind, suggest string, ok bool) {
	switch k := query.Kind(s); {
	case slices.Contains(Kinds(), k):
		return k, "", true
	case slices.Contains([]string{"issue", "issues", "ticket", "work_items", "workitem"}, strings.ToLower(s)):
		return "", `write work_item`, false
	case slices.Contains([]string{"pr", "mr", "pull_request", "merge_request", "pull_requests", "merge_requests", "change_proposals"}, strings.ToLower(s)):
		return "", `write change_proposal`, false
	}
	return "", diag.DidYouMean(s, []string{string(query.WorkItem), string(query.ChangeProposal)}), false
}

// kinds are the scope's kinds; all that the provider has where it names none.
func (l *loader) kinds(m yamlpos.Mapping, a adapters.Adapter, d *InputDriver) (ks []query.Kind) {
	v := m.Get("kinds")
	if v == nil {
		for _, k := range Kinds() {
			if HasKind(a, k) {
				ks = append(ks, k)
			}
		}
		return ks
	}
	items := l.List(v, "kinds")
	if v.Kind == yaml.SequenceNode && len(items) == 0 {
		l.Report(v, RuleKind, "leave the key out for all kinds", "kinds is empty: nothing would be polled")
	}
	for _, item := range items {
		s, ok := l.Text(item, "a kind")
		if !ok {
			continue
		}
		k, suggest, ok := ParseKind(s)
		switch {
		case !ok:
			l.Report(item, RuleKind, suggest, "unknown kind %q", s)
		case !HasKind(a, k):
			l.Report(item, RuleKind, "remove it", "provider %s has no entities of kind %s", d.Provider, k)
		case slices.Contains(ks, k):
			l.Report(item, RuleTwice, "remove one", "kind %s stands twice", k)
		default:
			ks = append(ks, k)
		}
	}
	return ks
}

func (l *loader) accounts(n *yaml.Node, d *InputDriver) {
	m, ok := l.Mapping(n, "accounts", `write accounts: {HARNESS: "id:…"}`)
	if !ok {
		return
	}
	d.Accounts = make(map[string]Account, len(m.Entries))
	for _, e := range m.Entries {
		acc := Account{Pos: l.Doc.PosOf(e.Value)}
		id := e.Value
		if e.Value.Kind == yaml.MappingNode {
			am, _ := l.Mapping(e.Value, "an account", "")
			l.Only(am, "an account", "id", "role")
			if id = l.Need(am, "id", "the account", `add id: "id:…"`); id == nil {
				continue
			}
			if v := am.Get("role"); v != nil {
				acc.Role = l.role(v)
			}
		}
		s, ok := l.Text(id, "an account")
		if !ok {
			continue
		}
		if acc.ID, ok = l.stableID(id, s); ok {
			d.Accounts[e.Key.Value] = acc
		}
	}
}

func (l *loader) role(n *yaml.Node) adapters.Role {
	s, ok := l.Text(n, "role")
	if !ok {
		return adapters.NoRole
	}
	r, err := adapters.ParseRole(s)
	if err != nil {
		l.Report(n, RuleAccount, "use read, triage, write, maintain or admin", "unknown role %q", s)
	}
	return r
}

var digits = regexp.MustCompile(`^[0-9]+$`)

func (l *loader) stableID(n *yaml.Node, s string) (string, bool) {
	id, ok := strings.CutPrefix(s, "id:")
	id = strings.TrimSpace(id)
	switch {
	case ok && id != "" && !strings.ContainsAny(id, " \t\n"):
		return id, true
	case digits.MatchString(s):
		l.Report(n, RuleAccount, `write "id:`+s+`"`, "%s is not marked as an id", s)
	default:
		l.Report(n, RuleAccount, `write "id:…" with the account's stable id: a login can be given to somebody else`, "%q is no stable id", s)
	}
	return "", false
}
