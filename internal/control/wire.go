package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version of the protocol: one line of JSON asks, one line answers, and the connection ends.
const Version = 1

// What a connection may take at most.
const (
	MaxRequest  = 64 << 10
	MaxResponse = 64 << 20
	MaxConns    = 8
	AskTimeout  = 5 * time.Second // until the request is there
	WorkTimeout = 2 * time.Minute // until the answer is taken
)

// Request is one question.
type Request struct {
	Version int             `json:"v"`
	Op      string          `json:"op"`
	Args    json.RawMessage `json:"args,omitempty"`
}

// response is one answer: a result, or an error with the exit code that the asking command ends with.
type response struct {
	Version int             `json:"v"`
	Result  json.RawMessage `json:"result,omitempty"`
	Code    int             `json:"code,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// Error is a refusal by the process that was asked.
type Error struct {
	Code int // exit code
	Text string
}

func (e *Error) Error() string { return e.Text }

// ErrProtocol: what came is not what this version speaks.
var ErrProtocol = errors.New("control protocol")

// readLine reads one line of at most limit bytes.
func readLine(r io.Reader, limit int) ([]byte, error) {
	b := bufio.NewReader(io.LimitReader(r, int64(limit)+1))
	line, err := b.ReadBytes('\n')
	switch {
	case len(line) > limit:
		return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, limit)
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: the line was cut off", ErrProtocol)
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

func parseRequest(line []byte) (Request, error) {
	var r Request
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return r, fmt.Errorf("%w: more than one request in a line", ErrProtocol)
	}
	if r.Version != Version {
		return r, fmt.Errorf("%w: version %d is asked for, %d is spoken", ErrProtocol, r.Version, Version)
	}
	return r, nil
}
