package explore

import (
	"reflect"
	"slices"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// Providers are the names that a catalogue exists for.
func Providers() []string { return []string{query.GitHub, query.GitLab, query.Forgejo, query.Jira} }

// Kinds are the kinds of entity.
func Kinds() []query.Kind { return []query.Kind{query.WorkItem, query.ChangeProposal} }

// Row is one field as data. JSON members are added, never changed.
type Row struct {
	Name      string              `json:"name"`
	Type      string              `json:"type"`
	Several   bool                `json:"several,omitempty"`
	Words     []string            `json:"words,omitempty"`
	Kinds     []query.Kind        `json:"kinds,omitempty"`
	Providers []string            `json:"providers,omitempty"`
	Nature    string              `json:"nature,omitempty"` // fact or element
	Why       string              `json:"why,omitempty"`    // why it is that
	Empty     string              `json:"empty"`            // never, yes, or not testable
	Moves     string              `json:"moves_clock,omitempty"`
	Walks     map[string][]string `json:"noticed_by,omitempty"` // by provider; an empty list is the sweep alone
	Tests     []string            `json:"only,omitempty"`       // the only tests that the provider answers
	Note      string              `json:"note,omitempty"`
	Members   []Row               `json:"members,omitempty"`
}

// Filter narrows the rows; the zero Filter is everything.
type Filter struct {
	Provider string
	Kind     query.Kind
}

// Fields lists the catalogue: all of v1, or what one provider has for one kind or both. What notices a change is known
// of the providers that have an adapter.
func Fields(reg map[string]adapters.Adapter, f Filter) []Row {
	if f.Provider != "" {
		return ofProvider(reg, f.Provider, kindsOf(f.Kind))
	}
	var rows []Row
	for _, field := range query.AllFields() {
		if f.Kind != "" && !slices.Contains(field.Kinds, f.Kind) {
			continue
		}
		r := rowOf(field)
		for _, p := range field.Providers {
			for _, k := range kindsOf(f.Kind) {
				if own, ok := adapterField(reg[p], k, field); ok {
					r.notice(p, own)
				}
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func kindsOf(k query.Kind) []query.Kind {
	if k != "" {
		return []query.Kind{k}
	}
	return Kinds()
}

// adapterField is an adapter's own row of a field.
func adapterField(a adapters.Adapter, k query.Kind, f *query.Field) (*query.Field, bool) {
	if a == nil {
		return nil, false
	}
	c := a.Catalogue(k)
	if c == nil {
		return nil, false
	}
	return c.ByID(f.ID)
}

// ofProvider lists a provider's rows; where kinds differ in more than that, each has a row of its own.
func ofProvider(reg map[string]adapters.Adapter, provider string, kinds []query.Kind) (rows []Row) {
	for _, any := range query.AllFields() {
		var first *Row
		for _, k := range kinds {
			f, ok := Catalogue(reg, provider, k).ByID(any.ID)
			if !ok {
				continue
			}
			r := rowOf(f)
			r.Name, r.Providers = any.Name, []string{provider}
			if reg[provider] != nil {
				r.notice(provider, f)
			}
			if first != nil && reflect.DeepEqual(*first, r) {
				continue
			}
			if first != nil {
				last := &rows[len(rows)-1]
				last.Kinds, r.Kinds = slices.DeleteFunc(last.Kinds, func(x query.Kind) bool { return x == k }), []query.Kind{k}
			}
			kept := r
			kept.Kinds = slices.Clone(r.Kinds)
			first = &kept
			rows = append(rows, r)
		}
	}
	return rows
}

// Catalogue is the one of the provider's adapter, else that of the language.
func Catalogue(reg map[string]adapters.Adapter, provider string, k query.Kind) *query.Catalogue {
	if a := reg[provider]; a != nil {
		if c := a.Catalogue(k); c != nil {
			return c
		}
	}
	return query.NewCatalogue(provider, k, nil)
}

func rowOf(f *query.Field) Row {
	r := Row{
		Name: f.Name, Type: typeName(f), Several: f.Many, Words: f.Words, Kinds: f.Kinds, Providers: f.Providers,
		Nature: "fact", Why: f.Why, Note: f.Note,
		Empty: map[query.Emptiness]string{query.NeverEmpty: "never", query.MayBeEmpty: "yes", query.NotTestable: "not testable"}[f.Empty],
		Moves: motion(f.Clock),
	}
	if f.Element {
		r.Nature = "element"
	}
	for _, op := range f.Only {
		r.Tests = append(r.Tests, map[query.Op]string{query.OpEmpty: "is empty"}[op])
	}
	for _, m := range f.Members {
		member := rowOf(m)
		member.Nature, member.Why, member.Moves = "", "", ""
		r.Members = append(r.Members, member)
	}
	return r
}

func (r *Row) notice(provider string, f *query.Field) {
	if f.Clock == query.Fixed {
		return
	}
	if r.Walks == nil {
		r.Walks = map[string][]string{}
	}
	for _, w := range f.Walks {
		if !slices.Contains(r.Walks[provider], w) {
			r.Walks[provider] = append(r.Walks[provider], w)
		}
	}
	if r.Walks[provider] == nil {
		r.Walks[provider] = []string{}
	}
}

func motion(m query.Motion) string {
	switch m {
	case query.Moves:
		return "yes"
	case query.MovesPartly:
		return "partly"
	case query.Unmoved:
		return "no"
	case query.Fixed:
		return "never changes"
	}
	return "not sure"
}

func typeName(f *query.Field) string {
	switch f.Type {
	case query.TypeBool:
		return "bool"
	case query.TypeWord:
		return "word"
	case query.TypeName:
		return "name"
	case query.TypeRef:
		return "ref"
	case query.TypeUser:
		return "user"
	case query.TypeText:
		return "text"
	case query.TypeInstant:
		return "instant"
	case query.TypeDate:
		return "date"
	case query.TypeCustom:
		return "by its literal"
	case query.TypeElements:
		return "elements"
	}
	return "number"
}
