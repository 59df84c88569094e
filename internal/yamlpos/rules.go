package yamlpos

import "github.com/fullsend-ai/discovery/internal/diag"

// The rules of the YAML layer.
var (
	RuleUnreadable = diag.Rule{Code: "Y001", Severity: diag.Error, Title: "file cannot be read"}
	RuleTooLarge   = diag.Rule{Code: "Y002", Severity: diag.Error, Title: "file is larger than the cap"}
	RuleEncoding   = diag.Rule{Code: "Y003", Severity: diag.Error, Title: "not UTF-8 text, or a control character in it"}
	RuleSyntax     = diag.Rule{Code: "Y004", Severity: diag.Error, Title: "not YAML"}
	RuleUnquoted   = diag.Rule{Code: "Y005", Severity: diag.Error, Title: "a query is not quoted"}
	RuleTab        = diag.Rule{Code: "Y006", Severity: diag.Error, Title: "a tab where YAML wants spaces"}
	RuleDocuments  = diag.Rule{Code: "Y007", Severity: diag.Error, Title: "more than one document in a file"}
	RuleDuplicate  = diag.Rule{Code: "Y008", Severity: diag.Error, Title: "a key stands twice in one mapping"}
	RuleAliases    = diag.Rule{Code: "Y009", Severity: diag.Error, Title: "aliases expand beyond the cap"}
	RuleEmpty      = diag.Rule{Code: "Y010", Severity: diag.Error, Title: "file is empty"}
	RuleShape      = diag.Rule{Code: "Y011", Severity: diag.Error, Title: "a value of the wrong shape"}
	RuleUnknownKey = diag.Rule{Code: "Y012", Severity: diag.Error, Title: "unknown key"}
	RuleMissingKey = diag.Rule{Code: "Y013", Severity: diag.Error, Title: "a required key is missing"}
)

// Rules lists them for documentation.
func Rules() []diag.Rule {
	return []diag.Rule{
		RuleUnreadable, RuleTooLarge, RuleEncoding, RuleSyntax, RuleUnquoted, RuleTab, RuleDocuments, RuleDuplicate,
		RuleAliases, RuleEmpty, RuleShape, RuleUnknownKey, RuleMissingKey,
	}
}
