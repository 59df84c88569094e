package query

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Trace is how a verdict came about, for people and for records. Its JSON names every field.
type Trace struct {
	Query   string      `json:"query"`
	Now     time.Time   `json:"now"`
	Verdict Verdict     `json:"verdict"`
	Until   time.Time   `json:"until,omitzero"`
	Needs   []TraceNeed `json:"needs,omitempty"`
	RestsOn []string    `json:"rests_on,omitempty"`
	Root    Step        `json:"root"`
}

// TraceNeed is a Need with its field's name.
type TraceNeed struct {
	Field   string `json:"field"`
	Element string `json:"element,omitempty"`
	Actor   string `json:"actor,omitempty"`
}

// Step is one part of a query with its truth.
type Step struct {
	Op       string         `json:"op"` // and, or, not, any, no, test
	Text     string         `json:"text"`
	Verdict  Verdict        `json:"verdict"`
	Field    string         `json:"field,omitempty"`    // of any, no and test
	Presence string         `json:"presence,omitempty"` // of the fact: known, partial, unknown
	Values   []string       `json:"values,omitempty"`   // as the language spells them, long ones cut
	Why      string         `json:"why,omitempty"`      // why the fact is not known
	Steps    []Step         `json:"steps,omitempty"`
	Elements []TraceElement `json:"elements,omitempty"`
}

// TraceElement is one element that a quantifier looked at. Truth is of the condition, its standing ignored.
type TraceElement struct {
	Key      string    `json:"key"`
	Name     string    `json:"name,omitempty"` // of a label, which people know rather than its key
	Writer   string    `json:"writer"`
	Actor    string    `json:"actor,omitempty"` // stable id
	At       time.Time `json:"at,omitzero"`
	Standing string    `json:"standing"`
	Why      string    `json:"why,omitempty"` // of the standing; Explain does not know it, who keeps the roles may set it
	Truth    Verdict   `json:"truth"`
	Steps    []Step    `json:"steps,omitempty"`
}

// Explain evaluates as Eval does and keeps every step, also those that could not change the verdict.
func (b *Bound) Explain(f *Facts, v View, now time.Time) Trace {
	r := b.Eval(f, v, now)
	ev := evaluation{facts: f, view: v, now: now.UnixMilli()}
	t := Trace{Query: b.text(), Now: now.UTC(), Verdict: r.Verdict, Until: r.Until, RestsOn: r.RestsOn, Root: ev.step(b.root, nil)}
	for _, n := range r.Needs {
		t.Needs = append(t.Needs, TraceNeed{Field: b.fieldName(n.Field), Element: n.Element, Actor: n.Actor})
	}
	return t
}

func (b *Bound) text() string {
	if b.query != nil {
		return b.query.String()
	}
	return render(b.root)
}

func (b *Bound) fieldName(id FieldID) string {
	if b.cat != nil {
		if f := b.cat.byID[id]; f != nil {
			return f.Name
		}
	}
	if n, ok := id.Custom(); ok {
		return fmt.Sprintf("cf[%d]", n)
	}
	return fmt.Sprintf("field %d", id)
}

func (ev *evaluation) step(x expr, el *Element) Step {
	s := Step{Text: render(x), Verdict: ev.truth(x, el)}
	switch x := x.(type) {
	case *andExpr:
		s.Op, s.Steps = "and", ev.steps(x.terms, el)
	case *orExpr:
		s.Op, s.Steps = "or", ev.steps(x.terms, el)
	case *notExpr:
		s.Op, s.Steps = "not", []Step{ev.step(x.x, el)}
	case *quantExpr:
		s.Op = "any"
		if x.no {
			s.Op = "no"
		}
		ev.stepOfQuantifier(&s, x)
	case *testExpr:
		s.Op = "test"
		ev.stepOfTest(&s, x, el)
	}
	return s
}

func (ev *evaluation) steps(xs []expr, el *Element) []Step {
	steps := make([]Step, len(xs))
	for i, x := range xs {
		steps[i] = ev.step(x, el)
	}
	return steps
}

func (ev *evaluation) stepOfQuantifier(s *Step, q *quantExpr) {
	fact := ev.facts.Get(q.field.ID)
	s.Field, s.Presence, s.Why = q.field.Name, fact.Presence.String(), fact.Why
	for i := range fact.Items {
		el := &fact.Items[i]
		s.Elements = append(s.Elements, TraceElement{
			Key: el.Key, Name: nameOf(el), Writer: writerOf(el), Actor: el.Actor.ID, At: el.At,
			Standing: ev.standing(q, el).String(), Truth: ev.truth(q.where, el), Steps: []Step{ev.step(q.where, el)},
		})
	}
	slices.SortStableFunc(s.Elements, func(a, b TraceElement) int { return strings.Compare(a.Key, b.Key) })
}

func nameOf(el *Element) string {
	if f := el.Member(MName); f.Presence == Known && len(f.Values) == 1 {
		return f.Values[0].Str
	}
	return ""
}

func writerOf(el *Element) string {
	switch {
	case el.Editors == EditorsUnread:
		return "not read"
	case nobody(&el.Actor):
		return "nobody"
	case el.Editors == EditorsPossible:
		return userText(&el.Actor) + " or an editor"
	}
	return userText(&el.Actor)
}

func (ev *evaluation) stepOfTest(s *Step, t *testExpr, el *Element) {
	var one [1]Value
	presence, values := ev.values(t, el, &one)
	s.Field, s.Presence = t.field.Name, presence.String()
	for i := range values {
		s.Values = append(s.Values, cut(valueText(&values[i])))
	}
	if el == nil {
		s.Why = ev.facts.Get(t.field.ID).Why
	}
}

// longest is how much of a value a trace shows.
const longest = 120

func cut(s string) string {
	if utf8.RuneCountInString(s) <= longest {
		return s
	}
	return string([]rune(s)[:longest]) + "…"
}

// String is the trace as an indented text. What the provider sent is quoted.
func (t Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %s\n", t.Verdict, t.Query)
	if !t.Until.IsZero() {
		fmt.Fprintf(&b, "         until %s\n", t.Until.Format("2006-01-02T15:04:05.999Z07:00"))
	}
	for _, n := range t.Needs {
		fmt.Fprintf(&b, "         needs %s\n", n)
	}
	if len(t.RestsOn) > 0 {
		fmt.Fprintf(&b, "         rests on the roles of %s\n", plainText(strings.Join(t.RestsOn, ", ")))
	}
	t.Root.print(&b, 1)
	return b.String()
}

// String says what is to be read or verified.
func (n TraceNeed) String() string {
	switch {
	case n.Actor != "":
		return fmt.Sprintf("the role of %s, who wrote a %s", plainText(n.Actor), n.Field)
	case n.Element != "":
		return fmt.Sprintf("who wrote %s %s", n.Field, quote(n.Element))
	}
	return n.Field
}

func (s Step) print(b *strings.Builder, depth int) {
	text := s.Text
	switch s.Op {
	case "and":
		text = "all of"
	case "or":
		text = "one of"
	case "not":
		text = "not"
	}
	fmt.Fprintf(b, "%s%-8s %s%s\n", indent(depth), s.Verdict, text, s.seen())
	for _, t := range s.Steps {
		t.print(b, depth+1)
	}
	s.printElements(b, depth+1)
}

// seen is what the fact said.
func (s Step) seen() string {
	var parts []string
	switch {
	case s.Op == "and" || s.Op == "or" || s.Op == "not":
		return ""
	case s.Presence == Known.String() && len(s.Values) == 0 && len(s.Elements) == 0:
		parts = append(parts, "empty")
	case s.Presence != Known.String():
		parts = append(parts, s.Presence)
	}
	if len(s.Values) > 0 {
		parts = append(parts, strings.Join(s.Values, ", "))
	}
	if s.Why != "" {
		parts = append(parts, plainText(s.Why))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  [" + strings.Join(parts, ": ") + "]"
}

// printElements shows the elements that could satisfy the condition, and counts the others.
func (s Step) printElements(b *strings.Builder, depth int) {
	others := 0
	for _, e := range s.Elements {
		if e.Truth == False {
			others++
			continue
		}
		what := quote(e.Key)
		if e.Name != "" {
			what = fmt.Sprintf("%s (%s)", quote(e.Name), plainText(e.Key))
		}
		fmt.Fprintf(b, "%s%-8s %s by %s, %s%s\n", indent(depth), e.Truth, what, e.Writer, e.Standing, reason(e.Why))
		for _, t := range e.Steps {
			t.print(b, depth+1)
		}
	}
	if others > 0 {
		fmt.Fprintf(b, "%s%-8s elements that cannot satisfy it: %d\n", indent(depth), False, others)
	}
}

func reason(why string) string {
	if why == "" {
		return ""
	}
	return ": " + plainText(why)
}

// plainText is s without what could move a terminal's cursor or reorder its text.
func plainText(s string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}

func indent(depth int) string { return strings.Repeat("  ", depth) }
