// Package scope says what a trusted scope is, what identifies an entity, and whether a result belongs to a scope.
package scope
