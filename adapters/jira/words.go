package jira

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// vocabulary is what values are called on this site: searches go by ids, which survive renames.
type vocabulary struct {
	status, kind, priority, component, version []named
	known                                      query.FieldSet // whose values were read
	custom                                     map[uint32]customField
}

// customField is one of the site's, with the schema of its values.
type customField struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Custom bool   `json:"custom"`
	Schema struct {
		Type  string `json:"type"`
		Items string `json:"items"`
	} `json:"schema"`
}

func (v *vocabulary) of(f query.FieldID) []named {
	if v == nil {
		return nil
	}
	switch f {
	case query.FStatus:
		return v.status
	case query.FType:
		return v.kind
	case query.FPriority:
		return v.priority
	case query.FComponent:
		return v.component
	case query.FFixVersion:
		return v.version
	}
	return nil
}

// kind is the type of a value, one of several where the field has several.
func (f *customField) kind() string {
	if f.Schema.Type == "array" {
		return f.Schema.Items
	}
	return f.Schema.Type
}

// people reports whether the values may be accounts; of a schema that is not known they may.
func (f *customField) people() bool {
	return !slices.Contains([]string{"number", "date", "datetime", "boolean", "string", "option", "version", "component"}, f.kind())
}

// holds reports whether a field of this schema can be compared with a literal. Words and choices are names; a schema that
// is not known takes them too.
func (f *customField) holds(v query.Value) bool {
	t := f.kind()
	switch v.Type {
	case query.TypeNumber:
		return t == "number"
	case query.TypeDate, query.TypeInstant:
		return t == "date" || t == "datetime"
	case query.TypeBool:
		return t == "boolean"
	case query.TypeUser:
		return t == "user"
	}
	return t != "number" && t != "date" && t != "datetime" && t != "boolean"
}

// learn reads the values that the sources name: those of the project come with the project itself.
func (s *session) learn(ctx context.Context, fs query.FieldSet) (*vocabulary, error) {
	p := s.repo.Load()
	v := &vocabulary{kind: p.Types, component: p.Components, version: p.Versions, known: query.Fields(query.FType, query.FComponent, query.FFixVersion)}
	if fs.Has(query.FStatus) {
		var kinds []struct {
			Statuses []named `json:"statuses"`
		}
		if _, err := s.api.Do(ctx, api.Request{Op: "read the project's statuses", Class: adapters.Identity, Path: s.path("project/%s/statuses", p.ID)}, &kinds); err != nil {
			return v, err
		}
		for _, k := range kinds {
			v.status = append(v.status, k.Statuses...)
		}
		v.known.Add(query.FStatus)
	}
	if fs.Has(query.FPriority) {
		if _, err := s.api.Do(ctx, api.Request{Op: "read priorities", Class: adapters.Identity, Path: s.path("priority")}, &v.priority); err != nil {
			return v, err
		}
		v.known.Add(query.FPriority)
	}
	for _, id := range fs.IDs() {
		if _, ok := id.Custom(); ok {
			return v, s.learnCustom(ctx, v)
		}
	}
	return v, nil
}

func (s *session) learnCustom(ctx context.Context, v *vocabulary) error {
	var fields []customField
	if _, err := s.api.Do(ctx, api.Request{Op: "read fields", Class: adapters.Identity, Path: s.path("field")}, &fields); err != nil {
		return err
	}
	v.custom = map[uint32]customField{}
	for _, f := range fields {
		digits, ok := strings.CutPrefix(f.ID, "customfield_")
		if n, err := strconv.ParseUint(digits, 10, 32); ok && err == nil {
			v.custom[uint32(n)] = f
		}
	}
	return nil
}

// stale says what of a source names nothing on this site: a status that was renamed, a field of another schema.
func (v *vocabulary) stale(src query.Source) (adapters.Refusal, bool) {
	refuse := func(field string, at query.Span, f string, a ...any) (adapters.Refusal, bool) {
		return adapters.Refusal{Source: src.ID, Field: field, Span: at, Why: fmt.Sprintf(f, a...)}, true
	}
	for _, n := range src.Query.Named() {
		name := map[query.FieldID]string{query.FStatus: "status", query.FType: "type", query.FPriority: "priority", query.FComponent: "component", query.FFixVersion: "fix_version"}[n.Field]
		if name == "" || n.Member != 0 || n.Op != query.OpIn || !v.known.Has(n.Field) || v.has(n.Field, n.Value.Str) {
			continue
		}
		return refuse(name, n.Span, "this project has no %s called %q", strings.ReplaceAll(name, "_", " "), n.Value.Str)
	}
	if v.custom == nil {
		return adapters.Refusal{}, false
	}
	for _, id := range src.Query.Fields().Union(src.Reads).IDs() {
		n, ok := id.Custom()
		if !ok {
			continue
		}
		name := fmt.Sprintf("cf[%d]", n)
		f, ok := v.custom[n]
		if !ok {
			return refuse(name, query.Span{}, "this site has no custom field %d", n)
		}
		for _, l := range leavesOf(src, id) {
			for _, lit := range l.Values {
				if !f.holds(lit) {
					return refuse(name, query.Span{}, "%s holds values of schema %q, which %s is not", f.Name, f.Schema.Type, l.Text)
				}
			}
		}
	}
	return adapters.Refusal{}, false
}

func (v *vocabulary) has(f query.FieldID, name string) bool {
	for _, n := range v.of(f) {
		if foldASCII(n.Name) == foldASCII(name) {
			return true
		}
	}
	return false
}

// leavesOf are the tests of a source on one field, as a compilation asks about them.
func leavesOf(src query.Source, f query.FieldID) (out []query.Leaf) {
	query.Upper([]query.Source{src}, query.FiltersFunc(func(l query.Leaf, _ query.WalkKind) query.Strength {
		if l.Field == f {
			out = append(out, l)
		}
		return query.None
	}), query.Sweep, time.Unix(0, 0), time.Hour, nil)
	return out
}

// foldsLabels asks the site whether JQL compares labels without case: an issue is asked for by its own label in the other
// case. A yes is kept; as long as there is no answer, labels are not filtered. What a server folds beyond A–Z only widens.
func (s *session) foldsLabels(ctx context.Context) bool {
	s.mu.Lock()
	known, probed := s.folds, s.probed
	s.mu.Unlock()
	if known != nil {
		return *known
	}
	if now := s.api.Clock(); !probed.IsZero() && now.Sub(probed) < time.Hour {
		return false
	}
	folds, ok := s.probeLabels(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probed = s.api.Clock()
	if ok {
		s.folds = &folds
	}
	return folds
}

func (s *session) probeLabels(ctx context.Context) (folds, ok bool) {
	p, err := s.ask(ctx, "look for a label", all(s.inProject(), present("labels")), 20, "", []string{"labels", "project"})
	if err != nil {
		return false, false
	}
	for _, raw := range p.rows {
		var i struct {
			ID     string `json:"id"`
			Fields struct {
				Labels []string `json:"labels"`
			} `json:"fields"`
		}
		if json.Unmarshal(raw, &i) != nil || !digits(i.ID) {
			continue
		}
		for _, l := range i.Fields.Labels {
			other := flip(l)
			if other == l || !isLabel(l) || contains(i.Fields.Labels, other) {
				continue
			}
			// Both spellings are asked for: a yes to neither says that the index does not know the issue yet.
			exact, err1 := s.finds(ctx, i.ID, l)
			swapped, err2 := s.finds(ctx, i.ID, other)
			if err1 != nil || err2 != nil || !exact {
				return false, false
			}
			return swapped, true
		}
	}
	return false, false
}

// finds reports whether a search by a label brings an issue.
func (s *session) finds(ctx context.Context, id, label string) (bool, error) {
	p, err := s.ask(ctx, "compare a label's case", all(s.inProject(), test("id", "=", numeral(id)), test("labels", "=", word(label))), 1, "", []string{"project"})
	return err == nil && len(p.rows) > 0, err
}

// flip turns the case of A–Z round.
func flip(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func (s *session) inProject() clause { return test("project", "=", numeral(s.scope.Container)) }

// sound asks the site whether it takes a JQL text. known is false when it cannot be asked.
func (s *session) sound(ctx context.Context, texts []string) (why map[string]string, known bool) {
	why = map[string]string{}
	for from := 0; from < len(texts); from += parseBatch {
		batch := texts[from:min(from+parseBatch, len(texts))]
		if s.dc {
			for _, t := range batch {
				if refusal, ok := s.soundAlone(ctx, t); !ok {
					return nil, false
				} else if refusal != "" {
					why[t] = refusal
				}
			}
			continue
		}
		var out struct {
			Queries []struct {
				Errors []string `json:"errors"`
			} `json:"queries"`
		}
		_, err := s.api.Do(ctx, api.Request{Op: "validate the search", Class: adapters.Identity, Method: http.MethodPost, Path: s.path("jql/parse"),
			Query: map[string][]string{"validation": {"strict"}}, Body: map[string]any{"queries": batch}, Item: true}, &out)
		if err != nil || len(out.Queries) != len(batch) {
			return nil, false
		}
		for i, q := range out.Queries {
			if len(q.Errors) > 0 {
				why[batch[i]] = api.Clip(q.Errors[0])
			}
		}
	}
	return why, true
}

// parseBatch is how many texts are validated in one request; no limit is documented.
const parseBatch = 50
