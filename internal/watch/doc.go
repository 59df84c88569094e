// Package watch decides when an input driver is polled next: a fixed grid with jitter, backoff after failures, and rules
// for ticks that were missed. It waits for nothing and reads no clock but the one passed in.
package watch
