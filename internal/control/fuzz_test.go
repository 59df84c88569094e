package control

import (
	"encoding/json"
	"testing"
)

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"v":1,"op":"why","args":{"ref":"#7"}}`))
	f.Add([]byte(`{"v":1,"op":"status"} x`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRequest(line)
		if err != nil {
			return
		}
		if r.Version != Version || !json.Valid(line) {
			t.Fatalf("taken: %q", line)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"v":1,"result":{"a":1}}`))
	f.Add([]byte(`{"v":1,"code":3,"error":"no"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var v map[string]any
		if err := decode(line, &v); err == nil && !json.Valid(line) {
			t.Fatalf("taken: %q", line)
		}
	})
}
