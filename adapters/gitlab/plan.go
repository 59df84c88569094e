package gitlab

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// plan is the scope's one search. It is the same for every set of sources.
type plan struct {
	requests map[string]string
	walks    []adapters.Walk
	weakened []query.Weakening
	cost     []string
}

var _ adapters.Plan = (*plan)(nil)

// Compile makes the search. What GitLab lacks was refused when the source was bound, so nothing is refused here.
func (s *session) Compile(_ context.Context, ss []query.Source) (adapters.Plan, []adapters.Refusal) {
	// Nothing is claimed, so the search is the whole scope whatever the sources are; only what it leaves is of interest.
	_, weakened := query.Upper(ss, Adapter{}.Claims(s.kind), query.Sweep, s.now(), 0, nil)
	for i := range weakened {
		if weakened[i].Leaf.Field != 0 {
			weakened[i].Why = whyLocal(weakened[i].Leaf.Field)
		}
	}
	var fs query.FieldSet
	for _, src := range ss {
		fs = fs.Union(src.Query.Fields())
	}
	changes, sweep := s.changesWalk(), s.sweepWalk()
	return &plan{
		walks: []adapters.Walk{changes, sweep}, weakened: weakened, cost: s.costs(fs),
		requests: map[string]string{changes.Name: s.render(changes), sweep.Name: s.render(sweep)},
	}, nil
}

// costs plans in requests.
func (s *session) costs(fs query.FieldSet) []string {
	read := []string{"1 for the rows of up to 50"}
	add := func(what string, ids ...query.FieldID) {
		if named(fs, ids...) {
			read = append(read, what)
		}
	}
	add("1 or more for its label events (who applied a label), when it has labels", query.FLabel)
	add("1 for its notes (who edited a text, comments), one more for each further 100", query.FTitle, query.FBody, query.FComment, query.FLastComment, query.FReview)
	add("1 for an account not met before (is it a bot)", query.FAuthorKind, query.FLastComment)
	if s.merge() {
		add("1 for its reviewers, when it has any", query.FReviewer, query.FReview)
		add("1 for its approvals, 1 for its pushes", query.FReview)
		add("1 for its pipeline", query.FChecks)
		add("1 for its pushes, when its pipeline is of a merged result", query.FChecks)
	} else {
		add("1 for its merge requests", query.FLinked)
	}
	return []string{
		"idle cycle: 2 (1 identity, 1 search)",
		"changed entity: " + strings.Join(read, ", "),
		"actor: 1 for the role and 1 for the account when it was not met before; 2 for who is no member",
		"sweep: 1 for 100 entities",
	}
}

func (p *plan) Walks() []adapters.Walk { return p.walks }

func (p *plan) Weakened() []query.Weakening { return p.weakened }

func (p *plan) Cost() []string { return p.cost }

// Render shows the first request of a walk; the instant of the window is filled in when it is sent.
func (p *plan) Render(w adapters.Walk) string { return p.requests[w.Name] }

func (s *session) render(w adapters.Walk) string {
	l := s.listing(w, cursor{Walk: w.Name, Limit: pageSize})
	r := l.request(l.at.Since, 1, pageSize, "")
	q := url.Values{}
	for k, v := range r.Query {
		q[k] = v
	}
	text := fmt.Sprintf("GET /api/v4/%s?%s", r.Path, q.Encode())
	if w.Kind == query.Changes {
		text += "&updated_after={since}"
	}
	return text
}
