package trigger

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/parser"

	"github.com/fullsend-ai/discovery/query"
)

// MaxSource is how long a trigger may be, in bytes.
const MaxSource = 16 << 10

// Program is a compiled trigger. It is immutable and safe for concurrent use.
type Program struct {
	source  string
	ast     *ast.AST
	program cel.Program
	env     *cel.Env
	celAST  *cel.Ast
	fields  query.FieldSet
}

// Codes of issues.
const (
	CodeSyntax    = "T1" // not CEL
	CodeType      = "T2" // an unknown name, a wrong type
	CodeBoolean   = "T3" // the trigger is no boolean
	CodeTooLong   = "T4"
	CodeNeverTrue = "T5" // without an event it can never be true
	CodeMustFail  = "T6" // without an event it must fail
	CodeMayFail   = "T7" // without an event it may fail; a warning
	CodeCost      = "T8" // it costs more than one evaluation may, or may do so: then a warning
)

// Issue is one thing that is wrong with a trigger. Line and Column count from 1, columns in code points; Offset is in
// bytes of the source.
type Issue struct {
	Code    string
	Warning bool
	Line    int
	Column  int
	Offset  int
	Message string
	Suggest string
}

// Error makes an issue usable as an error.
func (i Issue) Error() string {
	s := fmt.Sprintf("%d:%d: %s", i.Line, i.Column, i.Message)
	if i.Suggest != "" {
		s += "; " + i.Suggest
	}
	return s + " [" + i.Code + "]"
}

// Compiler compiles triggers for entities of one provider and kind. What all of them share is made once, which is most of
// what one alone needs of time and memory. It is safe for concurrent use.
type Compiler struct {
	env    *cel.Env
	schema *schema
	err    error
}

// NewCompiler makes a compiler for the entities of a catalogue.
func NewCompiler(c *query.Catalogue) *Compiler {
	e, s, err := newEnv(c)
	return &Compiler{env: e, schema: s, err: err}
}

// Compile compiles one trigger for entities of the catalogue's provider and kind. Where there are many, share a Compiler.
func Compile(src string, c *query.Catalogue) (*Program, []Issue) { return NewCompiler(c).Compile(src) }

// Compile compiles a trigger. It never panics, and returns either a program or at least one issue.
func (c *Compiler) Compile(src string) (*Program, []Issue) {
	if len(src) > MaxSource {
		return nil, []Issue{{Code: CodeTooLong, Line: 1, Column: 1, Message: fmt.Sprintf("trigger is longer than %d bytes", MaxSource), Suggest: "leave to the query what it can test"}}
	}
	if !utf8.ValidString(src) {
		return nil, []Issue{{Code: CodeSyntax, Line: 1, Column: 1, Message: "trigger is not UTF-8", Suggest: "save the file as UTF-8"}}
	}
	e, s, err := c.env, c.schema, c.err
	if err != nil {
		return nil, []Issue{{Code: CodeType, Line: 1, Column: 1, Message: err.Error()}}
	}
	parsed, issues := e.Parse(src)
	if issues.Err() != nil {
		return nil, convert(src, CodeSyntax, issues, s)
	}
	checked, issues := e.Check(parsed)
	if issues.Err() != nil {
		return nil, convert(src, CodeType, issues, s)
	}
	if t := checked.OutputType(); !t.IsExactType(types.BoolType) || t.IsAssignableType(types.NullType) {
		return nil, []Issue{{Code: CodeBoolean, Line: 1, Column: 1,
			Message: fmt.Sprintf("trigger is %v, not bool", checked.OutputType()), Suggest: "compare it with a value"}}
	}
	p := &Program{source: src, ast: checked.NativeRep(), env: e, celAST: checked}
	p.program, err = e.Program(checked, cel.CostLimit(CostLimit), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, []Issue{{Code: CodeType, Line: 1, Column: 1, Message: err.Error()}}
	}
	p.fields = fieldsOf(p.ast, s)
	return p, nil
}

// String is the trigger's text.
func (p *Program) String() string {
	if p == nil {
		return ""
	}
	return p.source
}

// Fields are the facts of the entity that the trigger names: all that it could read.
func (p *Program) Fields() query.FieldSet {
	if p == nil {
		return query.FieldSet{}
	}
	return p.fields
}

func newEnv(c *query.Catalogue) (*cel.Env, *schema, error) {
	base, err := types.NewRegistry()
	if err != nil {
		return nil, nil, err
	}
	s := newSchema(c, base)
	// dyn and type would take values out of the checker's sight; texts are tested by functions that know null.
	drop := []*env.Function{}
	for _, name := range []string{"dyn", "type", "contains", "startsWith", "endsWith", "matches"} {
		drop = append(drop, env.NewFunction(name))
	}
	options := []cel.EnvOption{
		cel.CustomTypeAdapter(base),
		cel.CustomTypeProvider(s),
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{DisableMacros: true, ExcludeFunctions: drop})),
		cel.Macros(macros()...),
		cel.Variable("entity", entityType),
		cel.Variable("event", eventType),
		cel.ParserRecursionLimit(100),
		cel.ParserExpressionSizeLimit(MaxSource),
	}
	e, err := cel.NewCustomEnv(append(options, texts()...)...)
	return e, s, err
}

// texts are the tests of texts: false on null, as a query's are on an empty value.
func texts() []cel.EnvOption {
	text := types.NewNullableType(types.StringType)
	test := func(name string, holds func(string, string) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("text_"+name, []*types.Type{text, types.StringType}, types.BoolType,
			cel.BinaryBinding(func(x, y ref.Val) ref.Val {
				s, ok := x.(types.String)
				want, isText := y.(types.String)
				if !ok || !isText {
					return types.False
				}
				return holds(string(s), string(want))
			})))
	}
	plain := func(f func(string, string) bool) func(string, string) ref.Val {
		return func(s, want string) ref.Val { return types.Bool(f(s, want)) }
	}
	return []cel.EnvOption{
		test("contains", plain(strings.Contains)),
		test("startsWith", plain(strings.HasPrefix)),
		test("endsWith", plain(strings.HasSuffix)),
		test("matches", func(s, want string) ref.Val { return types.String(s).Match(types.String(want)) }),
	}
}

// macros are CEL's own, but for two things: has asks for presence as a value, so that it can be unknown; and what goes
// through a member of the entity does so element by element, so that one known element may decide.
func macros() []cel.Macro {
	return []cel.Macro{
		parser.NewGlobalMacro("has", 1, expandHas),
		parser.NewReceiverMacro("all", 2, over(parser.MakeAll, func(eh parser.ExprHelper, args []ast.Expr) []ast.Expr {
			absent := eh.NewCall(operators.LogicalNot, there(eh, args[0]))
			return []ast.Expr{args[0], eh.NewCall(operators.LogicalOr, absent, args[1])}
		})),
		parser.NewReceiverMacro("exists", 2, over(parser.MakeExists, ifThere)),
		parser.NewReceiverMacro("exists_one", 2, over(parser.MakeExistsOne, ifThere)),
		parser.NewReceiverMacro("map", 2, over(parser.MakeMap, func(eh parser.ExprHelper, args []ast.Expr) []ast.Expr {
			return []ast.Expr{args[0], there(eh, args[0]), args[1]}
		})),
		parser.NewReceiverMacro("map", 3, over(parser.MakeMap, ifThere)),
		parser.NewReceiverMacro("filter", 2, over(parser.MakeFilter, ifThere)),
	}
}

// over expands a macro over a member of the entity, whose last element may stand for any number of others, none
// included. guard makes sure that it never decides by itself, not even where the condition does not look at it.
func over(expand parser.MacroExpander, guard func(parser.ExprHelper, []ast.Expr) []ast.Expr) parser.MacroExpander {
	return func(eh parser.ExprHelper, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		if target.Kind() != ast.SelectKind || args[0].Kind() != ast.IdentKind {
			return expand(eh, target, args)
		}
		s := target.AsSelect()
		if s.Operand().Kind() != ast.IdentKind || s.Operand().AsIdent() != "entity" {
			return expand(eh, target, args)
		}
		return expand(eh, eh.NewSelect(s.Operand(), s.FieldName()+each), guard(eh, args))
	}
}

// ifThere asks for the condition of elements that are there.
func ifThere(eh parser.ExprHelper, args []ast.Expr) []ast.Expr {
	guarded := eh.NewCall(operators.LogicalAnd, there(eh, args[0]), args[1])
	return append([]ast.Expr{args[0], guarded}, args[2:]...)
}

// there is true of every value and unknown of an unknown one: everything equals itself.
func there(eh parser.ExprHelper, variable ast.Expr) ast.Expr {
	return eh.NewCall(operators.Equals, eh.NewIdent(variable.AsIdent()), eh.NewIdent(variable.AsIdent()))
}

func expandHas(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if args[0].Kind() != ast.SelectKind {
		return nil, eh.NewError(args[0].ID(), "has() takes a member, as in has(entity.milestone)")
	}
	s := args[0].AsSelect()
	return eh.NewSelect(s.Operand(), s.FieldName()+present), nil
}

// fieldsOf walks the checked expression for members of the entity.
func fieldsOf(a *ast.AST, s *schema) query.FieldSet {
	var out query.FieldSet
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind {
			return
		}
		sel := e.AsSelect()
		owner := a.GetType(sel.Operand().ID())
		name, _, _ := strings.Cut(sel.FieldName(), "@")
		if m, ok := s.lookup(owner.TypeName(), name); ok && m.id != 0 {
			out.Add(m.id)
		}
	}))
	return out
}
