package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

// doPlan compiles the queries as `fullsend poll plan` does.
func (p *player) doPlan([]string) error {
	p.tap.begin(0, nil)
	p.targets[0].Lane.Counts()
	p.plans = p.engine.Plans(p.ctx)
	if sent, _ := p.targets[0].Lane.Counts(); sent[adapters.Search]+sent[adapters.Read]+sent[adapters.Roles] > 0 {
		return p.fail("a plan that reads no entity", fmt.Sprint(sent))
	}
	if err := p.plans[0].Err; err != nil {
		return p.fail("a plan", err.Error())
	}
	return nil
}

// expectPlan is "plan explained|stable|flat|noticed" or "plan refuses NAME…".
func (p *player) expectPlan(ws []string) error {
	if len(p.plans) == 0 {
		return fmt.Errorf("expect plan needs a plan before it")
	}
	v := &p.plans[0]
	switch ws[0] {
	case "explained":
		return p.explained(v)
	case "stable":
		return p.stable(v)
	case "flat":
		return p.flat(v)
	case "noticed":
		return p.noticed(v)
	case "refuses":
		return p.refuses(v, ws[1:])
	}
	return fmt.Errorf("expect plan %s is not known", ws[0])
}

// explained: every walk shows its search, the cost is told, and every test that the provider does not decide exactly is
// left to the local check by name and with a reason.
func (p *player) explained(v *poll.PlanView) error {
	for _, s := range v.Searches {
		if strings.TrimSpace(s.Text) == "" {
			return p.fail("the search of walk "+s.Walk+" as it is sent", "nothing")
		}
	}
	if len(v.Cost) == 0 {
		return p.fail("what an idle cycle, a changed entity and a sweep cost", "nothing")
	}
	claims := p.tg.Adapter.Claims(p.c.Kind)
	for _, h := range p.targets[0].Harnesses {
		for _, l := range asked(p.tg.Adapter, p.c.Kind, h.Queries) {
			if claims.Filter(l, query.Sweep) == query.Exact {
				continue
			}
			if !slices.ContainsFunc(v.Weakened, func(w query.Weakening) bool {
				return w.Why != "" && (w.Leaf.Field == l.Field || w.Leaf.Field == 0)
			}) {
				return p.fail(fmt.Sprintf("%s: the plan says that %s is left to the local check, and why", h.Name, l), weakenings(v.Weakened))
			}
		}
	}
	token, err := p.place.Token(p.credential)
	if err == nil && len(token) > 3 && strings.Contains(fmt.Sprint(v.Searches, v.Weakened, v.Cost, v.Warnings), token) {
		return p.fail("a plan without the credential's text", "it is in the plan")
	}
	return nil
}

func weakenings(ws []query.Weakening) string {
	if len(ws) == 0 {
		return "nothing is said to be left"
	}
	var out []string
	for _, w := range ws {
		out = append(out, fmt.Sprintf("%s: %s", w.Leaf, w.Why))
	}
	return strings.Join(out, "; ")
}

// stable: compiling again gives the same searches.
func (p *player) stable(v *poll.PlanView) error {
	again := p.engine.Plans(p.ctx)
	if a, b := fmt.Sprint(v.Searches, v.Cost), fmt.Sprint(again[0].Searches, again[0].Cost); a != b {
		return p.fail("the same queries give the same search: "+a, b)
	}
	return nil
}

// flat: as many copies of the same queries as you like are one search.
func (p *player) flat(v *poll.PlanView) error {
	was := p.copies
	p.copies = 1
	if err := p.fresh(); err != nil {
		return err
	}
	one := p.engine.Plans(p.ctx)
	p.copies = was
	if a, b := fmt.Sprint(one[0].Searches), fmt.Sprint(v.Searches); a != b {
		return p.fail("the search of one harness: "+a, b)
	}
	return p.fresh()
}

// noticed: what the catalogue says a walk notices, the plan has a walk for.
func (p *player) noticed(v *poll.PlanView) error {
	cat := p.tg.Adapter.Catalogue(p.c.Kind)
	var walks []string
	for _, s := range v.Searches {
		walks = append(walks, s.Walk)
	}
	for _, h := range p.targets[0].Harnesses {
		for _, q := range h.Queries {
			for _, id := range q.Fields().IDs() {
				f, ok := cat.ByID(id)
				if !ok || len(f.Walks) == 0 {
					continue
				}
				for _, w := range f.Walks {
					if !slices.Contains(walks, w) {
						return p.fail(fmt.Sprintf("a plan with the walk %s, which notices %s", w, f.Name), strings.Join(walks, ", "))
					}
				}
			}
		}
	}
	return nil
}

func (p *player) refuses(v *poll.PlanView, names []string) error {
	for _, n := range names {
		if !slices.ContainsFunc(v.Refused, func(r adapters.Refusal) bool { return strings.HasPrefix(r.Source, n+"/") && r.Why != "" }) {
			return p.fail("source "+n+" is refused by name, with a reason", fmt.Sprint(v.Refused))
		}
	}
	if len(names) == 0 && len(v.Refused) > 0 {
		return p.fail("no refusal", fmt.Sprint(v.Refused))
	}
	return nil
}
