package harness

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
	"github.com/fullsend-ai/discovery/query"
)

// Load reads every harness of the folder and every registered one. A file that is broken does not stop the others.
func Load(d *config.Dir, agents []config.Agent) *Set {
	set := &Set{}
	files, ds := d.YAML(Folder)
	set.Diagnostics = append(set.Diagnostics, ds...)
	rest := unlisted(d, files, agents)
	parts := make([]*Set, len(files)+len(rest))
	each(len(parts), func(i int) {
		if i < len(files) {
			parts[i] = loadFile(d, files[i])
			return
		}
		a := rest[i-len(files)]
		parts[i] = loadFile(d, a.Path)
		for j, x := range parts[i].Diagnostics {
			if x.Line == 0 {
				parts[i].Diagnostics[j].Message += fmt.Sprintf(" (registered at %s)", a.Pos)
			}
		}
	})
	for _, p := range parts {
		set.Harnesses = append(set.Harnesses, p.Harnesses...)
		set.Diagnostics = append(set.Diagnostics, p.Diagnostics...)
	}
	set.finish()
	return set
}

func loadFile(d *config.Dir, rel string) *Set {
	doc, ds := d.Load(rel)
	set := &Set{Diagnostics: ds}
	set.add(doc, rel, d.Shown(rel))
	return set
}

// each calls f for 0 to n-1, on all processors.
func each(n int, f func(int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { f(i); return nil })
	}
	_ = g.Wait() // f has no error to return
}

// Parse reads one harness from a document that is at hand; name is the harness's, file how messages name it. doc is
// nil when it could not be parsed.
func Parse(doc *yamlpos.Document, name, file string) *Set {
	set := &Set{}
	set.add(doc, name, file)
	set.finish()
	return set
}

// Merge puts sets together and checks that names are unique among all of them.
func Merge(sets ...*Set) *Set {
	all := &Set{}
	for _, s := range sets {
		all.Harnesses = append(all.Harnesses, s.Harnesses...)
		all.Diagnostics = append(all.Diagnostics, s.Diagnostics...)
	}
	all.finish()
	return all
}

// unlisted are the agents whose files are not in the list under any name; each once.
func unlisted(d *config.Dir, files []string, agents []config.Agent) (rest []config.Agent) {
	have := make(map[string]bool, len(files))
	for _, f := range files {
		have[f] = true
	}
	var infos []os.FileInfo
	stat := func(f string) {
		if fi, err := d.Stat(f); err == nil {
			infos = append(infos, fi)
		}
	}
	for _, a := range agents {
		if have[a.Path] {
			continue
		}
		have[a.Path] = true
		if infos == nil {
			for _, f := range files {
				stat(f)
			}
		}
		fi, err := d.Stat(a.Path)
		if err == nil && slices.ContainsFunc(infos, func(x os.FileInfo) bool { return os.SameFile(x, fi) }) {
			continue
		}
		rest = append(rest, a)
		if err == nil {
			infos = append(infos, fi)
		}
	}
	return rest
}

// finish orders harnesses and finds names that two files claim: neither may run, since nobody could tell which.
func (s *Set) finish() {
	slices.SortStableFunc(s.Harnesses, func(a, b *Harness) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File))
	})
	for i := 1; i < len(s.Harnesses); i++ {
		a, b := s.Harnesses[i-1], s.Harnesses[i]
		if a.Name != b.Name {
			continue
		}
		a.Broken, b.Broken = true, true
		d := diag.InFile(RuleDuplicateName, b.File, "rename one of the files: a harness is called like its file", "harness %q is also declared by %s", b.Name, a.File)
		d.Harness = b.Name
		if !slices.ContainsFunc(s.Diagnostics, func(x diag.Diagnostic) bool { return x.File == d.File && x.Message == d.Message }) {
			s.Diagnostics = append(s.Diagnostics, d)
		}
	}
	s.Diagnostics.Sort()
}

var harnessName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

func (s *Set) add(doc *yamlpos.Document, rel, shown string) {
	base := path.Base(rel)
	h := &Harness{
		Name: strings.TrimSuffix(base, path.Ext(base)), File: shown,
		Floor: adapters.Write, Minimum: adapters.Write, Broken: true,
	}
	s.Harnesses = append(s.Harnesses, h)
	if !harnessName.MatchString(h.Name) {
		s.Diagnostics = append(s.Diagnostics, diag.InFile(RuleName, shown, "use letters, digits, `-`, `_` and `.` in the file's name", "%q cannot be the name of a harness", h.Name))
		return
	}
	if doc == nil {
		return
	}
	h.text = doc.Text
	r := &reader{Decoder: yamlpos.Decoder{Doc: doc}, h: h}
	r.harness()
	for i := range r.Diags {
		r.Diags[i].Harness = h.Name
	}
	s.Diagnostics = append(s.Diagnostics, r.Diags...)
}

type reader struct {
	yamlpos.Decoder
	h *Harness
}

func (r *reader) harness() {
	h := r.h
	if r.Doc.Root == nil {
		r.Diags = append(r.Diags, diag.InFile(yamlpos.RuleEmpty, h.File, "write entity_sources: ["+Example+"]", "the file is empty"))
		return
	}
	config.Secrets(&r.Decoder)
	m, ok := r.Mapping(r.Doc.Root, "a harness", "write keys such as role:, trigger: and entity_sources:")
	if !ok {
		return
	}
	h.Broken = false
	r.mistyped(m)
	if v := m.Get("role"); v != nil {
		if s, ok := r.Text(v, "role"); ok {
			h.Role = s
		} else {
			h.Broken = true
		}
	}
	h.Floor = FloorOf(h.Role)
	h.Minimum = h.Floor
	if v := m.Get("admission"); v != nil && !r.admission(v) {
		h.Broken = true
	}
	if v := m.Get("trigger"); v != nil {
		r.trigger(v)
	}
	if v := m.Get("entity_sources"); v != nil {
		r.sources(v)
		if len(h.Sources) > 0 && h.Trigger == nil && !h.Broken {
			r.Report(m.Key("entity_sources"), RuleNoTrigger, `add trigger: "true" to start on membership alone, or a CEL condition`, "the harness has sources and no trigger: it is never started automatically")
		}
	}
}

// mistyped finds top-level keys that were meant for this engine; all others belong to the platform.
func (r *reader) mistyped(m yamlpos.Mapping) {
	if v := m.Get("query"); v != nil && (v.Kind == yaml.MappingNode && len(v.Content) > 0 && queryTag.MatchString(v.Content[0].Value) || strings.HasPrefix(v.Value, "v1:")) {
		r.Report(m.Key("query"), yamlpos.RuleUnknownKey, "write entity_sources: ["+Example+"]", "a query stands at the top of the file, where nothing reads it")
		r.h.Broken = true
	}
	ours := []string{"entity_sources", "admission"}
	for _, e := range m.Entries {
		k := e.Key.Value
		if near, ok := diag.Nearest(k, ours); ok && k != near && m.Get(near) == nil && len(k) > 6 {
			r.Report(e.Key, yamlpos.RuleUnknownKey, fmt.Sprintf("did you mean %q?", near), "unknown key %q", k)
			r.h.Broken = true
		}
	}
}

func (r *reader) admission(n *yaml.Node) bool {
	before := len(r.Diags)
	m, ok := r.Mapping(n, "admission", "write admission: {minimum: write}")
	if !ok {
		return false
	}
	r.Only(m, "admission", "minimum")
	v := r.Need(m, "minimum", "admission", "add minimum: triage, write, maintain or admin")
	if v == nil {
		return false
	}
	s, ok := r.Text(v, "minimum")
	if !ok {
		return false
	}
	role, err := adapters.ParseRole(s)
	switch {
	case err != nil:
		r.Report(v, RuleAdmissionRole, diag.DidYouMean(s, []string{"triage", "write", "maintain", "admin"}), "unknown role %q", s)
	case role < r.h.Floor:
		r.Report(v, RuleBelowFloor, fmt.Sprintf("raise it to %s at least, or leave it out", r.h.Floor), "minimum %s is below %s, the floor of %s; it may only be raised", role, r.h.Floor, roleShown(r.h.Role))
	default:
		r.h.Minimum = role
	}
	return !r.Diags[before:].Failed()
}

func roleShown(role string) string {
	if role == "" {
		return "a harness without a role"
	}
	return fmt.Sprintf("role %q", role)
}

func (r *reader) trigger(n *yaml.Node) {
	s, ok := r.Text(n, "trigger")
	if !ok {
		r.h.Broken = true
		return
	}
	if strings.TrimSpace(s) == "" {
		return
	}
	r.h.Trigger = &s
	r.h.trigger = r.Doc.Scalar(n)
	r.h.TriggerPos = r.Doc.PosOf(n)
}

func (r *reader) sources(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		r.h.Broken = true
	}
	items := r.List(n, "entity_sources")
	if n.Kind == yaml.SequenceNode && len(items) == 0 {
		r.Report(n, RuleNoSources, "declare a source, or remove the key: the harness is started by events alone", "entity_sources is empty")
	}
	for i, item := range items {
		s := &Source{Harness: r.h, Index: i, Pos: r.Doc.PosOf(item), text: r.Doc.Text}
		r.h.Sources = append(r.h.Sources, s)
		before := len(r.Diags)
		r.source(item, s)
		s.Refused = r.Diags[before:].Failed()
	}
}

func (r *reader) source(n *yaml.Node, s *Source) {
	m, ok := r.Mapping(n, "an entity source", "write - "+Example)
	if !ok {
		return
	}
	r.Only(m, "an entity source", "version", "from", "kind", "query")
	if v := m.Get("version"); v == nil {
		r.Report(m.Key("version"), RuleSourceVersion, "add version: 1", "the entity source has no version")
	} else if v.Kind != yaml.ScalarNode || v.Value != "1" {
		r.Report(v, RuleSourceVersion, "write version: 1, or use a newer build", "this version of an entity source is not known")
	}
	if v := r.Need(m, "from", "the entity source", "add from: and the name of an input driver of config.yaml"); v != nil {
		if t, ok := r.Text(v, "from"); ok {
			s.From, s.FromPos = t, r.Doc.PosOf(v)
			s.from[0], s.from[1] = r.Doc.Extent(v)
		}
	}
	if v := r.Need(m, "kind", "the entity source", "add kind: work_item or kind: change_proposal"); v != nil {
		if t, ok := r.Text(v, "kind"); ok {
			k, suggest, ok := config.ParseKind(t)
			if !ok {
				r.Report(v, RuleKind, suggest, "unknown kind %q", t)
			}
			s.Kind, s.KindPos = k, r.Doc.PosOf(v)
			s.kind[0], s.kind[1] = r.Doc.Extent(v)
		}
	}
	if v := r.Need(m, "query", "the entity source", `add query: "v1: state = open"`); v != nil {
		r.query(v, s)
	}
}

func (r *reader) query(n *yaml.Node, s *Source) {
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && queryTag.MatchString(n.Content[0].Value) {
		r.Report(n.Content[0], yamlpos.RuleUnquoted, "quote the query or use |", "the query is not quoted: YAML takes its `%s:` for a key", n.Content[0].Value)
		return
	}
	text, ok := r.Text(n, "query")
	if !ok {
		return
	}
	s.query, s.QueryPos = r.Doc.Scalar(n), r.Doc.PosOf(n)
	q, ds := query.Parse(text)
	s.Query, s.parsed = q, ds
	for _, d := range ds {
		r.Diags = append(r.Diags, s.Place(d))
	}
	if ds.Failed() && n.Style == 0 && n.LineComment != "" {
		_, end := r.Doc.Extent(n)
		r.Diags = append(r.Diags, r.Doc.Diag(yamlpos.RuleUnquoted, end, end, "YAML takes the rest of the line for a comment", "quote the query or use |"))
	}
}

var queryTag = regexp.MustCompile(`^[vV][0-9]+$`)
