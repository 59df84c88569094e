package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// rig is a small simulated forge with a .fullsend folder that points at it.
type rig struct {
	t     *testing.T
	world *forgesim.World
	dir   string
	token string
	spec  string // what the version says of its specification; "" is the truth
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), token: forgesim.AdminToken}
	r.world = forgesim.New(forgesim.Options{Profile: forgejo.Gitea124.Profile()})
	require.NoError(t, r.world.Seed(120, 1))
	srv := httptest.NewServer(forgejo.New(r.world, forgejo.Options{}))
	t.Cleanup(srv.Close)
	r.write("config.yaml", fmt.Sprintf(`version: "1"
poll:
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: %q, token_env: TOKEN}
      scopes: [{repo: acme/widgets, kinds: [work_item]}]
`, srv.URL))
	r.harness("bugs", "coder", `state = open and label = "bug"`)
	return r
}

func (r *rig) write(name, text string) {
	p := filepath.Join(r.dir, ".fullsend", name)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(p), 0o700))
	require.NoError(r.t, os.WriteFile(p, []byte(text), 0o600))
}

func (r *rig) harness(name, role, query string) {
	r.write("harness/"+name+".yaml", fmt.Sprintf(`role: %s
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: %s'}]
trigger: "true"
`, role, query))
}

// do changes the world.
func (r *rig) do(script string) {
	r.t.Helper()
	require.NoError(r.t, r.world.Run(context.Background(), strings.NewReader(script)))
}

// outcome of one command.
type outcome struct {
	code     int
	out, err string
}

func (r *rig) run(args ...string) outcome {
	var out, errs bytes.Buffer
	e := &env{in: strings.NewReader(""), out: &out, err: &errs, spec: r.spec, getenv: func(k string) (string, bool) {
		return r.token, k == "TOKEN" && r.token != ""
	}}
	code := execute(context.Background(), args, e)
	return outcome{code, out.String(), errs.String()}
}

func (r *rig) poll(args ...string) outcome {
	return r.run(append([]string{"poll", "--fullsend-dir", filepath.Join(r.dir, ".fullsend"), "--state", r.state()}, args...)...)
}

func (r *rig) state() string { return filepath.Join(r.dir, "state.db") }

// keys lists what the records of an outcome are about.
func keys(t *testing.T, o outcome) []string {
	t.Helper()
	var ks []string
	for line := range strings.Lines(o.out) {
		var rec struct {
			Harness string
			Entity  struct{ Key string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &rec), line)
		ks = append(ks, rec.Harness+" "+rec.Entity.Key)
	}
	sort.Strings(ks)
	return ks
}

// bugs is who should get what, by plain evaluation of the world.
func (r *rig) bugs() []string {
	es, err := r.world.Entities(forgesim.SeedRepo)
	require.NoError(r.t, err)
	var ks []string
	for _, e := range es {
		for _, l := range e.Labels {
			if e.Kind == forgesim.WorkItem && !e.Closed && l.Name == "bug" && l.By.Role >= forgesim.Write && !l.By.Bot {
				ks = append(ks, fmt.Sprintf("bugs acme/widgets#%d", e.Number))
				break
			}
		}
	}
	sort.Strings(ks)
	return ks
}

func TestPollOnceThenNothing(t *testing.T) {
	r := newRig(t)
	want := r.bugs()
	require.NotEmpty(t, want)
	o := r.poll()
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, want, keys(t, o))
	o = r.poll()
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Empty(t, o.out)
}

// A failure of any kind leaves the frontier where it was: the cycle after it finds everything, once.
func TestFailuresLoseNothing(t *testing.T) {
	tests := []struct {
		name, fault string
		code        int
		says        string
	}{
		{"repository hidden or gone", "fault kind=status status=404 route=repo.byid", poll.ExitError, "404"},
		{"throttled with a wait", "fault kind=status status=429 retry-after=30", poll.ExitTryLater, "429"},
		{"throttled without a wait", "fault kind=status status=429", poll.ExitTryLater, "429"},
		{"bad gateway", "fault kind=status status=502", poll.ExitTryLater, "502"},
		{"a page of HTML", "fault kind=html", poll.ExitTryLater, "not what the API promises"},
		{"an empty body", "fault kind=empty", poll.ExitTryLater, "not what the API promises"},
		{"a cut connection", "fault kind=cut", poll.ExitTryLater, ""},
		{"listing fails in the middle", "fault kind=status status=502 route=issues.list skip=1", poll.ExitIncomplete, "502"},
		{"a row is null", "fault kind=null-rows route=issues.list n=3", poll.ExitIncomplete, "null"},
		{"timelines fail", "fault kind=status status=500 route=issue.timeline", poll.ExitIncomplete, "500"},
		{"roles fail", "fault kind=status status=500 route=permission", poll.ExitIncomplete, "500"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			want := r.bugs()
			r.do(tt.fault)
			first := r.poll()
			assert.Equal(t, tt.code, first.code, first.err)
			assert.Contains(t, first.err, tt.says)
			assert.NotContains(t, first.err, forgesim.AdminToken)
			r.do("clear-faults\nadvance by=24h")
			got := keys(t, first)
			for range 3 {
				got = append(got, keys(t, r.poll())...)
				r.do("advance by=12h")
			}
			sort.Strings(got)
			assert.Equal(t, want, got)
		})
	}
}

// SPEC PO-18: what is owed makes exit 3 also while nothing of it is tried.
func TestOwedWhileNothingIsTried(t *testing.T) {
	for name, fault := range map[string]string{
		"a window is not covered": "fault kind=null-rows route=issues.list n=1 count=1",
		"a sweep is not complete": "fault kind=status status=502 route=issues.list skip=2 count=1",
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			r := newRig(t)
			require.Equal(t, poll.ExitComplete, r.poll().code)
			r.do("advance by=48h\ncreate as=olga title=x labels=bug\nadvance by=1m\n" + fault)
			require.Equal(t, poll.ExitIncomplete, r.poll().code)
			r.do("clear-faults\nadvance by=5s")
			o := r.poll()
			assert.Equal(t, poll.ExitIncomplete, o.code, "its backoff is not over")
			assert.Contains(t, o.err, strings.ReplaceAll(name, "window", "range"))
			r.do("advance by=10m")
			o = r.poll()
			assert.Equal(t, poll.ExitComplete, o.code, o.err)
		})
	}
}

// SPEC PO-18: of a scope that no configuration names any more nothing is owed.
func TestNothingIsOwedForARemovedScope(t *testing.T) {
	r := newRig(t)
	r.do("repo repo=acme/other\nset-role repo=acme/other user=agent role=admin")
	require.Equal(t, poll.ExitComplete, r.poll().code)
	r.do("advance by=1h\ncreate repo=acme/widgets as=olga title=x\nadvance by=1m\nfault kind=null-rows route=issues.list n=1 count=1")
	o := r.poll()
	require.Equal(t, poll.ExitIncomplete, o.code, o.err)
	r.do("clear-faults")
	config, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	r.write("config.yaml", strings.ReplaceAll(string(config), "acme/widgets", "acme/other"))
	o = r.poll()
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
}

// SPEC CO-11: what waits for a harness that was removed is not handed over, also while its scope cannot be read.
func TestRemovedHarnessGetsNothing(t *testing.T) {
	r := newRig(t)
	want := len(r.bugs())
	require.Greater(t, want, 1)
	r.harness("docs", "coder", `label = "nothing"`)
	first := r.poll("--emit-budget", "1")
	require.Len(t, keys(t, first), 1, first.err)
	bugs, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "harness", "bugs.yaml"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(r.dir, ".fullsend", "harness", "bugs.yaml")))
	r.do("fault kind=status status=503")
	o := r.poll()
	assert.Equal(t, poll.ExitTryLater, o.code, o.err)
	assert.Empty(t, o.out)
	r.do("clear-faults\nadvance by=1h")
	r.write("harness/bugs.yaml", string(bugs))
	assert.Len(t, keys(t, r.poll()), want-1, "it waited for the harness to come back")
}

// Scenario B082, SPEC CO-47: a repository that was made anew under the name is not followed, whichever process asks, until
// somebody says so.
func TestRepositoryMadeAnew(t *testing.T) {
	r := newRig(t)
	first := r.poll()
	require.Equal(t, poll.ExitComplete, first.code, first.err)
	r.do(`rename-repo repo=acme/widgets to=old
recreate-repo repo=acme/widgets
create-label repo=acme/widgets label=bug
set-role repo=acme/widgets user=agent role=admin
set-role repo=acme/widgets user=olga role=admin
create repo=acme/widgets as=olga title=x labels=bug
advance by=1m`)
	for range 2 {
		o := r.poll()
		require.Equal(t, poll.ExitError, o.code, o.err)
		require.Empty(t, o.out)
		require.Contains(t, o.err, "acme/widgets was container")
	}
	_, key, _ := strings.Cut(r.poll().err, "reset --scope '")
	key, _, _ = strings.Cut(key, "'")
	o := r.run("poll", "state", "reset", "--state", r.state(), "--scope", key, "--yes")
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	o = r.poll()
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, []string{"bugs acme/widgets#1"}, keys(t, o))
}

// Scenario B140: a scope that cannot be read holds up no other, and the exit code says that a part failed.
func TestOneScopeOfTwoIsGone(t *testing.T) {
	r := newRig(t)
	config, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	r.write("config.yaml", strings.ReplaceAll(string(config), "scopes: [", "scopes: [{repo: acme/nothing, kinds: [work_item]}, "))
	o := r.poll()
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.Equal(t, r.bugs(), keys(t, o))
	assert.Contains(t, o.err, "acme/nothing")
}

func TestWrongToken(t *testing.T) {
	r := newRig(t)
	r.token = "not-a-token-of-this-forge"
	o := r.poll()
	assert.Equal(t, poll.ExitError, o.code, o.err)
	assert.Contains(t, o.err, "credential refused")
	assert.NotContains(t, o.err, r.token)
	r.token = ""
	o = r.poll()
	assert.Equal(t, poll.ExitError, o.code, o.err)
	assert.Contains(t, o.err, "environment variable TOKEN is not set")
}

// A token that may not read roles is said at once, and what depends on roles is neither sent nor lost.
func TestTokenThatMayNotReadRoles(t *testing.T) {
	r := newRig(t)
	r.harness("all", "triage", `state = open`)
	r.token = forgesim.WriteToken
	o := r.poll()
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	const said = "no administrator of acme/widgets and may not read roles"
	require.Equal(t, 1, strings.Count(o.err, said), o.err)
	assert.Less(t, strings.Index(o.err, said), strings.Index(o.err, "msg=dispatched"), "at the start, not at the end")
	for _, k := range keys(t, o) {
		assert.True(t, strings.HasPrefix(k, "all "), k)
	}
	assert.Equal(t, poll.ExitIncomplete, r.poll().code, "what is undecided keeps the cycle incomplete")
	r.token = forgesim.AdminToken
	o = r.poll() // another account is another scope: it is read anew, and what the first one sent stays sent (CO-48)
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, r.bugs(), keys(t, o))
}

// One broken file, one source that the provider cannot serve and one older driver: each is named, the others go on.
func TestBrokenPartsAreNamedAndTheRestGoesOn(t *testing.T) {
	r := newRig(t)
	r.write("harness/torn.yaml", "role: coder\nentity_sources: [{version: 1, from: code\n")
	r.harness("merged", "coder", `merged`)
	r.harness("odd", "coder", `state = opened`)
	cfg, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	r.write("config.yaml", string(cfg)+"    - {type: jira-poll, name: old}\n")
	o := r.poll()
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.Equal(t, r.bugs(), keys(t, o))
	for _, says := range []string{"torn.yaml:2", "merged.yaml:2", "odd.yaml:2", `"opened"`, "config.yaml:9:14", "jira-poll"} {
		assert.Contains(t, o.err, says)
	}
}

func TestUnreadableConfig(t *testing.T) {
	r := newRig(t)
	r.write("config.yaml", "version: \"2\"\n")
	o := r.poll()
	assert.Equal(t, poll.ExitError, o.code)
	assert.Contains(t, o.err, "config.yaml:1")
}

// Scenario B102: a full disk below the output: nothing counts as sent, and the next cycle sends it.
func TestFullDiskBelowTheOutput(t *testing.T) {
	if fi, err := os.Stat("/dev/full"); err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		t.Skip("/dev/full, a Linux device that answers every write with a full disk, is not here as a device:", err)
	}
	r := newRig(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	var errs bytes.Buffer
	e := &env{in: strings.NewReader(""), out: full, err: &errs, getenv: func(string) (string, bool) { return r.token, true }}
	code := execute(context.Background(), []string{"poll", "--fullsend-dir", filepath.Join(r.dir, ".fullsend"), "--state", r.state()}, e)
	assert.Equal(t, poll.ExitIncomplete, code, errs.String())
	assert.Contains(t, errs.String(), "no space left")
	snap, err := snapshot(context.Background(), &pollFlags{state: r.state()})
	require.NoError(t, err)
	assert.Equal(t, len(r.bugs()), snap.Outbox.Ready+snap.Outbox.Waiting, "everything is still owed")
}

// SPEC CO-22: a clock that was set back far is said, holds up its own scope, and no other one.
func TestClockThatWasSetBackFar(t *testing.T) {
	r := newRig(t)
	other := forgesim.New(forgesim.Options{Profile: forgejo.Gitea124.Profile()})
	require.NoError(t, other.Seed(20, 1))
	srv := httptest.NewServer(forgejo.New(other, forgejo.Options{}))
	t.Cleanup(srv.Close)
	b, err := os.ReadFile(filepath.Join(r.dir, ".fullsend", "config.yaml"))
	require.NoError(t, err)
	r.write("config.yaml", string(b)+fmt.Sprintf(`    - type: entity-source
      name: second
      provider: forgejo
      connection: {base_url: %q, token_env: TOKEN}
      scopes: [{repo: acme/widgets, kinds: [work_item]}]
`, srv.URL))
	r.write("harness/all.yaml", "role: triage\ntrigger: \"true\"\n"+
		"entity_sources: [{version: 1, from: second, kind: work_item, query: 'v1: state = open'}]\n")
	require.Equal(t, poll.ExitComplete, r.poll().code)

	r.do("advance by=-48h")
	require.NoError(t, other.Run(t.Context(), strings.NewReader(`advance by=1m ; create as=wes title=new`)))
	o := r.poll()
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.Contains(t, o.err, "the provider's clock is behind what is covered")
	assert.Contains(t, o.err, "poll state reset --scope")
	assert.Equal(t, []string{"all acme/widgets#21"}, keys(t, o))
	assert.Equal(t, poll.ExitComplete, r.run("poll", "state", "check", "--state", r.state()).code)

	r.do("advance by=49h ; create as=wes title=bug labels=bug")
	o = r.poll()
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, []string{"bugs acme/widgets#121"}, keys(t, o))
}

// A page that is written to a device leaves the device what it is.
func TestStatusPageToADevice(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	before, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	o := r.run("poll", "status", "--state", r.state(), "--html="+os.DevNull)
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.Equal(t, before.Mode(), after.Mode())
}

// Scenario B109: a ledger that was cut, or is none, stops the poller, which says so and leaves the file alone.
func TestDamagedLedger(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	whole, err := os.ReadFile(r.state())
	require.NoError(t, err)
	for name, b := range map[string][]byte{"cut": whole[:len(whole)/2], "no ledger": []byte("hello\n"), "zeros": append(make([]byte, 8192), whole[8192:]...)} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(r.state(), b, 0o600))
			o := r.poll()
			assert.Equal(t, poll.ExitError, o.code, o.err)
			assert.Contains(t, o.err, "damaged")
			assert.Contains(t, o.err, "poll state")
			assert.Empty(t, o.out)
			kept, err := os.ReadFile(r.state())
			require.NoError(t, err)
			assert.Equal(t, b, kept, "the file is left as it is")
		})
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	r := newRig(t)
	o := r.poll("--dry-run")
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Equal(t, r.bugs(), keys(t, o))
	_, err := os.Stat(r.state())
	assert.ErrorIs(t, err, os.ErrNotExist)
	left, err := filepath.Glob(filepath.Join(r.dir, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(r.dir, ".fullsend")}, left)
	assert.Equal(t, r.bugs(), keys(t, r.poll()), "a dry run takes nothing away")
	files := func() map[string]time.Time {
		at := map[string]time.Time{}
		require.NoError(t, filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			fi, err := d.Info()
			at[path] = fi.ModTime()
			return err
		}))
		return at
	}
	before := files()
	o = r.poll("--dry-run")
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Empty(t, keys(t, o))
	assert.Equal(t, before, files(), "nor beside the ledger that is there")
}

// A folder that asks about nothing is complete, and says that it is empty.
func TestNothingToPoll(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, ".fullsend", "harness")))
	o := r.poll()
	assert.Equal(t, poll.ExitComplete, o.code, o.err)
	assert.Contains(t, o.err, "nothing to poll")
}

// One search per scope and cycle, however many harnesses ask. SPEC UB-1.
func TestSearchRequestsDoNotGrowWithHarnesses(t *testing.T) {
	counts := map[int][2]int{}
	for _, n := range []int{1, 10, 100} {
		r := newRig(t)
		for i := range n - 1 {
			r.harness(fmt.Sprintf("h%03d", i), "triage", fmt.Sprintf(`state = open and milestone = "1.%d"`, i%4))
		}
		var c [2]int
		for cycle := range c {
			r.world.ResetCounters()
			o := r.poll()
			require.Equal(t, poll.ExitComplete, o.code, o.err)
			c[cycle] = r.world.Counters().ByClass[forgesim.ClassSearch]
		}
		counts[n] = c
	}
	assert.Equal(t, counts[1], counts[10])
	assert.Equal(t, counts[1], counts[100])
	assert.Equal(t, 1, counts[1][1], "an idle cycle of one scope is one search request")
}

func TestUsage(t *testing.T) {
	r := newRig(t)
	for args, say := range map[string]string{
		"poll --no-such-flag": "unknown flag: --no-such-flag", "poll --budget -1": "cannot be negative", "poll --wait -1s": "cannot be negative",
		"poll extra": `unknown command "extra" for "fullsend poll"; use one of cancel, plan, state, status, why`,
		"pol":        `did you mean "poll"?`, "poll stauts": `did you mean "status"?`, "poll state chek": `did you mean "check"?`,
		"poll --output-driver jsn": `unknown output driver "jsn"; did you mean "json"?`,
	} {
		o := r.run(strings.Fields(args)...)
		assert.Equal(t, poll.ExitUsage, o.code, args)
		assert.Contains(t, o.err, say, args)
	}
}

// fullDisk is a standard output that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

// What could not be said is an error, however the command writes, and no fault of its caller.
func TestFullStandardOutput(t *testing.T) {
	r := newRig(t)
	require.Equal(t, poll.ExitComplete, r.poll().code)
	dir, state := []string{"--fullsend-dir", filepath.Join(r.dir, ".fullsend")}, []string{"--state", r.state()}
	for _, args := range [][]string{
		{"version"}, {"help"}, {"query", "fields"}, {"query-lint", "--list"}, {"conformance", "--list"},
		slices.Concat([]string{"poll", "plan"}, dir, state), slices.Concat([]string{"poll", "status"}, state),
		slices.Concat([]string{"poll", "state", "check"}, state), slices.Concat([]string{"poll", "why", "#1"}, dir, state),
	} {
		var errs bytes.Buffer
		e := &env{in: strings.NewReader(""), out: fullDisk{}, err: &errs, getenv: func(k string) (string, bool) { return r.token, k == "TOKEN" }}
		assert.Equal(t, poll.ExitError, execute(t.Context(), args, e), args)
		assert.Contains(t, errs.String(), "no space left on device", args)
	}
}

// When every follow-up read fails, the cycle says so as a failure of the scope and leaves the rest of the agenda alone;
// the cycles after it get on, and nothing is lost. SPEC CO-1.
func TestEveryReadFails(t *testing.T) {
	r := newRig(t)
	r.harness("all", "coder", `label = "bug" or label = "docs" or label = "security"`)
	r.do("fault kind=status status=500 route=issue.get")
	o := r.poll()
	assert.Equal(t, poll.ExitIncomplete, o.code, o.err)
	assert.Contains(t, o.err, "reads of a batch failed")
	r.do("clear-faults\nadvance by=2h")
	o = r.poll()
	require.Equal(t, poll.ExitComplete, o.code, o.err)
	var bugs []string
	for _, k := range keys(t, o) {
		if strings.HasPrefix(k, "bugs ") {
			bugs = append(bugs, k)
		}
	}
	assert.Equal(t, r.bugs(), bugs)
}
