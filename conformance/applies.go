package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// applies skips a case that is about what the provider has not got, before anything is opened.
func (p *player) applies() error {
	a, c := p.tg.Adapter, p.c
	if len(c.only) > 0 && !slices.Contains(c.only, a.Provider()) {
		return skip{why: "it is about " + strings.Join(c.only, ", ") + " alone"}
	}
	cat := a.Catalogue(c.Kind)
	if cat == nil || len(cat.Names()) == 0 {
		return skip{why: fmt.Sprintf("%s has no entities of kind %s", a.Provider(), c.Kind)}
	}
	for _, n := range c.Needs {
		if err := need(a, cat, n); err != nil {
			return err
		}
	}
	if err := p.without(); err != nil {
		return err
	}
	neutral := func(string) (string, error) { return "x", nil }
	texts := make([]string, 0, len(c.queries)+len(c.questions))
	for _, s := range c.queries {
		texts = append(texts, s.text)
	}
	for _, q := range c.questions {
		texts = append(texts, q.text)
	}
	for _, t := range texts {
		t, err := expand(t, neutral)
		if err != nil {
			return err
		}
		if _, err := bind(a, c.Kind, t, "1"); err != nil {
			return err
		}
	}
	return nil
}

// without skips a case about what the provider has no notion of, by its author's word.
func (p *player) without() error {
	words := append(slices.Sorted(maps.Keys(p.c.hints)), p.c.words()...)
	for _, w := range words {
		if why, ok := p.tg.Without[w]; ok {
			return skip{why: fmt.Sprintf("%s: %s", w, why)}
		}
	}
	return nil
}

// need judges one line "needs: WORD FIELD".
func need(a adapters.Adapter, cat *query.Catalogue, text string) error {
	word, name, _ := strings.Cut(text, " ")
	f, ok := cat.Field(name)
	if name != "" && !ok {
		return skip{why: fmt.Sprintf("%s has no field %s for %s", a.Provider(), name, cat.Kind())}
	}
	switch word {
	case "field", "clock":
	case "several":
		if !f.Many {
			return skip{why: fmt.Sprintf("%s has one %s at most", a.Provider(), name)}
		}
	case "editors":
		if a.EditFloor(f.ID) != adapters.NoRole {
			return skip{why: fmt.Sprintf("%s does not name who edited a %s", a.Provider(), name)}
		}
	case "possible-editors":
		if a.EditFloor(f.ID) == adapters.NoRole {
			return skip{why: fmt.Sprintf("%s names who edited a %s", a.Provider(), name)}
		}
	case "noticed":
		if len(f.Walks) == 0 || f.Clock == query.Unmoved {
			return skip{why: fmt.Sprintf("no walk of %s notices a change of %s", a.Provider(), name)}
		}
	case "unnoticed":
		if len(f.Walks) > 0 && f.Clock == query.Moves {
			return skip{why: fmt.Sprintf("a walk of %s notices every change of %s", a.Provider(), name)}
		}
	default:
		return fmt.Errorf("needs %q is not known", text)
	}
	return nil
}

// able skips a case whose verbs the stage does not know.
func (p *player) able() error {
	if p.place.RealTime && (p.c.recheck > 0 || p.c.budget > 0 || slices.Contains(p.c.Needs, "clock") || p.c.waits()) {
		return skip{why: "the case waits for a clock that cannot be moved", fault: true}
	}
	for _, l := range slices.Concat(p.c.setup, p.c.steps) {
		ws := l.words
		if ws[0] == "repeat" && len(ws) > 2 {
			ws = ws[2:]
		}
		if _, own := steps()[ws[0]]; own || ws[0] == "repeat" {
			continue
		}
		if ws[0] == "after" && p.place.After {
			continue
		}
		if !p.place.Stage.Can(ws[0]) {
			return skip{why: "the stage has no verb " + ws[0], fault: true}
		}
		if ws[0] != "fault" {
			continue
		}
		if args, err := pairs(ws[1:]); err == nil && !p.place.Stage.Can("fault "+args["kind"]) {
			return skip{why: "the stage has no fault " + args["kind"], fault: true}
		}
	}
	return nil
}

// missingFields are the fields that v1 gives to a provider and its adapter's catalogue has not got. For a provider that v1
// does not know these are the fields that every provider has.
func missingFields(a adapters.Adapter) []string {
	known := slices.Contains([]string{query.GitHub, query.GitLab, query.Forgejo, query.Jira}, a.Provider())
	var out []string
	for _, k := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		cat := a.Catalogue(k)
		if cat == nil || len(cat.Names()) == 0 {
			continue
		}
		for _, f := range query.AllFields() {
			owed := known && slices.Contains(f.Providers, a.Provider()) || !known && len(f.Providers) == 4
			if !owed || !slices.Contains(f.Kinds, k) || f.Type == query.TypeCustom {
				continue
			}
			if _, ok := cat.ByID(f.ID); !ok {
				out = append(out, f.Name+" of "+string(k))
			}
		}
	}
	return out
}
