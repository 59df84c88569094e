package trigger

import (
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// object is every structured CEL value of a trigger: the entity, its elements and users, the event and its parts. Its
// members are read through the schema alone, so that one place decides what is unknown and what is null.
type object struct {
	typ  *types.Type
	data any    // what the schema's members read
	key  string // equality within typ; "" compares data
}

// ConvertToNative is not offered: triggers give out booleans only.
func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s has no native form %v", o.typ.TypeName(), t)
}

// ConvertToType is not offered.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("%s cannot be converted to %s", o.typ.TypeName(), t.TypeName())
}

// Equal compares what the object stands for: users by stable id, elements by key, parts of an event by content.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	switch {
	case types.IsUnknownOrError(other):
		return other
	case !ok || p.typ.TypeName() != o.typ.TypeName():
		return types.False
	case o.key != "" || p.key != "":
		return types.Bool(o.key == p.key)
	}
	return types.Bool(reflect.DeepEqual(o.data, p.data))
}

// Type implements ref.Val.
func (o *object) Type() ref.Type { return o.typ }

// Value implements ref.Val.
func (o *object) Value() any { return o }
