package forgejo

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// plan is the scope's one search. It is the same for every set of sources but for the walk over comments, which is read
// only where a source can depend on one.
type plan struct {
	requests map[string]api.Request
	walks    []adapters.Walk
	weakened []query.Weakening
	cost     []string
}

var _ adapters.Plan = (*plan)(nil)

// Compile makes the search. What Forgejo lacks was refused when the source was bound, so nothing is refused here.
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
		fs = fs.Union(src.Query.Fields()).Union(src.Reads)
	}
	p := &plan{weakened: weakened, walks: []adapters.Walk{issuesWalk()}, requests: map[string]api.Request{
		walkIssues: s.issuesRequest(walkIssues, 0, 1, s.limit),
		walkAll:    s.issuesRequest(walkAll, 0, 1, s.limit),
	}}
	if named(fs, []query.FieldID{query.FComment, query.FLastComment}) {
		p.walks = append(p.walks, commentsWalk())
		p.requests[walkComments] = s.commentsRequest(0, 1, s.limit)
	}
	p.walks = append(p.walks, allWalk())
	p.cost = s.costs(fs, len(p.walks)-1)
	return p, nil
}

// costs plans in requests.
func (s *session) costs(fs query.FieldSet, feeds int) []string {
	read := []string{"1 for its row"}
	add := func(what string, ids ...query.FieldID) {
		if named(fs, ids) {
			read = append(read, what)
		}
	}
	add("3 or more for its timeline (who applied a label), when it has labels", query.FLabel)
	add("1 for its comments", query.FComment, query.FLastComment)
	if s.kind == query.ChangeProposal {
		add("1 for the pull request", query.FBase, query.FHead, query.FIsFork, query.FReview, query.FChecks)
		add("1 for its reviews", query.FReview, query.FReviewer, query.FLastComment)
		add("1 or more for the statuses of its head", query.FChecks)
	}
	return []string{
		fmt.Sprintf("idle cycle: %d (1 identity, %d search)", 1+feeds, feeds),
		"changed entity: " + strings.Join(read, ", "),
		"actor: 1 for the role, 3 when the login has changed",
		fmt.Sprintf("sweep: about 1 for %d entities of either kind, and 1 to verify that the kind can be read", max(1, s.limit*4/5)),
	}
}

func (p *plan) Walks() []adapters.Walk { return p.walks }

func (p *plan) Weakened() []query.Weakening { return p.weakened }

func (p *plan) Cost() []string { return p.cost }

// Render shows the first request of a walk; the instant of the window and the page are filled in when it is sent.
func (p *plan) Render(w adapters.Walk) string {
	r, ok := p.requests[w.Name]
	if !ok {
		return ""
	}
	q := url.Values{}
	for k, v := range r.Query {
		q[k] = v
	}
	q.Del("since")
	text := "GET /api/v1/" + r.Path + "?" + q.Encode()
	if w.Name != walkAll {
		text += "&since={since}"
	}
	return text
}
