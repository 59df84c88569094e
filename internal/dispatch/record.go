package dispatch

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/admission"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// Schema names the form of a record; docs/schema/dispatch-v1.json describes it.
const Schema = "dispatch/v1"

// Draft is what records say while the specification of source declarations and of authorization is not complete.
const Draft = "v1-draft"

// Origins of a candidate.
const (
	Poll  = "poll"
	Event = "event"
)

// Record is one decision as an output driver gets it: one harness, one entity, one state of it, with its evidence.
type Record struct {
	Schema   string `json:"schema"`
	Spec     string `json:"spec"`
	Key      string `json:"key"`      // of the harness and entity; receipts name it
	Decision string `json:"decision"` // id of the decision; receipts name it
	Harness  string `json:"harness"`
	// Entity is what the harness is asked about.
	Entity Entity `json:"entity"`
	Scope  Scope  `json:"scope"`
	// Entries is how often the entity has entered the harness's match, this time included.
	Entries int       `json:"entries"`
	Origin  string    `json:"origin"`
	Source  string    `json:"source,omitempty"` // the input driver's name
	Target  string    `json:"target_repo,omitempty"`
	Subject Subject   `json:"subject"`
	Time    time.Time `json:"time"` // when the decision was made, UTC
	Evidence
}

// Entity says what the entity is and what it is called.
type Entity struct {
	Provider string     `json:"provider"`
	Tenant   string     `json:"tenant"`
	Kind     query.Kind `json:"kind"`
	ID       string     `json:"id"`
	Key      string     `json:"key,omitempty"`
	URL      string     `json:"url,omitempty"`
}

// Scope is where the entity was found.
type Scope struct {
	Provider  string     `json:"provider"`
	Tenant    string     `json:"tenant"`
	Container string     `json:"container"`
	Kind      query.Kind `json:"kind"`
	Account   string     `json:"account,omitempty"`
}

// Subject is what automatic runs of one harness are serialized by. A work item that is linked to a change proposal has
// the proposal as its subject.
type Subject struct {
	System string     `json:"system"`
	Kind   query.Kind `json:"kind"`
	ID     string     `json:"id"`
}

// SubjectOf is the canonical subject of an entity; proposal is the stable id of the change proposal that a work item is
// linked to, or "".
func SubjectOf(id scope.Identity, proposal string) Subject {
	s := Subject{System: id.Provider, Kind: id.Kind, ID: id.ID}
	if id.Kind == query.WorkItem && proposal != "" {
		s.Kind, s.ID = query.ChangeProposal, proposal
	}
	return s
}

// Linked is the stable id of the change proposal that a work item is linked to: of the one open proposal, else of the
// only one, and "" when facts name none or leave a choice. Anybody can claim a link, so only admitted ones count.
func Linked(f *query.Facts, view query.View) string {
	var all, open []string
	links := f.Get(query.FLinked).Items
	for i := range links {
		if e := &links[i]; view(query.FLinked, e) == query.Admitted {
			all = append(all, e.Key)
			if st := e.Member(query.MState); st.Presence == query.Known && len(st.Values) > 0 && st.Values[0].Str == "open" {
				open = append(open, e.Key)
			}
		}
	}
	switch {
	case len(open) == 1:
		return open[0]
	case len(all) == 1:
		return all[0]
	}
	return ""
}

// Group is the key under which runs are serialized: harness, target repository, subject. Two groups are equal only when
// all parts are.
func (r *Record) Group() string { return Group(r.Harness, r.Target, r.Subject) }

// Group is the key of a harness, a target repository and a subject.
func Group(harness, target string, s Subject) string {
	parts := []string{harness, target, s.System, string(s.Kind), s.ID}
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "|")
}

// Evidence is why the decision was made. The ledger keeps it as opaque JSON from the judgement to the dispatch.
type Evidence struct {
	Plan            string        `json:"plan"` // hash of the plan
	HarnessRevision string        `json:"harness_revision,omitempty"`
	QueryRevision   string        `json:"query_revision,omitempty"`
	Admission       string        `json:"admission"`                        // the role that elements needed
	ReadAt          time.Time     `json:"read_at"`                          // the provider's clock of the facts
	Updated         time.Time     `json:"updated,omitzero"`                 // the entity's change clock; a run uses no older answer
	Linked          string        `json:"linked_change_proposal,omitempty"` // stable id, see Linked
	Verdict         query.Verdict `json:"verdict"`
	Queries         []Judged      `json:"queries"` // those that are true
	Trigger         *Trigger      `json:"trigger,omitempty"`
	// Actors are the accounts that the verdict may rest on, with the roles that were verified for them.
	Actors []admission.Evidence `json:"actors"`
}

// Judged is one source query with its support and trace.
type Judged struct {
	Source  string          `json:"source"`
	Query   string          `json:"query"`
	Support []Term          `json:"support"`
	Trace   json.RawMessage `json:"trace,omitempty"` // a query.Trace
}

// Trigger is what the harness's CEL said; absent where it was left to the run.
type Trigger struct {
	Expression string        `json:"expression"`
	Verdict    query.Verdict `json:"verdict"`
}

// Term is one true test with what satisfies it.
type Term struct {
	Test     string    `json:"test"`
	Field    string    `json:"field"`
	Values   []string  `json:"values,omitempty"`
	Rev      string    `json:"rev,omitempty"` // head commit
	Elements []Element `json:"elements,omitempty"`
}

// Element is one admitted element. Its content is left out: it is untrusted, and whoever needs it reads it afresh.
type Element struct {
	Key   string    `json:"key"`
	Rev   string    `json:"rev,omitempty"`
	Actor string    `json:"actor"`
	Login string    `json:"login,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// Terms writes a support for a record.
func Terms(s query.Support, c *query.Catalogue) []Term {
	out := make([]Term, 0, len(s.Terms))
	for i := range s.Terms {
		t := &s.Terms[i]
		term := Term{Test: t.Test, Rev: t.Rev, Field: fmt.Sprint(t.Field)}
		if f, ok := c.ByID(t.Field); ok {
			term.Field = f.Name
		}
		for j := range t.Values {
			term.Values = append(term.Values, valueText(&t.Values[j]))
		}
		for j := range t.Elements {
			e := &t.Elements[j]
			term.Elements = append(term.Elements, Element{Key: e.Key, Rev: e.Rev, Actor: e.Actor.ID, Login: e.Actor.Login, At: e.At})
		}
		out = append(out, term)
	}
	return out
}

// maxValue bounds a value in a record, in bytes.
const maxValue = 256

func valueText(v *query.Value) string {
	s := ValueText(v)
	if len(s) > maxValue {
		return strings.ToValidUTF8(s[:maxValue], "") + "…"
	}
	return s
}

// ValueText is a value as records and contexts write it, in full.
func ValueText(v *query.Value) string {
	switch v.Type {
	case query.TypeBool:
		return fmt.Sprint(v.Bool)
	case query.TypeNumber:
		return fmt.Sprint(v.Num)
	case query.TypeInstant:
		return v.Time.UTC().Format(time.RFC3339Nano)
	case query.TypeDate:
		return v.Time.UTC().Format(time.DateOnly)
	case query.TypeUser:
		return "id:" + v.User.ID
	}
	return v.Str
}

// Actors gives the evidence on accounts, in the order of ids. An account that the book does not know is named as such:
// nothing is proven of it.
func Actors(b *admission.Book, ids []string) []admission.Evidence {
	out := make([]admission.Evidence, 0, len(ids))
	for _, id := range ids {
		e, ok := b.Evidence(id)
		if !ok {
			e = admission.Evidence{Actor: id, Why: "not looked up"}
		}
		out = append(out, e)
	}
	return out
}

// Frame is what a record says besides the delivery: the same for a whole cycle.
type Frame struct {
	Spec   string
	Origin string
	Source string
	Target string
	Now    time.Time
}

// New makes the record of a delivery. It fails when the delivery's evidence is not one that this version wrote.
func New(d coverage.Delivery, f Frame) (Record, error) {
	r := Record{
		Schema: Schema, Spec: f.Spec, Key: d.Key, Decision: d.Decision, Harness: d.Source,
		Entity: Entity{Provider: d.Ref.Provider, Tenant: d.Ref.Tenant, Kind: d.Ref.Kind, ID: d.Ref.ID, Key: d.Ref.Key, URL: d.Ref.URL},
		Scope: Scope{Provider: d.Scope.Provider, Tenant: d.Scope.Tenant, Container: d.Scope.Container,
			Kind: d.Scope.Kind, Account: d.Scope.Account},
		Entries: d.Entries, Origin: f.Origin, Source: f.Source, Target: f.Target,
		Time: d.Created.UTC(),
	}
	if r.Time.IsZero() {
		r.Time = f.Now.UTC()
	}
	if err := json.Unmarshal(d.Evidence, &r.Evidence); err != nil {
		return Record{}, fmt.Errorf("evidence of %s: %w", d.Key, err)
	}
	r.Subject = SubjectOf(d.Ref.Identity, r.Linked)
	if r.Queries == nil {
		r.Queries = []Judged{}
	}
	if r.Actors == nil {
		r.Actors = []admission.Evidence{}
	}
	return r, nil
}
