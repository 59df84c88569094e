package trigger

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/fullsend-ai/discovery/query"
)

// Names of the types end in a word that no CEL identifier can hold, so that a trigger can read objects but make none.
var (
	entityType = types.NewObjectType("entity object")
	sourceType = types.NewObjectType("source object")
	userType   = types.NewObjectType("user object")
	eventType  = types.NewObjectType("event object")
)

// Macros put these behind a member's name; no trigger can write them. present tells whether the member is set. each is
// a list to go through element by element: where others may exist, it ends in an unknown element.
const (
	present = "@has"
	each    = "@each"
)

// member is one member of an object type.
type member struct {
	typ  *types.Type
	get  func(data any) ref.Val // data of a present object; the value, null, or unknown
	has  func(data any) ref.Val
	each func(data any) ref.Val // lists only
	id   query.FieldID          // members of the entity that are facts
}

// schema is the provider of all object types that a trigger can meet.
type schema struct {
	types.Provider
	objects   map[string]map[string]*member
	catalogue *query.Catalogue
}

func newSchema(c *query.Catalogue, base types.Provider) *schema {
	s := &schema{Provider: base, objects: map[string]map[string]*member{}, catalogue: c}
	s.addUsers()
	s.addEvent()
	s.addEntity()
	return s
}

// lookup finds a member of an object type. Custom fields are found by number: entity.cf_10010.
func (s *schema) lookup(owner, name string) (*member, bool) {
	if m, ok := s.objects[owner][name]; ok {
		return m, true
	}
	digits, ok := strings.CutPrefix(name, "cf_")
	if !ok || owner != entityType.TypeName() || !s.catalogue.HasCustom() {
		return nil, false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != digits {
		return nil, false
	}
	f, ok := s.catalogue.ByID(query.CustomField(uint32(n)))
	if !ok {
		return nil, false
	}
	return listMember(f, types.DynType), true
}

func (s *schema) add(owner *types.Type, name string, m *member) {
	if s.objects[owner.TypeName()] == nil {
		s.objects[owner.TypeName()] = map[string]*member{}
	}
	s.objects[owner.TypeName()][name] = m
}

// FindStructType implements types.Provider.
func (s *schema) FindStructType(name string) (*types.Type, bool) {
	if _, ok := s.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return s.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (s *schema) FindStructFieldNames(name string) ([]string, bool) {
	if ms, ok := s.objects[name]; ok {
		return slices.Sorted(maps.Keys(ms)), true
	}
	return s.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (s *schema) FindStructFieldType(owner, name string) (*types.FieldType, bool) {
	if _, ok := s.objects[owner]; !ok {
		return s.Provider.FindStructFieldType(owner, name)
	}
	bare, kind, _ := strings.Cut(name, "@")
	m, ok := s.lookup(owner, bare)
	if !ok {
		return nil, false
	}
	switch kind {
	case "":
		return fieldType(m.typ, m.get, zeroOf(m.typ), owner), true
	case present[1:]:
		return fieldType(types.BoolType, m.has, types.False, owner), true
	case each[1:]:
		if m.each != nil {
			return fieldType(m.typ, m.each, zeroOf(m.typ), owner), true
		}
	}
	return nil, false
}

var errNoEvent = errors.New("event is null: test event != null first")

// fieldType reads a member. A member of something unknown is unknown; a member of an absent part is its zero, as it is
// for unset messages; of an event that is null there are no members.
func fieldType(t *types.Type, get func(any) ref.Val, zero ref.Val, owner string) *types.FieldType {
	return &types.FieldType{
		Type: t,
		// Presence goes through the has macro, which is three-valued; this is never asked.
		IsSet: func(any) bool { return false },
		GetFrom: func(obj any) (any, error) {
			switch o := obj.(type) {
			case *types.Unknown:
				return o, nil
			case *object:
				return get(o.data), nil
			}
			if owner == eventType.TypeName() {
				return nil, errNoEvent
			}
			return zero, nil
		},
	}
}

// zeroOf is what a member of that type is when nothing set it: null where the type has it.
func zeroOf(t *types.Type) ref.Val {
	if t.IsAssignableType(types.NullType) {
		return types.NullValue
	}
	switch t.Kind() {
	case types.StringKind:
		return types.String("")
	case types.BoolKind:
		return types.False
	case types.DoubleKind:
		return types.Double(0)
	case types.ListKind:
		return list(nil)
	}
	return types.NullValue
}

func list(vs []ref.Val) ref.Val { return types.NewRefValList(types.DefaultTypeAdapter, vs) }

// isSet is CEL's presence: neither null nor the type's zero.
func isSet(v, zero ref.Val) ref.Val {
	if types.IsUnknownOrError(v) {
		return v
	}
	if l, ok := v.(traits.Lister); ok {
		return types.Bool(l.Size() != types.IntZero)
	}
	return types.Bool(types.Equal(v, zero) != types.True && v != types.NullValue)
}
