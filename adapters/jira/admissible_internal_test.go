package jira

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	face "github.com/fullsend-ai/discovery/internal/forgesim/jira"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// fullVocabulary has an id for every name that generated facts use; a status exists in each category.
func fullVocabulary(schema string) (*vocabulary, *face.Site) {
	v := &vocabulary{custom: map[uint32]customField{}}
	site := &face.Site{Now: querytest.Now, FoldLabel: true}
	for i, n := range querytest.Names {
		id := func(kind int) string { return strconv.Itoa(kind*1000 + i) }
		v.kind = append(v.kind, named{id(1), n})
		v.priority = append(v.priority, named{id(2), n})
		v.component = append(v.component, named{id(3), n})
		v.version = append(v.version, named{id(4), n})
		site.Types = append(site.Types, face.Named{ID: id(1), Name: n})
		site.Priority = append(site.Priority, face.Named{ID: id(2), Name: n})
		site.Component = append(site.Component, face.Named{ID: id(3), Name: n})
		site.Version = append(site.Version, face.Named{ID: id(4), Name: n})
		for k, c := range []string{"new", "indeterminate", "done", ""} {
			v.status = append(v.status, named{id(5 + k), n})
			site.Statuses = append(site.Statuses, face.Status{ID: id(5 + k), Name: n, Category: c})
		}
	}
	f := customField{ID: "customfield_10021"}
	f.Schema.Type = schema
	v.custom[10021] = f
	site.Fields = []face.Custom{{ID: 10021, Type: schema}}
	for _, p := range querytest.People {
		site.Accounts = append(site.Accounts, p.ID, p.Login)
	}
	site.Accounts = append(site.Accounts, "unknown", "renovate[bot]", "12", "org/team")
	return v, site
}

// issueOf is the issue that has these facts; false when no issue of Jira can.
func issueOf(f *query.Facts, site *face.Site, schema string) (*face.Issue, bool) {
	i := &face.Issue{Custom: map[int][]string{}}
	str := func(id query.FieldID) string {
		if vs := f.Get(id).Values; len(vs) > 0 {
			return vs[0].Str
		}
		return ""
	}
	exists := true // every name that the facts use is one of the site's
	find := func(ns []face.Named, name string) string {
		k := slices.IndexFunc(ns, func(n face.Named) bool { return n.Name == name })
		if name == "" {
			return ""
		}
		if k < 0 {
			exists = false
			return ""
		}
		return ns[k].ID
	}
	word := str(query.FStatusCategory)
	if (word == "done") != (str(query.FState) == "closed") || len(f.Get(query.FAssignee).Values) > 1 || str(query.FType) == "" {
		return nil, false
	}
	for _, s := range site.Statuses {
		if s.Name == str(query.FStatus) && s.Category == map[string]string{"todo": "new", "in_progress": "indeterminate", "done": "done"}[word] {
			i.Status = s.ID
		}
	}
	i.Type, i.Priority = find(site.Types, str(query.FType)), find(site.Priority, str(query.FPriority))
	for _, v := range f.Get(query.FComponent).Values {
		i.Components = append(i.Components, find(site.Component, v.Str))
	}
	for _, v := range f.Get(query.FFixVersion).Values {
		i.Versions = append(i.Versions, find(site.Version, v.Str))
	}
	if !exists || i.Status == "" {
		return nil, false
	}
	for _, e := range f.Get(query.FLabel).Items {
		l := e.Member(query.MName).Values[0].Str
		if strings.ContainsAny(l, " ") {
			return nil, false
		}
		i.Labels = append(i.Labels, l)
	}
	account := func(id query.FieldID) string {
		vs := f.Get(id).Values
		switch {
		case len(vs) == 0:
			return ""
		case vs[0].User.Deleted:
			return "unknown"
		}
		return vs[0].User.ID
	}
	i.Creator, i.Assignee = account(query.FAuthor), account(query.FAssignee)
	i.Created, i.Updated = f.Get(query.FCreated).Values[0].Time, f.Get(query.FUpdated).Values[0].Time
	if vs := f.Get(query.FDue).Values; len(vs) > 0 {
		i.Due = vs[0].Time.Format(time.DateOnly)
	}
	for _, v := range f.Get(query.CustomField(10021)).Values {
		switch {
		case schema == "number" && v.Type == query.TypeNumber:
			i.Custom[10021] = append(i.Custom[10021], strconv.FormatFloat(v.Num, 'f', -1, 64))
		case schema == "date" && v.Type == query.TypeDate:
			i.Custom[10021] = append(i.Custom[10021], v.Time.Format(time.DateOnly))
		case schema == "user" && v.Type == query.TypeUser && v.User.Deleted:
			i.Custom[10021] = append(i.Custom[10021], "unknown")
		case schema == "user" && v.Type == query.TypeUser:
			i.Custom[10021] = append(i.Custom[10021], v.User.ID)
		case schema == "datetime" && v.Type == query.TypeInstant:
			i.Custom[10021] = append(i.Custom[10021], v.Time.Format(time.RFC3339Nano))
		default:
			return nil, false
		}
	}
	return i, true
}

// SPEC JI-10: for any sources, whatever may match or be undecided is found by the JQL as it is sent. The other side is the
// simulated Jira's evaluator, whose empty fields, negations, zones and cases are Jira's.
func TestSearchIsAdmissible(t *testing.T) {
	for name, tt := range map[string]struct {
		schema string
		zone   *time.Location
	}{
		"numbers, UTC":             {"number", time.UTC},
		"days, far east":           {"date", time.FixedZone("", 14*3600)},
		"instants, the other side": {"datetime", time.FixedZone("", -12*3600)},
		"people":                   {"user", time.UTC},
	} {
		t.Run(name, func(t *testing.T) {
			words, site := fullVocabulary(tt.schema)
			site.Zone = tt.zone
			r := &renderer{words: words, folds: true, people: true}
			tally := querytest.Admissible(t, querytest.Provider{
				Catalogue: Adapter{}.Catalogue(query.WorkItem),
				Claims: query.FiltersFunc(func(l query.Leaf, w query.WalkKind) query.Strength {
					if w != query.Sweep {
						return query.None
					}
					return r.claim(l)
				}),
				Fits: r.fits,
				Returns: func(s *query.Search, w query.WalkKind, f *query.Facts) bool {
					if s.All {
						return true
					}
					jql := r.search(s).String()
					noteJQL(jql)
					i, possible := issueOf(f, site, tt.schema)
					if !possible {
						return true
					}
					found, err := site.Match(jql, i)
					require.NoError(t, err, jql)
					return found
				},
			})
			require.Positive(t, tally.Owed)
			if tally.Cases > 200_000 { // fewer may all be weakened to nothing
				require.Positive(t, tally.Filtered, "some search must have filtered something")
			}
		})
	}
}

// What is static is what a session claims at least: lint must not promise more.
func TestStaticClaimsAreTheWeakest(t *testing.T) {
	words, _ := fullVocabulary("number")
	cat := Adapter{}.Catalogue(query.WorkItem)
	for _, r := range []*renderer{{words: words}, {words: &vocabulary{}}, {words: words, folds: true, people: true}} {
		for _, text := range goldenQueries {
			b := bindQuery(t, cat, text)
			query.Upper([]query.Source{{ID: "s", Query: b}}, query.FiltersFunc(func(l query.Leaf, w query.WalkKind) query.Strength {
				require.GreaterOrEqual(t, r.claim(l), Adapter{}.Claims(query.WorkItem).Filter(l, query.Sweep), l.Text)
				require.Equal(t, query.None, Adapter{}.Claims(query.WorkItem).Filter(l, query.Changes), l.Text)
				return query.None
			}), query.Sweep, querytest.Now, time.Hour, nil)
		}
	}
	require.Equal(t, query.None, Adapter{}.Claims(query.ChangeProposal).Filter(query.Leaf{Field: query.FState, Values: []query.Value{query.Word("open")}, Positive: true}, query.Sweep))
	require.Nil(t, Adapter{}.Catalogue(query.ChangeProposal))
}

// SPEC JI-10: whoever is assigned to a deleted account is assigned to nobody here and to somebody in Jira: no search for empty fields of
// people leaves that issue out.
func TestNobodyIsAssigned(t *testing.T) {
	words, _ := fullVocabulary("user")
	r := &renderer{words: words}
	claims := query.FiltersFunc(func(l query.Leaf, _ query.WalkKind) query.Strength { return r.claim(l) })
	for text, want := range map[string]string{
		"v1: assignee is empty":      "",
		"v1: cf[10021] is empty":     "",
		"v1: not assignee is empty":  "assignee is not EMPTY",
		"v1: not cf[10021] is empty": "cf[10021] is not EMPTY",
		"v1: priority is empty":      "priority is EMPTY",
	} {
		b := bindQuery(t, Adapter{}.Catalogue(query.WorkItem), text)
		s, _ := query.Upper([]query.Source{{ID: "s", Query: b}}, claims, query.Sweep, querytest.Now, time.Hour, nil)
		if want == "" {
			require.True(t, s.All, text)
			continue
		}
		require.Equal(t, want, r.search(s).String(), text)
	}
}
