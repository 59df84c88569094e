package explore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/internal/explore"
	"github.com/fullsend-ai/discovery/internal/setup"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

const example = `{
  "provider": "forgejo", "kind": "work_item", "now": "2026-01-31T09:00:00Z", "self": "id:42",
  "admit": ["7"], "exclude": ["9"],
  "facts": {
    "state": "open",
    "milestone": null,
    "assignee": ["7:alice", "bot:42:agent[bot]"],
    "due": {"unknown": "not read yet"},
    "title": {"text": "Crash when saving", "by": "9:mallory"},
    "label": [
      {"name": "bug", "by": "7:alice", "at": "2026-01-30T10:00:00Z"},
      {"name": "blocked", "by": "9:mallory"},
      {"name": "urgent"}
    ],
    "comment": {"partial": [{"text": "/fs-fix please", "by": "7:alice", "at": "2026-01-31T08:00:00Z"}]}
  }
}`

func judge(t *testing.T, facts, text string) explore.Judgement {
	t.Helper()
	f, err := explore.ReadFacts(strings.NewReader(facts))
	require.NoError(t, err)
	b, ds, err := explore.Question{Query: text, Provider: f.Provider, Kind: f.Kind, Self: f.Self, Registry: setup.Registry()}.Bind()
	require.NoError(t, err, "%v", ds)
	known, err := f.Facts(b.Catalogue())
	require.NoError(t, err)
	return explore.Judge(b, known, f.View(), f.Now)
}

func TestJudge(t *testing.T) {
	for text, want := range map[string]query.Verdict{
		`v1: state = open and milestone is empty`:                   query.True,
		`v1: assignee = self`:                                       query.True,
		`v1: assignee = "ALICE"`:                                    query.True,
		`v1: due < now`:                                             query.VerdictUnknown,
		`v1: title contains "crash"`:                                query.False,
		`v1: label = "bug"`:                                         query.True,
		`v1: label = "blocked"`:                                     query.False,
		`v1: label = "urgent"`:                                      query.VerdictUnknown,
		`v1: any comment(command = "/fs-fix" and at > now - 2h)`:    query.True,
		`v1: any comment(command = "/fs-other")`:                    query.VerdictUnknown,
		`v1: locked`:                                                query.VerdictUnknown,
		`v1: any label(name = "bug" and at < 2026-01-30T11:00:00Z)`: query.True,
	} {
		assert.Equal(t, want, judge(t, example, text).Verdict, text)
	}
}

func TestJudgementText(t *testing.T) {
	for name, text := range map[string]string{
		"true":    `v1: state = open and label = "bug" and any comment(command = "/fs-fix" and at > now - 2h)`,
		"unknown": `v1: label in ("bug", "urgent") and (label = "urgent" or due < now)`,
	} {
		var b bytes.Buffer
		require.NoError(t, judge(t, example, text).Write(&b))
		golden(t, "testdata/eval-"+name+".txt", b.String())
	}
}

// The documented example is the tested one.
func TestFactsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/facts.md")
	require.NoError(t, err)
	require.Contains(t, string(page), example)
}

func TestBadFacts(t *testing.T) {
	for facts, want := range map[string][]string{
		``:                                   {"it ends too early"},
		`[]`:                                 {"an object is wanted"},
		"{\n\"facts\": {\n}}}":               {"something follows the object"},
		"{\n\"facts\": {,}}":                 {"line 2: not JSON"},
		`{"fact": {}}`:                       {`unknown member "fact"; did you mean "facts"?`},
		`{"provider": "forgjo"}`:             {`provider: unknown provider "forgjo"; did you mean "forgejo"?`},
		`{"kind": "issue", "others": "yes"}`: {`kind: unknown kind "issue"; use work_item`, `others: "yes" is no standing`},
		`{"now": "2026-01-31T09:00:00"}`:     {`now: "2026-01-31T09:00:00" is no instant; write 2026-01-31T09:00:00Z`},
		`{"facts": {"state": "open", "state": "closed"}}`:          {`facts: "state" stands twice`},
		`{"facts": {"stat": "open"}}`:                              {`facts.stat: work items of forgejo have no such field; did you mean "state"?`},
		`{"facts": {"state": "opened"}}`:                           {`facts.state: "opened" is no word of state`},
		`{"facts": {"state": null}}`:                               {`facts.state: state is never empty`},
		`{"facts": {"state": ["open", "closed"]}}`:                 {`facts.state: state has one value`},
		`{"facts": {"locked": "yes"}}`:                             {`facts.locked: true or false is wanted, not "yes"`},
		`{"facts": {"assignee": "alice"}}`:                         {`facts.assignee: "alice" is no account; write ID:LOGIN, for example "7:alice"`},
		`{"facts": {"due": "tomorrow"}}`:                           {`facts.due: "tomorrow" is no day; write 2026-01-31`},
		`{"facts": {"milestone": 7}}`:                              {`facts.milestone: a string is wanted for milestone, which is a name, not 7`},
		`{"facts": {"label": "bug"}}`:                              {`facts.label[0]: an object is wanted`},
		`{"facts": {"label": [{"nam": "bug", "editors": "all"}]}}`: {`facts.label[0]: unknown member "nam"; did you mean "name"?`, `facts.label[0].editors: "all" is none of`},
		`{"facts": {"label": {"partial": [], "x": 1}}}`:            {`facts.label: unknown member "x"`},
		`{"facts": {"created": {"known": 5}}}`:                     {`facts.created: a string is wanted`},
	} {
		f, err := explore.ReadFacts(strings.NewReader(facts))
		if err == nil {
			_, err = f.Facts(explore.Catalogue(setup.Registry(), query.Forgejo, query.WorkItem))
		}
		if assert.Error(t, err, facts) {
			for _, w := range want {
				assert.Contains(t, err.Error(), w, facts)
			}
		}
	}
	_, err := explore.ReadFacts(strings.NewReader(`{"facts": "` + strings.Repeat("x", explore.MaxFacts) + `"}`))
	require.ErrorContains(t, err, "more than")
}

func FuzzReadFacts(f *testing.F) {
	f.Add(example)
	f.Add(`{"facts": {"label": [{}], "title": {"text": null}, "state": {"rev": ""}}}`)
	f.Fuzz(func(t *testing.T, src string) {
		file, err := explore.ReadFacts(strings.NewReader(src))
		if err != nil {
			return
		}
		for _, p := range explore.Providers() {
			_, _ = file.Facts(explore.Catalogue(setup.Registry(), p, query.ChangeProposal))
		}
	})
}

// Whatever facts there can be, a file can say them: written out and read again they are judged as before.
func TestFactsCanBeWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(explore.Kinds()).Draw(t, "kind")
		c := query.NewCatalogue(rapid.SampledFrom(explore.Providers()).Draw(t, "provider"), kind, nil)
		known := querytest.Degrade(t, querytest.Complete(t))
		dropImpossible(c, known)
		text := querytest.Query(t, c, kind, 3)
		file, err := explore.ReadFacts(strings.NewReader(written(c, known)))
		require.NoError(t, err)
		again, err := file.Facts(c)
		require.NoError(t, err, written(c, known))
		q, _ := query.Parse(text)
		b, ds := q.Bind(kind, c, querytest.Env())
		require.NotNil(t, b, "%v", ds)
		view := querytest.DrawStandings(t).View
		require.Equal(t, b.Eval(known, view, querytest.Now), b.Eval(again, view, querytest.Now), "%s\n%s", text, written(c, known))
	})
}

// dropImpossible makes unknown what the generator left empty although the provider never does.
func dropImpossible(c *query.Catalogue, f *query.Facts) {
	for _, id := range querytest.Plain {
		if field, ok := c.ByID(id); ok && field.Empty == query.NeverEmpty && f.Get(id).Presence == query.Known && len(f.Get(id).Values) == 0 {
			f.Set(id, query.Fact{})
		}
	}
}

// written is a facts file of everything that c knows of.
func written(c *query.Catalogue, f *query.Facts) string {
	facts := map[string]any{}
	for _, id := range append(append([]query.FieldID{}, querytest.Plain...), querytest.Collections...) {
		field, ok := c.ByID(id)
		if ok {
			facts[field.Name] = factOf(field, *f.Get(id))
		}
	}
	raw, err := json.Marshal(map[string]any{"facts": facts})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func factOf(field *query.Field, f query.Fact) any {
	list := []any{}
	for _, v := range f.Values {
		list = append(list, plain(v))
	}
	for i := range f.Items {
		list = append(list, elementOf(field, &f.Items[i]))
	}
	switch f.Presence {
	case query.Unknown:
		return map[string]any{"unknown": f.Why}
	case query.Partial:
		return map[string]any{"partial": list, "why": f.Why}
	}
	return map[string]any{"known": list, "rev": f.Rev}
}

func elementOf(field *query.Field, e *query.Element) any {
	o := map[string]any{"key": e.Key, "rev": e.Rev, "by": account(e.Actor),
		"editors": []string{"unread", "named", "possible"}[e.Editors]}
	if !e.At.IsZero() {
		o["at"] = e.At.Format(time.RFC3339Nano)
	}
	for _, m := range field.Members {
		if m.ID == query.MBy || m.ID == query.MAt {
			continue
		}
		fact := e.Member(m.ID)
		o[m.Name] = factOf(m, fact)
		if m.ID == query.MOnHead {
			o["head"] = fact.Rev
		}
	}
	return o
}

func account(u query.User) string {
	switch {
	case u.Deleted:
		return "deleted"
	case u.ID == "":
		return "nobody"
	case u.Bot:
		return "bot:" + u.ID + ":" + u.Login
	}
	return u.ID + ":" + u.Login
}

func plain(v query.Value) any {
	switch v.Type {
	case query.TypeBool:
		return v.Bool
	case query.TypeNumber:
		return v.Num
	case query.TypeInstant:
		return v.Time.Format(time.RFC3339Nano)
	case query.TypeDate:
		return v.Time.Format(time.DateOnly)
	case query.TypeUser:
		return account(v.User)
	}
	return fmt.Sprint(v.Str)
}
