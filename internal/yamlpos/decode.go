package yamlpos

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/internal/diag"
)

// Decoder reads values out of a document and collects what is wrong with them, so that one run reports all of it.
type Decoder struct {
	Doc   *Document
	Diags diag.Diagnostics
}

// Report adds a diagnostic about a node.
func (d *Decoder) Report(n *yaml.Node, r diag.Rule, suggest, format string, args ...any) {
	d.Diags = append(d.Diags, d.Doc.At(n, r, fmt.Sprintf(format, args...), suggest))
}

// Entry is one key of a mapping with its value, aliases followed.
type Entry struct {
	Key, Value *yaml.Node
}

// Mapping is the entries of a mapping, merged ones (<<) included, in the order of the file.
type Mapping struct {
	Node    *yaml.Node
	Entries []Entry
}

// Get returns the value of a key; nil when it is absent or null.
func (m Mapping) Get(key string) *yaml.Node {
	for _, e := range m.Entries {
		if e.Key.Value == key {
			if IsNull(e.Value) {
				return nil
			}
			return e.Value
		}
	}
	return nil
}

// Key returns the node of a key that is present, else the mapping's own.
func (m Mapping) Key(key string) *yaml.Node {
	for _, e := range m.Entries {
		if e.Key.Value == key {
			return e.Key
		}
	}
	return m.Node
}

// IsNull reports whether a node says nothing.
func IsNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Mapping reads a mapping; what names it in messages, and suggest shows one. ok is false, and that is reported, when it
// is none.
func (d *Decoder) Mapping(n *yaml.Node, what, suggest string) (m Mapping, ok bool) {
	n = Resolve(n)
	if n.Kind != yaml.MappingNode {
		d.Report(n, RuleShape, suggest, "%s must be a mapping of keys, this is %s", what, shape(n))
		return Mapping{Node: n}, false
	}
	m.Node = n
	seen := map[string]bool{}
	collect(n, seen, &m.Entries, 0)
	return m, true
}

// maxMerge bounds how deep merges may hang together.
const maxMerge = 16

// collect takes own keys first: they win over merged ones.
func collect(n *yaml.Node, seen map[string]bool, es *[]Entry, depth int) {
	n = Resolve(n)
	if depth > maxMerge {
		return
	}
	if n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			collect(c, seen, es, depth+1)
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := Resolve(n.Content[i]), Resolve(n.Content[i+1])
		switch {
		case k.Tag == "!!merge":
			merged = append(merged, v)
		case !seen[k.Value]:
			seen[k.Value] = true
			*es = append(*es, Entry{k, v})
		}
	}
	for _, v := range merged {
		collect(v, seen, es, depth+1)
	}
}

// Only reports every key that is not one of the known ones.
func (d *Decoder) Only(m Mapping, what string, known ...string) {
	for _, e := range m.Entries {
		if e.Key.Kind == yaml.ScalarNode && contains(known, e.Key.Value) {
			continue
		}
		d.Report(e.Key, RuleUnknownKey, diag.DidYouMean(e.Key.Value, known), "unknown key %q in %s", e.Key.Value, what)
	}
}

func contains(ss []string, s string) bool {
	for _, x := range ss {
		if x == s {
			return true
		}
	}
	return false
}

// Need returns the value of a key and reports when it is absent.
func (d *Decoder) Need(m Mapping, key, what, suggest string) *yaml.Node {
	v := m.Get(key)
	if v == nil {
		d.Report(m.Key(key), RuleMissingKey, suggest, "%s has no %s", what, key)
	}
	return v
}

// List reads a list.
func (d *Decoder) List(n *yaml.Node, what string) []*yaml.Node {
	n = Resolve(n)
	if n.Kind != yaml.SequenceNode {
		suggest := "begin the item with `- `"
		if IsNull(n) {
			suggest = "write the items below it, each behind `- `"
		}
		d.Report(n, RuleShape, suggest, "%s must be a list, this is %s", what, shape(n))
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		items[i] = Resolve(c)
	}
	return items
}

// Text reads any scalar that is not null as it is written.
func (d *Decoder) Text(n *yaml.Node, what string) (string, bool) {
	n = Resolve(n)
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		suggest := "write one value"
		if IsNull(n) {
			suggest = "write a value behind the colon, or remove the key"
		}
		d.Report(n, RuleShape, suggest, "%s must be a text, this is %s", what, shape(n))
		return "", false
	}
	return n.Value, true
}

// Bool reads true or false.
func (d *Decoder) Bool(n *yaml.Node, what string) (value, ok bool) {
	n = Resolve(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		if err := n.Decode(&value); err == nil {
			return value, true
		}
	}
	d.Report(n, RuleShape, "write true or false, without quotes", "%s must be true or false, this is %s", what, shape(n))
	return false, false
}

func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!null":
			return "empty"
		case "!!int", "!!float":
			return "the number " + n.Value
		case "!!bool":
			return "the boolean " + n.Value
		default:
			if len(n.Value) <= 40 && !LooksSecret(n.Value) {
				return fmt.Sprintf("the text %q", n.Value)
			}
			return "a text"
		}
	}
	return "something else"
}
