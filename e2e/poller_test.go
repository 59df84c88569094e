package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/e2e/internal/gitea"
)

// Exit codes of the poller.
const (
	exitDone       = 0
	exitError      = 1
	exitIncomplete = 3
	exitBusy       = 75
)

var binaryFlag = flag.String("fullsend", "", "use this executable instead of building the parent module's")

// buildFullsend builds the product from the parent module.
func buildFullsend(t *testing.T) string {
	t.Helper()
	if *binaryFlag != "" {
		path, err := filepath.Abs(*binaryFlag)
		require.NoError(t, err)
		return path
	}
	out := filepath.Join(t.TempDir(), "fullsend")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", "..", "-o", out, "./cmd/fullsend")
	msg, err := cmd.CombinedOutput()
	require.NoError(t, err, "build fullsend: %s", msg)
	return out
}

// harness is one harness file.
type harness struct {
	name, role string
	sources    []source
}

type source struct{ kind, query string }

const (
	workItem       = "work_item"
	changeProposal = "change_proposal"
)

// site is one .fullsend folder with one ledger.
type site struct {
	t     *testing.T
	bin   string
	dir   string
	token string
	polls int
}

// newSite writes configuration and harness files as a user would.
func newSite(t *testing.T, bin, baseURL, repo, token string, hs []harness) *site {
	t.Helper()
	s := &site{t: t, bin: bin, dir: t.TempDir(), token: token}
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, ".fullsend", "harness"), 0o755))
	s.write("config.yaml", fmt.Sprintf(`version: "1"
poll:
  input_drivers:
    - type: entity-source
      name: forge
      provider: forgejo
      connection: {base_url: %q, token_env: FULLSEND_FORGE_TOKEN}
      scopes: [{repo: %s, kinds: [work_item, change_proposal]}]
      reconcile_every: 24h
  target_repo: %s
  output_driver: json
`, baseURL, repo, repo))
	for _, h := range hs {
		var b strings.Builder
		fmt.Fprintf(&b, "agent: %s\nrole: %s\ntrigger: \"true\"\nentity_sources:\n", h.name, h.role)
		for _, src := range h.sources {
			fmt.Fprintf(&b, "  - version: 1\n    from: forge\n    kind: %s\n    query: |\n      %s\n", src.kind, src.query)
		}
		s.write("harness/"+h.name+".yaml", b.String())
	}
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, ".fullsend", name), []byte(text), 0o644))
}

// run is one poller process.
type run struct {
	s      *site
	cmd    *exec.Cmd
	done   <-chan error
	out    string
	stderr bytes.Buffer
}

// outcome is what it left behind.
type outcome struct {
	Code    int // -1: killed
	Stderr  string
	Records []record
}

// record is what a test needs of a dispatch/v1 line.
type record struct {
	Schema   string `json:"schema"`
	Decision string `json:"decision"`
	Harness  string `json:"harness"`
	Source   any    `json:"source"`
	Entity   struct {
		Provider string `json:"provider"`
		Tenant   string `json:"tenant"`
		Kind     string `json:"kind"`
		ID       any    `json:"id"`
		Key      string `json:"key"`
		URL      string `json:"url"`
	} `json:"entity"`
}

// out is the output file of the nth poll.
func (s *site) out(n int) string { return filepath.Join(s.dir, fmt.Sprintf("out-%d.jsonl", n)) }

// start starts one poll; the process dies with the test.
func (s *site) start() *run {
	s.t.Helper()
	s.polls++
	r := &run{s: s, out: s.out(s.polls)}
	r.cmd = exec.Command(s.bin, "poll",
		"--fullsend-dir", filepath.Join(s.dir, ".fullsend"),
		"--state", filepath.Join(s.dir, "state.db"),
		"--output-driver", "json", "--out", r.out)
	r.cmd.Dir = s.dir
	r.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "NO_COLOR=1", "FULLSEND_FORGE_TOKEN=" + s.token}
	r.cmd.Stderr = &r.stderr
	done, err := gitea.StartChild(r.cmd)
	require.NoError(s.t, err)
	r.done = done
	return r
}

// poll runs one poll to its end.
func (s *site) poll() outcome { s.t.Helper(); return s.start().wait() }

// wait waits for the end and checks that the token was not printed.
func (r *run) wait() outcome {
	t := r.s.t
	t.Helper()
	o := r.waitUnchecked()
	require.NotContains(t, o.Stderr, r.s.token, "a token must never be printed")
	return o
}

// waitUnchecked waits for the end without that check.
func (r *run) waitUnchecked() outcome {
	r.s.t.Helper()
	o := r.waitNoRecords()
	o.Records = readRecords(r.s.t, r.out, o.Code == -1)
	return o
}

// waitNoRecords waits for the end and leaves the output file alone. The limit only turns a hang into a failure.
func (r *run) waitNoRecords() outcome {
	t := r.s.t
	t.Helper()
	select {
	case err := <-r.done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			require.NoError(t, err)
		}
	case <-time.After(3 * time.Minute):
		_ = r.cmd.Process.Kill()
		<-r.done
		require.FailNow(t, "the poller hangs", r.stderr.String())
	}
	return outcome{Code: r.cmd.ProcessState.ExitCode(), Stderr: r.stderr.String()}
}

// kill ends the process with SIGKILL and returns what it had written.
func (r *run) kill() outcome {
	r.s.t.Helper()
	require.NoError(r.s.t, r.cmd.Process.Kill())
	return r.wait()
}

// killAt waits until the trap has caught its request and kills the poller there.
func (r *run) killAt(tr *trap) outcome {
	t := r.s.t
	t.Helper()
	select {
	case <-tr.hit:
		return r.kill()
	case <-r.done:
		require.FailNow(t, "the poller ended before the moment came", "exit %d\n%s", r.cmd.ProcessState.ExitCode(), r.stderr.String())
	case <-time.After(3 * time.Minute):
		r.kill()
		require.FailNow(t, "the moment never came", r.stderr.String())
	}
	panic("unreachable")
}

// readRecords reads the output file. A killed writer may leave half a last line, which no reader would take.
func readRecords(t *testing.T, path string, torn bool) []record {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	if torn {
		b = b[:bytes.LastIndexByte(b, '\n')+1]
	}
	var rs []record
	for line := range bytes.Lines(b) {
		require.True(t, bytes.HasSuffix(line, []byte("\n")), "unterminated record: %s", line)
		var r record
		require.NoError(t, json.Unmarshal(line, &r), "record: %s", line)
		checkMembers(t, line)
		rs = append(rs, r)
	}
	return rs
}

// schemaFile describes records; the test asks only that every member it requires is there.
const schemaFile = "../docs/schema/dispatch-v1.json"

func checkMembers(t *testing.T, line []byte) {
	t.Helper()
	b, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	var schema struct{ Required []string }
	require.NoError(t, json.Unmarshal(b, &schema))
	require.NotEmpty(t, schema.Required)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(line, &members))
	for _, name := range schema.Required {
		require.Contains(t, members, name)
	}
}

var keyNumber = regexp.MustCompile(`#(\d+)$`)

// number returns the entity's number in its repository.
func (r record) number(t *testing.T) int {
	t.Helper()
	m := keyNumber.FindStringSubmatch(r.Entity.Key)
	require.NotNil(t, m, "key without a number: %+v", r)
	n, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	return n
}

// receipts renders records as sorted "harness #number" lines; a repeated record stays repeated.
func receipts(t *testing.T, rs ...record) []string {
	t.Helper()
	lines := make([]string, 0, len(rs))
	for _, r := range rs {
		lines = append(lines, receipt(r.Harness, r.number(t)))
	}
	slices.Sort(lines)
	return lines
}

func receipt(harness string, number int) string { return fmt.Sprintf("%s #%d", harness, number) }
