package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/scope"
)

// Steps is what a story may do to the poller, besides the verbs of the simulated forge:
//
//	cycle                    one cycle, and what came out is handed over
//	settle                   everything that is wrong ends; the poller gets time; then the account must be even
//	plan name:n,…            the harnesses in force from the next cycle on, each in one of its versions
//	crash at=… n=…           in the next cycle the process dies at its n-th request, before its n-th write, after its n-th
//	                         commit, or when the driver has taken the n-th batch
//	hook n=… do="…"          right before the n-th request of the next cycle the world changes
//	cap n=…                  the provider gives no more rows of a window; 0 is none
//	drift by=…               the poller's own clock is put forward by so much, or back
//	budget requests=… emit=… caps of every cycle; 0 is none
//	outcomes a,b,…           how the next runs end
//	ordinary a               how all others end
//	poison name              every run of a harness fails
//	account                  the account must be even now, without more ado
//	end a                    every run under way ends so
//	late a                   the run that was handed off first tells, late, that it ended so
//	restart                  the process ends and another begins
//	forget                   the ledger is lost
const Steps = "cycle settle account end plan crash hook cap drift budget outcomes ordinary poison late restart forget"

// step does one line.
func (s *sim) step(line string) error {
	s.say("%s", line)
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "cycle":
		return s.round()
	case "settle":
		return s.settle()
	case "account":
		return s.account()
	case "end":
		return s.end(rest)
	case "restart":
		return s.start()
	case "plan":
		return s.plan(strings.Split(rest, ","))
	}
	s.exact = s.exact && !unsettling(verb, rest)
	s.loud = s.loud && !silent(verb, rest)
	switch verb {
	case "crash":
		s.life.plan = crash{at: arg(rest, "at"), n: number(rest, "n")}
	case "hook":
		n := number(rest, "n")
		_, do, _ := strings.Cut(rest, "do=")
		if text, err := strconv.Unquote(do); err == nil {
			do = text
		}
		s.wire.hooks[n] = append(s.wire.hooks[n], do)
	case "cap":
		s.most = number(rest, "n")
	case "drift":
		d, err := time.ParseDuration(arg(rest, "by"))
		if err != nil {
			return fmt.Errorf("drift: %w", err)
		}
		s.set.Drift += d
	case "budget":
		s.budget, s.limit = number(rest, "requests"), number(rest, "emit")
		return s.hire()
	case "outcomes":
		s.driver.next = append(s.driver.next, strings.Split(rest, ",")...)
	case "ordinary":
		s.driver.ordinary = rest
	case "poison":
		s.driver.poison = rest
	case "late":
		return s.late(rest)
	case "forget":
		s.store = coverage.NewMemory()
		s.oracle.forget()
		s.open = nil
		return s.start()
	default:
		s.oracle.stale = s.oracle.stale || verb == "fault" && deceives(rest)
		s.act(line)
	}
	return nil
}

// deceives says that a fault lets answers show another moment without saying so: the past, another clock, or time that
// passes between two answers.
func deceives(fault string) bool {
	return slices.ContainsFunc([]string{"-lag", "status=404", "clock-skew", "kind=slow", "no-date"}, func(w string) bool { return strings.Contains(fault, w) })
}

// unsettling steps are those after which a cycle may lawfully learn of something later, by the sweep, or see what never
// was at one moment.
func unsettling(verb, rest string) bool {
	switch verb {
	case "crash", "hook", "cap", "drift", "budget", "outcomes", "ordinary", "poison", "late", "forget",
		"fault", "rename-label", "delete-label", "rename-milestone", "delete-milestone", "close-milestone", "delete-comment", "delete", "status",
		"rename-user", "delete-user", "set-role", "rename-repo", "transfer", "set-updated", "set-clock", "hide-repo", "dismiss-review":
		return true
	case "advance":
		return strings.HasPrefix(arg(rest, "by"), "-")
	}
	return false
}

// silent steps change what a row shows and move no clock, or let an answer be wrong without saying so.
func silent(verb, rest string) bool {
	switch verb {
	case "fault":
		return deceives(rest) || slices.ContainsFunc([]string{"drop-rows", "repeat-row", "kind=total"}, func(w string) bool { return strings.Contains(rest, w) })
	case "hook":
		_, do, _ := strings.Cut(rest, "do=")
		text, err := strconv.Unquote(do)
		if err != nil {
			text = do
		}
		verb, rest, _ := strings.Cut(text, " ")
		return silent(verb, rest)
	case "rename-label", "delete-label", "rename-milestone", "delete-milestone", "rename-user", "delete-user", "delete-comment", "rename-repo", "transfer",
		"set-updated", "set-clock", "hide-repo", "drift":
		return true
	case "advance":
		return strings.HasPrefix(arg(rest, "by"), "-")
	}
	return false
}

func arg(rest, key string) string {
	for _, w := range strings.Fields(rest) {
		if v, ok := strings.CutPrefix(w, key+"="); ok {
			return v
		}
	}
	return ""
}

func number(rest, key string) int {
	n, err := strconv.Atoi(arg(rest, key))
	if err != nil {
		return 0
	}
	return n
}

// round is one cycle. While nothing lies between the world and what a cycle may know of it, the account must be even at
// once.
func (s *sim) round() error {
	exact := s.exact
	if err := s.cycle(exact); err != nil {
		why, _ := s.unrest()
		return fmt.Errorf("%w; %s", err, why)
	}
	if !exact {
		return nil
	}
	return s.account()
}

func (s *sim) account() error {
	return join(s.oracle.checkpoint(s.world.Now()))
}

func join(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return broken("%v", errors.Join(errs...))
}

// patience is how many cycles the poller gets to come to rest, hours apart.
const patience = 14

func (s *sim) settle() error {
	s.world.ClearFaults("")
	s.most = 0
	s.wire.hooks, s.life.plan = map[int][]string{}, crash{}
	s.driver.next, s.driver.ordinary, s.driver.poison = nil, coverage.Ran, ""
	if s.budget != 0 || s.limit != 0 {
		s.budget, s.limit = 0, 0
		if err := s.hire(); err != nil {
			return err
		}
	}
	if err := s.end(coverage.Ran); err != nil {
		return err
	}
	why := ""
	for i := range patience {
		wait := 8 * time.Hour
		if i == 0 {
			wait = s.set.Sweep + 5*time.Minute
		}
		s.act("advance by=" + wait.String())
		if err := s.cycle(false); err != nil {
			return err
		}
		var err error
		if why, err = s.unrest(); err != nil {
			return err
		}
		if why == "" && i > 0 {
			break
		}
		s.say("  no rest: %s", why)
	}
	if why != "" {
		return broken("no rest after %d cycles: %s", patience, why)
	}
	if err := s.account(); err != nil {
		return err
	}
	s.exact = true
	s.act("advance by=61s")
	return s.round()
}

// unrest says what keeps the ledger from being at rest.
func (s *sim) unrest() (string, error) {
	now := s.world.Now()
	snap, err := s.led.Snapshot(context.Background(), now)
	if err != nil {
		return "", fmt.Errorf("look at the ledger: %w", err)
	}
	asked := map[string]bool{}
	for _, h := range s.oracle.harnesses {
		for _, k := range h.kinds {
			asked[string(k)] = true
		}
	}
	for i := range snap.Scopes {
		if sc := &snap.Scopes[i]; asked[string(sc.Scope.Kind)] {
			if why := scopeUnrest(sc); why != "" {
				return string(sc.Scope.Kind) + ": " + why + s.waiting(sc.Scope), nil
			}
		}
	}
	if o := snap.Outbox; o.Ready+o.Waiting+o.Claimed+o.Lost+o.Dead > 0 {
		return fmt.Sprintf("outbox: ready %d, waiting %d, claimed %d, lost %d, dead %d", o.Ready, o.Waiting, o.Claimed, o.Lost, o.Dead), nil
	}
	return "", nil
}

// waiting lists some of what the agenda holds, for the message.
func (s *sim) waiting(sc scope.Scope) string {
	es, err := s.led.Due(context.Background(), sc, s.world.Now().Add(1000*time.Hour), 3)
	if err != nil {
		return ""
	}
	out := ""
	for i := range es {
		out += fmt.Sprintf("\n    %s %+v", es[i].Ref.Key, es[i].Again)
		for name, p := range es[i].Pairs {
			if p.Undecided {
				out += " undecided: " + name
			}
		}
	}
	return out
}

func scopeUnrest(sc *coverage.ScopeSnapshot) string {
	if sc.Alarm != nil {
		return "alarm: " + sc.Alarm.Why
	}
	for _, w := range sc.Walks {
		if w.Active && (len(w.Gaps) > 0 || w.Reading != nil || w.Fails > 0) {
			return fmt.Sprintf("walk %s: %d gaps, fails %d, %s", w.Name, len(w.Gaps), w.Fails, w.Why)
		}
	}
	for _, w := range sc.Sweeps {
		if w.Active && (w.Owed > 0 || w.Reading != nil || w.Tries > 0 || w.ProbeTo > 0) {
			return fmt.Sprintf("sweep %s: owes %d, tries %d, probes %d–%d, %s", w.Name, w.Owed, w.Tries, w.ProbeFrom, w.ProbeTo, w.Why)
		}
	}
	for _, a := range sc.Agenda {
		if a.Why != coverage.WhyDue || a.Due > 0 {
			return fmt.Sprintf("agenda: %d for %s, %d due", a.Count, a.Why, a.Due)
		}
	}
	return ""
}

// plan puts harnesses in force.
func (s *sim) plan(cast []string) error {
	var kept []string
	var hs []*harness
	for _, c := range cast {
		if h, err := s.version(c); err == nil {
			kept, hs = append(kept, c), append(hs, h)
		}
	}
	if len(s.cast) > 0 {
		s.exact = false
	}
	s.cast = kept
	s.oracle.edit(hs)
	return s.hire()
}

// end lets every run under way end.
func (s *sim) end(outcome string) error {
	for _, key := range slices.Sorted(maps.Keys(s.driver.living)) {
		r := coverage.Receipt{Key: key, Decision: s.driver.living[key], Outcome: outcome, At: s.local()}
		if s.rules.Receipt != nil {
			s.rules.Receipt(&r)
		}
		if err := s.led.Done(context.Background(), s.local(), r); err != nil {
			return fmt.Errorf("receipt: %w", err)
		}
	}
	clear(s.driver.living)
	clear(s.running)
	return nil
}

// late lets the oldest run that was handed off tell how it ended.
func (s *sim) late(outcome string) error {
	if len(s.open) == 0 {
		return nil
	}
	h := s.open[0]
	s.open = s.open[1:]
	now := s.local()
	err := s.led.Done(context.Background(), now, coverage.Receipt{Key: h.key, Decision: h.decision, Outcome: outcome, At: now, Why: "late"})
	if err != nil {
		return fmt.Errorf("late receipt: %w", err)
	}
	switch outcome {
	case coverage.Failed, coverage.UnknownRun, coverage.Lost:
		s.oracle.reopened(h.pair, h.decision)
	}
	return nil
}
