package github_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func failure(t *testing.T, err error) *adapters.Error {
	t.Helper()
	var e *adapters.Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e
}

// Scenario B118, SPEC GH-20: a limit is known by status, headers or body, and waits as long as the provider says, else a minute and longer
// each time.
func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		limit face.Limit
		after string
		want  time.Duration
	}{
		{"403 without headers", face.SecondaryForbidden, "", time.Minute},
		{"403 with a wait", face.SecondaryForbidden, "90", 90 * time.Second},
		{"403 that says at once", face.SecondaryForbidden, "0", time.Second},
		{"200 with errors", face.SecondaryOK, "", time.Minute},
		{"200, the hour is spent", face.PrimaryOK, "", 20 * time.Minute},
		{"429", face.TooMany, "7", 7 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := newStage(t, many(3, "work_item"))
			ses := st.open()
			st.meter.reset()
			st.face.Switch(func(q *face.Quirks) { q.Limit, q.LimitCount, q.RetryAfter = tc.limit, 1, tc.after })
			l := list(ses, "changed", time.Time{}, nil)
			e := failure(t, l.err)
			assert.ErrorIs(t, e, adapters.ErrThrottled)
			assert.Equal(t, adapters.MomentFailure, e.Severity)
			assert.Equal(t, tc.want, e.After)
			assert.Equal(t, []string{fmt.Sprint(int(tc.want.Seconds()))}, st.meter.waits, "the budget of the credential is told")
			assert.Empty(t, l.numbers)
			assert.Len(t, list(ses, "changed", time.Time{}, nil).numbers, 3)
		})
	}
	t.Run("it grows without a word", func(t *testing.T) {
		st := newStage(t, many(3, "work_item"))
		ses := st.open()
		st.face.Switch(func(q *face.Quirks) { q.Limit, q.LimitCount = face.SecondaryForbidden, 3 })
		var waits []time.Duration
		for range 3 {
			waits = append(waits, failure(t, list(ses, "changed", time.Time{}, nil).err).After)
		}
		assert.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}, waits)
	})
}

// Scenario B123, SPEC GH-20: the last good answer of the hour is used, and nothing is sent before the next hour.
func TestLastAnswerOfTheHour(t *testing.T) {
	st := newStage(t, many(3, "work_item"))
	ses := st.open()
	st.meter.reset()
	st.face.Switch(func(q *face.Quirks) { q.Points = 4 }) // three are spent by Open
	l := list(ses, "changed", time.Time{}, nil)
	require.NoError(t, l.err)
	assert.Len(t, l.numbers, 3)
	assert.Equal(t, []string{"3600"}, st.meter.waits)
	assert.ErrorIs(t, list(ses, "changed", time.Time{}, nil).err, adapters.ErrThrottled)
	st.w.Advance(time.Hour)
	assert.NoError(t, list(ses, "changed", time.Time{}, nil).err)
}

// Scenario B118, SPEC GH-20: a plain refusal is a matter of permission, and nobody waits.
func TestPlainForbidden(t *testing.T) {
	st := newStage(t, many(1, "work_item"))
	ses := st.open()
	st.meter.reset()
	st.run("fault kind=status route=issues.list status=403")
	e := failure(t, list(ses, "changed", time.Time{}, nil).err)
	assert.ErrorIs(t, e, adapters.ErrForbidden)
	assert.Equal(t, adapters.ScopeFailure, e.Severity)
	assert.Empty(t, st.meter.waits)
}

// Scenarios B129, B137, SPEC GH-16: what only looks like an answer is none, and never an empty list.
func TestNoAnswers(t *testing.T) {
	quirk := func(f func(*face.Quirks)) func(*stage) {
		return func(st *stage) { st.face.Switch(f) }
	}
	fault := func(s string) func(*stage) { return func(st *stage) { st.run("fault route=issues.list " + s) } }
	for name, tc := range map[string]struct {
		set  func(*stage)
		want error
	}{
		"data null and an error":     {quirk(func(q *face.Quirks) { q.DataNull = "INTERNAL" }), adapters.ErrProtocol},
		"data null and no error":     {quirk(func(q *face.Quirks) { q.DataNull = "silent" }), adapters.ErrProtocol},
		"data null, too heavy":       {quirk(func(q *face.Quirks) { q.DataNull = "RESOURCE_LIMITS_EXCEEDED" }), adapters.ErrUnavailable},
		"a page":                     {quirk(func(q *face.Quirks) { q.HTML = true }), adapters.ErrProtocol},
		"nothing":                    {fault("kind=empty"), adapters.ErrProtocol},
		"null":                       {fault("kind=null-body"), adapters.ErrProtocol},
		"half an answer":             {fault("kind=invalid-json"), adapters.ErrProtocol},
		"a cut":                      {fault("kind=cut"), adapters.ErrUnavailable},
		"500":                        {fault("kind=status status=500"), adapters.ErrUnavailable},
		"502 with the text null":     {quirk(func(q *face.Quirks) { q.BadGateway, q.GatewayBody = 1, `{"data":"null","errors":[{"message":"oops"}]}` }), adapters.ErrUnavailable},
		"anonymous":                  {fault("kind=anonymous"), adapters.ErrUnauthorized},
		"404 of the whole API":       {fault("kind=status status=404"), adapters.ErrNotFound},
		"a redirect, never followed": {fault("kind=status status=302"), adapters.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, many(3, "work_item"))
			ses := st.open()
			tc.set(st)
			l := list(ses, "changed", time.Time{}, nil)
			assert.ErrorIs(t, l.err, tc.want)
			assert.Empty(t, l.numbers)
			if strings.HasPrefix(name, "502") {
				assert.ErrorContains(t, l.err, "oops")
			}
		})
	}
}

// Scenario B128, SPEC GH-17: a page that is too much is asked for again in half the size; the size is kept, and climbs again.
func TestPageSizeAdapts(t *testing.T) {
	for name, set := range map[string]func(*face.Quirks, int){
		"nodes that are all null": func(q *face.Quirks, n int) { q.TooHeavy = n },
		"502":                     func(q *face.Quirks, n int) { q.BadGateway = n },
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, many(100, "work_item"))
			ses := st.open()
			st.face.Switch(func(q *face.Quirks) { set(q, 26) })
			st.meter.reset()
			l := list(ses, "all", time.Time{}, nil)
			require.NoError(t, l.err)
			require.Empty(t, l.short)
			assert.Len(t, slices.Compact(sorted(l.numbers)), 100)
			assert.Equal(t, 1+4+1, st.meter.count(adapters.Search), "one too large, four of 25, one of the other kind")
			st.meter.reset()
			assert.Len(t, list(ses, "all", time.Time{}, nil).numbers, 100)
			assert.Equal(t, 4+1, st.meter.count(adapters.Search), "it remembers")
			st.face.Switch(func(q *face.Quirks) { set(q, 0) })
			for range 8 {
				list(ses, "all", time.Time{}, nil)
			}
			st.meter.reset()
			list(ses, "all", time.Time{}, nil)
			assert.Equal(t, 2+1, st.meter.count(adapters.Search), "it climbs again")
			st.face.Switch(func(q *face.Quirks) { set(q, 6) })
			refs := make([]scope.Ref, 0, 20)
			for n := range 20 {
				refs = append(refs, l.items[n].Ref)
			}
			items, err := ses.Read(context.Background(), refs, query.Fields(query.FLabel))
			require.NoError(t, err)
			for i, it := range items {
				assert.Equal(t, adapters.Present, it.State, "%v", it.Err)
				assert.Equal(t, refs[i].ID, it.Ref.ID)
			}
		})
	}
}

// SPEC GH-16: a null row leaves its page short, with an error beside it or without; in a read it proves nothing.
func TestNullRows(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		t.Run(fmt.Sprint("quiet ", quiet), func(t *testing.T) {
			st := newStage(t, many(5, "work_item"))
			ses := st.open()
			before := list(ses, "changed", time.Time{}, nil)
			st.face.Switch(func(q *face.Quirks) { q.NullNodes, q.NullQuiet = []int64{2, 4}, quiet })
			l := list(ses, "changed", time.Time{}, nil)
			require.NoError(t, l.err)
			assert.Equal(t, []int64{1, 3, 5}, l.numbers)
			require.Len(t, l.short, 1)
			var refs []scope.Ref
			for _, it := range before.items {
				refs = append(refs, it.Ref)
			}
			items, err := ses.Read(context.Background(), refs, query.Fields(query.FLabel))
			require.NoError(t, err)
			for i, it := range items {
				want := adapters.Present
				if i == 1 || i == 3 {
					want = adapters.Unreadable
				}
				assert.Equal(t, want, it.State, "%d: %v", i+1, it.Err)
			}
		})
	}
}

// Scenario B131, SPEC GH-16: an error inside a listing's row makes that part unknown and nothing else; one that the row rests on
// leaves the page short.
func TestBrokenListing(t *testing.T) {
	st := newStage(t, many(2, "work_item"))
	ses := st.open()
	st.face.Switch(func(q *face.Quirks) { q.Broken = "assignees" })
	l := list(ses, "changed", time.Time{}, nil)
	require.NoError(t, l.err)
	assert.Empty(t, l.short)
	assert.Equal(t, query.Unknown, l.items[0].Facts.Get(query.FAssignee).Presence)
	assert.Equal(t, query.Known, l.items[0].Facts.Get(query.FState).Presence)
	for _, field := range []string{"number", "fullDatabaseId", "updatedAt", "rows", "totalCount"} {
		st.face.Switch(func(q *face.Quirks) { q.Broken = field })
		l := list(ses, "changed", time.Time{}, nil)
		assert.True(t, l.err != nil || len(l.short) > 0, field)
	}
}

// SPEC GH-4: a filter never has a null member, and nothing is asked of an index.
func TestFiltersHaveNoNulls(t *testing.T) {
	st := newStage(t, many(30, "work_item"))
	st.face.Switch(func(q *face.Quirks) { q.NullFilterIsStale = true })
	ses := st.open()
	assert.Len(t, list(ses, "changed", st.entity(11).Updated, nil).numbers, 20)
	for _, q := range st.face.Queries() {
		assert.NotContains(t, q, "search(")
		assert.NotContains(t, q, "labels:")
	}
}

// Scenario B084, SPEC GH-3: the same entity under a node id of the old form and of the new is one.
func TestNodeIDsAreAliases(t *testing.T) {
	st := newStage(t, many(2, "work_item"))
	ses := st.open()
	l := list(ses, "all", time.Time{}, nil)
	st.face.Switch(func(q *face.Quirks) { q.LegacyIDs = true })
	now := list(ses, "all", time.Time{}, nil)
	assert.Equal(t, l.items[0].Ref, now.items[0].Ref, "the header asks for one form")
	old := l.items[0].Ref
	old.Alias = "1 MDU6SXNzdWUx"
	it := item(t, ses, old, query.FLabel)
	require.Equal(t, adapters.Present, it.State, "%v", it.Err)
	assert.Equal(t, old.Identity, it.Ref.Identity, "a node that is not there is looked for by its number")
}

// SPEC GH-8: what a ref leads to after a deletion, a transfer, or a change of sight.
func TestReadOfWhatWentAway(t *testing.T) {
	st := newStage(t, many(5, "work_item")+"repo repo=acme/gadgets\nrepo repo=olga/private private=true\n")
	ses := st.open()
	l := list(ses, "all", time.Time{}, nil)
	st.run("delete on=acme/widgets#1\nmove on=acme/widgets#2 as=olga to=acme/gadgets\n")
	st.face.Switch(func(q *face.Quirks) { q.Flagged = []int64{3} })
	refs := []scope.Ref{l.items[0].Ref, l.items[1].Ref, l.items[2].Ref, l.items[3].Ref}
	other := l.items[4].Ref
	other.ID = "999"
	refs = append(refs, other, scope.Ref{Alias: "nonsense"})
	items, err := ses.Read(context.Background(), refs, query.Fields(query.FLabel))
	require.NoError(t, err)
	var states []adapters.ItemState
	for _, it := range items {
		states = append(states, it.State)
	}
	assert.Equal(t, []adapters.ItemState{adapters.Gone, adapters.Gone, adapters.Unreadable, adapters.Present, adapters.Gone, adapters.Unreadable}, states)
	st.face.Switch(func(q *face.Quirks) { q.Flagged = nil })
	assert.Equal(t, adapters.Present, item(t, ses, refs[2], query.FLabel).State, "it may come back")
	st.run("hide-repo repo=acme/widgets")
	st.token = "stranger"
	st.run("token text=stranger user=stella")
	items, err = ses.Read(context.Background(), refs[:1], query.Fields(query.FLabel))
	assert.Error(t, err, "another account sees other things")
	assert.NotEqual(t, adapters.Gone, items[0].State)
}

// SPEC GH-20: once the provider throttles, a batch asks no further.
func TestBatchStopsWhenThrottled(t *testing.T) {
	st := newStage(t, many(60, "work_item"))
	ses := st.open()
	var refs []scope.Ref
	for _, it := range list(ses, "all", time.Time{}, nil).items {
		refs = append(refs, it.Ref)
	}
	st.meter.reset()
	st.run("after route=nodes do=\"fault kind=status route=nodes status=429 retry-after=30\"")
	items, err := ses.Read(context.Background(), refs, query.Fields(query.FLabel))
	require.NoError(t, err)
	assert.Equal(t, 2, st.meter.count(adapters.Read))
	assert.Equal(t, adapters.Present, items[0].State)
	assert.Equal(t, adapters.Unreadable, items[59].State)
	assert.ErrorIs(t, items[59].Err, adapters.ErrThrottled)
	st.run("clear-faults")
	st.meter.left = 2
	items, err = ses.Read(context.Background(), refs, query.Fields(query.FLabel))
	require.NoError(t, err)
	assert.ErrorIs(t, items[59].Err, adapters.ErrBudget)
}

// SPEC GH-20: a request that is never answered ends, and a context that ends is told as such.
func TestStall(t *testing.T) {
	st := newStage(t, many(1, "work_item"))
	ses := st.open()
	st.run("fault kind=stall route=issues.list")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for st.meter.count(adapters.Search) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	for _, err := range ses.Pages(ctx, nil, adapters.Walk{Name: "changed"}, adapters.Position{}) {
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// Scenario B141, SPEC GH-21: a redirect to another host is not followed, and the credential goes nowhere.
func TestRedirectElsewhere(t *testing.T) {
	st := newStage(t, many(1, "work_item"))
	var elsewhere []string
	real := st.client.Transport
	st.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != "forge.example" {
			elsewhere = append(elsewhere, r.Header.Get("Authorization"))
			return nil, errors.New("another host was asked")
		}
		if strings.Contains(r.URL.Path, "permission") {
			return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"http://evil.example/x"}}, Body: http.NoBody, Request: r}, nil
		}
		return real.RoundTrip(r)
	})}
	ses := st.open()
	_, err := ses.Roles(context.Background(), []query.User{{ID: "2", Login: "olga"}})
	assert.ErrorIs(t, err, adapters.ErrProtocol)
	assert.Empty(t, elsewhere)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// SPEC GH-21: no error shows the credential, nor control characters.
func TestErrorsAreClean(t *testing.T) {
	st := newStage(t, many(1, "work_item"))
	st.token = "ghp_verysecret"
	st.run("token text=ghp_verysecret user=olga")
	real, refuse := st.client.Transport, false
	st.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := real.RoundTrip(r)
		if err == nil && refuse {
			resp.StatusCode = http.StatusForbidden
			resp.Header.Set("Content-Type", "application/json")
			resp.Body = body("{\"message\":\"no \\u001b[31m" + r.Header.Get("Authorization") + "\"}")
		}
		return resp, err
	})
	ses := st.open()
	refuse = true
	err := list(ses, "changed", time.Time{}, nil).err
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "verysecret")
	assert.NotContains(t, err.Error(), "\x1b")
}

// Scenario B132, SPEC GH-16: an answer from before a single sign-on is never the whole of it.
func TestSignOn(t *testing.T) {
	st := newStage(t, many(1, "work_item"))
	st.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := st.client.Transport.RoundTrip(r)
		if err == nil {
			resp.Header.Set("X-GitHub-SSO", "partial-results; organizations=21955855")
		}
		return resp, err
	})}
	ses := st.open()
	for _, w := range []string{"changed", "comments"} {
		l := list(ses, w, st.w.Now(), nil)
		require.NoError(t, l.err)
		require.NotEmpty(t, l.short, w)
		assert.ErrorIs(t, l.short[0], adapters.ErrForbidden)
	}
}

// SPEC GH-24: rows that are missing from a page leave it short, in the middle and at the end.
func TestMissingRows(t *testing.T) {
	for _, skip := range []int{0, 2} {
		st := newStage(t, many(120, "work_item"))
		ses := st.open()
		st.run(fmt.Sprintf("fault kind=drop-rows n=3 route=issues.list skip=%d count=1", skip))
		l := list(ses, "changed", time.Time{}, nil)
		require.NoError(t, l.err)
		assert.Len(t, l.numbers, 117)
		assert.NotEmpty(t, l.short)
	}
}
