package gitea

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartChild starts cmd so that it dies with this process, even when this process is killed or panics, and returns
// a channel that yields the result of Wait. The kernel ties the promise to the starting thread, so one thread stays
// with the child.
func StartChild(cmd *exec.Cmd) (<-chan error, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, done := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	return done, <-started
}
