package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/conformance/simulated"
	api "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
)

// SPEC CF-91: a failure tells the whole story, the same each time.
func TestFailureIsAStory(t *testing.T) {
	f := simulated.Forgejo(api.Gitea127)
	f.Adapter = mutant{session: func(b *broken) {
		b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
			elements(it, query.FLabel, func(e *query.Element) {
				e.Actor, e.Editors = it.Facts.Get(query.FAuthor).Values[0].User, query.EditorsNamed
			})
		})
	}}
	tg := simulated.Target(f)
	tg.Match, tg.Version = "people/author-is-not-the-applier", "1.0"
	res := conformance.Report(t.Context(), tg)
	require.Len(t, res.Failed, 2)
	story, requests, found := strings.Cut(res.Failed[0].Story, "  the last requests:\n")
	require.True(t, found)
	assert.Equal(t, `people/author-is-not-the-applier/work_item: Who wrote the issue did not label it
  clause    CF-50, CF-56
  the rule  A maintainer's issue, labelled by a triager; a stranger's issue, labelled by a maintainer. Taking the author for
            the applier gets both wrong: the first lets triagers start agents, the second holds the maintainer's word for nothing.
  kills     an applier that is taken from the entity's author because the row names only that one
  line 20   expect emitted code:b
  expected  code:b
  got       code:a
  note      lost: code:b (acme/widgets#2): judged to be no match on facts read at 09:00:00
  note      not asked for: code:a (acme/widgets#1): in the match
`, story)
	assert.Contains(t, requests, "GET  /api/v1/repos/acme/widgets/", "what was sent points at what went wrong")
	assert.Equal(t, []string{"CF-50", "CF-56"}, res.Failed[0].Clauses)
	assert.Equal(t, 20, res.Failed[0].Line)

	var out bytes.Buffer
	require.NoError(t, res.WriteText(&out))
	assert.Contains(t, out.String(), "forgejo 1.0: 0 passed, 2 failed, 0 skipped; core: not conformant; extended: not conformant")
}

// place opens places on which some verb is out of reach.
func without(verb string) conformance.Target {
	tg := simulated.Target(simulated.Forgejo(api.Gitea127))
	open := tg.Open
	tg.Open = func(ctx context.Context, w conformance.Wish) (*conformance.Place, error) {
		p, err := open(ctx, w)
		if err == nil {
			p.Stage = lame{p.Stage, verb}
		}
		return p, err
	}
	return tg
}

type lame struct {
	conformance.Stage
	verb string
}

func (l lame) Do(ctx context.Context, verb string, args map[string]string) error {
	if verb == l.verb {
		return fmt.Errorf("%w: %s", conformance.ErrUnable, verb)
	}
	return l.Stage.Do(ctx, verb, args)
}

// SPEC CF-92: skipping a core case is not passing it, unless the stage is known to be partial or the case does not apply.
func TestVerdicts(t *testing.T) {
	tg := without("label")
	tg.Match = "people/stranger-labels"
	res := conformance.Report(t.Context(), tg)
	require.Empty(t, res.Failed)
	require.NotEmpty(t, res.Skipped)
	assert.True(t, res.Skipped[0].Unplayed)
	assert.Contains(t, res.Skipped[0].Why, "label")
	assert.Equal(t, conformance.Partial, res.Core, "a part of the cases is a part")

	tg.Match = "" // as a whole run sees it
	for _, r := range []struct {
		partial bool
		core    string
	}{{false, conformance.NotConformant}, {true, conformance.Partial}} {
		tg.Partial = r.partial
		stopped, stop := context.WithCancel(t.Context())
		stop()
		assert.Equal(t, r.core, conformance.Report(stopped, tg).Core, "nothing was played at all")
	}

	tg.Match, tg.Without = "people/stranger-labels", map[string]string{"label": "nobody labels here"}
	res = conformance.Report(t.Context(), tg)
	require.NotEmpty(t, res.Skipped)
	assert.False(t, res.Skipped[0].Unplayed)
	assert.Contains(t, res.Skipped[0].Why, "nobody labels here")
	var out bytes.Buffer
	require.NoError(t, res.WriteText(&out))
	assert.Contains(t, out.String(), "skipped (core): does not apply: label: nobody labels here: people/stranger-labels/work_item")
}

// blind is an adapter that says less than its provider could.
type blind struct {
	forgejo.Adapter
	lacks query.FieldID
}

func (b blind) Catalogue(k query.Kind) *query.Catalogue {
	full := b.Adapter.Catalogue(k)
	return query.NewCatalogue(forgejo.Provider, k, func(f *query.Field) bool {
		if g, ok := full.ByID(f.ID); ok {
			f.Walks, f.Clock = g.Walks, g.Clock
		}
		return f.ID != b.lacks
	})
}

// SPEC CF-92 CF-93: a field that is left out and a claim that nobody tests are said by a whole run.
func TestWhatARunOwes(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	f := simulated.Forgejo(api.Gitea127)
	f.Adapter = blind{lacks: query.FComment}
	res := conformance.Report(stopped, simulated.Target(f))
	assert.Equal(t, []string{"comment of work_item", "comment of change_proposal"}, res.Missing)

	claims := func(id query.FieldID, op query.Op, walk query.WalkKind) conformance.Target {
		f.Adapter = mutant{claims: func(l query.Leaf, w query.WalkKind) query.Strength {
			if l.Field == id && l.Op == op && w == walk {
				return query.Superset
			}
			return query.None
		}}
		return simulated.Target(f)
	}
	res = conformance.Report(stopped, claims(query.FState, query.OpIn, query.Sweep))
	assert.Empty(t, res.Untested, "cases ask for states, in both polarities")
	res = conformance.Report(stopped, claims(query.FHead, query.OpStartsWith, query.Sweep))
	assert.Equal(t, []string{"not head starts with of change_proposal in the sweep"}, res.Untested)
	assert.Equal(t, conformance.NotConformant, res.Core)
}

// A provider that is only eventually consistent is asked again, as its author's schedule says, and no other is.
func TestRetry(t *testing.T) {
	f := simulated.Forgejo(api.Gitea127)
	f.Adapter = mutant{session: func(b *broken) {
		windows := 0
		b.eachPage(func(w adapters.Walk, p *adapters.Page) {
			if w.Kind != query.Changes || w.Pointers {
				return
			}
			if windows++; windows == 2 {
				p.Items = nil // the index has not heard of it yet
			}
		}, nil)
	}}
	tg := simulated.Target(f)
	tg.Match = "walks/within-a-second"
	require.NotEmpty(t, conformance.Report(t.Context(), tg).Failed)
	tg.Retry = []time.Duration{time.Millisecond, time.Millisecond}
	assert.Empty(t, conformance.Report(t.Context(), tg).Failed)
}

// SPEC CF-91: cases that are played at once are reported in their own order.
func TestParallel(t *testing.T) {
	tg := simulated.Target(simulated.Forgejo(api.Gitea127))
	tg.Match = "plan"
	one := conformance.Report(t.Context(), tg)
	var mu sync.Mutex
	told := 0
	tg.Parallel, tg.Progress = 4, func(string, bool) { mu.Lock(); defer mu.Unlock(); told++ }
	assert.Equal(t, one, conformance.Report(t.Context(), tg))
	assert.Equal(t, len(one.Passed), told)
}
