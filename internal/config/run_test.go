package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/config"
)

// SPEC RU-12
func TestRunSection(t *testing.T) {
	c, ds := decode(t, `version: "1"
run:
  command: [agent, --mode, "a b"]
  pre_script: [check]
  sandbox: command
  launcher: [podman, run]
  network: true
  pass_env: [MODEL_KEY]
  read_only: [/srv/models]
  limit: 90m
  grace: 0s
  idle: 5m
  parallel: 8
  remote: {base_url: https://ghe.example/api/v3, token_env: GH_TOKEN, project: acme/agents, workflow: agent.yml, ref: main}
`)
	require.Empty(t, ds)
	require.Equal(t, config.Run{
		Command: []string{"agent", "--mode", "a b"}, PreScript: []string{"check"}, Sandbox: "command", Launcher: []string{"podman", "run"}, Network: true,
		PassEnv: []string{"MODEL_KEY"}, ReadOnly: []string{"/srv/models"}, Limit: 90 * time.Minute, Idle: 5 * time.Minute, Parallel: 8,
		Remote: config.Remote{BaseURL: "https://ghe.example/api/v3", TokenEnv: "GH_TOKEN", Project: "acme/agents", Workflow: "agent.yml", Ref: "main"},
	}, c.Run)
	c, ds = decode(t, `version: "1"`)
	require.Empty(t, ds)
	require.Equal(t, config.Run{Sandbox: "bwrap", Limit: 2 * time.Hour, Grace: 10 * time.Second, Parallel: 2}, c.Run)
}

// SPEC RU-12: half of a wall is none: any fault refuses the section, and nothing else of the file.
func TestAFaultRefusesTheRunSection(t *testing.T) {
	for name, run := range map[string]string{
		"no mapping":                   `[agent]`,
		"a shell line":                 `{command: "agent --mode x"}`,
		"a number for an argument":     `{command: [agent, [x]]}`,
		"an empty command":             `{command: [""]}`,
		"an unknown key":               `{comand: [agent]}`,
		"an unknown sandbox":           `{sandbox: chroot}`,
		"a launcher without command":   `{launcher: [podman]}`,
		"command without a launcher":   `{sandbox: command}`,
		"network is a word":            `{network: "maybe"}`,
		"a variable with a value":      `{pass_env: ["A=B"]}`,
		"a relative path":              `{read_only: [data]}`,
		"a path that climbs":           `{read_only: [/srv/../etc]}`,
		"everything":                   `{read_only: [/]}`,
		"no runs at once":              `{parallel: 0}`,
		"a duration without a unit":    `{limit: 5}`,
		"a workflow that is a path":    `{remote: {workflow: ../x.yml}}`,
		"a project that is a URL":      `{remote: {project: "https://x/y"}}`,
		"a ref that is an option":      `{remote: {ref: "--force"}}`,
		"a token in place of its name": `{remote: {token_env: ghp_0123456789012345678901234567890123456}}`,
		"credentials in the address":   `{remote: {base_url: "https://u:p@x.example"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, ds := decode(t, "version: \"1\"\nrun: "+run+"\npoll: {input_drivers: []}\n")
			require.True(t, ds.Failed())
			require.True(t, c.Run.Broken, "%v", ds)
			require.False(t, c.KillSwitch)
		})
	}
}
