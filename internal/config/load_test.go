package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/config/configtest"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
	"github.com/fullsend-ai/discovery/query"
)

const full = `version: "1"
agents:
  - agents/fix.yaml
poll:
  input_drivers:
    - type: entity-source
      name: code-repo
      provider: forgejo
      connection: {base_url: https://forge.example/, token_env: FORGE_TOKEN, ca_file: /etc/ca.pem}
      scopes:
        - {repo: acme/widgets, kinds: [work_item]}
        - {repo: acme/gadgets}
      accounts: {triage: "id:4711", fixer: {id: "id:12", role: write}}
      every: 5m
      reconcile_every: 7d
      recheck_every: 90m
    - type: entity-source
      name: tracker
      provider: jira
      connection: {base_url: https://jira.example, token_env: JIRA_TOKEN, email: bot@example.com}
      scopes: [{project: PROJ}]
      accounts: {self: "id:9"}
  target_repo: acme/widgets
  output_driver: gha-dispatch
`

func decode(t *testing.T, src string) (*config.Config, config.Diagnostics) {
	t.Helper()
	doc, ds := yamlpos.Parse("config.yaml", []byte(src))
	require.NotNil(t, doc, "%v", ds)
	return config.Decode(doc, configtest.Registry())
}

// SPEC SO-2 SO-3 SO-4
func TestDecodeEverything(t *testing.T) {
	c, ds := decode(t, full)
	require.Empty(t, ds)
	require.Equal(t, "acme/widgets", c.TargetRepo)
	require.Equal(t, "gha-dispatch", c.OutputDriver)
	require.False(t, c.KillSwitch)
	require.Equal(t, "agents/fix.yaml", c.Agents[0].Path)
	require.Len(t, c.InputDrivers, 2)

	d := c.InputDrivers[0]
	require.Equal(t, "https://forge.example", d.BaseURL)
	require.Equal(t, "FORGE_TOKEN", d.TokenEnv)
	require.Equal(t, map[string]string{"ca_file": "/etc/ca.pem"}, d.Settings)
	require.Equal(t, []query.Kind{query.WorkItem}, d.Scopes[0].Kinds)
	require.Equal(t, config.Kinds(), d.Scopes[1].Kinds, "a scope without kinds is polled for all that there are")
	require.Equal(t, 5*time.Minute, d.Every)
	require.Equal(t, 7*24*time.Hour, d.ReconcileEvery)
	require.Equal(t, 90*time.Minute, d.RecheckEvery)
	require.Equal(t, adapters.Write, d.Accounts["fixer"].Role)
	require.Equal(t, diag.Pos{File: "config.yaml", Line: 6, Col: 7}, d.Pos)

	j, ok := c.Driver("tracker")
	require.True(t, ok)
	require.Equal(t, []query.Kind{query.WorkItem}, j.Scopes[0].Kinds, "the provider has no other kind")
	require.Equal(t, config.DefaultReconcileEvery, j.ReconcileEvery)
	require.Equal(t, config.DefaultRecheckEvery, j.RecheckEvery)
}

// SPEC SO-5
func TestSelf(t *testing.T) {
	c, _ := decode(t, full)
	code, _ := c.Driver("code-repo")
	tracker, _ := c.Driver("tracker")
	for _, tc := range []struct {
		driver        *config.InputDriver
		harness, role string
		want          string
	}{
		{code, "fixer", "triage", "12"},
		{code, "first-look", "triage", "4711"},
		{code, "first-look", "review", ""},
		{code, "first-look", "", ""},
		{tracker, "first-look", "review", "9"},
	} {
		require.Equal(t, tc.want, tc.driver.Self(tc.harness, tc.role), "%s as %s on %s", tc.harness, tc.role, tc.driver.Name)
	}
}

// A kill switch that cannot be read stops dispatch. SPEC SO-8
func TestKillSwitch(t *testing.T) {
	for src, want := range map[string]bool{
		"version: 1": false, "version: 1\nkill_switch: false": false, "version: 1\nkill_switch: true": true,
		"version: 1\nkill_switch: on": true, "version: 1\nkill_switch: \"false\"": true, "version: 1\nkill_switch: [no]": true,
		"version: 1\npoll: {kill_switch: true, input_drivers: []}":                     true,
		"version: 1\nkill_switch: true\npoll: {kill_switch: false, input_drivers: []}": true,
	} {
		c, _ := decode(t, src)
		require.Equal(t, want, c.KillSwitch, src)
	}
}

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "2w": 336 * time.Hour,
	} {
		got, err := config.ParseDuration(s)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, s := range []string{"", "5", "5 m", "1 day", "d", "-1d", "1.5d", "99999999999d", "1M", "soon"} {
		_, err := config.ParseDuration(s)
		require.ErrorIs(t, err, config.ErrDuration, s)
	}
}

// What no message may hold: the value of a secret, wherever it stands. SPEC SO-7
func TestSecretsStayOut(t *testing.T) {
	const secret = "ghp_0123456789abcdef0123456789abcdef0123"
	for _, src := range []string{
		"version: 1\npoll: {token: " + secret + "}",
		"version: " + secret,
		"version: 1\n" + secret + ": x\npoll: {" + secret + ": 1}",
		"version: 1\npoll: {input_drivers: [{type: " + secret + "}]}",
		"version: 1\npoll: {input_drivers: [{type: entity-source, name: " + secret + ", provider: " + secret + "}]}",
		"version: 1\npoll: {input_drivers: [{type: entity-source, name: a, provider: forgejo, every: " + secret + ", scopes: [{repo: " + secret + "}], connection: {base_url: " + secret + "}}]}",
		"version: 1\nagents: [https://x/" + secret + "]",
		"version: 1\npoll: {target_repo: " + secret + ", output_driver: " + secret + "}",
	} {
		_, ds := decode(t, src)
		require.NotEmpty(t, ds, src)
		for _, d := range ds {
			require.NotContains(t, d.Message+d.Suggest+d.Snippet, secret, src)
		}
	}
}

// SPEC SO-9
func TestLoadUnreadable(t *testing.T) {
	open := func(t *testing.T, dir string) *config.Dir {
		d, ds := config.OpenDir(dir)
		require.Empty(t, ds)
		t.Cleanup(func() { d.Close() })
		return d
	}
	for name, tc := range map[string]struct {
		make func(t *testing.T, path string)
		code string
		says string
	}{
		"absent":       {func(*testing.T, string) {}, "Y001", "no such file"},
		"a folder":     {func(t *testing.T, p string) { require.NoError(t, os.Mkdir(p, 0o755)) }, "Y001", "directory"},
		"a link out":   {func(t *testing.T, p string) { require.NoError(t, os.Symlink("/etc/hostname", p)) }, "Y001", "escapes"},
		"a link up":    {func(t *testing.T, p string) { require.NoError(t, os.Symlink("../x.yaml", p)) }, "Y001", ""},
		"a link to it": {func(t *testing.T, p string) { require.NoError(t, os.Symlink("config.yaml", p)) }, "Y001", ""},
		"100 MB": {func(t *testing.T, p string) {
			require.NoError(t, os.WriteFile(p, nil, 0o644))
			require.NoError(t, os.Truncate(p, 100<<20))
		}, "Y002", "104857600"},
		"empty":         {func(t *testing.T, p string) { require.NoError(t, os.WriteFile(p, nil, 0o644)) }, "Y010", "empty"},
		"only comments": {func(t *testing.T, p string) { require.NoError(t, os.WriteFile(p, []byte("# x\n"), 0o644)) }, "Y010", "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tc.make(t, filepath.Join(dir, config.File))
			c, ds := config.Load(open(t, dir), configtest.Registry())
			require.Nil(t, c)
			require.Len(t, ds, 1)
			require.Equal(t, tc.code, ds[0].Code)
			require.Contains(t, ds[0].Message, tc.says)
		})
	}
	t.Run("linked within the folder", func(t *testing.T) { // as volumes are mounted
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "..data"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "..data", config.File), []byte(full), 0o644))
		require.NoError(t, os.Symlink("..data/config.yaml", filepath.Join(dir, config.File)))
		c, ds := config.Load(open(t, dir), configtest.Registry())
		require.Empty(t, ds)
		require.NotNil(t, c)
	})
	t.Run("no such folder", func(t *testing.T) {
		_, ds := config.OpenDir(filepath.Join(t.TempDir(), "none"))
		require.Len(t, ds, 1)
		require.Contains(t, ds[0].Error(), "--fullsend-dir")
	})
	t.Run("a file for a folder", func(t *testing.T) {
		p := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.WriteFile(p, nil, 0o644))
		_, ds := config.OpenDir(p)
		require.Len(t, ds, 1)
	})
}

// Whatever the bytes: no panic, places within the file, and only drivers without errors are usable.
//
// SPEC SO-3
func FuzzDecode(f *testing.F) {
	f.Add(full)
	for _, line := range strings.SplitAfter(full, "\n") {
		f.Add(strings.Replace(full, line, "", 1))
	}
	f.Add("version: 1\npoll: {input_drivers: [{type: entity-source, <<: &a {name: x}}, *a]}")
	reg := configtest.Registry()
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 8192 {
			return
		}
		doc, _ := yamlpos.Parse("config.yaml", []byte(src))
		if doc == nil {
			return
		}
		c, ds := config.Decode(doc, reg)
		if c == nil && !ds.Failed() {
			t.Fatal("no config and no error")
		}
		lines := strings.Count(src, "\n") + strings.Count(src, "\r") + 1
		for _, d := range ds {
			if d.Line > lines || d.Message == "" || d.Code == "" {
				t.Fatalf("%+v", d)
			}
		}
		if c == nil {
			return
		}
		for _, d := range c.InputDrivers {
			if d.Name == "" || reg[d.Provider] == nil || len(d.Scopes) == 0 || d.Every <= 0 || d.ReconcileEvery <= 0 || d.RecheckEvery <= 0 {
				t.Fatalf("unusable driver is listed as usable: %+v", d)
			}
		}
		for _, a := range c.Agents {
			if filepath.IsAbs(a.Path) || a.Path == ".." || strings.HasPrefix(a.Path, "../") {
				t.Fatalf("agent outside the folder: %s", a.Path)
			}
		}
		if len(c.Broken) > 0 && !ds.Failed() {
			t.Fatal(fmt.Sprint("broken without an error: ", c.Broken))
		}
	})
}
