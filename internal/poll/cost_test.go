package poll_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

const (
	costRepo     = "acme/widgets"
	costEntities = 240
	costStones   = 300
)

// stones is a forge with one repository whose every third entity is in a milestone of its own.
func stones(t testing.TB) *forgesim.World {
	w := forgesim.New(forgesim.Options{Profile: face.Gitea124.Profile()})
	for _, u := range []forgesim.User{{Login: "acme", Org: true}, {Login: "agent", Bot: true}, {Login: "olga"}} {
		_, err := w.AddUser(u)
		require.NoError(t, err)
	}
	_, err := w.AddRepo(costRepo, false)
	require.NoError(t, err)
	require.NoError(t, w.AddToken(forgesim.AdminToken, "agent"))
	require.NoError(t, w.SetRole(costRepo, "agent", forgesim.Admin))
	require.NoError(t, w.SetRole(costRepo, "olga", forgesim.Write))
	for i := range costStones {
		_, err := w.AddMilestone(costRepo, fmt.Sprintf("m-%d", i), time.Time{})
		require.NoError(t, err)
	}
	for i := range costEntities {
		w.Advance(time.Minute)
		e := forgesim.NewEntity{Repo: costRepo, Title: fmt.Sprintf("entity %d", i)}
		if i%3 == 0 {
			e.Milestone = fmt.Sprintf("m-%d", i)
		}
		_, err := w.Create("olga", e)
		require.NoError(t, err)
	}
	w.Advance(time.Minute)
	return w
}

// cycleOf runs a first cycle with harnesses that divide the milestones among themselves.
func cycleOf(t testing.TB, w *forgesim.World, harnesses int) poll.Summary {
	led, err := coverage.Open(t.Context(), coverage.NewMemory(), coverage.Options{})
	require.NoError(t, err)
	meter := poll.NewMeter(w.Now, 0, 0)
	lane := meter.Lane()
	target := poll.Target{
		Driver: "code", Adapter: forgejo.Adapter{}, Meter: meter, Lane: lane,
		Config: adapters.Config{
			BaseURL: "http://forge.example", Container: costRepo, Kind: query.WorkItem, Now: w.Now, Budget: lane,
			Token: func(context.Context) (string, error) { return forgesim.AdminToken, nil },
			HTTP:  &http.Client{Transport: forgesim.Transport(face.New(w, face.Options{}))},
		},
		Policy: coverage.Policy{SweepEvery: 24 * time.Hour, RecheckEvery: time.Hour},
	}
	cat := forgejo.Adapter{}.Catalogue(query.WorkItem)
	for i := range harnesses {
		text := "v1: state = open and milestone in ("
		for m := i; m < costStones; m += harnesses {
			text += fmt.Sprintf("%q, ", fmt.Sprintf("m-%d", m))
		}
		q, ds := query.Parse(text + ")")
		require.False(t, ds.Failed(), ds)
		b, ds := q.Bind(query.WorkItem, cat, query.Env{})
		require.False(t, ds.Failed(), ds)
		target.Harnesses = append(target.Harnesses, poll.Harness{
			Name: fmt.Sprintf("h%d", i), Queries: []*query.Bound{b}, Threshold: adapters.Write, Role: "coder", Revision: "1",
		})
	}
	e := poll.New(poll.Options{Ledger: led, Targets: []poll.Target{target}, Log: slog.New(slog.DiscardHandler)})
	sums, err := e.Cycle(t.Context())
	require.NoError(t, err)
	require.True(t, sums[0].Complete(), sums[0].Incomplete)
	return sums[0]
}

// What a cycle asks the provider, and how many queries it evaluates, does not depend on the number of harnesses.
func TestCostFollowsMatches(t *testing.T) {
	w := stones(t)
	one := cycleOf(t, w, 1)
	assert.Positive(t, one.Requests[adapters.Search])
	assert.Equal(t, costEntities/3, one.Matched)
	for _, n := range []int{10, costStones} {
		many := cycleOf(t, w, n)
		assert.Equal(t, one.Requests, many.Requests, "%d harnesses", n)
		assert.Equal(t, one.Scanned, many.Scanned)
		assert.Equal(t, one.Matched, many.Matched, "the same matches over %d harnesses", n)
		assert.Equal(t, one.Evaluated, many.Evaluated, "%d harnesses", n)
	}
}

func BenchmarkCycle(b *testing.B) {
	w := stones(b)
	for _, n := range []int{1, costStones} {
		b.Run(fmt.Sprintf("harnesses=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cycleOf(b, w, n)
			}
		})
	}
}
