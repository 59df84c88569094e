package lint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/query"
)

// Opener opens a session of a configured scope, for what can only be asked at the provider.
type Opener func(ctx context.Context, d *config.InputDriver, sc config.ScopeRef, k query.Kind) (adapters.Session, error)

// The rules that ask the provider.
var (
	RuleNoSuchName   = diag.Rule{Code: "N001", Severity: diag.Warning, Title: "a name does not exist at the provider"}
	RuleNameDiffers  = diag.Rule{Code: "N002", Severity: diag.Warning, Title: "a name is spelled otherwise at the provider"}
	RuleNameUnused   = diag.Rule{Code: "N003", Severity: diag.Warning, Title: "a name is on no entity, and a near one is"}
	RuleNoRoles      = diag.Rule{Code: "N004", Severity: diag.Warning, Title: "the token may not read roles"}
	RuleNotReachable = diag.Rule{Code: "N005", Severity: diag.Error, Title: "the provider could not be asked"}
)

// polled is one kind of one input driver: its sources are checked against all scopes of that kind together, since a
// name may exist in one repository and not in another.
type polled struct {
	driver   *config.InputDriver
	kind     query.Kind
	sources  []*harness.Source
	sessions []adapters.Session
	names    map[query.FieldID][]string // nil: the provider does not list them
	accounts map[string]string          // login in small letters: as the provider spells it; "" when there is none
	uses     map[string]int
}

// online asks the providers about every source that binds.
func online(ctx context.Context, set *harness.Set, open Opener) (ds diag.Diagnostics) {
	for _, p := range places(set) {
		ds = append(ds, p.connect(ctx, open)...)
		if len(p.sessions) == 0 {
			continue
		}
		for _, s := range p.sources {
			ds = append(ds, p.check(ctx, s)...)
		}
	}
	return ds
}

func places(set *harness.Set) (out []*polled) {
	for _, h := range set.Harnesses {
		for _, s := range h.Sources {
			if h.Broken || s.Bound == nil || s.Driver == nil {
				continue
			}
			i := slices.IndexFunc(out, func(p *polled) bool { return p.driver == s.Driver && p.kind == s.Kind })
			if i < 0 {
				out, i = append(out, &polled{driver: s.Driver, kind: s.Kind, names: map[query.FieldID][]string{},
					accounts: map[string]string{}, uses: map[string]int{}}), len(out)
			}
			out[i].sources = append(out[i].sources, s)
		}
	}
	return out
}

// connect opens a session for every scope and says what each cannot.
func (p *polled) connect(ctx context.Context, open Opener) (ds diag.Diagnostics) {
	for _, sc := range p.driver.Scopes {
		if !slices.Contains(sc.Kinds, p.kind) {
			continue
		}
		ses, err := open(ctx, p.driver, sc, p.kind)
		var health adapters.Health
		if err == nil {
			health, err = ses.Health(ctx)
		}
		if err != nil {
			ds = append(ds, atPos(RuleNotReachable, sc.Pos, fmt.Sprintf("%s (%s): %v", sc.Container, p.kind, err),
				"check base_url, the token's variable and its rights, or lint without --online"))
			continue
		}
		p.sessions = append(p.sessions, ses)
		if !health.CanRoles && p.needsRoles() {
			ds = append(ds, atPos(RuleNoRoles, sc.Pos, fmt.Sprintf("the token of %s may not read roles in %s: labels, comments and texts stay undecided, and nothing that needs them matches", p.driver.Name, sc.Container),
				"use the token of an account that may; the README names the rights"))
		}
	}
	return ds
}

func (p *polled) needsRoles() bool {
	return slices.ContainsFunc(p.sources, func(s *harness.Source) bool {
		return slices.ContainsFunc(s.Bound.Fields().IDs(), func(id query.FieldID) bool {
			f, ok := s.Bound.Catalogue().ByID(id)
			return ok && f.Element
		})
	})
}

// atPos is a diagnostic about a place whose file is not at hand: the config's.
func atPos(r diag.Rule, at diag.Pos, message, suggest string) diag.Diagnostic {
	d := diag.InFile(r, at.File, suggest, "%s", message)
	d.Line, d.Col = at.Line, at.Col
	return d
}

// check looks at every name of a source.
func (p *polled) check(ctx context.Context, s *harness.Source) (ds diag.Diagnostics) {
	for _, n := range s.Bound.Named() {
		var d diag.Diagnostic
		var found bool
		var err error
		if n.Value.Type == query.TypeUser {
			d, found, err = p.account(ctx, s, n)
		} else if n.Member == 0 || n.Member == query.MName {
			d, found, err = p.name(ctx, s, n)
		}
		if err != nil {
			return append(ds, s.At(RuleNotReachable, n.Span, err.Error(), "try again later, or lint without --online"))
		}
		if found {
			ds = append(ds, d)
		}
	}
	return ds
}

func (p *polled) account(ctx context.Context, s *harness.Source, n query.Named) (diag.Diagnostic, bool, error) {
	login := n.Value.User.Login
	if strings.Contains(login, "/") {
		return diag.Diagnostic{}, false, nil // a team
	}
	key := strings.ToLower(login)
	spelled, asked := p.accounts[key]
	if !asked {
		for _, l := range p.listers() {
			u, err := l.Account(ctx, login)
			if errors.Is(err, adapters.ErrNotFound) {
				continue
			}
			if err != nil {
				return diag.Diagnostic{}, false, err
			}
			spelled = u.Login
			break
		}
		p.accounts[key] = spelled
	}
	switch {
	case len(p.listers()) == 0 || spelled == login:
		return diag.Diagnostic{}, false, nil
	case spelled == "":
		return s.At(RuleNoSuchName, n.Span, fmt.Sprintf("%s has no account %q", p.driver.Name, login), `write the login as the provider shows it, or "id:…" for the stable id`), true, nil
	}
	return s.At(RuleNameDiffers, n.Span, fmt.Sprintf("the account is called %q there; it matches all the same", spelled), fmt.Sprintf("write %q", spelled)), true, nil
}

func (p *polled) name(ctx context.Context, s *harness.Source, n query.Named) (diag.Diagnostic, bool, error) {
	have, listed, err := p.listed(ctx, n.Field)
	if err != nil || !listed {
		return diag.Diagnostic{}, false, err
	}
	want := n.Value.Str
	field := "names"
	if f, ok := s.Bound.Catalogue().ByID(n.Field); ok {
		field = f.Name
	}
	if n.Op == query.OpStartsWith {
		if slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(fold(h), fold(want)) }) {
			return diag.Diagnostic{}, false, nil
		}
		return s.At(RuleNoSuchName, n.Span, fmt.Sprintf("no %s in %s starts with %q", field, p.where(), want), didYouMean(nearNames(want, have))), true, nil
	}
	if slices.Contains(have, want) {
		return p.unused(ctx, s, n, field, have)
	}
	if i := slices.IndexFunc(have, func(h string) bool { return fold(h) == fold(want) }); i >= 0 {
		return s.At(RuleNameDiffers, n.Span, fmt.Sprintf("the %s is called %q there; it matches all the same", field, have[i]), fmt.Sprintf("write %q", have[i])), true, nil
	}
	if i := slices.IndexFunc(have, func(h string) bool { return alike(h, want) }); i >= 0 {
		return s.At(RuleNameDiffers, n.Span, fmt.Sprintf("the %s is called %q there, of other letter case beyond A–Z or of another Unicode normal form: it does not match", field, have[i]), fmt.Sprintf("write %q", have[i])), true, nil
	}
	counted, err := p.counted(ctx, n.Field, nearNames(want, have))
	return s.At(RuleNoSuchName, n.Span, fmt.Sprintf("there is no %s %q in %s", field, want, p.where()), didYouMean(counted)), true, err
}

// unused finds the name that replaced another one without moving what carries it: it exists, nothing has it, and a near
// one is in use.
func (p *polled) unused(ctx context.Context, s *harness.Source, n query.Named, field string, have []string) (diag.Diagnostic, bool, error) {
	count, ok, err := p.count(ctx, n.Field, n.Value.Str)
	if err != nil || !ok || count > 0 {
		return diag.Diagnostic{}, false, err
	}
	var used []string
	for _, near := range nearNames(n.Value.Str, have) {
		if names(s, near) {
			continue
		}
		c, ok, err := p.count(ctx, n.Field, near)
		if err != nil {
			return diag.Diagnostic{}, false, err
		}
		if ok && c > 0 {
			used = append(used, fmt.Sprintf("%q on %d", near, c))
		}
	}
	if len(used) == 0 {
		return diag.Diagnostic{}, false, nil
	}
	return s.At(RuleNameUnused, n.Span, fmt.Sprintf("the %s %q is on no %s, but %s", field, n.Value.Str, strings.ReplaceAll(string(p.kind), "_", " "), strings.Join(used, ", ")),
		"if it was renamed, name both or move what carries the old one"), true, nil
}

// names reports whether a query names that too.
func names(s *harness.Source, name string) bool {
	return slices.ContainsFunc(s.Bound.Named(), func(n query.Named) bool { return fold(n.Value.Str) == fold(name) })
}

// counted adds to each name how many entities carry it, where that can be counted.
func (p *polled) counted(ctx context.Context, f query.FieldID, names []string) (out []string, err error) {
	for _, name := range names {
		n, ok, err := p.count(ctx, f, name)
		if err != nil {
			return nil, err
		}
		if text := fmt.Sprintf("%q", name); ok {
			out = append(out, fmt.Sprintf("%s (on %d)", text, n))
		} else {
			out = append(out, text)
		}
	}
	return out, nil
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return "create it, or correct the spelling"
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		if quoted[i] = n; !strings.HasPrefix(n, `"`) {
			quoted[i] = fmt.Sprintf("%q", n)
		}
	}
	return "did you mean " + strings.Join(quoted, " or ") + "?"
}

func (p *polled) listers() (out []adapters.NameLister) {
	for _, s := range p.sessions {
		if l, ok := s.(adapters.NameLister); ok {
			out = append(out, l)
		}
	}
	return out
}

// listed are the names of a field in all scopes; false where one of them cannot tell.
func (p *polled) listed(ctx context.Context, f query.FieldID) ([]string, bool, error) {
	if names, ok := p.names[f]; ok {
		return names, names != nil, nil
	}
	ls := p.listers()
	if len(ls) < len(p.sessions) {
		return nil, false, nil
	}
	names := []string{}
	for _, l := range ls {
		some, ok, err := l.Names(ctx, f)
		if err != nil {
			return nil, false, err
		}
		if !ok {
			p.names[f] = nil
			return nil, false, nil
		}
		names = append(names, some...)
	}
	slices.Sort(names)
	p.names[f] = slices.Compact(names)
	return p.names[f], true, nil
}

func (p *polled) count(ctx context.Context, f query.FieldID, name string) (int, bool, error) {
	key := fmt.Sprint(f, "\x00", name)
	if n, ok := p.uses[key]; ok {
		return max(n, 0), n >= 0, nil
	}
	sum := 0
	for _, l := range p.listers() {
		n, ok, err := l.Uses(ctx, f, name)
		if err != nil {
			return 0, false, err
		}
		if !ok {
			p.uses[key] = -1
			return 0, false, nil
		}
		sum += n
	}
	p.uses[key] = sum
	return sum, true, nil
}

func (p *polled) where() string {
	var names []string
	for _, sc := range p.driver.Scopes {
		if slices.Contains(sc.Kinds, p.kind) {
			names = append(names, sc.Container)
		}
	}
	if len(names) > 3 {
		return fmt.Sprintf("any of the %d scopes of %s", len(names), p.driver.Name)
	}
	return strings.Join(names, ", ")
}

// fold is the language's equality of names.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// alike reports whether a person would call two names the same.
func alike(a, b string) bool { return strings.EqualFold(norm.NFKC.String(a), norm.NFKC.String(b)) }

// mostNear bounds how many names are suggested, each of which costs a request to count.
const mostNear = 3

// nearNames are the names that were likely meant: a few letters apart, or the same words otherwise joined, or one within
// the other.
func nearNames(want string, have []string) (out []string) {
	w := words(want)
	for _, h := range have {
		if h == want {
			continue
		}
		_, close := diag.Nearest(want, []string{h})
		g := words(h)
		if close || w != "" && g != "" && (w == g || len(w) > 3 && len(g) > 3 && (strings.Contains(g, w) || strings.Contains(w, g))) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return diag.Distance(want, a) - diag.Distance(want, b) })
	return out[:min(len(out), mostNear)]
}

// words are a name's letters and digits alone.
func words(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -_:/.", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}
