//go:build unix

package dispatch

import (
	"os/exec"
	"syscall"
)

// apart keeps the terminal's signals to the poller from its runs: the poller passes on what is meant for them.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
