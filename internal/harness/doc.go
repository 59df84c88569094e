// Package harness reads harness files, the part that this engine owns, and binds their source queries.
package harness
