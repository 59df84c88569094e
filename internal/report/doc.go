// Package report draws the ledger as one page that needs nothing besides itself.
package report
