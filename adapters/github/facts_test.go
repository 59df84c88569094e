package github_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github"
	face "github.com/fullsend-ai/discovery/internal/forgesim/github"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

const issueStory = `
user login=gus
create as=stella title="it breaks" body="a body"
create-label label=bug
create-label label=ui
create-milestone milestone=v2
label on=1 as=wes label=bug
advance by=1m
unlabel on=1 as=wes label=bug
label on=1 as=olga label=bug
label on=1 as=robo label=ui
rename-label label=ui to=UI
assign on=1 as=olga user=wes
milestone on=1 as=olga milestone=v2
type on=1 as=olga type=Bug
comment on=1 as=stella body="please look\n/not-a-command" name=c1
comment on=1 as=gus body="/fs-fix now" name=c2
advance by=1m
edit-comment comment=c1 as=wes body="/fs-code changed"
edit on=1 as=wes title="it breaks badly" locked=true
advance by=1m
edit on=1 as=rea body="another body"
delete-user login=gus
advance by=1m
comment on=1 as=robo body="beep"
close on=1 as=olga
`

func item(t *testing.T, ses adapters.Session, ref scope.Ref, fs ...query.FieldID) adapters.Item {
	t.Helper()
	items, err := ses.Read(context.Background(), []scope.Ref{ref}, query.Fields(fs...))
	require.NoError(t, err)
	require.Len(t, items, 1)
	return items[0]
}

// everything is every field of a kind.
func everything(k query.Kind) []query.FieldID {
	c := github.Adapter{}.Catalogue(k)
	var ids []query.FieldID
	for _, n := range c.Names() {
		f, _ := c.Field(n)
		ids = append(ids, f.ID)
	}
	return ids
}

// show writes facts as lines, so that a test states them as a table.
func show(f *query.Facts, ids ...query.FieldID) string {
	var b strings.Builder
	value := func(v query.Value) string {
		switch v.Type {
		case query.TypeBool:
			return fmt.Sprint(v.Bool)
		case query.TypeInstant:
			return v.Time.Format("15:04")
		case query.TypeUser:
			if v.User.Deleted {
				return "ghost"
			}
			return v.User.Login
		}
		return v.Str
	}
	for _, id := range ids {
		fact := f.Get(id)
		field, _ := github.Adapter{}.Catalogue(query.WorkItem).ByID(id)
		if field == nil {
			field, _ = github.Adapter{}.Catalogue(query.ChangeProposal).ByID(id)
		}
		fmt.Fprintf(&b, "%s:", field.Name)
		switch fact.Presence {
		case query.Unknown:
			fmt.Fprintf(&b, " unknown (%s)", fact.Why)
		case query.Partial:
			fmt.Fprintf(&b, " partial (%s)", fact.Why)
		}
		for _, v := range fact.Values {
			fmt.Fprintf(&b, " %s", value(v))
		}
		b.WriteString("\n")
		for _, e := range fact.Items {
			fmt.Fprintf(&b, " ")
			for _, m := range e.Members {
				for _, v := range m.Fact.Values {
					fmt.Fprintf(&b, " %q", value(v))
				}
			}
			switch {
			case e.Editors == query.EditorsUnread:
				b.WriteString(" by ?\n")
			case e.Actor.Deleted:
				fmt.Fprintf(&b, " by nobody\n")
			default:
				fmt.Fprintf(&b, " by %s at %s\n", e.Actor.Login, e.At.Format("15:04"))
			}
		}
	}
	return b.String()
}

// SPEC GH-10, GH-11, GH-12: every fact of an issue, with who wrote it.
func TestIssueFacts(t *testing.T) {
	st := newStage(t, issueStory)
	it := item(t, st.open(), st.ref(1), everything(query.WorkItem)...)
	require.Equal(t, adapters.Present, it.State, "%v", it.Err)
	assert.Equal(t, strings.TrimLeft(`
assignee: wes
author: stella
author_kind: human
body:
  "another body" by rea at 09:03
closed: 09:04
comment:
  "/fs-code changed" "/fs-code" by wes at 09:02
  "/fs-fix now" "/fs-fix" by nobody
  "beep" by robo[bot] at 09:04
created: 09:00
label:
  "UI" by robo[bot] at 09:01
  "bug" by olga at 09:01
last_comment: 09:02
linked_change_proposal:
locked: true
milestone: v2
state: closed
title:
  "it breaks badly" by wes at 09:02
type: Bug
updated: 09:04
`, "\n"), show(it.Facts, everything(query.WorkItem)...))
}

// SPEC GH-10: what a listing's row shows, and what it leaves to a read.
func TestRowFacts(t *testing.T) {
	st := newStage(t, issueStory)
	ses := st.open()
	l := list(ses, "changed", time.Time{}, nil)
	require.NoError(t, l.err)
	require.Empty(t, l.short)
	require.Len(t, l.items, 1)
	it := l.items[0]
	assert.Equal(t, st.ref(1).Identity, it.Ref.Identity)
	assert.Equal(t, "acme/widgets#1", it.Ref.Key)
	assert.Equal(t, "http://forge.example/acme/widgets/issues/1", it.Ref.URL)
	assert.NoError(t, ses.Scope().Check(it.Place))
	assert.NotEmpty(t, it.Token)
	assert.Equal(t, st.w.Now(), it.ReadAt)
	assert.Equal(t, "title:\n  \"it breaks badly\" by ?\nbody:\n  \"another body\" by rea at 09:03\nlabel:\n  \"UI\" by ?\n  \"bug\" by ?\ncomment: unknown ()\n",
		show(it.Facts, query.FTitle, query.FBody, query.FLabel, query.FComment))
}

const pullStory = `
user login=gus
repo repo=olga/fork
repo repo=acme/widgets2
create as=stella repo=acme/widgets kind=change_proposal title="a fix" base=main head=fix/one head-repo=olga/fork draft=true
create as=robo repo=acme/widgets kind=change_proposal title="bump" head=bot/bump
request-review on=acme/widgets#1 as=olga user=wes
request-review on=acme/widgets#1 as=olga user=rea
advance by=1m
review on=acme/widgets#1 as=wes state=approved body="good"
review on=acme/widgets#1 as=stella state=commented
review on=acme/widgets#1 as=gus state=changes_requested
delete-user login=gus
advance by=1m
push on=acme/widgets#1 as=stella
review on=acme/widgets#1 as=olga state=changes_requested
review on=acme/widgets#1 as=wes state=commented
advance by=1m
dismiss-review on=acme/widgets#1 as=wes user=olga
status on=acme/widgets#1 as=olga context=ci/test state=success
status on=acme/widgets#1 as=olga context=ci/lint state=pending
edit on=acme/widgets#1 as=olga draft=false
merge on=acme/widgets#2 as=olga
`

// SPEC GH-13: every fact of a pull request, with its standing reviews.
func TestPullFacts(t *testing.T) {
	st := newStage(t, pullStory).pulls()
	ses := st.open()
	it := item(t, ses, st.ref0("acme/widgets#1"), everything(query.ChangeProposal)...)
	require.Equal(t, adapters.Present, it.State, "%v", it.Err)
	assert.Equal(t, strings.TrimLeft(`
assignee:
author: stella
author_kind: human
base: main
body:
  "" by stella at 09:00
checks: pending
closed:
comment:
created: 09:00
draft: false
head: fix/one
is_fork: true
label:
last_comment: 09:02
locked: false
merged: false
milestone:
review:
  "approved" "false" by wes at 09:01
  "commented" "false" by stella at 09:01
  "changes_requested" "false" by nobody
  "dismissed" "true" by wes at 09:03
reviewer: rea
state: open
title:
  "a fix" by stella at 09:00
updated: 09:03
`, "\n"), show(it.Facts, everything(query.ChangeProposal)...))
	two := item(t, ses, st.ref0("acme/widgets#2"), query.FChecks)
	assert.Equal(t, "state: closed\nmerged: true\nauthor: robo[bot]\nauthor_kind: bot\nchecks: missing\nis_fork: false\n",
		show(two.Facts, query.FState, query.FMerged, query.FAuthor, query.FAuthorKind, query.FChecks, query.FIsFork))
}

func (s *stage) ref0(name string) scope.Ref {
	s.t.Helper()
	e, err := s.w.Entity(name)
	require.NoError(s.t, err)
	id := e.ID
	if e.ChangeID != 0 {
		id = e.ChangeID
	}
	return scope.Ref{Identity: scope.Identity{Provider: "github", Tenant: "forge.example", Kind: s.config.Kind, ID: fmt.Sprint(id)},
		Alias: fmt.Sprint(e.Number), Key: name}
}

// SPEC GH-14: the proposals that would close an issue, by their authors; one out of sight leaves the collection partial.
func TestLinkedProposals(t *testing.T) {
	st := newStage(t, `
repo repo=olga/secret private=true
create as=olga repo=olga/secret kind=change_proposal title=hidden name=hidden
create as=stella repo=acme/widgets title=broken name=issue
create as=wes repo=acme/widgets kind=change_proposal title=one name=one
create as=stella repo=acme/widgets kind=change_proposal title=two name=two
link on=issue as=wes to=one
link on=issue as=wes to=two
merge on=one as=olga
`)
	it := item(t, st.open(), st.ref0("issue"), query.FLinked)
	assert.Equal(t, "linked_change_proposal:\n  \"closed\" \"true\" by wes at 09:00\n  \"open\" \"false\" by stella at 09:00\n", show(it.Facts, query.FLinked))
	st.token = "rw"
	st.run("link on=issue as=olga to=hidden")
	it = item(t, st.open(), st.ref0("issue"), query.FLinked)
	assert.Contains(t, show(it.Facts, query.FLinked), "partial (a linked proposal is out of sight)")
}

// SPEC GH-15: a collection that does not fit into a read is read on, and its elements stay attributed.
func TestLongCollections(t *testing.T) {
	var script strings.Builder
	script.WriteString("create as=stella title=long\n")
	for i := range 70 {
		fmt.Fprintf(&script, "create-label label=l%02d\nlabel on=1 as=wes label=l%02d\n", i, i)
	}
	for range 120 {
		script.WriteString("create-label label=x\nlabel on=1 as=olga label=x\nunlabel on=1 as=olga label=x\ndelete-label label=x\n")
	}
	for i := range 230 {
		fmt.Fprintf(&script, "label on=1 as=olga label=l00\nunlabel on=1 as=olga label=l00\ncomment on=1 as=rea body=\"no %d\"\n", i)
	}
	script.WriteString("label on=1 as=olga label=l00\n")
	st := newStage(t, script.String())
	ses := st.open()
	l := list(ses, "changed", time.Time{}, nil)
	require.Equal(t, query.Partial, l.items[0].Facts.Get(query.FLabel).Presence, "a row shows the first fifty")
	it := item(t, ses, l.items[0].Ref, query.FLabel, query.FComment)
	labels, comments := it.Facts.Get(query.FLabel), it.Facts.Get(query.FComment)
	require.Equal(t, query.Known, labels.Presence, labels.Why)
	require.Len(t, labels.Items, 70)
	for _, e := range labels.Items {
		want := "wes"
		if e.Members[0].Fact.Values[0].Str == "l00" {
			want = "olga"
		}
		assert.Equal(t, want, e.Actor.Login, "%s", e.Members[0].Fact.Values[0].Str)
	}
	require.Equal(t, query.Known, comments.Presence)
	require.Len(t, comments.Items, 230)
}

// SPEC GH-15: a further page that cannot be had leaves the collection partial, and is no failure of the entity.
func TestCollectionThatCannotBeReadOn(t *testing.T) {
	var script strings.Builder
	script.WriteString("create as=stella title=long\n")
	for i := range 60 {
		fmt.Fprintf(&script, "comment on=1 as=rea body=\"no %d\"\n", i)
	}
	st := newStage(t, script.String())
	ses := st.open()
	st.run("after route=nodes do=\"fault kind=status route=node status=403 count=1\"")
	it := item(t, ses, st.ref(1), query.FComment, query.FLastComment)
	require.Equal(t, adapters.Present, it.State)
	assert.Equal(t, query.Partial, it.Facts.Get(query.FComment).Presence)
	assert.Len(t, it.Facts.Get(query.FComment).Items, 50)
	assert.Equal(t, query.Unknown, it.Facts.Get(query.FLastComment).Presence)
	st.run("clear-faults")
	it = item(t, ses, st.ref(1), query.FComment)
	assert.Equal(t, query.Known, it.Facts.Get(query.FComment).Presence)
}

// SPEC GH-11: a label that came along with a transfer has no event here: nobody applied it.
func TestTransferredLabelIsNobodys(t *testing.T) {
	st := newStage(t, `
repo repo=acme/old
create-label repo=acme/old label=bug
create-label repo=acme/widgets label=bug
create as=stella repo=acme/old title=moving labels=bug name=m
advance by=24h
move on=m as=olga to=acme/widgets name=here
`)
	ses := st.open()
	it := item(t, ses, st.ref0("here"), query.FLabel)
	assert.Equal(t, "label:\n  \"bug\" by nobody\n", show(it.Facts, query.FLabel))
	all := list(ses, "all", time.Time{}, nil)
	assert.Equal(t, []int64{1}, all.numbers, "its old creation does not hide it from the sweep")
}

// Scenario B131, SPEC GH-16: an error inside an answer makes unknown what rests on that part, and nothing else.
func TestBrokenPart(t *testing.T) {
	for field, want := range map[string]string{
		"assignees":   "assignee: unknown (FORBIDDEN: Resource not accessible.)\n",
		"milestone":   "milestone: unknown (FORBIDDEN: Resource not accessible.)\n",
		"labelEvents": "label: unknown (FORBIDDEN: Resource not accessible.)\n",
		"renames":     "title: unknown (FORBIDDEN: Resource not accessible.)\n",
		"edits":       "body: unknown (FORBIDDEN: Resource not accessible.)\n",
		"author":      "author: unknown (FORBIDDEN: Resource not accessible.)\n",
		"comments":    "comment: unknown (FORBIDDEN: Resource not accessible.)\n",
		"links":       "linked_change_proposal: unknown (FORBIDDEN: Resource not accessible.)\n",
	} {
		t.Run(field, func(t *testing.T) {
			st := newStage(t, issueStory)
			st.face.Switch(func(q *face.Quirks) { q.Broken = field })
			it := item(t, st.open(), st.ref(1), everything(query.WorkItem)...)
			require.Equal(t, adapters.Present, it.State, "%v", it.Err)
			all := show(it.Facts, everything(query.WorkItem)...)
			assert.Contains(t, all, want)
			assert.Contains(t, all, "type: Bug\n")
		})
	}
	t.Run("updatedAt", func(t *testing.T) {
		st := newStage(t, issueStory)
		st.face.Switch(func(q *face.Quirks) { q.Broken = "updatedAt" })
		it := item(t, st.open(), st.ref(1), query.FLabel)
		assert.Equal(t, adapters.Unreadable, it.State)
	})
}

// longStory is one entity whose collections are all longer than one page, and one of the other kind.
func longStory(kind string) string {
	var b strings.Builder
	other := "change_proposal"
	if kind == other {
		other = "work_item"
	}
	fmt.Fprintf(&b, "create as=stella kind=%s title=long\ncreate as=wes kind=%s title=other\n", kind, other)
	for i := range 60 {
		fmt.Fprintf(&b, "user login=u%d\ncreate-label label=l%02d\nlabel on=1 as=wes label=l%02d\nassign on=1 as=wes user=u%d\ncomment on=1 as=rea body=x name=c%d\n", i, i, i, i, i)
		if kind == "change_proposal" {
			fmt.Fprintf(&b, "request-review on=1 as=olga user=u%d\nreview on=1 as=wes state=approved\ndismiss-review on=1 as=olga user=wes\n", i)
		} else {
			fmt.Fprintf(&b, "create as=wes kind=change_proposal title=p name=p%d\nlink on=1 as=wes to=p%d\n", i, i)
		}
	}
	b.WriteString("create-label label=x\n")
	for range 60 {
		b.WriteString("label on=1 as=wes label=x\nunlabel on=1 as=wes label=x\n")
	}
	b.WriteString("advance by=1m\nedit-comment comment=c1 as=rea body=y\nedit on=1 as=wes title=longer body=longer\n")
	return b.String()
}
