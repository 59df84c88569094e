package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/internal/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, h control.Handler) string {
	path := control.SocketPath(filepath.Join(t.TempDir(), "l.db"))
	s, err := control.Serve(context.Background(), path, h)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return path
}

func echo(_ context.Context, r control.Request) (any, error) {
	switch r.Op {
	case "echo":
		return r.Args, nil
	case "refuse":
		return map[string]int{"done": 1}, &control.Error{Code: 3, Text: "not all of it"}
	case "fail":
		return nil, errors.New("broken")
	case "panic":
		panic("at the disco")
	}
	return nil, &control.Error{Code: 2, Text: "unknown question " + r.Op}
}

// SPEC PO-8
func TestAsk(t *testing.T) {
	path := serve(t, echo)
	fi, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing but the socket")

	ctx := context.Background()
	var got map[string]string
	require.NoError(t, control.Ask(ctx, path, "echo", map[string]string{"a": "b\n<"}, &got))
	assert.Equal(t, map[string]string{"a": "b\n<"}, got)

	var told *control.Error
	var part map[string]int
	require.ErrorAs(t, control.Ask(ctx, path, "refuse", nil, &part), &told)
	assert.Equal(t, control.Error{Code: 3, Text: "not all of it"}, *told)
	assert.Equal(t, 1, part["done"], "a result may come with a refusal")
	require.ErrorAs(t, control.Ask(ctx, path, "fail", nil, nil), &told)
	assert.Equal(t, 1, told.Code)
	require.ErrorAs(t, control.Ask(ctx, path, "panic", nil, nil), &told)
	assert.Contains(t, told.Text, "disco")
	require.ErrorAs(t, control.Ask(ctx, path, "no such", nil, nil), &told)
	assert.Equal(t, 2, told.Code)
	require.ErrorIs(t, control.Ask(ctx, path, "echo", strings.Repeat("x", control.MaxRequest), nil), control.ErrProtocol)
	require.NoError(t, control.Ask(ctx, path, "echo", 1, nil), "and it goes on")
}

func TestNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	require.ErrorIs(t, control.Ask(context.Background(), path, "echo", nil, nil), control.ErrNobody)
	// A process that was killed leaves its socket behind; the next holder replaces it.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.ErrorIs(t, control.Ask(context.Background(), path, "echo", nil, nil), control.ErrNobody)
	s, err := control.Serve(context.Background(), path, echo)
	require.NoError(t, err)
	require.NoError(t, control.Ask(context.Background(), path, "echo", 1, nil))
	require.NoError(t, s.Close())
	_, err = os.Lstat(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(path, []byte("notes"), 0o600))
	_, err = control.Serve(context.Background(), path, echo)
	require.ErrorContains(t, err, "is no socket")
}

func TestDeepFolder(t *testing.T) {
	dir := t.TempDir()
	for range 4 {
		dir = filepath.Join(dir, strings.Repeat("d", 60))
	}
	require.NoError(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "s")
	s, err := control.Serve(context.Background(), path, echo)
	if errors.Is(err, control.ErrPath) {
		t.Skip("this system has no way around:", err)
	}
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, control.Ask(context.Background(), path, "echo", 1, nil))
}

// SPEC PO-9: whatever is written to the socket, it is answered or cut off, and the next question is answered.
func TestHostileInput(t *testing.T) {
	path := serve(t, echo)
	for name, in := range map[string]string{
		"nothing":           "",
		"no JSON":           "GET / HTTP/1.1\r\n\r\n",
		"binary":            "\x00\xff\xfe\n",
		"no end of line":    `{"v":1,"op":"echo"}`,
		"other version":     `{"v":2,"op":"echo"}` + "\n",
		"no version":        `{"op":"echo"}` + "\n",
		"unknown member":    `{"v":1,"op":"echo","sudo":true}` + "\n",
		"two requests":      `{"v":1,"op":"echo"} {"v":1,"op":"echo"}` + "\n",
		"a list":            `[1]` + "\n",
		"deep":              `{"v":1,"op":"echo","args":` + strings.Repeat("[", 60_000) + "\n",
		"long":              `{"v":1,"op":"` + strings.Repeat("x", 2*control.MaxRequest) + `"}` + "\n",
		"long without end":  strings.Repeat("x", 2*control.MaxRequest),
		"operation of text": `{"v":1,"op":{"x":1}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("unix", path)
			require.NoError(t, err)
			defer c.Close()
			c.Write([]byte(in)) // may be cut off in the middle
			c.(*net.UnixConn).CloseWrite()
			b, _ := io.ReadAll(c)
			var r struct {
				V     int
				Code  int
				Error string
			}
			require.NoError(t, json.Unmarshal(b, &r), "%q", b)
			assert.Equal(t, 1, r.Code)
			assert.Contains(t, r.Error, "control protocol")
			assert.Less(t, len(b), 4096)
			require.NoError(t, control.Ask(context.Background(), path, "echo", 1, nil))
		})
	}
}

// Peers that say nothing hold up neither others nor the end.
func TestSilentPeers(t *testing.T) {
	path := control.SocketPath(filepath.Join(t.TempDir(), "l.db"))
	started := make(chan struct{}, control.MaxConns)
	s, err := control.Serve(context.Background(), path, func(ctx context.Context, _ control.Request) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	require.NoError(t, err)
	var silent []net.Conn
	for range control.MaxConns {
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		silent = append(silent, c)
		c.Write([]byte(`{"v":1,"op":"wait"}` + "\n"))
		<-started
	}
	var told *control.Error
	require.ErrorAs(t, control.Ask(context.Background(), path, "echo", nil, nil), &told)
	assert.Equal(t, 75, told.Code, "too many at once")
	require.NoError(t, s.Close())
	for _, c := range silent {
		c.Close()
	}
}

// Who goes away asks no more.
func TestAskerLeaves(t *testing.T) {
	asked, over := make(chan struct{}), make(chan struct{})
	path := serve(t, func(ctx context.Context, _ control.Request) (any, error) {
		close(asked)
		<-ctx.Done()
		close(over)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- control.Ask(ctx, path, "wait", nil, nil) }()
	<-asked
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	<-over
}

// A server that is not ours: the asker takes no harm.
func TestHostileServer(t *testing.T) {
	for name, out := range map[string]string{
		"nothing": "", "no JSON": "hello\n", "other version": `{"v":9}` + "\n", "wrong result": `{"v":1,"result":[1]}` + "\n", "cut": `{"v":1,`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", path)
			require.NoError(t, err)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if c, err := l.Accept(); err == nil {
					io.WriteString(c, out)
					c.Close()
				}
			}()
			var v map[string]string
			err = control.Ask(context.Background(), path, "echo", nil, &v)
			require.Error(t, err)
			l.Close()
			<-done
		})
	}
}
