package e2e

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFirstLight runs the real binary against one real server; every part has ledgers of its own.
func TestFirstLight(t *testing.T) {
	r := newRig(t)
	for _, part := range []struct {
		name string
		test func(t *testing.T, r *rig)
	}{
		{"search requests", searchRequests},
		{"second poller", secondPoller},
		{"credentials", credentials},
		{"killed poller", killedPoller},
		{"output that cannot be written", brokenOutput},
		{"bound runs", boundRuns},
		{"who receives what", whoReceivesWhat},
	} {
		t.Run(part.name, func(t *testing.T) {
			r.t = t
			part.test(t, r)
		})
	}
}

// whoReceivesWhat follows one ledger through a life of its repository: after every change, the poller sends
// exactly what the test's own record says, each once, and ends with exit code 0.
func whoReceivesWhat(t *testing.T, r *rig) {
	s := r.site(r.poller.Token, harnesses())
	sent := newMemory()
	w := func(name string) string { return "rig-" + name }

	var numbers struct{ silenced, freed, draft, plain, commanded, mentioned, closedBug, gone int }
	numbers.silenced = r.issue(true, map[string]string{"bug": w("writer")})
	numbers.freed = r.issue(true, map[string]string{"bug": w("writer"), "blocked": w("owner")})
	numbers.closedBug = r.issue(false, map[string]string{"bug": w("writer")})
	numbers.plain = r.pick(func(it *item) bool { return it.kind == changeProposal && it.open && !it.draft })
	numbers.draft = r.pick(func(it *item) bool { return it.draft && len(it.notes) == 0 })
	numbers.commanded = r.pick(func(it *item) bool { return len(r.world.commands(it, "/fs-fix")) > 0 && it.open && !it.draft })
	numbers.mentioned = r.pick(func(it *item) bool {
		return it.kind == changeProposal && len(it.notes) == 1 && !it.draft && len(r.world.commands(it, "/fs-fix")) == 0 &&
			r.world.items[it.number].base == "main" && notesBy(it, w("writer"))
	})
	unlabelled := func() int { return r.issue(true, nil) }
	var note int64

	steps := []struct {
		name   string
		change func()
		quiet  bool // the change must not send anything: said here too, so that a slip in the record shows
	}{
		{"first poll", func() {}, false},
		{"nothing happened", func() {}, true},
		{"labels come and go", func() {
			r.label(unlabelled(), "bug", r.writer)
			r.label(numbers.silenced, "blocked", r.owner)
			r.unlabel(numbers.freed, "blocked")
			r.unlabel(r.issue(true, map[string]string{"ui": w("owner")}), "ui")
		}, false},
		{"a label of somebody without write", func() { r.label(unlabelled(), "bug", r.labeller) }, true},
		{"a match that was left is entered again", func() { r.unlabel(numbers.silenced, "blocked") }, false},
		{"closing, reopening, out of draft", func() {
			r.close(numbers.plain)
			r.close(unlabelled())
			r.reopen(numbers.closedBug)
			r.ready(numbers.draft, "ready")
		}, false},
		{"reopened", func() { r.reopen(numbers.plain) }, false},
		{"a stranger commands", func() {
			r.comment(numbers.plain, "/fs-fix", r.stranger)
			r.comment(numbers.plain, "/fs-fix", r.reader)
			r.comment(unlabelled(), "/fs-fix", r.stranger)
		}, true},
		{"words put into a stranger's mouth", func() {
			r.edit(numbers.plain, r.comment(numbers.plain, "hm", r.stranger), "/fs-fix", r.owner)
		}, true},
		{"a writer chats", func() { note = r.comment(numbers.plain, "looks fine", r.writer) }, true},
		{"the chat becomes a command", func() { r.edit(numbers.plain, note, "/fs-fix it", r.writer) }, false},
		{"a second command on the same proposal", func() { r.comment(numbers.commanded, "/fs-fix again", r.owner) }, false},
		{"somebody else edits a writer's comment", func() {
			for id := range r.world.items[numbers.mentioned].notes {
				r.edit(numbers.mentioned, id, "/fs-fix", r.owner)
			}
		}, false},
		{"deleted", func() {
			numbers.gone = unlabelled()
			r.delete(numbers.gone)
		}, true},
		{"renamed", func() { r.rename("gadgets") }, true},
		{"after the rename", func() {
			r.label(unlabelled(), "bug", r.writer)
			r.label(r.open(r.stranger), "bug", r.writer)
			r.open(r.stranger)
		}, false},
		{"nothing happened again", func() {}, true},
	}
	for _, step := range steps {
		ok := t.Run(step.name, func(t *testing.T) {
			r.t, s.t = t, t
			step.change()
			want := sent.due(r.world)
			require.Equal(t, step.quiet, len(want) == 0, "the test's own record expects %v", want)
			got := s.poll()
			assert.Equal(t, exitDone, got.Code, got.Stderr)
			assert.Equal(t, want, receipts(t, got.Records...), got.Stderr)
			r.checkRecords(t, got.Records)
		})
		if !ok {
			t.FailNow() // what follows would only repeat it
		}
	}
}

func notesBy(it *item, login string) bool {
	for _, n := range it.notes {
		if n.by != login {
			return false
		}
	}
	return true
}

// checkRecords checks what every record says about its entity.
func (r *rig) checkRecords(t *testing.T, rs []record) {
	t.Helper()
	for _, rec := range rs {
		it := r.world.items[rec.number(t)]
		require.NotNil(t, it, "%+v", rec)
		e := rec.Entity
		assert.Equal(t, "dispatch/v1", rec.Schema)
		assert.NotEmpty(t, rec.Decision)
		assert.Equal(t, "forgejo", e.Provider)
		assert.NotEmpty(t, e.Tenant)
		assert.Equal(t, it.kind, e.Kind)
		assert.NotEmpty(t, rec.Source)
		assert.Equal(t, fmt.Sprintf("%s#%d", r.repo, it.number), e.Key)
		id, err := strconv.ParseInt(fmt.Sprintf("%v", e.ID), 10, 64)
		assert.NoError(t, err)
		assert.Contains(t, it.ids, id)
		assert.True(t, strings.HasPrefix(e.URL, r.proxy.URL+r.repo+"/"), "url %s", e.URL)
		assert.True(t, strings.HasSuffix(e.URL, fmt.Sprintf("/%d", it.number)), "url %s", e.URL)
	}
}

// killedPoller kills the poller with SIGKILL around page boundaries of its first scan and of a later cycle.
// Whatever it had written, together with what the next run writes, is exactly what was due: nothing lost, nothing twice.
func killedPoller(t *testing.T, r *rig) {
	type moment struct {
		name  string
		trap  func(n int, match func(*http.Request) bool) *trap
		match func(*http.Request) bool
		nth   int
	}
	var moments []moment
	for nth := 1; nth <= 3; nth++ {
		moments = append(moments,
			moment{fmt.Sprintf("page %d asked for", nth), r.proxy.hold, listing, nth},
			moment{fmt.Sprintf("page %d delivered", nth), r.proxy.delivered, listing, nth})
	}
	moments = append(moments,
		moment{"detail 1 asked for", r.proxy.hold, detail, 1},
		moment{"detail 20 asked for", r.proxy.hold, detail, 20})

	for _, m := range moments {
		t.Run("first scan, "+m.name, func(t *testing.T) {
			r.t = t
			s := r.site(r.poller.Token, harnesses())
			tr := m.trap(m.nth, m.match)
			defer r.proxy.clear()
			killed := s.start().killAt(tr)
			r.finish(t, s, killed, newMemory().due(r.world))
		})
	}

	r.t = t
	s := r.site(r.poller.Token, harnesses())
	sent := newMemory()
	want := sent.due(r.world)
	first := s.poll()
	require.Equal(t, exitDone, first.Code, first.Stderr)
	require.Equal(t, want, receipts(t, first.Records...))
	for _, m := range moments[:2] {
		t.Run("later cycle, "+m.name, func(t *testing.T) {
			r.t, s.t = t, t
			r.label(r.issue(true, nil), "bug", r.writer)
			r.label(r.open(r.stranger), "bug", r.writer)
			r.comment(r.pull("one more", "main"), "/fs-fix", r.owner)
			tr := m.trap(m.nth, m.match)
			defer r.proxy.clear()
			killed := s.start().killAt(tr)
			r.finish(t, s, killed, sent.due(r.world))
		})
	}
}

// finish polls on after a kill: the first run completes what was due, the second has nothing left to do.
func (r *rig) finish(t *testing.T, s *site, killed outcome, want []string) {
	t.Helper()
	require.Equal(t, -1, killed.Code, "killed")
	again := s.poll()
	assert.Equal(t, exitDone, again.Code, again.Stderr)
	assert.Equal(t, want, receipts(t, slices.Concat(killed.Records, again.Records)...))
	quiet := s.poll()
	assert.Equal(t, exitDone, quiet.Code, quiet.Stderr)
	assert.Empty(t, receipts(t, quiet.Records...))
}

// brokenOutput checks that a poll whose output fails says so, with the file's name, and that what was not handed over
// is not forgotten.
func brokenOutput(t *testing.T, r *rig) {
	s := r.site(r.poller.Token, harnesses())
	require.NoError(t, os.Mkdir(s.out(1), 0o755))
	got := s.start().waitNoRecords()
	assert.Equal(t, exitIncomplete, got.Code, got.Stderr)
	assert.Contains(t, got.Stderr, s.out(1))

	again := s.poll()
	want := newMemory().due(r.world)
	if again.Code == exitIncomplete { // waits for its next try, and says so
		assert.Subset(t, want, receipts(t, again.Records...))
		return
	}
	assert.Equal(t, exitDone, again.Code, again.Stderr)
	assert.Equal(t, want, receipts(t, again.Records...), again.Stderr)
}

// credentials checks what the poller says and does with credentials that do not suffice.
func credentials(t *testing.T, r *rig) {
	t.Run("a wrong token moves nothing", func(t *testing.T) {
		r.t = t
		s := r.site(r.poller.Token, harnesses())
		sent := newMemory()
		want := sent.due(r.world)
		require.Equal(t, want, receipts(t, s.poll().Records...))
		r.label(r.issue(true, nil), "bug", r.writer)

		s.token = strings.Repeat("0", 40)
		got := s.poll()
		assert.Equal(t, exitError, got.Code, got.Stderr)
		assert.Empty(t, got.Records)
		assert.Regexp(t, `(?i)401|unauthori[sz]ed|credential|token`, got.Stderr)

		s.token = r.poller.Token
		got = s.poll()
		assert.Equal(t, exitDone, got.Code, got.Stderr)
		assert.Equal(t, sent.due(r.world), receipts(t, got.Records...))
	})

	t.Run("no token", func(t *testing.T) {
		r.t = t
		s := r.site("", harnesses())
		got := s.start().waitUnchecked()
		assert.Equal(t, exitError, got.Code, got.Stderr)
		assert.Empty(t, got.Records)
		assert.Contains(t, got.Stderr, "FULLSEND_FORGE_TOKEN", "names what is missing")
	})

	t.Run("a token that may not read roles", func(t *testing.T) {
		r.t = t
		got := r.site(r.weak.Token, harnesses()).poll()
		assert.Equal(t, exitIncomplete, got.Code, got.Stderr)
		assert.Regexp(t, `(?i)role`, got.Stderr, "says what is missing")
		assert.Equal(t, r.withoutRoles(), receipts(t, got.Records...))
	})
}

// withoutRoles is what is certain where nobody's standing can be verified: facts of the platform, and the absence of
// any label.
func (r *rig) withoutRoles() []string {
	var want []string
	for _, rule := range rules() {
		for n, it := range r.world.items {
			certain := rule.name == "review" || rule.name == "retro" || rule.name == "triage" && len(it.labels) == 0
			if certain && rule.decide(r.world, it) != "" {
				want = append(want, receipt(rule.name, n))
			}
		}
	}
	slices.Sort(want)
	return want
}

// secondPoller checks that a second poller on the same ledger ends at once and names the first.
func secondPoller(t *testing.T, r *rig) {
	s := r.site(r.poller.Token, harnesses())
	tr := r.proxy.hold(1, listing)
	first := s.start()
	select {
	case <-tr.hit:
	case <-first.done:
		require.FailNow(t, "the first poller ended early", first.stderr.String())
	}
	second := s.poll()
	assert.Equal(t, exitBusy, second.Code, second.Stderr)
	assert.Empty(t, second.Records)
	assert.Contains(t, second.Stderr, strconv.Itoa(first.cmd.Process.Pid), "says who holds the ledger")

	close(tr.free)
	got := first.wait()
	assert.Equal(t, exitDone, got.Code, got.Stderr)
	assert.Equal(t, newMemory().due(r.world), receipts(t, got.Records...))
}

// searchRequests counts, at the server's door, the listing requests of a first scan and of a quiet cycle: they do
// not depend on the number of harnesses.
func searchRequests(t *testing.T, r *rig) {
	counts := map[int][2]int{}
	for _, n := range []int{1, 10, 100} {
		var hs []harness
		for i := range n {
			hs = append(hs, harness{fmt.Sprintf("h%d", i), "triage", []source{
				{workItem, fmt.Sprintf(`v1: state = open and label = "bug" and not label = "skip-%d"`, i)},
				{changeProposal, fmt.Sprintf(`v1: state = open and any comment(command = "/fs-fix-%d")`, i)},
			}})
		}
		s := r.site(r.poller.Token, hs)
		var c [2]int
		for i := range c {
			r.proxy.take()
			got := s.poll()
			require.Equal(t, exitDone, got.Code, got.Stderr)
			c[i] = countListings(t, r.proxy.take())
		}
		counts[n] = c
	}
	assert.Positive(t, counts[1][0])
	assert.Equal(t, counts[1], counts[10])
	assert.Equal(t, counts[1], counts[100])
}
