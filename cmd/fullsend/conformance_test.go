package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/conformance"
)

func conformanceCmd(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(context.Background(), append([]string{"conformance"}, args...), &env{out: &out, err: &errs, getenv: os.LookupEnv})
	return code, out.String(), errs.String()
}

// SPEC CF-91: the report is JSON for machines, and the list says what each case is there for.
func TestConformanceCommand(t *testing.T) {
	code, out, _ := conformanceCmd(t, "--list", "--case", "plan")
	require.Zero(t, code)
	assert.Contains(t, out, "plan/explained/work_item")
	assert.Contains(t, out, "CF-80")

	code, out, _ = conformanceCmd(t, "--case", "plan", "--format", "json", "--stage", "sim:forgejo")
	require.Zero(t, code, out)
	var res conformance.Result
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	assert.Equal(t, conformance.ResultSchema, res.Schema)
	assert.Equal(t, conformance.Partial, res.Core, "a part of the cases proves a part")
	assert.NotEmpty(t, res.Passed)

	code, out, _ = conformanceCmd(t, "--case", "plan/stable", "--adapter", "yaml")
	require.Zero(t, code, out)
	assert.Contains(t, out, "1 passed, 0 failed, 1 skipped")

	code, out, _ = conformanceCmd(t, "--case", "cost/idle")
	require.Zero(t, code, out)
	assert.Contains(t, out, "2 passed, 0 failed")
}

func TestConformanceUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"format": {"--format", "yaml"}, "stage": {"--stage", "moon"}, "adapter": {"--adapter", "none"},
		"stage of another": {"--adapter", "yaml", "--stage", "gitea"}, "no server": {"--stage", "gitea"}, "nothing to compare with": {"--compare"}, "case": {"--list", "--case", "nothing-such"},
	} {
		code, _, errs := conformanceCmd(t, args...)
		assert.Equal(t, 2, code, name)
		assert.NotEmpty(t, errs, name)
	}
}
