package dispatch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/query"
)

// validator knows the part of JSON Schema that the record's schema uses, and fails on any other keyword.
type validator struct {
	root map[string]any
}

func (v validator) check(s map[string]any, x any, at string) []string {
	if r, ok := s["$ref"].(string); ok {
		name, _ := strings.CutPrefix(r, "#/$defs/")
		def, ok := v.root["$defs"].(map[string]any)[name].(map[string]any)
		if !ok {
			return []string{at + ": dangling " + r}
		}
		return v.check(def, x, at)
	}
	var bad []string
	fail := func(f string, args ...any) { bad = append(bad, at+": "+fmt.Sprintf(f, args...)) }
	for k, want := range s {
		switch k {
		case "$schema", "$id", "$defs", "title", "description":
		case "const":
			if x != want {
				fail("is %v, want %v", x, want)
			}
		case "enum":
			if !slices.Contains(want.([]any), x) {
				fail("%v is not in %v", x, want)
			}
		case "type":
			if !hasType(want, x) {
				fail("%v is no %v", x, want)
			}
		case "minLength":
			if t, ok := x.(string); ok && len(t) < int(want.(float64)) {
				fail("is too short")
			}
		case "minimum":
			if n, ok := x.(float64); ok && n < want.(float64) {
				fail("is too small")
			}
		case "pattern":
			if t, ok := x.(string); ok && !regexp.MustCompile(want.(string)).MatchString(t) {
				fail("%q does not match %v", t, want)
			}
		case "required":
			m, _ := x.(map[string]any)
			for _, name := range want.([]any) {
				if _, ok := m[name.(string)]; !ok {
					fail("lacks %v", name)
				}
			}
		case "items":
			list, _ := x.([]any)
			for i, e := range list {
				bad = append(bad, v.check(want.(map[string]any), e, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "properties":
			m, _ := x.(map[string]any)
			for name, e := range m {
				sub, ok := want.(map[string]any)[name].(map[string]any)
				if !ok {
					fail("%s is not described", name)
					continue
				}
				bad = append(bad, v.check(sub, e, at+"."+name)...)
			}
		default:
			fail("keyword %s is not known to this test", k)
		}
	}
	return bad
}

func hasType(want, x any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(w any) bool { return hasType(w, x) })
	}
	switch v := x.(type) {
	case nil:
		return want == "null"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	}
	return want == "object"
}

func schema(t testing.TB) validator {
	t.Helper()
	b, err := os.ReadFile("../../docs/schema/dispatch-v1.json")
	require.NoError(t, err)
	var v validator
	require.NoError(t, json.Unmarshal(b, &v.root))
	return v
}

func validate(t testing.TB, v validator, line []byte) []string {
	t.Helper()
	var x any
	require.NoError(t, json.Unmarshal(line, &x), "%s", line)
	return v.check(v.root, x, "record")
}

// SPEC RE-2: what is written is what the schema describes, from the barest record to the fullest.
func TestRecordsMatchTheSchema(t *testing.T) {
	v := schema(t)
	bare, err := dispatch.New(delivery(dispatch.Evidence{Admission: "write", Verdict: query.True}), frame)
	require.NoError(t, err)
	full, err := dispatch.New(delivery(evidence()), frame)
	require.NoError(t, err)
	for name, r := range map[string]dispatch.Record{"bare": bare, "full": full} {
		line, err := dispatch.Line(&r)
		require.NoError(t, err)
		assert.Empty(t, validate(t, v, line), name)
	}
	notSet := zeroMembers(reflect.ValueOf(full), "record")
	assert.Empty(t, notSet, "the full record sets every member, or the schema is not tested by it")
}

// zeroMembers lists members that a record leaves at their zero value.
func zeroMembers(v reflect.Value, at string) []string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return zeroMembers(v.Elem(), at)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			return zeroMembers(v.Index(0), at+"[0]")
		}
	case reflect.Struct:
		if _, ok := v.Interface().(time.Time); ok {
			break
		}
		var out []string
		for i := range v.NumField() {
			out = append(out, zeroMembers(v.Field(i), at+"."+v.Type().Field(i).Name)...)
		}
		return out
	}
	if v.IsZero() {
		return []string{at}
	}
	return nil
}

// The validator is no rubber stamp.
func TestSchemaRefuses(t *testing.T) {
	v := schema(t)
	r, err := dispatch.New(delivery(evidence()), frame)
	require.NoError(t, err)
	for name, change := range map[string]func(*dispatch.Record){
		"another schema": func(r *dispatch.Record) { r.Schema = "dispatch/v2" },
		"another spec":   func(r *dispatch.Record) { r.Spec = "v0" },
		"no harness":     func(r *dispatch.Record) { r.Harness = "" },
		"unknown kind":   func(r *dispatch.Record) { r.Entity.Kind = "epic" },
		"unknown origin": func(r *dispatch.Record) { r.Origin = "cron" },
		"unknown role":   func(r *dispatch.Record) { r.Actors[0].Role = "king" },
		"local time":     func(r *dispatch.Record) { r.Time = r.Time.In(time.FixedZone("", 3600)) },
		"entries":        func(r *dispatch.Record) { r.Entries = -1 },
	} {
		c := r
		c.Actors = slices.Clone(r.Actors)
		change(&c)
		line, err := dispatch.Line(&c)
		require.NoError(t, err)
		assert.NotEmpty(t, validate(t, v, line), name)
	}
}

var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	frame = dispatch.Frame{Spec: dispatch.Draft, Origin: dispatch.Poll, Source: "code-repo", Target: "acme/widgets", Now: noon.Add(time.Hour)}
)

func delivery(e dispatch.Evidence) coverage.Delivery {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	d := coverage.Delivery{Key: "code|forgejo|h|work_item|100", Decision: "d1", Source: "code", Entries: 1, Evidence: b, Created: noon}
	d.Scope.Provider, d.Scope.Tenant, d.Scope.Container, d.Scope.Kind, d.Scope.Account = "forgejo", "h", "17", query.WorkItem, "5"
	d.Ref.Provider, d.Ref.Tenant, d.Ref.Kind, d.Ref.ID = "forgejo", "h", query.WorkItem, "100"
	d.Ref.Key, d.Ref.URL = "acme/widgets#7", "https://h/acme/widgets/issues/7"
	return d
}

func evidence() dispatch.Evidence {
	return dispatch.Evidence{
		Plan: "p1", HarnessRevision: "h1", QueryRevision: "q1", Admission: "write", ReadAt: noon, Updated: noon, Linked: "200", Verdict: query.True,
		Queries: []dispatch.Judged{{Source: "code/1", Query: `v1: label = "bug"`, Trace: json.RawMessage(`{"verdict":"true"}`),
			Support: []dispatch.Term{{Test: `any label(name = "bug")`, Field: "label", Values: []string{"x"}, Rev: "abc",
				Elements: []dispatch.Element{{Key: "1", Rev: "2", Actor: "7", Login: "wren", At: noon}}}}}},
		Trigger: &dispatch.Trigger{Expression: "true", Verdict: query.True},
		Actors:  []admission.Evidence{{Actor: "7", Login: "wren", Bot: true, Role: "write", Verified: true, Source: "permission", Why: "x", At: noon}},
	}
}
