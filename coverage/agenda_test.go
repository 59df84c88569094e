package coverage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/scope"
)

func (b *bed) appoint(n int, as ...coverage.Appointment) {
	r := b.rec(n, 0)
	r.Again = as
	b.settle(r)
}

func dueIDs(es []coverage.Entity) (ids []string) {
	for _, e := range es {
		ids = append(ids, e.Ref.ID)
	}
	return ids
}

// SPEC CO-30, CO-31
func TestAgenda(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		b := newBed(t, s, src)
		b.appoint(1, coverage.Appointment{Why: coverage.WhyUndecided, At: t0, Needs: []string{"label"}})
		require.Equal(t, []string{"1"}, dueIDs(b.due(9)))
		b.tick(time.Hour)
		b.appoint(1, coverage.Appointment{Why: coverage.WhyUndecided, At: b.now.Add(time.Minute), Tries: 1})
		require.Empty(t, b.due(9))
		a := b.entity(1).Again
		require.Len(t, a, 1)
		require.Equal(t, t0, a[0].Since, "the age is kept over retries")
		next, err := b.NextLook(context.Background(), b.sc)
		require.NoError(t, err)
		require.Equal(t, t0, next, "the first turn is owed since the beginning")
		b.tick(time.Second)
		b.turn(b.rec(2, 0))
		next, err = b.NextLook(context.Background(), b.sc)
		require.NoError(t, err)
		require.Equal(t, b.now, next, "the sweep did not return it")

		b.tick(time.Minute)
		b.appoint(1)
		require.Empty(t, b.due(9), "decided: nothing is owed")
		next, err = b.NextLook(context.Background(), b.sc)
		require.NoError(t, err)
		require.True(t, next.IsZero())
		b.check()
	})
}

func TestAReasonThatComesAgainIsYoung(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.appoint(1, coverage.Appointment{Why: coverage.WhyFailed, At: t0})
	b.tick(time.Minute)
	b.appoint(1, coverage.Appointment{Why: coverage.WhyUndecided, At: t0})
	b.tick(time.Minute)
	b.appoint(1, coverage.Appointment{Why: coverage.WhyFailed, At: t0})
	require.Equal(t, b.now, b.entity(1).Again[0].Since)
}

func TestPointersAreAdded(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.appoint(1, coverage.Appointment{Why: coverage.WhyDue, At: t0.Add(time.Hour)})
	before := b.entity(1)
	p := coverage.Record{Ref: ref(1), ReadAt: t0.Add(time.Minute), Updated: t0.Add(time.Hour), Pointer: true,
		Again: []coverage.Appointment{{Why: coverage.WhyPointer, At: t0.Add(time.Minute)}}}
	b.settle(p, p)
	p.Ref = ref(2)
	b.settle(p)
	e := b.entity(1)
	require.Len(t, e.Again, 2)
	require.Equal(t, before.ReadAt, e.ReadAt, "nothing was read")
	require.Equal(t, before.Updated, e.Updated)
	b.tick(time.Minute)
	require.Equal(t, []string{"1", "2"}, dueIDs(b.due(9)))
}

func TestSameNeedsSomethingToBeTheSameAs(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(coverage.Record{Ref: ref(1), Token: "t", ReadAt: b.now, Same: true})
	require.Equal(t, []string{"1"}, dueIDs(b.due(9)), "never read: look")
}

// SPEC CO-32
func TestNoReasonStarvesAnother(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	for i := range 100 {
		b.appoint(i, coverage.Appointment{Why: coverage.WhyUnmet, At: t0.Add(-time.Hour)})
	}
	b.appoint(200, coverage.Appointment{Why: coverage.WhyDue, At: t0}, coverage.Appointment{Why: coverage.WhyRole, At: t0})
	b.appoint(201, coverage.Appointment{Why: coverage.WhyFailed, At: t0})
	got := b.due(4)
	require.Len(t, got, 4)
	require.Contains(t, dueIDs(got), "200")
	require.Contains(t, dueIDs(got), "201")
	require.Len(t, b.due(1000), 102, "each entity once")
}

// SPEC CO-33
func TestRoles(t *testing.T) {
	stores(t, func(t *testing.T, s coverage.Store) {
		ctx := context.Background()
		b := newBed(t, s, src)
		ann := coverage.Actor{ID: "ann/1", Login: "ann", Role: "write", At: t0}
		bob := coverage.Actor{ID: "bob", Login: "bob", At: t0}
		for i := range 1200 {
			r := b.rec(i, 'A', src)
			r.RestsOn = []coverage.Actor{ann, ann, {}}
			if i == 7 {
				r.RestsOn = []coverage.Actor{ann, bob}
			}
			b.settle(r)
		}
		due := func(at time.Time) []coverage.Actor {
			as, err := b.ActorsDue(ctx, b.sc, at, 9)
			require.NoError(t, err)
			return as
		}
		require.Empty(t, due(t0))
		require.Equal(t, []coverage.Actor{ann, bob}, due(t0.Add(time.Second)))

		b.tick(time.Hour)
		ann.At = b.now
		woken, err := b.NoteRoles(ctx, b.sc, []coverage.Actor{ann, {ID: "nobody rests on them", Role: "read", At: b.now}})
		require.NoError(t, err)
		require.Zero(t, woken, "unchanged")
		require.Equal(t, []coverage.Actor{bob}, due(b.now))

		woken, err = b.NoteRoles(ctx, b.sc, []coverage.Actor{{ID: "bob", At: b.now}})
		require.NoError(t, err)
		require.Zero(t, woken, "not verified: no news")
		require.Empty(t, due(b.now), "but asked; others get their turn")

		b.tick(time.Hour)
		ann.Role, ann.At = "read", b.now
		woken, err = b.NoteRoles(ctx, b.sc, []coverage.Actor{ann})
		require.NoError(t, err)
		require.Equal(t, 1200, woken)
		require.Equal(t, coverage.WhyRole, b.entity(1199).Again[0].Why)
		b.check()

		// Nothing rests on her any more.
		b.tick(time.Hour)
		for i := range 1200 {
			b.settle(b.rec(i, 'A', src))
		}
		require.Empty(t, due(b.now.Add(time.Hour)))
		b.check()
	})
}

func TestRolesThatRecordsShow(t *testing.T) {
	ctx := context.Background()
	b := newBed(t, coverage.NewMemory(), src)
	rests := func(n int, role string) {
		r := b.rec(n, 'A', src)
		r.RestsOn = []coverage.Actor{{ID: "ann", Login: "ann", Role: role, At: b.now}}
		b.settle(r)
	}
	rests(1, "")
	rests(1, "write") // verified in the same cycle; nobody else rests on her
	as, err := b.ActorsDue(ctx, b.sc, b.now, 9)
	require.NoError(t, err)
	require.Empty(t, as)
	rests(2, "write")
	b.tick(time.Minute)
	rests(3, "read") // a newer role, read on the way: the others must hear of it
	as, err = b.ActorsDue(ctx, b.sc, t0, 9)
	require.NoError(t, err)
	require.Equal(t, "write", as[0].Role)
	b.tick(time.Minute)
	woken, err := b.NoteRoles(ctx, b.sc, []coverage.Actor{{ID: "ann", Login: "ann", Role: "read", At: b.now}})
	require.NoError(t, err)
	require.Equal(t, 3, woken)

	r := b.rec(4, 'A', src)
	r.RestsOn = []coverage.Actor{{ID: "ann", Role: "write", At: t0}}
	b.settle(r)
	require.Equal(t, coverage.WhyRole, b.entity(4).Again[0].Why, "judged under an older role")
}

func TestLookup(t *testing.T) {
	ctx := context.Background()
	b := newBed(t, coverage.NewMemory(), src)
	b.settle(b.rec(1, 'A', src))
	b.sc = scopB
	b.begin()
	b.settle(b.rec(1, 0), b.rec(2, 0))
	for text, want := range map[string]int{
		ref(1).Identity.String(): 2, "acme/widgets#1": 2, "ACME/widgets#2": 1, ref(2).URL: 1, "2": 1, "acme/widgets#3": 0, "": 0,
	} {
		got, err := b.Find(ctx, text)
		require.NoError(t, err)
		require.Len(t, got, want, text)
	}
	got, err := b.Lookup(ctx, ref(1).Identity)
	require.NoError(t, err)
	require.ElementsMatch(t, []scope.Scope{scopA, scopB}, []scope.Scope{got[0].Scope, got[1].Scope})
}

func TestRecordsThatNameNothing(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	_, err := b.Settle(context.Background(), b.sc, []coverage.Record{b.rec(1, 'A', src), {ReadAt: b.now}})
	require.ErrorIs(t, err, coverage.ErrRecord)
	require.Zero(t, b.entity(1).Ref, "all or nothing")
	_, err = b.Settle(context.Background(), scopB, []coverage.Record{b.rec(1, 'A', src)})
	require.ErrorIs(t, err, coverage.ErrUnknownScope)
}

func TestScopesAreApart(t *testing.T) {
	b := newBed(t, coverage.NewMemory(), src)
	b.appoint(1, coverage.Appointment{Why: coverage.WhyDue, At: t0})
	b.tick(time.Hour)
	b.tail("")
	b.sc = scopB // another account may see other things: nothing carries over
	b.begin()
	require.Empty(t, b.due(9))
	require.Zero(t, b.entity(1).Ref)
	require.Equal(t, b.now.Add(-2*time.Minute), b.task(coverage.Tail, coverage.Policy{}).From)
	require.NotNil(t, b.task(coverage.Turn, coverage.Policy{}))
	s, err := b.Snapshot(context.Background(), b.now)
	require.NoError(t, err)
	require.Len(t, s.Scopes, 2)
	require.Equal(t, fmt.Sprint(scopA), fmt.Sprint(s.Scopes[0].Scope))
	require.Equal(t, 1, s.Scopes[0].Agenda[0].Count)
}
