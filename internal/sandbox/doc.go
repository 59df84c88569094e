// Package sandbox starts the command of a bound run behind a wall: with an environment built from nothing, and away from
// whatever decides about it.
package sandbox
