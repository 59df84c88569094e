package admission_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/query"
)

const (
	out = query.Excluded
	in  = query.Admitted
	may = query.Undecided
)

// book knows: reader, triager, writer and admin as verified, broken as unverified, hidden as a bot that only the role
// endpoint gave away. Listed are robot (write), helper (triage) and mute (no role). Titles may be edited by writers,
// comments by triagers; nothing is known of bodies.
func book() *admission.Book {
	b := admission.New(admission.Config{
		Accounts: map[string]adapters.Role{"robot": adapters.Write, "helper": adapters.Triage, "mute": adapters.NoRole},
		EditFloor: func(f query.FieldID) adapters.Role {
			return map[query.FieldID]adapters.Role{query.FTitle: adapters.Write, query.FComment: adapters.Triage}[f]
		},
	})
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	b.Learn([]adapters.Finding{
		{Actor: query.User{ID: "reader"}, Role: adapters.ReadRole, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: "outsider"}, Role: adapters.External, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: "triager"}, Role: adapters.Triage, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: "writer", Login: "wren"}, Role: adapters.Write, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: "admin"}, Role: adapters.Admin, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: "broken"}, Endpoint: "permission", Why: "status 403", At: at},
		{Actor: query.User{ID: "odd"}, Role: adapters.NoRole, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: "higher"}, Role: adapters.Admin + 1, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: "hidden", Bot: true}, Role: adapters.Admin, Verified: true, Endpoint: "permission", At: at},
		{Actor: query.User{ID: ""}, Role: adapters.Admin, Verified: true, Endpoint: "permission", At: at},
	})
	return b
}

// SPEC AU-2 AU-3 AU-4 AU-5 AU-6: every account, under both thresholds, for each way of knowing the editor.
func TestStanding(t *testing.T) {
	rows := []struct {
		name  string
		actor query.User
		// named: the standing under triage and write when the editor is named. possible: the same on a comment, which
		// triagers may edit, when the editor is not named.
		named, possible [2]query.Standing
	}{
		{"nobody", query.User{}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"login without id", query.User{Login: "wren"}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"deleted", query.User{ID: "writer", Deleted: true}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"deleted listed bot", query.User{ID: "robot", Bot: true, Deleted: true}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"not asked", query.User{ID: "stranger"}, [2]query.Standing{may, may}, [2]query.Standing{may, may}},
		{"asked in vain", query.User{ID: "broken"}, [2]query.Standing{may, may}, [2]query.Standing{may, may}},
		{"no role that is known", query.User{ID: "odd"}, [2]query.Standing{may, may}, [2]query.Standing{may, may}},
		{"role beyond the highest", query.User{ID: "higher"}, [2]query.Standing{may, may}, [2]query.Standing{may, may}},
		{"outsider", query.User{ID: "outsider"}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"reader", query.User{ID: "reader"}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"triager", query.User{ID: "triager"}, [2]query.Standing{in, out}, [2]query.Standing{in, out}},
		{"writer", query.User{ID: "writer"}, [2]query.Standing{in, in}, [2]query.Standing{in, may}},
		{"admin", query.User{ID: "admin"}, [2]query.Standing{in, in}, [2]query.Standing{in, may}},
		{"listed bot", query.User{ID: "robot", Bot: true}, [2]query.Standing{in, in}, [2]query.Standing{in, may}},
		{"listed account", query.User{ID: "helper"}, [2]query.Standing{in, out}, [2]query.Standing{in, out}},
		{"listed without a role", query.User{ID: "mute"}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"bot that is not listed", query.User{ID: "other", Bot: true}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"bot with a collaborator's id", query.User{ID: "admin", Bot: true}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"bot with a listed bot's name", query.User{ID: "other", Login: "robot", Bot: true}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
		{"person with a bot's name", query.User{ID: "stranger", Login: "robot[bot]"}, [2]query.Standing{may, may}, [2]query.Standing{may, may}},
		{"bot known by the role endpoint", query.User{ID: "hidden"}, [2]query.Standing{out, out}, [2]query.Standing{out, out}},
	}
	b := book()
	for i, threshold := range []adapters.Role{adapters.Triage, adapters.Write} {
		v := b.View(threshold)
		for _, r := range rows {
			t.Run(fmt.Sprintf("%v/%s", threshold, r.name), func(t *testing.T) {
				e := &query.Element{Actor: r.actor}
				assert.Equal(t, may, v(query.FComment, e), "attribution not read")
				e.Editors = query.EditorsNamed
				assert.Equal(t, r.named[i], v(query.FComment, e), "named: %s", b.Why(query.FComment, e, threshold))
				e.Editors = query.EditorsPossible
				assert.Equal(t, r.possible[i], v(query.FComment, e), "possible: %s", b.Why(query.FComment, e, threshold))
				e.Editors = query.EditorsPossible + 1
				assert.Equal(t, may, v(query.FComment, e), "a way of knowing that does not exist")

				st, why := b.Authorize(r.actor, threshold)
				assert.Equal(t, r.named[i], st)
				assert.NotEmpty(t, why)
			})
		}
	}
}

// SPEC AU-5: what a possible editor is worth depends on the field.
func TestPossibleEditorsByField(t *testing.T) {
	e := &query.Element{Actor: query.User{ID: "admin"}, Editors: query.EditorsPossible}
	for _, r := range []struct {
		field     query.FieldID
		threshold adapters.Role
		want      query.Standing
		why       string
	}{
		{query.FTitle, adapters.Triage, in, "verified role admin, triage is needed"},
		{query.FTitle, adapters.Write, in, "verified role admin, write is needed"},
		{query.FTitle, adapters.Admin, may, "it was edited, the provider does not say by whom, and write may edit it while admin is needed"},
		{query.FComment, adapters.Triage, in, "verified role admin, triage is needed"},
		{query.FComment, adapters.Write, may, "it was edited, the provider does not say by whom, and triage may edit it while write is needed"},
		{query.FBody, adapters.Triage, may, "it was edited, and the provider does not say by whom"},
	} {
		b := book()
		assert.Equal(t, r.want, b.View(r.threshold)(r.field, e), "%d under %v", r.field, r.threshold)
		assert.Equal(t, r.why, b.Why(r.field, e, r.threshold))
	}
	bare := admission.New(admission.Config{Accounts: map[string]adapters.Role{"robot": adapters.Admin}})
	own := &query.Element{Actor: query.User{ID: "robot"}, Editors: query.EditorsPossible}
	assert.Equal(t, may, bare.View(adapters.Triage)(query.FTitle, own), "no floor is known")
}

// SPEC AU-1: no threshold admits below triage.
func TestThresholdIsNeverBelowTriage(t *testing.T) {
	b := book()
	for r := adapters.NoRole; r < adapters.Triage; r++ {
		v := b.View(r)
		assert.Equal(t, out, v(query.FLabel, &query.Element{Actor: query.User{ID: "reader"}, Editors: query.EditorsNamed}))
		assert.Equal(t, in, v(query.FLabel, &query.Element{Actor: query.User{ID: "triager"}, Editors: query.EditorsNamed}))
	}
}

// SPEC AU-1.
func TestThreshold(t *testing.T) {
	for _, r := range []struct {
		role    string
		minimum adapters.Role
		want    adapters.Role
		lowered bool
	}{
		{"triage", adapters.NoRole, adapters.Triage, false},
		{"review", adapters.NoRole, adapters.Triage, false},
		{"review", adapters.Maintain, adapters.Maintain, false},
		{"triage", adapters.ReadRole, adapters.Triage, true},
		{"coder", adapters.NoRole, adapters.Write, false},
		{"coder", adapters.Triage, adapters.Write, true},
		{"", adapters.NoRole, adapters.Write, false},
		{"Triage", adapters.NoRole, adapters.Write, false},
		{"prioritize", adapters.Admin, adapters.Admin, false},
	} {
		got, err := admission.Threshold(r.role, r.minimum)
		assert.Equal(t, r.want, got, "%q with minimum %v", r.role, r.minimum)
		if r.lowered {
			require.ErrorIs(t, err, admission.ErrLowered)
		} else {
			require.NoError(t, err)
		}
	}
	_, err := admission.Threshold("coder", adapters.Admin+1)
	require.Error(t, err)
}

// SPEC AU-7: a view never changes; a new one sees what was learned.
func TestViewIsPure(t *testing.T) {
	b := admission.New(admission.Config{})
	e := &query.Element{Actor: query.User{ID: "7"}, Editors: query.EditorsNamed}
	before := b.View(adapters.Triage)
	require.Equal(t, may, before(query.FLabel, e))
	b.Learn([]adapters.Finding{{Actor: query.User{ID: "7"}, Role: adapters.Write, Verified: true}})
	assert.Equal(t, may, before(query.FLabel, e))
	assert.Equal(t, in, b.View(adapters.Triage)(query.FLabel, e))
}

func TestViewDoesNotAllocate(t *testing.T) {
	v := book().View(adapters.Write)
	e := &query.Element{Actor: query.User{ID: "writer"}, Editors: query.EditorsPossible}
	assert.Zero(t, testing.AllocsPerRun(100, func() { v(query.FComment, e) }))
}

// SPEC AU-8: 403, 429, 5xx and silence prove nothing, and take no proof away.
func TestLearnKeepsProof(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	write := adapters.Finding{Actor: query.User{ID: "7"}, Role: adapters.Write, Verified: true, At: t0}
	read := adapters.Finding{Actor: query.User{ID: "7"}, Role: adapters.ReadRole, Verified: true, At: t0.Add(time.Second)}
	failed := adapters.Finding{Actor: query.User{ID: "7"}, Role: adapters.Admin, Why: "status 429", At: t0.Add(time.Minute)}
	for _, r := range []struct {
		name  string
		learn []adapters.Finding
		want  query.Standing
	}{
		{"failure alone, whatever role it carries", []adapters.Finding{failed}, may},
		{"failure after proof", []adapters.Finding{write, failed}, in},
		{"proof after failure", []adapters.Finding{failed, write}, in},
		{"newer proof", []adapters.Finding{write, read}, out},
		{"older proof comes late", []adapters.Finding{read, write}, out},
	} {
		t.Run(r.name, func(t *testing.T) {
			b := admission.New(admission.Config{})
			for _, f := range r.learn {
				b.Learn([]adapters.Finding{f})
			}
			got, _ := b.Authorize(query.User{ID: "7"}, adapters.Write)
			assert.Equal(t, r.want, got)
		})
	}
}

// SPEC AU-6 AU-9: nobody is asked twice, bots never.
func TestMissing(t *testing.T) {
	var f query.Facts
	f.SetItems(query.FComment,
		query.Element{Actor: query.User{ID: "stranger", Login: "sam"}, Editors: query.EditorsNamed},
		query.Element{Actor: query.User{ID: "other", Login: "x[bot]", Bot: true}, Editors: query.EditorsNamed},
		query.Element{Actor: query.User{}, Editors: query.EditorsNamed})
	f.SetItems(query.FLabel,
		query.Element{Actor: query.User{ID: "other"}, Editors: query.EditorsNamed},
		query.Element{Actor: query.User{ID: "stranger"}, Editors: query.EditorsNamed},
		query.Element{Actor: query.User{ID: "gone", Deleted: true}, Editors: query.EditorsNamed})
	users := admission.Users(&f, nil)
	require.Equal(t, map[string]query.User{
		"stranger": {ID: "stranger", Login: "sam"},
		"other":    {ID: "other", Login: "x[bot]", Bot: true},
		"gone":     {ID: "gone", Deleted: true},
	}, users)

	var needs []query.Need
	for _, id := range []string{"stranger", "writer", "broken", "robot", "mute", "other", "gone", "zoe", "stranger"} {
		needs = append(needs, query.Need{Field: query.FComment, Actor: id})
	}
	needs = append(needs, query.Need{Field: query.FChecks}, query.Need{Field: query.FLabel, Element: "3"})
	assert.Equal(t, []query.User{{ID: "stranger", Login: "sam"}, {ID: "zoe"}}, book().Missing(needs, users))
	assert.Empty(t, book().Missing(nil, nil))
}

func TestEvidence(t *testing.T) {
	b := book()
	e, ok := b.Evidence("writer")
	require.True(t, ok)
	assert.Equal(t, admission.Evidence{
		Actor: "writer", Login: "wren", Role: "write", Verified: true, Source: "permission",
		At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
	}, e)
	e, ok = b.Evidence("robot")
	require.True(t, ok)
	assert.Equal(t, admission.Evidence{Actor: "robot", Role: "write", Verified: true, Source: admission.Configured}, e)
	e, ok = b.Evidence("broken")
	require.True(t, ok)
	assert.False(t, e.Verified)
	assert.Equal(t, "status 403", e.Why)
	_, ok = b.Evidence("stranger")
	assert.False(t, ok)
}

// SPEC AU-8: retries are held per cause.
func TestCauses(t *testing.T) {
	b := admission.New(admission.Config{})
	b.Learn([]adapters.Finding{
		{Actor: query.User{ID: "2"}, Endpoint: "permission", Why: "status 403"},
		{Actor: query.User{ID: "1"}, Endpoint: "permission", Why: "status 403"},
		{Actor: query.User{ID: "3"}, Endpoint: "permission", Why: "status 502"},
		{Actor: query.User{ID: "4"}, Role: adapters.Write, Verified: true},
		{Actor: query.User{ID: "5"}},
	})
	var got []string
	for _, c := range b.Causes() {
		got = append(got, fmt.Sprintf("%v %d", c, len(c.Actors)))
	}
	assert.Equal(t, []string{
		"role: permission: status 403 2", "role: permission: status 502 1", "role: the answer gave no reason 1",
	}, got)
	c, ok := b.CauseOf("1")
	require.True(t, ok)
	assert.Equal(t, "role: permission: status 403", c.String())
	_, ok = b.CauseOf("4")
	assert.False(t, ok)
	_, ok = b.CauseOf("6")
	assert.False(t, ok)
}

// SPEC AU-7: readers and writers at once; what a view says of an actor stays.
func TestConcurrentUse(t *testing.T) {
	b := admission.New(admission.Config{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				id := fmt.Sprint(i)
				b.Learn([]adapters.Finding{{Actor: query.User{ID: id}, Role: adapters.Write, Verified: w%2 == 0}})
				v := b.View(adapters.Write)
				e := &query.Element{Actor: query.User{ID: id}, Editors: query.EditorsNamed}
				first := v(query.FLabel, e)
				b.Missing([]query.Need{{Actor: id}}, nil)
				b.Causes()
				if v(query.FLabel, e) != first {
					t.Error("a view changed its mind")
				}
			}
		})
	}
	wg.Wait()
	for i := range 200 {
		st, _ := b.Authorize(query.User{ID: fmt.Sprint(i)}, adapters.Write)
		require.Equal(t, in, st, "the order of proof and failure must not matter")
	}
}

// SPEC AU-1 AU-3: a higher threshold never admits more, never excludes less, and knows as much.
func TestThresholdsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		role := func() *rapid.Generator[adapters.Role] {
			return rapid.Custom(func(t *rapid.T) adapters.Role {
				return adapters.Role(rapid.IntRange(0, int(adapters.Admin)+1).Draw(t, "role"))
			})
		}
		floor := role().Draw(t, "floor")
		cfg := admission.Config{EditFloor: func(query.FieldID) adapters.Role { return floor }}
		if rapid.Bool().Draw(t, "listed") {
			cfg.Accounts = map[string]adapters.Role{"1": role().Draw(t, "configured")}
		}
		b := admission.New(cfg)
		if rapid.Bool().Draw(t, "asked") {
			b.Learn([]adapters.Finding{{Actor: query.User{ID: "1"}, Role: role().Draw(t, "found"), Verified: rapid.Bool().Draw(t, "verified")}})
		}
		e := &query.Element{
			Actor:   query.User{ID: rapid.SampledFrom([]string{"", "1"}).Draw(t, "id"), Bot: rapid.Bool().Draw(t, "bot")},
			Editors: query.Editors(rapid.IntRange(0, 2).Draw(t, "editors")),
		}
		low := role().Draw(t, "low")
		high := max(low, role().Draw(t, "high"))
		atLow, atHigh := b.View(low)(query.FBody, e), b.View(high)(query.FBody, e)
		if atHigh == in && atLow != in {
			t.Fatalf("admitted at %v and %v at %v", high, atLow, low)
		}
		if atLow == out && atHigh != out {
			t.Fatalf("excluded at %v and %v at %v", low, atHigh, high)
		}
		if atLow == in && e.Actor.ID == "" {
			t.Fatal("nobody was admitted")
		}
	})
}
