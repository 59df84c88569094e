package gitea

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a running Gitea. It ends with the test that started it.
type Server struct {
	URL   string  // where the server listens
	Admin *Client // the site administrator

	bin  Binary
	dir  string
	root string // ROOT_URL, or empty for the server's own
	cmd  *exec.Cmd
	done <-chan error
}

var errEnded = errors.New("server ended early")

// AdminName is the login of the site administrator.
const AdminName = "rig-admin"

// Start starts a fresh server and returns when it answers. rootURL is the address under which the server believes
// to be seen, as behind a reverse proxy; empty means its own. Its log is printed when the test has failed.
func Start(t testing.TB, bin Binary, rootURL string) *Server {
	t.Helper()
	s := &Server{bin: bin, dir: t.TempDir(), root: rootURL}
	err := s.start(t.Context())
	if errors.Is(err, errEnded) {
		// Between choosing a free port and listening on it, another process may have taken it.
		t.Logf("start gitea once more: %v\n%s", err, s.logTail())
		s.dir = t.TempDir()
		err = s.start(t.Context())
	}
	if err != nil {
		t.Fatalf("start gitea: %v\n%s", err, s.logTail())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("gitea log:\n%s", s.logTail())
		}
		if err := s.stop(); err != nil {
			t.Errorf("stop gitea: %v", err)
		}
	})
	return s
}

func (s *Server) start(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	s.URL = fmt.Sprintf("http://127.0.0.1:%d/", port)
	if err := os.WriteFile(s.config(), []byte(s.ini(port, cmp.Or(s.root, s.URL))), 0o600); err != nil {
		return err
	}
	if _, err := s.run(ctx, "migrate"); err != nil {
		return err
	}
	if s.Admin, err = s.AddUser(ctx, AdminName, true); err != nil {
		return err
	}
	return s.serve(ctx)
}

// serve starts the server process and waits until it answers.
func (s *Server) serve(ctx context.Context) error {
	log, err := os.Create(s.logPath())
	if err != nil {
		return err
	}
	defer log.Close() // the child holds its own copy
	s.cmd = s.command(context.WithoutCancel(ctx), "web")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.done, err = StartChild(s.cmd); err != nil {
		return err
	}
	return s.waitReady(ctx)
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := s.healthy(ctx); err == nil {
			return nil
		}
		select {
		case err := <-s.done:
			s.done = nil
			return fmt.Errorf("%w: %w", errEnded, err)
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *Server) healthy(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"api/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("healthz: %s", resp.Status)
	}
	return nil
}

// stop asks the server to end, and insists after a while.
func (s *Server) stop() error {
	if s.done == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(15 * time.Second):
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.done
	return nil
}

// AddUser creates an account through the server's command line and returns a client with an all-scopes token of it.
func (s *Server) AddUser(ctx context.Context, name string, admin bool) (*Client, error) {
	args := []string{"admin", "user", "create", "--username", name, "--email", name + "@example.invalid",
		"--random-password", "--must-change-password=false"}
	if admin {
		args = append(args, "--admin")
	}
	if _, err := s.run(ctx, args...); err != nil {
		return nil, err
	}
	return s.Token(ctx, name, "all")
}

// Token creates an access token of an existing account and returns a client that uses it. Scopes are Gitea's, for
// example "all" or "read:repository,read:issue".
func (s *Server) Token(ctx context.Context, user, scopes string) (*Client, error) {
	out, err := s.run(ctx, "admin", "user", "generate-access-token", "--username", user, "--raw",
		"--token-name", fmt.Sprintf("t%d", time.Now().UnixNano()), "--scopes", scopes)
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(out)
	if len(lines) == 0 {
		return nil, fmt.Errorf("no token for %s", user)
	}
	return NewClient(s.URL, user, lines[len(lines)-1]), nil
}

// run runs a subcommand of the server's executable to its end.
func (s *Server) run(ctx context.Context, args ...string) (string, error) {
	cmd := s.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("gitea %s: %w\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

func (s *Server) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.bin.Path, append(args, "--config", s.config(), "--work-path", s.dir)...)
	cmd.Dir = s.dir
	// The server runs git, which must neither read nor write the configuration of whoever runs the test.
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "GITEA_WORK_DIR="+s.dir, "GIT_CONFIG_NOSYSTEM=1")
	return cmd
}

func (s *Server) config() string  { return filepath.Join(s.dir, "app.ini") }
func (s *Server) logPath() string { return filepath.Join(s.dir, "gitea.log") }

// logTail returns the end of the server's log.
func (s *Server) logTail() string {
	const most = 8 << 10
	b, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-most):])
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
