package query

import (
	"cmp"
	"slices"
	"time"
)

// Strength is how exactly a provider can filter a leaf.
type Strength uint8

// None: it cannot, the leaf says nothing. Superset: it returns at least every entity for which the leaf holds. Exact:
// exactly those.
const (
	None Strength = iota
	Superset
	Exact
)

// WalkKind is how a walk enumerates.
type WalkKind uint8

// Changes reads what changed since an instant; Sweep reads everything, over an immutable key.
const (
	Changes WalkKind = iota
	Sweep
)

// Leaf is one test in one polarity, as an adapter is asked about it. Negations have been pushed down to it: Positive
// false means that the search would have to return every entity for which the test is not true.
type Leaf struct {
	Field    FieldID
	Member   FieldID // inside a quantifier: the member tested; 0 outside, or for "has any element", see AnyElement
	Op       Op
	Values   []Value // literals; an instant bound that moves with now is given as the weakest one until the next sweep
	Positive bool
	Text     string // canonical text, for plans
}

// Filters are an adapter's claims. A claim is made per leaf (field, member, operator, values), polarity and walk, and
// includes that filtering so is safe under that walk's paging. Element leaves are asked in positive polarity only.
type Filters interface {
	Filter(l Leaf, w WalkKind) Strength
}

// FiltersFunc adapts a function to Filters.
type FiltersFunc func(Leaf, WalkKind) Strength

// Filter calls f.
func (f FiltersFunc) Filter(l Leaf, w WalkKind) Strength { return f(l, w) }

// Search is a positive and/or tree over leaves that an adapter renders from its typed nodes, never from text. Exactly
// one of All, And, Or and Leaf is set. The zero Search finds nothing; Upper never returns it.
type Search struct {
	All  bool // says nothing: everything in the scope
	And  []*Search
	Or   []*Search
	Leaf *Leaf
}

// Weakening is one leaf that the search does not carry, or carries more loosely, so that the local check owes it. A zero
// Leaf speaks of the whole source.
type Weakening struct {
	Source string
	Leaf   Leaf
	Why    string
}

// Upper compiles the sources of one scope into one search that is an admissible upper bound: for every entity, every
// view and every instant from now until now+sweep, where a source's verdict over the entity's true facts is not False,
// the search returns the entity, given that f's claims are true. It is weakened, never split and never less: where
// nothing can be filtered it returns everything, as it does for no sources at all.
//
// fits says why the provider would refuse a search; nil means no limit. Upper then gives up leaves, see giveUpOrder,
// until it fits, and returns everything when nothing smaller does. sweep is the longest time until the next complete
// sweep; without one, nothing over now is filtered. The result depends on the arguments alone, not on the order of the
// sources.
func Upper(ss []Source, f Filters, w WalkKind, now time.Time, sweep time.Duration, fits func(*Search) error) (*Search, []Weakening) {
	c := &claims{filters: f, walk: w, known: map[string]Strength{}, names: map[FieldID]string{}}
	var trees []weakened
	var owed []Weakening
	for _, s := range ss {
		b := bounder{source: s.ID, claims: c, now: now.UnixMilli(), sweep: sweep.Milliseconds()}
		trees = append(trees, weakened{s.ID, b.above(s.Query.root, true)})
		owed = append(owed, b.owed...)
	}
	slices.SortStableFunc(trees, func(a, b weakened) int { return cmp.Compare(a.source, b.source) })
	search, dropped := c.within(trees, fits)
	owed = append(append(owed, dropped...), silent(trees, dropped)...)
	return search, tidyWeakenings(owed)
}

// weakened is what one source asks of the search.
type weakened struct {
	source string
	search *Search
}

func silent(trees []weakened, dropped []Weakening) []Weakening {
	var out []Weakening
	for _, t := range trees {
		if t.search.All {
			out = append(out, Weakening{Source: t.source, Why: "nothing of this source can be filtered, so the search returns everything in the scope"})
		}
	}
	return out
}

func tidyWeakenings(ws []Weakening) []Weakening {
	order := func(a, b Weakening) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(leafKey(&a.Leaf), leafKey(&b.Leaf)),
			cmp.Compare(a.Leaf.Text, b.Leaf.Text), cmp.Compare(a.Why, b.Why))
	}
	slices.SortStableFunc(ws, order)
	return slices.CompactFunc(ws, func(a, b Weakening) bool { return order(a, b) == 0 })
}

// claims asks each leaf once.
type claims struct {
	filters Filters
	walk    WalkKind
	known   map[string]Strength
	names   map[FieldID]string // of fields and members met
}

func (c *claims) of(l *Leaf) Strength {
	k := leafKey(l)
	s, ok := c.known[k]
	if !ok && c.filters != nil {
		s = c.filters.Filter(*l, c.walk)
	}
	c.known[k] = s
	return s
}

func (c *claims) text(l *Leaf) string { return leafText(*l, c.names[l.Field], c.names[l.Member]) }

func (c *claims) mergeable(wide *Leaf) bool {
	wide.Text = c.text(wide)
	return c.of(wide) != None
}

// bounder weakens one source.
type bounder struct {
	source     string
	claims     *claims
	now, sweep int64 // milliseconds
	owed       []Weakening
}

// above is a search that keeps every entity for which x (its negation, where positive is false) is not False.
func (b *bounder) above(x expr, positive bool) *Search {
	switch x := x.(type) {
	case *andExpr:
		return b.terms(x.terms, positive, positive)
	case *orExpr:
		return b.terms(x.terms, positive, !positive)
	case *notExpr:
		return b.above(x.x, !positive)
	case *quantExpr:
		if positive == x.no {
			return b.owe(b.quantLeaf(x, false), "admission may remove an element, so a negation over elements excludes nothing")
		}
		return b.someElement(x)
	case *testExpr:
		return b.leaf(nil, x, positive)
	}
	panic("query: unbound expression")
}

// terms: an and keeps what is usable, a silent branch silences an or.
func (b *bounder) terms(terms []expr, positive, all bool) *Search {
	return b.join(all, len(terms), func(i int) *Search { return b.above(terms[i], positive) })
}

func (b *bounder) join(all bool, n int, at func(int) *Search) *Search {
	ss := make([]*Search, n)
	for i := range n {
		ss[i] = at(i)
	}
	if all {
		return (&Search{And: ss}).simplifyAnd()
	}
	if s := (&Search{Or: ss}).simplifyOr(); !s.All || !slices.ContainsFunc(ss, func(s *Search) bool { return !s.All }) {
		return s
	}
	for _, s := range ss {
		for l := range s.Leaves {
			b.owe(*l, "another branch of its or cannot be filtered")
		}
	}
	return everything()
}

// simplifyAnd and simplifyOr fold one level, empty lists included: no term is true under and, false under or.
func (s *Search) simplifyAnd() *Search {
	f := &folder{}
	return f.and(f.foldEach(s.And)).s
}

func (s *Search) simplifyOr() *Search {
	f := &folder{}
	return f.or(f.foldEach(s.Or)).s
}

// someElement: any c(p and q) implies any c(p) and any c(q), and that the collection has an element.
func (b *bounder) someElement(q *quantExpr) *Search {
	b.claims.names[q.field.ID] = q.field.Name
	s := b.within(q, q.where)
	if len(s.And) > 0 {
		b.owe(b.quantLeaf(q, true), "each condition is filtered on its own; that one element meets all is checked locally")
	}
	if !s.All || alwaysThere(q.field.ID) {
		return s
	}
	return b.ask(anyElement(q.field))
}

// alwaysThere: that an entity has a title or a body selects nothing.
func alwaysThere(id FieldID) bool { return id == FTitle || id == FBody }

// within weakens what is asked of one element; only positive conditions are filtered.
func (b *bounder) within(q *quantExpr, x expr) *Search {
	switch x := x.(type) {
	case *andExpr:
		return b.join(true, len(x.terms), func(i int) *Search { return b.within(q, x.terms[i]) })
	case *orExpr:
		return b.join(false, len(x.terms), func(i int) *Search { return b.within(q, x.terms[i]) })
	case *testExpr:
		if !x.neg {
			return b.leaf(q, x, true)
		}
	}
	return b.owe(b.quantLeaf(q, true), "a negated condition on an element is not filtered")
}

// leaf asks about one test; q is the quantifier around it, if any.
func (b *bounder) leaf(q *quantExpr, t *testExpr, positive bool) *Search {
	l := Leaf{Field: t.field.ID, Op: t.op, Positive: positive != t.neg}
	b.claims.names[t.field.ID] = t.field.Name
	if q != nil {
		l.Field, l.Member = q.field.ID, t.field.ID
	}
	values, why := b.bounds(t, l.Positive)
	if why != "" {
		l.Text = t.text
		return b.owe(l, why)
	}
	l.Values = values
	return b.ask(l)
}

// ask takes the adapter's claim.
func (b *bounder) ask(l Leaf) *Search {
	l.Text = b.claims.text(&l)
	switch b.claims.of(&l) {
	case Exact:
		return &Search{Leaf: &l}
	case Superset:
		b.owe(l, "the provider filters it more loosely")
		return &Search{Leaf: &l}
	default:
		return b.owe(l, "the provider cannot filter it")
	}
}

func (b *bounder) owe(l Leaf, why string) *Search {
	b.owed = append(b.owed, Weakening{Source: b.source, Leaf: l, Why: why})
	return everything()
}

func (b *bounder) quantLeaf(q *quantExpr, positive bool) Leaf {
	return Leaf{Field: q.field.ID, Op: OpEmpty, Positive: positive, Text: q.text}
}

// bounds are the values that a leaf is asked with, or why it cannot be: an operand that moves with now becomes the
// weakest literal of all instants until now+sweep.
func (b *bounder) bounds(t *testExpr, positive bool) (vs []Value, why string) {
	for i := range t.vals {
		o := &t.vals[i]
		switch {
		case o.field != 0:
			return nil, "it compares two fields"
		case !o.now:
			vs = append(vs, o.lit)
			continue
		case b.sweep <= 0:
			return nil, "it moves with now, and no bound on the time until the next complete sweep is known"
		}
		first, last := b.now+o.offset.Milliseconds(), b.now+o.offset.Milliseconds()+b.sweep
		if t.op == OpIn {
			days, ok := daysBetween(t, first, last, positive)
			if !ok {
				return nil, "it moves with now over too many days"
			}
			vs = append(vs, days...)
			continue
		}
		vs = append(vs, weakest(t, first, last, positive))
	}
	return vs, ""
}

// weakest: an upper bound only ever grows, a lower bound is weakest at once. A custom field may hold instants or days,
// so its bound is widened to whole days.
func weakest(t *testExpr, first, last int64, positive bool) Value {
	upper := (t.op == OpLt || t.op == OpLe) == positive
	at := first
	if upper {
		at = last
	}
	switch t.field.Type {
	case TypeDate:
		return Value{Type: TypeDate, Time: time.UnixMilli(startOfDay(at)).UTC()}
	case TypeCustom:
		if at = startOfDay(at); upper {
			at += dayMillis
		}
	}
	return Value{Type: TypeInstant, Time: time.UnixMilli(at).UTC()}
}

// mostDays is how many days an equality with a moving day may spell out.
const mostDays = 31

// daysBetween are the days that now+offset meets. Negated, a single day alone excludes anything: with two, every day
// differs from one of them at some time.
func daysBetween(t *testExpr, first, last int64, positive bool) ([]Value, bool) {
	first, last = startOfDay(first), startOfDay(last)
	n := (last-first)/dayMillis + 1
	if t.field.Type != TypeDate || n > mostDays || !positive && n > 1 {
		return nil, false
	}
	var days []Value
	for d := first; d <= last; d += dayMillis {
		days = append(days, Value{Type: TypeDate, Time: time.UnixMilli(d).UTC()})
	}
	return days, true
}
