package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Handler answers one request. Its error is told to whoever asked; an *Error with its code.
type Handler func(ctx context.Context, r Request) (any, error)

// Server answers on the socket of one ledger until it is closed.
type Server struct {
	path     string
	listener *net.UnixListener
	handle   Handler
	cancel   context.CancelFunc
	done     sync.WaitGroup
	slots    chan struct{}
}

// SocketPath is where the process that holds a ledger can be asked.
func SocketPath(ledger string) string { return ledger + ".sock" }

// Serve begins to answer. It must be called by the holder of the ledger alone: a socket that is there already belongs to
// a process that has ended, and is replaced. The socket has mode 0600 from its first moment.
func Serve(ctx context.Context, path string, h Handler) (*Server, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Server{path: path, listener: l, handle: h, cancel: cancel, slots: make(chan struct{}, MaxConns)}
	s.done.Go(func() { s.accept(ctx) })
	return s, nil
}

// Close removes the socket, ends what is being answered, and waits for it.
func (s *Server) Close() error {
	os.Remove(s.path)
	err := s.listener.Close()
	s.cancel()
	s.done.Wait()
	return err
}

func (s *Server) accept(ctx context.Context) {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, say: it passes
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		select {
		case s.slots <- struct{}{}:
			s.done.Go(func() {
				defer func() { <-s.slots }()
				s.serve(ctx, c)
			})
		default:
			refuse(c)
		}
	}
}

// refuse tells one asker too many to come back.
func refuse(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(100 * time.Millisecond))
	answer(c, response{Code: codeTryLater, Error: "the poller is answering too many questions already: try later"})
}

// codeTryLater is the exit code of "try later".
const codeTryLater = 75

func (s *Server) serve(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithTimeout(ctx, WorkTimeout)
	defer cancel()
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })() // a hanging peer holds nothing up
	c.SetDeadline(time.Now().Add(AskTimeout))
	if ctx.Err() != nil {
		return // and has set no other deadline before this one
	}
	line, err := readLine(c, MaxRequest)
	if err != nil {
		answer(c, response{Code: 1, Error: err.Error()})
		return
	}
	r, err := parseRequest(line)
	if err != nil {
		answer(c, response{Code: 1, Error: err.Error()})
		return
	}
	c.SetDeadline(time.Now().Add(WorkTimeout))
	if ctx.Err() != nil {
		return
	}
	// Who goes away asks no more.
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.Read(make([]byte, 1))
		cancel()
	}()
	answer(c, s.answerTo(ctx, r))
	c.Close()
	<-gone
}

// answerTo asks the handler. A panic of it is the answer's and not the poller's.
func (s *Server) answerTo(ctx context.Context, r Request) (out response) {
	defer func() {
		if p := recover(); p != nil {
			out = response{Code: 1, Error: fmt.Sprintf("%s failed: %v", r.Op, p)}
		}
	}()
	v, err := s.handle(ctx, r)
	var told *Error
	switch {
	case errors.As(err, &told):
		out.Code, out.Error = told.Code, told.Text
	case err != nil:
		out.Code, out.Error = 1, err.Error()
	}
	if v == nil {
		return out
	}
	b, err := json.Marshal(v)
	if err != nil {
		return response{Code: 1, Error: err.Error()}
	}
	if len(b) > MaxResponse/2 {
		return response{Code: 1, Error: fmt.Sprintf("the answer has %d bytes: too much", len(b))}
	}
	out.Result = b
	return out
}

func answer(c net.Conn, r response) {
	r.Version = Version
	b, err := json.Marshal(r)
	if err != nil {
		return
	}
	c.Write(append(b, '\n'))
}
