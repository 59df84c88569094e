package chaos

import (
	"context"
	"iter"
	"slices"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// capped makes a provider out of another one that gives at most so many rows of a window, as searches do, and minds where
// a window ends.
type capped struct {
	adapters.Adapter
	most func() int // 0: no cap
}

func (c capped) Open(ctx context.Context, cfg adapters.Config) (adapters.Session, error) {
	s, err := c.Adapter.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return cappedSession{s, c.most}, nil
}

type cappedSession struct {
	adapters.Session
	most func() int
}

func (s cappedSession) Probe(ctx context.Context, numbers []int64) ([]adapters.Item, error) {
	return s.Session.(adapters.Prober).Probe(ctx, numbers)
}

func (s cappedSession) Pages(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	most := s.most()
	if most == 0 || w.Kind == query.Sweep || w.Pointers {
		return s.Session.Pages(ctx, p, w, at)
	}
	return func(yield func(adapters.Page, error) bool) {
		var all adapters.Page
		for page, err := range s.Session.Pages(ctx, p, w, at) {
			if err != nil {
				yield(page, err)
				return
			}
			page.Items = append(all.Items, page.Items...)
			if all.Short != nil {
				page.Short = all.Short
			}
			all = page
		}
		if !at.Until.IsZero() {
			all.Items = slices.DeleteFunc(all.Items, func(it adapters.Item) bool { return !it.Updated.Before(at.Until) })
		}
		if len(all.Items) > most {
			all.Items = all.Items[:most]
			all.Short = &adapters.Error{Severity: adapters.MomentFailure, Op: "list " + w.Name, Err: adapters.ErrCapped}
		}
		yield(all, nil)
	}
}
