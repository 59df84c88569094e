package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fullsend-ai/discovery/adapters"
)

// Run plays every case as a subtest. Skipped cases are named with their reason; a core case that the stage cannot play
// fails, unless the target is Partial.
func Run(t *testing.T, tg Target) {
	t.Helper()
	cs, err := chosen(&tg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		t.Run(c.Name, func(t *testing.T) {
			if tg.Parallel > 1 {
				t.Parallel()
			}
			var s skip
			var f *Failure
			switch err := play(t.Context(), c, &tg); {
			case err == nil:
			case errors.As(err, &s) && s.fault && c.Profile == Core && !tg.Partial:
				t.Errorf("a core case cannot be played: %v", err)
			case errors.As(err, &s):
				t.Skip(s.why)
			case errors.As(err, &f):
				t.Error("\n" + f.Error())
			default:
				t.Error(err)
			}
		})
	}
	if tg.Match != "" {
		return
	}
	for _, m := range missingFields(tg.Adapter) {
		t.Errorf("CF-92: v1 gives %s to %s, and its catalogue lacks it", m, tg.Adapter.Provider())
	}
	for _, c := range untested(tg.Adapter, cs) {
		t.Errorf("CF-93: the adapter claims that its provider filters %s, and no case tests that", c)
	}
}

func chosen(tg *Target) ([]*Case, error) {
	if tg.Adapter == nil || tg.Open == nil {
		return nil, errors.New("a target needs an adapter and a way to open places")
	}
	cs, err := Cases()
	if err != nil {
		return nil, err
	}
	return Pick(cs, tg.Match)
}

// play plays one case in a place of its own.
func play(ctx context.Context, c *Case, tg *Target) error {
	p, err := newPlayer(ctx, c, tg)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.play(); err != nil {
		return err
	}
	return p.spent()
}

// Report plays the cases and reports. It never fails: what went wrong is in the result.
func Report(ctx context.Context, tg Target) Result {
	r := Result{Schema: ResultSchema, Adapter: tg.Adapter.Provider(), Version: tg.Version}
	cs, err := chosen(&tg)
	if err != nil {
		r.Failed = append(r.Failed, Failed{Why: err.Error()})
	}
	errs := make([]error, len(cs))
	var g errgroup.Group
	g.SetLimit(max(1, tg.Parallel))
	for i, c := range cs {
		g.Go(func() error {
			if ctx.Err() != nil {
				errs[i] = skip{why: "the run was stopped", fault: true}
				return nil
			}
			errs[i] = play(ctx, c, &tg)
			if tg.Progress != nil {
				tg.Progress(c.Name, errs[i] == nil)
			}
			return nil
		})
	}
	_ = g.Wait() // verdicts are in errs
	for i, c := range cs {
		r.add(c, errs[i])
	}
	if tg.Match == "" {
		r.Missing = missingFields(tg.Adapter)
		for _, c := range untested(tg.Adapter, cs) {
			r.Untested = append(r.Untested, fmt.Sprint(c))
		}
	}
	r.judge(tg.Match != "" || tg.Partial)
	return r
}

// untested are the claims that no question of the cases relies on.
func untested(a adapters.Adapter, cs []*Case) []claim {
	seen := map[claim]bool{}
	for _, c := range cs {
		if a.Catalogue(c.Kind) == nil {
			continue
		}
		for _, q := range c.questions {
			text, err := expand(q.text, func(n string) (string, error) { return n, nil })
			if err != nil {
				continue
			}
			b, err := bind(a, c.Kind, text, "1")
			if err != nil {
				continue // what the provider lacks it cannot claim
			}
			for _, cl := range claimed(a, c.Kind, b) {
				seen[cl] = true
			}
		}
	}
	var out []claim
	for _, c := range allClaims(a) {
		if !seen[c] {
			out = append(out, c)
		}
	}
	return out
}
