package lint

import (
	"sync"
	"unicode/utf8"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// triggers keeps what was found about a text for entities of one catalogue: many harnesses have the same one.
type triggers struct {
	mu    sync.Mutex
	found map[triggerKey]func() []trigger.Issue
}

type triggerKey struct {
	text string
	cat  *query.Catalogue
}

// of checks a harness's trigger for every provider and kind of its sources. A fault that all of them share is said
// once.
func (t *triggers) of(h *harness.Harness) (ds diag.Diagnostics) {
	if h.Trigger == nil {
		return nil
	}
	said := map[trigger.Issue]bool{}
	for _, s := range h.Sources {
		if s.Bound == nil {
			continue
		}
		for _, i := range t.issues(triggerKey{*h.Trigger, s.Bound.Catalogue()}) {
			if !said[i] {
				said[i] = true
				ds = append(ds, place(h, i))
			}
		}
	}
	return ds
}

func (t *triggers) issues(k triggerKey) []trigger.Issue {
	t.mu.Lock()
	found := t.found[k]
	if found == nil {
		found = sync.OnceValue(func() []trigger.Issue {
			p, is := trigger.Compile(k.text, k.cat)
			if p != nil {
				is = append(append(is, p.CheckWithoutEvent()...), p.CheckCost()...)
			}
			return is
		})
		t.found[k] = found
	}
	t.mu.Unlock()
	return found()
}

func place(h *harness.Harness, i trigger.Issue) diag.Diagnostic {
	r := diag.Rule{Code: i.Code}
	if i.Warning {
		r.Severity = diag.Warning
	}
	return h.AtTrigger(r, i.Offset, wordEnd(*h.Trigger, i.Offset), i.Message, i.Suggest)
}

// wordEnd is where the name that begins at off ends; an operator is one character.
func wordEnd(text string, off int) int {
	off = min(max(off, 0), len(text))
	end := off
	for end < len(text) && (text[end] == '_' || text[end] >= '0' && text[end] <= '9' || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	if end == off && off < len(text) {
		_, w := utf8.DecodeRuneInString(text[off:])
		end += w
	}
	return end
}
