package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// About is what a sandbox is told of its entity: facts as they were read for it, of elements only the admitted ones.
type About struct {
	Schema   string            `json:"schema"`
	Harness  string            `json:"harness"`
	Entity   dispatch.Entity   `json:"entity"`
	Subject  dispatch.Subject  `json:"subject"`
	ReadAt   time.Time         `json:"read_at"` // the provider's clock of the facts
	Facts    map[string]any    `json:"facts"`
	Evidence dispatch.Evidence `json:"evidence"`
	Event    *trigger.Event    `json:"event"` // its role members are what the provider said
}

// AboutSchema names the form.
const AboutSchema = "run-context/v1"

// JSON is About with every control and format character escaped.
func (a *About) JSON() ([]byte, error) {
	b, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("context of the run: %w", err)
	}
	return dispatch.Escape(b), nil
}

func (l *look) about(v *Verdict, qs []*query.Bound, view query.View, rests []string) About {
	h := &l.t.Harness
	cat := l.t.Adapter.Catalogue(l.t.Config.Kind)
	ev := dispatch.Evidence{
		HarnessRevision: h.Revision, QueryRevision: h.Version, Admission: h.Threshold.String(), ReadAt: l.readAt.UTC(), Updated: l.seen.UTC(),
		Verdict: query.True, Trigger: &dispatch.Trigger{Expression: h.Trigger.String(), Verdict: query.True}, Queries: []dispatch.Judged{},
	}
	for _, q := range qs {
		rests = append(rests, q.Eval(l.facts, view, l.readAt).RestsOn...)
		ev.Queries = append(ev.Queries, dispatch.Judged{Source: h.Name, Query: q.Query().String(),
			Support: dispatch.Terms(q.Support(l.facts, view, l.readAt), cat)})
	}
	if l.event != nil {
		rests = append(rests, string(l.event.Actor.ID))
	}
	slices.Sort(rests)
	ev.Actors = dispatch.Actors(l.book, slices.Compact(rests))
	return About{
		Schema: AboutSchema, Harness: h.Name, Subject: v.Subject, ReadAt: l.readAt.UTC(), Evidence: ev, Event: l.event,
		Entity: dispatch.Entity{Provider: l.ref.Provider, Tenant: l.ref.Tenant, Kind: l.ref.Kind, ID: l.ref.ID, Key: l.ref.Key, URL: l.ref.URL},
		Facts:  shown(l.facts, view, cat),
	}
}

// shown are the facts that are known, with admitted elements only.
func shown(f *query.Facts, view query.View, cat *query.Catalogue) map[string]any {
	out := map[string]any{}
	for _, name := range cat.Names() {
		field, _ := cat.Field(name)
		fact := f.Get(field.ID)
		switch {
		case fact.Presence == query.Unknown:
		case field.Type != query.TypeElements:
			out[name] = texts(fact.Values)
		default:
			es := []map[string]any{}
			for i := range fact.Items {
				if e := &fact.Items[i]; view(field.ID, e) == query.Admitted {
					es = append(es, element(e, field))
				}
			}
			out[name] = es
		}
	}
	return out
}

func element(e *query.Element, field *query.Field) map[string]any {
	m := map[string]any{"key": e.Key, "by": e.Actor.ID, "login": e.Actor.Login}
	if !e.At.IsZero() {
		m["at"] = e.At.UTC()
	}
	for _, member := range field.Members {
		if fact := e.Member(member.ID); fact.Presence == query.Known {
			m[member.Name] = texts(fact.Values)
		}
	}
	return m
}

func texts(vs []query.Value) []string {
	out := make([]string, len(vs))
	for i := range vs {
		out[i] = dispatch.ValueText(&vs[i])
	}
	return out
}
