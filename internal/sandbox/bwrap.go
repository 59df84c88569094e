package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Bubblewrap is the driver bwrap: the command sees a read-only system, a /tmp, /run and process table of its own, no
// network unless the spec allows it, and one folder that it may write to, at /work.
type Bubblewrap struct {
	Path string // the program; "" looks it up
}

// Name is bwrap.
func (Bubblewrap) Name() string { return Bwrap }

const (
	inside      = "/work"
	contextPath = "/run/fullsend/context.json"
)

// system is what programs need to run at all. Nothing that holds secrets is among it: of /etc only single files.
func system(network bool) []string {
	s := []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc/alternatives", "/etc/ld.so.cache",
		"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/mime.types"}
	if network {
		s = append(s, "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/resolv.conf", "/etc/hosts", "/etc/services")
	}
	return s
}

// Run implements Driver.
func (b Bubblewrap) Run(ctx context.Context, s Spec) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	program, err := exec.LookPath(orDefault(b.Path, "bwrap"))
	if err != nil {
		return Result{}, fmt.Errorf("%w: bubblewrap: %w", ErrSpec, err)
	}
	about, err := os.CreateTemp("", "fullsend-context-")
	if err != nil {
		return Result{}, err
	}
	defer os.Remove(about.Name())
	_, err = about.Write(s.Context)
	if err = errors.Join(err, about.Close()); err != nil {
		return Result{}, fmt.Errorf("write the context: %w", err)
	}
	args, err := b.arguments(&s, about.Name())
	if err != nil {
		return Result{}, err
	}
	// Values of variables travel through a pipe: on the command line every process of the machine could read them.
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	go func() {
		defer w.Close()
		_, _ = w.WriteString(strings.Join(args, "\x00") + "\x00") // a reader that went away has ended bwrap too
	}()
	c := exec.Command(program, append([]string{"--args", "3", "--"}, s.Command...)...)
	c.ExtraFiles = []*os.File{r}
	c.Dir, c.Stdout, c.Stderr = "/", s.Out, s.Errs
	c.Env = []string{"PATH=/usr/bin:/bin"}
	return wait(ctx, c, &s)
}

func (b Bubblewrap) arguments(s *Spec, about string) ([]string, error) {
	args := []string{"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
		"--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"}
	if !s.Network {
		args = append(args, "--unshare-net")
	}
	for _, p := range system(s.Network) {
		more, err := bind(p)
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run", "--dir", "/run/fullsend")
	for _, p := range s.ReadOnly {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("%w: %q is not absolute", ErrSpec, p)
		}
		args = append(args, "--ro-bind", p, p)
	}
	work, err := filepath.Abs(s.Work)
	if err != nil {
		return nil, err
	}
	args = append(args, "--ro-bind", about, contextPath, "--bind", work, inside, "--chdir", inside,
		"--setenv", "FULLSEND_CONTEXT", contextPath, "--setenv", "HOME", inside)
	keys := make([]string, 0, len(s.Env))
	for k := range s.Env {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		args = append(args, "--setenv", k, s.Env[k])
	}
	return append(args, "--remount-ro", "/"), nil
}

// bind shows a path of the system as it is there: links stay links, and what is not there is left out.
func bind(p string) ([]string, error) {
	info, err := os.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 && !strings.HasPrefix(p, "/etc/") {
		to, err := os.Readlink(p)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSpec, err)
		}
		return []string{"--symlink", to, p}, nil
	}
	return []string{"--ro-bind-try", p, p}, nil
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}
