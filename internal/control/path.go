package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// maxPath is how long the address of a Unix socket may be; macOS allows 103 bytes, Linux 107.
const maxPath = 100

// ErrPath: the ledger lies too deep for a socket beside it.
var ErrPath = errors.New("path is too long for a socket")

// inside calls f with a path to the same file that is short enough for a socket's address. Linux lets a folder be named
// by a descriptor.
func inside(path string, f func(short string) error) error {
	if len(path) <= maxPath {
		return f(path)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: %d bytes, %d are allowed", ErrPath, len(path), maxPath)
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), filepath.Base(path)))
}

// listen makes the socket in a folder that only its owner can enter, narrows it, and moves it to its place: at no moment
// can anybody else connect, and a socket that was left behind is replaced.
func listen(path string) (*net.UnixListener, error) {
	if fi, err := os.Lstat(path); err == nil && fi.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s is there and is no socket", path)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".sock")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tmp := filepath.Join(dir, "s")
	var l *net.UnixListener
	err = inside(tmp, func(short string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(tmp, 0o600); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
