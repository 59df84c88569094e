package forgesim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a world after a script.
func world(t testing.TB, script string) *forgesim.World {
	t.Helper()
	w := forgesim.New(forgesim.Options{})
	run(t, w, script)
	return w
}

func run(t testing.TB, w *forgesim.World, script string) {
	t.Helper()
	require.NoError(t, w.Run(context.Background(), strings.NewReader(script)))
}

const small = `
user login=acme org=true
user login=olga
user login=stella
repo repo=acme/w
set-role user=olga role=admin
create-label label=bug
create as=stella title=one name=one
`

func entity(t testing.TB, w *forgesim.World, ref string) forgesim.Entity {
	t.Helper()
	e, err := w.Entity(ref)
	require.NoError(t, err)
	return e
}

func TestReadModelSaysWhoDidIt(t *testing.T) {
	w := world(t, small+`
advance by=1h
label on=one as=stella label=bug
comment on=one as=stella body=/fs-fix name=c
advance by=1h
edit-comment comment=c as=olga body="/fs-fix now"
edit on=one as=olga body=rewritten
`)
	e := entity(t, w, "acme/w#1")
	require.Len(t, e.Labels, 1)
	assert.Equal(t, "stella", e.Labels[0].By.Login)
	assert.Equal(t, forgesim.Read, e.Labels[0].By.Role, "a stranger may read what is public")
	assert.Equal(t, forgesim.Epoch().Add(time.Hour), e.Labels[0].At)
	require.Len(t, e.Comments, 1)
	assert.Equal(t, "stella", e.Comments[0].Author.Login)
	assert.Equal(t, "olga", e.Comments[0].Editor.Login)
	assert.Equal(t, "olga", e.BodyBy.Login)
	assert.Equal(t, forgesim.Admin, e.BodyBy.Role)

	run(t, w, "set-role user=olga role=none ; delete-user login=stella")
	e = entity(t, w, "one")
	assert.Equal(t, forgesim.Read, e.BodyBy.Role, "roles are those of now")
	assert.True(t, e.Author.Deleted)
	assert.Equal(t, forgesim.None, e.Author.Role)
}

// A change by each verb, and whether Gitea moves "updated" with it
// (measured on Gitea 1.27.3; go-gitea/gitea models/issues/comment.go, updateCommentInfos).
func TestWhatMovesUpdated(t *testing.T) {
	setup := small + `
create-label label=ui
create-milestone milestone=1.0
create as=stella title=two kind=change_proposal name=pr
label on=pr as=olga label=bug
milestone on=pr as=olga milestone=1.0
comment on=pr as=stella body=hi name=c
assign on=pr as=olga user=olga
advance by=1h
`
	for _, tc := range []struct {
		does         string
		moves, shows bool // shows: a reader can see a difference at all
	}{
		{"label on=pr as=olga label=ui", true, true},
		{"label on=pr as=olga label=bug", false, false},
		{"unlabel on=pr as=olga label=bug", true, true},
		{"comment on=pr as=olga body=more", true, true},
		{"edit on=pr as=olga title=other", true, true},
		{"edit on=pr as=olga title=two", false, false},
		{"edit on=pr as=olga body=other", true, true},
		{"edit on=pr as=olga due=2026-03-01", true, true},
		{"edit on=pr as=olga locked=true", true, true},
		{"edit on=pr as=olga draft=true", true, true},
		{"edit on=pr as=olga base=next", true, true},
		{"milestone on=pr as=olga", true, true},
		{"assign on=pr as=olga user=stella", true, true},
		{"unassign on=pr as=olga user=olga", true, true},
		{"close on=pr as=olga", true, true},
		{"merge on=pr as=olga", true, true},
		{"mention on=pr as=olga from=one", true, true},
		{"push on=pr as=stella", true, true},
		{"request-review on=pr as=olga user=olga", true, true},
		{"review on=pr as=olga state=approved", true, true},
		{"rename-label label=bug to=defect", false, true},
		{"delete-label label=bug", false, true},
		{"rename-milestone milestone=1.0 to=2.0", false, true},
		{"close-milestone milestone=1.0", false, true},
		{"delete-milestone milestone=1.0", false, true},
		{"edit-comment comment=c as=olga body=changed", false, true},
		{"delete-comment comment=c", false, true},
		{"status on=pr as=olga context=ci state=success", false, true},
		{"react on=pr as=olga", false, true},
		{"set-updated on=pr at=2020-01-01", false, true},
		{"set-role user=stella role=write", false, true},
	} {
		t.Run(tc.does, func(t *testing.T) {
			w := world(t, setup)
			before := entity(t, w, "pr")
			run(t, w, tc.does)
			after := entity(t, w, "pr")
			assert.Equal(t, tc.moves, !after.Updated.Equal(before.Updated))
			if tc.moves {
				assert.Equal(t, w.Now(), after.Updated)
			}
			if tc.shows {
				assert.NotEqual(t, before, after)
			} else {
				assert.Equal(t, before, after)
			}
		})
	}
}

func TestForgejoLetsUpdatedGoBack(t *testing.T) {
	w := forgesim.New(forgesim.Options{Profile: forgesim.Forgejo()})
	run(t, w, small+"advance by=1h ; set-updated on=one at=2020-01-01")
	assert.Equal(t, 2020, entity(t, w, "one").Updated.Year())
	run(t, w, "comment on=one as=olga body=x")
	assert.Equal(t, w.Now(), entity(t, w, "one").Updated)
}

func TestVerbsRefuseWhatTheyDoNotKnow(t *testing.T) {
	for line, want := range map[string]error{
		"dance":                                forgesim.ErrVerb,
		"label on=one as=olga":                 forgesim.ErrUsage,
		"label on=one as=olga label=bug x=1":   forgesim.ErrUsage,
		"label on=one as=olga label":           forgesim.ErrUsage,
		"label on=one as=olga label=bug as=x":  forgesim.ErrUsage,
		"label on=one as=olga label=nosuch":    forgesim.ErrNotFound,
		"label on=one as=nobody label=bug":     forgesim.ErrNotFound,
		"label on=acme/w#9 as=olga label=bug":  forgesim.ErrNotFound,
		"label on=nine as=olga label=bug":      forgesim.ErrUsage,
		"merge on=one as=olga":                 forgesim.ErrRefused,
		"review on=one as=olga state=approved": forgesim.ErrUsage,
		"user login=OLGA":                      forgesim.ErrRefused,
		"create as=olga title=x name=one":      forgesim.ErrRefused,
		"create as=olga title=x labels=nosuch": forgesim.ErrNotFound,
		"set-role user=olga role=king":         forgesim.ErrUsage,
		"fault kind=gremlin":                   forgesim.ErrUsage,
		"fault kind=status":                    forgesim.ErrUsage,
		"advance by=soon":                      forgesim.ErrUsage,
		`comment on=one as=olga body="open`:    forgesim.ErrUsage,
	} {
		t.Run(line, func(t *testing.T) {
			w := world(t, small)
			before, err := w.Entities("")
			require.NoError(t, err)
			require.ErrorIs(t, w.Run(context.Background(), strings.NewReader("\n"+line)), want)
			after, err := w.Entities("")
			require.NoError(t, err)
			assert.Equal(t, before, after, "a verb that fails has done nothing")
			assert.Equal(t, int64(2), nextNumber(t, w), "and took no number")
		})
	}
	w := world(t, small)
	assert.True(t, w.Can("label"))
	assert.False(t, w.Can("dance"))
}

func nextNumber(t *testing.T, w *forgesim.World) int64 {
	ref, err := w.Create("olga", forgesim.NewEntity{Title: "next"})
	require.NoError(t, err)
	return entity(t, w, ref).Number
}

func TestAReaderMayLag(t *testing.T) {
	w := world(t, small+"advance by=1m ; close on=one as=olga ; create as=olga title=two ; advance by=10s")
	late := w.Reader(w.Profile().Moves, 30*time.Second)
	es, total := late.Select(1, forgesim.Where{}, nil, nil, 0, 50)
	require.Equal(t, 1, total)
	assert.False(t, es[0].Closed)
	_, found := late.Entity(1, 2)
	assert.False(t, found)

	run(t, w, "advance by=-1h")
	_, total = late.Select(1, forgesim.Where{}, nil, nil, 0, 50)
	assert.Equal(t, 1, total, "stepping back is no passing of time")
	run(t, w, "advance by=20s")
	es, total = late.Select(1, forgesim.Where{}, nil, nil, 0, 50)
	assert.Equal(t, 2, total)
	assert.True(t, es[1].Closed)
}

func TestNamesMayBeTakenOver(t *testing.T) {
	w := world(t, small+"rename-repo repo=acme/w to=v")
	_, was, ok := w.Repo("acme/w")
	require.False(t, ok)
	require.Equal(t, "acme/v", was.FullName())

	run(t, w, "recreate-repo repo=acme/w")
	r, was, ok := w.Repo("acme/w")
	require.True(t, ok)
	assert.Nil(t, was)
	assert.NotEqual(t, int64(1), r.ID)
	assert.Equal(t, "acme/v", entity(t, w, "one").Repo.FullName(), "an alias follows its entity")
}

func TestSeedIsAFunctionOfItsArguments(t *testing.T) {
	seeded := func(seed uint64) []forgesim.Entity {
		w := forgesim.New(forgesim.Options{})
		require.NoError(t, w.Seed(200, seed))
		es, err := w.Entities(forgesim.SeedRepo)
		require.NoError(t, err)
		return es
	}
	es := seeded(1)
	assert.Equal(t, es, seeded(1))
	assert.NotEqual(t, es, seeded(2))
	require.Len(t, es, 200)

	seen := map[string]int{}
	for _, e := range es {
		seen[string(e.Kind)]++
		seen[fmt.Sprintf("closed %v", e.Closed)]++
		for _, l := range e.Labels {
			seen["label by "+l.By.Role.String()]++
		}
		for _, c := range e.Comments {
			seen["comment by "+c.Author.Role.String()]++
		}
	}
	for _, what := range []string{"work_item", "change_proposal", "closed true", "closed false",
		"label by read", "label by triage", "label by write", "comment by read", "comment by admin"} {
		assert.Positive(t, seen[what], what)
	}
}

func TestARunningClockIsFollowed(t *testing.T) {
	now := forgesim.Epoch()
	w := forgesim.New(forgesim.Options{Clock: func() time.Time { return now }})
	now = now.Add(time.Hour)
	w.Advance(time.Minute)
	assert.Equal(t, now.Add(time.Minute), w.Now())
	require.ErrorIs(t, w.Seed(1, 1), forgesim.ErrRefused)
}

// The counters of open and done entities are kept, not counted; they must agree with counting.
func TestCountsAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := world(t, small+"create-milestone milestone=m")
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			on := fmt.Sprint(rapid.IntRange(1, 6).Draw(rt, "on"))
			verb := rapid.SampledFrom([]string{
				"create as=olga title=t milestone=m", "create as=olga title=t kind=change_proposal",
				"close on=%s as=olga", "reopen on=%s as=olga", "merge on=%s as=olga", "delete on=%s", "milestone on=%s as=olga milestone=m",
			}).Draw(rt, "verb")
			_ = w.Run(context.Background(), strings.NewReader(strings.Replace(verb, "%s", on, 1))) // what does not fit is refused
		}
		agree(rt, w)
	})
}

func agree(t *rapid.T, w *forgesim.World) {
	es, err := w.Entities("acme/w")
	require.NoError(t, err)
	var issues, proposals, inStone, done int
	for _, e := range es {
		switch {
		case e.Closed:
		case e.Kind == forgesim.WorkItem:
			issues++
		default:
			proposals++
		}
		if e.Milestone != nil && e.Closed {
			done++
		} else if e.Milestone != nil {
			inStone++
		}
	}
	r, _, _ := w.Repo("acme/w")
	require.Equal(t, []int{issues, proposals}, []int{r.OpenIssues, r.OpenProposals})
	m := w.Milestones(1)[0]
	require.Equal(t, []int{inStone, done}, []int{m.OpenItems, m.DoneItems})
}

// With the race detector on, this is the proof that a world may be used from many goroutines.
func TestManyAtOnce(t *testing.T) {
	w := world(t, small)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ref, err := w.Create("olga", forgesim.NewEntity{Title: fmt.Sprint(i)})
			assert.NoError(t, err)
			for range 20 {
				assert.NoError(t, w.Label(ref, "stella", "bug"))
				assert.NoError(t, w.Unlabel(ref, "olga", "bug"))
				_, err := w.Comment("one", "olga", "x", "")
				assert.NoError(t, err)
				w.Advance(time.Second)
				_, err = w.Entities("")
				assert.NoError(t, err)
				w.Reader(w.Profile().Moves, time.Minute).Select(1, forgesim.Where{}, nil, nil, 0, 5)
			}
		})
	}
	wg.Wait()
	assert.Len(t, entity(t, w, "one").Comments, 160)
}

// A script is bytes from outside: it must be refused or done, never a panic, and what Run splits
// must come back together.
func FuzzScript(f *testing.F) {
	for _, s := range []string{small, `label on=one as=olga label="a \"b\" c"`, "a=b", "user login=x ; user login=y # z", "\"", "user login=\"\\u00e9\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		w := forgesim.New(forgesim.Options{})
		if strings.Contains(script, "seed") {
			t.Skip("seeding any number takes any time")
		}
		_ = w.Run(context.Background(), strings.NewReader(script))
	})
}
