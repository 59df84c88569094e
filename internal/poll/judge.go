package poll

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/acquire"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/router"
	"github.com/fullsend-ai/discovery/scope"
)

// judge routes facts to harnesses. It does no I/O; what it lacks it names.
type judge struct {
	run *run
	// Of the entity at hand.
	answer router.Answer
	at     []query.View
	folds  []fold
	yes    []*query.Bound
	tries  int // how often it stayed undecided
}

// fold is what the sources of one harness say together: it is a member when one is true, and undecided when none is true
// and one is unknown.
type fold struct {
	harness int
	match   []*query.Bound // none: undecided
}

func newJudge(r *run) *judge { return &judge{run: r} }

// views are the views of every threshold by what the book knows now.
func (j *judge) views() []query.View {
	j.at = j.at[:0]
	for _, th := range j.run.t.comp.thresholds {
		j.at = append(j.at, j.run.book.View(th))
	}
	return j.at
}

// verdict is everything that is known of one entity after routing.
type verdict struct {
	match     []coverage.Candidate
	undecided []string     // harnesses
	needs     []query.Need // what would decide them, or complete a match's support
	until     time.Time
	rests     []string
	why       []string // reasons that no read can mend, for people
	last      map[string]json.RawMessage
}

// decide routes an entity's facts. A match becomes a candidate only when every element that bears on it was read; until
// then the harness counts as undecided, so that one state never makes two decisions.
func (j *judge) decide(ctx context.Context, ref scope.Ref, f *query.Facts, now time.Time) verdict {
	views := j.views()
	comp := j.run.t.comp
	comp.router.Route(f, views, now, &j.answer)
	j.run.sum.Evaluated += j.answer.Evaluated
	v := verdict{until: j.answer.Until, rests: slices.Clone(j.answer.RestsOn), needs: slices.Clone(j.answer.Needs)}
	folds := j.fold()
	for i, d := range j.ask(ctx, folds, ref, f, views, now) {
		h := folds[i]
		if len(h.match) > 0 {
			j.candidate(&v, h.harness, h.match, &d, f, views, now)
		} else {
			v.undecided = append(v.undecided, j.run.t.Harnesses[h.harness].Name)
		}
	}
	slices.Sort(v.rests)
	v.rests = slices.Compact(v.rests)
	return v
}

// fold makes of the router's answer what the harnesses say, in their order, and looks at nothing but the answer: a
// harness's sources lie side by side, so that both lists of the answer are in the order of harnesses.
func (j *judge) fold() []fold {
	comp := j.run.t.comp
	j.folds, j.yes = j.folds[:0], j.yes[:0]
	of := func(list []int) int {
		if len(list) == 0 {
			return len(j.run.t.Harnesses)
		}
		return comp.harnessOf[list[0]]
	}
	match, open := j.answer.Match, j.answer.Undecided
	for len(match)+len(open) > 0 {
		h, unknown, from := min(of(match), of(open)), false, len(j.yes)
		for ; of(match) == h; match = match[1:] {
			if src := &comp.sources[match[0]]; !j.run.refused[src.ID] {
				j.yes = append(j.yes, src.Query)
			}
		}
		for ; of(open) == h; open = open[1:] {
			unknown = true
		}
		if qs := j.yes[from:len(j.yes):len(j.yes)]; unknown || len(qs) > 0 {
			j.folds = append(j.folds, fold{h, qs})
		}
	}
	return j.folds
}

// together is how many matching harnesses are asked side by side: below it, starting goroutines costs more than the
// triggers do.
const together = 8

// ask decides for every harness that matches, in the order of folds: their triggers are independent of each other. The
// decision of a harness that does not match is zero.
func (j *judge) ask(ctx context.Context, folds []fold, ref scope.Ref, f *query.Facts, views []query.View, now time.Time) []acquire.Decision {
	ds := make([]acquire.Decision, len(folds))
	one := func(i int) {
		if len(folds[i].match) == 0 {
			return
		}
		hn := &j.run.t.Harnesses[folds[i].harness]
		ds[i] = acquire.Decide(ctx, &acquire.Match{
			Queries: folds[i].match, Trigger: hn.Trigger, Self: hn.Self, Ref: ref, Facts: f,
			View: views[j.run.t.comp.view(hn.Threshold)], Now: now,
		}, j.stuck)
	}
	if len(folds) < together {
		for i := range folds {
			one(i)
		}
		return ds
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(indices(len(folds)), together) {
		g.Go(func() error {
			for _, i := range part {
				one(i)
			}
			return nil
		})
	}
	_ = g.Wait() // no part fails
	return ds
}

func indices(n int) []int {
	is := make([]int, n)
	for i := range is {
		is[i] = i
	}
	return is
}

// candidate adds harness h, which the entity matches by the given queries and which decides d.
func (j *judge) candidate(v *verdict, h int, qs []*query.Bound, d *acquire.Decision, f *query.Facts, views []query.View, now time.Time) {
	hn := &j.run.t.Harnesses[h]
	v.rests = append(v.rests, d.RestsOn...)
	if d.Trigger == query.VerdictUnknown {
		v.undecided = append(v.undecided, hn.Name)
		v.needs = append(v.needs, d.Needs...)
		if d.Why != "" {
			v.why = append(v.why, "trigger of "+hn.Name+": "+d.Why)
		}
		return
	}
	c := coverage.Candidate{Source: hn.Name, Version: j.run.t.comp.version[h], Digests: d.Digests, Hold: d.Trigger != query.True}
	if !c.Hold {
		full, short := j.evidence(h, qs, f, v.rests, views, now)
		c.Evidence = full
		if v.last == nil {
			v.last = map[string]json.RawMessage{}
		}
		v.last[hn.Name] = short
	}
	v.match = append(v.match, c)
}

// patience is how often an entity is looked at again before a match goes without a role that cannot be read. Less would
// make two decisions of one state whenever the provider hesitates.
const patience = 3

// stuck tells needs that were asked for in vain, in this cycle and before: a match does not wait for them.
func (j *judge) stuck(n query.Need) bool {
	return j.tries >= patience && n.Actor != "" && len(j.run.book.Missing([]query.Need{n}, nil)) == 0
}

// row judges a listing row by what it shows alone. What it leaves open becomes an appointment that is due at once.
func (j *judge) row(ctx context.Context, it *adapters.Item, rec *coverage.Record, ent *coverage.Entity, again bool) {
	v := j.decide(ctx, it.Ref, it.Facts, it.ReadAt)
	if len(v.undecided) == 0 {
		j.fill(rec, &v, it.Facts)
		return
	}
	rec.Again = due(v.until)
	appt := coverage.Appointment{Why: coverage.WhyUndecided, At: j.run.clock, Needs: fieldNames(j.run, v.needs)}
	// A retry that is already waiting for its time is not pulled forward by seeing the same row again.
	for _, a := range ent.Again {
		if a.Why == coverage.WhyUndecided && ent.Token == it.Token && ent.Judged == j.run.t.comp.hash && !again {
			appt = a
		}
	}
	rec.Again = append(rec.Again, appt)
	// What is decided already is recorded with the rest, by the read that decides it: one moment for all harnesses.
}

// fill completes a record with verdicts that are final for its facts.
func (j *judge) fill(rec *coverage.Record, v *verdict, f *query.Facts) {
	rec.Judged = j.run.t.comp.hash
	rec.Match, rec.Undecided, rec.Evidence = v.match, v.undecided, v.remembered()
	rec.Again = append(rec.Again, due(v.until)...)
	users := admission.Users(f)
	for _, id := range v.rests {
		u := users[id]
		a := coverage.Actor{ID: id, Login: u.Login, Bot: u.Bot}
		if fd, ok := j.run.book.Finding(id); ok && fd.Verified {
			a.Role, a.At = fd.Role.String(), fd.At
		}
		rec.RestsOn = append(rec.RestsOn, a)
	}
}

// fieldNames writes needs as field names, for the ledger.
func fieldNames(r *run, ns []query.Need) []string {
	cat := r.t.Adapter.Catalogue(r.t.Config.Kind)
	var out []string
	for _, n := range ns {
		if f, ok := cat.ByID(n.Field); ok && n.Actor == "" {
			out = append(out, f.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fieldSet reads what fieldNames wrote; names that the catalogue no longer has are dropped.
func fieldSet(cat *query.Catalogue, names []string) query.FieldSet {
	var s query.FieldSet
	for _, n := range names {
		if f, ok := cat.Field(strings.TrimSpace(n)); ok {
			s.Add(f.ID)
		}
	}
	return s
}
