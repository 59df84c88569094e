package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

// matches asks every question of the case alone, so that whatever its adapter pushes down for it really is pushed down,
// and then all of them together. Only a sweep can find the entities: the windows begin after they were made.
func (p *player) matches() error {
	if len(p.c.questions) == 0 {
		return nil
	}
	if err := p.settle(); err != nil {
		return err
	}
	for i := range p.c.questions {
		q := &p.c.questions[i]
		p.at = q.line
		if err := p.ask([]question{*q}); err != nil {
			return p.wrap(err)
		}
	}
	if len(p.c.questions) == 1 {
		return nil
	}
	return p.wrap(p.ask(p.c.questions))
}

// ask runs one first scan for some questions and compares.
func (p *player) ask(qs []question) error {
	hs := make([]poll.Harness, len(qs))
	for i, q := range qs {
		h, err := p.harness(source{harness: fmt.Sprintf("q%d", q.no), threshold: q.threshold, text: q.text})
		if err != nil {
			return err
		}
		hs[i] = h
	}
	led, err := coverage.Open(p.ctx, coverage.NewMemory(), coverage.Options{Now: p.place.Config.Now})
	if err != nil {
		return err
	}
	p.ledger, p.emitted, p.pending, p.missed = led, map[string]int{}, nil, 0
	if err := p.engineFor(hs); err != nil {
		return err
	}
	if err := p.run(false, 0); err != nil {
		return err
	}
	undecided, err := p.undecided()
	if err != nil {
		return err
	}
	for i, q := range qs {
		p.at = q.line
		if err := p.answered(hs[i].Name, q, undecided, len(qs) > 1); err != nil {
			return err
		}
		if len(q.undecided) > 0 {
			p.pending = slices.DeleteFunc(p.pending, func(s string) bool { return strings.Contains(s, " undecided: ") })
		}
	}
	p.emitted = map[string]int{}
	return p.claimed()
}

// answered compares what one question found.
func (p *player) answered(harness string, q question, undecided map[string]int, together bool) error {
	want, got := map[string]int{}, map[string]int{}
	maybe, may := map[string]int{}, map[string]int{}
	for _, n := range q.match {
		want[harness+":"+n] = 1
	}
	for _, n := range q.undecided {
		maybe[harness+":"+n] = 1
	}
	for _, m := range []struct{ from, to map[string]int }{{p.emitted, got}, {undecided, may}} {
		for k, v := range m.from {
			if strings.HasPrefix(k, harness+":") {
				m.to[k] = v
			}
		}
	}
	lost, extra := difference(want, nil, got, 1)
	missing, more := difference(maybe, nil, may, 1)
	if len(lost)+len(extra)+len(missing)+len(more) == 0 {
		return nil
	}
	f := p.differs(want, got, lost, extra).(*Failure)
	strip := func(s string) string { return strings.ReplaceAll(s, harness+":", "") }
	f.Expected, f.Got = strip(f.Expected), strip(f.Got)
	for i := range f.Notes {
		f.Notes[i] = strip(f.Notes[i])
	}
	if len(missing)+len(more) > 0 {
		f.Expected += ", undecided " + strip(list(maybe))
		f.Got += ", undecided " + strip(list(may))
		for _, k := range more {
			f.Notes = append(f.Notes, "undecided: "+strip(k+p.story(k)))
		}
	}
	f.Notes = append(f.Notes, p.search(together)...)
	return f
}

// search is what the adapter made of the queries at hand.
func (p *player) search(together bool) []string {
	how := "asked alone"
	if together {
		how = "asked together with the case's other queries"
	}
	out := []string{how}
	for _, v := range p.engine.Plans(p.ctx) {
		for _, s := range v.Searches {
			out = append(out, "walk "+s.Walk+" sends: "+s.Text)
		}
	}
	claims := p.tg.Adapter.Claims(p.c.Kind)
	for _, h := range p.targets[0].Harnesses {
		for _, b := range h.Queries {
			for _, l := range b.Necessary() {
				if s := claims.Filter(l, query.Sweep); s != query.None {
					out = append(out, fmt.Sprintf("the adapter claims that the provider filters %s: is that so?", l))
				}
			}
		}
	}
	return out
}
