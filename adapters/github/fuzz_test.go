package github_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// FuzzAnswers lets a session that is open read foreign bytes: no walk, read or role panics or hangs, and no item comes out
// that is not whole.
func FuzzAnswers(f *testing.F) {
	st := newStageUnder(f, nil, longStory("work_item"))
	var kept []string
	st.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := st.client.Transport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(resp.Body)
		kept, resp.Body = append(kept, string(b)), body(string(b))
		return resp, err
	})}
	ses := st.open()
	l := list(ses, "changed", time.Time{}, nil)
	list(ses, "comments", st.w.Now().Add(-time.Hour), nil)
	_, _ = ses.Read(context.Background(), refsOf(l), query.Fields(everything(query.WorkItem)...))
	_, _ = ses.(adapters.Prober).Probe(context.Background(), []int64{1, 2, 900})
	_, _ = ses.Roles(context.Background(), []query.User{{ID: "2", Login: "olga"}})
	for _, s := range kept {
		if len(s) < 20000 {
			f.Add([]byte(s), 200)
		}
	}
	f.Add([]byte(`{"data":null}`), 200)
	f.Add([]byte(`{"data":"null","errors":[{"message":"x","path":[1,{}]}]}`), 502)
	f.Add([]byte(`{"message":"You have exceeded a secondary rate limit"}`), 403)
	f.Add([]byte(`{"data":{"node":{"databaseId":7,"rows":{"nodes":[null,{}],"pageInfo":{"hasNextPage":true}}}},"errors":[{"path":["node","rows","nodes",0]}]}`), 200)
	f.Fuzz(func(t *testing.T, answer []byte, status int) {
		if status < 200 || status > 599 {
			status = 200
		}
		st := newStageUnder(t, nil, "create as=olga title=a")
		foreign, left := false, 40
		st.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if !foreign {
				return st.client.Transport.RoundTrip(r)
			}
			if left--; left < 0 {
				return nil, io.ErrUnexpectedEOF // the same answer for ever is a server's way to hold a reader
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body(string(answer)), Request: r}, nil
		})}
		ses := st.open()
		refs := refsOf(list(ses, "all", time.Time{}, nil))
		foreign = true
		for _, w := range []string{"changed", "all", "comments"} {
			left = 40
			for _, it := range list(ses, w, st.w.Now(), nil).items {
				if it.State == adapters.Present && (it.Ref.ID == "" || it.Ref.Alias == "") {
					t.Fatalf("an item without identity: %+v", it)
				}
			}
		}
		left = 40
		items, err := ses.Read(context.Background(), refs, query.Fields(everything(query.WorkItem)...))
		if err == nil && (len(items) != len(refs) || items[0].State == adapters.Present && items[0].Ref.ID == "") {
			t.Fatalf("%+v", items)
		}
		left = 40
		_, _ = ses.(adapters.Prober).Probe(context.Background(), []int64{1})
		fs, err := ses.Roles(context.Background(), []query.User{{ID: "2", Login: "olga"}})
		if err == nil && len(fs) != 1 {
			t.Fatalf("%+v", fs)
		}
		_, _ = ses.Health(context.Background())
		_, _ = ses.Find(context.Background(), "1")
	})
}
