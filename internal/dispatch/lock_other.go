//go:build !unix

package dispatch

import "os"

// lock does nothing where there are no advisory locks: give every poller a file of its own.
func lock(*os.File) error { return nil }
