package trigger

import (
	"context"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// CheckWithoutEvent tells what is certain of the trigger while event is null, whatever the entity: that it can never
// be true or must fail (errors; such a trigger would never find anything by polling), or that it may fail although it
// can also be true (a warning). It shows what can be shown and proves nothing by its silence.
func (p *Program) CheckWithoutEvent() []Issue {
	if p == nil {
		return nil
	}
	o, err := p.outcomes()
	if err != nil {
		return []Issue{{Code: CodeMustFail, Line: 1, Column: 1, Message: err.Error()}}
	}
	switch {
	case !o.holds && !o.fails && o.breaks:
		return []Issue{{Code: CodeMustFail, Line: 1, Column: 1, Message: "trigger must fail when event is null, as it is for every polled entity", Suggest: "write event == null || … to start on membership alone without one, or say beside event != null && … what is to hold then"}}
	case !o.holds:
		return []Issue{{Code: CodeNeverTrue, Line: 1, Column: 1, Message: "trigger can never be true when event is null, as it is for every polled entity", Suggest: "say what is to hold without one: event == null || …"}}
	case o.breaks:
		return []Issue{{Code: CodeMayFail, Warning: true, Line: 1, Column: 1, Message: "trigger may fail when event is null, and the entity would stay unknown", Suggest: "put event != null && before what reads the event"}}
	}
	return nil
}

// outcome is how an expression may end.
type outcome struct{ holds, fails, breaks bool } // true, false, error

// outcomes evaluates every part once, over an entity of which nothing is known and without an event.
func (p *Program) outcomes() (outcome, error) {
	prog, err := p.env.Program(p.celAST, cel.EvalOptions(cel.OptExhaustiveEval, cel.OptTrackState), cel.CostLimit(CostLimit), cel.InterruptCheckFrequency(100))
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), TimeLimit)
	defer cancel()
	_, details, err := prog.ContextEval(ctx, newEvaluation(Input{}).vars())
	if details == nil {
		return outcome{}, fmt.Errorf("trigger cannot be evaluated: %w", err)
	}
	return p.outcome(p.ast.Expr(), details), nil
}

func (p *Program) outcome(e ast.Expr, d *cel.EvalDetails) outcome {
	if e.Kind() == ast.CallKind {
		args := e.AsCall().Args()
		of := func(i int) outcome { return p.outcome(args[i], d) }
		switch e.AsCall().FunctionName() {
		case operators.LogicalAnd:
			return both(of(0), of(1))
		case operators.LogicalOr:
			return not(both(not(of(0)), not(of(1))))
		case operators.LogicalNot:
			return not(of(0))
		case operators.Conditional:
			return choice(of(0), of(1), of(2))
		}
	}
	v, ok := d.State().Value(e.ID())
	switch {
	case e.Kind() == ast.LiteralKind:
		v = e.AsLiteral()
	case !ok:
		return outcome{holds: true, fails: true}
	}
	switch {
	case types.IsError(v):
		return outcome{breaks: true}
	case v == types.True:
		return outcome{holds: true}
	case v == types.False:
		return outcome{fails: true}
	}
	return outcome{holds: true, fails: true}
}

func not(a outcome) outcome { return outcome{holds: a.fails, fails: a.holds, breaks: a.breaks} }

// both is CEL's and: one false side decides, whatever the other does.
func both(a, b outcome) outcome {
	return outcome{
		holds:  a.holds && b.holds,
		fails:  a.fails || b.fails,
		breaks: a.breaks && (b.holds || b.breaks) || b.breaks && (a.holds || a.breaks),
	}
}

func choice(c, x, y outcome) outcome {
	return outcome{
		holds:  c.holds && x.holds || c.fails && y.holds,
		fails:  c.holds && x.fails || c.fails && y.fails,
		breaks: c.breaks || c.holds && x.breaks || c.fails && y.breaks,
	}
}
