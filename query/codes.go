package query

import "slices"

// Code describes one kind of diagnostic.
type Code struct {
	Code     string
	Title    string // one short clause, for tables and page headings
	Severity Severity
}

// The codes. A code never changes its meaning and is never used again for another one.
const (
	codeTooLong       = "Q001"
	codeTooDeep       = "Q002"
	codeTooManyTests  = "Q003"
	codeTooManyValues = "Q004"
	codeStringTooLong = "Q005"
	codeNotUTF8       = "Q006"

	codeNoVersion     = "Q101"
	codeOtherVersion  = "Q102"
	codeNoCondition   = "Q103"
	codeNotACondition = "Q104"
	codeMixed         = "Q105"
	codeUnclosed      = "Q106"
	codeUnopened      = "Q107"
	codeOpenString    = "Q108"
	codeEscape        = "Q109"
	codeCharacter     = "Q110"
	codeComment       = "Q111"
	codeSpelling      = "Q112"
	codeNoConjunction = "Q113"
	codeNoValue       = "Q114"
	codeNoQuantifier  = "Q115"
	codeNested        = "Q116"
	codeDangling      = "Q117"
	codeList          = "Q118"
	codeSpan          = "Q119"
	codeTime          = "Q120"
	codeNoZone        = "Q121"
	codeReserved      = "Q122"
	codeNumber        = "Q123"
	codeCustomField   = "Q124"
	codeForeignSyntax = "Q125"
	codeUnquoted      = "Q126"
	codeUnknownField  = "Q201"
	codeKindLacks     = "Q202"
	codeProviderLacks = "Q203"
	codeUnknownMember = "Q204"
	codeFieldInside   = "Q205"
	codeMemberOutside = "Q206"
	codeOperator      = "Q207"
	codeWrongType     = "Q208"
	codeUnknownWord   = "Q209"
	codeQuotes        = "Q210"
	codeBare          = "Q211"
	codeNeverEmpty    = "Q212"
	codeNotAskable    = "Q213"
	codeNeedsMembers  = "Q214"
	codeNoMembers     = "Q215"
	codeNoSelf        = "Q216"
	codeFieldAsValue  = "Q217"
	codeNowHere       = "Q218"
	codeEmptyString   = "Q219"
	codeUser          = "Q220"
	codeProviderOp    = "Q221"
	codeMixedList     = "Q222"
	codeNever         = "Q301"
	codeNeverPart     = "Q302"
	codeAlways        = "Q303"
	codeRepeatedValue = "Q304"
	codeRepeatedTest  = "Q305"
	codeEmptyIsAValue = "Q306"
)

var codeTable = []Code{
	{codeTooLong, "the query is longer than 16 KiB", Error},
	{codeTooDeep, "the query is nested deeper than 32", Error},
	{codeTooManyTests, "the query has more than 256 tests", Error},
	{codeTooManyValues, "the query has more than 500 values", Error},
	{codeStringTooLong, "a string is longer than 1,024 bytes", Error},
	{codeNotUTF8, "the query is not valid UTF-8", Error},

	{codeNoVersion, "the query does not begin with v1:", Error},
	{codeOtherVersion, "the query is of a version that is not known", Error},
	{codeNoCondition, "the query has no condition", Error},
	{codeNotACondition, "this is not a condition", Error},
	{codeMixed, "and and or are mixed without parentheses", Error},
	{codeUnclosed, "a parenthesis is not closed", Error},
	{codeUnopened, "a parenthesis is closed that was not opened", Error},
	{codeOpenString, "a string is not closed on its line", Error},
	{codeEscape, "an escape is not known", Error},
	{codeCharacter, "a character has no meaning here", Error},
	{codeComment, "there are no comments in a query", Error},
	{codeSpelling, "an operator is spelled as in another language", Error},
	{codeNoConjunction, "and or or is missing between two conditions", Error},
	{codeNoValue, "an operator lacks its value", Error},
	{codeNoQuantifier, "any or no is missing before parentheses", Error},
	{codeNested, "quantifiers do not nest", Error},
	{codeDangling, "and, or or not has nothing to join", Error},
	{codeList, "a list is malformed", Error},
	{codeSpan, "a span of time is malformed", Error},
	{codeTime, "a date or an instant is malformed", Error},
	{codeNoZone, "an instant has no time zone", Error},
	{codeReserved, "a reserved word stands where a name or value belongs", Error},
	{codeNumber, "a number is malformed", Error},
	{codeCustomField, "a custom field is malformed", Error},
	{codeForeignSyntax, "this is the syntax of a provider's own search", Error},
	{codeUnquoted, "text is not quoted", Error},

	{codeUnknownField, "a field is not known", Error},
	{codeKindLacks, "entities of this kind lack the field", Error},
	{codeProviderLacks, "the provider lacks the field", Error},
	{codeUnknownMember, "a member is not known", Error},
	{codeFieldInside, "a field of the entity is tested inside a quantifier", Error},
	{codeMemberOutside, "a member is tested outside its quantifier", Error},
	{codeOperator, "an operator does not fit the type", Error},
	{codeWrongType, "a value does not fit the type", Error},
	{codeUnknownWord, "a word is not one of the field's words", Error},
	{codeQuotes, "a value of free text is not quoted", Error},
	{codeBare, "a field that is not true or false stands alone", Error},
	{codeNeverEmpty, "the field is never empty", Error},
	{codeNotAskable, "whether the field is empty cannot be asked", Error},
	{codeNeedsMembers, "the field is tested by its members only", Error},
	{codeNoMembers, "the field has no members", Error},
	{codeNoSelf, "no account is configured for self", Error},
	{codeFieldAsValue, "a field cannot be the value here", Error},
	{codeNowHere, "now cannot be the value here", Error},
	{codeEmptyString, "a string is empty", Error},
	{codeUser, "an account is malformed", Error},
	{codeProviderOp, "the provider answers only some tests of the field", Error},
	{codeMixedList, "values of different types are mixed in a list", Error},

	{codeNever, "the query never matches", Error},
	{codeNeverPart, "a part of the query is never true", Warning},
	{codeAlways, "a part of the query is always true", Warning},
	{codeRepeatedValue, "a value is repeated", Warning},
	{codeRepeatedTest, "a condition is repeated", Warning},
	{codeEmptyIsAValue, "a negated test includes empty, unlike in JQL", Warning},
}

// Codes lists every diagnostic that Parse and Bind can give, in order of code.
func Codes() []Code { return slices.Clone(codeTable) }

func severityOf(code string) Severity {
	for _, c := range codeTable {
		if c.Code == code {
			return c.Severity
		}
	}
	return Error
}

// report collects diagnostics.
type report struct{ ds Diagnostics }

func (r *report) add(code string, at Span, message, suggest string) {
	r.ds = append(r.ds, Diagnostic{Code: code, Severity: severityOf(code), Span: at, Message: message, Suggest: suggest})
}

// sorted gives the diagnostics in order of position, stable for those at one place.
func (r *report) sorted() Diagnostics {
	slices.SortStableFunc(r.ds, func(a, b Diagnostic) int {
		if a.Span.Start != b.Span.Start {
			return a.Span.Start - b.Span.Start
		}
		return a.Span.End - b.Span.End
	})
	return slices.Clip(r.ds)
}
