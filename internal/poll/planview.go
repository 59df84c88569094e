package poll

import (
	"context"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// PlanView is a target's compiled search as `poll plan` shows it.
type PlanView struct {
	Driver     string
	Container  string
	Kind       query.Kind
	Err        error // the scope could not be opened
	Hash       string
	Sources    int
	Harnesses  int
	Searches   []WalkText
	Weakened   []query.Weakening
	Unanchored []string
	Cost       []string
	Refused    []adapters.Refusal
	Warnings   []string
}

// WalkText is what one walk sends.
type WalkText struct{ Walk, Text string }

// Plans compiles every target without reading its entities.
func (e *Engine) Plans(ctx context.Context) []PlanView {
	out := make([]PlanView, len(e.targets))
	for i, t := range e.targets {
		out[i] = PlanView{Driver: t.Driver, Container: t.Config.Container, Kind: t.Config.Kind, Harnesses: len(t.Harnesses)}
		out[i].Err = t.plan(ctx, &out[i])
	}
	return out
}

func (t *target) plan(ctx context.Context, v *PlanView) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	h, err := t.session.Health(ctx)
	if err != nil {
		return err
	}
	p, refused := t.session.Compile(ctx, t.comp.sources)
	v.Hash, v.Sources, v.Refused, v.Warnings = t.comp.hash, len(t.comp.sources), refused, h.Warnings
	for _, w := range p.Walks() {
		v.Searches = append(v.Searches, WalkText{w.Name, p.Render(w)})
	}
	v.Weakened, v.Cost = p.Weakened(), p.Cost()
	for _, i := range t.comp.router.Unanchored() {
		v.Unanchored = append(v.Unanchored, t.comp.sources[i].ID)
	}
	return nil
}
