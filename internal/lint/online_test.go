package lint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/lint"
	"github.com/fullsend-ai/discovery/query"
)

// A repository in which a label was renamed by making a second one.
const onlineWorld = `
user login=acme org=true
user login=olga
user login=Wes
repo repo=acme/widgets
set-role user=olga role=admin
set-role user=wes role=write
token text=adm user=olga
token text=rw user=wes
create-label label=bug
create-label label="needs review"
create-label label=needs-review
create-label label=Ärger
create-label label=Größer
create-milestone milestone="2026-Q1"
`

const onlineConfig = `version: "1"
poll:
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: https://forge.example, token_env: FORGE_TOKEN}
      scopes: [{repo: acme/widgets}]
`

const onlineHarness = `role: triage
trigger: "true"
entity_sources:
  - {version: 1, from: code, kind: work_item, query: 'v1: label in ("bug", "BUG", "bgu", "needs-review", "größer", "ärger", "no such thing")'}
  - {version: 1, from: code, kind: work_item, query: 'v1: milestone = "2026-Q2" or milestone starts with "2026" or milestone starts with "2027"'}
  - {version: 1, from: code, kind: work_item, query: 'v1: author in ("wes", "olga", "nobody-here", "id:3") and not any comment(by = "ghosty")'}
  - {version: 1, from: code, kind: change_proposal, query: 'v1: reviewer = "acme/reviewers" and base = "main"'}
`

func registry() config.Registry { return config.Registry{query.Forgejo: forgejo.Adapter{}} }

// unlimited is a budget that never refuses.
type unlimited struct{}

func (unlimited) Wait(ctx context.Context, _ adapters.Class, _ int) error { return ctx.Err() }
func (unlimited) Observe(adapters.Class, int, http.Header)                {}

func openForgejo(client *http.Client, now func() time.Time, token string) lint.Opener {
	return func(ctx context.Context, d *config.InputDriver, sc config.ScopeRef, k query.Kind) (adapters.Session, error) {
		return forgejo.Adapter{}.Open(ctx, adapters.Config{BaseURL: d.BaseURL, Container: sc.Container, Kind: k, HTTP: client,
			Budget: unlimited{}, Now: now, Token: func(context.Context) (string, error) {
				if token == "" {
					return "", errors.New("environment variable " + d.TokenEnv + " is not set")
				}
				return token, nil
			}})
	}
}

func lintOnline(t *testing.T, token string) (lint.Report, string) {
	t.Helper()
	w := forgesim.New(forgesim.Options{Profile: face.Gitea124.Profile()})
	world := onlineWorld
	for i := range 41 {
		world += fmt.Sprintf("create as=wes title=t%d labels=\"needs review,bug\"\n", i)
	}
	require.NoError(t, w.Run(t.Context(), strings.NewReader(world)))
	open := openForgejo(&http.Client{Transport: forgesim.Transport(face.New(w, face.Options{Flavour: face.Gitea124}))}, w.Now, token)
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.MkdirAll(".fullsend/harness", 0o755))
	require.NoError(t, os.WriteFile(".fullsend/config.yaml", []byte(onlineConfig), 0o644))
	require.NoError(t, os.WriteFile(".fullsend/harness/a.yaml", []byte(onlineHarness), 0o644))
	rep, err := lint.Run(t.Context(), lint.Options{Dir: ".fullsend", Registry: registry(), Open: open})
	require.NoError(t, err)
	var kept lint.Report
	for _, d := range rep.Diagnostics {
		if strings.HasPrefix(d.Code, "N") {
			kept.Diagnostics = append(kept.Diagnostics, d)
		}
	}
	var b bytes.Buffer
	require.NoError(t, kept.Write(&b, lint.Style{Format: "text"}))
	return kept, b.String()
}

// Scenario B072 among others: names that no rule can meet are said, with what was probably meant and how often it is
// in use.
func TestOnline(t *testing.T) {
	abs, err := filepath.Abs("testdata")
	require.NoError(t, err)
	for name, token := range map[string]string{"admin": "adm", "writer": "rw", "without": ""} {
		t.Run(name, func(t *testing.T) {
			_, got := lintOnline(t, token)
			file := filepath.Join(abs, "online-"+name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// A caller that gives up ends the questions.
func TestOnlineEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	open := openForgejo(http.DefaultClient, time.Now, "x")
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "harness"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(onlineConfig), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "harness", "a.yaml"), []byte(onlineHarness), 0o644))
	rep, err := lint.Run(ctx, lint.Options{Dir: dir, Registry: registry(), Open: open})
	require.NoError(t, err)
	require.True(t, rep.Diagnostics.Failed())
	require.Contains(t, rep.Diagnostics[0].Message, "acme/widgets")
}
