package forgesim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Conditions are what a face must take into account when it answers a request.
type Conditions struct {
	Anonymous  bool          // answer as if the request had brought no token
	IndexLag   time.Duration // listings answer as of this long ago
	ReplicaLag time.Duration // single reads answer as of this long ago
}

type conditionsKey struct{}

// ConditionsOf are the conditions of a request that came through Front.
func ConditionsOf(ctx context.Context) Conditions {
	c, _ := ctx.Value(conditionsKey{}).(Conditions)
	return c
}

// Front puts counters, faults, hooks and the Date of the world's clock before a face.
func (w *World) Front(classify func(*http.Request) Route, face http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		route := classify(r)
		f := &front{World: w, active: w.traffic.arrive(r, route), hit: Hit{Method: r.Method, URI: r.URL.RequestURI(), Route: route}}
		defer f.leave(r)
		f.serve(rw, r, face)
	})
}

// front is one request on its way through the faults.
type front struct {
	*World
	active []Fault
	hit    Hit
}

func (f *front) is(kind string) (Fault, bool) {
	for _, a := range f.active {
		if a.Kind == kind {
			return a, true
		}
	}
	return Fault{}, false
}

// at picks the active faults that act at one moment.
func (f *front) at(moment string) []Fault {
	var out []Fault
	for _, a := range f.active {
		if faultKinds()[a.Kind] == moment {
			out = append(out, a)
		}
	}
	return out
}

func (f *front) serve(rw http.ResponseWriter, r *http.Request, face http.Handler) {
	var c Conditions
	skew := time.Duration(0)
	for _, a := range f.at("before") {
		switch a.Kind {
		case "anonymous":
			c.Anonymous = true
		case "index-lag":
			c.IndexLag = a.By
		case "replica-lag":
			c.ReplicaLag = a.By
		case "clock-skew":
			skew = a.By
		case "slow":
			f.pass(r.Context(), a.By)
		}
	}
	f.hit.At = f.Now()
	if _, ok := f.is("no-date"); ok {
		rw.Header()["Date"] = nil
	} else {
		rw.Header().Set("Date", f.hit.At.Add(skew).Format(http.TimeFormat))
	}
	for _, a := range f.at("instead") {
		f.instead(rw, r, a)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), conditionsKey{}, c))
	answer := &Recorded{header: http.Header{}}
	face.ServeHTTP(answer, r)
	f.after(rw, answer)
}

// pass lets time go by: the world's own when it is virtual, else real time.
func (f *front) pass(ctx context.Context, d time.Duration) {
	if f.virtual() {
		f.Advance(d)
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// proxyPage is what reverse proxies and login walls answer.
const proxyPage = "<!DOCTYPE html>\n<html><head><title>Please wait</title></head><body><h1>Please wait</h1></body></html>\n"

// instead answers in place of the face.
func (f *front) instead(rw http.ResponseWriter, r *http.Request, a Fault) {
	status, kind, body := http.StatusOK, "application/json;charset=utf-8", ""
	switch a.Kind {
	case "status":
		status = a.Status
		if a.RetryAfter != "" {
			rw.Header().Set("Retry-After", a.RetryAfter)
		}
		// A proxy before the forge answers in plain text; the forge itself in JSON.
		kind, body = "text/plain; charset=utf-8", http.StatusText(status)+"\n"
		if status == http.StatusForbidden || status == http.StatusNotFound || status == http.StatusInternalServerError {
			kind, body = "application/json;charset=utf-8", fmt.Sprintf("{\"message\":%q}\n", http.StatusText(status))
		}
	case "html":
		kind, body = "text/html; charset=utf-8", proxyPage
	case "empty":
	case "null-body":
		body = "null\n"
	case "invalid-json":
		body = `[{"id":1,"number":`
	case "stall":
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case "reset":
		panic(http.ErrAbortHandler)
	}
	f.hit.Status = status
	rw.Header().Set("Content-Type", kind)
	rw.WriteHeader(status)
	_, _ = rw.Write([]byte(body)) // a client that went away has nothing to be told
}

// after passes the face's answer on, changed where a fault says so.
func (f *front) after(rw http.ResponseWriter, answer *Recorded) {
	body := answer.body.Bytes()
	for _, a := range f.at("after") {
		switch a.Kind {
		case "null-rows", "drop-rows", "repeat-row":
			body = changeRows(a, body)
		case "total":
			if n, err := strconv.Atoi(answer.header.Get("X-Total-Count")); err == nil {
				answer.header.Set("X-Total-Count", strconv.Itoa(max(0, n+a.N)))
			}
			body = changeMember(body, "totalCount", func(b json.RawMessage) json.RawMessage {
				n, err := strconv.Atoi(string(b))
				if err != nil {
					return b
				}
				return json.RawMessage(strconv.Itoa(max(0, n+a.N)))
			})
		case "no-total":
			answer.header.Del("X-Total-Count")
			body = changeMember(body, "totalCount", func(json.RawMessage) json.RawMessage { return nil })
		case "no-link":
			answer.header.Del("Link")
		}
	}
	maps.Copy(rw.Header(), answer.header)
	f.hit.Status = answer.Status()
	if _, cut := f.is("cut"); cut {
		rw.Header().Set("Content-Length", strconv.Itoa(len(body)))
		rw.WriteHeader(answer.Status())
		_, _ = rw.Write(body[:len(body)/2])
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	}
	rw.WriteHeader(answer.Status())
	_, _ = rw.Write(body)
}

// changeRows plants nulls into the rows of a list, repeats or drops rows.
func changeRows(a Fault, body []byte) []byte {
	return changeList(body, func(rows []json.RawMessage) []json.RawMessage {
		if len(rows) == 0 {
			return rows
		}
		n := min(max(a.N, 1), len(rows))
		switch a.Kind {
		case "null-rows":
			for i := range n {
				rows[i] = json.RawMessage("null")
			}
		case "drop-rows":
			rows = rows[:len(rows)-n]
		case "repeat-row":
			rows = append(rows, rows[len(rows)-1])
		}
		return rows
	})
}

// changeList changes the list that an answer is, or of a GraphQL answer the outermost "nodes".
func changeList(body []byte, change func([]json.RawMessage) []json.RawMessage) []byte {
	var rows []json.RawMessage
	if json.Unmarshal(body, &rows) == nil && rows != nil {
		if out, err := json.Marshal(change(rows)); err == nil {
			return append(out, '\n')
		}
		return body
	}
	var object map[string]json.RawMessage
	for _, name := range []string{"issues", "comments"} { // Jira's lists are members of the answer itself
		if json.Unmarshal(body, &object) == nil && json.Unmarshal(object[name], &rows) == nil && rows != nil {
			return changeMember(body, name, func(b json.RawMessage) json.RawMessage { return changeList(b, change) })
		}
	}
	return changeMember(body, "nodes", func(b json.RawMessage) json.RawMessage { return changeList(b, change) })
}

// changeMember changes the outermost member of a name in a JSON object; nil takes it away.
func changeMember(body []byte, name string, change func(json.RawMessage) json.RawMessage) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return body
	}
	if v, ok := object[name]; ok {
		if object[name] = change(v); object[name] == nil {
			delete(object, name)
		}
	} else {
		for k, v := range object {
			object[k] = changeMember(v, name, change)
		}
	}
	out, err := json.Marshal(object)
	if err != nil {
		return body
	}
	return out
}

// leave runs after the answer, also after one that was cut.
func (f *front) leave(r *http.Request) {
	var kinds []string
	for _, a := range f.active {
		kinds = append(kinds, a.Kind)
	}
	f.hit.Fault = strings.Join(kinds, ",")
	for _, script := range f.traffic.leave(f.hit, r) {
		if err := f.Run(context.WithoutCancel(r.Context()), strings.NewReader(script)); err != nil {
			f.traffic.fail(fmt.Errorf("after %s: %w", f.hit.Route.Name, err))
		}
	}
}

// Recorded is an answer held back until it is complete.
type Recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *Recorded) Header() http.Header         { return r.header }
func (r *Recorded) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *Recorded) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Status is the status of the answer so far.
func (r *Recorded) Status() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
