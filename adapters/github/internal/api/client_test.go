package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
)

type budget struct{}

func (budget) Wait(context.Context, adapters.Class, int) error { return nil }
func (budget) Observe(adapters.Class, int, http.Header)        {}
func (budget) Token(context.Context) (string, error)           { return "adm", nil }
func (budget) Refused(string)                                  {}

// Scenario B138, SPEC GH-21: an answer that never begins and a body that never ends are cut in time, and do not hold up the
// next request.
func TestTimeoutCoversTheBody(t *testing.T) {
	for _, stall := range []string{"head", "body"} {
		t.Run(stall, func(t *testing.T) {
			release := make(chan struct{})
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if asked.Add(1) > 1 {
					fmt.Fprint(w, "[]")
					return
				}
				if stall == "body" {
					fmt.Fprint(w, "[")
					w.(http.Flusher).Flush()
				}
				<-release
			}))
			defer srv.Close()
			defer close(release)
			base, err := url.Parse(srv.URL)
			require.NoError(t, err)
			c := api.New(api.Options{REST: base, GraphQL: base, HTTP: srv.Client(), Credential: budget{}, Budget: budget{}, Now: time.Now, Timeout: 50 * time.Millisecond})
			var rows []int
			_, err = c.Get(t.Context(), api.Request{Op: "list", Path: "x"}, &rows)
			var e *adapters.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, adapters.ErrUnavailable)
			assert.Equal(t, adapters.MomentFailure, e.Severity)
			_, err = c.Get(t.Context(), api.Request{Op: "list", Path: "x"}, &rows)
			assert.NoError(t, err)
		})
	}
}
