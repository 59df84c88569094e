package querytest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
)

// Now is the instant around which all generated times lie.
var Now = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

// The small vocabularies that facts and queries share, so that tests hold often enough to matter.
var (
	Names    = []string{"bug", "Bug", "docs", "blocked", "db,cache", "db", `a "b", c\d`, "naïve", "and", "🚀 go"}
	Refs     = []string{"main", "Main", "fix/one", "fix/two"}
	Texts    = []string{"", "please fix", "Please FIX this", "/fs-fix now", "LGTM", "a\nb"}
	Commands = []string{"/fs-fix", "/fs-review"}
	People   = []query.User{
		{ID: "1", Login: "alice"}, {ID: "2", Login: "Bob"}, {ID: "3", Login: "carol"}, {ID: "4", Login: "helper[bot]", Bot: true},
	}
	Ghost  = query.User{Deleted: true}
	Shifts = []time.Duration{
		-15 * 24 * time.Hour, -48 * time.Hour, -24 * time.Hour, -time.Hour, -time.Minute, -time.Millisecond, 0,
		time.Millisecond, time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour,
	}
)

// words are the closed lists of v1 by field and, for members, by collection.
var words = map[query.FieldID][]string{
	query.FState: {"open", "closed"}, query.FStatusCategory: {"todo", "in_progress", "done"},
	query.FAuthorKind: {"human", "bot"}, query.FChecks: {"success", "failure", "pending", "missing"},
	query.FReview: {"approved", "changes_requested", "commented", "dismissed"}, query.FLinked: {"open", "closed"},
}

// Plain are the plain fields that generated facts may have, in ascending order; Collections the element fields.
var (
	Plain = []query.FieldID{
		query.FState, query.FMerged, query.FStatus, query.FPriority, query.FStatusCategory, query.FType, query.FAuthor,
		query.FAuthorKind, query.FAssignee, query.FReviewer, query.FMilestone, query.FComponent, query.FFixVersion,
		query.FParent, query.FCreated, query.FUpdated, query.FClosed, query.FLastComment, query.FDue, query.FDraft,
		query.FIsFork, query.FBase, query.FHead, query.FChecks, query.FLocked, custom,
	}
	Collections = []query.FieldID{query.FTitle, query.FBody, query.FLabel, query.FComment, query.FReview, query.FLinked}
)

// custom is the custom field that generated queries use.
var custom = query.CustomField(10021)

// Complete draws everything about one entity: every fact known, every element attributed.
func Complete(t *rapid.T) *query.Facts {
	var f query.Facts
	for _, id := range Plain {
		f.SetKnown(id, drawValues(t, id)...)
	}
	for _, id := range Collections {
		f.SetItems(id, drawElements(t, id, 0)...)
	}
	return &f
}

// Degrade draws what an adapter may have read of an entity so far: facts that are absent or partial, elements whose
// writer, time or members were not read.
func Degrade(t *rapid.T, whole *query.Facts) *query.Facts {
	var f query.Facts
	for _, id := range Plain {
		f.Set(id, degradePlain(t, id, *whole.Get(id)))
	}
	for _, id := range Collections {
		f.Set(id, degradeItems(t, id, *whole.Get(id)))
	}
	return &f
}

// Resolve draws one of the entities that f may be part of: everything that f does not know is drawn anew.
func Resolve(t *rapid.T, f *query.Facts) *query.Facts {
	var whole query.Facts
	for _, id := range Plain {
		whole.Set(id, resolvePlain(t, id, *f.Get(id)))
	}
	for _, id := range Collections {
		whole.Set(id, resolveItems(t, id, *f.Get(id)))
	}
	return &whole
}

// Standings are what admission knows of actors, by stable id; an absent actor is undecided.
type Standings map[string]query.Standing

// DrawStandings draws a standing for everybody.
func DrawStandings(t *rapid.T) Standings {
	s := Standings{}
	for _, p := range People {
		s[p.ID] = rapid.SampledFrom([]query.Standing{query.Admitted, query.Excluded, query.Undecided}).Draw(t, "standing of "+p.Login)
	}
	return s
}

// Decide draws a standing for everybody who is undecided.
func (s Standings) Decide(t *rapid.T) Standings {
	d := Standings{}
	for _, p := range People {
		d[p.ID] = s[p.ID]
		if d[p.ID] == query.Undecided {
			d[p.ID] = rapid.SampledFrom([]query.Standing{query.Admitted, query.Excluded}).Draw(t, "decided standing of "+p.Login)
		}
	}
	return d
}

// View is the view over these standings: what was not attributed is undecided, what nobody wrote is excluded.
func (s Standings) View(_ query.FieldID, e *query.Element) query.Standing {
	switch {
	case e.Editors == query.EditorsUnread:
		return query.Undecided
	case e.Actor.ID == "" || e.Actor.Deleted:
		return query.Excluded
	}
	return s[e.Actor.ID]
}

// Several reports whether a plain field may have several values.
func Several(id query.FieldID) bool {
	switch id {
	case query.FAssignee, query.FReviewer, query.FComponent, query.FFixVersion, custom:
		return true
	}
	return false
}

func neverEmpty(id query.FieldID) bool {
	switch id {
	case query.FState, query.FMerged, query.FStatus, query.FStatusCategory, query.FAuthorKind, query.FCreated,
		query.FUpdated, query.FLastComment, query.FDraft, query.FIsFork, query.FBase, query.FHead, query.FChecks,
		query.FLocked:
		return true
	}
	return false
}

func drawValues(t *rapid.T, id query.FieldID) []query.Value {
	least, most := 0, 1
	if neverEmpty(id) {
		least = 1
	}
	if Several(id) {
		most = 3
	}
	n := rapid.IntRange(least, most).Draw(t, "values")
	var vs []query.Value
	for range n {
		vs = append(vs, drawValue(t, id))
	}
	return vs
}

func drawValue(t *rapid.T, id query.FieldID) query.Value {
	switch id {
	case query.FState, query.FStatusCategory, query.FAuthorKind, query.FChecks:
		return query.Word(rapid.SampledFrom(words[id]).Draw(t, "word"))
	case query.FMerged, query.FDraft, query.FIsFork, query.FLocked:
		return query.Bool(rapid.Bool().Draw(t, "bool"))
	case query.FAuthor, query.FAssignee, query.FReviewer:
		return query.UserValue(drawUser(t))
	case query.FCreated, query.FUpdated, query.FClosed, query.FLastComment:
		return query.Instant(drawTime(t))
	case query.FDue:
		return query.Date(drawTime(t))
	case custom:
		return drawCustom(t)
	case query.FBase, query.FHead:
		return query.Ref(rapid.SampledFrom(Refs).Draw(t, "ref"))
	}
	return query.Name(rapid.SampledFrom(Names).Draw(t, "name"))
}

// drawCustom draws of any type: the literal that it is compared with decides what it is read as.
func drawCustom(t *rapid.T) query.Value {
	switch rapid.IntRange(0, 5).Draw(t, "custom type") {
	case 0:
		return query.Number(float64(rapid.IntRange(0, 5).Draw(t, "number")))
	case 1:
		return query.Date(drawTime(t))
	case 2:
		return query.Instant(drawTime(t))
	case 3:
		return query.Bool(rapid.Bool().Draw(t, "bool"))
	case 4:
		return query.UserValue(drawUser(t))
	}
	return query.Name(rapid.SampledFrom(Names).Draw(t, "name"))
}

func drawUser(t *rapid.T) query.User {
	return rapid.SampledFrom(append(slices.Clone(People), Ghost)).Draw(t, "user")
}

func drawTime(t *rapid.T) time.Time {
	return Now.Add(rapid.SampledFrom(Shifts).Draw(t, "shift"))
}

func drawElements(t *rapid.T, id query.FieldID, first int) []query.Element {
	n := 1
	if id != query.FTitle && id != query.FBody {
		n = rapid.IntRange(0, 3).Draw(t, "elements")
	}
	var es []query.Element
	for i := range n {
		es = append(es, drawElement(t, id, fmt.Sprint(first+i)))
	}
	return es
}

func drawElement(t *rapid.T, id query.FieldID, key string) query.Element {
	e := query.Element{
		Key: key, Rev: rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "rev"), Actor: drawUser(t), At: drawTime(t),
		Editors: rapid.SampledFrom([]query.Editors{query.EditorsNamed, query.EditorsNamed, query.EditorsPossible}).Draw(t, "editors"),
	}
	for _, m := range membersOf(id) {
		e.Members = append(e.Members, query.Member{ID: m, Fact: drawMember(t, id, m)})
	}
	return e
}

func membersOf(id query.FieldID) []query.FieldID {
	switch id {
	case query.FLabel:
		return []query.FieldID{query.MName}
	case query.FComment:
		return []query.FieldID{query.MText, query.MCommand}
	case query.FReview:
		return []query.FieldID{query.MState, query.MOnHead}
	case query.FLinked:
		return []query.FieldID{query.MState, query.MMerged}
	}
	return []query.FieldID{query.MText}
}

func drawMember(t *rapid.T, id, member query.FieldID) query.Fact {
	f := query.Fact{Presence: query.Known}
	switch member {
	case query.MName:
		f.Values = []query.Value{query.Name(rapid.SampledFrom(Names).Draw(t, "name"))}
	case query.MText:
		f.Values = []query.Value{query.Text(rapid.SampledFrom(Texts).Draw(t, "text"))}
	case query.MCommand:
		if rapid.Bool().Draw(t, "has command") {
			f.Values = []query.Value{query.Name(rapid.SampledFrom(Commands).Draw(t, "command"))}
		}
	case query.MState:
		f.Values = []query.Value{query.Word(rapid.SampledFrom(words[id]).Draw(t, "state"))}
	default:
		f.Values = []query.Value{query.Bool(rapid.Bool().Draw(t, "flag"))}
	}
	if member == query.MOnHead {
		f.Rev = "head"
	}
	return f
}

// one in so many facts is degraded.
func seldom(t *rapid.T, label string) bool { return rapid.IntRange(0, 4).Draw(t, label) == 0 }

func degradePlain(t *rapid.T, id query.FieldID, f query.Fact) query.Fact {
	switch {
	case seldom(t, "absent"):
		return query.Fact{Why: "not read"}
	case Several(id) && seldom(t, "partial"):
		f.Presence = query.Partial
		f.Values = f.Values[:rapid.IntRange(0, len(f.Values)).Draw(t, "kept")]
	}
	return f
}

func degradeItems(t *rapid.T, id query.FieldID, f query.Fact) query.Fact {
	if seldom(t, "absent") {
		return query.Fact{Why: "not read"}
	}
	if len(membersOf(id)) > 0 && id != query.FTitle && id != query.FBody && seldom(t, "partial") {
		f.Presence = query.Partial
		f.Items = f.Items[:rapid.IntRange(0, len(f.Items)).Draw(t, "kept")]
	}
	f.Items = slices.Clone(f.Items)
	for i := range f.Items {
		degradeElement(t, &f.Items[i])
	}
	return f
}

func degradeElement(t *rapid.T, e *query.Element) {
	if seldom(t, "unattributed") {
		e.Editors, e.Actor = query.EditorsUnread, query.User{}
	}
	if seldom(t, "undated") {
		e.At = time.Time{}
	}
	e.Members = slices.Clone(e.Members)
	for i := range e.Members {
		if seldom(t, "member absent") {
			e.Members[i].Fact = query.Fact{}
		}
	}
}

func resolvePlain(t *rapid.T, id query.FieldID, f query.Fact) query.Fact {
	switch f.Presence {
	case query.Unknown:
		f = query.Fact{Values: drawValues(t, id)}
	case query.Partial:
		f.Values = append(slices.Clone(f.Values), drawValues(t, id)...)
	}
	f.Presence = query.Known
	return f
}

func resolveItems(t *rapid.T, id query.FieldID, f query.Fact) query.Fact {
	items := slices.Clone(f.Items)
	for i := range items {
		resolveElement(t, id, &items[i])
	}
	if f.Presence != query.Known {
		items = append(items, drawElements(t, id, 10)...)
	}
	return query.Fact{Presence: query.Known, Items: items}
}

func resolveElement(t *rapid.T, id query.FieldID, e *query.Element) {
	if e.Editors == query.EditorsUnread {
		e.Editors, e.Actor = query.EditorsNamed, drawUser(t)
	}
	if e.At.IsZero() {
		e.At = drawTime(t)
	}
	e.Members = slices.Clone(e.Members)
	for i := range e.Members {
		if m := &e.Members[i]; m.Fact.Presence != query.Known {
			m.Fact = drawMember(t, id, m.ID)
		}
	}
}
