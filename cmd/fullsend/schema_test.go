package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xeipuuv/gojsonschema"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/coverage/spool"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// strict is a schema of the documentation in which nothing may be left undescribed.
func strict(t *testing.T, name string) *gojsonschema.Schema {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", name+".json"))
	require.NoError(t, err)
	var root map[string]any
	require.NoError(t, json.Unmarshal(b, &root))
	require.Equal(t, name+".json", root["$id"])
	delete(root, "$id") // a name, no address
	closeObjects(root)
	s, err := gojsonschema.NewSchema(gojsonschema.NewGoLoader(root))
	require.NoError(t, err)
	return s
}

func closeObjects(x any) {
	switch x := x.(type) {
	case map[string]any:
		if _, ok := x["properties"].(map[string]any); ok && x["type"] == "object" {
			x["additionalProperties"] = false
		}
		for _, v := range x {
			closeObjects(v)
		}
	case []any:
		for _, v := range x {
			closeObjects(v)
		}
	}
}

// complaints are what the schema says against a document, but for the kinds that are let pass.
func complaints(t *testing.T, s *gojsonschema.Schema, doc string, pass ...string) []string {
	t.Helper()
	res, err := s.Validate(gojsonschema.NewStringLoader(doc))
	require.NoError(t, err, doc)
	var out []string
	for _, e := range res.Errors() {
		if !slices.Contains(pass, e.Type()) {
			out = append(out, e.String())
		}
	}
	return out
}

// SPEC RE-13: what the spool holds is what the schema describes, and the schema knows the outcomes that the spool knows.
func TestReceiptsMatchTheSchema(t *testing.T) {
	s := strict(t, "receipt-v1")
	at := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	full := coverage.Receipt{Key: "k", Decision: "d", At: at, Why: "w",
		Read: &coverage.ReadState{Version: "v", Digests: map[string]uint64{"q": 1<<64 - 1}}}
	for _, outcome := range []string{coverage.HandedOff, coverage.Ran, coverage.Skipped, coverage.NotMember,
		coverage.NotTriggered, coverage.UnknownRun, coverage.Failed, coverage.Lost} {
		full.Outcome = outcome
		for _, r := range []coverage.Receipt{full, {Key: "k", Decision: "d", Outcome: outcome, At: at}} {
			assert.Empty(t, complaints(t, s, spooled(t, r)), outcome)
		}
	}
	full.Outcome = coverage.Ran
	for name, change := range map[string]func(*coverage.Receipt){
		"no key":          func(r *coverage.Receipt) { r.Key = "" },
		"unknown outcome": func(r *coverage.Receipt) { r.Outcome = "magic" },
		"local time":      func(r *coverage.Receipt) { r.At = r.At.In(time.FixedZone("", 3600)) },
	} {
		r := full
		change(&r)
		b, err := json.Marshal(r)
		require.NoError(t, err)
		assert.NotEmpty(t, complaints(t, s, string(b)), name)
	}
	assert.NotEmpty(t, complaints(t, s, `{"key":"k","decision":"d","outcome":"ran"}`))
}

// spooled is the file that a receipt becomes.
func spooled(t *testing.T, r coverage.Receipt) string {
	t.Helper()
	dir := t.TempDir()
	sp, err := spool.Open(dir, time.Now, func() uint64 { return 7 })
	require.NoError(t, err)
	require.NoError(t, sp.Write(r))
	files, err := filepath.Glob(filepath.Join(dir, "*.receipt.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	b, err := os.ReadFile(files[0])
	require.NoError(t, err)
	return string(b)
}

// SPEC PO-17: what the commands print is what the schemas describe: before the first cycle, after it, after a failed one,
// for entities that match, do not, are undecided, or are asked of the ledger alone.
func TestPrintedJSONMatchesTheSchemas(t *testing.T) {
	status, why, plan := strict(t, "status-v1"), strict(t, "why-v1"), strict(t, "plan-v1")
	r := newRig(t)
	r.harness("said", "triage", `state = open and any comment(command = "/fs-fix")`)
	r.harness("merged", "coder", `merged`)
	r.do("create as=olga title=Here labels=bug name=in\ncomment on=in as=tariq body=\"/fs-fix\"")
	check := func(s *gojsonschema.Schema, code int, args ...string) {
		t.Helper()
		o := r.poll(append(args, "--json")...)
		require.Equal(t, code, o.code, o.err)
		assert.Empty(t, complaints(t, s, o.out), "%v: %s", args, o.out)
	}
	check(plan, poll.ExitIncomplete, "plan")
	check(why, poll.ExitComplete, "why", "#121")
	require.Equal(t, poll.ExitIncomplete, r.poll().code, "one source cannot be served")
	check(status, poll.ExitComplete, "status")
	check(why, poll.ExitComplete, "why", "#121")
	check(why, poll.ExitComplete, "why", "#121", "--offline")
	check(why, poll.ExitComplete, "why", "#2", "--harness", "bugs")

	r.do("advance by=1h\nfault kind=status status=500 route=permission\nfault kind=status status=502 route=issues.list skip=1")
	r.do("create as=olga title=More labels=bug name=more")
	require.NotEqual(t, poll.ExitComplete, r.poll().code)
	check(status, poll.ExitComplete, "status")
	check(why, poll.ExitIncomplete, "why", "#121")
	r.token = ""
	check(plan, poll.ExitError, "plan")
}

// SPEC PO-17: a watching poller answers in the same form, and names itself.
func TestAnsweredJSONMatchesTheSchemas(t *testing.T) {
	r := newRig(t)
	r.every("1h")
	w := r.watch()
	w.until("first cycle", func() bool { return w.cycles() >= 1 && len(r.statusNow().Cycles) == 1 })
	r.harness("merged", "coder", `merged`)
	for _, q := range []struct {
		schema string
		code   int
		args   []string
	}{
		{"status-v1", poll.ExitComplete, []string{"status"}},
		{"why-v1", poll.ExitComplete, []string{"why", strings.TrimPrefix(r.bugs()[0], "bugs ")}},
		{"plan-v1", poll.ExitIncomplete, []string{"plan"}},
	} {
		o := r.poll(append(q.args, "--json")...)
		assert.Equal(t, q.code, o.code, o.err)
		assert.Empty(t, complaints(t, strict(t, q.schema), o.out), o.out)
		if q.schema == "plan-v1" {
			assert.Contains(t, o.err, "merged.yaml", "what cannot be loaded is said beside the JSON")
		}
	}
}

// Every member that a command can print is described with its type, also those that are rare.
func TestSchemasDescribeEveryMember(t *testing.T) {
	for name, v := range map[string]any{
		"receipt-v1": &coverage.Receipt{}, "status-v1": &statusView{}, "why-v1": &poll.Why{}, "plan-v1": &planView{},
	} {
		fill(t, reflect.ValueOf(v).Elem(), 0)
		b, err := json.Marshal(v)
		require.NoError(t, err)
		assert.Empty(t, complaints(t, strict(t, name), string(b), "enum", "const"), name)
	}
}

// fill sets everything that JSON shows; a type that holds itself goes on for a few levels.
func fill(t *testing.T, v reflect.Value, depth int) {
	const deepest = 9
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		return
	case *json.RawMessage:
		*x = json.RawMessage("{}")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth+1)
	case reflect.Slice:
		if depth < deepest {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(t, v.Index(0), depth+1)
		}
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		fill(t, e, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), e)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(t, v.Field(i), depth+1)
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	default:
		require.Fail(t, fmt.Sprint("cannot fill ", v.Type()))
	}
}
