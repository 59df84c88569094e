// Package querytest generates queries, facts and views for property tests of everything that evaluates queries.
package querytest
