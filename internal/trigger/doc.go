// Package trigger compiles and evaluates the CEL expression with which a harness says when it wants to act on an entity.
package trigger
