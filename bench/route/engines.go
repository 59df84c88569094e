package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/router"
	"github.com/fullsend-ai/discovery/router/workload"
)

// record is an entity in every form that an engine wants, made before the clock runs.
type record struct {
	entity *workload.Entity
	bits   [workload.Labels/64 + 1]uint64
	facts  *query.Facts
	cel    cel.Activation
	opa    ast.Value
}

// engine counts the rules that a record matches and adds up their numbers, for comparison with the plain truth.
type engine interface {
	route(r *record) (matches, sum int, err error)
}

// ours is the router, with verdicts, needs, horizon and actors.
type ours struct {
	router *router.Router
	views  []query.View
	answer router.Answer
}

func newOurs(rules []workload.Rule) (engine, error) {
	ss, err := workload.Sources(workload.Texts(rules))
	if err != nil {
		return nil, err
	}
	return &ours{router: router.New(ss), views: []query.View{workload.Admit()}}, nil
}

func (o *ours) route(r *record) (n, sum int, err error) {
	o.router.Route(r.facts, o.views, workload.Now, &o.answer)
	for _, i := range o.answer.Match {
		sum += i
	}
	return len(o.answer.Match), sum, nil
}

// plain evaluates every query by itself, with the same semantics.
type plain struct {
	sources []query.Source
	view    query.View
}

func newPlain(rules []workload.Rule) (engine, error) {
	ss, err := workload.Sources(workload.Texts(rules))
	return &plain{ss, workload.Admit()}, err
}

func (p *plain) route(r *record) (n, sum int, err error) {
	for i := range p.sources {
		if p.sources[i].Query.Eval(r.facts, p.view, workload.Now).Verdict == query.True {
			n, sum = n+1, sum+i
		}
	}
	return n, sum, nil
}

// closures are combined predicates over labels interned as bits: two-valued, and nothing but a verdict.
type closures []func(*record) bool

func newClosures(rules []workload.Rule) (engine, error) {
	c := make(closures, len(rules))
	for i, r := range rules {
		c[i] = all(isOpen, hasAny(r.A, r.B), none(hasAny(r.C)))
	}
	return c, nil
}

func all(ps ...func(*record) bool) func(*record) bool {
	return func(r *record) bool {
		for _, p := range ps {
			if !p(r) {
				return false
			}
		}
		return true
	}
}

func none(p func(*record) bool) func(*record) bool { return func(r *record) bool { return !p(r) } }

func isOpen(r *record) bool { return r.entity.Open }

func hasAny(labels ...int) func(*record) bool {
	var mask [workload.Labels/64 + 1]uint64
	for _, l := range labels {
		mask[l/64] |= 1 << (l % 64)
	}
	return func(r *record) bool {
		var hit uint64
		for i := range mask {
			hit |= mask[i] & r.bits[i]
		}
		return hit != 0
	}
}

func (c closures) route(r *record) (n, sum int, err error) {
	for i, p := range c {
		if p(r) {
			n, sum = n+1, sum+i
		}
	}
	return n, sum, nil
}

// celPrograms are compiled once; a record's values are adapted once.
type celPrograms []cel.Program

func newCEL(rules []workload.Rule) (engine, error) {
	env, err := cel.NewEnv(cel.Variable("state", cel.StringType), cel.Variable("labels", cel.ListType(cel.StringType)))
	if err != nil {
		return nil, err
	}
	ps := make(celPrograms, len(rules))
	for i, r := range rules {
		text := fmt.Sprintf(`state == "open" && (%q in labels || %q in labels) && !(%q in labels)`,
			workload.LabelName(r.A), workload.LabelName(r.B), workload.LabelName(r.C))
		tree, issues := env.Compile(text)
		if issues.Err() != nil {
			return nil, issues.Err()
		}
		if ps[i], err = env.Program(tree, cel.EvalOptions(cel.OptOptimize)); err != nil {
			return nil, err
		}
	}
	return ps, nil
}

func (c celPrograms) route(r *record) (n, sum int, err error) {
	for i, p := range c {
		v, _, err := p.Eval(r.cel)
		if err != nil {
			return 0, 0, err
		}
		if v == types.True {
			n, sum = n+1, sum+i
		}
	}
	return n, sum, nil
}

// opa is one partial set with a rule for every label that can satisfy one of ours: all conditions stand where its rule
// index sees them.
type opa struct{ query rego.PreparedEvalQuery }

func newOPA(rules []workload.Rule) (engine, error) {
	var module strings.Builder
	module.WriteString("package route\n")
	for i, r := range rules {
		for _, l := range []int{r.A, r.B} {
			fmt.Fprintf(&module, "match contains %d if { input.state == \"open\"; %q in input.labels; not %q in input.labels }\n",
				i, workload.LabelName(l), workload.LabelName(r.C))
		}
	}
	q, err := rego.New(rego.Query("data.route.match"), rego.Module("route.rego", module.String())).PrepareForEval(context.Background())
	return &opa{q}, err
}

func (o *opa) route(r *record) (n, sum int, err error) {
	rs, err := o.query.Eval(context.Background(), rego.EvalParsedInput(r.opa))
	if err != nil || len(rs) == 0 {
		return 0, 0, err
	}
	for _, v := range rs[0].Expressions[0].Value.([]any) {
		i, err := strconv.Atoi(fmt.Sprint(v))
		if err != nil {
			return 0, 0, err
		}
		n, sum = n+1, sum+i
	}
	return n, sum, nil
}

func makeRecords(es []workload.Entity) ([]record, error) {
	rs := make([]record, len(es))
	for i := range es {
		r, e := &rs[i], &es[i]
		r.entity, r.facts = e, e.Facts()
		state, names := "closed", make([]string, len(e.Labels))
		if e.Open {
			state = "open"
		}
		for k, l := range e.Labels {
			names[k] = workload.LabelName(l)
			r.bits[l/64] |= 1 << (l % 64)
		}
		var err error
		if r.cel, err = cel.NewActivation(map[string]any{
			"state": types.String(state), "labels": types.NewStringList(types.DefaultTypeAdapter, names),
		}); err != nil {
			return nil, err
		}
		if r.opa, err = ast.InterfaceToValue(map[string]any{"state": state, "labels": names}); err != nil {
			return nil, err
		}
	}
	return rs, nil
}
