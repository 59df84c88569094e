// Package workload generates the queries and entities on which routing is measured.
package workload
