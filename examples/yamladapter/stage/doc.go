// Package stage writes a world of the conformance suite down as folders of YAML issues.
package stage
