package trigger

import (
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/fullsend-ai/discovery/query"
)

// addUsers declares user: id, login, bot. Roles are not shown; they belong to admission.
func (s *schema) addUsers() {
	s.add(userType, "id", always(types.StringType, func(d any) ref.Val { return types.String(d.(*query.User).ID) }))
	s.add(userType, "login", always(types.StringType, func(d any) ref.Val { return types.String(d.(*query.User).Login) }))
	s.add(userType, "bot", always(types.BoolType, func(d any) ref.Val { return types.Bool(d.(*query.User).Bot) }))
}

// addEntity declares what an entity is called and one member per field of the catalogue, by the field's name.
func (s *schema) addEntity() {
	name := func(get func(*evaluation) string) *member {
		return always(types.StringType, func(d any) ref.Val { return types.String(get(d.(*evaluation))) })
	}
	s.add(sourceType, "system", name(func(ev *evaluation) string { return ev.in.Ref.Provider }))
	s.add(entityType, "source", always(sourceType, func(d any) ref.Val { return &object{typ: sourceType, data: d} }))
	s.add(entityType, "kind", name(func(ev *evaluation) string { return string(ev.in.Ref.Kind) }))
	s.add(entityType, "id", name(func(ev *evaluation) string { return ev.in.Ref.ID }))
	s.add(entityType, "key", name(func(ev *evaluation) string { return ev.in.Ref.Key }))
	s.add(entityType, "url", name(func(ev *evaluation) string { return ev.in.Ref.URL }))
	for _, n := range s.catalogue.Names() {
		f, _ := s.catalogue.Field(n)
		s.add(entityType, n, s.fieldMember(f))
	}
}

func (s *schema) fieldMember(f *query.Field) *member {
	switch {
	case f.ID == query.FTitle || f.ID == query.FBody:
		return textMember(f)
	case f.Type == query.TypeElements:
		return s.elementsMember(f)
	case f.Many:
		return listMember(f, scalarType(f.Type))
	}
	return scalarMember(f)
}

// always is a member that is never unknown.
func always(t *types.Type, get func(any) ref.Val) *member {
	return &member{typ: t, get: get, has: func(d any) ref.Val { return isSet(get(d), zeroOf(t)) }}
}

func scalarType(t query.Type) *types.Type {
	switch t {
	case query.TypeBool:
		return types.BoolType
	case query.TypeNumber:
		return types.DoubleType
	case query.TypeInstant:
		return types.TimestampType
	case query.TypeUser:
		return userType
	case query.TypeCustom:
		return types.DynType
	}
	return types.StringType // a date is yyyy-mm-dd, which sorts as days do
}

// nullable makes scalars that may be empty nullable; users and timestamps are so by nature.
func nullable(t *types.Type, f *query.Field) *types.Type {
	if f.Empty != query.MayBeEmpty {
		return t
	}
	switch t.Kind() {
	case types.BoolKind, types.StringKind, types.DoubleKind:
		return types.NewNullableType(t)
	}
	return t
}

// scalarMember is a plain fact of one value: null when it is known empty.
func scalarMember(f *query.Field) *member {
	t := nullable(scalarType(f.Type), f)
	get := func(d any) ref.Val {
		ev := d.(*evaluation)
		fact := ev.fact(f)
		if fact.Presence != query.Known {
			return ev.unknown(query.Need{Field: f.ID})
		}
		return first(fact.Values, t)
	}
	return &member{id: f.ID, typ: t, get: get, has: func(d any) ref.Val {
		v := get(d)
		if types.IsUnknown(v) {
			return v
		}
		return types.Bool(v != types.NullValue)
	}}
}

// listMember is a plain fact of several values.
func listMember(f *query.Field, elem *types.Type) *member {
	read := func(d any) (*evaluation, []ref.Val, bool) {
		ev := d.(*evaluation)
		fact := ev.fact(f)
		return ev, values(fact.Values), fact.Presence == query.Known
	}
	return collection(f, elem, func(d any) (*evaluation, []ref.Val, []query.Need) {
		ev, vs, complete := read(d)
		if complete {
			return ev, vs, nil
		}
		return ev, vs, []query.Need{{Field: f.ID}}
	})
}

// collection is a list of which read gives what is there and what would complete it.
func collection(f *query.Field, elem *types.Type, read func(any) (*evaluation, []ref.Val, []query.Need)) *member {
	return &member{
		id:  f.ID,
		typ: types.NewListType(elem),
		get: func(d any) ref.Val {
			ev, vs, missing := read(d)
			if len(missing) > 0 {
				return ev.unknown(missing...)
			}
			return list(vs)
		},
		has: func(d any) ref.Val {
			ev, vs, missing := read(d)
			if len(vs) == 0 && len(missing) > 0 {
				return ev.unknown(missing...)
			}
			return types.Bool(len(vs) > 0)
		},
		each: func(d any) ref.Val {
			ev, vs, missing := read(d)
			if len(missing) > 0 {
				vs = append(vs, ev.unknown(missing...))
			}
			return list(vs)
		},
	}
}

// textMember is the title or the body as a string: empty when its writer is excluded.
func textMember(f *query.Field) *member {
	get := func(d any) ref.Val {
		ev := d.(*evaluation)
		admitted, missing := ev.elements(f)
		if len(missing) > 0 {
			return ev.unknown(missing...)
		}
		if len(admitted) == 0 {
			return types.String("")
		}
		text := admitted[0].Member(query.MText)
		if text.Presence != query.Known {
			return ev.unknown(query.Need{Field: f.ID})
		}
		return first(text.Values, types.StringType)
	}
	return &member{id: f.ID, typ: types.StringType, get: get, has: func(d any) ref.Val {
		return isSet(get(d), types.String(""))
	}}
}

// element is one admitted element of a field.
type element struct {
	ev    *evaluation
	field *query.Field
	*query.Element
}

// elementsMember is the list of admitted elements, and declares the type of one.
func (s *schema) elementsMember(f *query.Field) *member {
	t := types.NewObjectType(f.Name + " object")
	s.objects[t.TypeName()] = map[string]*member{} // even when it has no members
	for _, m := range f.Members {
		s.add(t, m.Name, elementMember(m))
	}
	return collection(f, t, func(d any) (*evaluation, []ref.Val, []query.Need) {
		ev := d.(*evaluation)
		admitted, missing := ev.elements(f)
		vs := make([]ref.Val, 0, len(admitted)+1)
		for _, e := range admitted {
			vs = append(vs, &object{typ: t, key: e.Key, data: &element{ev, f, e}})
		}
		return ev, vs, missing
	})
}

func elementMember(m *query.Field) *member {
	t := nullable(scalarType(m.Type), m)
	get := func(d any) ref.Val {
		e := d.(*element)
		switch m.ID {
		case query.MBy:
			return user(&e.Actor)
		case query.MAt:
			if e.At.IsZero() {
				return e.ev.unknown(query.Need{Field: e.field.ID})
			}
			return types.Timestamp{Time: e.At.UTC()}
		}
		fact := e.Member(m.ID)
		if fact.Presence != query.Known {
			return e.ev.unknown(query.Need{Field: e.field.ID})
		}
		return first(fact.Values, t)
	}
	return &member{typ: t, get: get, has: func(d any) ref.Val { return isSet(get(d), zeroOf(t)) }}
}

func first(vs []query.Value, t *types.Type) ref.Val {
	if len(vs) == 0 {
		return zeroOf(t)
	}
	return value(&vs[0])
}

func values(vs []query.Value) []ref.Val {
	out := make([]ref.Val, 0, len(vs)+1)
	for i := range vs {
		if v := value(&vs[i]); v != types.NullValue {
			out = append(out, v)
		}
	}
	return out
}

func value(v *query.Value) ref.Val {
	switch v.Type {
	case query.TypeBool:
		return types.Bool(v.Bool)
	case query.TypeNumber:
		return types.Double(v.Num)
	case query.TypeInstant:
		return types.Timestamp{Time: v.Time.UTC()}
	case query.TypeDate:
		return types.String(v.Time.UTC().Format(time.DateOnly))
	case query.TypeUser:
		return user(&v.User)
	}
	return types.String(v.Str)
}

// user is null for nobody: a deleted account equals no other.
func user(u *query.User) ref.Val {
	switch {
	case u.Deleted || u.ID == "" && u.Login == "":
		return types.NullValue
	case u.ID == "":
		return &object{typ: userType, key: "login " + u.Login, data: u}
	}
	return &object{typ: userType, key: "id " + u.ID, data: u}
}
