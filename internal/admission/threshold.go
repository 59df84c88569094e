package admission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fullsend-ai/discovery/adapters"
)

// Floor is the lowest role whose elements count for a harness of that platform role. Harnesses that observe need
// triage; every other role, an unknown or a missing one included, is taken to mutate and needs write.
func Floor(role string) adapters.Role {
	if slices.Contains([]string{"triage", "review"}, role) {
		return adapters.Triage
	}
	return adapters.Write
}

// ErrLowered is returned for a minimum below the platform's floor.
var ErrLowered = errors.New("admission may be raised only")

// Threshold is the floor of a harness role, raised to the minimum that the harness asks for. NoRole asks for nothing.
func Threshold(role string, minimum adapters.Role) (adapters.Role, error) {
	floor := Floor(role)
	switch {
	case minimum == adapters.NoRole:
		return floor, nil
	case minimum > adapters.Admin:
		return floor, fmt.Errorf("unknown minimum %v", minimum)
	case minimum < floor:
		return floor, fmt.Errorf("%w: minimum %v is below %v, which a harness of role %q needs", ErrLowered, minimum, floor, role)
	}
	return minimum, nil
}
