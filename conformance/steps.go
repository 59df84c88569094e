package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// steps are the words of a script that the suite does itself; every other word is a verb of the stage.
func steps() map[string]func(*player, []string) error {
	return map[string]func(*player, []string) error{
		"cycle":      (*player).doCycle,
		"proceed":    (*player).doProceed,
		"sweep":      func(p *player, _ []string) error { return p.cycle(true, 0) },
		"restart":    func(p *player, _ []string) error { return p.restart() },
		"fresh":      func(p *player, _ []string) error { return p.fresh() },
		"settle":     func(p *player, _ []string) error { return p.settle() },
		"use":        func(p *player, ws []string) error { p.use = ws; return p.restart() },
		"multiply":   (*player).doMultiply,
		"baseline":   func(p *player, _ []string) error { p.baseline = maps.Clone(p.sum.Requests); return nil },
		"credential": func(p *player, ws []string) error { p.credential = ws[0]; return nil },
		"plan":       (*player).doPlan,
		"expect":     (*player).doExpect,
		"try":        (*player).doTry,
	}
}

// checkStep finds what can be found wrong before a case is played.
func checkStep(l line) error {
	ws := l.words
	switch ws[0] {
	case "credential", "multiply":
		if len(ws) != 2 {
			return fmt.Errorf("%s: want one word", ws[0])
		}
	case "use":
		if len(ws) < 2 {
			return errors.New("use: name the harnesses")
		}
	case "expect":
		if len(ws) < 2 || expectations()[ws[1]] == nil {
			return fmt.Errorf("expect: want one of %s", strings.Join(sortedKeys(expectations()), ", "))
		}
	case "try":
		if len(ws) < 2 || trials()[ws[1]] == nil {
			return fmt.Errorf("try: want one of %s", strings.Join(sortedKeys(trials()), ", "))
		}
	case "repeat":
		if len(ws) < 3 {
			return errors.New("repeat: want repeat N verb …")
		}
		if _, err := strconv.Atoi(ws[1]); err != nil {
			return fmt.Errorf("repeat: %q is no number", ws[1])
		}
	}
	return nil
}

// doCycle is "cycle [stop-after=N]".
func (p *player) doCycle(ws []string) error {
	args, err := pairs(ws)
	if err != nil {
		return err
	}
	n := 0
	if s := args["stop-after"]; s != "" {
		if n, err = strconv.Atoi(s); err != nil {
			return err
		}
	}
	return p.cycle(false, n)
}

// doProceed lets a minute pass and runs a cycle, if the last one was not complete: for budgets that are too small.
func (p *player) doProceed([]string) error {
	if len(p.pending) == 0 && p.sum.Complete() {
		return nil
	}
	p.pending = nil
	if err := p.place.Stage.Do(p.ctx, "advance", map[string]string{"by": "1m"}); err != nil {
		return unable(err)
	}
	return p.cycle(false, 0)
}

// settle lets so much time pass that no window reaches back to what was just made: from then on only a sweep finds it.
func (p *player) settle() error {
	err := p.place.Stage.Do(p.ctx, "advance", map[string]string{"by": "1h"})
	if errors.Is(err, ErrUnable) {
		err = p.place.Stage.Do(p.ctx, "advance", map[string]string{"by": "8s"})
	}
	return unable(err)
}

func (p *player) doMultiply(ws []string) error {
	n, err := strconv.Atoi(ws[0])
	if err != nil || n < 1 {
		return fmt.Errorf("multiply: %q is no number", ws[0])
	}
	p.copies = n
	return p.fresh()
}

// invariants hold after every cycle, whatever the case is about.
func (p *player) invariants() error {
	p.tap.mu.Lock()
	breaches := slices.Clone(p.tap.breaches)
	p.tap.mu.Unlock()
	p.wire.mu.Lock()
	breaches = append(breaches, p.wire.breaches...)
	p.wire.mu.Unlock()
	if n := unannounced(p.wire, p.purse); n > 0 {
		breaches = append(breaches, fmt.Sprintf("CF-45: %d requests were sent without asking the budget: nobody can pace this credential", n))
	}
	breaches = append(breaches, p.secrets()...)
	if len(breaches) > 0 {
		return p.fail("what every call owes, in every case", breaches[0], breaches[1:]...)
	}
	if p.place.Trouble != nil {
		if err := p.place.Trouble(); err != nil {
			return fmt.Errorf("a script of the verb after failed: %w", err)
		}
	}
	return nil
}

// secrets holds that the credential appears in nothing that people read.
func (p *player) secrets() []string {
	token, err := p.place.Token(p.credential)
	if err != nil || len(token) < 4 {
		return nil
	}
	texts := slices.Concat(p.sum.Incomplete, p.sum.Warnings)
	for _, e := range p.errors() {
		texts = append(texts, e.Error())
	}
	for _, t := range texts {
		if strings.Contains(t, token) {
			return []string{"CF-44: the credential's text is in: " + strings.ReplaceAll(t, token, "[the credential]")}
		}
	}
	return nil
}

// errors are those of the last cycle, also those that are not the end of it.
func (p *player) errors() []error {
	p.tap.mu.Lock()
	defer p.tap.mu.Unlock()
	return slices.Clone(p.tap.errs)
}

// claimed holds that the last cycle was complete, and that no sweep found what windows had covered, unless a step said
// otherwise.
func (p *player) claimed() error {
	switch {
	case len(p.pending) > 0:
		return p.fail("a complete cycle before this line: nobody disturbed it", strings.Join(p.pending, "; "))
	case p.missed > 0:
		return p.fail("windows that show every change before the sweep does",
			fmt.Sprintf("the sweep found %d entities that a window had claimed to cover", p.missed),
			"a window that ends cleanly promises that everything which changed in it was shown; here it was not")
	}
	return nil
}

// spent holds that nothing was emitted beyond what the case expected.
func (p *player) spent() error {
	if len(p.emitted) == 0 {
		return nil
	}
	return p.fail("nothing more than what was expected so far", "also emitted: "+strings.Join(sortedKeys(p.emitted), " "))
}
