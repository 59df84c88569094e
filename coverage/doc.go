// Package coverage is the ledger: what was read completely, what is owed, what was decided and what is to be dispatched.
//
// It knows scopes, identities and opaque marks; it never sees a query or a provider. Losing it costs reads and may
// repeat candidates; it never costs a match.
package coverage
