package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// question is a query as it came.
type question struct {
	text string
	vars map[string]any
	op   *ast.OperationDefinition // nil: it does not parse
	doc  *ast.QueryDocument
	err  error
}

type questionKey struct{}

func parseQuestion(body []byte) *question {
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	q := &question{}
	if q.err = json.Unmarshal(body, &in); q.err != nil {
		return q
	}
	q.text, q.vars = in.Query, in.Variables
	q.doc, q.err = parser.ParseQuery(&ast.Source{Name: "query", Input: in.Query})
	if q.err != nil {
		return q
	}
	if len(q.doc.Operations) != 1 {
		q.err = fmt.Errorf("%d operations", len(q.doc.Operations))
		return q
	}
	q.op = q.doc.Operations[0]
	return q
}

// fields are the fields of a selection, those of inline fragments included.
func fields(s ast.SelectionSet) []*ast.Field {
	var out []*ast.Field
	for _, sel := range s {
		switch sel := sel.(type) {
		case *ast.Field:
			out = append(out, sel)
		case *ast.InlineFragment:
			out = append(out, fields(sel.SelectionSet)...)
		}
	}
	return out
}

// route names what a query asks for, by what it selects.
func (q *question) route() sim.Route {
	if q == nil || q.op == nil {
		return sim.Route{Name: "graphql", Class: sim.ClassOther}
	}
	for _, f := range fields(q.op.SelectionSet) {
		switch f.Name {
		case "__type":
			return sim.Route{Name: "schema", Class: sim.ClassServer}
		case "viewer":
			return sim.Route{Name: "viewer", Class: sim.ClassIdentity}
		case "repository":
			return sim.Route{Name: "repository", Class: sim.ClassIdentity}
		case "nodes":
			return sim.Route{Name: "nodes", Class: sim.ClassRead}
		case "node":
			for _, g := range fields(f.SelectionSet) {
				switch g.Name {
				case "issues":
					return sim.Route{Name: "issues.list", Class: sim.ClassSearch}
				case "pullRequests":
					return sim.Route{Name: "pulls.list", Class: sim.ClassSearch}
				case "issueOrPullRequest":
					return sim.Route{Name: "numbers", Class: sim.ClassRead}
				case "nameWithOwner":
					return sim.Route{Name: "repository", Class: sim.ClassIdentity}
				}
			}
			return sim.Route{Name: "node", Class: sim.ClassRead}
		}
	}
	return sim.Route{Name: "graphql", Class: sim.ClassOther}
}

// graphql answers a query.
func (c *call) graphql() {
	q, _ := c.r.Context().Value(questionKey{}).(*question)
	c.mu.Lock()
	if len(c.asked) >= 1000 {
		c.asked = slices.Delete(c.asked, 0, 500)
	}
	c.asked = append(c.asked, q.text)
	c.mu.Unlock()
	if q.err != nil {
		c.json(http.StatusOK, failure{Errors: []gqlError{{Message: "Parse error: " + q.err.Error(), Extensions: map[string]string{"code": "parseError"}}}})
		return
	}
	if errs := c.validate(q); len(errs) > 0 {
		c.json(http.StatusOK, failure{Errors: errs})
		return
	}
	price := q.price()
	if c.quirks.BadGateway > 0 && price.widest >= c.quirks.BadGateway {
		c.spend("graphql", price.points+1)
		c.w.Advance(10e9)
		c.gateway()
		return
	}
	if !c.spend("graphql", price.points) {
		c.json(http.StatusOK, failure{Errors: []gqlError{{Type: "RATE_LIMITED", Message: fmt.Sprintf(primaryText, c.doer.ID)}}})
		return
	}
	if price.nodes > 500_000 {
		c.json(http.StatusOK, failure{Errors: []gqlError{{Type: "MAX_NODE_LIMIT_EXCEEDED", Message: "This query requests too many possible nodes."}}})
		return
	}
	if t := c.quirks.DataNull; t != "" {
		out := failure{Data: json.RawMessage("null")}
		if t != "silent" {
			out.Errors = []gqlError{{Type: t, Message: "Something went wrong."}}
		}
		c.json(http.StatusOK, out)
		return
	}
	if c.quirks.ViewerHidden && asks(q.op.SelectionSet, "viewer") { // the field is not nullable, so nothing is left
		c.json(http.StatusOK, failure{Data: json.RawMessage("null"), Errors: []gqlError{{Type: "FORBIDDEN", Path: []any{"viewer"}, Message: "Resource not accessible by integration"}}})
		return
	}
	x := &execution{call: c, q: q, heavy: c.quirks.TooHeavy > 0 && price.widest >= c.quirks.TooHeavy}
	data, err := x.run()
	if err != nil {
		c.fail(http.StatusInternalServerError, err.Error())
		return
	}
	c.json(http.StatusOK, struct {
		Data   any        `json:"data"`
		Errors []gqlError `json:"errors,omitempty"`
	}{data, x.errors})
}

func (c *call) gateway() {
	body, kind := c.quirks.GatewayBody, "application/json; charset=utf-8"
	if body == "" {
		body, kind = "<html><body><h1>502 Bad Gateway</h1></body></html>", "text/html"
	}
	c.rw.Header().Set("Content-Type", kind)
	c.rw.WriteHeader(http.StatusBadGateway)
	_, _ = c.rw.Write([]byte(body)) // a client that left needs no answer
}

type failure struct {
	Data   json.RawMessage `json:"data,omitempty"`
	Errors []gqlError      `json:"errors,omitempty"`
}

type gqlError struct {
	Type       string            `json:"type,omitempty"`
	Path       []any             `json:"path,omitempty"`
	Message    string            `json:"message"`
	Extensions map[string]string `json:"extensions,omitempty"`
}

// validate holds a query against the published schema, where there is one, and against what this server lacks.
func (c *call) validate(q *question) []gqlError {
	bad := func(code, text string) []gqlError {
		return []gqlError{{Message: text, Extensions: map[string]string{"code": code}}}
	}
	if c.quirks.NoIssueTypes && asks(q.op.SelectionSet, "issueType") {
		return bad("undefinedField", "Field 'issueType' doesn't exist on type 'Issue'")
	}
	if c.o.Schema == nil {
		return nil
	}
	doc, err := parser.ParseQuery(&ast.Source{Name: "query", Input: q.text}) // validation writes into the document
	if err != nil {
		return bad("parseError", err.Error())
	}
	if errs := validator.Validate(c.o.Schema, doc); len(errs) > 0 {
		return bad("invalid", errs.Error())
	}
	if _, err := validator.VariableValues(c.o.Schema, doc.Operations[0], q.vars); err != nil {
		return bad("variableMismatch", err.Error())
	}
	return nil
}

func asks(s ast.SelectionSet, name string) bool {
	return slices.ContainsFunc(fields(s), func(f *ast.Field) bool { return f.Name == name || asks(f.SelectionSet, name) })
}

// price is what a query costs by the published formula: the requests that its connections stand for, assuming that every
// page is full, over one hundred (docs.github.com graphql/overview/rate-limits).
type price struct {
	points int
	nodes  int
	widest int // the most entities with something nested that one connection asks for
}

func (q *question) price() price {
	var p price
	requests := 1
	var walk func(s ast.SelectionSet, times int)
	walk = func(s ast.SelectionSet, times int) {
		for _, f := range fields(s) {
			if !q.included(f) {
				continue
			}
			n := 1
			for _, a := range f.Arguments {
				switch v, _ := a.Value.Value(q.vars); v := v.(type) {
				case int64:
					if a.Name == "first" || a.Name == "last" {
						n = int(v)
					}
				case float64:
					if a.Name == "first" || a.Name == "last" {
						n = int(v)
					}
				case []any:
					if a.Name == "ids" {
						n = len(v)
					}
				}
			}
			if n > 1 || pages(f) {
				p.nodes += times * n
				if times > 1 || f.Name != "nodes" && pages(f) {
					requests += boolInt(times > 1) * times
				}
				if nested(f.SelectionSet) {
					p.widest = max(p.widest, n)
				}
			}
			walk(f.SelectionSet, times*n)
		}
	}
	walk(q.op.SelectionSet, 1)
	p.points = max(1, (requests+50)/100)
	return p
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pages reports whether a field is a page of a connection.
func pages(f *ast.Field) bool {
	return slices.ContainsFunc(f.Arguments, func(a *ast.Argument) bool { return a.Name == "first" || a.Name == "last" })
}

func nested(s ast.SelectionSet) bool {
	return slices.ContainsFunc(fields(s), func(f *ast.Field) bool { return pages(f) || nested(f.SelectionSet) })
}

// included evaluates @include and @skip.
func (q *question) included(f *ast.Field) bool {
	for _, d := range f.Directives {
		for _, a := range d.Arguments {
			v, _ := a.Value.Value(q.vars)
			on, _ := v.(bool)
			if d.Name == "include" && !on || d.Name == "skip" && on {
				return false
			}
		}
	}
	return true
}

// object is a value of an object type. Its field function gives what a field of it is: nil, a scalar, another object, a list
// of any, or an error.
type object struct {
	typ   string
	field func(name string, a args) any
}

type args map[string]any

func (a args) text(name string) string { s, _ := a[name].(string); return s }

func (a args) number(name string) int64 {
	switch n := a[name].(type) {
	case float64:
		return int64(n)
	case int64:
		return n
	}
	return 0
}

func (a args) texts(name string) []string {
	var out []string
	list, _ := a[name].([]any)
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// noValue is a field that the face has nothing for: a hole in the simulation, not a state of the world.
type noValue struct{}

// absence is a value that is null for a reason that the answer gives.
type absence struct{ typ, message string }

type execution struct {
	*call
	q      *question
	heavy  bool
	errors []gqlError
	hole   error
}

func (x *execution) run() (any, error) {
	data := x.complete(x.root(), x.q.op.SelectionSet, nil)
	return data, x.hole
}

// implements says which interfaces and unions an object belongs to, as far as queries name them.
func implements(typ, cond string) bool {
	if typ == cond || cond == "" || cond == "Node" {
		return true
	}
	return cond == "Actor" && slices.Contains([]string{"User", "Bot", "Organization", "Mannequin", "EnterpriseUserAccount"}, typ)
}

// collect gathers the fields that apply to an object, those of one response name together.
func (x *execution) collect(typ string, s ast.SelectionSet, into *[]*ast.Field, at map[string]int) {
	for _, sel := range s {
		switch sel := sel.(type) {
		case *ast.Field:
			if !x.q.included(sel) {
				continue
			}
			if i, ok := at[sel.Alias]; ok {
				merged := *(*into)[i]
				merged.SelectionSet = append(slices.Clone(merged.SelectionSet), sel.SelectionSet...)
				(*into)[i] = &merged
				continue
			}
			at[sel.Alias] = len(*into)
			*into = append(*into, sel)
		case *ast.InlineFragment:
			if implements(typ, sel.TypeCondition) {
				x.collect(typ, sel.SelectionSet, into, at)
			}
		case *ast.FragmentSpread:
			if f := x.q.doc.Fragments.ForName(sel.Name); f != nil && implements(typ, f.TypeCondition) {
				x.collect(typ, f.SelectionSet, into, at)
			}
		}
	}
}

// ordered keeps the order of fields, as a server does.
type ordered []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes an object with its members in order.
func (o ordered) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		k, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, k...), ':'), v...)
	}
	return append(out, '}'), nil
}

// complete turns a value into its part of the answer.
func (x *execution) complete(v any, s ast.SelectionSet, path []any) any {
	switch v := v.(type) {
	case *object:
		if v == nil {
			return nil
		}
		return x.object(v, s, path)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = x.complete(v[i], s, append(slices.Clone(path), i))
		}
		return out
	case absence:
		x.errors = append(x.errors, gqlError{Type: v.typ, Path: path, Message: v.message})
		return nil
	}
	return v
}

func (x *execution) object(o *object, s ast.SelectionSet, path []any) any {
	var fs []*ast.Field
	x.collect(o.typ, s, &fs, map[string]int{})
	out := ordered{}
	for _, f := range fs {
		at := append(slices.Clone(path), f.Alias)
		if f.Name == "__typename" {
			out = append(out, member{f.Alias, o.typ})
			continue
		}
		if x.quirks.Broken != "" && f.Alias == x.quirks.Broken {
			x.errors = append(x.errors, gqlError{Type: "FORBIDDEN", Path: at, Message: "Resource not accessible."})
			out = append(out, member{f.Alias, nil})
			continue
		}
		a := args{}
		for _, arg := range f.Arguments {
			v, err := arg.Value.Value(x.q.vars)
			if err != nil {
				x.hole = err
			}
			a[arg.Name] = v
		}
		v := o.field(f.Name, a)
		if _, hole := v.(noValue); hole {
			x.hole = fmt.Errorf("the simulation has no value for %s.%s", o.typ, f.Name)
			v = nil
		}
		out = append(out, member{f.Alias, x.complete(v, f.SelectionSet, at)})
	}
	return out
}
