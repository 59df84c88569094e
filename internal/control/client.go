package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"
)

// ErrNobody: no process answers on the socket.
var ErrNobody = errors.New("no poller answers")

// Ask sends one request and decodes the result into v. ErrNobody when nobody listens; *Error for a refusal, with which a
// result may come, too.
func Ask(ctx context.Context, path, op string, args, v any) error {
	c, err := dial(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return ErrNobody
	case err != nil:
		return fmt.Errorf("control socket: %w", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	c.SetDeadline(time.Now().Add(AskTimeout + WorkTimeout))
	r := Request{Version: Version, Op: op}
	if args != nil {
		if r.Args, err = json.Marshal(args); err != nil {
			return err
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(b) >= MaxRequest {
		return fmt.Errorf("%w: the question has more than %d bytes", ErrProtocol, MaxRequest)
	}
	// A refusal may come before the request was taken: what is there to read decides.
	_, werr := c.Write(append(b, '\n'))
	line, err := readLine(c, MaxResponse)
	if err != nil {
		return fmt.Errorf("control socket: %w", errors.Join(ctx.Err(), err, werr))
	}
	return decode(line, v)
}

func decode(line []byte, v any) error {
	var out response
	if err := json.Unmarshal(line, &out); err != nil {
		return fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	if out.Version != Version {
		return fmt.Errorf("%w: the answer has version %d, %d is spoken", ErrProtocol, out.Version, Version)
	}
	if len(out.Result) > 0 && v != nil {
		if err := json.Unmarshal(out.Result, v); err != nil {
			return fmt.Errorf("%w: %v", ErrProtocol, err)
		}
	}
	if out.Error != "" || out.Code != 0 {
		return &Error{Code: out.Code, Text: out.Error}
	}
	return nil
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	var c net.Conn
	err := inside(path, func(short string) (err error) {
		c, err = (&net.Dialer{Timeout: AskTimeout}).DialContext(ctx, "unix", short)
		return err
	})
	return c, err
}
