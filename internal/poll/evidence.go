package poll

import (
	"encoding/json"
	"time"

	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/query"
)

// maxTrace bounds a query's trace in a record, in bytes: an entity with thousands of comments is traced by its support.
const maxTrace = 16 << 10

// evidence is why harness h is offered an entity, as the dispatch record will say it, and the same without traces, for
// the ledger to remember.
func (j *judge) evidence(h int, qs []*query.Bound, f *query.Facts, rests []string, views []query.View, now time.Time) (full, short []byte) {
	t := j.run.t
	hn := &t.Harnesses[h]
	view := views[t.comp.view(hn.Threshold)]
	cat := t.Adapter.Catalogue(t.Config.Kind)
	ev := dispatch.Evidence{
		Plan: t.comp.hash, HarnessRevision: hn.Revision, QueryRevision: t.comp.version[h],
		Admission: hn.Threshold.String(), ReadAt: now.UTC(), Verdict: query.True,
		Trigger: &dispatch.Trigger{Expression: hn.Trigger.String(), Verdict: query.True},
		Actors:  dispatch.Actors(j.run.book, rests),
		Linked:  dispatch.Linked(f, view),
	}
	if u := f.Get(query.FUpdated); u.Presence == query.Known && len(u.Values) > 0 {
		ev.Updated = u.Values[0].Time.UTC()
	}
	for _, q := range qs {
		judged := dispatch.Judged{Source: hn.Name, Query: q.Query().String(), Support: dispatch.Terms(q.Support(f, view, now), cat)}
		if b, err := json.Marshal(q.Explain(f, view, now)); err == nil && len(b) <= maxTrace {
			judged.Trace = b
		}
		ev.Queries = append(ev.Queries, judged)
	}
	full = marshal(ev)
	for i := range ev.Queries {
		ev.Queries[i].Trace = nil
	}
	return full, marshal(ev)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("{}") // plain data: cannot fail
	}
	return b
}

// Remembered is what the ledger keeps of an entity's last matches, for when the provider is away: by harness, the
// evidence without traces.
type Remembered struct {
	Harnesses map[string]json.RawMessage `json:"harnesses"`
}

// maxRemembered bounds it; an entity that so many harnesses match is remembered by their names alone.
const maxRemembered = 32 << 10

func (v *verdict) remembered() []byte {
	if len(v.last) == 0 {
		return nil
	}
	if b := marshal(Remembered{v.last}); len(b) <= maxRemembered {
		return b
	}
	names := map[string]json.RawMessage{}
	for n := range v.last {
		names[n] = json.RawMessage("null")
	}
	return marshal(Remembered{names})
}
