package jira

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func site() *Site {
	return &Site{Now: time.Date(2026, 1, 31, 12, 0, 30, 0, time.UTC), Zone: time.FixedZone("", -5*3600), FoldLabel: true, Caller: "me", Accounts: []string{"me", "712020:a-b"},
		Statuses: []Status{{"1", "Open", "new"}, {"2", "Done", "done"}, {"3", "2", "indeterminate"}}, Types: []Named{{"10", "Bug"}}, Priority: []Named{{"5", "High"}},
		Component: []Named{{"7", "API"}}, Projects: []Project{{"10000", "DO", "10001"}, {"10001", "OTHER", "Other"}},
		Fields: []Custom{{ID: 10021, Type: "number"}}, Keys: map[string]string{"DO-1": "501"}}
}

// The table of empty fields, multiple values, precedence and negation, as the facts give them.
func TestSemantics(t *testing.T) {
	bare := &Issue{ID: "501", Project: "10000", Status: "1", Type: "10", Creator: "me", Created: time.Date(2026, 1, 31, 11, 0, 0, 0, time.UTC), Updated: time.Date(2026, 1, 31, 11, 0, 1, 0, time.UTC)}
	full := *bare
	full.Labels, full.Priority, full.Components, full.Due = []string{"Foo", "bar"}, "5", []string{"7"}, "2026-01-31"
	for jql, want := range map[string][2]bool{ // without and with values
		`labels = foo`:                                     {false, true},
		`labels != foo`:                                    {false, false},
		`labels != x`:                                      {false, true},
		`labels not in (x)`:                                {false, true},
		`NOT labels = x`:                                   {false, true},
		`NOT (labels = x OR labels = y)`:                   {false, true},
		`labels = foo OR NOT labels = foo`:                 {false, true},
		`(labels != x OR labels is EMPTY)`:                 {true, true},
		`labels = EMPTY`:                                   {true, false},
		`labels in (EMPTY, x)`:                             {true, false},
		`labels is not EMPTY`:                              {false, true},
		`labels = foo AND labels = bar`:                    {false, true},
		`not not labels = foo`:                             {false, true},
		`due < "2026-02-01"`:                               {false, true},
		`NOT due < "2026-02-01"`:                           {false, false},
		`priority = high`:                                  {false, true},
		`status = 2`:                                       {false, false},
		`status = 1`:                                       {true, true},
		`statusCategory = 2`:                               {true, true},
		`statusCategory = "To Do"`:                         {true, true},
		`project = 10000`:                                  {true, true},
		`project = "10001"`:                                {true, true}, // a name before an id, once quoted
		`project = do`:                                     {true, true},
		`labels = foo OR status = 1 AND status = "Done"`:   {false, true},
		`updated >= "-61m"`:                                {true, true},
		`updated >= "-60m"`:                                {false, false},
		`updated >= "-59m"`:                                {false, false},
		`updated >= 1769857201000`:                         {true, true},
		`updated >= 1769857201001`:                         {false, false},
		`updated <= "2026-01-31 06:00"`:                    {false, false}, // no seconds: one second late
		`created <= "2026-01-31 06:00"`:                    {true, true},   // in the caller's zone
		`created >= "2026-01-31 11:00"`:                    {false, false},
		`creator = currentUser()`:                          {true, true},
		`assignee is EMPTY && key = do-1`:                  {true, true},
		`assignee = "712020:a-b" || id = 501`:              {true, true},
		`cf[10021] > 3`:                                    {false, false},
		`labels in ("foo", 'x') order by created desc, id`: {false, true},
	} {
		if jql == `project = do` { // DO is a reserved word
			_, err := site().Match(jql, bare)
			require.Error(t, err)
			continue
		}
		for i, is := range []*Issue{bare, &full} {
			got, err := site().Match(jql, is)
			require.NoError(t, err, jql)
			assert.Equal(t, want[i], got, "%s, %d", jql, i)
		}
	}
	s := site()
	s.FoldLabel = false
	got, err := s.Match(`labels = foo`, &full)
	require.NoError(t, err)
	assert.False(t, got, "a site that tells cases apart")
}

// What Jira answers with 400.
func TestRefused(t *testing.T) {
	for _, jql := range []string{`labels = a b`, `labels in (a`, `labels in ()`, `labels = "a`, `labels == a`, `labels <> a`, `AND labels = a`, `labels = a AND`, `labels = do`, `labels = "a\q"`,
		`labels = "a\u00zz"`, "labels = \"a\nb\"", `status = Gone`, `status in (1, 99)`, `project = NOPE`, `labels = "a b"`, `nothing = 1`, `cf[1] = 1`, `key = "DO-9"`, `creator = "nobody"`,
		`labels > a`, `summary = x`, `labels ~ x`, `updated >= "31.1.2026"`, `updated >= 2026-01-31 09:00`, `status = 1 ORDER id`, `status = 1 ORDER BY summary`, `labels is foo`, `labels = a) OR (labels = b`, `labels = a;`} {
		_, err := site().Match(jql, &Issue{})
		assert.Error(t, err, jql)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`project = 10000 AND (labels in ("a\"b") OR NOT cf[10021] >= "3") ORDER BY id ASC`)
	f.Fuzz(func(t *testing.T, jql string) {
		q, err := parse(jql)
		if err == nil && q == nil {
			t.Fatal("neither a query nor an error")
		}
	})
}
