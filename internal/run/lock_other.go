//go:build !unix

package run

import (
	"errors"
	"os"
)

var errNoLocks = errors.New("bound runs need flock, which this system does not have")

func lock(*os.File) error { return errNoLocks }

func tryLock(*os.File) (bool, error) { return false, errNoLocks }
