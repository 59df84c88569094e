package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/sandbox"
)

// Options of a runner. All of it is needed but Out and Errs.
type Options struct {
	Harness string
	Load    Loader
	Dir     string // runtime directory: where runs of this machine find each other
	Idle    time.Duration
	Receipt func(coverage.Receipt) error // durable when it returns nil
	Retries *Retries
	Now     func() time.Time
	Tick    func(ctx context.Context) bool // waits a little; false when ctx is over
	Log     *slog.Logger
	Out     io.Writer // of the sandbox
	Errs    io.Writer
}

// Runner serves one harness and one subject.
type Runner struct {
	o    Options
	last *served
	seen time.Time
}

// served is the state that the last sandbox of a group worked from with success.
type served struct {
	Read    *coverage.ReadState `json:"read"`
	Entries int                 `json:"entries"` // 0 where the candidates did not say
}

// covers reports that the candidate of the ledger would only repeat it. The same state after leaving the match and
// entering it again is no repetition.
func (s *served) covers(c *Candidate, read *coverage.ReadState) bool {
	return s != nil && c.Decision != "" && len(c.Event) == 0 && sameState(read, s.Read) &&
		(c.Entries == s.Entries || c.Entries == 0 || s.Entries == 0 && c.Entries == 1)
}

// New makes a runner.
func New(o Options) *Runner { return &Runner{o: o} }

// Report is how a run ended.
type Report struct {
	Outcome string // of the last cycle; "woke" when another run took the candidate over
	Why     string
	Cycles  int // sandboxes that were started
}

// Woke is the outcome of a run that found another one serving its subject.
const Woke = "woke"

// Run serves a candidate, and whatever comes for the same harness, target repository and subject while it does. Every
// candidate that it took is answered by a receipt, or stays as a retry. The error is about what could not be kept.
func (r *Runner) Run(ctx context.Context, c Candidate) (Report, error) {
	if c.Decision == "" {
		var err error
		if c, err = r.o.Retries.Begin(r.o.Harness, c); err != nil {
			return Report{}, err
		}
	}
	asked := r.o.Now()
	b, v := r.gate(ctx, &c)
	if v.Ref.ID == "" || !v.Starts() {
		// Nothing to serialize: no sandbox is near.
		rep := Report{Outcome: v.Outcome, Why: v.Why}
		return rep, r.answer(&c, &v, v.Outcome, v.Why)
	}
	g, err := NewGroup(r.o.Dir, dispatch.Group(r.o.Harness, b.Repo, v.Subject))
	if err != nil {
		return Report{}, err
	}
	serve, joined, quiet, err := g.Join(c, asked)
	if err != nil {
		return Report{}, err
	}
	if !joined {
		r.o.Log.Info("another run serves this subject: it was woken", "entity", v.Ref.Key)
		return Report{Outcome: Woke}, nil
	}
	first := &judged{b, v}
	if !quiet || len(serve) > 1 {
		first = nil // somebody worked on the subject while this process looked: look again
	}
	r.last = g.last
	return r.serve(ctx, g, serve, first)
}

// judged is a verdict with the configuration that it was made under.
type judged struct {
	bound *Bound
	Verdict
}

// serve runs cycles until nothing waits and the idle time is over. first, when given, is the verdict of the first.
func (r *Runner) serve(ctx context.Context, g *Group, cs []Candidate, first *judged) (Report, error) {
	var rep Report
	for {
		if len(cs) > 0 {
			vs := r.judge(ctx, cs, first)
			first = nil
			err := r.cycle(ctx, cs, vs, &rep)
			g.last = r.last
			if err != nil {
				return rep, errors.Join(err, g.release()) // what is not answered stays in the group's file
			}
		}
		if ctx.Err() != nil {
			return rep, r.stop(g, &rep)
		}
		next, err := g.Done(r.o.Now())
		if err != nil {
			return rep, errors.Join(err, g.release())
		}
		if cs = next; len(cs) > 0 {
			continue
		}
		if r.idle(ctx, g) {
			continue
		}
		if left, err := g.Leave(); left || err != nil {
			return rep, err
		}
	}
}

// idle waits for something to come and reports whether it did.
func (r *Runner) idle(ctx context.Context, g *Group) bool {
	until := r.o.Now().Add(r.o.Idle)
	for r.o.Idle > 0 && r.o.Now().Before(until) && r.o.Tick(ctx) {
		waits := false
		err := g.locked(func() error {
			q, err := g.load()
			waits = err == nil && len(q.Pending) > 0
			return err
		})
		if waits || err != nil {
			return waits
		}
	}
	return ctx.Err() != nil // let serve see it
}

// stop answers what waits: it was not started, and must be tried again.
func (r *Runner) stop(g *Group, rep *Report) error {
	waiting, err := g.Drop()
	for i := range waiting {
		err = errors.Join(err, r.answer(&waiting[i], &Verdict{}, coverage.UnknownRun, "the run that would have served it was stopped"))
	}
	return err
}

// judge puts every candidate through the gate.
func (r *Runner) judge(ctx context.Context, cs []Candidate, first *judged) []judged {
	if first != nil {
		return []judged{*first}
	}
	vs := make([]judged, len(cs))
	for i := range cs {
		vs[i].bound, vs[i].Verdict = r.gate(ctx, &cs[i])
	}
	return vs
}

// cycle is one sandbox cycle over everything that waits: one sandbox when any candidate holds.
func (r *Runner) cycle(ctx context.Context, cs []Candidate, vs []judged, rep *Report) error {
	var holds []int
	for i := range vs {
		if vs[i].Starts() {
			holds = append(holds, i)
		}
	}
	outcome, why := "", ""
	if len(holds) > 0 {
		// The newest look tells the sandbox about itself: it is the one that is true now.
		outcome, why = r.start(ctx, cs, vs, holds, rep)
	}
	var errs []error
	for i := range cs {
		o, w := vs[i].Outcome, vs[i].Why
		if vs[i].Starts() {
			o, w = outcome, why
		}
		rep.Outcome, rep.Why = o, w
		errs = append(errs, r.answer(&cs[i], &vs[i].Verdict, o, w))
	}
	return errors.Join(errs...)
}

// start starts the sandbox for the candidates that hold, unless all of them only repeat a state that the run before
// worked from: a run that changes nothing is not repeated.
func (r *Runner) start(ctx context.Context, cs []Candidate, vs []judged, holds []int, rep *Report) (outcome, why string) {
	v := &vs[holds[len(holds)-1]]
	repeats := true
	for _, i := range holds {
		repeats = repeats && r.last.covers(&cs[i], vs[i].Read)
	}
	if repeats {
		return coverage.Ran, "the run before worked from this state"
	}
	rep.Cycles++
	outcome, why = r.sandbox(ctx, v.bound, &v.Verdict)
	if (outcome == coverage.Ran || outcome == coverage.Skipped) && v.Read != nil {
		r.last = &served{Read: v.Read}
		for _, i := range holds {
			r.last.Entries = max(r.last.Entries, cs[i].Entries)
		}
	}
	return outcome, why
}

func sameState(a, b *coverage.ReadState) bool {
	return a != nil && b != nil && a.Version == b.Version && maps.Equal(a.Digests, b.Digests)
}

// gate reads the configuration anew and judges.
func (r *Runner) gate(ctx context.Context, c *Candidate) (*Bound, Verdict) {
	b, err := r.o.Load(ctx)
	if err != nil {
		return nil, no(coverage.UnknownRun, "configuration: %v", err)
	}
	if r.seen.After(c.Updated) {
		c.Updated = r.seen // what this process has seen is never undone by a slower answer
	}
	v := Judge(ctx, b, c)
	if v.About.Evidence.Updated.After(r.seen) {
		r.seen = v.About.Evidence.Updated
	}
	r.o.Log.Info("gate", "harness", r.o.Harness, "entity", v.Ref.Key, "starts", v.Starts(), "outcome", v.Outcome, "reason", v.Why)
	return b, v
}

// sandbox starts what trusted configuration says, for an entity that was proven.
func (r *Runner) sandbox(ctx context.Context, b *Bound, v *Verdict) (outcome, why string) {
	work, err := os.MkdirTemp("", "fullsend-run-")
	if err != nil {
		return coverage.Failed, err.Error()
	}
	defer os.RemoveAll(work)
	about, err := v.About.JSON()
	if err != nil {
		return coverage.Failed, err.Error()
	}
	box := &b.Sandbox
	spec := sandbox.Spec{Env: environment(box, v), Work: work, Context: about, Network: box.Network, ReadOnly: box.ReadOnly,
		Grace: box.Grace, Limit: box.Limit, Out: r.o.Out, Errs: r.o.Errs}
	if len(box.PreScript) > 0 {
		spec.Command = box.PreScript
		if outcome, why := r.step(ctx, box, spec, "pre-script"); outcome != coverage.Ran {
			return outcome, why
		}
	}
	spec.Command = box.Command
	outcome, why = r.step(ctx, box, spec, "command")
	if outcome == coverage.Skipped {
		return coverage.Failed, "the command ended with code 78: only a pre-script may skip"
	}
	return outcome, why
}

func (r *Runner) step(ctx context.Context, box *Sandbox, spec sandbox.Spec, what string) (outcome, why string) {
	res, err := box.Driver.Run(ctx, spec)
	switch {
	case err != nil:
		return coverage.Failed, fmt.Sprintf("%s: %v", what, err)
	case ctx.Err() != nil && res.Stopped:
		return coverage.Failed, what + " was stopped"
	case res.Stopped:
		return coverage.Failed, fmt.Sprintf("%s took longer than %v", what, spec.Limit)
	case res.Code == sandbox.SkipCode:
		return coverage.Skipped, what + " had nothing to do"
	case res.Code != 0:
		return coverage.Failed, fmt.Sprintf("%s ended with code %d", what, res.Code)
	}
	return coverage.Ran, ""
}

// environment is everything that the command gets to see of the world in variables.
func environment(box *Sandbox, v *Verdict) map[string]string {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
	maps.Copy(env, box.Env)
	env["FULLSEND_HARNESS"] = v.About.Harness
	env["FULLSEND_WORK_ITEM_URL"] = plain(v.Ref.URL)
	env["FULLSEND_WORK_ITEM_SOURCE"] = v.Ref.Provider
	env["FULLSEND_WORK_ITEM_KEY"] = plain(v.Ref.Key)
	if v.Ref.Provider == "github" {
		env["GITHUB_ISSUE_URL"] = plain(v.Ref.URL)
	}
	return env
}

// plain drops control characters: a key that a provider gives is data, and fits into one line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// answer writes what became of a candidate. A candidate of the ledger has a receipt; another one is forgotten when it
// is answered, else it is tried again.
func (r *Runner) answer(c *Candidate, v *Verdict, outcome, why string) error {
	rc := coverage.Receipt{Key: c.Key, Decision: c.Decision, Outcome: outcome, At: r.o.Now().UTC(), Why: clip(plain(why))}
	if outcome == coverage.Ran || outcome == coverage.Skipped {
		rc.Read = v.Read
	}
	var errs []error
	switch {
	case c.Decision != "":
		errs = append(errs, r.o.Receipt(rc))
	case rc.Read != nil:
		rc.Key, rc.Decision = v.Key, readOnly // a poller need not ask again about a state that was worked from
		errs = append(errs, r.o.Receipt(rc))
	}
	if outcome == coverage.UnknownRun || outcome == coverage.Failed {
		errs = append(errs, r.o.Retries.Later(r.o.Harness, *c, rc.Why))
	} else {
		errs = append(errs, r.o.Retries.Answered(*c))
	}
	return errors.Join(errs...)
}

// readOnly is the decision that a receipt names when no decision was handed over: none is called so, and what counts is
// the state that was read.
const readOnly = "-"
