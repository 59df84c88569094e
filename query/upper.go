package query

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
	Member   FieldID // inside a quantifier: the member tested; 0 outside, or for "has any element"
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
// one of All, And, Or and Leaf is set.
type Search struct {
	All  bool // says nothing: everything in the scope
	And  []*Search
	Or   []*Search
	Leaf *Leaf
}

// Weakening is one leaf that the search does not carry and that the local check owes.
type Weakening struct {
	Source string
	Leaf   Leaf
	Why    string
}
