package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/internal/forgesim/jira"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// tracker is a simulated provider as a configuration names it.
type tracker struct {
	profile   forgesim.Profile
	face      func(*forgesim.World) http.Handler
	container string // member and value of a scope
	item      string // the key of its first issue
}

func trackers() map[string]tracker {
	return map[string]tracker{
		"forgejo": {forgejo.Gitea124.Profile(), func(w *forgesim.World) http.Handler { return forgejo.New(w, forgejo.Options{}) }, "repo: acme/widgets", "acme/widgets#1"},
		"github":  {forgesim.GitHub(), func(w *forgesim.World) http.Handler { return github.New(w, github.Options{}) }, "repo: acme/widgets", "acme/widgets#1"},
		"gitlab":  {forgesim.GitLab(), func(w *forgesim.World) http.Handler { return gitlab.New(w, gitlab.Options{}) }, "project: acme/widgets", "acme/widgets#1"},
		"jira":    {forgesim.Jira(), func(w *forgesim.World) http.Handler { return jira.New(w, jira.Options{DataCenter: true}) }, "project: WIDGETS", "WIDGETS-1"},
	}
}

func newTracker(t *testing.T, provider string, tr tracker) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), token: "adm", world: forgesim.New(forgesim.Options{Profile: tr.profile})}
	r.do("user login=acme org=true\nuser login=olga\nuser login=wes\nrepo repo=acme/widgets\nset-role user=olga role=admin\nset-role user=wes role=write\n" +
		"token text=adm user=olga\ncreate-label label=bug\ncreate as=wes title=one labels=bug\nadvance by=1m")
	srv := httptest.NewServer(tr.face(r.world))
	t.Cleanup(srv.Close)
	r.write("config.yaml", "version: \"1\"\npoll:\n  input_drivers:\n    - type: entity-source\n      name: code\n      provider: "+provider+
		"\n      connection: {base_url: \""+srv.URL+"\", token_env: TOKEN}\n      scopes: [{"+tr.container+"}]\n")
	r.harness("bugs", "coder", `label = "bug"`)
	return r
}

// SPEC SO-4, AD-2: every provider is configured and polled from the command line: what matches comes out once, what changes comes
// again, and a harness that wants another kind of entity has its own.
func TestEveryProvider(t *testing.T) {
	for provider, tr := range trackers() {
		t.Run(provider, func(t *testing.T) {
			r := newTracker(t, provider, tr)
			o := r.poll()
			require.Equal(t, poll.ExitComplete, o.code, o.err)
			require.Equal(t, []string{"bugs " + tr.item}, keys(t, o))
			o = r.poll()
			require.Equal(t, poll.ExitComplete, o.code, o.err)
			require.Empty(t, o.out)
			r.do("unlabel on=1 as=wes label=bug\nadvance by=1m")
			require.Empty(t, r.poll().out)
			r.do("label on=1 as=wes label=bug\nadvance by=1m")
			require.Equal(t, []string{"bugs " + tr.item}, keys(t, r.poll()))
			for _, args := range [][]string{{"why", tr.item}, {"status"}, {"plan"}} {
				o := r.run(append([]string{"poll"}, append(args, "--fullsend-dir", filepath.Join(r.dir, ".fullsend"), "--state", r.state())...)...)
				assert.Equal(t, poll.ExitComplete, o.code, "%v: %s", args, o.err)
			}
			o = r.run("query-lint", filepath.Join(r.dir, ".fullsend"), "--online")
			assert.Equal(t, 0, o.code, "%s%s", o.out, o.err)
			if provider == "jira" {
				return // no change proposals
			}
			r.write("harness/review.yaml", "role: review\nentity_sources: [{version: 1, from: code, kind: change_proposal, query: 'v1: state = open'}]\ntrigger: \"true\"\n")
			r.do("create as=wes title=two kind=change_proposal\nadvance by=1m")
			o = r.poll()
			require.Equal(t, poll.ExitComplete, o.code, o.err)
			require.Len(t, keys(t, o), 1, o.out)
			assert.Contains(t, o.out, `"kind":"change_proposal"`)
		})
	}
}

// The configurations that the providers' pages show are ones that can be used.
func TestProviderPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/providers/*.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	used := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "input_drivers") {
				continue
			}
			used++
			r := &rig{t: t, dir: t.TempDir()}
			r.write("config.yaml", "version: \"1\"\n"+m[1])
			o := r.run("query-lint", filepath.Join(r.dir, ".fullsend"))
			assert.Equal(t, 0, o.code, "%s\n%s%s", page, o.out, o.err)
		}
	}
	assert.GreaterOrEqual(t, used, len(trackers()), "one page a provider, at least")
}
