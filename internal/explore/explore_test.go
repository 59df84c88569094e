package explore_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/explore"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/query"
)

var update = flag.Bool("update", false, "rewrite golden files and the reference page")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update and read the difference")
}

func fields(t *testing.T, f explore.Filter, format string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, explore.WriteFields(&b, explore.Fields(setup.Registry(), f), format))
	return b.String()
}

// The reference page says what this build's catalogue and adapters say. SPEC QL-5
func TestReferencePage(t *testing.T) {
	golden(t, filepath.Join("..", "..", "docs", "fields.md"), fields(t, explore.Filter{}, "markdown"))
}

func TestFieldsOfAProvider(t *testing.T) {
	golden(t, "testdata/fields-forgejo.txt", fields(t, explore.Filter{Provider: query.Forgejo, Kind: query.WorkItem}, "text"))
	golden(t, "testdata/fields-jira.txt", fields(t, explore.Filter{Provider: query.Jira}, "text"))
}

// Whatever the filter, a row stands for a field that the provider and kind really have, and none is missing.
func TestFieldsAreTheCatalogue(t *testing.T) {
	for _, p := range explore.Providers() {
		for _, k := range explore.Kinds() {
			var got struct {
				Version string
				Fields  []explore.Row
			}
			require.NoError(t, json.Unmarshal([]byte(fields(t, explore.Filter{Provider: p, Kind: k}, "json")), &got))
			require.Equal(t, "v1", got.Version)
			c := explore.Catalogue(setup.Registry(), p, k)
			want := len(c.Names())
			if c.HasCustom() {
				want++
			}
			require.Len(t, got.Fields, want, "%s %s", p, k)
			for _, r := range got.Fields {
				_, ok := c.Field(strings.Replace(r.Name, "N", "7", 1))
				assert.True(t, ok, "%s %s %s", p, k, r.Name)
				assert.NotEmpty(t, r.Why, r.Name)
			}
		}
	}
	require.Len(t, explore.Fields(setup.Registry(), explore.Filter{}), len(query.AllFields()))
	require.Error(t, explore.WriteFields(&bytes.Buffer{}, nil, "xml"))
}

var now = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

func TestExplain(t *testing.T) {
	for name, q := range map[string]explore.Question{
		"local":     {Provider: query.Forgejo, Query: `v1: STATE = 'open' and label in ("bug", "x") and not label = "blocked" and any comment(command = "/fs-fix" and at >= now - 14d)`},
		"unlinked":  {Provider: query.Jira, Query: `v1: status != "Done" and cf[10021] = "x"`},
		"proposal":  {Provider: query.Forgejo, Query: `v1: not draft and checks = failure`},
		"any-order": {Provider: query.Forgejo, Kind: query.WorkItem, Query: `v1: updated < now - 7d`},
	} {
		t.Run(name, func(t *testing.T) {
			q.Registry = setup.Registry()
			if name == "unlinked" { // a build without that adapter
				delete(q.Registry, query.Jira)
			}
			x, _, err := explore.Explain(q, now, 24*time.Hour)
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, x.Write(&b))
			golden(t, "testdata/explain-"+name+".txt", b.String())
		})
	}
}

func TestExplainRefuses(t *testing.T) {
	_, ds, err := explore.Explain(explore.Question{Provider: query.Forgejo, Query: "v1: lable = \"x\"\n and state = opn", Registry: setup.Registry()}, now, time.Hour)
	require.ErrorIs(t, err, explore.ErrRefused)
	require.Len(t, ds, 2)
	require.Equal(t, "query:2:14", ds[1].Pos().String())
}
