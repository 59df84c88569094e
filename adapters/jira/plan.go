package jira

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// Limits of a search. None is documented; server code refuses queries with too many clauses, and field reports speak of a
// few hundred.
const (
	maxJQL    = 8000
	maxLeaves = 300
	maxValues = 800
)

// plan is the scope's one search.
type plan struct {
	where    string // the sweep's compiled part; "" when it says nothing
	project  string
	fields   []string
	walks    []adapters.Walk
	weakened []query.Weakening
	cost     []string
}

var _ adapters.Plan = (*plan)(nil)

// Compile makes the search. Names are turned into ids; a source that names what the site has not got is refused by that
// name. What the site itself refuses of the rest is not filtered.
func (s *session) Compile(ctx context.Context, ss []query.Source) (adapters.Plan, []adapters.Refusal) {
	var fs query.FieldSet
	for _, src := range ss {
		fs = fs.Union(src.Query.Fields()).Union(src.Reads)
	}
	words, err := s.learn(ctx, fs)
	s.remind(words)
	good, refused := serve(ss, words)
	r := &renderer{words: words, people: !s.dc}
	labels := "labels: whether this site tells their case apart is not known, as no issue with a label was found"
	if fs.Has(query.FLabel) {
		r.folds = s.foldsLabels(ctx)
		s.mu.Lock()
		if s.folds != nil && !*s.folds {
			labels = "labels: this site tells their case apart, the language does not"
		}
		s.mu.Unlock()
	}
	p := &plan{project: s.inProject().String(), fields: listed(fs), walks: []adapters.Walk{changedWalk(), sweepWalk()}}
	p.where, p.weakened = s.upper(ctx, good, r)
	for i := range p.weakened {
		if w := &p.weakened[i]; w.Leaf.Field != 0 && w.Why == "the provider cannot filter it" {
			w.Why = whyLocal(w.Leaf, labels)
		}
	}
	if err != nil {
		p.weakened = append(p.weakened, query.Weakening{Why: "what values are called could not be read: " + err.Error()})
	}
	p.cost = s.costs(fs, p)
	return p, refused
}

// remind keeps the newest vocabulary for the reading of rows.
func (s *session) remind(v *vocabulary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.custom == nil {
		v.custom = s.words.custom
	}
	s.words = *v
}

func serve(ss []query.Source, words *vocabulary) (good []query.Source, refused []adapters.Refusal) {
	for _, src := range ss {
		if r, bad := words.stale(src); bad {
			refused = append(refused, r)
			continue
		}
		good = append(good, src)
	}
	return good, refused
}

// upper compiles, and compiles again without the leaves that the site refuses: one value that does not exist would make
// the whole search fail.
func (s *session) upper(ctx context.Context, ss []query.Source, r *renderer) (where string, owed []query.Weakening) {
	bad := map[string]string{}
	search, owed, text := compile(ss, r, bad)
	if r.sure(search) && !s.wasRefused(text) {
		return text, owed // every value in it came from the site a moment ago
	}
	why, known := s.validate(ctx, text)
	if !known || why == "" {
		return text, owed
	}
	leaves := map[string]bool{}
	for l := range search.Leaves {
		leaves[r.leaf(l).String()] = true
	}
	var texts []string
	for t := range leaves {
		texts = append(texts, t)
	}
	slices.Sort(texts)
	if bad, known = s.sound(ctx, texts); known && len(bad) > 0 {
		if _, owed, text = compile(ss, r, bad); text == "" {
			return text, owed
		}
		if why, known = s.validate(ctx, text); !known || why == "" {
			return text, owed
		}
	}
	return "", append(owed, query.Weakening{Why: "the site refuses the combined search (" + why + "), so sweeps list everything"})
}

// sure reports whether a search holds only what the site itself has just named: no accounts, no custom fields.
func (r *renderer) sure(s *query.Search) bool {
	for l := range s.Leaves {
		if _, custom := l.Field.Custom(); custom || (l.Field == query.FAuthor || l.Field == query.FAssignee) && l.Op != query.OpEmpty {
			return false
		}
	}
	return true
}

func (s *session) wasRefused(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok, asked := s.valid[text]
	return asked && !ok
}

// compile is the search, and its text without the leaves whose texts are bad.
func compile(ss []query.Source, r *renderer, bad map[string]string) (*query.Search, []query.Weakening, string) {
	claims := query.FiltersFunc(func(l query.Leaf, w query.WalkKind) query.Strength {
		strength := r.claim(l)
		if strength == query.None || w != query.Sweep {
			return query.None
		}
		if _, refused := bad[r.leaf(&l).String()]; refused {
			return query.None
		}
		return strength
	})
	// A test over now would change the search's text each cycle, and with it every place in a sweep: none is filtered.
	search, owed := query.Upper(ss, claims, query.Sweep, time.Unix(0, 0), 0, r.fits)
	for i := range owed {
		if owed[i].Leaf.Field == 0 || len(bad) == 0 || r.claim(owed[i].Leaf) == query.None {
			continue
		}
		if why, refused := bad[r.leaf(&owed[i].Leaf).String()]; refused {
			owed[i].Why = "the site refuses it: " + why
		}
	}
	if search.All {
		return search, owed, ""
	}
	return search, owed, r.search(search).String()
}

// fits says why a search is too large.
func (r *renderer) fits(s *query.Search) error {
	leaves, values := 0, 0
	for l := range s.Leaves {
		leaves++
		values += len(l.Values)
	}
	n := len(r.search(s).String())
	switch {
	case n > maxJQL:
		return fmt.Errorf("the search has %d bytes, of %d that are sent", n, maxJQL)
	case leaves > maxLeaves:
		return fmt.Errorf("the search has %d tests, of %d that are sent", leaves, maxLeaves)
	case values > maxValues:
		return fmt.Errorf("the search has %d values, of %d that are sent", values, maxValues)
	}
	return nil
}

// validate asks once for each text.
func (s *session) validate(ctx context.Context, text string) (why string, known bool) {
	if text == "" {
		return "", true
	}
	s.mu.Lock()
	valid, asked := s.valid[text]
	s.mu.Unlock()
	if asked && valid {
		return "", true
	}
	if asked {
		return "it was refused before", true
	}
	refusals, known := s.sound(ctx, []string{text})
	if known && refusals[text] == "" {
		s.took(text, true)
	}
	return refusals[text], known
}

// took remembers what the site said of a search.
func (s *session) took(text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.valid) > 64 {
		clear(s.valid)
	}
	s.valid[text] = ok
}

// soundAlone validates on a Data Center, which has no endpoint for it: a search for no rows.
func (s *session) soundAlone(ctx context.Context, text string) (why string, known bool) {
	_, err := s.askAs(ctx, adapters.Identity, "validate the search", text, 0, "", nil)
	var e *adapters.Error
	switch {
	case err == nil:
		return "", true
	case errors.Is(err, api.ErrQuery) && errors.As(err, &e):
		return api.Clip(e.Err.Error()), true
	}
	return "", false
}

// costs plans in requests, and in the points that apps pay.
func (s *session) costs(fs query.FieldSet, p *plan) []string {
	read := []string{"1 for up to 100 issues"}
	add := func(what string, ids ...query.FieldID) {
		if slices.ContainsFunc(ids, fs.Has) {
			read = append(read, what)
		}
	}
	log := "1 for the changelogs of up to 100"
	if s.dc {
		read, log = []string{"1 for each issue"}, "1 for the changelog of each"
	}
	add(log, query.FLabel, query.FTitle, query.FBody)
	add("1 for each 100 comments of one", query.FComment, query.FLastComment)
	add("1 for the development information of up to 100", query.FLinked)
	idle := 3
	for _, f := range []query.FieldID{query.FStatus, query.FPriority} {
		if fs.Has(f) {
			idle++
		}
	}
	if slices.ContainsFunc(fs.IDs(), func(f query.FieldID) bool { _, ok := f.Custom(); return ok }) {
		idle++
	}
	return []string{
		fmt.Sprintf("idle cycle: %d requests (%d identity, 1 search), about %d points", idle+1, idle, idle+1),
		"changed issues: 1 request and about 101 points for 100 in the listing",
		"read issues: " + strings.Join(read, ", "),
		"actors: 1 request for the roles, 1 for each role of the project, and 1 for each actor who may have one through a group",
		fmt.Sprintf("sweep: 1 request and about 101 points for %d issues, and 1 for the count", pageSize),
	}
}

func (p *plan) Walks() []adapters.Walk { return p.walks }

func (p *plan) Weakened() []query.Weakening { return p.weakened }

func (p *plan) Cost() []string { return p.cost }

// Render shows the JQL of a walk; the instant of a window is filled in when it is sent.
func (p *plan) Render(w adapters.Walk) string {
	switch w.Name {
	case walkChanged:
		return p.project + ` AND (updated >= {since} OR updated >= "-{minutes}m")` + byKey
	case walkAll:
		return p.sweep()
	}
	return ""
}

func (p *plan) sweep() string {
	if p.where == "" {
		return p.project + byKey
	}
	return p.project + " AND (" + p.where + ")" + byKey
}
