package lint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/lint"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

func schema(t *testing.T, name string) *gojsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", name))
	require.NoError(t, err)
	s, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(raw))
	require.NoError(t, err)
	return s
}

func validate(t *testing.T, s *gojsonschema.Schema, src []byte) *gojsonschema.Result {
	t.Helper()
	var v any
	require.NoError(t, yaml.Unmarshal(src, &v))
	res, err := s.Validate(gojsonschema.NewGoLoader(v))
	require.NoError(t, err)
	return res
}

// What the schemas accept and refuse is what the loaders do, as far as a schema can tell.
func TestSchemasAgreeWithLoaders(t *testing.T) {
	const source = "entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open'}]"
	const driver = "version: 1\npoll: {input_drivers: [{type: entity-source, name: a, provider: forgejo, connection: {base_url: 'https://x', token_env: T}, scopes: [{repo: a/b}]"
	harnessOK := func(src []byte) bool {
		doc, ds := yamlpos.Parse("h.yaml", src)
		set := harness.Parse(doc, "h.yaml", "h.yaml")
		return !ds.Failed() && !set.Diagnostics.Failed()
	}
	configOK := func(src []byte) bool {
		doc, ds := yamlpos.Parse("config.yaml", src)
		require.NotNil(t, doc)
		_, more := config.Decode(doc, configtest.Registry())
		return !ds.Failed() && !more.Failed()
	}
	for file, tc := range map[string]struct {
		ok  func([]byte) bool
		src map[string]bool
	}{
		"harness.json": {harnessOK, map[string]bool{
			"role: triage": true, "anything: {goes: [1]}": true, source: true, "trigger: true\n" + source: true,
			"admission: {minimum: write}": true, "admission: {minimum: owner}": false, "admission: {}": false, "admission: {minimum: write, x: 1}": false,
			"entity_sources: {}": false, "entity_sources: [{version: 1}]": false,
			"entity_sources: [{version: 2, from: code, kind: work_item, query: 'v1: state = open'}]":       false,
			"entity_sources: [{version: 1, from: code, kind: issue, query: 'v1: state = open'}]":           false,
			"entity_sources: [{version: 1, from: code, kind: work_item, query: 'state = open'}]":           false,
			"entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open', x: 1}]": false,
		}},
		"config.json": {configOK, map[string]bool{
			"version: 1": true, "version: '2'": false, "poll: {}": false, "version: 1\nkill_switch: true\nother: x": true, "version: 1\nkill_switch: maybe": false,
			"version: 1\npoll: {}": false, "version: 1\npoll: {input_drivers: [], x: 1}": false,
			driver + "}]}": true, driver + ", accounts: {triage: 'id:1', x: {id: 'id:2', role: write}}, every: 5m, reconcile_every: 7d}]}": true,
			driver + ", accounts: {triage: bob}}]}": false, driver + ", every: '5'}]}": false, driver + ", every: 1 day}]}": false, driver + ", evry: 5m}]}": false,
			"version: 1\npoll: {input_drivers: [], output_driver: xml}":           false,
			"version: 1\npoll: {input_drivers: [], target_repo: 'https://x/a/b'}": false,
			"version: 1\npoll: {input_drivers: [{type: entity-source}]}":          false,
			"version: 1\npoll: {input_drivers: [{type: entity-source, name: a, provider: forgejo, connection: {base_url: 'https://x', token: T}, scopes: [{repo: a/b}]}]}":                false,
			"version: 1\npoll: {input_drivers: [{type: entity-source, name: a, provider: forgejo, connection: {base_url: 'https://x', token_env: $T}, scopes: [{repo: a/b}]}]}":           false,
			"version: 1\npoll: {input_drivers: [{type: entity-source, name: a, provider: forgejo, connection: {base_url: 'https://x', token_env: T}, scopes: []}]}":                       false,
			"version: 1\npoll: {input_drivers: [{type: entity-source, name: a, provider: forgejo, connection: {base_url: 'https://x', token_env: T}, scopes: [{repo: a}]}]}":              false,
			"version: 1\npoll: {input_drivers: [{type: entity-source, name: a, provider: forgejo, connection: {base_url: 'https://x', token_env: T}, scopes: [{repo: a/b, kinds: []}]}]}": false,
		}},
	} {
		s := schema(t, file)
		for src, want := range tc.src {
			res := validate(t, s, []byte(src))
			require.Equal(t, want, res.Valid(), "schema on %s: %v", src, res.Errors())
			require.Equal(t, want, tc.ok([]byte(src)), "loader on %s", src)
		}
	}
}

// The examples are meant to be copied: they pass the schemas and lint.
func TestExamples(t *testing.T) {
	root := filepath.Join("..", "..", "examples", ".fullsend")
	files, err := filepath.Glob(filepath.Join(root, "harness", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	s := schema(t, "harness.json")
	for _, f := range files {
		src, err := os.ReadFile(f)
		require.NoError(t, err)
		res := validate(t, s, src)
		require.True(t, res.Valid(), "%s: %v", f, res.Errors())
	}
	src, err := os.ReadFile(filepath.Join(root, "config.yaml"))
	require.NoError(t, err)
	res := validate(t, schema(t, "config.json"), src)
	require.True(t, res.Valid(), "%v", res.Errors())

	rep, err := lint.Run(t.Context(), lint.Options{Dir: root, Registry: configtest.Registry()})
	require.NoError(t, err)
	require.Equal(t, len(files), rep.Files-1)
	require.False(t, rep.Diagnostics.Failed(), "%v", rep.Diagnostics)
}
