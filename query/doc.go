// Package query is the source-query language: parsing, binding, three-valued evaluation and admissible upper bounds.
//
// It is pure. It does no I/O and reads no clock but the one passed in, and it imports nothing of the project, so that a
// verdict depends on the query, the facts, the view and the instant alone.
package query
