package query

// Emptiness says what "empty" means for a field.
type Emptiness uint8

// NeverEmpty: is empty is refused. MayBeEmpty: testable. NotTestable: empty exists but a query cannot ask (title, body).
const (
	NeverEmpty Emptiness = iota
	MayBeEmpty
	NotTestable
)

// Motion says whether a change of a field moves the entity's change clock.
type Motion uint8

// Moves: every change does. MovesPartly: some do, see Field.Note. Unmoved: none does. Fixed: the field never changes
// or is the clock itself. MotionUnsure: nobody has settled it.
const (
	Moves Motion = iota
	MovesPartly
	Unmoved
	Fixed
	MotionUnsure
)

// Field is one row of the catalogue: data, never behaviour.
type Field struct {
	ID        FieldID
	Name      string
	Type      Type
	Many      bool     // several values
	Words     []string // TypeWord: the closed list
	Kinds     []Kind
	Providers []string // "github", "gitlab", "forgejo", "jira"; members have none of their own
	Element   bool     // who wrote it matters: it passes admission
	Why       string   // why it is a fact or an element
	Empty     Emptiness
	Clock     Motion
	Walks     []string // names of the walks that notice a change; an adapter's catalogue fills it. Empty: only the sweep
	Note      string
	Members   []*Field // element fields: what may be tested inside their quantifier, by and at included
	Only      []Op     // when set, only these operators (linked_change_proposal on Jira: is empty)
}

// Catalogue is the fields that a provider has, by name. It is immutable.
type Catalogue struct {
	provider string
	kind     Kind
	byID     map[FieldID]*Field
	byName   map[string]*Field
	names    []string // sorted
	custom   bool     // cf[N] exists
	template *Field   // the row of cf[N], when it exists
}
