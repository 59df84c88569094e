package config

import "github.com/fullsend-ai/discovery/internal/diag"

// Diagnostic and Diagnostics are what loading reports.
type (
	Diagnostic  = diag.Diagnostic
	Diagnostics = diag.Diagnostics
)

// The rules of config.yaml.
var (
	RuleVersion      = diag.Rule{Code: "C001", Severity: diag.Error, Title: "config version is missing or not known"}
	RuleSecret       = diag.Rule{Code: "C002", Severity: diag.Error, Title: "a secret stands in the file"}
	RuleDriverType   = diag.Rule{Code: "C003", Severity: diag.Error, Title: "input driver of another type"}
	RuleDriverName   = diag.Rule{Code: "C004", Severity: diag.Error, Title: "input driver without a usable name of its own"}
	RuleProvider     = diag.Rule{Code: "C005", Severity: diag.Error, Title: "unknown provider"}
	RuleBaseURL      = diag.Rule{Code: "C006", Severity: diag.Error, Title: "base URL is missing or unusable"}
	RuleInsecure     = diag.Rule{Code: "C007", Severity: diag.Warning, Title: "credentials would travel unencrypted"}
	RuleCredential   = diag.Rule{Code: "C008", Severity: diag.Error, Title: "no credential, or not the name of an environment variable"}
	RuleScope        = diag.Rule{Code: "C009", Severity: diag.Error, Title: "a scope names no usable container"}
	RuleKind         = diag.Rule{Code: "C010", Severity: diag.Error, Title: "unknown kind, or one that the provider lacks"}
	RuleTwice        = diag.Rule{Code: "C011", Severity: diag.Error, Title: "a scope stands twice in one input driver"}
	RuleAccount      = diag.Rule{Code: "C012", Severity: diag.Error, Title: "an account is not a stable id"}
	RuleDuration     = diag.Rule{Code: "C013", Severity: diag.Error, Title: "not a usable duration"}
	RuleAgentURL     = diag.Rule{Code: "C014", Severity: diag.Error, Title: "an agent is registered by URL"}
	RuleAgentPath    = diag.Rule{Code: "C015", Severity: diag.Error, Title: "an agent's path leaves the folder"}
	RuleOutputDriver = diag.Rule{Code: "C016", Severity: diag.Error, Title: "unknown output driver"}
	RuleKillSwitch   = diag.Rule{Code: "C017", Severity: diag.Error, Title: "kill switch is neither true nor false"}
	RuleTargetRepo   = diag.Rule{Code: "C018", Severity: diag.Error, Title: "target repository is not owner/name"}
	RuleRun          = diag.Rule{Code: "C019", Severity: diag.Error, Title: "the run section cannot be used: nothing is started"}
)

// Rules lists them for documentation.
func Rules() []diag.Rule {
	return []diag.Rule{
		RuleVersion, RuleSecret, RuleDriverType, RuleDriverName, RuleProvider, RuleBaseURL, RuleInsecure, RuleCredential,
		RuleScope, RuleKind, RuleTwice, RuleAccount, RuleDuration, RuleAgentURL, RuleAgentPath, RuleOutputDriver,
		RuleKillSwitch, RuleTargetRepo, RuleRun,
	}
}
