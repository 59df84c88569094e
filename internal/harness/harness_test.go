package harness_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
	"github.com/fullsend-ai/discovery/query"
)

const conf = `version: "1"
poll:
  input_drivers:
    - type: jira-poll
      name: old
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: https://forge.example, token_env: FORGE_TOKEN}
      scopes: [{repo: acme/widgets, kinds: [work_item]}]
      accounts: {triage: "id:4711"}
`

const agents = "agents: [agents/fix.yaml, harness/triage.yaml, .fullsend/harness/triage.yaml]\n"

// load writes files into a folder and loads and binds it.
func load(t *testing.T, files map[string]string) *harness.Set {
	t.Helper()
	root := t.TempDir()
	for name, body := range files {
		p := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(body), 0o644))
	}
	d, ds := config.OpenDir(root)
	require.Empty(t, ds)
	defer d.Close()
	cfg, _ := config.Load(d, configtest.Registry())
	require.NotNil(t, cfg)
	set := harness.Load(d, cfg.Agents)
	set.Bind(cfg, configtest.Registry())
	return set
}

func codes(ds diag.Diagnostics) (cs []string) {
	for _, d := range ds {
		cs = append(cs, d.Code)
	}
	return cs
}

// SPEC SO-1 SO-10
func TestLoad(t *testing.T) {
	set := load(t, map[string]string{
		"config.yaml": conf + agents,
		"harness/triage.yaml": `role: triage
trigger: event == null
entity_sources:
  - {version: 1, from: code, kind: work_item, query: "v1: assignee = self"}
`,
		"harness/broken.yml":  "role: [\n",
		"harness/notes.txt":   "no harness",
		"harness/.hidden.yml": "role: [\n",
		"agents/fix.yaml":     "role: coder\n",
	})
	require.Equal(t, []string{"Y004"}, codes(set.Diagnostics))
	require.Len(t, set.Harnesses, 3, "registered twice is one harness")

	h, ok := set.Get("triage")
	require.True(t, ok)
	require.Equal(t, "event == null", *h.Trigger)
	require.Equal(t, 2, h.TriggerPos.Line)
	require.Equal(t, adapters.Triage, h.Minimum)
	s := h.Sources[0]
	require.Equal(t, "triage/1", s.ID())
	require.Equal(t, query.WorkItem, s.Kind)
	require.Equal(t, "code", s.Driver.Name)
	require.NotNil(t, s.Bound)
	require.False(t, s.Refused)

	f, ok := set.Get("fix")
	require.True(t, ok)
	require.Nil(t, f.Trigger)
	require.Empty(t, f.Sources)
	require.Equal(t, adapters.Write, f.Minimum)

	_, ok = set.Get("broken")
	require.False(t, ok)
}

// One source that is refused leaves the other sources and harnesses alone. SPEC SO-10
func TestRefusedSources(t *testing.T) {
	set := load(t, map[string]string{
		"config.yaml": conf,
		"harness/a.yaml": `trigger: "true"
entity_sources:
  - {version: 1, from: code, kind: work_item, query: "v1: state = open"}
  - {version: 1, from: code, kind: work_item, query: "v1: draft"}
  - {version: 1, from: old, kind: work_item, query: "v1: state = open"}
  - {version: 1, from: coed, kind: work_item, query: "v1: state = open"}
  - {version: 1, from: code, kind: change_proposal, query: "v1: draft"}
`,
	})
	h, ok := set.Get("a")
	require.True(t, ok)
	require.True(t, h.Refused())
	var refused []bool
	for _, s := range h.Sources {
		refused = append(refused, s.Refused)
		require.Equal(t, s.Refused, s.Bound == nil)
	}
	require.Equal(t, []bool{false, true, true, true, false}, refused)
	require.Equal(t, []string{"Q202", "H005", "H004", "H007"}, codes(set.Diagnostics))
}

// SPEC SO-6
func TestFloor(t *testing.T) {
	for role, want := range map[string]adapters.Role{
		"triage": adapters.Triage, "review": adapters.Triage, "coder": adapters.Write, "fix": adapters.Write, "retro": adapters.Write,
		"prioritize": adapters.Write, "Triage": adapters.Write, "anything": adapters.Write, "": adapters.Write,
	} {
		require.Equal(t, want, harness.FloorOf(role), role)
	}
}

// SPEC SO-6
func TestAdmissionOnlyRaises(t *testing.T) {
	for src, want := range map[string]adapters.Role{ // NoRole: broken
		"role: triage": adapters.Triage,
		"role: triage\nadmission: {minimum: write}":        adapters.Write,
		"role: triage\nadmission: {minimum: triage}":       adapters.Triage,
		"role: triage\nadmission: {minimum: read}":         adapters.NoRole,
		"role: coder\nadmission: {minimum: triage}":        adapters.NoRole,
		"role: coder\nadmission: {minimum: admin}":         adapters.Admin,
		"admission: {minimum: triage}":                     adapters.NoRole,
		"role: triage\nadmission: {}":                      adapters.NoRole,
		"role: triage\nadmission: write":                   adapters.NoRole,
		"role: triage\nadmission: {minimum: Write}":        adapters.NoRole,
		"role: triage\nadmission: {minimum: write, no: 1}": adapters.NoRole,
		"role: [triage]":                                   adapters.NoRole,
		"role: triage\nadmision: {minimum: write}":         adapters.NoRole,
	} {
		doc, ds := yamlpos.Parse("h.yaml", []byte(src))
		require.Empty(t, ds)
		h := harness.Parse(doc, "h.yaml", "h.yaml").Harnesses[0]
		if want == adapters.NoRole {
			require.True(t, h.Broken, src)
			continue
		}
		require.False(t, h.Broken, src)
		require.Equal(t, want, h.Minimum, src)
	}
}

// SPEC SO-1
func TestDuplicateNamesRunNeither(t *testing.T) {
	set := load(t, map[string]string{"config.yaml": conf + "agents: [agents/fix.yaml]\n", "harness/fix.yaml": "role: triage", "agents/fix.yaml": "role: coder"})
	_, ok := set.Get("fix")
	require.False(t, ok)
	require.Contains(t, set.Diagnostics[0].Message, "agents/fix.yaml")
	require.Contains(t, set.Diagnostics[0].File, "harness/fix.yaml")
}

func TestBindWithoutConfig(t *testing.T) {
	doc, _ := yamlpos.Parse("h.yaml", []byte("trigger: 'true'\nentity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: merged'}]"))
	set := harness.Parse(doc, "h.yaml", "h.yaml")
	set.Bind(nil, configtest.Registry())
	require.Equal(t, []string{"H012"}, codes(set.Diagnostics))
	require.True(t, set.Harnesses[0].Sources[0].Refused)
}

// SPEC SO-12
func TestAtTrigger(t *testing.T) {
	doc, _ := yamlpos.Parse("h.yaml", []byte("trigger: >\n  event ==\n  nul\n"))
	h := harness.Parse(doc, "h.yaml", "h.yaml").Harnesses[0]
	d := h.AtTrigger(diag.Rule{Code: "T001"}, 9, 12, "no such name", "")
	require.Equal(t, "h.yaml:3:3: no such name [T001]", d.Error())
	require.Equal(t, "  nul", d.Snippet)
}

// Whatever the bytes: no panic, and a source that is not refused is whole.
//
// SPEC SO-10
func FuzzHarness(f *testing.F) {
	f.Add("role: triage\ntrigger: 'true'\nentity_sources:\n  - {version: 1, from: code, kind: work_item, query: 'v1: state = open'}\n")
	f.Add("admission: {minimum: write}\nentity_sources:\n  - version: 1\n    from: code\n    kind: work_item\n    query: >\n      v1: label = \"a\"\n      and not merged\n")
	f.Add("x: &x {version: 1}\nentity_sources: [<<: *x, *x]")
	doc, _ := yamlpos.Parse("config.yaml", []byte(conf))
	cfg, _ := config.Decode(doc, configtest.Registry())
	reg := configtest.Registry()
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4096 {
			return
		}
		doc, _ := yamlpos.Parse("h.yaml", []byte(src))
		set := harness.Parse(doc, "h.yaml", "h.yaml")
		set.Bind(cfg, reg)
		h := set.Harnesses[0]
		if !h.Broken && h.Minimum < h.Floor {
			t.Fatalf("%s below %s", h.Minimum, h.Floor)
		}
		for _, s := range h.Sources {
			if s.Refused != (s.Bound == nil) || !s.Refused && (s.Driver == nil || s.Kind == "") {
				t.Fatalf("half a source: %+v", s)
			}
			if s.Refused && !set.Diagnostics.Failed() {
				t.Fatal("refused without an error")
			}
		}
	})
}
