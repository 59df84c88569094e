package coverage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
)

const src = "triage/1"

// step is one thing that happens to the pair (src, entity 1), and what it emits.
type step struct {
	do   string
	want coverage.Outcome
}

var (
	enters  = coverage.Outcome{Entered: 1, Emitted: 1}
	emits   = coverage.Outcome{Emitted: 1}
	leaves  = coverage.Outcome{Left: 1}
	nothing = coverage.Outcome{}
)

// SPEC CO-12, CO-13, CO-14, CO-15, CO-16, CO-17; scenarios B095 (changes coalesce) and B096 (re-entry emits).
func TestPair(t *testing.T) {
	for name, steps := range map[string][]step{
		"unchanged state emits once":        {{"A", enters}, {"A", nothing}, {"ran", nothing}, {"A", nothing}, {"same", nothing}, {"A", nothing}},
		"a new decision emits":              {{"A", enters}, {"ran", nothing}, {"B", emits}, {"ran", nothing}, {"B", nothing}},
		"back to a closed decision":         {{"A", enters}, {"ran", nothing}, {"B", emits}, {"ran", nothing}, {"A", nothing}, {"B", nothing}},
		"waiting decisions coalesce":        {{"A", enters}, {"B", emits}, {"C", emits}, {"rows 1", nothing}, {"ran", nothing}, {"rows 0", nothing}},
		"back to closed withdraws":          {{"A", enters}, {"ran", nothing}, {"B", emits}, {"A", coverage.Outcome{Canceled: 1}}, {"rows 0", nothing}},
		"leaving withdraws":                 {{"A", enters}, {"no", coverage.Outcome{Left: 1, Canceled: 1}}, {"rows 0", nothing}},
		"re-entry emits":                    {{"A", enters}, {"ran", nothing}, {"no", leaves}, {"A", enters}, {"rows 1", nothing}},
		"undecided stays in":                {{"A", enters}, {"ran", nothing}, {"?", nothing}, {"A", nothing}},
		"undecided is no entry":             {{"?", nothing}, {"rows 0", nothing}, {"A", enters}},
		"undecided then out":                {{"A", enters}, {"ran", nothing}, {"?", nothing}, {"no", leaves}},
		"unreadable keeps pairs":            {{"A", enters}, {"ran", nothing}, {"unread", nothing}, {"A", nothing}},
		"gone leaves":                       {{"A", enters}, {"gone", coverage.Outcome{Left: 1, Canceled: 1}}, {"rows 0", nothing}, {"A", enters}},
		"claimed rows are not withdrawn":    {{"A", enters}, {"claim", nothing}, {"no", leaves}, {"rows 1", nothing}, {"close", nothing}, {"rows 0", nothing}},
		"newer while claimed follows":       {{"A", enters}, {"claim", nothing}, {"B", emits}, {"rows 1", nothing}, {"close", nothing}, {"rows 1", nothing}, {"ran", nothing}, {"rows 0", nothing}, {"B", nothing}},
		"newest while claimed wins":         {{"A", enters}, {"claim", nothing}, {"B", emits}, {"C", emits}, {"close", nothing}, {"ran", nothing}, {"rows 0", nothing}, {"C", nothing}},
		"back to the claimed one":           {{"A", enters}, {"claim", nothing}, {"B", emits}, {"A", nothing}, {"close", nothing}, {"rows 0", nothing}, {"A", nothing}},
		"left while claimed drops the next": {{"A", enters}, {"claim", nothing}, {"B", emits}, {"no", leaves}, {"close", nothing}, {"rows 0", nothing}},
		"re-entry while claimed":            {{"A", enters}, {"claim", nothing}, {"no", leaves}, {"A", enters}, {"close", nothing}, {"rows 1", nothing}},
		"a new version adopts":              {{"A", enters}, {"ran", nothing}, {"version", nothing}, {"A+x", nothing}, {"A+x", nothing}, {"A+y", emits}},
		"a new version that differs":        {{"A", enters}, {"ran", nothing}, {"version", nothing}, {"B+x", emits}},
		"a new version while waiting":       {{"A", enters}, {"version", nothing}, {"A+x", nothing}, {"rows 1", nothing}, {"ran", nothing}, {"A+x", nothing}, {"A+y", emits}},
		"a version there and back":          {{"A", enters}, {"ran", nothing}, {"version", nothing}, {"A+x", nothing}, {"unversion", nothing}, {"A", nothing}},
		"held is in but emits nothing":      {{"hold A", coverage.Outcome{Entered: 1}}, {"rows 0", nothing}, {"A", emits}},
		"held withdraws":                    {{"A", enters}, {"hold B", coverage.Outcome{Canceled: 1}}, {"rows 0", nothing}, {"A", emits}},
		"held after closed":                 {{"A", enters}, {"ran", nothing}, {"hold B", nothing}, {"A", nothing}, {"C", emits}},
		"canceled is closed":                {{"A", enters}, {"cancel", nothing}, {"A", nothing}, {"rows 0", nothing}, {"B", emits}},
		"another plan proves nothing":       {{"A", enters}, {"other plan", nothing}, {"rows 1", nothing}},
		"a source that left waits":          {{"A", enters}, {"drop source", nothing}, {"rows 0", nothing}, {"no", nothing}, {"add source", nothing}, {"rows 1", nothing}, {"A", nothing}},
	} {
		t.Run(name, func(t *testing.T) {
			stores(t, func(t *testing.T, s coverage.Store) {
				b := newBed(t, s, src)
				for i, st := range steps {
					b.tick(10 * time.Minute)
					require.Equal(t, st.want, b.do(st.do), "step %d: %s", i, st.do)
				}
				b.check()
			})
		})
	}
}

// do is the vocabulary of the table.
func (b *bed) do(what string) coverage.Outcome {
	ctx := context.Background()
	switch what {
	case "no":
		return b.settle(b.rec(1, 0))
	case "?":
		r := b.rec(1, 0)
		r.Undecided = []string{src}
		return b.settle(r)
	case "unread":
		return b.settle(coverage.Record{Ref: ref(1), ReadAt: b.now})
	case "gone":
		return b.settle(coverage.Record{Ref: ref(1), ReadAt: b.now, Gone: true})
	case "same":
		return b.settle(coverage.Record{Ref: ref(1), ReadAt: b.now, Same: true})
	case "other plan":
		r := b.rec(1, 0)
		r.Judged = "another"
		return b.settle(r)
	case "version", "unversion":
		b.plan.Hash = what
		b.plan.Sources[0].Version = what
		if what == "unversion" {
			b.plan.Sources[0].Version = "v1"
		}
		b.begin()
	case "drop source", "add source":
		b.plan = plan(what)
		if what == "add source" {
			b.plan = plan("p1", src)
		}
		b.begin()
	case "claim":
		require.Len(b.t, b.claimLong(), 1)
	case "ran":
		ds := b.claim(9)
		require.Len(b.t, ds, 1)
		b.done(ds[0], coverage.Ran)
	case "close":
		require.NoError(b.t, b.Done(ctx, b.now, coverage.Receipt{Key: key(1), Outcome: coverage.Ran, At: b.now}))
	case "cancel":
		found, err := b.Cancel(ctx, key(1))
		require.NoError(b.t, err)
		require.True(b.t, found)
	case "rows 0", "rows 1":
		s, err := b.Snapshot(ctx, b.now)
		require.NoError(b.t, err)
		require.Equal(b.t, int(what[5]-'0'), s.Outbox.Ready+s.Outbox.Claimed, "%+v", s.Outbox)
	default:
		hold := strings.HasPrefix(what, "hold ")
		what = strings.TrimPrefix(what, "hold ")
		r := b.rec(1, uint64(what[0]), src)
		r.Match[0].Hold = hold
		if _, part, ok := strings.Cut(what, "+"); ok {
			r.Match[0].Digests["trigger"] = uint64(part[0])
		}
		return b.settle(r)
	}
	return nothing
}

func (b *bed) claimLong() []coverage.Delivery {
	ds, err := b.Claim(context.Background(), b.now, 9, 240*time.Hour)
	require.NoError(b.t, err)
	return ds
}

func key(n int) string { return "triage%2F1|" + ref(n).Identity.String() }

func (b *bed) check() {
	r, err := coverage.Check(context.Background(), b.store)
	require.NoError(b.t, err)
	require.Empty(b.t, r.Problems)
}

// SPEC CO-9
func TestOlderReads(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.tick(time.Minute)
	b.settle(b.rec(1, 'A', src))
	old := b.rec(1, 'B')
	old.ReadAt = b.now.Add(-time.Second)
	require.Equal(t, coverage.Outcome{Stale: 1}, b.settle(old))
	e := b.entity(1)
	require.True(t, e.Pairs[src].In)
	require.Equal(t, coverage.WhyPointer, e.Again[0].Why, "it shows something else: look again")

	same := b.rec(1, 'C', src)
	same.Updated = b.now.Add(-time.Second)
	require.Equal(t, 1, b.settle(same).Stale, "read at the same instant, older by its change clock")

	b.tick(time.Minute)
	require.Equal(t, emits, b.settle(b.rec(1, 'B', src)))
	require.Empty(t, b.entity(1).Again)
}

func TestDecisionsAreStableAcrossLedgers(t *testing.T) {
	// A ledger that was lost repeats its candidates under the same ids.
	first, second := newBed(t, coverage.NewMemory(), src), newBed(t, coverage.NewMemory(), src)
	first.settle(first.rec(1, 'A', src))
	second.tick(time.Hour)
	second.settle(second.rec(1, 'A', src))
	require.Equal(t, first.claim(1)[0].Decision, second.claim(1)[0].Decision)
}

func TestClosedDecisionsAreBounded(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	for i := range 50 {
		b.tick(time.Minute)
		b.settle(b.rec(1, uint64(i), src))
		b.do("ran")
	}
	require.Len(t, b.entity(1).Pairs[src].Closed, 8)
}

func TestEvidenceIsCapped(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	r := b.rec(1, 'A', src)
	r.Evidence, r.Match[0].Evidence = make([]byte, 1<<20), make([]byte, 1<<20)
	b.settle(r)
	require.JSONEq(t, `{"omitted":"evidence of 1048576 bytes exceeds the cap of 65536"}`, string(b.claim(1)[0].Evidence))
	require.Less(t, len(b.entity(1).Evidence), 100)
}

func TestOneKeyIsOneRowOverScopes(t *testing.T) {
	// B094: the same entity found by two scopes for the same source is one delivery.
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	b.sc = scopB
	b.begin()
	b.settle(b.rec(1, 'A', src))
	require.Len(t, b.claim(9), 1)
	b.check()
	b.sc = scopA
	b.tick(time.Minute)
	require.Equal(t, nothing, b.settle(b.rec(1, 'A', src)))
}
