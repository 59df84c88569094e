package forgesim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport is a round tripper that calls a handler in the same process, without a network:
// for simulations that must be exact and fast. A handler that aborts cuts the answer short,
// as a real connection would. It never follows redirects; the http.Client does.
func Transport(h http.Handler) http.RoundTripper { return inProcess{h} }

type inProcess struct{ h http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.RequestURI, in.Host = r.URL.RequestURI(), r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	out := &piped{Recorded: Recorded{header: http.Header{}}}
	aborted := t.serve(out, in)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if aborted && out.Recorded.status == 0 {
		return nil, fmt.Errorf("%s %s: server closed the connection: %w", r.Method, r.URL.Redacted(), io.EOF)
	}
	return out.response(r, aborted), nil
}

func (t inProcess) serve(w http.ResponseWriter, r *http.Request) (aborted bool) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so, too
			aborted = true
		} else if p != nil {
			panic(p)
		}
	}()
	t.h.ServeHTTP(w, r)
	return false
}

// piped is an answer whose headers are frozen once it is under way.
type piped struct {
	Recorded
	once sync.Once
	sent http.Header
}

func (p *piped) WriteHeader(status int) {
	p.once.Do(func() {
		p.sent = p.header.Clone()
		p.Recorded.WriteHeader(status)
	})
}

func (p *piped) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.Recorded.Write(b)
}

func (p *piped) Flush() {}

func (p *piped) response(r *http.Request, aborted bool) *http.Response {
	p.WriteHeader(http.StatusOK)
	var body io.Reader = bytes.NewReader(p.body.Bytes())
	if aborted {
		body = io.MultiReader(body, cutOff{})
	}
	return &http.Response{
		Status: http.StatusText(p.Status()), StatusCode: p.Status(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: p.sent, Body: io.NopCloser(body), ContentLength: -1, Request: r,
	}
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
