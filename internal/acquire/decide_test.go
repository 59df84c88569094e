package acquire_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/acquire"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

var cat = query.NewCatalogue(query.Forgejo, query.WorkItem, nil)

func label(key, name, actor string) query.Element {
	return query.Element{Key: key, Rev: "1", Actor: query.User{ID: actor}, Editors: query.EditorsNamed,
		Members: []query.Member{{ID: query.MName, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Name(name)}}}}}
}

func match(t *testing.T, q, cel string, f *query.Facts, view query.View) *acquire.Match {
	t.Helper()
	parsed, ds := query.Parse(q)
	require.False(t, ds.Failed(), "%v", ds)
	b, ds := parsed.Bind(query.WorkItem, cat, query.Env{})
	require.False(t, ds.Failed(), "%v", ds)
	p, issues := trigger.Compile(cel, cat)
	require.Empty(t, issues)
	return &acquire.Match{Queries: []*query.Bound{b}, Trigger: p, Self: "me", Facts: f, View: view, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Ref: scope.Ref{Identity: scope.Identity{Provider: "forgejo", Kind: query.WorkItem, ID: "1"}}}
}

func open(labels ...query.Element) *query.Facts {
	f := &query.Facts{}
	f.SetKnown(query.FState, query.Word("open"))
	f.SetItems(query.FLabel, labels...)
	return f
}

func never(query.Need) bool { return false }

// SPEC AU-17: the same state makes the same decision, whatever else is known; another state makes another.
func TestOneStateOneDecision(t *testing.T) {
	ctx := context.Background()
	const q, cel = `v1: state = open and label = "bug"`, `entity.label.exists(l, l.name == "bug")`
	base := acquire.Decide(ctx, match(t, q, cel, open(label("1", "bug", "5")), query.Everyone), never)
	require.Equal(t, query.True, base.Trigger)
	require.NotEmpty(t, base.Digests)

	more := open(label("1", "bug", "5"))
	more.SetKnown(query.FMilestone, query.Name("1.0"))
	assert.Equal(t, base.Digests, acquire.Decide(ctx, match(t, q, cel, more, query.Everyone), never).Digests)
	own := acquire.Decide(ctx, match(t, q, cel, open(label("1", "bug", "5"), label("2", "bug", "me")), query.Everyone), never)
	assert.Equal(t, base.Digests, own.Digests, "the harness's own label is no reason to ask again")
	other := acquire.Decide(ctx, match(t, q, cel, open(label("1", "bug", "5"), label("2", "bug", "6")), query.Everyone), never)
	assert.NotEqual(t, base.Digests, other.Digests)
	assert.Contains(t, other.RestsOn, "6")
}

// SPEC CO-14: whose own writing is no news is part of what a test is about. Editing it changes the parts and no part's digest,
// so that the decision is taken over.
func TestSelfIsEdited(t *testing.T) {
	digests := func(self string) map[string]uint64 {
		m := match(t, `v1: state = open and label = "bug"`, "true", open(label("1", "bug", "me")), query.Everyone)
		m.Self = self
		return acquire.Decide(context.Background(), m, never).Digests
	}
	with, without := digests("me"), digests("")
	require.NotEqual(t, with, without)
	for part, d := range with {
		if other, both := without[part]; both {
			assert.Equal(t, other, d, part)
		}
	}
}

// SPEC AU-17: a decision waits for everything that bears on it, but not for what was asked in vain.
func TestADecisionWaits(t *testing.T) {
	ctx := context.Background()
	undecided := func(_ query.FieldID, e *query.Element) query.Standing {
		if e.Actor.ID == "6" {
			return query.Undecided
		}
		return query.Admitted
	}
	facts := open(label("1", "bug", "5"), label("2", "bug", "6"))
	m := match(t, `v1: state = open and label = "bug"`, "true", facts, undecided)
	d := acquire.Decide(ctx, m, never)
	assert.Equal(t, query.VerdictUnknown, d.Trigger)
	assert.Equal(t, []query.Need{{Field: query.FLabel, Actor: "6"}}, d.Needs)
	d = acquire.Decide(ctx, m, func(n query.Need) bool { return n.Actor == "6" })
	assert.Equal(t, query.True, d.Trigger)

	m = match(t, `v1: state = open`, `entity.label.exists(l, l.name == "bug")`, facts, undecided)
	assert.Equal(t, query.VerdictUnknown, acquire.Decide(ctx, m, never).Trigger, "the trigger has read it")
	m = match(t, `v1: state = open`, `!entity.label.exists(l, l.name == "bug")`, facts, undecided)
	assert.Equal(t, query.False, acquire.Decide(ctx, m, never).Trigger, "a false trigger starts nothing, whatever else there is")
}
