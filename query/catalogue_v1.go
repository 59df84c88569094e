package query

import (
	"maps"
	"slices"
	"strings"
)

// The providers of v1.
const (
	GitHub  = "github"
	GitLab  = "gitlab"
	Forgejo = "forgejo" // Gitea too
	Jira    = "jira"
)

// customName is how the row of the custom fields is listed.
const customName = "cf[N]"

var (
	both     = []Kind{WorkItem, ChangeProposal}
	items    = []Kind{WorkItem}
	changes  = []Kind{ChangeProposal}
	everyone = []string{GitHub, GitLab, Forgejo, Jira}
	forges   = []string{GitHub, GitLab, Forgejo}
	jira     = []string{Jira}

	stateWords  = []string{"open", "closed"}
	reviewWords = []string{"approved", "changes_requested", "commented", "dismissed"}
)

const (
	whyPlatform = "the provider sets it; only those whom it lets change it can"
	whyCreator  = "the provider records it and nobody can edit it"
	whyWritten  = "a person wrote it, and what it says may steer an agent"
)

// v1 is the catalogue: every field of the language with what is known of it. An adapter corrects its own copy.
var v1 = []Field{
	{ID: FState, Name: "state", Type: TypeWord, Words: stateWords, Kinds: both, Providers: everyone, Why: whyPlatform, Clock: Moves,
		Note: "closed includes merged; a locked merge request of GitLab is open; on Jira closed means the category done"},
	{ID: FMerged, Name: "merged", Type: TypeBool, Kinds: changes, Providers: forges, Why: whyPlatform, Clock: Moves, Note: "false while open"},
	{ID: FStatus, Name: "status", Type: TypeName, Kinds: items, Providers: jira, Why: whyPlatform, Clock: MovesPartly, Note: "renaming a status does not move the clock"},
	{ID: FPriority, Name: "priority", Type: TypeName, Kinds: items, Providers: jira, Why: whyPlatform, Empty: MayBeEmpty, Clock: MovesPartly,
		Note: "priorities have no order here; renaming one does not move the clock"},
	{ID: FStatusCategory, Name: "status_category", Type: TypeWord, Words: []string{"todo", "in_progress", "done"}, Kinds: items, Providers: jira, Why: whyPlatform, Clock: Moves,
		Note: "the keys new, indeterminate and done of the API; a status without a category counts as todo"},
	{ID: FType, Name: "type", Type: TypeName, Kinds: items, Providers: []string{GitHub, GitLab, Jira}, Why: whyPlatform, Empty: MayBeEmpty, Clock: Moves,
		Note: "the issue type, empty only on GitHub; issue or change proposal is the source's kind"},
	{ID: FAuthor, Name: "author", Type: TypeUser, Kinds: both, Providers: everyone, Why: whyCreator, Empty: MayBeEmpty, Clock: Fixed,
		Note: "who created the entity; a deleted account equals nobody"},
	{ID: FAuthorKind, Name: "author_kind", Type: TypeWord, Words: []string{"human", "bot"}, Kinds: both, Providers: everyone, Why: whyCreator, Clock: Fixed,
		Note: "from the provider's metadata, never from the name"},
	{ID: FAssignee, Name: "assignee", Type: TypeUser, Many: true, Kinds: both, Providers: everyone, Why: whyPlatform, Empty: MayBeEmpty, Clock: Moves},
	{ID: FReviewer, Name: "reviewer", Type: TypeUser, Many: true, Kinds: changes, Providers: forges, Why: whyPlatform, Empty: MayBeEmpty, Clock: Moves,
		Note: `whose review is asked for and not yet given; a team is "org/team"`},
	{ID: FMilestone, Name: "milestone", Type: TypeName, Kinds: both, Providers: forges, Why: whyPlatform, Empty: MayBeEmpty, Clock: MovesPartly,
		Note: "renaming a milestone does not move the clock"},
	{ID: FComponent, Name: "component", Type: TypeName, Many: true, Kinds: items, Providers: jira, Why: whyPlatform, Empty: MayBeEmpty, Clock: MovesPartly,
		Note: "renaming a component does not move the clock"},
	{ID: FFixVersion, Name: "fix_version", Type: TypeName, Many: true, Kinds: items, Providers: jira, Why: whyPlatform, Empty: MayBeEmpty, Clock: MovesPartly,
		Note: "renaming a version does not move the clock"},
	{ID: FParent, Name: "parent", Type: TypeName, Kinds: items, Providers: jira, Why: whyPlatform, Empty: MayBeEmpty, Clock: Moves, Note: "the key as shown"},
	{ID: FCreated, Name: "created", Type: TypeInstant, Kinds: both, Providers: everyone, Why: whyCreator, Clock: Fixed},
	{ID: FUpdated, Name: "updated", Type: TypeInstant, Kinds: both, Providers: everyone, Why: whyPlatform, Clock: Fixed, Note: "the provider's change clock; it moves for bots too"},
	{ID: FClosed, Name: "closed", Type: TypeInstant, Kinds: both, Providers: everyone, Why: whyPlatform, Empty: MayBeEmpty, Clock: Moves,
		Note: "the last closing; empty while open"},
	{ID: FLastComment, Name: "last_comment", Type: TypeInstant, Kinds: both, Providers: everyone, Why: "it carries a time alone and no text of anyone", Clock: Moves,
		Note: "the newest comment or review of a person, no bot and no agent account; else created"},
	{ID: FDue, Name: "due", Type: TypeDate, Kinds: items, Providers: []string{GitLab, Forgejo, Jira}, Why: whyPlatform, Empty: MayBeEmpty, Clock: Moves, Note: "a day of the calendar"},
	{ID: FDraft, Name: "draft", Type: TypeBool, Kinds: changes, Providers: forges, Why: whyPlatform, Clock: Moves},
	{ID: FIsFork, Name: "is_fork", Type: TypeBool, Kinds: changes, Providers: forges, Why: whyPlatform, Clock: Moves, Note: "the head lies in another repository than the base"},
	{ID: FBase, Name: "base", Type: TypeRef, Kinds: changes, Providers: forges, Why: whyPlatform, Clock: Moves},
	{ID: FHead, Name: "head", Type: TypeRef, Kinds: changes, Providers: forges, Why: whyPlatform, Clock: Moves, Note: "whoever proposes the change names it: do not trust what it says"},
	{ID: FChecks, Name: "checks", Type: TypeWord, Words: []string{"success", "failure", "pending", "missing"}, Kinds: changes, Providers: forges, Why: whyPlatform, Clock: Unmoved,
		Note: "the roll-up of the head commit"},
	{ID: FLocked, Name: "locked", Type: TypeBool, Kinds: both, Providers: forges, Why: whyPlatform, Clock: MotionUnsure, Note: "the conversation is locked"},
	{ID: CustomField(0), Name: customName, Type: TypeCustom, Many: true, Kinds: items, Providers: jira, Why: whyPlatform, Empty: MayBeEmpty, Clock: Moves,
		Note: "typed by the value it is compared with; a field of another schema refuses the source"},
	{ID: FTitle, Name: "title", Type: TypeElements, Kinds: both, Providers: everyone, Element: true, Why: whyWritten, Empty: NotTestable, Clock: MotionUnsure,
		Note: "absent when its writer is not admitted", Members: []*Field{memberText}},
	{ID: FBody, Name: "body", Type: TypeElements, Kinds: both, Providers: everyone, Element: true, Why: whyWritten, Empty: NotTestable, Clock: MotionUnsure,
		Note: "absent when its writer is not admitted", Members: []*Field{memberText}},
	{ID: FLabel, Name: "label", Type: TypeElements, Many: true, Kinds: both, Providers: everyone, Element: true, Why: "whoever applied it may steer an agent with it", Empty: MayBeEmpty, Clock: MovesPartly,
		Note:    "label = x means any label(name = x); renaming or deleting a label does not move the clock",
		Members: []*Field{{ID: MName, Name: "name", Type: TypeName}, memberBy, {ID: MAt, Name: "at", Type: TypeInstant, Note: "when it was applied"}}},
	{ID: FComment, Name: "comment", Type: TypeElements, Many: true, Kinds: both, Providers: everyone, Element: true, Why: whyWritten, Empty: MayBeEmpty, Clock: MovesPartly,
		Note: "adding one moves the clock; editing one does not on Forgejo, deleting one does not anywhere",
		Members: []*Field{memberBy, {ID: MCommand, Name: "command", Type: TypeName, Empty: MayBeEmpty, Note: `the first token of the first line, when it starts with "/"`},
			memberText, memberAt}},
	{ID: FReview, Name: "review", Type: TypeElements, Many: true, Kinds: changes, Providers: forges, Element: true, Why: whyWritten, Empty: MayBeEmpty, Clock: Moves,
		Note: "the standing review of each reviewer",
		Members: []*Field{memberBy, {ID: MState, Name: "state", Type: TypeWord, Words: reviewWords},
			{ID: MOnHead, Name: "on_head", Type: TypeBool, Note: "it was given for the head commit"}, memberAt}},
	{ID: FLinked, Name: "linked_change_proposal", Type: TypeElements, Many: true, Kinds: items, Providers: []string{GitHub, GitLab, Jira}, Element: true,
		Why: "whoever opens a proposal can claim a link", Empty: MayBeEmpty, Clock: Unmoved,
		Note: "by is the author of the proposal; on Jira only is empty can be asked",
		Members: []*Field{{ID: MState, Name: "state", Type: TypeWord, Words: stateWords}, {ID: MMerged, Name: "merged", Type: TypeBool},
			{ID: MBy, Name: "by", Type: TypeUser, Note: "the author of the proposal"}}},
}

var (
	memberBy   = &Field{ID: MBy, Name: "by", Type: TypeUser, Note: "who wrote the current revision, the one whom admission checks"}
	memberAt   = &Field{ID: MAt, Name: "at", Type: TypeInstant, Note: "when the current revision was written"}
	memberText = &Field{ID: MText, Name: "text", Type: TypeText}
)

// AllFields gives every field of v1 over all providers, in the order of the reference; the custom fields are one row
// named cf[N]. The rows are the caller's to keep.
func AllFields() []*Field {
	out := make([]*Field, len(v1))
	for i := range v1 {
		out[i] = v1[i].clone()
	}
	return out
}

func (f *Field) clone() *Field {
	c := *f
	c.Words, c.Kinds, c.Providers = slices.Clone(f.Words), slices.Clone(f.Kinds), slices.Clone(f.Providers)
	c.Walks, c.Only = slices.Clone(f.Walks), slices.Clone(f.Only)
	c.Members = nil
	for _, m := range f.Members {
		c.Members = append(c.Members, m.clone())
	}
	return &c
}

// NewCatalogue gives the fields that provider has for entities of kind k. A provider that v1 does not name begins with
// every field that some provider has, and edit says which of them it lacks. edit sees a copy of each row, the one of
// cf[N] included, and may correct it; a row for which it reports false is left out. edit may be nil, and must not keep
// the row.
func NewCatalogue(provider string, k Kind, edit func(*Field) bool) *Catalogue {
	c := &Catalogue{provider: provider, kind: k, byID: map[FieldID]*Field{}, byName: map[string]*Field{}}
	named := slices.Contains(everyone, provider)
	for _, f := range AllFields() {
		if named && !slices.Contains(f.Providers, provider) || !slices.Contains(f.Kinds, k) {
			continue
		}
		narrow(provider, f)
		if edit != nil && !edit(f) {
			continue
		}
		if f.Type == TypeCustom {
			c.custom, c.template = true, f.clone()
			continue
		}
		f = f.clone()
		c.byID[f.ID], c.byName[f.Name] = f, f
	}
	c.names = slices.Sorted(maps.Keys(c.byName))
	return c
}

// narrow makes a row say what holds on one provider alone.
func narrow(provider string, f *Field) {
	switch {
	case f.ID == FType && provider != GitHub:
		f.Empty = NeverEmpty
	case f.ID == FLinked && provider == Jira:
		f.Only, f.Members = []Op{OpEmpty}, nil
	}
}

// Provider is the provider whose fields these are.
func (c *Catalogue) Provider() string { return c.provider }

// Kind is the kind of entity whose fields these are.
func (c *Catalogue) Kind() Kind { return c.kind }

// Field gives a field by name, in any case; cf[10021] is a name. The field is not to be altered.
func (c *Catalogue) Field(name string) (*Field, bool) {
	name = strings.ToLower(name)
	if f, ok := c.byName[name]; ok {
		return f, true
	}
	if n, ok := customNumber(name); ok {
		return c.ByID(CustomField(n))
	}
	return nil, false
}

// ByID gives a field by its id, a custom field included. The field is not to be altered.
func (c *Catalogue) ByID(id FieldID) (*Field, bool) {
	if n, ok := id.Custom(); ok {
		if !c.custom {
			return nil, false
		}
		f := c.template.clone()
		f.ID, f.Name = id, name{custom: true, n: n}.String()
		return f, true
	}
	f, ok := c.byID[id]
	return f, ok
}

// Names lists the fields in alphabetical order, without the custom ones.
func (c *Catalogue) Names() []string { return slices.Clone(c.names) }

// HasCustom reports whether custom fields exist.
func (c *Catalogue) HasCustom() bool { return c.custom }

// Member gives a member of an element field by name, in any case.
func (f *Field) Member(name string) (*Field, bool) {
	for _, m := range f.Members {
		if strings.EqualFold(m.Name, name) {
			return m, true
		}
	}
	return nil, false
}

// customNumber reads cf[n].
func customNumber(s string) (uint32, bool) {
	digits, ok := strings.CutPrefix(s, "cf[")
	digits, closed := strings.CutSuffix(digits, "]")
	if !ok || !closed || digits == "" || len(digits) > 9 {
		return 0, false
	}
	var n uint32
	for _, d := range []byte(digits) {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + uint32(d-'0')
	}
	return n, true
}
