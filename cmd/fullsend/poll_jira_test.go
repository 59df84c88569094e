package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/jira"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// Scenario B080, SPEC SC-2: two sites with a project of the same key, whose issues have the same keys and ids, are two
// scopes with a state of their own.
func TestTwoSitesWithOneKey(t *testing.T) {
	r := &rig{t: t, dir: t.TempDir(), token: "adm"}
	config, sources := "version: \"1\"\npoll:\n  input_drivers:\n", ""
	var sites []*forgesim.World
	var hosts []string
	for i := range 2 {
		w := forgesim.New(forgesim.Options{Profile: forgesim.Jira()})
		srv := httptest.NewServer(jira.New(w, jira.Options{DataCenter: true}))
		t.Cleanup(srv.Close)
		sites, hosts = append(sites, w), append(hosts, strings.TrimPrefix(srv.URL, "http://"))
		require.NoError(t, w.Run(context.Background(), strings.NewReader(`user login=acme org=true
user login=olga
token text=adm user=olga
repo repo=acme/info
set-role user=olga role=admin
create-label label=bug
create as=olga title=one labels=bug`)))
		config += fmt.Sprintf("    - {type: entity-source, name: site%d, provider: jira, connection: {base_url: %q, token_env: TOKEN}, scopes: [{project: INFO, kinds: [work_item]}]}\n", i, srv.URL)
		sources += fmt.Sprintf("  - {version: 1, from: site%d, kind: work_item, query: 'v1: label = \"bug\"'}\n", i)
	}
	r.write("config.yaml", config)
	r.write("harness/bugs.yaml", "role: coder\ntrigger: \"true\"\nentity_sources:\n"+sources)
	o := r.poll()
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, []string{"bugs INFO-1", "bugs INFO-1"}, keys(t, o))
	for _, h := range hosts {
		assert.Equal(t, 1, strings.Count(o.out, `"tenant":"`+h+`","kind":"work_item","id":"20001"`), "%s\n%s", h, o.out)
	}

	// One leaves and enters again; the other has not moved.
	for _, step := range []string{"unlabel on=1 as=olga label=bug", "label on=1 as=olga label=bug"} {
		require.NoError(t, sites[0].Run(context.Background(), strings.NewReader(step+"\nadvance by=1m")))
		o = r.poll()
		require.Equal(t, poll.ExitComplete, o.code, o.err)
	}
	require.Equal(t, []string{"bugs INFO-1"}, keys(t, o))
	assert.Contains(t, o.out, `"tenant":"`+hosts[0]+`"`)
}

// Scenario B077, SPEC CO-48: an issue that moves to another project that is polled is not handed over again.
func TestMovedToAnotherProject(t *testing.T) {
	r := &rig{t: t, dir: t.TempDir(), token: "adm", world: forgesim.New(forgesim.Options{Profile: forgesim.Jira()})}
	face := jira.New(r.world, jira.Options{DataCenter: true})
	srv := httptest.NewServer(face)
	t.Cleanup(srv.Close)
	r.do(`user login=acme org=true
user login=olga
token text=adm user=olga
repo repo=acme/gadgets
set-role user=olga role=admin
repo repo=acme/widgets
set-role user=olga role=admin
create-label label=bug
create as=olga title=one labels=bug`)
	r.write("config.yaml", fmt.Sprintf("version: \"1\"\npoll:\n  input_drivers:\n    - {type: entity-source, name: code, provider: jira, connection: {base_url: %q, token_env: TOKEN}, scopes: [{project: WIDGETS}, {project: GADGETS}]}\n", srv.URL))
	r.harness("bugs", "coder", `label = "bug"`)
	o := r.poll()
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	require.Equal(t, []string{"bugs WIDGETS-1"}, keys(t, o))
	_, err := face.Move("acme/widgets#1", "olga", "acme/gadgets")
	require.NoError(t, err)
	for range 3 {
		r.do("advance by=13h")
		o = r.poll()
		require.Equal(t, poll.ExitComplete, o.code, o.err)
		require.Empty(t, o.out)
	}
	r.do("advance by=1m")
	o = r.run("poll", "why", "GADGETS-1", "--fullsend-dir", r.dir+"/.fullsend", "--state", r.state())
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.out, "GADGETS-1")
}
