package gitea

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is the server's Go module; go.mod of this nested module pins its version as a tool.
const Module = "code.gitea.io/gitea"

// ErrNoToolchain says that the server cannot be built here: no go, git or C compiler on the path.
var ErrNoToolchain = errors.New("no toolchain for the server")

// Binary is a built server together with what it needs at run time.
type Binary struct {
	Path    string // the executable
	Static  string // the module's folder: templates, locales and options are read from it
	Version string // without the leading v, as /api/v1/version reports it
}

// Build builds the pinned server, or returns at once when the executable of an earlier build is still good. The first
// build takes minutes of CPU; it needs go, git and a C compiler (for SQLite) and, only where the module cache is
// cold, the module proxy.
func Build(ctx context.Context) (Binary, error) {
	if err := checkToolchain(ctx); err != nil {
		return Binary{}, err
	}
	out, err := goTool(ctx, "list", "-m", "-f", "{{.Version}}\n{{.Dir}}", Module)
	if err != nil {
		return Binary{}, err
	}
	version, dir, ok := strings.Cut(strings.TrimSpace(out), "\n")
	if !ok || dir == "" {
		return Binary{}, fmt.Errorf("module %s has no folder: %q", Module, out)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Binary{}, fmt.Errorf("cache folder: %w", err)
	}
	b := Binary{
		Path:    filepath.Join(cache, "fullsend-e2e", "gitea-"+version),
		Static:  dir,
		Version: strings.TrimPrefix(version, "v"),
	}
	// A build to a stable path is a no-op when nothing changed, so there is no second cache to go stale.
	_, err = goTool(ctx, "build",
		"-tags", "sqlite sqlite_unlock_notify",
		"-ldflags", "-X main.Version="+b.Version,
		"-o", b.Path, Module)
	return b, err
}

func checkToolchain(ctx context.Context) error {
	for _, tool := range []string{"go", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %w", ErrNoToolchain, err)
		}
	}
	cc, err := goTool(ctx, "env", "CC")
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(strings.TrimSpace(cc)); err != nil {
		return fmt.Errorf("%w: SQLite needs a C compiler: %w", ErrNoToolchain, err)
	}
	return nil
}

func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return stdout.String(), nil
}
