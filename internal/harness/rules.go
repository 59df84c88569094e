package harness

import "github.com/fullsend-ai/discovery/internal/diag"

// The rules of harness files.
var (
	RuleDuplicateName = diag.Rule{Code: "H001", Severity: diag.Error, Title: "two harnesses have one name"}
	RuleName          = diag.Rule{Code: "H002", Severity: diag.Error, Title: "a harness has an unusable name"}
	RuleSourceVersion = diag.Rule{Code: "H003", Severity: diag.Error, Title: "version of an entity source is missing or not known"}
	RuleUnknownDriver = diag.Rule{Code: "H004", Severity: diag.Error, Title: "a source names no input driver that exists"}
	RuleBrokenDriver  = diag.Rule{Code: "H005", Severity: diag.Error, Title: "a source names an input driver that is refused"}
	RuleKind          = diag.Rule{Code: "H006", Severity: diag.Error, Title: "unknown kind, or one that the provider lacks"}
	RuleKindUnpolled  = diag.Rule{Code: "H007", Severity: diag.Warning, Title: "no scope of the input driver is polled for the kind"}
	RuleBelowFloor    = diag.Rule{Code: "H008", Severity: diag.Error, Title: "admission is below the floor of the role"}
	RuleAdmissionRole = diag.Rule{Code: "H009", Severity: diag.Error, Title: "admission names no role that exists"}
	RuleNoSources     = diag.Rule{Code: "H010", Severity: diag.Warning, Title: "entity_sources is empty"}
	RuleNoTrigger     = diag.Rule{Code: "H011", Severity: diag.Warning, Title: "a harness with sources has no trigger"}
	RuleNoConfig      = diag.Rule{Code: "H012", Severity: diag.Error, Title: "a source has nothing to be polled by"}
)

// Rules lists them for documentation.
func Rules() []diag.Rule {
	return []diag.Rule{
		RuleDuplicateName, RuleName, RuleSourceVersion, RuleUnknownDriver, RuleBrokenDriver, RuleKind, RuleKindUnpolled,
		RuleBelowFloor, RuleAdmissionRole, RuleNoSources, RuleNoTrigger, RuleNoConfig,
	}
}
