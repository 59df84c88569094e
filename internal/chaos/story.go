package chaos

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

// Story is a setting, the harnesses that it may use, and what happens.
type Story struct {
	Seed     uint64
	Setting  Setting
	versions map[string][]*harness
	Lines    []string
}

// New makes the story of a seed.
func New(seed uint64) *Story {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 0xc4a05)), story: &Story{Seed: seed, versions: map[string][]*harness{}}}
	w.write()
	return w.story
}

// Play plays a story and returns the first violation; out, when not nil, gets the play as it goes.
func Play(b *Bench, st *Story, rules Rules, out io.Writer) error {
	s, err := newSim(b, st.Setting, rules, st.versions, out)
	if err != nil {
		return err
	}
	for i, line := range st.Lines {
		if err := s.step(line); err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, line, err)
		}
	}
	return s.world.HookErr()
}

// String is the story as people read it.
func (st *Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# seed %d: %+v\n", st.Seed, st.Setting)
	for _, name := range []string{"a", "b", "c", "d"} {
		for i, h := range st.versions[name] {
			fmt.Fprintf(&b, "# %s:%d %v level %v self %v: %s | %s\n", name, i, h.kinds, h.level, h.self, h.rule.text(), asks()[h.ask].cel)
		}
	}
	return b.String() + strings.Join(st.Lines, "\n") + "\n"
}

// writer writes the story of a seed.
type writer struct {
	*rand.Rand
	story *Story

	proposals []int // numbers
	items     []int
	remarks   int
	back      time.Duration // how far the clock stands behind where it was
	named     int
}

func (w *writer) line(format string, args ...any) {
	w.story.Lines = append(w.story.Lines, fmt.Sprintf(format, args...))
}

func (w *writer) one(in int) bool { return w.IntN(in) == 0 }

func (w *writer) write() {
	w.story.Setting = Setting{
		Flavour: []face.Flavour{face.Gitea124, face.Gitea127, face.Forgejo}[w.IntN(3)], Rows: 11 + w.IntN(4), Cron: w.one(3),
		Sweep: []time.Duration{time.Hour, 3 * time.Hour}[w.IntN(2)], Recheck: []time.Duration{10 * time.Minute, 30 * time.Minute}[w.IntN(2)],
		Drift: []time.Duration{0, 0, 40 * time.Second, -3 * time.Minute}[w.IntN(4)],
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		for range 1 + w.IntN(2) {
			w.story.versions[name] = append(w.story.versions[name], invent(w.Rand, name))
		}
	}
	w.recast()
	for range 3 + w.IntN(12) {
		w.create()
		if w.one(2) {
			w.pass(90)
		}
		w.change()
	}
	if w.one(3) {
		w.line("settle")
	}
	for range 1 + w.IntN(3) {
		switch w.IntN(4) {
		case 0:
			w.calm()
		case 1:
			w.silent()
		default:
			w.rough()
		}
	}
	w.cap()
}

// cap has the provider give no more than a few rows of a window, from some cycle on until everything is put right. It draws
// nothing, so that the stories are otherwise what they were.
func (w *writer) cap() {
	var at []int
	for i, l := range w.story.Lines {
		if l == "cycle" {
			at = append(at, i)
		}
	}
	if w.story.Seed%8 != 5 || len(at) == 0 {
		return
	}
	n := w.story.Seed / 8
	w.story.Lines = slices.Insert(w.story.Lines, at[n%uint64(len(at))], fmt.Sprintf("cap n=%d", 2+n%7))
}

// recast chooses the harnesses in force.
func (w *writer) recast() {
	var cast []string
	for _, name := range []string{"a", "b", "c", "d"} {
		if !w.one(4) {
			cast = append(cast, fmt.Sprintf("%s:%d", name, w.IntN(len(w.story.versions[name]))))
		}
	}
	if len(cast) == 0 {
		cast = []string{"a:0"}
	}
	w.line("plan %s", strings.Join(cast, ","))
}

// pass lets up to n seconds go by; often none, so that things happen in one second.
func (w *writer) pass(n int) {
	d := w.IntN(n)
	if d > 0 && !w.one(3) {
		w.line("advance by=%ds", d)
		w.back = max(0, w.back-time.Duration(d)*time.Second)
	}
}

// calm: people work and the poller keeps up with them.
func (w *writer) calm() {
	for range 1 + w.IntN(4) {
		for range w.IntN(4) {
			w.change()
			w.pass(30)
		}
		w.pass([]int{40, 400, 4000, 30000}[w.IntN(4)])
		w.line("cycle")
	}
}

// silent: what no clock tells, found by the sweep.
func (w *writer) silent() {
	w.line("cycle")
	for range 1 + w.IntN(4) {
		w.hush()
		if w.one(2) {
			w.change()
		}
		w.pass(300)
		if w.one(2) {
			w.line("cycle")
		}
	}
	w.line("settle")
}

// rough: everything at once.
func (w *writer) rough() {
	if w.one(3) {
		w.line("budget requests=%d emit=%d", []int{0, 40, 70}[w.IntN(3)], []int{0, 1, 3}[w.IntN(3)])
	}
	for range 1 + w.IntN(5) {
		for range w.IntN(3) {
			w.change()
			w.pass(20)
		}
		w.trouble()
		if w.one(3) {
			w.trouble()
		}
		w.pass([]int{8, 60, 900, 6000}[w.IntN(4)])
		w.line("cycle")
		if w.one(2) {
			w.line("clear-faults")
		}
	}
	w.line("settle")
}

func (w *writer) trouble() {
	switch w.IntN(14) {
	case 0, 1, 2:
		w.line("crash at=%s n=%d", []string{"request", "write", "commit", "driver"}[w.IntN(4)], 1+w.IntN([]int{4, 40}[w.IntN(2)]))
	case 3, 4:
		w.fault()
	case 5:
		w.fault()
		w.fault()
	case 6, 7:
		n, at := 1+w.IntN(3), len(w.story.Lines)
		for range n {
			w.change()
		}
		lines := append([]string(nil), w.story.Lines[at:]...)
		w.story.Lines = w.story.Lines[:at]
		for _, l := range lines {
			w.line("hook n=%d do=%q", 1+w.IntN([]int{6, 60}[w.IntN(2)]), l)
		}
	case 8:
		w.recast()
	case 9:
		var outs []string
		for range 1 + w.IntN(5) {
			outs = append(outs, []string{"failed", "unknown", "not_member", "not_triggered", "skipped", "handed_off", "mute"}[w.IntN(7)])
		}
		w.line("outcomes %s", strings.Join(outs, ","))
	case 10:
		w.line("late %s", []string{"failed", "unknown", "lost", "ran"}[w.IntN(4)])
	case 11:
		if w.one(3) {
			w.line("forget")
		} else {
			w.line("poison %s", []string{"a", "b", "c", "d"}[w.IntN(4)])
		}
	case 12:
		d := time.Duration(1+w.IntN(240)) * time.Second
		if w.back+d < 8*time.Minute {
			w.back += d
			w.line("advance by=-%s", d)
		}
	default:
		w.hush()
	}
}

// fault makes the forge misbehave.
func (w *writer) fault() {
	route := []string{"issues.list", "issue.*", "comments.list", "search", "read", "role", "identity", ""}[w.IntN(8)]
	some := fmt.Sprintf("route=%s skip=%d count=%d", route, w.IntN(8), 1+w.IntN(6))
	if route == "" {
		some = fmt.Sprintf("skip=%d count=%d", w.IntN(8), 1+w.IntN(6))
	}
	switch w.IntN(14) {
	case 0:
		w.line("fault kind=status status=%d %s", []int{500, 502, 503, 429, 403, 404, 401}[w.IntN(7)], some)
	case 1:
		w.line("fault kind=status status=429 retry-after=%d %s", 1+w.IntN(900), some)
	case 2:
		w.line("fault kind=%s %s", []string{"html", "empty", "null-body", "invalid-json", "reset", "anonymous"}[w.IntN(6)], some)
	case 3:
		w.line("fault kind=cut %s", some)
	case 4:
		w.line("fault kind=slow by=%ds %s", 1+w.IntN(40), some)
	case 5, 6:
		w.line("fault kind=index-lag by=%ds", 1+w.IntN([]int{10, 1500}[w.IntN(2)]))
	case 7, 8:
		w.line("fault kind=replica-lag by=%ds", 1+w.IntN([]int{10, 1500}[w.IntN(2)]))
	case 9:
		w.line("fault kind=clock-skew by=%ds", w.IntN(360)-180)
	case 10:
		w.line("fault kind=null-rows n=%d %s", 1+w.IntN(3), some)
	case 11:
		w.line("fault kind=%s n=%d route=issues.list skip=%d count=2", []string{"drop-rows", "repeat-row"}[w.IntN(2)], 1+w.IntN(3), w.IntN(4))
	case 12:
		w.line("fault kind=total n=%d route=issues.list count=3", w.IntN(12)-6)
	default:
		w.line("fault kind=%s %s", []string{"no-total", "no-date", "no-link"}[w.IntN(3)], some)
	}
}

func who(w *writer) string {
	return []string{"wes", "wes", "wanda", "mira", "zoe", "rob", "sam", robot}[w.IntN(8)]
}

func (w *writer) create() {
	extra := ""
	if w.one(3) {
		extra += " labels=" + []string{"bug", "docs", "blocked", "go"}[w.IntN(4)]
	}
	if w.one(3) {
		extra += " body=" + []string{"urgent", "plain"}[w.IntN(2)]
	}
	title := []string{"urgent thing", "thing", "WIP: thing"}[w.IntN(3)]
	n := len(w.items) + len(w.proposals) + 1
	if w.one(3) {
		w.proposals = append(w.proposals, n)
		w.line("create as=%s kind=change_proposal title=%q%s", who(w), title, extra)
		return
	}
	w.items = append(w.items, n)
	w.line("create as=%s title=%q%s", who(w), title, extra)
}

// on is some entity, more often one of few.
func (w *writer) on() int {
	n := len(w.items) + len(w.proposals)
	if n == 0 {
		return 1
	}
	if w.one(2) {
		return 1 + w.IntN(min(n, 4))
	}
	return 1 + w.IntN(n)
}

// change is something that moves an entity's clock.
func (w *writer) change() {
	on, as := w.on(), who(w)
	switch w.IntN(20) {
	case 0:
		w.create()
	case 1, 2, 3:
		w.line("label on=%d as=%s label=%s", on, as, []string{"bug", "docs", "blocked", "go"}[w.IntN(4)])
	case 4, 5:
		w.line("unlabel on=%d as=%s label=%s", on, as, []string{"bug", "docs", "blocked", "go"}[w.IntN(4)])
	case 6, 7, 8:
		w.remarks++
		w.line("comment on=%d as=%s body=%q name=r%d", on, as, []string{"/go", "/go now", "please look", "me too"}[w.IntN(4)], w.remarks)
	case 9:
		w.line("close on=%d as=%s", on, as)
	case 10, 11:
		w.line("reopen on=%d as=%s", on, as)
	case 12:
		w.line("assign on=%d as=%s user=wes", on, as)
	case 13:
		w.line("unassign on=%d as=%s user=wes", on, as)
	case 14:
		w.line("milestone on=%d as=%s milestone=%s", on, as, []string{"1.0", "2.0", `""`}[w.IntN(3)])
	case 15:
		w.line("edit on=%d as=%s title=%q", on, as, []string{"urgent thing", "thing", "WIP: thing"}[w.IntN(3)])
	case 16:
		w.line("edit on=%d as=%s body=%s locked=%v", on, as, []string{"urgent", "plain"}[w.IntN(2)], w.one(2))
	case 17:
		if w.remarks > 0 {
			w.line("edit-comment comment=r%d as=%s body=%q", 1+w.IntN(w.remarks), as, []string{"/go", "please", "never mind"}[w.IntN(3)])
		}
	default:
		w.propose(as)
	}
}

// propose is a change of a change proposal.
func (w *writer) propose(as string) {
	if len(w.proposals) == 0 {
		return
	}
	on := w.proposals[w.IntN(len(w.proposals))]
	switch w.IntN(5) {
	case 0:
		w.line("push on=%d as=%s", on, as)
	case 1, 2:
		w.line("review on=%d as=%s state=%s", on, as, []string{"approved", "changes_requested"}[w.IntN(2)])
	case 3:
		w.line("request-review on=%d as=%s user=wanda", on, as)
	default:
		w.line("%s on=%d as=%s", cmp.Or([]string{"merge", "reopen"}[w.IntN(2)]), on, as)
	}
}

// hush is something that moves no entity's clock.
func (w *writer) hush() {
	switch w.IntN(12) {
	case 0:
		w.line("rename-label label=%s to=%s", []string{"bug", "docs", "spare"}[w.IntN(3)], []string{"bug", "spare", "docs"}[w.IntN(3)])
	case 1:
		w.line("delete-label label=%s ; create-label label=%s", "docs", "docs")
	case 2:
		w.line("rename-milestone milestone=%s to=%s", []string{"1.0", "2.0"}[w.IntN(2)], []string{"1.0", "3.0"}[w.IntN(2)])
	case 3:
		if w.remarks > 0 {
			w.line("delete-comment comment=%s", fmt.Sprintf("r%d", 1+w.IntN(w.remarks)))
		}
	case 4:
		w.line("delete on=%d", w.on())
	case 5, 6:
		if len(w.proposals) > 0 {
			w.line("status on=%d as=wes context=ci state=%s", w.proposals[w.IntN(len(w.proposals))], []string{"success", "failure", "pending"}[w.IntN(3)])
		}
	case 7, 8, 9:
		w.line("set-role user=%s role=%s", []string{"wes", "wanda", "rob", "sam"}[w.IntN(4)], []string{"none", "read", "triage", "write", "admin"}[w.IntN(5)])
	case 10:
		w.named++
		if w.one(2) {
			w.line("rename-user login=mira to=mira%d", w.named) // who acts as mira from now on is nobody
		} else {
			w.line("delete-user login=zoe")
		}
	default:
		w.named++
		if w.one(3) {
			w.line("transfer repo=acme/widgets to=wes ; transfer repo=wes/widgets to=acme")
		} else {
			w.line("rename-repo repo=acme/widgets to=widgets%d ; rename-repo repo=acme/widgets%d to=widgets", w.named, w.named)
		}
	}
}
