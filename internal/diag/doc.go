// Package diag holds what the loaders and query-lint say about a file: where, what is wrong, and what to write instead.
package diag
