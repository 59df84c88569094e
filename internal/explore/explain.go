package explore

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
	"github.com/fullsend-ai/discovery/query"
)

// Question is one query over one provider and kind.
type Question struct {
	Query    string
	Provider string
	Kind     query.Kind // "": the one that the query fits, work items first
	Self     string     // stable id; "": a made-up one, so that a query with self can be looked at
	Registry map[string]adapters.Adapter
}

// UnsetSelf is the account that self stands for when none is named.
const UnsetSelf = "self"

// ErrRefused says that the query was refused; the diagnostics say why.
var ErrRefused = errors.New("the query is refused")

// queryName is how diagnostics name the text from the command line.
const queryName = "query"

// Bind reads and binds the query of the question.
func (q Question) Bind() (*query.Bound, diag.Diagnostics, error) {
	kinds := kindsOf(q.Kind)
	var first diag.Diagnostics
	for i, k := range kinds {
		b, ds := q.bind(k)
		if b != nil {
			return b, ds, nil
		}
		if i == 0 {
			first = ds
		}
	}
	return nil, first, ErrRefused
}

func (q Question) bind(k query.Kind) (*query.Bound, diag.Diagnostics) {
	self := q.Self
	if self == "" {
		self = UnsetSelf
	}
	parsed, _ := query.Parse(q.Query)
	b, found := parsed.Bind(k, Catalogue(q.Registry, q.Provider, k), query.Env{Self: self})
	text := yamlpos.NewText(queryName, []byte(q.Query))
	var ds diag.Diagnostics
	for _, d := range found {
		r := diag.Rule{Code: d.Code, Severity: diag.Error}
		if d.Severity == query.Warning {
			r.Severity = diag.Warning
		}
		ds = append(ds, text.Diag(r, d.Span.Start, d.Span.End, d.Message, d.Suggest))
	}
	return b, ds
}

// Explanation is what a query asks of a provider. Its JSON names every member.
type Explanation struct {
	Query     string     `json:"query"` // canonical
	Provider  string     `json:"provider"`
	Kind      query.Kind `json:"kind"`
	Fields    []Row      `json:"fields"`
	Anchors   []string   `json:"anchors"` // one of them holds wherever the query may; none: every entity is looked at
	Searches  []Search   `json:"searches"`
	Claimless bool       `json:"no_adapter,omitempty"` // this build cannot say what the provider filters
}

// Search is the bound for one kind of walk.
type Search struct {
	Walk   string `json:"walk"` // changes or sweep
	Search string `json:"search"`
	Tests  []Test `json:"tests"`
}

// Test is one leaf as the provider was asked about it, or as it is left to the local check.
type Test struct {
	Text     string `json:"test"`
	Filtered string `json:"filtered"` // exact, superset or no
	Why      string `json:"why,omitempty"`
}

// reasoner is an adapter that says why it leaves a field to the local check.
type reasoner interface {
	WhyLocal(query.FieldID) string
}

// Explain says what the query asks of the provider if now is the time and sweeps come every so often.
func Explain(q Question, now time.Time, sweep time.Duration) (Explanation, diag.Diagnostics, error) {
	b, ds, err := q.Bind()
	if err != nil {
		return Explanation{}, ds, err
	}
	cat := b.Catalogue()
	e := Explanation{Query: b.Query().String(), Provider: q.Provider, Kind: cat.Kind(), Anchors: []string{}}
	for _, r := range Fields(q.Registry, Filter{Provider: q.Provider, Kind: cat.Kind()}) {
		for _, id := range b.Fields().IDs() {
			if f, ok := cat.ByID(id); ok && (f.Name == r.Name || f.Type == query.TypeCustom && strings.HasPrefix(r.Name, "cf[")) {
				r.Name = f.Name
				e.Fields = append(e.Fields, r)
			}
		}
	}
	for _, l := range b.Necessary() {
		e.Anchors = append(e.Anchors, l.String())
	}
	a := q.Registry[q.Provider]
	if a == nil {
		e.Claimless = true
		return e, ds, nil
	}
	for _, w := range []query.WalkKind{query.Changes, query.Sweep} {
		e.Searches = append(e.Searches, searchOf(b, a, w, now, sweep))
	}
	return e, ds, nil
}

// listener keeps what an adapter was asked and what it claimed.
type listener struct {
	claims query.Filters
	asked  []Test
}

func (l *listener) Filter(leaf query.Leaf, w query.WalkKind) query.Strength {
	s := l.claims.Filter(leaf, w)
	if s != query.None {
		l.asked = append(l.asked, Test{Text: leaf.String(), Filtered: map[query.Strength]string{query.Exact: "exact", query.Superset: "superset"}[s]})
	}
	return s
}

func searchOf(b *query.Bound, a adapters.Adapter, w query.WalkKind, now time.Time, sweep time.Duration) Search {
	l := &listener{claims: a.Claims(b.Catalogue().Kind())}
	found, owed := query.Upper([]query.Source{{ID: "query", Query: b}}, l, w, now, sweep, nil)
	s := Search{Walk: map[query.WalkKind]string{query.Changes: "changes", query.Sweep: "sweep"}[w], Search: found.String(), Tests: l.asked}
	for _, x := range owed {
		if x.Leaf.Field == 0 || x.Leaf.AnyElement() && mentioned(owed, x.Leaf.Field) {
			continue // the whole source, or the weaker form of a test that is listed: the search says so itself
		}
		t := Test{Text: x.Leaf.String(), Filtered: "no", Why: x.Why}
		if i := slices.IndexFunc(s.Tests, func(o Test) bool { return o.Text == t.Text }); i >= 0 {
			s.Tests[i].Why = x.Why
			continue
		}
		if r, ok := a.(reasoner); ok && !strings.Contains(x.Why, "admission") {
			if why := r.WhyLocal(x.Leaf.Field); why != "" {
				t.Why = why
			}
		}
		s.Tests = append(s.Tests, t)
	}
	return s
}

// mentioned reports whether there is a test of the field that asks for more than an element.
func mentioned(ws []query.Weakening, f query.FieldID) bool {
	return slices.ContainsFunc(ws, func(w query.Weakening) bool { return w.Leaf.Field == f && !w.Leaf.AnyElement() })
}

// together are the searches with the names of their walks; those of equal walks are one.
func (e Explanation) together() []Search {
	if len(e.Searches) == 2 && e.Searches[0].Search == e.Searches[1].Search && slices.Equal(e.Searches[0].Tests, e.Searches[1].Tests) {
		return []Search{{"every walk", e.Searches[0].Search, e.Searches[0].Tests}}
	}
	out := slices.Clone(e.Searches)
	for i := range out {
		out[i].Walk = map[string]string{"changes": "change walks", "sweep": "sweeps"}[out[i].Walk]
	}
	return out
}

// Write writes the explanation for people.
func (e Explanation) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "query    %s\non       %s, %s\n", e.Query, e.Provider, kindsText([]query.Kind{e.Kind}))
	if len(e.Anchors) == 0 {
		b.WriteString("anchors  none: nothing in it is a plain equality, so it is tried on every entity of the scope\n")
	} else {
		fmt.Fprintf(&b, "anchors  %s\n", strings.Join(e.Anchors, " or "))
	}
	b.WriteString("\nfields\n")
	for _, r := range e.Fields {
		fmt.Fprintf(&b, "  %-12s %s; %s\n", r.Name, r.Nature, r.change())
		if r.Note != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", "", r.Note)
		}
	}
	if e.Claimless {
		fmt.Fprintf(&b, "\nsearch   this build has no adapter for %s: what it could filter is not known\n", e.Provider)
	}
	for _, s := range e.together() {
		fmt.Fprintf(&b, "\nsearch of %s: %s\n", s.Walk, s.Search)
		for _, t := range s.Tests {
			fmt.Fprintf(&b, "  %-8s %s%s\n", map[string]string{"no": "local", "exact": "exact", "superset": "superset"}[t.Filtered], t.Text, dash(t.Why))
		}
	}
	if !e.Claimless {
		b.WriteString("\nThe search may return more than the query wants, never less: each result is decided by the whole query.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
