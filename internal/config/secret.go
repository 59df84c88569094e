package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// Secrets reports every value of the document that is a credential by its form, wherever it stands, and keeps from
// snippets these and all values whose key says that they are secret. It comes before every other report.
func Secrets(d *yamlpos.Decoder) {
	seen := map[*yaml.Node]bool{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && yamlpos.LooksSecret(n.Value) && !seen[n] {
			seen[n] = true
			blank(d, n)
			d.Report(n, RuleSecret, "revoke it, put the new one into an environment variable and name that here", "a credential stands in the file")
		}
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && hidden(n.Content[i-1].Value, c.Value) {
				blank(d, c)
			}
			walk(c)
		}
	}
	if d.Doc.Root != nil {
		walk(d.Doc.Root)
	}
}

// secretKey reports whether a key of a connection can only be meant for a secret.
func secretKey(key string) bool {
	k := strings.ToLower(key)
	for _, s := range []string{"token", "password", "passwd", "secret", "api_key", "apikey", "private_key", "credential"} {
		if strings.Contains(k, s) && !strings.HasSuffix(k, "_env") && !strings.HasSuffix(k, "_file") {
			return true
		}
	}
	return false
}

// hidden: the value is or may be a secret, so no snippet shows it, not even one about its neighbours.
func hidden(key, value string) bool {
	return secretKey(key) || key == "token_env" && !strings.HasPrefix(value, "$") && (!envName.MatchString(value) || tokenish(value))
}

// tokenish: too long and too mixed for the name of a variable.
func tokenish(s string) bool { return len(s) >= 32 && strings.ToUpper(s) != s }

// blank keeps the text of a scalar out of snippets.
func blank(d *yamlpos.Decoder, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	from, to := d.Doc.Scalar(n).Span(0, len(n.Value))
	d.Doc.Blank(from, to)
}
