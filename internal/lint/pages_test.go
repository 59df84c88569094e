package lint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/lint"
	"github.com/fullsend-ai/discovery/query"
)

// The folder into which an example is put: what it does not bring itself is taken from here.
const pageConfig = `version: "1"
poll:
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: https://forge.example, token_env: FORGE_TOKEN}
      scopes: [{repo: acme/widgets}]
      accounts: {self: "id:42"}
    - type: entity-source
      name: tracker
      provider: jira
      connection: {base_url: https://jira.example, token_env: JIRA_TOKEN, email: bot@example.com}
      scopes: [{project: PROJ}]
`

// page is one entry of testdata/pages.txt: why a diagnostic exists, and an example with and without it.
//
//	== CODE
//	why: one line
//	on: PROVIDER KIND            for examples that are queries; forgejo work_item by default
//	no self                      no account is configured
//	wrong: QUERY                 and right; {{N*TEXT}} stands for N times TEXT
//	wrong bytes: GO STRING       a query that no YAML file can hold
//	wrong trigger: CEL           and right
//	names: LABEL COUNT, …        what exists at the provider, "-" for one that cannot be asked; right names: differs
//	roles: no                    the token may not read roles
//	args wrong: PATH…            and right: what is linted
//	--- wrong FILE               and right; the lines up to the next header. -FILE is one that does not exist
type page struct {
	code, why, provider, kind string
	noSelf, noRoles           bool
	sides                     map[string]*side
}

type side struct {
	query, trigger, names, bytes string
	files                        map[string]string
	shown                        []string // names of files in the order given
	args                         []string
}

var sideHeader = regexp.MustCompile(`^--- (wrong|right) (.+)$`)

func readPages(t *testing.T) (out []*page) {
	raw, err := os.ReadFile("testdata/pages.txt")
	require.NoError(t, err)
	var p *page
	var body *side
	var file string
	for line := range strings.Lines(string(raw)) {
		text := strings.TrimSuffix(line, "\n")
		if code, ok := strings.CutPrefix(text, "== "); ok {
			p = &page{code: code, provider: query.Forgejo, kind: string(query.WorkItem), sides: map[string]*side{}}
			for _, s := range []string{"wrong", "right"} {
				p.sides[s] = &side{files: map[string]string{}}
			}
			out, body = append(out, p), nil
			continue
		}
		if m := sideHeader.FindStringSubmatch(text); m != nil {
			body, file = p.sides[m[1]], m[2]
			body.files[file] = ""
			body.shown = append(body.shown, file)
			continue
		}
		if body != nil && !strings.HasPrefix(text, "args ") {
			body.files[file] += line
			continue
		}
		if text != "" {
			p.key(t, text)
		}
	}
	for _, p := range out {
		for _, s := range p.sides {
			for f, b := range s.files {
				s.files[f] = strings.TrimRight(b, "\n") + "\n"
			}
		}
	}
	return out
}

func (p *page) key(t *testing.T, text string) {
	key, value, _ := strings.Cut(text, ": ")
	switch key {
	case "why":
		p.why = value
	case "on":
		p.provider, p.kind, _ = strings.Cut(value, " ")
	case "no self":
		p.noSelf = true
	case "roles":
		p.noRoles = true
	case "wrong", "right":
		p.sides[key].query = value
	case "wrong trigger", "right trigger":
		p.sides[key[:5]].trigger = value
	case "names":
		p.sides["wrong"].names, p.sides["right"].names = value, value
	case "right names":
		p.sides["right"].names = value
	case "args wrong", "args right":
		p.sides[key[5:]].args = strings.Fields(value)
	case "wrong bytes":
		p.sides["wrong"].bytes = value
	default:
		require.Fail(t, "unknown key", "%s: %s", p.code, text)
	}
}

// folder is what an example is made of: the files by name.
func (p *page) folder(t *testing.T, s *side) map[string]string {
	files := map[string]string{"config.yaml": pageConfig}
	if p.noSelf {
		files["config.yaml"] = strings.Replace(pageConfig, "      accounts: {self: \"id:42\"}\n", "", 1)
	}
	harness := false
	for name := range s.files {
		harness = harness || strings.HasPrefix(name, "harness/")
	}
	if !harness {
		files["harness/triage.yaml"] = p.harness(s)
	}
	for name, body := range s.files {
		if gone, ok := strings.CutPrefix(name, "-"); ok {
			delete(files, gone)
			continue
		}
		if plain, ok := strings.CutSuffix(name, " (quoted)"); ok {
			name, body = plain, unquoted(t, body)
		}
		files[name] = body
	}
	return files
}

func (p *page) harness(s *side) string {
	text, cel := s.query, s.trigger
	if text == "" {
		text = "v1: state = open"
	}
	if cel == "" {
		cel = "true"
	}
	from := map[string]string{query.Forgejo: "code", query.Jira: "tracker"}[p.provider]
	return fmt.Sprintf("role: triage\ntrigger: |-\n  %s\nentity_sources:\n  - version: 1\n    from: %s\n    kind: %s\n    query: |\n      %s\n", cel, from, p.kind, text)
}

var times = regexp.MustCompile(`\{\{(\d+)\*(.+?)\}\}`)

// written is the example in full, told how it is shown.
func written(s string) string {
	return times.ReplaceAllStringFunc(s, func(m string) string {
		g := times.FindStringSubmatch(m)
		n, _ := strconv.Atoi(g[1])
		return strings.Repeat(g[2], n)
	})
}

func told(s string) string { return times.ReplaceAllString(s, "⟨$1 × “$2”⟩") }

func (p *page) lint(t *testing.T, s *side) lint.Report {
	t.Helper()
	if s.bytes != "" {
		return parsed(t, s.bytes)
	}
	t.Chdir(t.TempDir())
	files := p.folder(t, s)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(".fullsend", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(written(files[name])), 0o644))
	}
	o := lint.Options{Dir: ".fullsend", Paths: s.args, Registry: configtest.Registry()}
	if s.names != "" {
		o.Open = opener(s.names, !p.noRoles)
	}
	rep, err := lint.Run(t.Context(), o)
	require.NoError(t, err)
	return rep
}

// parsed is what reading says of a query that is in no file.
func parsed(t *testing.T, quoted string) (rep lint.Report) {
	src, err := strconv.Unquote(quoted)
	require.NoError(t, err)
	_, ds := query.Parse(src)
	for _, d := range ds {
		rep.Diagnostics = append(rep.Diagnostics, diag.Diagnostic{File: "query", Code: d.Code, Message: d.Message, Suggest: d.Suggest})
	}
	return rep
}

// opener opens a provider that has some labels.
func opener(names string, roles bool) lint.Opener {
	return func(context.Context, *config.InputDriver, config.ScopeRef, query.Kind) (adapters.Session, error) {
		if names == "-" {
			return nil, errors.New("no answer within 30s")
		}
		s := labels{roles: roles, count: map[string]int{}}
		for _, n := range strings.Split(names, ", ") {
			i := strings.LastIndexByte(n, ' ')
			s.count[n[:i]], _ = strconv.Atoi(n[i+1:])
		}
		return s, nil
	}
}

// labels is a session that can be asked for names alone.
type labels struct {
	adapters.Session
	roles bool
	count map[string]int
}

func (l labels) Health(context.Context) (adapters.Health, error) {
	return adapters.Health{CanRoles: l.roles}, nil
}

func (l labels) Names(_ context.Context, f query.FieldID) ([]string, bool, error) {
	return slices.Sorted(maps.Keys(l.count)), f == query.FLabel, nil
}

func (l labels) Uses(_ context.Context, _ query.FieldID, name string) (int, bool, error) {
	return l.count[name], true, nil
}

func (labels) Account(context.Context, string) (query.User, error) {
	return query.User{}, adapters.ErrNotFound
}

// Every diagnostic has a page in docs/lint with an example that gives it and one that does not. Written by -update.
func TestPages(t *testing.T) {
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs", "lint"))
	require.NoError(t, err)
	pages := map[string]*page{}
	for _, p := range readPages(t) {
		require.Nil(t, pages[p.code], "%s stands twice", p.code)
		pages[p.code] = p
	}
	for _, r := range lint.Rules() {
		t.Run(r.Code, func(t *testing.T) {
			p := pages[r.Code]
			require.NotNil(t, p, "testdata/pages.txt has no page for %s", r.Code)
			wrong, right := p.lint(t, p.sides["wrong"]), p.lint(t, p.sides["right"])
			var said lint.Report
			for _, d := range wrong.Diagnostics {
				if d.Code == r.Code {
					said.Diagnostics = append(said.Diagnostics, d)
				}
			}
			require.NotEmpty(t, said.Diagnostics, "the wrong example does not give it: %v", wrong.Diagnostics)
			for _, d := range right.Diagnostics {
				assert.NotEqual(t, r.Code, d.Code, "the right example gives it too: %v", d)
				assert.NotEqual(t, "error", d.Severity.String(), "the right example is wrong otherwise: %v", d)
			}
			text := p.text(t, r.Code, r.Severity.String(), r.Title, said)
			file := filepath.Join(docs, r.Code+".md")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, text, string(got))
		})
		delete(pages, r.Code)
	}
	require.Empty(t, pages, "pages of diagnostics that do not exist")
}

func (p *page) text(t *testing.T, code, severity, title string, said lint.Report) string {
	var b, out bytes.Buffer
	require.NoError(t, said.Write(&out, lint.Style{Format: "text", Notes: true}))
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	shown := lines[:len(lines)-1] // without the summary
	for i, l := range shown {
		if r := []rune(l); len(r) > 400 {
			shown[i] = string(r[:160]) + " …"
		}
	}
	fmt.Fprintf(&b, "# %s: %s\n\n%s · [all diagnostics](README.md)\n\n%s\n", code, title, severity, p.why)
	fmt.Fprintf(&b, "\n## Wrong\n%s\n```text\n%s\n```\n", p.example(p.sides["wrong"]), strings.Join(shown, "\n"))
	fmt.Fprintf(&b, "\n## Right\n%s", p.example(p.sides["right"]))
	return b.String()
}

func (p *page) example(s *side) string {
	var b strings.Builder
	switch {
	case s.query != "":
		fmt.Fprintf(&b, "\n```text\n%s\n```\n", told(s.query))
		if s.names != "" && s.names != "-" {
			fmt.Fprintf(&b, "\nwhere the repository has the labels (with the number of entities): %s.\n", s.names)
		}
	case s.bytes != "":
		fmt.Fprintf(&b, "\nas a quoted string:\n\n```text\n%s\n```\n", s.bytes)
	case s.trigger != "":
		fmt.Fprintf(&b, "\n```text\n%s\n```\n", told(s.trigger))
	}
	if len(s.args) > 0 {
		fmt.Fprintf(&b, "\n```console\n$ fullsend query-lint %s\n```\n", strings.Join(s.args, " "))
	}
	for _, f := range s.shown {
		name, quoted := strings.CutSuffix(f, " (quoted)")
		switch {
		case strings.HasPrefix(f, "-"):
			fmt.Fprintf(&b, "\nwithout `.fullsend/%s`\n", f[1:])
		case quoted:
			fmt.Fprintf(&b, "\n`.fullsend/%s`, each line as a quoted string:\n\n```text\n%s```\n", name, s.files[f])
		default:
			fmt.Fprintf(&b, "\n`.fullsend/%s`\n\n```yaml\n%s```\n", name, told(s.files[f]))
		}
	}
	return b.String()
}
