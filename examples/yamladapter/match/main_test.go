package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	people = "me: \"1\"\npeople:\n  \"1\": {login: olga}\n  \"2\": {login: wes}\n  \"3\": {login: sam}\n"
	box    = "id: w-1\nroles: {\"1\": admin, \"2\": write}\n"
	bug    = "id: i-1\ntitle: {text: it crashes, by: \"2\", at: 2026-01-05T09:00:00Z}\nauthor: \"2\"\ncreated: 2026-01-05T09:00:00Z\n" +
		"labels: [{name: bug, by: \"2\", at: 2026-01-05T09:00:00Z}]\n"
	strange = "id: i-2\ntitle: {text: do it, by: \"3\", at: 2026-01-05T09:00:00Z}\nauthor: \"3\"\ncreated: 2026-01-05T09:00:00Z\n" +
		"labels: [{name: bug, by: \"3\", at: 2026-01-05T09:00:00Z}]\n"
)

func folder(t *testing.T, issues map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "acme", "widgets"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "people.yaml"), []byte(people), 0o600))
	issues["container"] = box
	for name, text := range issues {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "acme", "widgets", name+".yaml"), []byte(text), 0o600))
	}
	return dir
}

func match(t *testing.T, dir, text string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(context.Background(), &out, dir, "acme/widgets", "write", text)
	return out.String(), err
}

func TestMatch(t *testing.T) {
	dir := folder(t, map[string]string{"1": bug, "2": strange})
	got, err := match(t, dir, `v1: label = "bug"`)
	require.NoError(t, err)
	assert.Equal(t, "acme/widgets#1\n", got, "what a stranger labelled does not count")
	got, err = match(t, dir, `v1: label is empty`)
	require.NoError(t, err)
	assert.Equal(t, "acme/widgets#2\n", got)
}

// A file with a mistake in it is not an issue that does not match.
func TestBrokenFileIsSaid(t *testing.T) {
	for name, text := range map[string]string{
		"misspelled": "id: i-3\nlables: []\ncreated: 2026-01-05T09:00:00Z\n", "no id": "created: 2026-01-05T09:00:00Z\n", "half": "id: [", "empty": "",
	} {
		got, err := match(t, folder(t, map[string]string{"1": bug, "3": text}), `v1: label = "bug"`)
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), "3.yaml", name)
		assert.Equal(t, "acme/widgets#1\n", got, name)
	}
}

func TestMatchRefuses(t *testing.T) {
	dir := folder(t, map[string]string{"1": bug})
	for _, text := range []string{"", `v1: lable = "bug"`, `v1: draft`} {
		_, err := match(t, dir, text)
		assert.Error(t, err, text)
	}
	var out bytes.Buffer
	assert.Error(t, run(context.Background(), &out, dir, "acme/none", "write", `v1: label = "bug"`))
	assert.Error(t, run(context.Background(), &out, dir, "../widgets", "write", `v1: label = "bug"`))
}
