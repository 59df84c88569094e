package query_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/fullsend-ai/discovery/query"
)

var (
	stateField   = &query.Field{ID: query.FState, Name: "state", Type: query.TypeWord, Words: []string{"open", "closed"}}
	updatedField = &query.Field{ID: query.FUpdated, Name: "updated", Type: query.TypeInstant}
	dueField     = &query.Field{ID: query.FDue, Name: "due", Type: query.TypeDate, Empty: query.MayBeEmpty}
	nameMember   = &query.Field{ID: query.MName, Name: "name", Type: query.TypeName}
	byMember     = &query.Field{ID: query.MBy, Name: "by", Type: query.TypeUser}
	atMember     = &query.Field{ID: query.MAt, Name: "at", Type: query.TypeInstant}
	labelField   = &query.Field{ID: query.FLabel, Name: "label", Type: query.TypeElements, Many: true, Element: true,
		Members: []*query.Field{nameMember, byMember, atMember}}
)

var noon = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

func label(name, actor string) query.Element {
	return query.Element{
		Key: name, Rev: "1", Editors: query.EditorsNamed, Actor: query.User{ID: actor, Login: actor}, At: noon,
		Members: []query.Member{{ID: query.MName, Fact: query.Fact{Presence: query.Known, Values: []query.Value{query.Name(name)}}}},
	}
}

func stateIs(word string) query.Expr {
	return query.Cond(stateField, query.OpIn, false, query.Lit(query.Word(word)))
}

func labelIs(no bool, names ...string) query.Expr {
	var vals []query.Operand
	for _, n := range names {
		vals = append(vals, query.Lit(query.Name(n)))
	}
	return query.Quant(no, labelField, query.Cond(nameMember, query.OpIn, false, vals...), "")
}

func TestEvalAllocatesNothingWhereNothingIsOwed(t *testing.T) {
	b := query.BoundOf(query.WorkItem, query.AndOf(stateIs("open"), labelIs(false, "bug"), labelIs(true, "blocked"),
		query.Cond(updatedField, query.OpLt, false, query.NowPlus(-time.Hour))))
	var f query.Facts
	f.SetKnown(query.FState, query.Word("open"))
	f.SetKnown(query.FUpdated, query.Instant(noon))
	f.SetItems(query.FLabel, label("docs", "alice"), label("later", "bob"))
	allocs := testing.AllocsPerRun(100, func() {
		if r := b.Eval(&f, query.Everyone, noon); r.Verdict != query.False {
			t.Fatal("no label is bug", r)
		}
	})
	assert.Zero(t, allocs)
}
