package poll

import (
	"encoding/json"
	"time"

	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/query"
)

// maxTrace bounds a query's trace in a record, in bytes: an entity with thousands of comments is traced by its support.
const maxTrace = 16 << 10

// evidence is why harness h is offered an entity, as the dispatch record will say it.
func (j *judge) evidence(h int, qs []*query.Bound, f *query.Facts, rests []string, views []query.View, now time.Time) []byte {
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
	b, err := json.Marshal(ev)
	if err != nil {
		return []byte("{}") // plain data: cannot fail
	}
	return b
}
