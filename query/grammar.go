package query

import (
	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The grammar of one condition. Everything around conditions (and, or, not, parentheses, quantifiers) is parsed by hand
// in parse.go, because participle stops at the first error and recurses as deep as its input.
type (
	gTest struct {
		Tokens  []lexer.Token
		Operand *gOperand `parser:"@@"`
		Cmp     *gCmp     `parser:"( @@"`
		In      *gIn      `parser:"| @@"`
		Empty   *gEmpty   `parser:"| @@"`
		Text    *gText    `parser:"| @@ )?"`
	}
	gOperand struct {
		Tokens []lexer.Token
		Name   string  `parser:"@Ident"`
		Custom *string `parser:"( LBracket @Number RBracket )?"`
	}
	gCmp struct {
		Op    string  `parser:"@Cmp"`
		Value *gValue `parser:"@@"`
	}
	gIn struct {
		Not    bool      `parser:"@Not? In"`
		Values []*gValue `parser:"LParen @@ ( Comma @@ )* Comma? RParen"`
	}
	gEmpty struct {
		Not bool `parser:"Is @Not? Empty"`
	}
	gText struct {
		Not      bool    `parser:"@Not?"`
		Contains bool    `parser:"( @Contains"`
		Starts   bool    `parser:"| @Starts With )"`
		Value    *gValue `parser:"@@"`
	}
	gValue struct {
		Tokens  []lexer.Token
		String  *string `parser:"  @String"`
		Number  *string `parser:"| @( Minus? Number )"`
		Word    *string `parser:"| @( True | False | Self | Ident )"`
		Instant *string `parser:"| @Instant"`
		Date    *string `parser:"| @Date"`
		Now     *gNow   `parser:"| @@"`
	}
	gNow struct {
		Now  string  `parser:"@Now"`
		Sign *string `parser:"( @( Plus | Minus )"`
		Span *string `parser:"  @Span )?"`
	}
)

var condition = participle.MustBuild[gTest](
	participle.Lexer(tokens),
	participle.Elide("Space"),
	participle.UseLookahead(3),
)
