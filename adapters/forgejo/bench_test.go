package forgejo_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

// The answers of one sweep, replayed: what is measured is the client, not the server.
type tape struct {
	server http.RoundTripper
	kept   map[string]recorded
}

type recorded struct {
	status int
	header http.Header
	body   string
}

func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.URL.String()
	rec, ok := t.kept[key]
	if !ok {
		resp, err := t.server.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		rec = recorded{resp.StatusCode, resp.Header, string(b)}
		t.kept[key] = rec
	}
	return &http.Response{StatusCode: rec.status, Header: rec.header, Body: io.NopCloser(strings.NewReader(rec.body)), Request: r}, nil
}

const benchEntities = 2000

func benchStage(b *testing.B) (*tape, adapters.Session) {
	var script strings.Builder
	script.WriteString("create-label label=bug color=ff0000\n")
	for i := range benchEntities {
		fmt.Fprintf(&script, "create as=olga title=\"entity %d\" body=%q labels=bug\nadvance by=7s\n", i, strings.Repeat("word ", 120))
	}
	st := newStage(b, face.Gitea124, script.String())
	tp := &tape{server: st.client.Transport, kept: map[string]recorded{}}
	st.config.HTTP = &http.Client{Transport: tp}
	return tp, st.open()
}

// BenchmarkSweep is the adapter over a sweep; compare it with BenchmarkBareClient.
func BenchmarkSweep(b *testing.B) {
	_, ses := benchStage(b)
	list(ses, "all", time.Time{}, nil)
	for b.Loop() {
		n := 0
		for p, err := range ses.Pages(b.Context(), nil, adapters.Walk{Name: "all"}, adapters.Position{}) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(p.Items)
		}
		if n != benchEntities {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntities, "ns/entity")
}

// BenchmarkBareClient pages through the same answers and decodes them with the SDK's types.
func BenchmarkBareClient(b *testing.B) {
	tp, _ := benchStage(b)
	client := &http.Client{Transport: tp}
	read := func() (n int) {
		for page := 1; ; page++ {
			q := url.Values{"state": {"all"}, "limit": {"50"}, "page": {fmt.Sprint(page)}}
			req, err := http.NewRequest(http.MethodGet, "http://forge.example/api/v1/repos/acme/widgets/issues?"+q.Encode(), nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("Authorization", "token adm")
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			var rows []*gitea.Issue
			err = json.NewDecoder(resp.Body).Decode(&rows)
			resp.Body.Close()
			if err != nil {
				b.Fatal(err)
			}
			if len(rows) == 0 {
				return n
			}
			n += len(rows)
		}
	}
	read()
	for b.Loop() {
		if read() != benchEntities {
			b.Fatal("short")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntities, "ns/entity")
}
