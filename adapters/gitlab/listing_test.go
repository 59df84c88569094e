package gitlab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
)

// Scenarios B021, B025, SPEC GL-4: a window begins at an instant and not with a day, which is sent in UTC whatever zone the
// poller lives in; one that the server refuses is a failure and no empty list.
func TestBoundsInUTC(t *testing.T) {
	berlin := time.FixedZone("CEST", 2*3600)
	for name, q := range servers() {
		for _, kind := range kinds() {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				s := newStage(t, kind, q, strings.ReplaceAll("create as=wes title=old kind=KIND\nadvance by=2h\ncreate as=wes title=new kind=KIND\nadvance by=1h", "KIND", string(kind)))
				s.config.Now = func() time.Time { return s.w.Now().In(berlin) }
				ses := s.open()
				since := s.w.Now().Add(-90 * time.Minute)
				s.w.ResetCounters()
				l := list(ses, walk(ses, false), since.In(berlin), nil)
				require.NoError(t, l.err)
				assert.Empty(t, l.short)
				assert.Equal(t, []int64{2}, l.numbers)
				for _, h := range s.w.Hits() {
					u, err := url.ParseRequestURI(h.URI)
					require.NoError(t, err)
					at, err := time.Parse(time.RFC3339, u.Query().Get("updated_after"))
					require.NoError(t, err, h.URI)
					assert.Equal(t, time.UTC, at.Location(), h.URI)
					assert.False(t, at.After(since), h.URI)
					assert.WithinDuration(t, since, at, time.Second, h.URI)
				}
				s.run("fault kind=status status=400 route=search")
				l = list(ses, walk(ses, false), since, nil)
				assert.ErrorContains(t, l.err, "status 400")
			})
		}
	}
}

// Scenario B038, SPEC GL-4: rows that come in another order than was asked for are never taken for the whole list.
func TestShuffledRows(t *testing.T) {
	for name, q := range map[string]face.Quirks{"by key": {}, "by number": {NoKeyset: true}} {
		for _, kind := range kinds() {
			for _, sweep := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%t", name, kind, sweep), func(t *testing.T) {
					s := newStage(t, kind, q, strings.Repeat("create as=wes title=t kind="+string(kind)+"\nadvance by=1s\n", 230))
					inOrder, shuffle := s.config.HTTP.Transport, uint64(1)
					s.config.HTTP.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
						resp, err := inOrder.RoundTrip(r)
						if err != nil || shuffle == 0 || !r.URL.Query().Has("order_by") {
							return resp, err
						}
						var rows []json.RawMessage
						require.NoError(t, json.NewDecoder(resp.Body).Decode(&rows))
						rand.New(rand.NewPCG(shuffle, 0)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
						shuffle++
						b, err := json.Marshal(rows)
						resp.Body = io.NopCloser(bytes.NewReader(b))
						return resp, err
					})
					ses := s.open()
					l := list(ses, walk(ses, sweep), time.Time{}, nil)
					require.ErrorIs(t, l.err, adapters.ErrProtocol)
					assert.ErrorContains(t, l.err, "not in the order")
					assert.Empty(t, l.numbers)
					shuffle = 0
					l = list(ses, walk(ses, sweep), time.Time{}, nil)
					require.NoError(t, l.err)
					assert.Len(t, slices.Compact(slices.Sorted(slices.Values(l.numbers))), 230)
				})
			}
		}
	}
}
