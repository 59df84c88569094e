//go:build unix

package dispatch

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other pollers out until f is closed.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}
