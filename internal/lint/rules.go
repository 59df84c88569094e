package lint

import (
	"cmp"
	"slices"

	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
	"github.com/fullsend-ai/discovery/query"
)

// The rules that look at all harnesses of a folder, or at what a query will cost.
var (
	RuleDuplicate    = diag.Rule{Code: "L001", Severity: diag.Warning, Title: "a harness declares one source twice"}
	RuleShadowed     = diag.Rule{Code: "L002", Severity: diag.Warning, Title: "a source can match nothing that another source of its harness does not"}
	RuleSameAsOther  = diag.Rule{Code: "L003", Severity: diag.Info, Title: "another harness has the same source"}
	RuleUnanchored   = diag.Rule{Code: "L004", Severity: diag.Info, Title: "a query has no anchor: it is tried on every entity"}
	RuleUnnoticed    = diag.Rule{Code: "L005", Severity: diag.Warning, Title: "no walk notices a change of a field"}
	RuleUnfiltered   = diag.Rule{Code: "L006", Severity: diag.Info, Title: "the provider cannot filter a test"}
	RuleUnchecked    = diag.Rule{Code: "L007", Severity: diag.Warning, Title: "no config.yaml: sources are checked by themselves only"}
	RuleNothingFound = diag.Rule{Code: "L008", Severity: diag.Warning, Title: "no harness was found"}
)

// triggerRules are the codes of package trigger.
var triggerRules = []diag.Rule{
	{Code: trigger.CodeSyntax, Title: "the trigger is not CEL"},
	{Code: trigger.CodeType, Title: "the trigger has an unknown name or a wrong type"},
	{Code: trigger.CodeBoolean, Title: "the trigger is no boolean"},
	{Code: trigger.CodeTooLong, Title: "the trigger is too long"},
	{Code: trigger.CodeNeverTrue, Title: "the trigger can never be true without an event"},
	{Code: trigger.CodeMustFail, Title: "the trigger must fail without an event"},
	{Code: trigger.CodeCost, Severity: diag.Warning, Title: "the trigger may cost more than one evaluation may"},
	{Code: trigger.CodeMayFail, Severity: diag.Warning, Title: "the trigger may fail without an event"},
}

// Rules is every diagnostic that query-lint can give, by code.
func Rules() []diag.Rule {
	rs := slices.Concat(yamlpos.Rules(), config.Rules(), harness.Rules(), []diag.Rule{
		RuleDuplicate, RuleShadowed, RuleSameAsOther, RuleUnanchored, RuleUnnoticed, RuleUnfiltered, RuleUnchecked, RuleNothingFound,
		RuleNoSuchName, RuleNameDiffers, RuleNameUnused, RuleNoRoles, RuleNotReachable,
	})
	rs = append(rs, triggerRules...)
	for _, c := range query.Codes() {
		r := diag.Rule{Code: c.Code, Title: c.Title, Severity: diag.Error}
		if c.Severity == query.Warning {
			r.Severity = diag.Warning
		}
		rs = append(rs, r)
	}
	slices.SortFunc(rs, func(a, b diag.Rule) int { return cmp.Compare(a.Code, b.Code) })
	return rs
}
