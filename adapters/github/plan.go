package github

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// stateSet is a set of the provider's states.
type stateSet uint8

const (
	open stateSet = 1 << iota
	closed
	merged
)

func allStates(k query.Kind) stateSet {
	if k == query.ChangeProposal {
		return open | closed | merged
	}
	return open | closed
}

func (s stateSet) String() string {
	var names []string
	for i, n := range []string{"OPEN", "CLOSED", "MERGED"} {
		if s&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ",")
}

func (s stateSet) issues() []githubv4.IssueState {
	var out []githubv4.IssueState
	if s&open != 0 {
		out = append(out, githubv4.IssueStateOpen)
	}
	if s&closed != 0 {
		out = append(out, githubv4.IssueStateClosed)
	}
	return out
}

// pulls: CLOSED leaves out what was merged, which is a state of its own here.
func (s stateSet) pulls() []githubv4.PullRequestState {
	var out []githubv4.PullRequestState
	if s&open != 0 {
		out = append(out, githubv4.PullRequestStateOpen)
	}
	if s&closed != 0 {
		out = append(out, githubv4.PullRequestStateClosed)
	}
	if s&merged != 0 {
		out = append(out, githubv4.PullRequestStateMerged)
	}
	return out
}

// statesOf renders a search: the states in which it may find anything. A search that says nothing of the state, or that
// nothing can satisfy, has them all.
func statesOf(k query.Kind, t *query.Search) stateSet {
	all := allStates(k)
	if s := sift(t) & all; s != 0 {
		return s
	}
	return all
}

func sift(t *query.Search) stateSet {
	const every = open | closed | merged
	switch {
	case t.All:
		return every
	case t.Leaf != nil:
		return statesOfLeaf(t.Leaf)
	case len(t.And) > 0:
		s := every
		for _, u := range t.And {
			s &= sift(u)
		}
		return s
	}
	var s stateSet
	for _, u := range t.Or {
		s |= sift(u)
	}
	return s
}

func statesOfLeaf(l *query.Leaf) stateSet {
	const every = open | closed | merged
	var s stateSet
	for _, v := range l.Values {
		switch {
		case l.Field == query.FState && v.Str == "open":
			s |= open
		case l.Field == query.FState && v.Str == "closed":
			s |= closed | merged
		case l.Field == query.FMerged && v.Bool:
			s |= merged
		case l.Field == query.FMerged:
			s |= open | closed
		}
	}
	if !l.Positive {
		s = every &^ s
	}
	return s
}

// plan is the scope's one search.
type plan struct {
	kind     query.Kind
	states   stateSet
	typed    bool
	name     string
	walks    []adapters.Walk
	weakened []query.Weakening
	cost     []string
}

var _ adapters.Plan = (*plan)(nil)

// Compile makes the search. A source that asks for the issue type of a server that has none is refused.
func (s *session) Compile(_ context.Context, ss []query.Source) (adapters.Plan, []adapters.Refusal) {
	ss, refused := s.serve(ss)
	// Nothing over now is claimed, so how long it is until the next sweep does not matter.
	search, weakened := query.Upper(ss, Adapter{}.Claims(s.kind), query.Sweep, s.now(), 24*time.Hour, nil)
	for i := range weakened {
		if weakened[i].Leaf.Field != 0 {
			weakened[i].Why = whyLocal(weakened[i].Leaf.Field)
		}
	}
	var fs query.FieldSet
	for _, src := range ss {
		fs = fs.Union(src.Query.Fields())
	}
	p := &plan{kind: s.kind, states: statesOf(s.kind, search), typed: s.typed, name: s.repo.Load().NameWithOwner, weakened: weakened,
		walks: []adapters.Walk{changedWalk()}}
	if anyOf(fs, query.FComment, query.FLastComment) {
		p.walks = append(p.walks, commentsWalk())
	}
	p.walks = append(p.walks, sweepWalk(p.states != allStates(s.kind)))
	p.cost = s.costs(fs, p)
	return p, refused
}

// serve parts what this server can be asked from what it cannot.
func (s *session) serve(ss []query.Source) (good []query.Source, refused []adapters.Refusal) {
	for _, src := range ss {
		if !s.typed && s.kind == query.WorkItem && src.Query.Fields().Has(query.FType) {
			refused = append(refused, adapters.Refusal{Source: src.ID, Field: "type", Why: "this server has no issue types"})
			continue
		}
		good = append(good, src)
	}
	return good, refused
}

func anyOf(fs query.FieldSet, ids ...query.FieldID) bool {
	for _, id := range ids {
		if fs.Has(id) {
			return true
		}
	}
	return false
}

// costs plans in requests and points. A point is one hundred connections that a query may open, at least one a request.
func (s *session) costs(fs query.FieldSet, p *plan) []string {
	feeds := len(p.walks) - 1
	read := points(1 + maxRead*(2+parts(s.kind, fs)))
	out := []string{
		fmt.Sprintf("idle cycle: %d requests (1 identity, %d search), %d points", 1+feeds, feeds, 2),
		fmt.Sprintf("changed entities: 1 request and %d points for up to %d in the listing", points(1+2*maxListed), maxListed),
	}
	out = append(out, fmt.Sprintf("read entities: 1 request and %d points for up to %d, and 1 for each 100 further comments, reviews or label events of one", read, maxRead))
	out = append(out, "actor: 1 REST request for the role, 3 when the login has changed")
	what := "all"
	if p.states != allStates(s.kind) {
		what = strings.ToLower(p.states.String())
	}
	sweep := fmt.Sprintf("sweep (%s): 1 request and %d points for %d entities", what, points(1+2*maxListed), maxListed)
	if p.states == allStates(s.kind) {
		sweep += ", and 1 and 1 for 100 of the other kind"
	}
	return append(out, sweep)
}

// parts counts the collections that a read opens in each entity.
func parts(k query.Kind, fs query.FieldSet) int {
	n := 0
	for _, on := range wanted(k, fs) {
		if on {
			n++
		}
	}
	return n
}

func points(requests int) int { return max(1, (requests+50)/100) }

func (p *plan) Walks() []adapters.Walk { return p.walks }

func (p *plan) Weakened() []query.Weakening { return p.weakened }

func (p *plan) Cost() []string { return p.cost }

// Render shows the request of a walk; the instant of the window and the page are filled in when it is sent.
func (p *plan) Render(w adapters.Walk) string {
	what, filter, order := "issues", "", "UPDATED_AT ASC"
	if p.kind == query.ChangeProposal {
		what, order = "pullRequests", "UPDATED_AT DESC"
	}
	switch {
	case w.Name == walkComments:
		return "GET repos/" + p.name + "/issues/comments?since={since}&sort=updated&direction=asc&per_page=100"
	case w.Name == walkAll:
		filter, order = "states: ["+strings.ReplaceAll(p.states.String(), ",", ", ")+"], ", "CREATED_AT ASC"
	case w.Name != walkChanged:
		return ""
	case p.kind == query.WorkItem:
		filter = "filterBy: {since: {since}}, "
	default:
		order += ", down to {since}"
	}
	return fmt.Sprintf("graphql repository(%s) { %s(%sorderBy: %s, first: %d) }", p.name, what, filter, order, maxListed)
}
