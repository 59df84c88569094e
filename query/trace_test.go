package query_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
)

// SPEC FA-16
func TestTraceReadsWell(t *testing.T) {
	trace := sampleTrace(t)
	assert.Equal(t, strings.TrimLeft(`
unknown  v1: (state = open or milestone is empty) and label = "bug" and not any comment(at >= now - 1h and text contains "wait")
         until 2025-06-15T12:30:00.001Z
         needs the role of 7, who wrote a label
  unknown  all of
    true     one of
      true     state = open  [open]
      unknown  milestone is empty  [unknown: the token may not read milestones]
    unknown  label = "bug"
      true     "bug" (k2) by "eve\u001b[2J", undecided
        true     name = "bug"  ["bug"]
      false    elements that cannot satisfy it: 1
    true     not
      false    any comment(at >= now - 1h and text contains "wait")
        false    elements that cannot satisfy it: 1
`, "\n"), trace.String())
}

func TestTraceIsJSON(t *testing.T) {
	data, err := json.Marshal(sampleTrace(t))
	require.NoError(t, err)
	var back query.Trace
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, sampleTrace(t), back)
	assert.Contains(t, string(data), `"verdict":"unknown"`)
	assert.Contains(t, string(data), `"needs":[{"field":"label","actor":"7"}]`)
}

func sampleTrace(t *testing.T) query.Trace {
	cat := query.NewCatalogue(query.GitHub, query.WorkItem, nil)
	b := bindText(t, `v1: (state = open or milestone is empty) and label = "bug" and not any comment(at >= now - 1h and text contains "wait")`, cat, "")
	var f query.Facts
	f.SetKnown(query.FState, query.Word("open"))
	f.Set(query.FMilestone, query.Fact{Why: "the token may not read milestones"})
	bug, docs := label("bug", "7"), label("docs", "1")
	bug.Key, bug.Actor.Login, docs.Key = "k2", "eve\x1b[2J", "k1"
	f.SetItems(query.FLabel, bug, docs)
	f.SetItems(query.FComment, query.Element{
		Key: "c1", Rev: "1", Editors: query.EditorsNamed, Actor: query.User{ID: "1", Login: "alice"}, At: noon.Add(-30 * time.Minute),
		Members: []query.Member{{ID: query.MText, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Text("go on")}}}},
	})
	view := func(_ query.FieldID, e *query.Element) query.Standing {
		if e.Actor.ID == "1" {
			return query.Admitted
		}
		return query.Undecided
	}
	return b.Explain(&f, view, noon)
}
