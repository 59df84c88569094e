//go:build !linux

package gitea

import "os/exec"

// StartChild starts cmd and returns a channel that yields the result of Wait. Unlike on Linux, the child outlives a
// killed parent.
func StartChild(cmd *exec.Cmd) (<-chan error, error) {
	done := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { done <- cmd.Wait() }()
	return done, nil
}
