// Package poll is the cycle: for every scope one search, the guard, three-valued routing, and the ledger's commits.
package poll
