package forgejo

import "github.com/fullsend-ai/discovery/query"

// WhyLocal says why tests of a field are left to the local check.
func (Adapter) WhyLocal(f query.FieldID) string { return whyLocal(f) }
