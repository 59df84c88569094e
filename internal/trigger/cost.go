package trigger

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
)

// A large entity, by which the cost of a trigger is judged beforehand.
const (
	manyComments = 1_000
	manyElements = 100    // of any other list
	longText     = 10_000 // characters of a comment or body
	longName     = 250
)

// CheckCost estimates what the trigger costs on a large entity. It is a warning: an entity that costs more than
// CostLimit stays unknown, all others are decided.
func (p *Program) CheckCost() []Issue {
	if p == nil {
		return nil
	}
	c, err := p.env.EstimateCost(p.celAST, sizes{})
	if err != nil {
		return nil // no estimate, nothing to say; the limit at run time holds
	}
	switch {
	case c.Min > CostLimit:
		return []Issue{{Code: CodeCost, Line: 1, Column: 1, Message: "trigger always costs more than one evaluation may, and every entity would stay unknown",
			Suggest: "compare fewer values, or go through each list once"}}
	case c.Max > CostLimit:
		return []Issue{{Code: CodeCost, Warning: true, Line: 1, Column: 1,
			Message: fmt.Sprintf("trigger may cost more than one evaluation may on an entity with %d comments, which would stay unknown", manyComments),
			Suggest: "do not go through one list inside another; leave to the query what it can test"}}
	}
	return nil
}

// sizes guesses at what the expression does not say.
type sizes struct{}

func (sizes) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	path := n.Path()
	last := ""
	if len(path) > 0 {
		last, _, _ = strings.Cut(path[len(path)-1], "@")
	}
	switch k := n.Type().Kind(); {
	case (k == types.ListKind || k == types.MapKind) && last == "comment":
		return &checker.SizeEstimate{Max: manyComments}
	case k == types.ListKind || k == types.MapKind:
		return &checker.SizeEstimate{Max: manyElements}
	case last == "text" || last == "body":
		return &checker.SizeEstimate{Max: longText}
	}
	return &checker.SizeEstimate{Max: longName}
}

// EstimateCallCost leaves all but the engine's own functions to CEL; those look at every character once.
func (sizes) EstimateCallCost(function, _ string, target *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	switch function {
	case "contains", "startsWith", "endsWith", "matches":
		if target != nil {
			return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Min: 1, Max: longText / 10}}
		}
	}
	return nil
}
