// Package acquire turns a harness's match into a decision, the same one for a poller and for a bound run that see the
// same state, and names what must be read first.
package acquire
