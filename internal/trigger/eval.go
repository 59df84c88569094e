package trigger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Input is what one evaluation sees.
type Input struct {
	Ref   scope.Ref
	Facts *query.Facts // nil knows nothing
	View  query.View   // nil decides nothing
	Self  string       // stable id of the harness's own account, whose elements Reads leaves out; may be empty
	Event *Event       // nil is CEL's null
}

// Result of an evaluation. It says nothing about membership.
type Result struct {
	Verdict query.Verdict
	Needs   []query.Need // only when the verdict is unknown: what would decide it; sorted, unique
	// Reads are digests, by the field's name, of the admitted content of every fact that was read on the way to a
	// decided verdict. While none of them changes the verdict stands. Left out are the change clock (updated), facts
	// that turned out not to matter because they are unknown, and elements that Self wrote.
	Reads map[string]uint64
	// Outstanding is what was read on the way to a decided verdict without being complete: it cannot change the verdict,
	// but it can change Reads, so that a decision made before it is known would be made again. Sorted, unique.
	Outstanding []query.Need
	// RestsOn are the writers (stable ids, sorted, unique) but Self of all elements of fields that were read.
	RestsOn []string
	Err     string // why evaluation failed; the verdict is unknown then
}

// What one evaluation may cost. Beyond either limit it fails, and its verdict is unknown.
const (
	CostLimit = 20_000_000 // cel-go's units
	TimeLimit = time.Second
)

// Eval evaluates the trigger. Only admitted elements are seen; what is unread, partial or undecided is unknown, and so
// is the verdict unless what is known decides it. An error is an unknown verdict with its reason, and whatever was
// unknown on the way is then needed. A nil program is the trigger that a harness does not have: it is false. Eval is
// safe for concurrent use.
func (p *Program) Eval(ctx context.Context, in Input) Result {
	if p == nil {
		return Result{Verdict: query.False}
	}
	ctx, cancel := context.WithTimeout(ctx, TimeLimit)
	defer cancel()
	ev := newEvaluation(in)
	out, _, err := p.program.ContextEval(ctx, ev.vars())
	switch v := out.(type) {
	case types.Bool:
		if err == nil {
			return ev.decided(bool(v))
		}
	case *types.Unknown:
		return Result{Needs: ev.needsOf(v), RestsOn: ev.writers()}
	}
	if err == nil {
		err = fmt.Errorf("value is no boolean")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("took longer than %v: %w", TimeLimit, err)
	}
	return Result{Needs: tidy(ev.needs), RestsOn: ev.writers(), Err: err.Error()}
}

// evaluation is the data of the entity object, and keeps what was read.
type evaluation struct {
	in    Input
	facts *query.Facts
	view  query.View
	needs []query.Need // of every unknown that was met, by its number
	read  map[query.FieldID]*query.Field
}

func newEvaluation(in Input) *evaluation {
	ev := &evaluation{in: in, facts: in.Facts, view: in.View, read: map[query.FieldID]*query.Field{}}
	if ev.facts == nil {
		ev.facts = &query.Facts{}
	}
	if ev.view == nil {
		ev.view = func(query.FieldID, *query.Element) query.Standing { return query.Undecided }
	}
	return ev
}

func (ev *evaluation) vars() map[string]any {
	vars := map[string]any{"entity": &object{typ: entityType, key: "entity", data: ev}, "event": types.NullValue}
	if ev.in.Event != nil {
		vars["event"] = &object{typ: eventType, data: ev.in.Event}
	}
	return vars
}

// fact gives a fact and notes that it was read.
func (ev *evaluation) fact(f *query.Field) *query.Fact {
	ev.read[f.ID] = f
	return ev.facts.Get(f.ID)
}

// elements gives the admitted elements of a field, and what must be learned before they are surely all.
func (ev *evaluation) elements(f *query.Field) (admitted []*query.Element, missing []query.Need) {
	fact := ev.fact(f)
	if fact.Presence != query.Known {
		missing = append(missing, query.Need{Field: f.ID})
	}
	for i := range fact.Items {
		e := &fact.Items[i]
		switch ev.view(f.ID, e) {
		case query.Admitted:
			admitted = append(admitted, e)
		case query.Undecided:
			n := query.Need{Field: f.ID, Actor: e.Actor.ID}
			if e.Editors == query.EditorsUnread {
				n = query.Need{Field: f.ID, Element: e.Key}
			}
			missing = append(missing, n)
		}
	}
	return admitted, missing
}

const needTrail = "need"

// unknown is a CEL unknown that remembers what would resolve it.
func (ev *evaluation) unknown(needs ...query.Need) *types.Unknown {
	var u *types.Unknown
	for _, n := range needs {
		i := int64(len(ev.needs))
		ev.needs = append(ev.needs, n)
		trail := types.QualifyAttribute[int64](types.NewAttributeTrail(needTrail), i)
		u = types.MergeUnknowns(types.NewUnknown(i, trail), u)
	}
	return u
}

func (ev *evaluation) needsOf(u *types.Unknown) []query.Need {
	var out []query.Need
	for _, id := range u.IDs() {
		if id >= 0 && id < int64(len(ev.needs)) {
			out = append(out, ev.needs[id])
		}
	}
	return tidy(out)
}

func tidy(ns []query.Need) []query.Need {
	ns = slices.Clone(ns)
	slices.SortFunc(ns, query.Need.Compare)
	return slices.Compact(ns)
}

func (ev *evaluation) decided(v bool) Result {
	r := Result{Verdict: query.False, Reads: ev.digests(), Outstanding: ev.outstanding(), RestsOn: ev.writers()}
	if v {
		r.Verdict = query.True
	}
	return r
}

func (ev *evaluation) outstanding() []query.Need {
	var out []query.Need
	for id, f := range ev.read {
		if f.Type == query.TypeElements {
			_, missing := ev.elements(f)
			out = append(out, missing...)
		} else if ev.facts.Get(id).Presence != query.Known {
			out = append(out, query.Need{Field: id})
		}
	}
	return tidy(out)
}

func (ev *evaluation) writers() []string {
	ids := map[string]bool{}
	for id := range ev.read {
		for i := range ev.facts.Get(id).Items {
			if u := &ev.facts.Get(id).Items[i].Actor; u.ID != "" && !u.Deleted && u.ID != ev.in.Self {
				ids[u.ID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

var _ ref.Val = (*object)(nil)
