package adapters

import (
	"fmt"
	"slices"
)

// Role is an actor's standing in a container, in the platform's order: external < none < read < triage < write <
// maintain < admin. The zero Role is no role at all: below every other and admitted nowhere.
type Role uint8

// The roles, ascending.
const (
	NoRole Role = iota
	External
	None
	ReadRole
	Triage
	Write
	Maintain
	Admin
)

var roleNames = [...]string{"", "external", "none", "read", "triage", "write", "maintain", "admin"}

// String is the role's name.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// ParseRole reads a role's name.
func ParseRole(s string) (Role, error) {
	if i := slices.Index(roleNames[1:], s); i >= 0 {
		return Role(i + 1), nil
	}
	return NoRole, fmt.Errorf("unknown role %q: use one of %v", s, roleNames[1:])
}
