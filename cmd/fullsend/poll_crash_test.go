package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/internal/poll"
)

// SPEC CO-40: a poller that is killed before and after every transaction loses nothing: the check of its ledger finds
// nothing, the next cycle is clean, and what comes out twice has the same decision.
func TestPollKilledAroundEveryTransaction(t *testing.T) {
	s := newStage(t, "true")
	var want []string
	for i := range 24 {
		s.do(fmt.Sprintf("create as=olga title=t%d labels=bug", i), fmt.Sprintf("label on=%d as=wes label=bug", i+2))
	}
	s.write("harness/h.yaml", `role: coder
trigger: "true"
entity_sources: [{version: 1, from: code, kind: work_item, query: 'v1: state = open'}]
`)
	for i := range 25 {
		want = append(want, fmt.Sprintf("acme/widgets#%d", i+1))
	}
	sort.Strings(want)
	face := forgejo.New(s.world, forgejo.Options{MaxItems: 11, DefaultItems: 11})
	var mu sync.Mutex
	var kill func()
	at, n := 0, 0
	arm := func(i int, f func()) {
		mu.Lock()
		defer mu.Unlock()
		at, n, kill = i, 0, f
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		face.ServeHTTP(w, r)
		mu.Lock()
		defer mu.Unlock()
		if n++; n == at {
			// The answer is on its way: the transaction that it leads to is before, under way, or behind.
			time.AfterFunc(time.Duration(at%4)*time.Millisecond, kill)
		}
	}))
	defer srv.Close()
	s.write("config.yaml", fmt.Sprintf(`version: "1"
poll:
  input_drivers:
    - type: entity-source
      name: code
      provider: forgejo
      connection: {base_url: %q, token_env: TOKEN}
      scopes: [{repo: acme/widgets, kinds: [work_item]}]
`, srv.URL))

	decisions := map[string]map[string]bool{}
	died := 0
	step := 1
	if testing.Short() {
		step = 3
	}
	for i := 1; i <= 40; i += step {
		c, out := s.command("poll")
		require.NoError(t, c.Start())
		p := c.Process
		arm(i, func() { _ = p.Kill() })
		_ = c.Wait()
		if !c.ProcessState.Exited() {
			died++
		}
		keep(decisions, out.String())
		require.Equal(t, poll.ExitComplete, s.run("poll", "state", "check"), "after a kill at request %d: %s", i, s.log())
	}
	require.Greater(t, died, 3, "nothing was killed")
	arm(0, nil)
	s.do("advance by=20m")
	c, out := s.command("poll")
	require.NoError(t, c.Run(), s.log())
	keep(decisions, out.String())
	var got []string
	for key, ds := range decisions {
		got = append(got, key)
		assert.Len(t, ds, 1, "decisions of %s", key)
	}
	sort.Strings(got)
	assert.Equal(t, want, got)
}

// keep notes the decisions of whole lines; a line that was cut was not handed over.
func keep(into map[string]map[string]bool, out string) {
	for line := range strings.Lines(out) {
		var r struct {
			Decision string
			Entity   struct{ Key string }
		}
		if json.Unmarshal([]byte(line), &r) != nil {
			continue
		}
		if into[r.Entity.Key] == nil {
			into[r.Entity.Key] = map[string]bool{}
		}
		into[r.Entity.Key][r.Decision] = true
	}
}
