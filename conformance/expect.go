package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// expectations are the words behind "expect".
func expectations() map[string]func(*player, []string) error {
	return map[string]func(*player, []string) error{
		"emitted":    (*player).expectEmitted,
		"undecided":  (*player).expectUndecided,
		"complete":   func(p *player, _ []string) error { return p.claimed() },
		"incomplete": (*player).expectIncomplete,
		"whatever":   func(p *player, _ []string) error { p.pending = nil; return nil },
		"missed":     (*player).expectMissed,
		"requests":   (*player).expectRequests,
		"error":      (*player).expectError,
		"wait":       (*player).expectWait,
		"warning":    (*player).expectWarning,
		"left":       (*player).expectLeft,
		"gone":       (*player).expectGone,
		"kept":       (*player).expectKept,
		"outside":    (*player).expectOutside,
		"read":       (*player).expectRead,
		"plan":       (*player).expectPlan,
		"role":       (*player).expectRole,
	}
}

func (p *player) doExpect(ws []string) error { return expectations()[ws[0]](p, ws[1:]) }

// pairsOf reads "code:a b1..3 ~b4 review:c": a word without a harness has the last one's, and one with "~" may be there
// or not.
func (p *player) pairsOf(ws []string) (want, maybe map[string]int, err error) {
	want, maybe = map[string]int{}, map[string]int{}
	harness := ""
	for _, w := range ws {
		if w == "none" {
			continue
		}
		w, may := strings.CutPrefix(w, "~")
		h, name, ok := strings.Cut(w, ":")
		if ok {
			harness = h
		} else {
			name = w
		}
		if harness == "" {
			return nil, nil, fmt.Errorf("%q: want harness:entity", w)
		}
		names, err := unfold(name)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range names {
			switch {
			case !p.names[n]:
				return nil, nil, fmt.Errorf("nothing is called %q", n)
			case may:
				maybe[harness+":"+n]++
			default:
				want[harness+":"+n]++
			}
		}
	}
	return want, maybe, nil
}

// difference is what is wanted and not there, and what is there and neither wanted nor allowed.
func difference(want, maybe, got map[string]int, copies int) (lost, extra []string) {
	for _, k := range sortedKeys(want) {
		if got[k] < want[k]*copies {
			lost = append(lost, k)
		}
	}
	for _, k := range sortedKeys(got) {
		if got[k] > (want[k]+maybe[k])*copies {
			extra = append(extra, k)
		}
	}
	return lost, extra
}

// expectEmitted compares what was emitted since it was last asked. On a world that is only eventually consistent what is
// lost is waited for.
func (p *player) expectEmitted(ws []string) error {
	want, maybe, err := p.pairsOf(ws)
	if err != nil {
		return err
	}
	lost, extra := difference(want, maybe, p.emitted, p.copies)
	for _, wait := range p.tg.Retry {
		if len(lost) == 0 || len(extra) > 0 {
			break
		}
		select {
		case <-time.After(wait):
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
		if err := p.run(false, 0); err != nil {
			return err
		}
		lost, extra = difference(want, maybe, p.emitted, p.copies)
	}
	got := p.emitted
	p.emitted = map[string]int{}
	if len(lost)+len(extra) == 0 {
		return nil
	}
	return p.differs(want, got, lost, extra)
}

func (p *player) differs(want, got map[string]int, lost, extra []string) error {
	var notes []string
	for i, k := range lost {
		if i == 3 {
			notes = append(notes, fmt.Sprintf("… and %d more were lost", len(lost)-i))
			break
		}
		notes = append(notes, "lost: "+k+p.story(k))
	}
	for _, k := range extra {
		if strings.Contains(k, "/") || want[k] == 0 {
			notes = append(notes, "not asked for: "+k+p.story(k))
		} else {
			notes = append(notes, fmt.Sprintf("sent %d times instead of %d: %s", got[k], want[k]*p.copies, k))
		}
	}
	for _, w := range p.pending {
		notes = append(notes, "the cycle was incomplete: "+w)
	}
	return p.fail(list(want), list(got), notes...)
}

func list(m map[string]int) string {
	if len(m) == 0 {
		return "none"
	}
	ks := sortedKeys(m)
	if len(ks) > 12 {
		return fmt.Sprintf("%s … (%d in all)", strings.Join(ks[:12], " "), len(ks))
	}
	return strings.Join(ks, " ")
}

// story is what the ledger knows of a pair.
func (p *player) story(pair string) string {
	harness, name, _ := strings.Cut(pair, ":")
	ref, ok := p.refOf(name)
	if !ok {
		return ": no answer of the adapter ever showed it"
	}
	es, err := p.ledger.Entities(p.ctx, p.scope(), []scope.Identity{ref.Identity})
	if err != nil {
		return ""
	}
	e, ok := es[ref.Identity]
	switch {
	case !ok:
		return fmt.Sprintf(" (%s): seen, and never judged", ref.Key)
	case e.Gone:
		return fmt.Sprintf(" (%s): taken for gone", ref.Key)
	case e.Pairs[harness].Undecided:
		return fmt.Sprintf(" (%s): undecided%s", ref.Key, causes(e.Again))
	case e.Pairs[harness].In:
		return fmt.Sprintf(" (%s): in the match", ref.Key)
	}
	return fmt.Sprintf(" (%s): judged to be no match on facts read at %s", ref.Key, e.ReadAt.UTC().Format("15:04:05"))
}

func (p *player) scope() scope.Scope {
	if p.tap.session == nil {
		return scope.Scope{}
	}
	return p.tap.session.Scope()
}

// refOf finds an entity by its name in the case among those that the adapter has shown.
func (p *player) refOf(name string) (scope.Ref, bool) {
	p.tap.mu.Lock()
	defer p.tap.mu.Unlock()
	for _, r := range p.tap.seen {
		if p.keys[r.Key] == name || r.Key == name {
			return r, true
		}
	}
	return scope.Ref{}, false
}

// causes are why an entity is to be looked at again.
func causes(as []coverage.Appointment) string {
	for _, a := range as {
		if a.Cause != "" {
			return ", because " + a.Cause
		}
	}
	return ""
}

// undecided are the pairs that the ledger holds as undecided.
func (p *player) undecided() (map[string]int, error) {
	p.tap.mu.Lock()
	refs := maps.Clone(p.tap.seen)
	p.tap.mu.Unlock()
	es, err := p.ledger.Entities(p.ctx, p.scope(), slices.Collect(maps.Keys(refs)))
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for id, e := range es {
		for src, pair := range e.Pairs {
			if pair.Undecided {
				out[base(src)+":"+p.called(refs[id].Key)]++
			}
		}
	}
	return out, nil
}

func (p *player) expectUndecided(ws []string) error {
	want, maybe, err := p.pairsOf(ws)
	if err != nil {
		return err
	}
	got, err := p.undecided()
	if err != nil {
		return err
	}
	if lost, extra := difference(want, maybe, got, p.copies); len(lost)+len(extra) > 0 {
		var notes []string
		for _, k := range lost {
			notes = append(notes, "not undecided: "+k+p.story(k))
		}
		return p.fail("undecided: "+list(want), "undecided: "+list(got), notes...)
	}
	if len(want) > 0 {
		p.pending = slices.DeleteFunc(p.pending, func(s string) bool { return strings.Contains(s, " undecided: ") })
	}
	return nil
}

func (p *player) expectIncomplete(ws []string) error {
	got := strings.Join(p.pending, "; ")
	want := "an incomplete cycle"
	if len(ws) > 0 {
		want += " that says " + strconv.Quote(ws[0])
	}
	switch {
	case len(p.pending) == 0:
		return p.fail(want, "the cycle claims to be complete")
	case len(ws) > 0 && !strings.Contains(strings.ToLower(got), strings.ToLower(ws[0])):
		return p.fail(want, got)
	}
	p.pending = nil
	return nil
}

func (p *player) expectMissed(ws []string) error {
	if ws[0] == "any" {
		p.missed = 0
		return nil
	}
	n, err := strconv.Atoi(strings.Join(ws, ""))
	if err != nil {
		return err
	}
	if p.missed != n {
		return p.fail(fmt.Sprintf("the sweep finds %d entities that a window should have shown", n), strconv.Itoa(p.missed))
	}
	p.missed = 0
	return nil
}

// expectRequests is "requests CLASS OP N" or "requests CLASS OP baseline".
func (p *player) expectRequests(ws []string) error {
	if len(ws) != 3 {
		return errors.New("want requests CLASS = N, <= N or >= N")
	}
	got, ok := counts(p.sum.Requests, ws[0])
	if !ok {
		return fmt.Errorf("%q is no class of requests", ws[0])
	}
	limit, what := 0, ws[2]
	if ws[2] == "baseline" {
		limit, _ = counts(p.baseline, ws[0])
		what = fmt.Sprintf("%d, as before", limit)
	} else if n, err := strconv.Atoi(ws[2]); err == nil {
		limit = n
	} else {
		return err
	}
	if !compare(got, ws[1], limit) {
		return p.fail(fmt.Sprintf("%s requests %s %s", ws[0], ws[1], what), fmt.Sprintf("%d (%v)", got, p.sum.Requests))
	}
	return nil
}

func compare(a int, op string, b int) bool {
	switch op {
	case "=":
		return a == b
	case "<=":
		return a <= b
	case ">=":
		return a >= b
	case "<":
		return a < b
	}
	return false
}

// sentinels are the errors that a case can name.
func sentinels() map[string]error {
	return map[string]error{
		"cursor": adapters.ErrCursor, "budget": adapters.ErrBudget, "throttled": adapters.ErrThrottled, "not-found": adapters.ErrNotFound,
		"unauthorized": adapters.ErrUnauthorized, "forbidden": adapters.ErrForbidden, "moved": adapters.ErrMoved,
		"protocol": adapters.ErrProtocol, "too-large": adapters.ErrTooLarge, "unavailable": adapters.ErrUnavailable,
	}
}

// expectError is "error SEVERITY [NAME…]" or "error none": some error of the cycle has the severity and matches one of
// the names, and none is more severe.
func (p *player) expectError(ws []string) error {
	errs := p.errors()
	var texts []string
	found := false
	worse := ""
	for _, err := range errs {
		var e *adapters.Error
		if !errors.As(err, &e) {
			continue
		}
		texts = append(texts, fmt.Sprintf("[%s] %v", e.Severity, err))
		alternatives := ws[1:]
		for _, n := range alternatives {
			if sentinels()[n] == nil {
				return fmt.Errorf("%q is no error that can be named", n)
			}
		}
		ok := e.Severity.String() == ws[0] && (len(alternatives) == 0 ||
			slices.ContainsFunc(alternatives, func(n string) bool { return errors.Is(err, sentinels()[n]) }))
		found = found || ok
		if e.Severity == adapters.ScopeFailure && ws[0] != "scope" {
			worse = err.Error()
		}
	}
	slices.Sort(texts)
	got := strings.Join(slices.Compact(texts), "; ")
	if got == "" {
		got = "no error"
	}
	switch {
	case ws[0] == "none" && len(texts) > 0, ws[0] != "none" && !found:
		return p.fail("an error that concerns the "+ws[0]+" "+strings.Join(ws[1:], " or "), got)
	case worse != "":
		return p.fail("no failure of the whole scope", worse)
	}
	return nil
}

// expectWait is "wait >= 2m": the longest time that the provider asked to be left alone.
func (p *player) expectWait(ws []string) error {
	want, err := time.ParseDuration(ws[1])
	if err != nil {
		return err
	}
	var got time.Duration
	for _, err := range p.errors() {
		var e *adapters.Error
		if errors.As(err, &e) {
			got = max(got, e.After)
		}
	}
	if !compare(int(got), ws[0], int(want)) {
		return p.fail("the provider's word on when to come back "+strings.Join(ws, " "), got.String())
	}
	return nil
}

// expectWarning is "warning TEXT…" (all of the words) or "warning none".
func (p *player) expectWarning(ws []string) error {
	got := strings.Join(p.sum.Warnings, "; ")
	if ws[0] == "none" {
		if got != "" {
			return p.fail("no warning", got)
		}
		return nil
	}
	for _, w := range ws {
		if !strings.Contains(strings.ToLower(got), strings.ToLower(w)) {
			return p.fail("a warning for people that says "+strconv.Quote(w), strconv.Quote(got))
		}
	}
	return nil
}

func (p *player) expectLeft(ws []string) error {
	n, err := strconv.Atoi(strings.Join(ws, ""))
	if err != nil {
		return err
	}
	if p.sum.Left != n*p.copies {
		return p.fail(fmt.Sprintf("%d pairs are seen leaving the match", n), strconv.Itoa(p.sum.Left))
	}
	return nil
}

func (p *player) entity(name string) (gone, known bool, err error) {
	ref, ok := p.refOf(name)
	if !ok {
		return false, false, nil
	}
	es, err := p.ledger.Entities(p.ctx, p.scope(), []scope.Identity{ref.Identity})
	e, ok := es[ref.Identity]
	return e.Gone, ok, err
}

func (p *player) expectGone(ws []string) error {
	for _, n := range ws {
		gone, known, err := p.entity(n)
		if err != nil {
			return err
		}
		if known && !gone {
			return p.fail(n+" is proven gone", "it still counts as there"+p.story(":"+n))
		}
	}
	return nil
}

func (p *player) expectKept(ws []string) error {
	for _, n := range ws {
		gone, known, err := p.entity(n)
		if err != nil {
			return err
		}
		if gone || !known {
			return p.fail(n+" is kept: nothing proves that it is gone", "it counts as gone"+p.story(":"+n))
		}
	}
	return nil
}

func (p *player) expectOutside(ws []string) error {
	n, err := strconv.Atoi(strings.Join(ws, ""))
	if err != nil {
		return err
	}
	if p.sum.Outside != n {
		return p.fail(fmt.Sprintf("%d rows are dropped because they prove to be elsewhere", n), strconv.Itoa(p.sum.Outside))
	}
	return nil
}

// expectRead is "read none" or "read FIELD…": which fields the engine had to ask for.
func (p *player) expectRead(ws []string) error {
	p.tap.mu.Lock()
	asked, reads := p.tap.asked, p.tap.reads
	p.tap.mu.Unlock()
	var got []string
	cat := p.tg.Adapter.Catalogue(p.c.Kind)
	for _, id := range asked.IDs() {
		if f, ok := cat.ByID(id); ok {
			got = append(got, f.Name)
		}
	}
	slices.Sort(got)
	if ws[0] == "none" {
		if reads > 0 {
			return p.fail("no entity is read again", fmt.Sprintf("%d reads, of %v", reads, got))
		}
		return nil
	}
	for _, g := range got {
		if !slices.Contains(ws, g) {
			return p.fail("only these fields are asked for: "+strings.Join(ws, " "), strings.Join(got, " "))
		}
	}
	return nil
}

// expectRole is "role LOGIN OP ROLE" or "role LOGIN unverified": what the adapter finds when it is asked now.
func (p *player) expectRole(ws []string) error {
	login, err := expand(ws[0], p.name)
	if err != nil {
		return err
	}
	p.tap.mu.Lock()
	u, ok := p.tap.users[login]
	p.tap.mu.Unlock()
	if !ok {
		return p.fail("an element by "+login+" among the facts", "nothing was ever attributed to them")
	}
	fs, err := p.tap.session.Roles(p.ctx, []query.User{u})
	if err != nil {
		return p.fail("a finding about "+login, err.Error())
	}
	f := fs[0]
	got := fmt.Sprintf("%s, verified %v by %q %s", f.Role, f.Verified, f.Endpoint, f.Why)
	if ws[1] == "unverified" {
		if f.Verified {
			return p.fail(login+"'s role is not verified", got)
		}
		return nil
	}
	role, err := adapters.ParseRole(ws[2])
	if err != nil {
		return err
	}
	if !f.Verified || !compare(int(f.Role), ws[1], int(role)) {
		return p.fail(fmt.Sprintf("%s's verified role %s %s", login, ws[1], role), got)
	}
	return nil
}
